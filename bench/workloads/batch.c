/* SPDX-License-Identifier: MIT */
/* headrace bench batch: many small products in one call, beside two loops over
 * the CBLAS: one after the other with all of its threads, and one on each
 * thread. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpus.h"
#include "base/matrix.h"
#include "base/pool.h"
#include "base/size.h"
#include "bench/bench.h"
#include "bench/peers/peer.h"
#include "console/context.h"
#include "console/random.h"
#include "console/signals.h"
#include "console/text.h"

/* The matrices of an operand, one below the other. */
typedef struct stack {
    hr_matrix first;
    int64_t step; /* elements */
} stack;

typedef struct batch {
    benchmark *bench;
    bench_number number;
    int64_t count, m, n, k;
    bool pinned;
    hr_context *owner;   /* of pinned memory; NULL: ordinary */
    hr_context *context; /* NULL: a loop */
    stack operands[3];
    bench_cblas cblas;
    hri_pool *pool; /* of a loop; NULL: one product after the other */
    double peer;    /* seconds of the faster loop; 0: none */
} batch;

static bool make_stack(batch *b, stack *s, hr_type type, int64_t rows,
                       int64_t cols, uint64_t seed)
{
    const size_t bytes = (size_t)(b->count * rows * cols) * hr_type_size(type);
    void *data = bench_allocate(b->owner, bytes);
    s->first = hr_matrix_row_major(data, type, rows, cols, 0);
    s->step = rows * cols;
    return data != NULL &&
           cli_random_fill(
               hr_matrix_row_major(data, type, b->count * rows, cols, 0), seed,
               NULL);
}

static hr_matrix matrix_at(const stack *s, int64_t index)
{
    hr_matrix m = s->first;
    m.data = (char *)m.data + (size_t)(index * s->step) * hr_type_size(m.type);
    return m;
}

/* ---- the contestants */

static void call_cblas(void *data, int64_t index)
{
    const batch *b = data;
    (void)bench_cblas_gemm(&b->cblas, matrix_at(&b->operands[0], index),
                           matrix_at(&b->operands[1], index),
                           matrix_at(&b->operands[2], index));
}

static void run_loop(batch *b)
{
    const int threads = (int)hri_thread_count();
    bench_cblas_use(&b->cblas, b->pool != NULL ? 1 : threads);
    hri_pool_run(b->pool, b->count, call_cblas, b);
    bench_cblas_use(&b->cblas, threads);
}

static bool run_headrace(const batch *b)
{
    hr_gemm_options options = HR_GEMM_OPTIONS_INIT;
    const stack *s = b->operands;
    options.compute = b->number.compute;
    return hr_gemm_batch(
               b->context, b->count, hr_real(1.0),
               hr_matrices_strided(s[0].first, s[0].step),
               hr_matrices_strided(s[1].first, s[1].step), hr_real(0.0),
               hr_matrices_strided(s[2].first, s[2].step), &options) == HR_OK;
}

/* The first product and the last one. */
static bool verify(const batch *b)
{
    bool good = true;
    for (int i = 0; i < 2 && good && b->number.compute == HR_COMPUTE_NATIVE;
         i++) {
        const int64_t at = i * (b->count - 1);
        const hr_matrix c = matrix_at(&b->operands[2], at);
        good = hr_gemm_verify(b->context, hr_real(1.0),
                              matrix_at(&b->operands[0], at),
                              matrix_at(&b->operands[1], at), hr_real(0.0), c,
                              c, NULL) == HR_OK;
    }
    return good;
}

/* ---- measuring */

static void add_row(batch *b, const char *name, double first, double best)
{
    bench_rows *rows = &b->bench->rows;
    const double flops =
        hri_product_flops(b->number.type, b->m, b->n, b->k) * (double)b->count;
    bench_row_begin(rows, "batch");
    bench_text(rows, "contestant", "contestant", name);
    bench_text(rows, "type", NULL, b->number.name);
    bench_text(rows, "memory", NULL, b->pinned ? "pinned" : "ordinary");
    bench_value(rows, "count", NULL, BENCH_COUNT, (double)b->count);
    bench_value(rows, "m", NULL, BENCH_COUNT, (double)b->m);
    bench_value(rows, "n", NULL, BENCH_COUNT, (double)b->n);
    bench_value(rows, "k", NULL, BENCH_COUNT, (double)b->k);
    bench_value(rows, "first_seconds", "first", BENCH_SECONDS, first);
    bench_value(rows, "min_seconds", "best", BENCH_SECONDS, best);
    bench_value(rows, "gflops", "rate", BENCH_GFLOPS, flops / best);
    bench_value(rows, "over_loop", "over the best loop", BENCH_RATIO,
                b->peer > 0.0 && b->context != NULL ? b->peer / best : NAN);
    bench_row_end(rows);
}

static int contend(batch *b, const char *name)
{
    double first = 0.0, best = 0.0;
    for (int64_t i = 0; i <= b->bench->o.repeat; i++) {
        bench_rest();
        const double start = cli_clock();
        if (b->context == NULL) {
            run_loop(b);
        } else if (!run_headrace(b)) {
            return cli_failed_call();
        }
        bench_note(i, cli_clock() - start, &first, &best);
        if (cli_cancelled()) {
            return CLI_FAILED;
        }
    }
    if (b->context == NULL) {
        b->peer = b->peer > 0.0 ? fmin(b->peer, best) : best;
    } else if (!verify(b)) {
        return cli_fail("%s: %s", name, hr_last_error());
    }
    add_row(b, name, first, best);
    return CLI_OK;
}

static int run_loops(batch *b)
{
    if (b->number.type > HR_C64 || b->number.compute != HR_COMPUTE_NATIVE ||
        !bench_cblas_find(&b->cblas)) {
        return CLI_OK;
    }
    int status = contend(b, "cblas, one after the other");
    if (status == CLI_OK && b->cblas.set_threads != NULL &&
        hri_pool_hold(hri_thread_count(), &b->pool) == HR_OK) {
        status = contend(b, "cblas, one on each thread");
        hri_pool_drop(b->pool);
    }
    return status;
}

static int run_setting(batch *b, const bench_setting *setting)
{
    int status = bench_context(setting, &b->context);
    if (status == CLI_OK) {
        status = contend(b, setting->name);
    }
    hr_context_destroy(b->context);
    b->context = NULL;
    return status;
}

/* As many products as take 96 MiB, if their number is not given. */
static int64_t count_of(const batch *b)
{
    const double bytes =
        (double)hr_type_size(b->number.type) *
            ((double)b->m * (double)b->k + (double)b->k * (double)b->n) +
        (double)hr_type_size(b->number.c_type) * (double)b->m * (double)b->n;
    const double all = 96.0 * (1 << 20);
    return b->bench->o.batch > 0 ? b->bench->o.batch
                                 : hri_max((int64_t)(all / bytes), 1);
}

static int measure_case(batch *b)
{
    const bench_options *o = &b->bench->o;
    b->count = count_of(b);
    int status =
        b->pinned ? bench_context(&b->bench->settings[0], &b->owner) : CLI_OK;
    if (status == CLI_OK &&
        (!make_stack(b, &b->operands[0], b->number.type, b->m, b->k, 1) ||
         !make_stack(b, &b->operands[1], b->number.type, b->k, b->n, 2) ||
         !make_stack(b, &b->operands[2], b->number.c_type, b->m, b->n, 3))) {
        status = cli_fail("out of memory: %lld products", (long long)b->count);
    }
    status = status == CLI_OK ? run_loops(b) : status;
    for (int i = 0; i < b->bench->setting_count && status == CLI_OK; i++) {
        status = run_setting(b, &b->bench->settings[i]);
    }
    for (int i = 0; i < 3; i++) {
        bench_release(b->owner, b->operands[i].first.data);
    }
    hr_context_destroy(b->owner);
    if (status == CLI_OK && !o->json) {
        printf("%lld x %s, %lldx%lld times %lldx%lld, %s memory\n",
               (long long)b->count, b->number.name, (long long)b->m,
               (long long)b->k, (long long)b->k, (long long)b->n,
               b->pinned ? "pinned" : "ordinary");
        status = bench_rows_print(&b->bench->rows);
    }
    return status == CLI_OK ? cli_flush() : status;
}

int bench_batch(benchmark *bench)
{
    const bench_numbers *numbers = &bench->o.numbers;
    const bench_memories *memories = &bench->o.memories;
    const int each = numbers->count * memories->count;
    int status = CLI_OK;
    for (int i = 0; i < bench->problems.count * each && status == CLI_OK; i++) {
        const int64_t *extents = bench->problems.list[i / each].extents;
        batch b = {.bench = bench,
                   .number = numbers->list[i % each / memories->count],
                   .pinned = memories->pinned[i % memories->count],
                   .m = extents[0],
                   .k = extents[1],
                   .n = extents[2]};
        status = measure_case(&b);
    }
    return status;
}
