/* SPDX-License-Identifier: MIT */
/* A product whose operands come in parts, while earlier ones are multiplied:
 * the sums of squares and products of 20000 measurements of 100 quantities, of
 * which 1000 come at a time into one of three buffers. */
#include <headrace/headrace.h>
#include <pthread.h>
#include <stdio.h>

enum { QUANTITIES = 100, ROWS = 1000, TERMS = 20, BUFFERS = 3 };

static float measured[BUFFERS][ROWS][QUANTITIES];
static float sums[QUANTITIES][QUANTITIES];

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int64_t released; /* terms that are not read any more */

/* Measure. A file or an instrument would give the values. */
static bool await(void *data, int64_t term)
{
    (void)data;
    pthread_mutex_lock(&lock);
    while (released < term + 1 - BUFFERS) { /* its buffer is in use */
        pthread_cond_wait(&changed, &lock);
    }
    pthread_mutex_unlock(&lock);
    for (int i = 0; i < ROWS; i++) {
        for (int j = 0; j < QUANTITIES; j++) {
            measured[term % BUFFERS][i][j] =
                (float)((term * ROWS + i) * (j + 1) % 7 - 3);
        }
    }
    return true;
}

static void release(void *data, int64_t terms)
{
    (void)data;
    pthread_mutex_lock(&lock);
    released = terms > released ? terms : released;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&lock);
}

int main(void)
{
    hr_matrix transposed[TERMS], plain[TERMS];
    hr_gemm_options options = HR_GEMM_OPTIONS_INIT;
    hr_context *context = NULL;
    hr_status status = hr_context_create(NULL, &context);
    for (int t = 0; t < TERMS; t++) {
        plain[t] = hr_matrix_row_major(measured[t % BUFFERS], HR_F32, ROWS,
                                       QUANTITIES, 0);
        transposed[t] = hr_matrix_transpose(plain[t]);
    }
    options.await = await;
    options.release = release;
    if (status == HR_OK) {
        status = hr_gemm_sum(
            context, hr_real(1), TERMS, transposed, plain, hr_real(0),
            hr_matrix_row_major(sums, HR_F32, QUANTITIES, QUANTITIES, 0),
            &options);
    }
    if (status != HR_OK) {
        fprintf(stderr, "%s\n", hr_last_error());
    } else {
        printf("squares of the first: %.0f, with the second: %.0f\n",
               (double)sums[0][0], (double)sums[0][1]);
    }
    hr_context_destroy(context);
    return status != HR_OK;
}
