/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "conjugate_gradient/conjugate_gradient.h"
#include "support/example.h"

double solver_right_side(int row)
{
    return 1.0 + row % 7;
}

/* Fill row i of A, whose first element is number k. Returns that of the next
 * row. */
static int fill_row(solver *s, int i, int k)
{
    const int side = s->side;
    const int reach[] = {-side, -1, 0, 1, side};
    const bool there[] = {i >= side, i % side > 0, true, i % side < side - 1,
                          i < s->rows - side};
    for (int n = 0; n < 5; n++) {
        if (there[n]) {
            s->ints[1][k] = i + reach[n];
            s->doubles[0][k++] = reach[n] == 0 ? 4.0 : -1.0;
        }
    }
    return k;
}

static void wrap(solver *s)
{
    hr_view *const views[ARRAYS] = {&s->starts, &s->columns, &s->values, &s->x,
                                    &s->r,      &s->p,       &s->q};
    const int n = s->rows, sizes[ARRAYS] = {n + 1, 5 * n, 5 * n, n, n, n, n};
    s->status = hr_context_default(&s->context);
    for (int i = 0; i < ARRAYS && s->status == HR_OK; i++) {
        const hr_extent extent = hr_extent1(sizes[i]);
        s->status =
            i < 2 ? hr_array_wrap(s->context, s->ints[i], sizeof(int), extent,
                                  0, &s->arrays[i])
                  : hr_array_wrap(s->context, s->doubles[i - 2], sizeof(double),
                                  extent, 0, &s->arrays[i]);
        *views[i] = hr_view_of(s->arrays[i]);
    }
}

void solver_open(solver *s, int side)
{
    const size_t n = (size_t)side * (size_t)side;
    s->side = side;
    s->rows = side * side;
    s->ints[0] = example_zeros(n + 1, sizeof(int));
    s->ints[1] = example_zeros(5 * n, sizeof(int));
    s->doubles[0] = example_zeros(5 * n, sizeof(double));
    for (int i = 1; i < ARRAYS - 2; i++) {
        s->doubles[i] = example_zeros(n, sizeof(double));
    }
    for (int i = 0; i < s->rows; i++) {
        s->ints[0][i + 1] = fill_row(s, i, s->ints[0][i]);
        s->doubles[2][i] = s->doubles[3][i] = solver_right_side(i);
    }
    wrap(s);
}

void solver_close(solver *s)
{
    for (int i = 0; i < ARRAYS; i++) {
        hr_array_destroy(s->arrays[i]);
        free(i < 2 ? (void *)s->ints[i] : (void *)s->doubles[i - 2]);
    }
}
