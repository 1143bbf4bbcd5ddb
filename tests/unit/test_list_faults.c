/* SPDX-License-Identifier: MIT */
/* Lists of views over strided memory, and grids of fields with components, when
 * any call to an accelerator fails, at once or later. Success means right
 * results, and the next call works again. */
#include <string.h>

#include <headrace/headrace.h>

#include "support/faults.h"

extern const hr_kernel lists1, flow1;

enum { N = 24, INPUTS = 3, OUTPUTS = 2, STEP = 2, SHIFT = 5, UNTOUCHED = -7 };

static const double weights[] = {1, 2, 1};

/* ---- lists: views of every other element, the last one first */

typedef struct memory {
    int from[INPUTS][N * STEP], to[OUTPUTS][N * STEP];
} memory;

/* Element i of view q. */
static int *at_of(int *view, int i)
{
    return &view[(N - 1 - i) * STEP];
}

static void set_up(memory *m)
{
    for (int i = 0; i < N * STEP; i++) {
        for (int p = 0; p < INPUTS; p++) {
            m->from[p][i] = 10 * p + i;
        }
        for (int q = 0; q < OUTPUTS; q++) {
            m->to[q][i] = UNTOUCHED;
        }
    }
}

/* Gaps never change. Nor does anything else, unless the results are there. */
static bool is_right(memory *m, bool done)
{
    bool right = true;
    for (int q = 0; q < OUTPUTS; q++) {
        for (int i = 0; i < N; i++) {
            int want = SHIFT;
            for (int p = 0; p < INPUTS; p++) {
                want += (p + 1) * (q + 2) * *at_of(m->from[p], i);
            }
            right = right && at_of(m->to[q], i)[1] == UNTOUCHED &&
                    (!done || *at_of(m->to[q], i) == want);
        }
    }
    return right;
}

static hr_status wrap(hr_context *context, int *first, int64_t views,
                      hr_array **array)
{
    const int64_t stride[] = {(int64_t)sizeof(int) * N * STEP,
                              -(int64_t)sizeof(int) * STEP};
    return hr_array_wrap_strided(context, first, "int", sizeof(int),
                                 hr_extent2(views, N), stride, array);
}

static hr_status launch_lists(hr_context *context)
{
    memory m;
    const int shift = SHIFT;
    hr_split_options options = HR_SPLIT_OPTIONS_INIT;
    hr_array *from = NULL, *to = NULL;
    options.weights = weights;
    set_up(&m);
    hr_status status = wrap(context, at_of(m.from[0], 0), INPUTS, &from);
    if (status == HR_OK) {
        status = wrap(context, at_of(m.to[0], 0), OUTPUTS, &to);
    }
    if (status == HR_OK) {
        const hr_argument arguments[] = {hr_in(hr_view_of(from)),
                                         hr_out(hr_view_of(to)),
                                         hr_value(&shift, sizeof shift)};
        status = hr_launch_split(context, &lists1, hr_extent1(N), arguments, 3,
                                 &options);
    }
    if (status == HR_OK) {
        status = hr_synchronize(hr_view_of(to));
    }
    CHECK(is_right(&m, status == HR_OK));
    hr_array_destroy(from);
    hr_array_destroy(to);
    return status;
}

/* ---- a grid whose cells have several values */

/* Each component gets 3 times the next one of the cell behind, its own of the
 * cell before, and its number. All is periodic. */
static void flow(int from[INPUTS][N], int to[INPUTS][N])
{
    for (int q = 0; q < INPUTS; q++) {
        for (int i = 0; i < N; i++) {
            to[q][i] = 3 * from[(q + 1) % INPUTS][(i + 1) % N] +
                       from[q][(i + N - 1) % N] + q;
        }
    }
}

static hr_status step_grid(hr_context *context)
{
    static int cells[INPUTS][N], seen[INPUTS][N], once[INPUTS][N],
        twice[INPUTS][N];
    hr_field field = hr_field_of(sizeof(int), 1, HR_BOUNDARY_PERIODIC, NULL);
    hr_grid_options options = HR_GRID_OPTIONS_INIT;
    hr_grid *grid = NULL;
    const hr_argument arguments[] = {hr_field_in(0), hr_field_out(1)};
    const hr_phase phases[] = {hr_phase_of(&flow1, arguments, 2),
                               hr_phase_swap(0, 1)};
    field.components = INPUTS;
    options.weights = weights;
    for (int i = 0; i < INPUTS * N; i++) {
        cells[i / N][i % N] = i * 7 % 50;
    }
    flow(cells, once);
    flow(once, twice);
    const hr_field fields[] = {field, field};
    hr_status status =
        hr_grid_create(context, hr_extent1(N), fields, 2, &options, &grid);
    if (status == HR_OK) {
        status = hr_grid_scatter(grid, 0, cells);
    }
    if (status == HR_OK) {
        status = hr_grid_step(grid, phases, 2, 2);
    }
    if (status == HR_OK) {
        status = hr_grid_gather(grid, 0, seen);
    }
    CHECK(status != HR_OK || memcmp(seen, twice, sizeof seen) == 0);
    hr_grid_destroy(grid);
    return status;
}

int main(void)
{
    TEST(faults_each(CALL, launch_lists, "a call, with lists"));
    TEST(faults_each(OPERATION, launch_lists, "an operation, with lists"));
    TEST(faults_each(LOSE, launch_lists, "lost devices, with lists"));
    TEST(faults_each(CALL, step_grid, "a call, with components"));
    TEST(faults_each(OPERATION, step_grid, "an operation, with components"));
    TEST(faults_each(LOSE, step_grid, "lost devices, with components"));
    return test_end();
}
