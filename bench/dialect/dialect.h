/* SPDX-License-Identifier: MIT */
/* What kernels in the dialect cost beside the same kernels written by hand: two
 * sides work on the same problems in turns. */
#ifndef BENCH_DIALECT_H
#define BENCH_DIALECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <headrace/headrace.h>

#include "console/text.h"

typedef enum dialect_kind {
    DIALECT_ADD,
    DIALECT_TRANSPOSE,
    DIALECT_MULTIPLY, /* one item for each element, nothing shared */
    DIALECT_BLOCKED,  /* in registers */
    DIALECT_NOTHING
} dialect_kind;

enum { DIALECT_ARRAYS = 3 };

/* Add: cols elements. Transpose: rows x cols. Multiply: rows x depth times
 * depth x cols. Extents fit an int, and so do their products. */
typedef struct dialect_problem {
    dialect_kind kind;
    int64_t rows, cols, depth;
    int count;                     /* of arrays; the last is the result */
    hr_extent of[DIALECT_ARRAYS];  /* rank 1 or 2 */
    float *arrays[DIALECT_ARRAYS]; /* random numbers; the result comes here */
    size_t bytes[DIALECT_ARRAYS];
} dialect_problem;

/* problem.c */
bool dialect_problem_create(dialect_problem *p, dialect_kind kind, int64_t rows,
                            int64_t cols, int64_t depth);
void dialect_problem_free(dialect_problem *p);
const char *dialect_kind_name(dialect_kind kind);
/* Spoil the result; and whether it is right: to the bit, or for products a
 * sample of it within gamma_k |A||B| [Higham2002]. */
void dialect_spoil(dialect_problem *p);
bool dialect_is_right(const dialect_problem *p);
/* What kernels by hand get: the numbers behind the arrays, how many there are,
 * and groups and items of a group, columns first. */
int dialect_numbers(const dialect_problem *p, int numbers[3]);
void dialect_groups(const dialect_problem *p, unsigned groups[2],
                    unsigned items[2]);

/* One way to run problems, one problem at a time. What may be NULL has nothing
 * to do there. */
typedef struct dialect_side {
    hr_status (*prepare)(void *data, dialect_problem *p); /* arrays go up */
    hr_status (*make)(void *data); /* the kernel; may be NULL */
    /* Enqueue it so many times, or as many copies of the first array to the
     * last, which only a side with `copies` is asked for. */
    hr_status (*launch)(void *data, int times, bool copies);
    hr_status (*wait)(void *data);           /* for all of it; may be NULL */
    hr_status (*mark)(void *data, int mark); /* 0 or 1, in the queue */
    hr_status (*elapsed)(void *data, double *seconds); /* between the marks */
    hr_status (*fetch)(void *data); /* the result comes home; may be NULL */
    void (*finish)(void *data); /* accepts what is half prepared; may be NULL */
    void (*close)(void *data);  /* accepts NULL */
    bool copies;
    void *data;
} dialect_side;

/* The dialect on an accelerator; and by hand on the same one. */
hr_status dialect_open(const char *accelerators, dialect_side *side,
                       hr_accelerator_info *info);
hr_status dialect_host_open(const hr_accelerator_info *info,
                            dialect_side *side);
hr_status dialect_opencl_open(const hr_accelerator_info *info,
                              dialect_side *side);
hr_status dialect_cuda_open(const hr_accelerator_info *info,
                            dialect_side *side);

/* command.c */
typedef struct dialect_options {
    unsigned sections; /* bits, in the order of dialect_sections */
    int64_t size;      /* of the product in registers */
    int64_t repeat, launches;
    bool quick, json;
} dialect_options;

enum { DIALECT_SECTIONS = 4 };
extern const char *const dialect_sections[DIALECT_SECTIONS];

typedef struct dialect_row {
    const char *section, *kernel, *device, *what;
    char shape[48];
    double hand_first, hand_best, dialect_first, dialect_best; /* 0: none */
    double ratio; /* seconds when `what` says so */
    double target;
    bool at_most; /* the target, else at least */
} dialect_row;

void dialect_add_row(const dialect_options *o, cli_table *table,
                     const dialect_row *row);
void dialect_print_missing(const dialect_options *o, const char *section,
                           const char *reason);

/* contest.c: false when something failed or was wrong. */
bool dialect_contest(const dialect_options *o, const char *section,
                     cli_table *table);
bool dialect_launches(const dialect_options *o, cli_table *table);

#endif
