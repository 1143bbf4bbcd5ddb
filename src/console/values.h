/* SPDX-License-Identifier: MIT */
/* The kinds of values that options take. */
#ifndef CONSOLE_VALUES_H
#define CONSOLE_VALUES_H

#include <stdbool.h>
#include <stdint.h>

#include <headrace/headrace.h>

#include "args.h"

/* A factor, and whether it was given. */
typedef struct cli_scalar {
    bool given;
    hr_scalar value;
} cli_scalar;

/* Extents of up to three dimensions. */
typedef struct cli_shape {
    int64_t extents[3];
} cli_shape;

/* Shapes of files without a header: A's and B's, or one of both. */
typedef struct cli_shapes {
    int32_t count;
    hr_file_array list[2];
} cli_shapes;

/* The array that the file at `index` has if it has no header. NULL when no
 * shape is given. */
const hr_file_array *cli_raw(const cli_shapes *shapes, int index, hr_type type,
                             hr_file_array *raw);

extern const cli_kind cli_flag;      /* bool */
extern const cli_kind cli_file;      /* const char *: not empty */
extern const cli_kind cli_list;      /* const char *: accelerators, not empty */
extern const cli_kind cli_bytes;     /* uint64_t: "512MiB" */
extern const cli_kind cli_seed;      /* uint64_t */
extern const cli_kind cli_factor;    /* cli_scalar: "1.5", "2i", "1.5+2i" */
extern const cli_kind cli_finite;    /* cli_scalar: "1.5" */
extern const cli_kind cli_shape2;    /* cli_shape: "RxC" */
extern const cli_kind cli_raw_shape; /* cli_shapes of one: "1000", "2x3x4" */
extern const cli_kind cli_raw_shapes; /* cli_shapes of one or two */
extern const cli_kind cli_shape3;     /* cli_shape: "MxKxN" */
extern const cli_kind cli_threads;    /* int64_t: a number of threads */
extern const cli_kind cli_machines;   /* int64_t: a number of machines */
extern const cli_kind cli_window;     /* int64_t: the reach of a window */
extern const cli_kind cli_type;       /* hr_type */
extern const cli_kind cli_order;      /* hr_order */
extern const cli_kind cli_compute;    /* hr_compute */

#endif
