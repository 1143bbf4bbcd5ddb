/* SPDX-License-Identifier: MIT */
/* A x = b by conjugate gradients, with a sparse A. Vectors stay in arrays; only
 * dot products come home.
 *
 *     conjugate_gradient [SIDE]
 *
 * solves for SIDE^2 unknowns. It ends with 1 when plain C finds a residual that
 * is not as small as the solver says. */
#include <stdio.h>

#include "conjugate_gradient/conjugate_gradient.h"
#include "support/example.h"

extern const hr_kernel multiply, advance, redirect;

/* In these functions nothing happens after an error. */
static double dot(solver *s, hr_view a, hr_view b)
{
    hr_reduced sum = {0};
    if (s->status == HR_OK) {
        s->status =
            hr_reduce(s->context, HR_REDUCE_DOT, HR_F64, a, &b, NULL, &sum);
    }
    return sum.value;
}

static void run(solver *s, const hr_kernel *kernel,
                const hr_argument *arguments, size_t count)
{
    if (s->status == HR_OK) {
        s->status = hr_launch_split(s->context, kernel, hr_extent1(s->rows),
                                    arguments, count, NULL);
    }
}

/* Until |r| is `tolerance` times |b|. Returns how many steps that took. */
static int solve(solver *s, double tolerance)
{
    double old = dot(s, s->r, s->r);
    const double enough = tolerance * tolerance * old;
    int steps = 0;
    while (s->status == HR_OK && old > enough) {
        run(s, &multiply,
            HR_ARGUMENTS(hr_whole(hr_in(s->starts)),
                         hr_whole(hr_in(s->columns)),
                         hr_whole(hr_in(s->values)), hr_whole(hr_in(s->p)),
                         hr_out(s->q)));
        const double a = old / dot(s, s->p, s->q);
        run(s, &advance,
            HR_ARGUMENTS(hr_value(a), hr_in(s->p), hr_in(s->q), hr_inout(s->x),
                         hr_inout(s->r)));
        const double now = dot(s, s->r, s->r), b = now / old;
        run(s, &redirect,
            HR_ARGUMENTS(hr_value(b), hr_in(s->r), hr_inout(s->p)));
        old = now;
        steps++;
    }
    return steps;
}

int main(int count, char **words)
{
    const double tolerance = 1e-9;
    solver s = {.status = HR_OK};
    int side = 64;
    if (count > 2 ||
        (count > 1 && !example_number("SIDE", words[1], 2, 4096, &side))) {
        fprintf(stderr, "usage: conjugate_gradient [SIDE]\n");
        return 2;
    }
    solver_open(&s, side);
    const int steps = solve(&s, tolerance);
    solver_check(&s, tolerance, steps);
    solver_close(&s);
    return example_end(s.status);
}
