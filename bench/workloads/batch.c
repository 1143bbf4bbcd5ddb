/* SPDX-License-Identifier: MIT */
/* headrace bench batch: many small products in one call, beside two loops over
 * the CBLAS (one product after the other with all of its threads, and one on
 * each thread) and beside cuBLAS's batched calls by hand. */
#include <math.h>
#include <stdlib.h>

#include "base/cpus.h"
#include "base/matrix.h"
#include "base/size.h"
#include "bench/workloads/turns.h"
#include "console/context.h"

/* As many products as take 96 MiB, if their number is not given. */
static int64_t products(const bench_turns *t)
{
    const int64_t *e = t->bench->problems.list[t->problem].extents;
    const double m = (double)e[0], k = (double)e[1], n = (double)e[2];
    const double bytes =
        (double)hr_type_size(t->number.type) * (m * k + k * n) +
        (double)hr_type_size(t->number.c_type) * m * n;
    const double all = 96.0 * (1 << 20);
    return t->bench->o.batch > 0 ? t->bench->o.batch
                                 : hri_max((int64_t)(all / bytes), 1);
}

/* ---- the contestants */

static bool add_loops(bench_turns *t, hri_pool **pool)
{
    if (!bench_turns_wants(t, BENCH_WITH_CBLAS) ||
        !bench_cblas_find(&t->cblas)) {
        return true;
    }
    if (bench_turns_add(t, BENCH_CBLAS, "cblas, one by one", NULL) == NULL) {
        return false;
    }
    if (t->cblas.set_threads == NULL ||
        hri_pool_hold(hri_thread_count(), pool) != HR_OK) {
        return true;
    }
    bench_contestant *c =
        bench_turns_add(t, BENCH_CBLAS, "cblas, one a thread", NULL);
    if (c != NULL) {
        c->pool = *pool;
    }
    return c != NULL;
}

/* ---- rows */

/* `seconds` over the best time of the loops, or of cuBLAS. NAN: none. */
static double over(const bench_turns *t, double seconds, bench_kind kind)
{
    return seconds / bench_turns_best(t, 1u << kind);
}

static void add_line(const bench_turns *t, const bench_contestant *c)
{
    bench_rows *rows = &t->bench->rows;
    const double best = c->times[t->problem].best;
    const bench_operands *o = &t->operands;
    const double flops =
        hri_product_flops(t->number.type, o->c.rows, o->c.cols, o->a.cols) *
        (double)o->count;
    bench_value(rows, "count", NULL, BENCH_COUNT, (double)o->count);
    bench_value(rows, "gflops", NULL, BENCH_GFLOPS, flops / best);
    if (c->kind == BENCH_LIST) {
        bench_value(rows, "over_loops", NULL, BENCH_RATIO,
                    over(t, best, BENCH_CBLAS));
        bench_value(rows, "over_cublas", NULL, BENCH_RATIO,
                    over(t, best, BENCH_CUBLAS));
    }
}

static void add_cells(const bench_turns *t)
{
    bench_rows *rows = &t->bench->rows;
    const double best = bench_turns_best(t, 1u << BENCH_LIST);
    bench_value(rows, NULL, "products", BENCH_COUNT, (double)products(t));
    bench_value(rows, NULL, "over loops", BENCH_RATIO,
                over(t, best, BENCH_CBLAS));
    bench_value(rows, NULL, "over cuBLAS", BENCH_RATIO,
                over(t, best, BENCH_CUBLAS));
}

int bench_batch(benchmark *bench)
{
    hri_pool *pool = NULL;
    bench_turns *t = calloc(1, sizeof *t);
    if (t == NULL) {
        return cli_fail("out of memory");
    }
    *t = (bench_turns){.bench = bench,
                       .subject = "batch",
                       .batch = true,
                       .products = products,
                       .add_line = add_line,
                       .add_cells = add_cells,
                       .pinning_setting = &bench->settings[0]};
    const bool added = add_loops(t, &pool) && bench_turns_add_lists(t) &&
                       bench_turns_add_cublas(t);
    const int status = added ? bench_turns_run(t) : cli_fail("out of memory");
    bench_turns_close(t);
    if (pool != NULL) {
        hri_pool_drop(pool);
    }
    free(t);
    return status;
}
