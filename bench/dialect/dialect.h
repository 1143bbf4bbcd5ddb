/* SPDX-License-Identifier: MIT */
/* What kernels in the dialect cost beside the same kernels written by hand. Two
 * sides work on the same problems by turns. */
#ifndef BENCH_DIALECT_H
#define BENCH_DIALECT_H

#include "bench/bench.h"

typedef enum dialect_kind {
    DIALECT_ADD,
    DIALECT_TRANSPOSE,
    DIALECT_MULTIPLY,  /* one item for each element, nothing shared */
    DIALECT_BLOCKED,   /* in registers */
    DIALECT_HISTOGRAM, /* counted in memory of the tile */
    DIALECT_NOTHING
} dialect_kind;

enum { DIALECT_ARRAYS = 3 };

/* What differs between kinds. By hand, and in the dialect where it is tiled, a
 * group of `items` items computes `elements` elements of the result. Columns
 * come first. */
typedef struct dialect_work {
    const char *name, *symbol; /* of the kernel by hand */
    const hr_kernel *kernel;
    unsigned items[2], elements[2];
    bool tiled;
} dialect_work;

/* Add: cols elements. Transpose: rows x cols. Multiply: rows x depth times
 * depth x cols. Histogram: depth elements in rows parts, with cols bins.
 * Extents fit an int, and so do their products. */
typedef struct dialect_problem {
    dialect_kind kind;
    const dialect_work *work;
    int64_t rows, cols, depth;
    int count;                     /* of arrays; the last is the result */
    hr_extent of[DIALECT_ARRAYS];  /* rank 1 or 2 */
    float *arrays[DIALECT_ARRAYS]; /* random numbers; the result comes here */
    size_t bytes[DIALECT_ARRAYS];
    /* Numbers that kernels by hand get after the arrays, and how many groups to
     * launch. */
    int numbers[3], number_count;
    unsigned groups[2];
} dialect_problem;

/* problem.c */
bool dialect_problem_create(dialect_problem *p, dialect_kind kind, int64_t rows,
                            int64_t cols, int64_t depth);
void dialect_problem_free(dialect_problem *p);
/* Spoil the result. The second function tells whether it is right: to the bit,
 * or, for products, a sample of it within gamma_k |A||B| [Higham2002]. */
void dialect_spoil(dialect_problem *p);
bool dialect_is_right(const dialect_problem *p);

/* One way to run problems, one problem at a time. Functions that may be NULL
 * are left out where there is nothing to do. */
typedef struct dialect_side {
    hr_status (*prepare)(void *data, dialect_problem *p); /* arrays go up */
    hr_status (*make)(void *data);              /* the kernel; may be NULL */
    hr_status (*launch)(void *data, int times); /* enqueue it so many times */
    hr_status (*wait)(void *data);              /* for all of it; may be NULL */
    /* Time launches, or copies of the first array to the last, by the device's
     * clock. time_copies may be NULL. */
    hr_status (*time)(void *data, int times, double *seconds);
    hr_status (*time_copies)(void *data, int times, double *seconds);
    hr_status (*fetch)(void *data); /* copy the result home; may be NULL */
    void (*finish)(void *data); /* accepts a problem that is half prepared; may
                                   be NULL */
    void (*close)(void *data);  /* accepts NULL */
    void *data;
} dialect_side;

/* dialect.c: open the dialect on an accelerator. False when a call has failed.
 * host.c, opencl.c and cuda.c: open the side by hand on the same one. */
bool dialect_open(const char *accelerators, dialect_side *side,
                  hr_accelerator_info *info);
hr_status dialect_host_open(const hr_accelerator_info *info,
                            dialect_side *side);
hr_status dialect_opencl_open(const hr_accelerator_info *info,
                              dialect_side *side);
hr_status dialect_cuda_open(const hr_accelerator_info *info,
                            dialect_side *side);

#endif
