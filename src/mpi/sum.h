/* SPDX-License-Identifier: MIT */
/* What comes back of a product: C := beta C + the sum of its terms. */
#ifndef HRI_MPI_SUM_H
#define HRI_MPI_SUM_H

#include "mpi/operand.h"

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
