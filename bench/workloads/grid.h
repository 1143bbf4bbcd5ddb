/* SPDX-License-Identifier: MIT */
/* headrace bench grid: grids that step on each list of accelerators. */
#ifndef BENCH_GRID_H
#define BENCH_GRID_H

#include "bench/bench.h"

/* ---- grid_work.c: the workloads, also in plain C */

enum { BENCH_GRID_FIELDS_MAX = 6 };

/* How a kernel runs: the tile and step of its phases. */
typedef struct bench_grid_form {
    int64_t tile[HR_MAX_KERNEL_RANK]; /* 0: the library chooses */
    int64_t step[HR_MAX_KERNEL_RANK];
    bool in_place; /* fdtd: in two phases, without second copies of fields */
} bench_grid_form;

/* What is computed. */
typedef enum bench_equation {
    BENCH_LAPLACE, /* by Jacobi's iteration */
    BENCH_HEAT,
    BENCH_MAXWELL,
    BENCH_BOLTZMANN
} bench_equation;

/* A time step computes `unknown` fields of float from their values, into as
 * many other fields. Then each two change places. A form may do so in place. */
typedef struct bench_workload {
    const char *name;
    bench_equation equation;
    uint32_t rank, unknown;
    int64_t times; /* time steps of a step of the grid */
    int64_t parts; /* values of a field for each cell; dimension 1 of the grid
                      has as many times the cells' rows */
    hr_boundary boundary;              /* of jacobi and heat */
    const bench_grid_form *gpu, *host; /* host: also for emulated devices */
    int64_t gpu_size, size;            /* the sizes if none is given */
} bench_workload;

extern const cli_kind bench_workload_list; /* bench_workloads: "jacobi,heat" */
extern const bench_workloads bench_default_workloads;

/* Whether there is a residual: the distance of the two fields. */
static inline bool bench_has_residual(const bench_workload *work)
{
    return work->equation == BENCH_LAPLACE;
}

/* The extent of the grid for an extent of cells. */
hr_extent bench_grid_extent(const bench_workload *work, hr_extent cells);

/* Fill a field, or rows of it, with values to start from. False: cancelled. */
bool bench_grid_start(const bench_workload *work, float *values, int64_t count,
                      uint64_t seed);

/* Grids that step at the same time: one, or as many as it is compared with. */
typedef struct bench_grids {
    const bench_workload *work;
    const bench_grid_form *form;
    int64_t period; /* time steps between residuals; 0: no residuals */
    uint32_t count;
    hr_grid **grids;
    hr_reducing **reducing; /* of each grid; NULL: none is under way */
    double residual;        /* the last one, over all grids */
} bench_grids;

/* Room for `count` grids. False: out of memory. */
bool bench_grids_open(bench_grids *g, uint32_t count);
void bench_grids_close(bench_grids *g);

/* Make grid i for an extent of cells, on some accelerators or, without options,
 * on all. Its unknown fields get data: an array of the grid's extent, or of
 * fewer rows that are repeated, or NULL. */
hr_status bench_grids_make(bench_grids *g, uint32_t i, hr_context *context,
                           hr_extent cells, const hr_grid_options *options,
                           hr_array *data);

/* Make so many steps of all grids, with their residuals, and wait for them. A
 * residual is read when the next one is on its way, so it need not be waited
 * for. */
hr_status bench_grids_advance(bench_grids *g, int64_t steps);

/* Compare all cells of a small grid with plain C. Returns an exit status, also
 * when they differ. */
int bench_grid_check(hr_context *context, const bench_workload *work,
                     const bench_grid_form *form);

/* ---- grid_rates.c: how fast the accelerators copy to each other; and
 * bench_copy_rate. Returns exit statuses */

/* Seconds of a message of `bytes` bytes in each direction between all
 * neighbours. There are `count` bands, two or more. */
int bench_grid_exchange(hr_context *context, const hr_band *bands,
                        uint32_t count, uint64_t bytes, double *seconds);

#endif
