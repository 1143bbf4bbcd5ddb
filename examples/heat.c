/* SPDX-License-Identifier: MIT */
/* Heat in a square plate with edges at 0, on all accelerators:
 *
 *     du/dt = d2u/dx2 + d2u/dy2,  u = sin(pi x) sin(2 pi y) at time 0,
 *
 * The plate cools as exp(-5 pi^2 t), so the error is known. It is cut into
 * squares of width h, and u at their inner corners is a field of a grid.
 * Explicit steps of dt = h^2 / 4 with five points have an error that falls with
 * h^2. A program for a grid has four parts, which follow below:
 *
 *   1 its fields: the size of a cell, how many neighbours are read, and what is
 *     beyond the ends (here: nothing, 0);
 *   2 what a step does: kernels (kernels/heat.c) and swaps;
 *   3 what is looked at while it runs, without holding it up;
 *   4 the calls: create, scatter, run, gather.
 *
 * None of them knows how many accelerators there are.
 *
 *     heat [COARSEST [LEVELS]]
 *
 * halves h so many times, from 1 / COARSEST on. It ends with 1 when the order
 * is not 2, when the plate does not cool, or when one accelerator alone
 * computes other bits. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/example.h"

extern const hr_kernel heat;

enum { NOW, NEXT, FIELDS };

static const double PI = 3.14159265358979323846;
static const double R = 0.25;         /* dt / h^2, the largest that is stable */
static const double UNTIL = 1.0 / 32; /* time */

static double exact(int intervals, int row, int col, double time)
{
    const double h = 1.0 / intervals;
    return sin(PI * h * (row + 1)) * sin(2 * PI * h * (col + 1)) *
           exp(-5 * PI * PI * time);
}

static void fill(double *u, int intervals, double time)
{
    const int n = intervals - 1;
    for (int i = 0; i < n * n; i++) {
        u[i] = exact(intervals, i / n, i % n, time);
    }
}

static double largest_difference(const double *a, const double *b, int count)
{
    double most = 0.0;
    for (int i = 0; i < count; i++) {
        const double d = fabs(a[i] - b[i]);
        most = d <= most ? most : d; /* NaN stays */
    }
    return most;
}

/* The change in a step. Each report must be smaller than the one before. */
typedef struct watch {
    hr_reducing *under_way;
    double change;
    int reports, rises;
} watch;

static void receive(watch *w)
{
    double change = 0.0;
    if (w->under_way != NULL &&
        hr_grid_reduced(w->under_way, &change) == HR_OK) {
        w->rises += w->reports > 0 && !(change < w->change);
        w->change = change;
        w->reports++;
    }
    w->under_way = NULL;
}

/* Part 3: ask for a number, and take the one that was asked for last time. So
 * there is always work left while this waits. The grid's next call returns an
 * error, if there is one. */
static bool look(void *data, hr_grid *grid, int64_t steps)
{
    watch *w = data;
    hr_reducing *next = NULL;
    (void)steps;
    if (hr_grid_reduce(grid, HR_REDUCE_MAX_ABS_DIFF, HR_F64, NOW, NEXT,
                       &next) != HR_OK) {
        return true;
    }
    receive(w);
    w->under_way = next;
    return true;
}

/* Parts 1, 2 and 4: u is the plate at time 0 before, and at UNTIL after. */
static hr_status cool(hr_context *context, const hr_grid_options *options,
                      int intervals, double *u, watch *w)
{
    const hr_extent inside = hr_extent2(intervals - 1, intervals - 1);
    const hr_field field =
        hr_field_of(sizeof(double), 1, HR_BOUNDARY_CONSTANT, NULL);
    const hr_field fields[FIELDS] = {field, field};
    const hr_argument arguments[] = {hr_field_in(NOW), hr_field_out(NEXT),
                                     hr_value(&R, sizeof R)};
    const hr_phase step[] = {hr_phase_of(&heat, arguments, 3),
                             hr_phase_swap(NOW, NEXT)};
    const int64_t steps = (int64_t)(intervals * intervals * (UNTIL / R));
    hr_grid *grid = NULL;
    hr_status status =
        hr_grid_create(context, inside, fields, FIELDS, options, &grid);
    if (status == HR_OK) {
        status = hr_grid_scatter(grid, NOW, u);
    }
    if (status == HR_OK) {
        status = hr_grid_run(grid, step, 2, steps, steps / 8, look, w);
    }
    receive(w);
    if (status == HR_OK) {
        status = hr_grid_gather(grid, NOW, u);
    }
    hr_grid_destroy(grid);
    return status;
}

/* One width: on all accelerators, and on the first one only. */
static hr_status solve(hr_context *context, int intervals, double *error)
{
    const uint32_t first = 0;
    const int count = (intervals - 1) * (intervals - 1);
    const size_t bytes = (size_t)count * sizeof(double);
    double *u = example_memory(bytes), *alone = example_memory(bytes);
    double *want = example_memory(bytes);
    hr_grid_options one = HR_GRID_OPTIONS_INIT;
    watch w = {0}, w_alone = {0};
    one.accelerators = &first;
    one.accelerator_count = 1;
    fill(u, intervals, 0);
    fill(alone, intervals, 0);
    fill(want, intervals, UNTIL);
    hr_status status = cool(context, NULL, intervals, u, &w);
    if (status == HR_OK) {
        status = cool(context, &one, intervals, alone, &w_alone);
    }
    if (status == HR_OK) {
        *error = largest_difference(u, want, count);
        printf("h = 1/%d: error %.3e, the last step changed %.3e\n", intervals,
               *error, w.change);
        example_check(w.rises == 0 && w.reports >= 8, "  it cools");
    }
    if (status == HR_OK && example_same_kind(context)) {
        example_check(memcmp(u, alone, bytes) == 0,
                      "  the same bits on 1 accelerator and on %u",
                      hr_accelerator_count(context));
    }
    free(u);
    free(alone);
    free(want);
    return status;
}

int main(int count, char **words)
{
    int intervals = 32, levels = 4;
    double error = 0.0, before = 0.0;
    hr_context *context = NULL;
    if (count > 3 ||
        (count > 1 &&
         !example_number("COARSEST", words[1], 16, 512, &intervals)) ||
        (count > 2 && !example_number("LEVELS", words[2], 2, 6, &levels))) {
        fprintf(stderr, "usage: heat [COARSEST [LEVELS]]\n");
        return 2;
    }
    hr_status status = hr_context_create(NULL, &context);
    for (int level = 0; level < levels && status == HR_OK; level++) {
        status = solve(context, intervals, &error);
        if (status == HR_OK && level > 0) { /* the rest is of order 4 */
            const double order = log2(before / error);
            const double h = 2 * PI * 2 / intervals;
            example_check(fabs(order - 2) <= h * h, "  order %.3f is 2", order);
        }
        before = error;
        intervals *= 2;
    }
    hr_context_destroy(context);
    return example_end(status);
}
