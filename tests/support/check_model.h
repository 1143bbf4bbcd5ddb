/* SPDX-License-Identifier: MIT */
/* What the checker has to find in a launch of tests/kernels/uses.c, by a model
 * that knows only what headrace/check.h and headrace/split.h say. It compares
 * every access with every other one. */
#ifndef CHECK_MODEL_H
#define CHECK_MODEL_H

#include <stdbool.h>

enum {
    MODEL_ITEMS = 12, /* at most, and elements of a view */
    MODEL_BLOCKS = 4,
    MODEL_USES = 12
};

typedef enum model_view {
    MODEL_IN,
    MODEL_INOUT,
    MODEL_OUT, /* and those behind it */
    MODEL_OUT_DOUBLE,
    MODEL_OUT_SHORT,
    MODEL_VIEWS
} model_view;

typedef enum model_how {
    MODEL_READ,
    MODEL_WRITE,
    MODEL_ADD,
    MODEL_MAX,
    MODEL_MIN,
    MODEL_ATOMIC_ADD,
    MODEL_ATOMIC_MAX
} model_how;

/* An access, as the kernels know it. */
typedef struct model_use {
    int block, item; /* item < 0: all items of tile -1 - item, before the
                        block */
    int how, view, x, value;
} model_use;

/* Which rows items may use of all views but MODEL_INOUT. */
typedef enum model_rows { MODEL_ANY, MODEL_OF_TILE, MODEL_OWN } model_rows;

typedef struct model_program {
    int items, tile, blocks, count;
    int barriers; /* bit n: there is one behind block n */
    model_rows rows;
    int before, after; /* more rows of MODEL_IN */
    model_use uses[MODEL_USES];
} model_program;

/* Kinds of findings. */
enum {
    MODEL_OUTSIDE = 1,
    MODEL_FAR = 2,
    MODEL_CONST = 4,
    MODEL_UNSET = 8,
    MODEL_CONFLICT = 16,
    MODEL_UNIFORM = 32
};

typedef struct model_findings {
    unsigned must, may;
} model_findings;

model_findings model_check(const model_program *program);

#endif
