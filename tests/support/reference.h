/* SPDX-License-Identifier: MIT */
/* A plain product in wider arithmetic, with the error that a correct
 * multiplication may have in each element: the oracle of the tests.
 *
 * Bounds are derived, see reference.c, from [Higham2002] (N. J. Higham,
 * Accuracy and Stability of Numerical Algorithms, 2nd ed., SIAM 2002). */
#ifndef REFERENCE_H
#define REFERENCE_H

#include <stdbool.h>
#include <stdint.h>

#include <headrace/gemm.h>

/* alpha A B + beta C; c is the old C. Its data is not read when beta is 0. Any
 * type pair of headrace/gemm.h, any strides. */
typedef struct reference_problem {
    hr_scalar alpha, beta;
    hr_matrix a, b, c;
} reference_problem;

/* One element. Real types have im = 0. */
typedef struct reference_element {
    long double re, im; /* the exact value, as near as wide arithmetic gets */
    double bound;       /* of the error in re, and in im; 0 for i32 */
    bool overflow;      /* the narrow type may overflow on the way, so values
                           that are not finite are right, too */
} reference_element;

typedef struct reference {
    hr_type type; /* of C */
    int64_t rows, cols;
    reference_element *elements; /* rows x cols, row-major */
} reference;

/* The first wrong element of a comparison. */
typedef struct reference_miss {
    int64_t row, col;
    double re, im; /* what was found */
    reference_element want;
} reference_miss;

/* Compute it; false when memory runs out. */
bool reference_init(reference *r, const reference_problem *problem);
void reference_finish(reference *r);

/* The number of elements of c that are not right. The first goes to *miss,
 * which may be NULL. Right means inside the bound, NaN where the exact value is
 * NaN, and the same infinity where it is infinite. If a complex element should
 * have a part that is not finite, any such part will do, since implementations
 * differ. */
int64_t reference_compare(const reference *r, const hr_matrix *c,
                          reference_miss *miss);

/* Write *miss as text. */
void reference_describe(const reference_miss *miss, char *text, size_t bytes);

/* Element (row, col) of m, conjugated if m says so. Every type is exact in
 * double. */
void reference_load(const hr_matrix *m, int64_t row, int64_t col, double *re,
                    double *im);

/* gamma_n = n u / (1 - n u) of [Higham2002, lemma 3.1], for n u < 1. */
double reference_gamma(int64_t n, double u);

#endif
