/* SPDX-License-Identifier: MIT */
/* Fluid that flows past a cylinder, by the lattice Boltzmann method: a grid of
 * nine fields, and nine for their next values.
 *
 *     cylinder [ROWS [STEPS [PICTURE]]]
 *
 * writes the speed to the file PICTURE, if there is one: with 96 rows, eddies
 * after 12,000 steps. It ends with 1 when a population is not that of plain
 * C. */
#include <stdio.h>

#include "cylinder/cylinder.h"
#include "support/example.h"

extern const hr_kernel flow;

/* Field q is population q, and field 9 + q its next values. Fluid leaves at the
 * last column, and rows wrap around. */
static hr_status run(hr_context *context, channel c, hr_extent extent,
                     float *f[DIRECTIONS], int steps)
{
    hr_field fields[2 * DIRECTIONS];
    hr_argument arguments[2 * DIRECTIONS + 1];
    hr_phase step[1 + DIRECTIONS];
    for (uint32_t q = 0; q < DIRECTIONS; q++) {
        hr_field field =
            hr_field_of(sizeof(float), 1, HR_BOUNDARY_PERIODIC, NULL);
        field.before[1].boundary = field.after[1].boundary = HR_BOUNDARY_CLAMP;
        fields[q] = fields[DIRECTIONS + q] = field;
        arguments[q] = hr_field_in(q);
        arguments[DIRECTIONS + q] = hr_field_out(DIRECTIONS + q);
        step[1 + q] = hr_phase_swap(q, DIRECTIONS + q);
    }
    arguments[2 * DIRECTIONS] = hr_value(c);
    step[0] = hr_phase_of(&flow, arguments, 2 * DIRECTIONS + 1);
    hr_grid *grid = NULL;
    hr_status status =
        hr_grid_create(context, extent, fields, 2 * DIRECTIONS, NULL, &grid);
    for (uint32_t q = 0; q < DIRECTIONS && status == HR_OK; q++) {
        status = hr_grid_scatter(grid, q, f[q]);
    }
    if (status == HR_OK) {
        status = hr_grid_step(grid, step, 1 + DIRECTIONS, steps);
    }
    for (uint32_t q = 0; q < DIRECTIONS && status == HR_OK; q++) {
        status = hr_grid_gather(grid, q, f[q]);
    }
    hr_grid_destroy(grid);
    return status;
}

int main(int count, char **words)
{
    int rows = 64, steps = 500;
    hr_context *context = NULL;
    if (count > 4 ||
        (count > 1 && !example_number("ROWS", words[1], 16, 1024, &rows)) ||
        (count > 2 && !example_number("STEPS", words[2], 0, 1000000, &steps))) {
        fprintf(stderr, "usage: cylinder [ROWS [STEPS [PICTURE]]]\n");
        return 2;
    }
    const int cols = 3 * rows;
    const channel c = {0.1f, 1.85f, rows / 2 + 1, cols / 5, rows / 9};
    float *f[DIRECTIONS];
    populations_open(c, rows, cols, f);
    hr_status status = hr_context_default(&context);
    if (status == HR_OK) {
        status = run(context, c, hr_extent2(rows, cols), f, steps);
    }
    if (status == HR_OK) {
        example_check(populations_differences(c, rows, cols, f, steps) == 0,
                      "%d steps give the same bits as plain C", steps);
    }
    const bool drawn = status != HR_OK || count < 4 ||
                       populations_draw(words[3], rows, cols, f);
    populations_close(f);
    return example_end(status) || !drawn;
}
