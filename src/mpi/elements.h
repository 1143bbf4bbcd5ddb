/* SPDX-License-Identifier: MIT */
/* What touches elements: copies of boxes, and what comes back of a product. */
#ifndef HRI_MPI_ELEMENTS_H
#define HRI_MPI_ELEMENTS_H

#include "mpi/operand.h"

/* A box of elements in memory, with strides in elements. */
typedef struct hri_mpi_place {
    char *data;
    int64_t row_stride, col_stride;
} hri_mpi_place;

/* The place of a box in a tile that lies at `tile`. */
static inline hri_mpi_place hri_mpi_place_of(hri_mpi_place tile,
                                             const hri_mpi_box *box,
                                             size_t element_bytes)
{
    tile.data += (box->row * tile.row_stride + box->col * tile.col_stride) *
                 (int64_t)element_bytes;
    return tile;
}

/* The place of a box in the memory of its owner. */
static inline hri_mpi_place hri_mpi_place_owned(const hri_mpi_box *box)
{
    return (hri_mpi_place){box->owned, box->row_stride, box->col_stride};
}

/* Copy them. */
void hri_mpi_copy_box(hri_mpi_place to, hri_mpi_place from, int64_t rows,
                      int64_t cols, size_t element_bytes);

/* C := beta C + the sum of its terms. */
typedef struct hri_mpi_sum {
    hr_type type, term_type; /* of C, and of terms: f32 where C is a half */
    hr_scalar beta;
    int count; /* terms; 0: C := beta C */
} hri_mpi_sum;

/* Add the terms to a box of C, in their order. terms[i] are packed by columns,
 * and go on behind the box. beta = 0 does not read C. */
void hri_mpi_sum_box(const hri_mpi_sum *sum, const hri_mpi_box *box,
                     const char **terms);

#endif
