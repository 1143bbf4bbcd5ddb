/* SPDX-License-Identifier: MIT */
/* What multiplies on the host: the CBLAS if there is one and it offers the
 * product, else the built-in kernel. The CBLAS is chosen once. */
#include "backends/host/arithmetic.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/host/builtin.h"
#include "backends/host/cblas.h"
#include "backends/host/host.h"
#include "backends/host/precise.h"
#include "base/environment.h"
#include "base/library.h"
#include "base/matrix.h"
#include "base/size.h"
#include "hal/backend.h"

/* Written once, by choose. */
static struct {
    bool use_cblas;
    hri_cblas cblas;
    char name[128];
} chosen;

/* A CBLAS that the user names is used, and no other in its place. */
static hr_status choose(void)
{
    const char *wish = hri_environment("HEADRACE_CBLAS");
    snprintf(chosen.name, sizeof chosen.name, "none");
    if (wish == NULL || wish[0] == '\0') {
        chosen.use_cblas = hri_cblas_find(&chosen.cblas);
    } else if (strcmp(wish, "builtin") != 0) {
        if (hri_cblas_open(wish, true, &chosen.cblas) != HR_OK) {
            return hri_library_refuse("HEADRACE_CBLAS", wish, "CBLAS");
        }
        chosen.use_cblas = true;
    }
    if (chosen.use_cblas) {
        snprintf(chosen.name, sizeof chosen.name, "%s", chosen.cblas.name);
    } else {
        snprintf(chosen.name, sizeof chosen.name, "built-in (%s)",
                 hri_builtin_variant_at(0)->name);
    }
    return HR_OK;
}

hr_status hri_host_arithmetic_load(void)
{
    static hri_once once = HRI_ONCE_INIT;
    return hri_once_run(&once, choose);
}

const char *hri_host_arithmetic_name(void)
{
    (void)hri_host_arithmetic_load();
    return chosen.name;
}

bool hri_host_gemm_sets_thread(void)
{
    return chosen.use_cblas && hri_cblas_sets_thread(&chosen.cblas);
}

bool hri_host_gemm_is_ordered(void)
{
    return hri_builtin_variant_at(0)->store_ordered != NULL;
}

/* Whether the CBLAS is asked at all. */
static bool asks_cblas(const hri_gemm *gemm)
{
    return chosen.use_cblas && gemm->m > 0 && gemm->n > 0 &&
           !hri_gemm_only_scales(gemm) &&
           gemm->compute < HR_COMPUTE_REPRODUCIBLE;
}

/* By so many threads of a CBLAS, else by the pool. */
static hr_status multiply_one(hri_pool *pool, uint32_t threads,
                              const hri_gemm *gemm)
{
    if (gemm->compute == HR_COMPUTE_PRECISE && gemm->m > 0 && gemm->n > 0 &&
        !hri_gemm_only_scales(gemm)) {
        return hri_host_gemm_precise(pool, gemm);
    }
    return asks_cblas(gemm) && hri_cblas_gemm(&chosen.cblas, threads, gemm)
               ? HR_OK
               : hri_host_gemm_builtin(pool, gemm);
}

/* ---- batches: several products at a time, each on one thread */

typedef struct batch {
    const hri_gemm *gemm;
    int64_t chunk; /* products that a thread takes at once */
    pthread_mutex_t lock;
    hri_error error; /* guarded by lock */
} batch;

static hr_status multiply_products(const hri_gemm *gemm, int64_t first,
                                   int64_t end)
{
    for (int64_t i = first; i < end; i++) {
        const hri_gemm one = hri_gemm_at(gemm, i);
        HRI_TRY(multiply_one(NULL, 0, &one));
    }
    return HR_OK;
}

static void multiply_chunk(void *data, int64_t index)
{
    batch *b = data;
    const int64_t end = hri_min((index + 1) * b->chunk, b->gemm->batch.count);
    const bool asks = asks_cblas(b->gemm);
    const int before = asks ? hri_cblas_enter(&chosen.cblas, b->gemm) : 0;
    hr_status status = multiply_products(b->gemm, index * b->chunk, end);
    if (asks) {
        hri_cblas_leave(&chosen.cblas, before);
    }
    if (status != HR_OK) {
        pthread_mutex_lock(&b->lock);
        hri_error_keep(&b->error, status);
        pthread_mutex_unlock(&b->lock);
    }
}

/* Chunks are as long as taking them is cheap, but so many that they balance. */
static int64_t chunk_of(const hri_pool *pool, const hri_gemm *g)
{
    enum { CHUNKS = 8 };       /* for each thread */
    const double enough = 1e6; /* flops: some 20 microseconds */
    const double flops = hri_product_flops(g->type, g->m, g->n, g->k) + 1.0;
    const int64_t even =
        hri_ceil_div(g->batch.count, CHUNKS * (int64_t)hri_pool_threads(pool));
    return flops * (double)even > enough
               ? hri_min(even, (int64_t)(enough / flops) + 1)
               : even;
}

static hr_status multiply_batch(hri_pool *pool, const hri_gemm *gemm)
{
    batch b = {.gemm = gemm,
               .chunk = chunk_of(pool, gemm),
               .lock = PTHREAD_MUTEX_INITIALIZER};
    const bool asks = asks_cblas(gemm);
    const int before = asks ? hri_cblas_share(&chosen.cblas) : 0;
    hri_pool_run(pool, hri_ceil_div(gemm->batch.count, b.chunk), multiply_chunk,
                 &b);
    if (asks) {
        hri_cblas_unshare(&chosen.cblas, before);
    }
    pthread_mutex_destroy(&b.lock);
    return hri_error_raise(&b.error);
}

hr_status hri_host_gemm(hri_pool *pool, const hri_gemm *gemm)
{
    HRI_TRY(hri_host_arithmetic_load());
    return gemm->batch.count > 1
               ? multiply_batch(pool, gemm)
               : multiply_one(pool, hri_pool_threads(pool), gemm);
}

void hri_host_gemm_pack(hri_pool *pool, const hri_pack *pack)
{
    if (pack->compute == HR_COMPUTE_PRECISE) {
        hri_host_pack_precise(pool, pack);
    } else {
        hri_host_pack(pack);
    }
}
