/* SPDX-License-Identifier: MIT */
/* Matrices inside larger memory, in every layout that hr_matrix can describe.
 * They notice when something beside their elements was written. */
#ifndef PLACED_H
#define PLACED_H

#include <stdbool.h>

#include <headrace/matrix.h>

#include "support/random.h"

/* How a matrix lies in its memory. */
typedef enum placed_layout {
    PLACED_PACKED,     /* row-major, nothing between */
    PLACED_PADDED,     /* row-major, rows further apart than they are long */
    PLACED_TRANSPOSED, /* column-major */
    PLACED_SECTION,    /* a window in a row-major matrix */
    PLACED_TRANSPOSED_SECTION, /* and in a column-major one */
    PLACED_LAYOUTS
} placed_layout;

const char *placed_layout_name(placed_layout layout);

typedef struct placed {
    hr_matrix matrix;
    unsigned char *memory; /* all of it, elements and what is around */
    unsigned char *before; /* a copy of it */
    size_t bytes;
    int64_t lines, width, stride; /* of elements, from matrix.data on */
} placed;

/* rows x cols random elements in the given layout. Complex ones are conjugated
 * when conjugate is set. Random bytes lie around them. False when there is no
 * memory. */
bool placed_init(placed *p, random_source *source, placed_layout layout,
                 const hr_matrix *shape);
void placed_finish(placed *p);

/* Remember the memory as it is now. */
void placed_remember(placed *p);

/* Restore it as it was then. */
void placed_restore(placed *p);

/* The number of bytes outside the elements that have changed since then. With
 * everything set, all bytes count. */
size_t placed_changes(const placed *p, bool everything);

#endif
