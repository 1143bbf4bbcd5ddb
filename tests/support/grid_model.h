/* SPDX-License-Identifier: MIT */
/* A field of a grid as one array with the cells beyond its ends, and what the
 * kernels of tests/kernels/cells.c do with it, without bands and halos. */
#ifndef GRID_MODEL_H
#define GRID_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include <headrace/grid.h>

#include "support/random.h"

/* As in tests/kernels/cells.c. */
typedef struct reach {
    int before[3], after[3];
    int place[3];
} reach;

typedef struct grid_model {
    hr_extent extent;
    hr_field field; /* its values are the caller's */
    int64_t lo[3], hi[3];
    unsigned char *cells;
} grid_model;

/* Zeros. False: out of memory. */
bool grid_model_create(grid_model *m, hr_extent extent, const hr_field *field);
void grid_model_destroy(grid_model *m);

/* The cell itself. It lies inside, or where the boundary is the user's. */
unsigned char *grid_model_own(const grid_model *m, const int64_t *at);
/* The cell whose value a kernel gets when it reads there. */
const unsigned char *grid_model_read(const grid_model *m, const int64_t *at);

/* The cells inside, as hr_grid_gather has them, and back. */
void grid_model_pack(const grid_model *m, void *data);
void grid_model_unpack(const grid_model *m, const void *data);
/* Cells inside get random values. */
void grid_model_fill(const grid_model *m, random_source *random);
/* Whether a field of a grid has the same cells inside. */
bool grid_model_agrees(const grid_model *m, hr_grid *grid, uint32_t field);

/* All cells that a kernel may read beside its own. */
reach grid_model_reach(const hr_field *field, uint32_t rank);
/* Run stir<rank>_<element_bytes> for cells lo to before hi. */
void grid_model_stir(const grid_model *from, const grid_model *to,
                     const int64_t *lo, const int64_t *hi, const reach *r);
/* And for all inside. */
void grid_model_stir_all(const grid_model *from, const grid_model *to,
                         const reach *r);

#endif
