/* SPDX-License-Identifier: MIT */
/* What kernels in the dialect cost beside the same kernels written by hand: two
 * sides work on the same problems in turns. */
#ifndef BENCH_DIALECT_BENCH_H
#define BENCH_DIALECT_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <headrace/headrace.h>

typedef enum bench_kind {
    BENCH_ADD,
    BENCH_TRANSPOSE,
    BENCH_MULTIPLY, /* one item for each element, nothing shared */
    BENCH_BLOCKED,  /* in registers */
    BENCH_NOTHING
} bench_kind;

enum { BENCH_ARRAYS = 3 };

/* Add: cols elements. Transpose: rows x cols. Multiply: rows x depth times
 * depth x cols. Extents fit an int, and so do their products. */
typedef struct bench_problem {
    bench_kind kind;
    int64_t rows, cols, depth;
    int count;                   /* of arrays; the last is the result */
    hr_extent of[BENCH_ARRAYS];  /* rank 1 or 2 */
    float *arrays[BENCH_ARRAYS]; /* random numbers; the result comes here */
    size_t bytes[BENCH_ARRAYS];
} bench_problem;

/* problem.c */
bool bench_problem_create(bench_problem *p, bench_kind kind, int64_t rows,
                          int64_t cols, int64_t depth);
void bench_problem_free(bench_problem *p);
float *bench_result(const bench_problem *p);
const char *bench_kind_name(bench_kind kind);
/* Spoil the result; and whether it is right: to the bit, or for products a
 * sample of it within gamma_k |A||B| [Higham2002]. */
void bench_spoil(bench_problem *p);
bool bench_is_right(const bench_problem *p);
/* What kernels by hand get: the numbers behind the arrays, how many there are,
 * and groups and items of a group, columns first. */
int bench_numbers(const bench_problem *p, int numbers[3]);
void bench_grid(const bench_problem *p, unsigned groups[2], unsigned items[2]);

/* One way to run problems, one problem at a time. */
typedef struct bench_side {
    hr_status (*prepare)(void *data, bench_problem *p); /* arrays go up */
    /* Make the kernel, run it, and wait: seconds by the clock. */
    hr_status (*first)(void *data, double *seconds);
    /* Run it so many times, one behind the other: seconds of each, by the
     * device's events, or by the clock until all have run. */
    hr_status (*run)(void *data, int times, bool by_clock, double *seconds);
    /* The same for a copy of the first array to the last; may be NULL. */
    hr_status (*copy)(void *data, int times, double *seconds);
    hr_status (*fetch)(void *data); /* the result comes home */
    void (*finish)(void *data);     /* accepts what is half prepared */
    void (*close)(void *data);      /* accepts NULL */
    void *data;
} bench_side;

/* The dialect on an accelerator; and by hand on the same one. *reason is set
 * where there is none. */
hr_status bench_dialect_open(const char *accelerators, bench_side *side,
                             hr_accelerator_info *info);
hr_status bench_host_open(const hr_accelerator_info *info, bench_side *side);
hr_status bench_opencl_open(const hr_accelerator_info *info, bench_side *side);
hr_status bench_cuda_open(const hr_accelerator_info *info, bench_side *side);

typedef struct bench_options {
    const char *sections;
    int64_t size; /* of the product in registers */
    int repeat, launches;
    bool quick, json;
} bench_options;

typedef struct bench_row {
    const char *section, *kernel, *device, *what;
    char shape[48];
    double hand_first, hand_best, dialect_first, dialect_best; /* 0: none */
    double ratio; /* seconds when `what` says so */
    double target;
    bool at_most; /* the target, else at least */
} bench_row;

/* print.c */
void bench_print_head(const bench_options *o);
void bench_print_row(const bench_options *o, const bench_row *row);
void bench_print_missing(const bench_options *o, const char *section,
                         const char *reason);

/* contest.c: false when something failed or was wrong. */
bool bench_contest(const bench_options *o, const char *section);
bool bench_launches(const bench_options *o);

#endif
