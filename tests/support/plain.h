/* SPDX-License-Identifier: MIT */
/* Elements and products in a type's own arithmetic, slow and obvious: what an
 * implementation may do. reference.h has what it should do. */
#ifndef PLAIN_H
#define PLAIN_H

#include "support/reference.h"

/* Store a number as element (row, col) of m, rounded to its type; conjugated
 * first if m says so. The opposite of reference_load. */
void plain_store(const hr_matrix *m, int64_t row, int64_t col, double re,
                 double im);

/* A number rounded to the type that sums of a product into c_type are formed
 * in. */
double plain_rounded(double x, hr_type c_type);

/* C := alpha A B + beta C in problem->c's memory: one sum after the other over
 * k in the accumulation type, rounded once at the end. */
void plain_product(const reference_problem *problem);

#endif
