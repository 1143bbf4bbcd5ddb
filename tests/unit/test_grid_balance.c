/* SPDX-License-Identifier: MIT */
/* Bands that move according to what events report of their kernels. The tests
 * set what events report. */
#include <headrace/headrace.h>

#include "runtime/runtime.h"
#include "support/fault_backend.h"
#include "support/grid_model.h"
#include "test.h"
extern const hr_kernel stir2_4;

enum { ROWS = 400, COLS = 8, CELLS = ROWS * COLS, MAX_PHASES = 8 };

/* Field 0 is stirred into field 1, and both change places. */
typedef struct bed {
    hr_context *context;
    hr_grid *grid;
    reach reach;
    hr_argument arguments[3], cell[3];
    hr_phase phases[MAX_PHASES];
    size_t count;
} bed;

static void create_grid(bed *b, uint32_t together, uint64_t first_ns,
                        uint64_t second_ns)
{
    const hr_field field = hr_field_of(4, 1, HR_BOUNDARY_CONSTANT, NULL);
    const hr_field fields[] = {field, field, field};
    hr_grid_options grid = HR_GRID_OPTIONS_INIT;
    *b = (bed){.reach = grid_model_reach(&field, 2)};
    fault_backend_reset();
    fault_backend_pretend_time(0, first_ns);
    fault_backend_pretend_time(1, second_ns);
    grid.steps_per_exchange = together;
    b->context = fault_backend_context("2xhost", 1 << 20);
    CHECK(hr_grid_create(b->context, hr_extent2(ROWS, COLS), fields, 3, &grid,
                         &b->grid) == HR_OK);
    const hr_argument value = hr_value(&b->reach, sizeof b->reach);
    b->arguments[0] = hr_field_in(0);
    b->arguments[1] = hr_field_out(1);
    b->cell[0] = hr_field_in(1);
    b->cell[1] = hr_field_out(2);
    b->arguments[2] = b->cell[2] = value;
}

static void add_phase(bed *b, hr_phase phase)
{
    b->phases[b->count++] = phase;
}

static void add_main(bed *b)
{
    add_phase(b, hr_phase_of(&stir2_4, b->arguments, 3));
    add_phase(b, hr_phase_swap(0, 1));
}

/* A phase of one cell, in a row. */
static void add_cell(bed *b, int64_t row)
{
    hr_phase phase = hr_phase_of(&stir2_4, b->cell, 3);
    phase.extent = hr_extent2(1, 1);
    phase.origin[0] = row;
    add_phase(b, phase);
}

static void step_grid(bed *b, int64_t steps)
{
    CHECK(hr_grid_step(b->grid, b->phases, b->count, steps) == HR_OK);
}

/* The bands, and how often they moved. */
static hr_grid_state check_bands(const bed *b, int64_t first, uint64_t moves)
{
    hr_grid_state state = HR_GRID_STATE_INIT;
    hr_band bands[2] = {{0}};
    CHECK(hr_grid_describe(b->grid, &state, bands, 2) == HR_OK);
    CHECK(state.band_count == 2 && state.moves == moves);
    if (!CHECK(bands[0].count == first && bands[1].count == ROWS - first)) {
        fprintf(stderr, "  %lld and %lld rows\n", (long long)bands[0].count,
                (long long)bands[1].count);
    }
    return state;
}

static void destroy_grid(bed *b)
{
    hr_grid_destroy(b->grid);
    fault_backend_close(b->context);
}

enum { MS = 1000000 };

/* A band with rows that take nine times as long gets a ninth as many. Kernels
 * are timed that run for all rows, wherever in the list they are. */
static const struct {
    const char *name;
    uint64_t second_ns; /* of the second accelerator; the first: MS */
    uint32_t together;
    int swaps, cells; /* in front */
    int behind;       /* cells */
    int64_t rows;     /* of the first band */
    uint64_t moves;
} rows[] = {
    {"one kernel", 9 * MS, 0, 0, 0, 0, 360, 1},
    {"as fast as each other", MS, 0, 0, 0, 0, 200, 0},
    {"phases of few rows in front, on one band", 9 * MS, 0, 0, 5, 0, 360, 1},
    {"swaps in front", 9 * MS, 0, 6, 0, 0, 360, 1},
    {"a cell takes as long as all rows", MS, 0, 0, 0, 1, 200, 0},
    {"steps from one exchange that are wanted", 9 * MS, 4, 0, 0, 0, 360, 1},
};

static void balance_bands(void)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        bed b;
        TEST_CASE(rows[i].name);
        create_grid(&b, rows[i].together, MS, rows[i].second_ns);
        for (int k = 0; k < rows[i].swaps; k++) {
            add_phase(&b, hr_phase_swap(0, 1));
        }
        for (int64_t row = 0; row < rows[i].cells; row++) {
            add_cell(&b, row);
        }
        add_main(&b);
        for (int64_t row = 0; row < rows[i].behind; row++) {
            add_cell(&b, row);
        }
        step_grid(&b, 8);
        const hr_grid_state state =
            check_bands(&b, rows[i].rows, rows[i].moves);
        CHECK(rows[i].together == 0 ||
              state.steps_per_exchange == rows[i].together);
        destroy_grid(&b);
    }
}

/* Whatever fails in the step that is timed. */
static void balance_after_faults(void)
{
    TEST_CASE("a timed step that failed");
    bool more = true;
    for (uint64_t n = 1; more; n++) {
        static const uint32_t data[CELLS];
        bed b;
        create_grid(&b, 0, MS, 9 * MS);
        add_main(&b);
        step_grid(&b, 1);
        CHECK(hr_grid_finish(b.grid) == HR_OK);
        const uint64_t fail = fault_backend_operations() + n;
        fault_backend_fail_operation(fail, HR_ERROR_BACKEND);
        hr_status status = hr_grid_step(b.grid, b.phases, b.count, 1);
        status = status == HR_OK ? hr_grid_finish(b.grid) : status;
        more = fault_backend_operations() >= fail;
        CHECK(!more || status == HR_ERROR_BACKEND);
        fault_backend_fail_operation(0, HR_OK);
        CHECK(hr_grid_scatter(b.grid, 0, data) == HR_OK);
        step_grid(&b, 5);
        check_bands(&b, 360, 1);
        destroy_grid(&b);
    }
    fault_backend_reset();
}

int main(void)
{
    TEST(balance_bands());
    TEST(balance_after_faults());
    return test_end();
}
