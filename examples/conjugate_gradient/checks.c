/* SPDX-License-Identifier: MIT */
#include <float.h>
#include <math.h>

#include "conjugate_gradient/conjugate_gradient.h"
#include "support/example.h"

/* |b - A x| and |b|, in plain C. */
static double residual(const solver *s, const double *x, double *size)
{
    const int *starts = s->ints[0], *columns = s->ints[1];
    double squares = 0.0, of_b = 0.0;
    for (int i = 0; i < s->rows; i++) {
        const double b = solver_right_side(i);
        double rest = b;
        for (int k = starts[i]; k < starts[i + 1]; k++) {
            rest -= s->doubles[0][k] * x[columns[k]];
        }
        squares += rest * rest;
        of_b += b * b;
    }
    *size = sqrt(of_b);
    return sqrt(squares);
}

/* The solver's r differs from b - A x by what its steps have rounded: in each
 * at most 10 epsilon |A| times the length of the step, where |A| <= 8. x gets
 * longer in each step [Steihaug1983], so a step has at most twice the length of
 * the last x. */
void solver_check(solver *s, double tolerance, int steps)
{
    double size = 0.0, longest = 0.0;
    if (s->status == HR_OK) {
        s->status = hr_synchronize(s->x);
    }
    if (s->status != HR_OK) {
        return;
    }
    const double *x = s->doubles[1];
    const double rest = residual(s, x, &size);
    for (int i = 0; i < s->rows; i++) {
        longest += x[i] * x[i];
    }
    const double rounding =
        10 * DBL_EPSILON * 8 * 2 * sqrt(longest) * (steps + 1);
    example_check(rest <= tolerance * size + rounding,
                  "%d steps for %d unknowns, residual %.1e", steps, s->rows,
                  rest / size);
}
