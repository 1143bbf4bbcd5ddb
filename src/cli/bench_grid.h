/* SPDX-License-Identifier: MIT */
/* headrace bench grid: grids that step on each list of accelerators. */
#ifndef CLI_BENCH_GRID_H
#define CLI_BENCH_GRID_H

#include "bench.h"
#include "table.h"

/* ---- bench_grid_work.c: what is stepped */

enum { CLI_WORKLOADS_MAX = 8, CLI_GRID_FIELDS_MAX = 3 };

/* How a kernel runs: stages have this tile and step. */
typedef struct cli_grid_form {
    int64_t tile[HR_MOST_RANK]; /* 0: the library chooses */
    int64_t step[HR_MOST_RANK];
} cli_grid_form;

typedef struct cli_workload {
    const char *name;
    uint32_t rank;
    int64_t times;            /* time steps of a step of the grid */
    uint32_t fields, unknown; /* of float; the first of them have values that
                                 steps make out of their own */
    bool residual;            /* two fields whose distance means something */
    const cli_grid_form *gpu, *host; /* this for emulated devices too */
    int64_t gpu_size, size;          /* when none is given */
} cli_workload;

typedef struct cli_workloads {
    const cli_workload *list[CLI_WORKLOADS_MAX];
    int count;
} cli_workloads;

extern const cli_kind cli_workload_list; /* cli_workloads: "jacobi,heat" */
extern const cli_workloads cli_default_workloads;

/* What kernels of workloads are given beside fields, and find beyond ends. */
extern const float cli_heat_rate, cli_courant, cli_grid_edge;

/* Grids that step side by side: one, or as many as others are compared with. */
typedef struct cli_grids {
    const cli_workload *work;
    const cli_grid_form *form;
    int64_t period; /* steps from one residual to the next; 0: there is none */
    uint32_t count;
    hr_grid **grids;
    hr_reducing **reducing; /* of each; NULL: none is under way */
    double residual;        /* the last one, of all grids */
} cli_grids;

/* Room for `count` grids. False: out of memory. */
bool cli_grids_open(cli_grids *g, uint32_t count);
void cli_grids_close(cli_grids *g);

/* Make grid i, on some accelerators or, with NULL, on all. */
hr_status cli_grids_create(cli_grids *g, uint32_t i, hr_context *context,
                           hr_extent extent, const hr_grid_options *options);

/* Put data, an array of the grid's extent or of fewer rows, which are then
 * repeated, into the unknown fields of grid i. */
hr_status cli_grids_load(const cli_grids *g, uint32_t i, hr_extent extent,
                         hr_array *data);

/* Make so many steps of all grids, with their residuals, and wait for them. A
 * residual is asked for when the next one is on its way, so nobody waits. */
hr_status cli_grids_advance(cli_grids *g, int64_t steps);

/* ---- bench_grid_check.c: a small grid beside plain C, all cells. Returns an
 * exit status, when they differ too. */
int cli_grid_check(hr_context *context, const cli_workload *work,
                   const cli_grid_form *form);

/* ---- bench_grid_rates.c: what the same accelerators copy; exit statuses */

/* Bytes that all accelerators together read and write in a second, each from
 * one array of its own, of so many bytes or what its memory allows, to another.
 */
int cli_grid_copy_rate(hr_context *context, uint64_t bytes, double *rate);

/* Seconds of a message of `bytes` bytes each way between all neighbours, of
 * which there are `count` bands, two or more. */
int cli_grid_exchange(hr_context *context, const hr_band *bands, uint32_t count,
                      uint64_t bytes, double *seconds);

/* ---- bench_grid.c */

typedef struct cli_grid_wish {
    cli_workloads workloads;
    int64_t steps;    /* time steps; 0: as many as are usual */
    int64_t residual; /* time steps from one to the next; 0: none */
    bool weak;        /* as many rows for each accelerator */
} cli_grid_wish;

/* The workloads on every list of the settings, of the sizes of all problems or,
 * when there are none, of the usual one. Returns an exit status. */
int cli_bench_grid(cli_bench *bench, const cli_grid_wish *wish);

/* ---- bench_grid_print.c */

enum { CLI_GRID_SUMS = 2 * CLI_GRID_FIELDS_MAX };

/* One workload of one size on one list. */
typedef struct cli_grid_row {
    const cli_workload *work;
    const cli_setting *setting;
    hr_extent extent;
    int64_t runs, steps;    /* after the first run; time steps of each */
    int64_t period;         /* of residuals, in time steps */
    double first, best;     /* seconds */
    double copy;            /* bytes a second */
    double alone, exchange; /* seconds of a run; 0: not measured */
    double residual, speed_up, efficiency; /* 0: none */
    double sums[CLI_GRID_SUMS]; /* of the fields and of their squares */
    bool summed, compared;      /* and they are those of the first list */
    hr_grid_state state;
    hr_band *bands;
} cli_grid_row;

double cli_grid_cells(const cli_grid_row *r);     /* a second */
double cli_grid_effective(const cli_grid_row *r); /* bytes a second */
/* The part of the exchange that takes no time; negative: not known. */
double cli_grid_hidden(const cli_grid_row *r);

void cli_grid_write(const cli_grid_row *r, bool weak); /* a line of JSON */
/* A row of a table with these columns, the first one behind the heading. */
extern const char cli_grid_align[];
void cli_grid_add_row(cli_table *table, const cli_grid_row *r);

#endif
