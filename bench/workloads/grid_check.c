/* SPDX-License-Identifier: MIT */
/* Compares the steps of headrace bench grid with plain C on a small grid. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/workloads/grid.h"
#include "bench/workloads/grid_lbm.h"
#include "console/context.h"
#include "console/output.h"

/* TIMES time steps, for any workload. */
enum { TIMES = 16 };

typedef struct sample {
    hr_extent extent;
    hr_boundary boundary;
    int64_t cells; /* values of a field */
    float *start, *fields[BENCH_GRID_FIELDS_MAX], *seen;
} sample;

/* The index of the cell that gives its value to one right beside the ends. */
static int64_t inside(const sample *s, int64_t x, int64_t n)
{
    if (x >= 0 && x < n) {
        return x;
    }
    return s->boundary == HR_BOUNDARY_PERIODIC ? (x + n) % n
           : x < 0                             ? 0
                                               : n - 1;
}

static float at(const sample *s, const float *field, int64_t i, int64_t j,
                int64_t k)
{
    const int64_t index[] = {i, j, k};
    int64_t number = 0;
    for (uint32_t d = 0; d < s->extent.rank; d++) {
        const int64_t n = s->extent.size[d];
        if (s->boundary == HR_BOUNDARY_CONSTANT &&
            (index[d] < 0 || index[d] >= n)) {
            return bench_grid_edge;
        }
        number = number * n + inside(s, index[d], n);
    }
    return field[number];
}

static float jacobi_of(const sample *s, const float *f, int64_t i, int64_t j)
{
    return 0.25f * (at(s, f, i - 1, j, 0) + at(s, f, i + 1, j, 0) +
                    at(s, f, i, j - 1, 0) + at(s, f, i, j + 1, 0));
}

static float heat_of(const sample *s, const float *f, int64_t i, int64_t j,
                     int64_t k)
{
    const float mid = at(s, f, i, j, k);
    return mid +
           bench_heat_rate * (at(s, f, i - 1, j, k) + at(s, f, i + 1, j, k) +
                              (at(s, f, i, j - 1, k) + at(s, f, i, j + 1, k) +
                               at(s, f, i, j, k - 1) + at(s, f, i, j, k + 1)) -
                              6.0f * mid);
}

static void step_plainly(sample *s)
{
    const int64_t cols = s->extent.size[1];
    const int64_t depth = s->extent.rank == 3 ? s->extent.size[2] : 1;
    const float *now = s->fields[0];
    for (int64_t n = 0; n < s->cells; n++) {
        const int64_t i = n / depth / cols, j = n / depth % cols, k = n % depth;
        s->fields[1][n] = s->extent.rank == 2 ? jacobi_of(s, now, i, j)
                                              : heat_of(s, now, i, j, k);
    }
    float *old = s->fields[0];
    s->fields[0] = s->fields[1];
    s->fields[1] = old;
}

static void wave_plainly(sample *s)
{
    const int64_t rows = s->extent.size[0], cols = s->extent.size[1];
    float *ez = s->fields[0], *hx = s->fields[1], *hy = s->fields[2];
    for (int64_t n = 0; n < s->cells; n++) {
        const float right = n % cols + 1 < cols ? ez[n + 1] : 0.0f;
        const float below = n / cols + 1 < rows ? ez[n + cols] : 0.0f;
        hx[n] -= bench_courant * (right - ez[n]);
        hy[n] += bench_courant * (below - ez[n]);
    }
    for (int64_t n = 0; n < s->cells; n++) {
        const float above = n >= cols ? hy[n - cols] : 0.0f;
        const float left = n % cols > 0 ? hx[n - 1] : 0.0f;
        ez[n] += bench_courant * (hy[n] - above - (hx[n] - left));
    }
}

static void step_lbm(sample *s)
{
    float *old = s->fields[0];
    bench_lbm_step(s->extent, bench_relaxation, old, s->fields[1]);
    s->fields[0] = s->fields[1];
    s->fields[1] = old;
}

/* Write the cells of the first field to seen. False: a call has failed. */
static bool step_grid(hr_context *context, bench_grids *g, const sample *s)
{
    bool good = bench_grids_make(g, 0, context, s->extent, NULL, NULL);
    for (uint32_t f = 0; f < g->work->unknown && good; f++) {
        good = hr_grid_scatter(g->grids[0], f, s->start) == HR_OK;
    }
    return good && bench_grids_advance(g, TIMES / g->work->times) == HR_OK &&
           hr_grid_gather(g->grids[0], 0, s->seen) == HR_OK;
}

/* Compare cells. Values stay below 8, and compilers may or may not round each
 * of at most 10 operations of a step. Jacobi's steps leave no choice, and the
 * lattice's kernel is reproducible, so they must be exact. */
static int compare(const sample *s, const bench_workload *work)
{
    const bool exact =
        work->equation == BENCH_LAPLACE || work->equation == BENCH_BOLTZMANN;
    const float most = exact ? 0.0f : (float)TIMES * 10 * 4 * FLT_EPSILON;
    for (int64_t n = 0; n < s->cells; n++) {
        const float want = s->fields[0][n];
        if (!(fabsf(s->seen[n] - want) <= most)) {
            return cli_fail("%s: cell %lld of a small grid is %.9g, not %.9g",
                            work->name, (long long)n, (double)s->seen[n],
                            (double)want);
        }
    }
    return CLI_OK;
}

static int run(hr_context *context, bench_grids *g, sample *s)
{
    const size_t bytes = (size_t)s->cells * sizeof(float);
    if (!bench_grid_start(g->work, s->start, s->cells, 2)) {
        return cli_failed_call();
    }
    for (uint32_t f = 0; f < g->work->unknown; f++) {
        memcpy(s->fields[f], s->start, bytes);
    }
    for (int n = 0; n < TIMES; n++) {
        if (g->work->equation == BENCH_MAXWELL) {
            wave_plainly(s);
        } else if (g->work->equation == BENCH_BOLTZMANN) {
            step_lbm(s);
        } else {
            step_plainly(s);
        }
    }
    return step_grid(context, g, s) ? compare(s, g->work) : cli_failed_call();
}

int bench_grid_check(hr_context *context, const bench_workload *work,
                     const bench_grid_form *form)
{
    bench_grids g = {.work = work, .form = form};
    sample s = {.boundary = work->boundary,
                .extent = work->rank == 3 ? hr_extent3(37, 21, 67)
                                          : hr_extent2(131, 259)};
    s.cells = hr_extent_count(bench_grid_extent(work, s.extent));
    enum { ARRAYS = 2 + BENCH_GRID_FIELDS_MAX };
    float *all = malloc(ARRAYS * (size_t)s.cells * sizeof(float));
    int status = CLI_OK;
    if (!bench_grids_open(&g, 1) || all == NULL) {
        status = cli_fail("out of memory");
    } else {
        s.start = all;
        s.seen = all + s.cells;
        for (int f = 0; f < BENCH_GRID_FIELDS_MAX; f++) {
            s.fields[f] = all + (2 + f) * s.cells;
        }
        status = run(context, &g, &s);
    }
    bench_grids_close(&g);
    free(all);
    return status;
}
