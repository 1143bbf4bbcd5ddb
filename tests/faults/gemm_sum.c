/* SPDX-License-Identifier: MIT */
/* hr_gemm_sum: C is right or the call fails, all terms are released, and nobody
 * waits for ever. */
#include <pthread.h>

#include "base/size.h"
#include "faults/groups.h"
#include "support/faults.h"

enum { TERMS = 4, EDGE = 20, DEPTH = 6, BUFFERS = 2 };

static float a[TERMS][EDGE * DEPTH], b[TERMS][DEPTH * EDGE];
static float wanted[EDGE * EDGE], c[EDGE * EDGE];
static float buffers[2][BUFFERS][EDGE * DEPTH];

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int64_t released;

/* Small integers: exact in any order. */
static void make_terms(void)
{
    for (int t = 0; t < TERMS; t++) {
        for (int i = 0; i < EDGE * DEPTH; i++) {
            a[t][i] = (float)((i * 7 + t) % 13 - 6);
            b[t][i] = (float)((i * 5 + t) % 11 - 5);
        }
    }
    for (int i = 0; i < EDGE * EDGE; i++) {
        wanted[i] = (float)(i % 17);
        for (int k = 0; k < TERMS * DEPTH; k++) {
            wanted[i] += a[k / DEPTH][i / EDGE * DEPTH + k % DEPTH] *
                         b[k / DEPTH][k % DEPTH * EDGE + i % EDGE];
        }
    }
}

static bool await_term(void *data, int64_t t)
{
    (void)data;
    pthread_mutex_lock(&lock);
    while (released < t + 1 - BUFFERS) {
        pthread_cond_wait(&changed, &lock);
    }
    memcpy(buffers[0][t % BUFFERS], a[t], sizeof a[t]);
    memcpy(buffers[1][t % BUFFERS], b[t], sizeof b[t]);
    pthread_mutex_unlock(&lock);
    return true;
}

static void release_terms(void *data, int64_t terms)
{
    (void)data;
    pthread_mutex_lock(&lock);
    released = hri_max(released, terms);
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

static hr_status add_up(hr_context *context, const void *unused)
{
    hr_matrix ma[TERMS], mb[TERMS];
    hr_gemm_options options = HR_GEMM_OPTIONS_INIT;
    (void)unused;
    options.await = await_term;
    options.release = release_terms;
    for (int t = 0; t < TERMS; t++) {
        ma[t] = hr_matrix_row_major(buffers[0][t % BUFFERS], HR_F32, EDGE,
                                    DEPTH, 0);
        mb[t] = hr_matrix_row_major(buffers[1][t % BUFFERS], HR_F32, DEPTH,
                                    EDGE, 0);
    }
    for (int i = 0; i < EDGE * EDGE; i++) {
        c[i] = (float)(i % 17);
    }
    released = 0;
    const hr_status status =
        hr_gemm_sum(context, hr_real(1), TERMS, ma, mb, hr_real(1),
                    hr_matrix_row_major(c, HR_F32, EDGE, EDGE, 0), &options);
    CHECK(released == TERMS);
    CHECK(status != HR_OK || memcmp(c, wanted, sizeof c) == 0);
    return status;
}

void faults_gemm_sum(void)
{
    static const fault_case cases[] = {
        {"gemm_sum", add_up, .accelerators = "3xhost", .limit = 1 << 20},
    };
    make_terms();
    FAULTS_EACH(cases);
}
