/* SPDX-License-Identifier: MIT */
#ifndef EXAMPLES_CONJUGATE_GRADIENT_H
#define EXAMPLES_CONJUGATE_GRADIENT_H

#include <headrace/headrace.h>

enum { ARRAYS = 7 };

/* A x = b, with A in CSR (kernels/conjugate_gradient.c). */
typedef struct solver {
    hr_context *context;
    hr_status status; /* the first error */
    int side, rows;
    int *ints[2]; /* memory of the first two views */
    double *doubles[ARRAYS - 2];
    hr_array *arrays[ARRAYS];
    hr_view starts, columns;    /* of A */
    hr_view values, x, r, p, q; /* r and p are b at first, x is 0 */
} solver;

/* system.c: A has five points on side x side cells, with 0 beyond them. */
void solver_open(solver *s, int side);
void solver_close(solver *s);

/* checks.c: compute the residual in plain C. */
void solver_check(solver *s, double tolerance, int steps);

/* b in this row. */
double solver_right_side(int row);

#endif
