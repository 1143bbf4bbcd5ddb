/* SPDX-License-Identifier: MIT */
/* A plate with one hot edge, until it changes no more. The grid steps, and a
 * reduction says when that is enough.
 *
 *     steady [CELLS]
 *
 * It ends with 1 when a cell of CELLS x CELLS is not that of plain C. */
#include <stdio.h>
#include <stdlib.h>

#include "steady/steady.h"
#include "support/example.h"

extern const hr_kernel settle;

enum { NOW, NEXT };

/* After every 50 steps: has a cell changed by more than 1e-4 in the last? */
static bool go_on(void *data, hr_grid *grid, int64_t steps)
{
    hr_reducing *under_way = NULL;
    double change = 0.0;
    *(int *)data = (int)steps;
    return hr_grid_reduce(grid, HR_REDUCE_MAX_ABS_DIFF, HR_F32, NOW, NEXT,
                          &under_way) == HR_OK &&
           hr_grid_reduced(under_way, &change) == HR_OK && change > 1e-4;
}

static hr_status warm(hr_context *context, int cells, float *plate, int *steps)
{
    const float hot = 1.0f;
    hr_field field = hr_field_of(sizeof(float), 1, HR_BOUNDARY_CONSTANT, NULL);
    field.before[0].value = &hot;
    const hr_field fields[] = {field, field};
    const hr_argument arguments[] = {hr_field_in(NOW), hr_field_out(NEXT)};
    const hr_phase step[] = {hr_phase_of(&settle, arguments, 2),
                             hr_phase_swap(NOW, NEXT)};
    hr_grid *grid = NULL;
    hr_status status = hr_grid_create(context, hr_extent2(cells, cells), fields,
                                      2, NULL, &grid);
    if (status == HR_OK) {
        status = hr_grid_run(grid, step, 2, 1000000, 50, go_on, steps);
    }
    if (status == HR_ERROR_CANCELLED) { /* go_on said so */
        status = hr_grid_gather(grid, NOW, plate);
    }
    hr_grid_destroy(grid);
    return status;
}

int main(int count, char **words)
{
    int cells = 128, steps = 0;
    hr_context *context = NULL;
    if (count > 2 ||
        (count > 1 && !example_number("CELLS", words[1], 1, 2048, &cells))) {
        fprintf(stderr, "usage: steady [CELLS]\n");
        return 2;
    }
    float *plate = example_zeros((size_t)cells * (size_t)cells, sizeof *plate);
    hr_status status = hr_context_default(&context);
    if (status == HR_OK) {
        status = warm(context, cells, plate, &steps);
    }
    if (status == HR_OK) {
        example_check(steady_differences(plate, cells, steps) == 0,
                      "steady after %d steps, the same bits as plain C", steps);
    }
    free(plate);
    return example_end(status);
}
