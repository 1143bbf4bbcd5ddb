/* SPDX-License-Identifier: MIT */
/* The lists that bench's options take. */
#ifndef BENCH_VALUES_H
#define BENCH_VALUES_H

#include "console/values.h"

enum { BENCH_PROBLEMS_MAX = 32, BENCH_NUMBERS_MAX = 9 };

/* A kind of product. */
typedef struct bench_number {
    const char *name; /* "tf32" is f32 with HR_COMPUTE_TF32 */
    hr_type type, c_type;
    hr_compute compute;
} bench_number;

typedef struct bench_numbers {
    bench_number list[BENCH_NUMBERS_MAX];
    int count;
} bench_numbers;

/* Extents m, k, n. */
typedef struct bench_problems {
    cli_shape list[BENCH_PROBLEMS_MAX];
    int count;
} bench_problems;

/* Of operands: page-locked or not. */
typedef struct bench_memories {
    bool pinned[2];
    int count;
} bench_memories;

/* Who else to measure. */
enum { BENCH_WITH_CBLAS = 1, BENCH_WITH_OPENBLAS = 2, BENCH_WITH_CUBLASXT = 4 };

typedef struct bench_peers_wish {
    bool given;
    unsigned who; /* bits of the above */
} bench_peers_wish;

/* ---- of grids */

enum { BENCH_WORKLOADS_MAX = 8 };

typedef struct bench_workloads {
    const struct bench_workload *list[BENCH_WORKLOADS_MAX];
    int count;
} bench_workloads;

typedef struct bench_grid_wish {
    bench_workloads workloads;
    int64_t steps;    /* time steps; 0: as many as are usual */
    int64_t residual; /* time steps from one to the next; 0: none */
    bool weak;        /* as many rows for each accelerator */
} bench_grid_wish;

extern const cli_kind bench_sizes;       /* bench_problems: "512,1024" */
extern const cli_kind bench_shapes;      /* bench_problems: "MxKxN,MxKxN" */
extern const cli_kind bench_number_list; /* bench_numbers: "f32,tf32" */
extern const cli_kind bench_memory_list; /* bench_memories */
extern const cli_kind bench_peers_list;  /* bench_peers_wish */
extern const cli_kind bench_repeats;     /* int64_t: from 1 to 10000 */
extern const cli_kind bench_steps;       /* int64_t: from 1 to 10^9 */
extern const cli_kind bench_period;      /* int64_t: from 0 to 10^9 */

/* f32 and f64. */
extern const bench_numbers bench_default_numbers;
bool bench_is_default(const bench_numbers *numbers);

#endif
