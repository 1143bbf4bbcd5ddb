/* SPDX-License-Identifier: MIT */
/* Thin products of i8 as dot products of runs along k, in integers. */
#include <stdlib.h>

#include "backends/host/builtin.h"
#include "backends/host/host.h"
#include "base/size.h"

enum {
    CHUNK = 16 << 10, /* elements of k that stay in cache */
    GATHER = 64 << 10,
    TASKS_PER_THREAD = 4,
    SUMS = HRI_BUILTIN_DOTS * HRI_BUILTIN_THIN /* of a task */
};

/* Rows of A or columns of B, each of which is a run along k. */
typedef struct side {
    hri_operand operand; /* row_stride: along m or n, col_stride: along k */
    int64_t extent;      /* along m or n */
    const int8_t *runs;
    int64_t stride;   /* from one run to the next */
    int8_t *gathered; /* NULL: the operand has such runs */
} side;

typedef struct work {
    const hri_builtin_variant *variant;
    const hri_gemm *gemm;
    hri_pool *pool;
    side x, y;             /* the longer one and the other */
    bool down;             /* x is A */
    int64_t blocks;        /* of rows of x */
    int64_t pieces, piece; /* of k, and elements of each */
    uint32_t *partials;    /* the sums of each task; NULL: there is one piece */
    side *gather;          /* what is gathered now */
} work;

/* ---- runs */

static void gather_task(void *data, int64_t index)
{
    const work *w = data;
    const side *s = w->gather;
    const int8_t *from = (const int8_t *)hri_host_address(&s->operand.place);
    const int64_t end = hri_min((index + 1) * GATHER, w->gemm->k);
    for (int64_t i = 0; i < s->extent; i++) {
        const int8_t *row = from + i * s->operand.row_stride;
        for (int64_t p = index * GATHER; p < end; p++) {
            s->gathered[i * w->gemm->k + p] = row[p * s->operand.col_stride];
        }
    }
}

static hr_status find_runs(work *w, side *s)
{
    const int64_t k = w->gemm->k;
    s->runs = (const int8_t *)hri_host_address(&s->operand.place);
    s->stride = s->operand.row_stride;
    if (s->operand.col_stride == 1) {
        return HR_OK;
    }
    s->gathered = hri_builtin_allocate(s->extent * k);
    if (s->gathered == NULL) {
        return hri_builtin_no_memory(s->extent * k);
    }
    s->runs = s->gathered;
    s->stride = k;
    w->gather = s;
    hri_pool_run(w->pool, hri_ceil_div(k, GATHER), gather_task, w);
    return HR_OK;
}

/* ---- products */

/* Write the sums of a block's rows to C. Unsigned arithmetic wraps by
 * definition. */
static void store(const work *w, int64_t block, const uint32_t *sums)
{
    const hri_gemm *g = w->gemm;
    const uint32_t alpha = hri_factor_of(HR_I8, g->alpha).u[0];
    const uint32_t beta = hri_factor_of(HR_I8, g->beta).u[0];
    uint32_t *c = (uint32_t *)(void *)hri_host_address(&g->c.place);
    const int64_t first = block * HRI_BUILTIN_DOTS;
    const int64_t end = hri_min(first + HRI_BUILTIN_DOTS, w->x.extent);
    for (int64_t i = first; i < end; i++) {
        for (int64_t j = 0; j < w->y.extent; j++) {
            uint32_t *to = w->down ? c + i * g->c.row_stride + j
                                   : c + j * g->c.row_stride + i;
            const uint32_t sum = sums[j * HRI_BUILTIN_DOTS + i - first];
            *to = alpha * sum + (beta == 0 ? 0 : beta * *to);
        }
    }
}

static void multiply_task(void *data, int64_t index)
{
    const work *w = data;
    const int64_t block = index / w->pieces, row = block * HRI_BUILTIN_DOTS;
    const int64_t start = index % w->pieces * w->piece;
    const int64_t end = hri_min(start + w->piece, w->gemm->k);
    uint32_t sums[SUMS] = {0}, more[HRI_BUILTIN_DOTS] = {0};
    hri_dots d = {.rows = hri_min(HRI_BUILTIN_DOTS, w->x.extent - row),
                  .x_stride = w->x.stride,
                  .sums = more};
    for (int64_t p = start; p < end; p += CHUNK) {
        d.count = hri_min(CHUNK, end - p);
        d.x = w->x.runs + row * w->x.stride + p;
        for (int64_t j = 0; j < w->y.extent; j++) {
            d.y = w->y.runs + j * w->y.stride + p;
            w->variant->dots_i8(&d);
            for (int64_t i = 0; i < d.rows; i++) {
                sums[j * HRI_BUILTIN_DOTS + i] += more[i];
            }
        }
    }
    if (w->partials == NULL) {
        store(w, block, sums);
        return;
    }
    for (int i = 0; i < SUMS; i++) {
        w->partials[index * SUMS + i] = sums[i];
    }
}

static void add_partials(const work *w)
{
    for (int64_t block = 0; block < w->blocks; block++) {
        uint32_t sums[SUMS] = {0};
        const uint32_t *from = w->partials + block * w->pieces * SUMS;
        for (int64_t i = 0; i < w->pieces * SUMS; i++) {
            sums[i % SUMS] += from[i];
        }
        store(w, block, sums);
    }
}

/* Cut k where rows alone give the threads too little to do. */
static hr_status multiply_all(work *w)
{
    const int64_t threads = hri_pool_threads(w->pool);
    const int64_t tasks = threads > 1 ? TASKS_PER_THREAD * threads : 1;
    const int64_t k = w->gemm->k;
    w->blocks = hri_ceil_div(w->x.extent, HRI_BUILTIN_DOTS);
    w->pieces = hri_max(hri_min(tasks / w->blocks, k / CHUNK), 1);
    w->piece = hri_ceil_div(k, w->pieces);
    if (w->pieces > 1) {
        const int64_t bytes =
            w->blocks * w->pieces * SUMS * (int64_t)sizeof *w->partials;
        w->partials = hri_builtin_allocate(bytes);
        if (w->partials == NULL) {
            return hri_builtin_no_memory(bytes);
        }
    }
    hri_pool_run(w->pool, w->blocks * w->pieces, multiply_task, w);
    if (w->partials != NULL) {
        add_partials(w);
    }
    return HR_OK;
}

hr_status hri_builtin_dots(const hri_builtin_variant *variant, hri_pool *pool,
                           const hri_gemm *gemm)
{
    const side a = {.operand = hri_builtin_rows_of_a(gemm), .extent = gemm->m};
    const side b = {.operand = hri_builtin_columns_of_b(gemm),
                    .extent = gemm->n};
    const bool down = gemm->m >= gemm->n;
    work w = {.variant = variant,
              .gemm = gemm,
              .pool = hri_builtin_pool(pool, gemm),
              .x = down ? a : b,
              .y = down ? b : a,
              .down = down};
    hr_status status = find_runs(&w, &w.x);
    if (status == HR_OK) {
        status = find_runs(&w, &w.y);
    }
    if (status == HR_OK) {
        status = multiply_all(&w);
    }
    free(w.x.gathered);
    free(w.y.gathered);
    free(w.partials);
    return status;
}
