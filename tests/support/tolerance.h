/* SPDX-License-Identifier: MIT */
/* The tolerance of docs/verify.md, computed from its formula and not from the
 * library's code: an element that is wrong by more than this is found. */
#ifndef TOLERANCE_H
#define TOLERANCE_H

#include "support/reference.h"

/* A problem; C has at least as many rows as columns, and old is C0. */
typedef struct tolerance {
    hr_scalar alpha, beta;
    hr_matrix a, b, old, c;
    double *scales; /* of C's columns, powers of two; 0: it is left out */
    double scale_sum, scale_squares;
    long double *b_sums; /* of |re| + |im| along each row of B, scaled */
    long double b_sum;   /* of all of B, scaled */
} tolerance;

/* Set the fields up to c first. False when memory runs out. */
bool tolerance_init(tolerance *t);
void tolerance_finish(tolerance *t);

/* For element (row, col), given the C that is there now. 0 for integers. NaN
 * where it, its row of A, its column of B, its C0, alpha or beta is not finite:
 * no number says there what is wrong. */
double tolerance_of(const tolerance *t, int64_t row, int64_t col);

#endif
