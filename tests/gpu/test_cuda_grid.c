/* SPDX-License-Identifier: MIT */
/* Grids that are enqueued as graphs. Their values are those of single steps,
 * however fields have been swapped and read before, and a graph is made
 * once. */
#include <stdlib.h>
#include <string.h>

#include <headrace/headrace.h>

#include "runtime/runtime.h"
#include "support/fault_backend.h"
#include "support/grid_model.h"
#include "test.h"
extern const hr_kernel stir2_4;

enum { ROWS = 20, COLS = 13, CELLS = ROWS * COLS, FIELDS = 3, MAX_PHASES = 3 };

/* Field 0 is stirred into the last of them, which then all move up. */
typedef struct bed {
    hr_context *context;
    hr_grid *grid;
    uint32_t count;
    grid_model models[FIELDS];
    reach reach;
    hr_argument arguments[3];
    hr_phase phases[MAX_PHASES];
} bed;

static void create_grid(bed *b, uint32_t count)
{
    random_source random = {5};
    uint32_t data[CELLS];
    const hr_field field = hr_field_of(4, 1, HR_BOUNDARY_MIRROR, NULL);
    const hr_field fields[] = {field, field, field};
    b->count = count;
    CHECK(hr_grid_create(b->context, hr_extent2(ROWS, COLS), fields, count,
                         NULL, &b->grid) == HR_OK);
    for (uint32_t f = 0; f < count; f++) {
        CHECK(grid_model_create(&b->models[f], hr_extent2(ROWS, COLS), &field));
        grid_model_fill(&b->models[f], &random);
        grid_model_pack(&b->models[f], data);
        CHECK(hr_grid_scatter(b->grid, f, data) == HR_OK);
    }
    b->reach = grid_model_reach(&field, 2);
    b->arguments[0] = hr_field_in(0);
    b->arguments[1] = hr_field_out(count - 1);
    b->arguments[2] = hr_value(&b->reach, sizeof b->reach);
    b->phases[0] = hr_phase_of(&stir2_4, b->arguments, 3);
    for (uint32_t f = 1; f < count; f++) {
        b->phases[f] = hr_phase_swap(f - 1, f);
    }
}

static void destroy_grid(bed *b)
{
    for (uint32_t f = 0; f < b->count; f++) {
        grid_model_destroy(&b->models[f]);
    }
    hr_grid_destroy(b->grid);
}

static void swap_models(bed *b, uint32_t f, uint32_t g)
{
    const grid_model old = b->models[f];
    b->models[f] = b->models[g];
    b->models[g] = old;
}

static void step_models(bed *b, int64_t steps)
{
    for (int64_t i = 0; i < steps; i++) {
        grid_model_stir_all(&b->models[0], &b->models[b->count - 1], &b->reach);
        for (uint32_t f = 1; f < b->count; f++) {
            swap_models(b, f - 1, f);
        }
    }
}

static void step_grid(bed *b, int64_t steps)
{
    CHECK(hr_grid_step(b->grid, b->phases, b->count, steps) == HR_OK);
    step_models(b, steps);
}

static void compare_fields(bed *b)
{
    hr_grid_state state = HR_GRID_STATE_INIT;
    for (uint32_t f = 0; f < b->count; f++) {
        CHECK(grid_model_agrees(&b->models[f], b->grid, f));
    }
    CHECK(hr_grid_describe(b->grid, &state, NULL, 0) == HR_OK);
    CHECK(state.band_count == 1);
}

/* ---- fields that lie elsewhere than when the graph was made */

static const struct {
    uint32_t fields;
    int64_t steps[3];
    uint64_t runs; /* of the one graph */
} cases[] = {
    {2, {40, 40, 40}, 6}, {2, {41, 40, 1}, 4},  {2, {35, 35, 35}, 6},
    {2, {34, 35, 34}, 5}, {3, {38, 38, 38}, 4}, {3, {39, 57, 40}, 7},
};

static void step_elsewhere(bed *b)
{
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        TEST_CASE("several calls");
        create_grid(b, cases[i].fields);
        fault_backend_reset();
        for (int call = 0; call < 3; call++) {
            step_grid(b, cases[i].steps[call]);
            compare_fields(b);
        }
        CHECK(fault_backend_count(FAULT_BEGIN_GRAPH) == 1);
        if (!CHECK(fault_backend_count(FAULT_RUN_GRAPH) == cases[i].runs)) {
            fprintf(stderr, "  case %zu: %llu runs\n", i,
                    (unsigned long long)fault_backend_count(FAULT_RUN_GRAPH));
        }
        destroy_grid(b);
    }
    TEST_CASE("a change of places that steps do not undo");
    create_grid(b, 3);
    fault_backend_reset();
    step_grid(b, 40);
    const hr_phase phase = hr_phase_swap(0, 1);
    CHECK(hr_grid_step(b->grid, &phase, 1, 1) == HR_OK);
    swap_models(b, 0, 1);
    step_grid(b, 40);
    compare_fields(b);
    CHECK(fault_backend_count(FAULT_BEGIN_GRAPH) == 2);
    destroy_grid(b);
}

typedef struct watch {
    bed *bed;
    int64_t seen;
} watch;

static bool look_at_steps(void *data, hr_grid *grid, int64_t steps)
{
    watch *w = data;
    (void)grid;
    step_models(w->bed, steps - w->seen);
    w->seen = steps;
    compare_fields(w->bed);
    return true;
}

static void run_grid(bed *b)
{
    TEST_CASE("a call after every 35 steps");
    watch w = {b, 0};
    create_grid(b, 2);
    CHECK(hr_grid_run(b->grid, b->phases, 2, 140, 35, look_at_steps, &w) ==
          HR_OK);
    CHECK(w.seen == 140);
    destroy_grid(b);
}

/* ---- other work that uses the fields */

/* A reshaped view has no boxes in common with a field, so all of it goes over
 * the host. */
static void read_reshaped(bed *b)
{
    for (uint32_t f = 0; f < b->count; f++) {
        uint32_t seen[CELLS] = {0}, want[CELLS];
        hr_array *array = NULL;
        hr_view view;
        CHECK(hr_array_wrap(b->context, seen, 4, hr_extent1(CELLS), 0,
                            &array) == HR_OK);
        CHECK(hr_view_reshape(hr_view_of(array), hr_extent2(ROWS, COLS),
                              &view) == HR_OK);
        CHECK(hr_grid_read(b->grid, f, NULL, view) == HR_OK);
        CHECK(hr_synchronize(view) == HR_OK);
        grid_model_pack(&b->models[f], want);
        CHECK(memcmp(seen, want, sizeof want) == 0);
        hr_array_destroy(array);
    }
}

static void read_before(bed *b)
{
    TEST_CASE("fields that were read through reshaped views");
    create_grid(b, 3);
    read_reshaped(b);
    step_grid(b, 38);
    read_reshaped(b);
    destroy_grid(b);
}

int main(void)
{
    const hri_backend *list[] = {fault_backend_wrap(&hri_backend_cuda), NULL};
    hr_context_options options = HR_CONTEXT_OPTIONS_INIT;
    static bed b;
    options.accelerators = "cuda:0";
    if (hri_context_create_from(list, &options, &b.context) != HR_OK) {
        return test_skip(hr_last_error());
    }
    TEST(step_elsewhere(&b));
    TEST(run_grid(&b));
    TEST(read_before(&b));
    hr_context_destroy(b.context);
    return test_end();
}
