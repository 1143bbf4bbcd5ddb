/* SPDX-License-Identifier: MIT */
/* Random products for the tests of verification: made in a type's own
 * arithmetic, spoiled by as much as the tolerance. */
#ifndef VERIFY_CASE_H
#define VERIFY_CASE_H

#include "support/placed.h"
#include "support/tolerance.h"
#include "verify/verify.h"

typedef struct verify_case {
    placed a, b, old, c;
    hri_verify_problem problem;
} verify_case;

/* Random m x n x k matrices of a type pair (pairs.h) in random layouts; alpha
 * is 1, beta 0. Ends the program when memory runs out. */
void verify_case_init(verify_case *x, random_source *source, int pair,
                      const int64_t mnk[3]);
void verify_case_finish(verify_case *x);

/* alpha and beta of 0, 1, -1 or anything. */
void verify_case_random_scalars(verify_case *x, random_source *source,
                                int pair);

/* C from what is there; remembered for placed_restore. */
void verify_case_multiply(verify_case *x);

/* The tolerances of its elements, to be freed by tolerance_finish. Where C is
 * wide they are those of the transposed problem, which verify_case_plant
 * knows. */
tolerance verify_case_tolerance(const verify_case *x);

/* Make element (row, col) wrong by little more than its tolerance. */
void verify_case_plant(verify_case *x, const tolerance *t, int64_t row,
                       int64_t col);

#endif
