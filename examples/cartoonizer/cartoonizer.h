/* SPDX-License-Identifier: MIT */
/* Pictures become cartoons: see examples/cartoonizer.c. */
#ifndef EXAMPLES_CARTOONIZER_CARTOONIZER_H
#define EXAMPLES_CARTOONIZER_CARTOONIZER_H

#include <headrace/headrace.h>
#include <stdbool.h>

#include "support/picture.h"

typedef struct style {
    int phases; /* times that colours are simplified */
    int window; /* even: so many neighbours in a row and in a column */
} style;

/* filter.c: `to`, as large as `from`, becomes the cartoon of it, made in bands
 * by the accelerators that options names. */
hr_status cartoon_make(hr_context *context, const hr_grid_options *options,
                       style s, const picture *from, picture *to);

/* deal.c: many of them, each made by one accelerator alone: the first that has
 * nothing else to do. take(data, n) is called for each on the calling thread,
 * in order, as soon as it is there; false ends it all. */
bool cartoon_distribute(hr_context *context, style s, int count,
                        const picture *from, picture *to,
                        bool (*take)(void *data, int n), void *data);

/* reference.c: the same in plain C, in double. */
void cartoon_reference(style s, const picture *from, picture *to);

/* checks.c: all of them, on pictures of its own. */
hr_status checks_run(hr_context *context, style s);

/* A picture that nobody has taken, another for each number. */
picture checks_picture(int rows, int cols, int number);

#endif
