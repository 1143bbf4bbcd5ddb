/* SPDX-License-Identifier: MIT */
/* Turns pictures into cartoons: see examples/cartoonizer.c. */
#ifndef EXAMPLES_CARTOONIZER_CARTOONIZER_H
#define EXAMPLES_CARTOONIZER_CARTOONIZER_H

#include <headrace/headrace.h>
#include <stdbool.h>

#include "support/picture.h"

typedef struct style {
    int phases; /* how often colours are simplified */
    int window; /* even: how many neighbours in a row and in a column count */
} style;

/* filter.c: make a cartoon of `from` in `to`, which is as large. The
 * accelerators that options names work on it in bands. */
hr_status cartoon_make(hr_context *context, const hr_grid_options *options,
                       style s, const picture *from, picture *to);

/* distribute.c: make many cartoons. Each is made by one accelerator, the first
 * that has nothing else to do. take(data, n) is called for each picture on the
 * calling thread, in order, as soon as it is made. If it returns false, the
 * work ends. */
bool cartoon_distribute(hr_context *context, style s, int count,
                        const picture *from, picture *to,
                        bool (*take)(void *data, int n), void *data);

/* reference.c: make a cartoon in plain C, in double. */
void cartoon_reference(style s, const picture *from, picture *to);

/* checks.c: run all checks, on pictures of its own. */
hr_status checks_run(hr_context *context, style s);

/* A picture from a formula, another one for each number. */
picture checks_picture(int rows, int cols, int number);

#endif
