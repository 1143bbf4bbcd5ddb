/* SPDX-License-Identifier: MIT */
/* To which side a call goes: accelerators, or the caller's own BLAS. */
#ifndef BLAS_SIDE_H
#define BLAS_SIDE_H

#include <stdbool.h>

typedef struct blas_side {
    bool accelerators;
    bool turn; /* it is the slower one's turn to be seen again */
} blas_side;

/* By what a call takes on accelerators over what it takes in the caller's own
 * BLAS. Accelerators must promise to be faster by 3 per cent. Where neither
 * side is twice as fast as the other, two calls in a row, of at least 32, and
 * of so many that they cost at most 1.6 per cent, go to the slower one, so that
 * it is not judged for ever by a moment when others were at work. `number`
 * counts the calls for which sides are asked for, from 0. */
blas_side blas_side_of(double ratio, unsigned number);

#endif
