/* SPDX-License-Identifier: MIT */
/* Random launches of split1 to split3 over the accelerators of a bed, and what
 * plain loops make of them. */
#ifndef SPLIT_PROBLEM_H
#define SPLIT_PROBLEM_H

#include "support/bed.h"
#include "support/split.h"

enum { SPLIT_SIDES = 3, SPLIT_TABLE = 32 };

/* Where an array has its memory. */
typedef enum split_memory {
    SPLIT_WRAPPED,  /* ordinary memory of the caller */
    SPLIT_PINNED,   /* page-locked memory of the caller */
    SPLIT_ANYWHERE, /* on no accelerator of its own */
    SPLIT_HOME      /* on one of them */
} split_memory;

/* An array with a margin around its view, and what it should hold. */
typedef struct split_side {
    hr_array *array;
    hr_view view;
    int64_t outer[HR_MAX_RANK], margin[HR_MAX_RANK];
    int *own, *want; /* own: memory to wrap; NULL: none */
    size_t bytes;
    bool pinned; /* own */
} split_side;

/* A random domain, the arrays around it, and a table, which points read
 * anywhere. It stays where it is. */
typedef struct split_problem {
    bed *b;
    hr_extent domain;
    uint64_t row_bytes; /* of each view */
    split_side sides[SPLIT_SIDES];
    int table[SPLIT_TABLE];
    uint64_t table_bytes;
    hr_array *table_array;
} split_problem;

/* At most so many rows, and arrays with any of these memories. */
void split_problem_init(split_problem *p, bed *b, int64_t most_rows,
                        const split_memory *memories, int count);
void split_problem_finish(split_problem *p);

/* Launch with the sides in these roles: read near by, changed, written. */
hr_status split_problem_launch(const split_problem *p, const reach *r,
                               split_side *const role[SPLIT_SIDES],
                               const hr_split_options *options);

/* Let the sides want what such a launch makes of them. */
void split_problem_want(const split_problem *p, const reach *r,
                        split_side *const role[SPLIT_SIDES]);

/* Whether the array has the wanted values at home, margins and all. */
bool split_side_is_right(const split_side *s);

#endif
