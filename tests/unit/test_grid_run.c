/* SPDX-License-Identifier: MIT */
/* hr_grid_run: the function is called after the steps that it is told, reads
 * what they left while later ones are under way, and ends the run. */
#include <stdlib.h>
#include <string.h>

#include <headrace/headrace.h>

#include "support/grid_model.h"
#include "test.h"

extern const hr_kernel stir2_4;

enum { ROWS = 40, COLS = 13, CELLS = ROWS * COLS, MAX_CALLS = 9 };

typedef struct bed {
    hr_context *context;
    hr_grid *grid;
    grid_model models[2];
    reach reach;
    hr_argument arguments[3];
    hr_phase phases[2];
    /* what the function does, and has seen */
    int calls, end_at;
    int64_t steps[MAX_CALLS];
    uint32_t snapshots[MAX_CALLS][CELLS], copies[MAX_CALLS][CELLS];
    hr_array *arrays[MAX_CALLS];
    bool gathers;
} bed;

static void create_grid(bed *b, uint32_t together)
{
    random_source random = {11};
    static uint32_t data[CELLS];
    const hr_field field = hr_field_of(4, 2, HR_BOUNDARY_MIRROR, NULL);
    const hr_field fields[] = {field, field};
    hr_grid_options options = HR_GRID_OPTIONS_INIT;
    options.steps_per_exchange = together;
    options.weights = (const double[]){2, 1, 2};
    CHECK(hr_grid_create(b->context, hr_extent2(ROWS, COLS), fields, 2,
                         &options, &b->grid) == HR_OK);
    for (uint32_t f = 0; f < 2; f++) {
        CHECK(grid_model_create(&b->models[f], hr_extent2(ROWS, COLS), &field));
        grid_model_fill(&b->models[f], &random);
        grid_model_pack(&b->models[f], data);
        CHECK(hr_grid_scatter(b->grid, f, data) == HR_OK);
    }
    b->reach = grid_model_reach(&field, 2);
    b->arguments[0] = hr_field_in(0);
    b->arguments[1] = hr_field_out(1);
    b->arguments[2] = hr_value(&b->reach, sizeof b->reach);
    b->phases[0] = hr_phase_of(&stir2_4, b->arguments, 3);
    b->phases[1] = hr_phase_swap(0, 1);
    b->calls = 0;
    b->end_at = MAX_CALLS;
    for (int i = 0; i < MAX_CALLS; i++) {
        memset(b->snapshots[i], 0, sizeof b->snapshots[i]);
        CHECK(hr_array_wrap(b->context, b->snapshots[i], 4,
                            hr_extent2(ROWS, COLS), 0, &b->arrays[i]) == HR_OK);
    }
}

static void destroy_grid(bed *b)
{
    for (int i = 0; i < MAX_CALLS; i++) {
        hr_array_destroy(b->arrays[i]);
    }
    grid_model_destroy(&b->models[0]);
    grid_model_destroy(&b->models[1]);
    hr_grid_destroy(b->grid);
}

static void step_models(bed *b, int64_t steps)
{
    for (int64_t i = 0; i < steps; i++) {
        const grid_model old = b->models[0];
        grid_model_stir_all(&b->models[0], &b->models[1], &b->reach);
        b->models[0] = b->models[1];
        b->models[1] = old;
    }
}

static bool read_field(void *data, hr_grid *grid, int64_t steps)
{
    bed *b = data;
    const int call = b->calls++;
    CHECK(grid == b->grid && call < MAX_CALLS);
    b->steps[call] = steps;
    if (b->gathers) {
        CHECK(hr_grid_gather(grid, 0, b->copies[call]) == HR_OK);
    }
    CHECK(hr_grid_read(grid, 0, NULL, hr_view_of(b->arrays[call])) == HR_OK);
    return b->calls < b->end_at;
}

/* What the calls saw is what the model has after as many steps. */
static void compare_calls(bed *b, int calls, int64_t every, int64_t steps)
{
    static uint32_t want[CELLS];
    CHECK(b->calls == calls);
    for (int i = 0; i < calls; i++) {
        step_models(b, every);
        grid_model_pack(&b->models[0], want);
        CHECK(b->steps[i] == (i + 1) * every);
        CHECK(hr_synchronize(hr_view_of(b->arrays[i])) == HR_OK);
        CHECK(memcmp(b->snapshots[i], want, sizeof want) == 0);
        CHECK(!b->gathers || memcmp(b->copies[i], want, sizeof want) == 0);
    }
    step_models(b, steps - calls * every);
    CHECK(grid_model_agrees(&b->models[0], b->grid, 0));
}

static const struct {
    int64_t steps, every;
    uint32_t together;
    bool gathers;
    int calls, end_at;
} runs[] = {
    {12, 3, 1, false, 4, MAX_CALLS}, {13, 3, 1, true, 4, MAX_CALLS},
    {8, 1, 1, false, 8, MAX_CALLS},  {3, 5, 1, false, 0, MAX_CALLS},
    {0, 1, 1, false, 0, MAX_CALLS},  {5, 5, 1, true, 1, MAX_CALLS},
    {12, 3, 2, false, 4, MAX_CALLS}, {13, 2, 3, true, 6, MAX_CALLS},
    {12, 3, 1, false, 2, 2},         {12, 1, 2, true, 1, 1},
    {12, 4, 1, false, 3, 3},
};

static void run_rows(bed *b)
{
    for (size_t i = 0; i < sizeof runs / sizeof runs[0]; i++) {
        const bool ended = runs[i].end_at < MAX_CALLS;
        const int64_t done =
            ended ? runs[i].calls * runs[i].every : runs[i].steps;
        hr_grid_state state = HR_GRID_STATE_INIT;
        create_grid(b, runs[i].together);
        b->gathers = runs[i].gathers;
        b->end_at = runs[i].end_at;
        const hr_status status = hr_grid_run(
            b->grid, b->phases, 2, runs[i].steps, runs[i].every, read_field, b);
        if (ended) {
            CHECK_FAILS(status, HR_ERROR_CANCELLED, "ended by the caller");
        } else {
            CHECK(status == HR_OK);
        }
        CHECK(hr_grid_describe(b->grid, &state, NULL, 0) == HR_OK);
        CHECK(state.steps == (uint64_t)done);
        compare_calls(b, runs[i].calls, runs[i].every, done);
        destroy_grid(b);
    }
}

static bool change_phases(void *data, hr_grid *grid, int64_t steps)
{
    bed *b = data;
    (void)grid;
    (void)steps;
    b->arguments[1].field = 9;
    return true;
}

/* Phases are looked at before each run of steps, since the function may change
 * what they point to. */
static void change_between(bed *b)
{
    hr_grid_state state = HR_GRID_STATE_INIT;
    create_grid(b, 1);
    CHECK_FAILS(hr_grid_run(b->grid, b->phases, 2, 6, 2, change_phases, b),
                HR_ERROR_INVALID, "argument 1 is field 8, but the grid has 2");
    CHECK(hr_grid_describe(b->grid, &state, NULL, 0) == HR_OK);
    CHECK(state.steps == 2);
    step_models(b, 2);
    CHECK(grid_model_agrees(&b->models[0], b->grid, 0));
    destroy_grid(b);
}

/* Sections are written and read in the order of the calls. */
static void order_sections(bed *b)
{
    static uint32_t values[4][2][3], seen[4][2][3];
    hr_array *from[4], *to[4];
    const int64_t origin[] = {15, 4}; /* on both sides of a border */
    create_grid(b, 1);
    for (uint32_t i = 0; i < 4; i++) {
        for (uint32_t c = 0; c < 6; c++) {
            values[i][c / 3][c % 3] = 100 * i + c;
        }
        CHECK(hr_array_wrap(b->context, values[i], 4, hr_extent2(2, 3), 0,
                            &from[i]) == HR_OK);
        CHECK(hr_array_wrap(b->context, seen[i], 4, hr_extent2(2, 3), 0,
                            &to[i]) == HR_OK);
        CHECK(hr_grid_write(b->grid, 0, origin, hr_view_of(from[i])) == HR_OK);
        CHECK(hr_grid_read(b->grid, 0, origin, hr_view_of(to[i])) == HR_OK);
        CHECK(hr_grid_step(b->grid, b->phases, 2, 1) == HR_OK);
        for (int64_t c = 0; c < 6; c++) {
            const int64_t at[] = {origin[0] + c / 3, origin[1] + c % 3};
            memcpy(grid_model_own(&b->models[0], at), &values[i][c / 3][c % 3],
                   4);
        }
        step_models(b, 1);
    }
    CHECK(grid_model_agrees(&b->models[0], b->grid, 0));
    for (int i = 0; i < 4; i++) {
        CHECK(hr_synchronize(hr_view_of(to[i])) == HR_OK);
        CHECK(memcmp(seen[i], values[i], sizeof seen[i]) == 0);
        hr_array_destroy(from[i]);
        hr_array_destroy(to[i]);
    }
    destroy_grid(b);
}

int main(int argc, char **argv)
{
    hr_context_options options = HR_CONTEXT_OPTIONS_INIT;
    static bed b;
    options.accelerators = argc > 1 ? argv[1] : "3xhost";
    if (!test_open(&options, &b.context)) {
        return test_end();
    }
    TEST_CASE("runs");
    TEST(run_rows(&b));
    TEST_CASE("phases that change between calls");
    TEST(change_between(&b));
    TEST_CASE("sections between steps");
    TEST(order_sections(&b));
    hr_context_destroy(b.context);
    return test_end();
}
