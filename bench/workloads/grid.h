/* SPDX-License-Identifier: MIT */
/* headrace bench grid: grids that step on each list of accelerators. */
#ifndef BENCH_GRID_H
#define BENCH_GRID_H

#include "bench/bench.h"

/* ---- grid_work.c: what is stepped */

enum { BENCH_GRID_FIELDS_MAX = 3 };

/* How a kernel runs: phases have this tile and step. */
typedef struct bench_grid_form {
    int64_t tile[HR_MAX_RANK]; /* 0: the library chooses */
    int64_t step[HR_MAX_RANK];
} bench_grid_form;

typedef struct bench_workload {
    const char *name;
    uint32_t rank;
    int64_t times;            /* time steps of a step of the grid */
    uint32_t fields, unknown; /* of float; the first of them have values that
                                 steps make out of their own */
    bool residual;            /* two fields whose distance means something */
    const bench_grid_form *gpu, *host; /* this for emulated devices too */
    int64_t gpu_size, size;            /* when none is given */
} bench_workload;

extern const cli_kind bench_workload_list; /* bench_workloads: "jacobi,heat" */
extern const bench_workloads bench_default_workloads;

/* What kernels of workloads are given beside fields, and find beyond ends. */
extern const float bench_heat_rate, bench_courant, bench_grid_edge;

/* Grids that step side by side: one, or as many as others are compared with. */
typedef struct bench_grids {
    const bench_workload *work;
    const bench_grid_form *form;
    int64_t period; /* steps from one residual to the next; 0: there is none */
    uint32_t count;
    hr_grid **grids;
    hr_reducing **reducing; /* of each; NULL: none is under way */
    double residual;        /* the last one, of all grids */
} bench_grids;

/* Room for `count` grids. False: out of memory. */
bool bench_grids_open(bench_grids *g, uint32_t count);
void bench_grids_close(bench_grids *g);

/* Make grid i, on some accelerators or, without options, on all; its unknown
 * fields get data, an array of the extent or of fewer rows, which are then
 * repeated, if there is one. False: a call has failed. */
bool bench_grids_make(bench_grids *g, uint32_t i, hr_context *context,
                      hr_extent extent, const hr_grid_options *options,
                      hr_array *data);

/* Make so many steps of all grids, with their residuals, and wait for them. A
 * residual is asked for when the next one is on its way, so nobody waits. */
hr_status bench_grids_advance(bench_grids *g, int64_t steps);

/* ---- grid_check.c: a small grid beside plain C, all cells. Returns an
 * exit status, when they differ too. */
int bench_grid_check(hr_context *context, const bench_workload *work,
                     const bench_grid_form *form);

/* ---- grid_rates.c: what the same accelerators copy; exit statuses */

/* Bytes that all accelerators together read and write in a second, each from
 * one array of its own, of so many bytes or what its memory allows, to another.
 */
int bench_grid_copy_rate(hr_context *context, uint64_t bytes, double *rate);

/* Seconds of a message of `bytes` bytes each way between all neighbours, of
 * which there are `count` bands, two or more. */
int bench_grid_exchange(hr_context *context, const hr_band *bands,
                        uint32_t count, uint64_t bytes, double *seconds);

#endif
