/* SPDX-License-Identifier: MIT */
/* What the kernels of headrace bench run work on, and whether results are
 * right. */
#ifndef BENCH_RUN_H
#define BENCH_RUN_H

#include "bench/bench.h"
#include "bench/peers/openmp.h"

/* Data of the kernels, in ordinary memory. */
typedef struct run_data {
    int64_t n;            /* elements */
    int64_t edge;         /* rows and columns of squares, and bodies */
    int64_t pixels;       /* rows and columns of the picture */
    float *x;             /* n, or a square and a margin for the blur */
    bench_body *bodies;   /* edge: the same memory */
    int *indices;         /* n of them, from 0 to n - 1 */
    unsigned char *bytes; /* n */
    void *out, *expected; /* n elements of 4 bytes, or edge forces */
    float *y;             /* out, as what kernels write */
    int *counts;
    bench_force *forces;
} run_data;

/* Make the data of n elements. A zeroed struct has none. False when out of
 * memory. */
bool run_data_make(run_data *d, int64_t n);
void run_data_free(run_data *d);

/* What a kernel's results are. */
typedef enum run_kind {
    RUN_EXACT,   /* floats, which no order of operations rounds */
    RUN_UPDATED, /* the same, which the kernel also reads */
    RUN_SUMS,    /* floats: sums of edge elements that are not negative */
    RUN_FORCES,  /* on bodies */
    RUN_PICTURE, /* steps of points, which rounding changes at borders */
    RUN_COUNTS   /* which begin with 0 */
} run_kind;

enum { RUN_STEPS = 200 }; /* of a point of the picture */

/* Prepare memory for results: what the kernel reads, else nothing right. */
void run_data_prepare(const run_data *d, void *out, run_kind kind);

/* The element of `out` that is not as in `expected`, of count; -1: none. */
int64_t run_data_differs(const run_data *d, run_kind kind, int64_t count);

/* An element of out or expected. */
double run_element(const void *out, run_kind kind, int64_t index);

/* The checksum of `expected`, as run_numpy.py makes it. */
double run_checksum(const run_data *d, run_kind kind, int64_t count);

#endif
