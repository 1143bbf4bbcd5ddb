/* SPDX-License-Identifier: MIT */
/* Patterns of two substances that react [Pearson1993], in a cube whose sides
 * meet: a grid with two fields and the room for their next values.
 *
 *     gray_scott [CELLS [STEPS [PICTURE]]]
 *
 * writes the middle slice to the file PICTURE, if there is one. It ends with 1
 * when a cell of v is not that of plain C. */
#include <stdio.h>
#include <stdlib.h>

#include "gray_scott/gray_scott.h"
#include "support/example.h"
#include "support/picture.h"

extern const hr_kernel react;

enum { U, V, NEXT_U, NEXT_V, FIELDS };

static const reaction law = {0.16f, 0.08f, 0.035f, 0.06f};

static hr_status run(hr_context *context, int cells, int steps, float *u,
                     float *v)
{
    const hr_field field =
        hr_field_of(sizeof(float), 1, HR_BOUNDARY_PERIODIC, NULL);
    const hr_field fields[FIELDS] = {field, field, field, field};
    const hr_argument arguments[] = {hr_field_in(U), hr_field_in(V),
                                     hr_field_out(NEXT_U), hr_field_out(NEXT_V),
                                     hr_value(law)};
    const hr_phase step[] = {hr_phase_of(&react, arguments, 5),
                             hr_phase_swap(U, NEXT_U),
                             hr_phase_swap(V, NEXT_V)};
    hr_grid *grid = NULL;
    hr_status status = hr_grid_create(context, hr_extent3(cells, cells, cells),
                                      fields, FIELDS, NULL, &grid);
    if (status == HR_OK) {
        status = hr_grid_scatter(grid, U, u);
    }
    if (status == HR_OK) {
        status = hr_grid_scatter(grid, V, v);
    }
    if (status == HR_OK) {
        status = hr_grid_step(grid, step, 3, steps);
    }
    if (status == HR_OK) {
        status = hr_grid_gather(grid, V, v);
    }
    hr_grid_destroy(grid);
    return status;
}

int main(int count, char **words)
{
    int n = 32, steps = 200;
    hr_context *context = NULL;
    if (count > 4 ||
        (count > 1 && !example_number("CELLS", words[1], 6, 512, &n)) ||
        (count > 2 && !example_number("STEPS", words[2], 0, 100000, &steps))) {
        fprintf(stderr, "usage: gray_scott [CELLS [STEPS [PICTURE]]]\n");
        return 2;
    }
    float *u = example_memory(2 * (size_t)(n * n * n) * sizeof *u);
    float *v = u + n * n * n;
    gray_scott_start(u, v, n);
    hr_status status = hr_context_default(&context);
    if (status == HR_OK) {
        status = run(context, n, steps, u, v);
    }
    if (status == HR_OK) {
        example_check(gray_scott_differences(v, n, steps, law) == 0,
                      "%d steps give the same bits as plain C", steps);
    }
    const bool drawn = status != HR_OK || count < 4 ||
                       picture_gray(words[3], v + n / 2 * n * n, n, n);
    free(u);
    return example_end(status) || !drawn;
}
