/* SPDX-License-Identifier: MIT */
/* How fast waves move: Ez along a row is read at each step. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "fdtd/fdtd.h"
#include "support/example.h"

/* Ez from the source on along a row, step by step. */
typedef struct track {
    square *q;
    int steps, reach;
    float *ez;
    hr_array *array;
} track;

static bool record(void *data, hr_grid *grid, int64_t steps)
{
    track *t = data;
    const int64_t middle[] = {t->q->cells / 2, t->q->cells / 2};
    const int64_t row[] = {steps - 1, 0};
    hr_view to;
    hr_status status = hr_view_section(hr_view_of(t->array), row,
                                       hr_extent2(1, t->reach), &to);
    if (status == HR_OK) {
        status = hr_grid_read(grid, EZ, middle, to);
    }
    if (status != HR_OK) {
        fprintf(stderr, "%s\n", hr_last_error());
    }
    return status == HR_OK;
}

/* The time at which the largest |Ez| passes, by a parabola through it and its
 * neighbours. */
static double arrival(const track *t, int distance)
{
    int best = 1;
    for (int n = 1; n < t->steps - 1; n++) {
        if (fabsf(t->ez[n * t->reach + distance]) >
            fabsf(t->ez[best * t->reach + distance])) {
            best = n;
        }
    }
    const double y = t->ez[best * t->reach + distance];
    const double a = t->ez[(best - 1) * t->reach + distance] - y;
    const double b = t->ez[(best + 1) * t->reach + distance] - y;
    return COURANT * (best + (a - b) / (a + b) / 2);
}

/* There are hardly any waves shorter than k = 2 / tau. As groups they move
 * along a row by k^2 (1 - COURANT^2) / 8 slower than c: the first term of the
 * scheme's own dispersion. The pulse's tail near its source adds tau^2 / 8 over
 * the distance. */
static void check_speed(const track *t)
{
    const double tau = t->q->tau, k = 2 / tau;
    const int near = (int)(5.5 * tau), far = t->reach - 1;
    const double speed = (far - near) / (arrival(t, far) - arrival(t, near));
    const double slower = k * k * (1 - COURANT * COURANT) / 8;
    const double tail = tau * tau / 8 * (1.0 / near - 1.0 / far) / (far - near);
    example_check(speed > 1 - slower - tail && speed < 1 + tail,
                  "the wave moves at %.4f c, and should at 1 - %.4f "
                  "to 1 + %.4f",
                  speed, slower + tail, tail);
}

hr_status speed_check(hr_context *context, square *q, int steps)
{
    track t = {.q = q, .steps = steps, .reach = q->cells / 2 - LAYER};
    const hr_extent extent = hr_extent2(steps, t.reach);
    t.ez = example_memory((size_t)hr_extent_count(extent) * sizeof(float));
    hr_status status =
        hr_array_wrap(context, t.ez, sizeof(float), extent, 0, &t.array);
    if (status == HR_OK) {
        status = hr_grid_run(q->grid, q->step, SILENT, steps, 1, record, &t);
    }
    if (status == HR_OK) {
        status = hr_synchronize(hr_view_of(t.array));
    }
    if (status == HR_OK) {
        check_speed(&t);
    }
    hr_array_destroy(t.array);
    free(t.ez);
    return status;
}
