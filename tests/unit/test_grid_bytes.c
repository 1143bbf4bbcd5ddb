/* SPDX-License-Identifier: MIT */
/* What grids move and hold: exactly the bytes of halos, no memory allocated
 * once they step, and never more memory than accelerators may hold. */
#include <stdlib.h>
#include <string.h>

#include <headrace/headrace.h>

#include "grid/grid.h"
#include "runtime/runtime.h"
#include "support/fault_backend.h"
#include "support/grid_model.h"
#include "test.h"
extern const hr_kernel stir1_4, stir2_4, stir3_4;

static const hr_kernel *const kernels[] = {&stir1_4, &stir2_4, &stir3_4};

enum { BANDS = 3 };

typedef struct bed {
    hr_context *context;
    hr_extent extent;
    hr_field field;
    hr_grid *grid;
    grid_model models[2];
} bed;

/* Two equal fields. One is stirred into the other. */
static hr_status create_grid(bed *b, const double *weights, uint32_t together)
{
    const hr_field fields[] = {b->field, b->field};
    hr_grid_options options = HR_GRID_OPTIONS_INIT;
    options.weights = weights;
    options.steps_per_exchange = together;
    b->grid = NULL;
    return hr_grid_create(b->context, b->extent, fields, 2, &options, &b->grid);
}

static void fill_fields(bed *b)
{
    random_source random = {3};
    const size_t bytes = (size_t)hr_extent_count(b->extent) * sizeof(uint32_t);
    void *data = malloc(bytes);
    for (uint32_t f = 0; f < 2; f++) {
        CHECK(grid_model_create(&b->models[f], b->extent, &b->field));
        grid_model_fill(&b->models[f], &random);
        grid_model_pack(&b->models[f], data);
        CHECK(hr_grid_scatter(b->grid, f, data) == HR_OK);
    }
    free(data);
}

static void destroy_grid(bed *b)
{
    grid_model_destroy(&b->models[0]);
    grid_model_destroy(&b->models[1]);
    hr_grid_destroy(b->grid);
    b->grid = NULL;
}

/* With all neighbours, or with none. */
static void step_as(bed *b, bool near, int64_t steps)
{
    const reach alone = {.place = {3, 5, 7}};
    const reach r = near ? grid_model_reach(&b->field, b->extent.rank) : alone;
    const hr_argument arguments[] = {near ? hr_field_in(0) : hr_field_here(0),
                                     hr_field_out(1), hr_value(&r, sizeof r)};
    const hr_phase phases[] = {
        hr_phase_of(kernels[b->extent.rank - 1], arguments, 3),
        hr_phase_swap(0, 1)};
    for (int64_t i = 0; i < steps; i++) {
        grid_model_stir_all(&b->models[0], &b->models[1], &r);
        const grid_model old = b->models[0];
        b->models[0] = b->models[1];
        b->models[1] = old;
    }
    CHECK(hr_grid_step(b->grid, phases, 2, steps) == HR_OK);
}

static void step_grid(bed *b, int64_t steps)
{
    step_as(b, true, steps);
}

/* ---- halos */

#define CLAMP    HR_BOUNDARY_CLAMP
#define CONSTANT HR_BOUNDARY_CONSTANT
#define MIRROR   HR_BOUNDARY_MIRROR
#define PERIODIC HR_BOUNDARY_PERIODIC

/* A number in front of a name: so many steps come from one exchange. */
static const struct {
    const char *name;
    hr_extent extent;
    int64_t before[3], after[3];
    hr_boundary rule; /* of dimension 0 */
    uint32_t together;
    double weights[BANDS];
} cases[] = {
    {"rank 1", {1, {640}}, {3}, {2}, CLAMP, 1, {3, 4, 3}},
    {"rank 2", {2, {30, 9}}, {2, 1}, {1, 3}, CLAMP, 1, {1, 1, 1}},
    {"before alone", {2, {30, 9}}, {2, 0}, {0, 0}, CONSTANT, 1, {1, 1, 1}},
    {"after alone", {2, {30, 9}}, {0, 2}, {3, 0}, MIRROR, 1, {5, 4, 1}},
    {"columns alone", {2, {30, 9}}, {0, 2}, {0, 2}, MIRROR, 1, {5, 4, 1}},
    {"round", {2, {30, 9}}, {2, 1}, {1, 3}, PERIODIC, 1, {1, 2, 3}},
    {"a thin band", {2, {30, 9}}, {4, 1}, {5, 1}, CLAMP, 1, {14, 1, 15}},
    {"thin ends", {2, {30, 9}}, {4, 1}, {5, 1}, PERIODIC, 1, {1, 28, 1}},
    {"thin mirrors", {2, {30, 9}}, {4, 1}, {5, 1}, MIRROR, 1, {1, 28, 1}},
    {"two bands", {2, {30, 9}}, {2, 1}, {1, 1}, CLAMP, 1, {1, 0, 2}},
    {"one band", {2, {30, 9}}, {2, 1}, {1, 1}, PERIODIC, 1, {0, 1}},
    {"rank 3", {3, {12, 5, 7}}, {1, 2, 3}, {2, 1, 0}, MIRROR, 1, {1, 1, 1}},
    {"2 from one", {1, {640}}, {3}, {2}, CLAMP, 2, {3, 4, 3}},
    {"3 from one", {2, {30, 9}}, {2, 1}, {1, 3}, CONSTANT, 3, {1, 1, 1}},
    {"4 from one", {2, {30, 9}}, {1}, {2}, MIRROR, 4, {1, 1, 1}},
    {"2 in rank 3", {3, {12, 5, 7}}, {1, 2, 3}, {2, 1, 0}, CLAMP, 2, {1, 1, 1}},
    {"1, since thin", {2, {30, 9}}, {1, 0}, {1, 0}, CLAMP, 4, {14, 3, 13}},
};

/* The row that a row comes from; -1: from none. */
static int64_t source_of(hr_boundary rule, int64_t row, int64_t n)
{
    if (row >= 0 && row < n) {
        return row;
    }
    switch (rule) {
    case HR_BOUNDARY_CLAMP:
        return row < 0 ? 0 : n - 1;
    case HR_BOUNDARY_PERIODIC:
        return (row + n) % n;
    case HR_BOUNDARY_MIRROR:
        return row < 0 ? -1 - row : 2 * n - 1 - row;
    default:
        return -1;
    }
}

/* Rows that bands have of others when they reach so far to both sides. */
static uint64_t rows_of_others(const bed *b, int64_t before, int64_t after)
{
    hr_band bands[BANDS];
    hr_grid_state state = HR_GRID_STATE_INIT;
    uint64_t rows = 0;
    const int64_t n = b->extent.size[0];
    CHECK(hr_grid_describe(b->grid, &state, bands, BANDS) == HR_OK);
    for (uint32_t i = 0; i < state.band_count; i++) {
        const int64_t first = bands[i].first, end = first + bands[i].count;
        for (int64_t row = first - before; row < end + after; row++) {
            const bool there = row >= -b->field.before[0].halo &&
                               row < n + b->field.after[0].halo;
            const int64_t source =
                source_of(b->field.before[0].boundary, row, n);
            rows += there && source >= 0 && (source < first || source >= end);
        }
    }
    return rows;
}

static uint64_t row_bytes(const bed *b)
{
    uint64_t bytes = sizeof(uint32_t);
    for (uint32_t d = 1; d < b->extent.rank; d++) {
        bytes += bytes * (uint64_t)(b->extent.size[d] - 1) +
                 bytes * (uint64_t)(b->field.before[d].halo +
                                    b->field.after[d].halo);
    }
    return bytes;
}

/* Each step, and what it moves. */
static void count_steps(bed *b, uint32_t together)
{
    const uint64_t rows =
        rows_of_others(b, (int64_t)together * b->field.before[0].halo,
                       (int64_t)together * b->field.after[0].halo);
    const uint64_t bytes = rows * row_bytes(b);
    hr_grid_state old = HR_GRID_STATE_INIT, now = HR_GRID_STATE_INIT;
    step_grid(b, 0); /* makes room for halos of several steps */
    CHECK(hr_grid_finish(b->grid) == HR_OK);
    CHECK(hr_grid_describe(b->grid, &old, NULL, 0) == HR_OK);
    for (uint64_t i = 0; i < 3 * together; i++) {
        const hr_traffic before = hr_context_traffic(b->context);
        step_grid(b, 1);
        CHECK(hr_grid_finish(b->grid) == HR_OK);
        const hr_traffic after = hr_context_traffic(b->context);
        CHECK(hr_grid_describe(b->grid, &now, NULL, 0) == HR_OK);
        const uint64_t want = i % together == 0 ? bytes : 0;
        if (!CHECK(now.halo_bytes - old.halo_bytes == want)) {
            fprintf(stderr, "  step %llu: %llu bytes, not %llu\n",
                    (unsigned long long)i,
                    (unsigned long long)(now.halo_bytes - old.halo_bytes),
                    (unsigned long long)want);
        }
        CHECK(now.exchanges - old.exchanges == (want > 0));
        CHECK(now.steps - old.steps == 1 && now.moves == 0 &&
              now.moved_bytes == 0);
        CHECK(after.peer - before.peer == want);
        CHECK(after.up == before.up && after.down == before.down);
        old = now;
    }
}

static void count_halos(void)
{
    bed b = {.context = test_context("3xhost", 0)};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        TEST_CASE(cases[i].name);
        b.extent = cases[i].extent;
        b.field = hr_field_of(sizeof(uint32_t), 0, HR_BOUNDARY_CLAMP, NULL);
        b.field.before[0].boundary = b.field.after[0].boundary = cases[i].rule;
        for (uint32_t d = 0; d < b.extent.rank; d++) {
            b.field.before[d].halo = cases[i].before[d];
            b.field.after[d].halo = cases[i].after[d];
        }
        CHECK(create_grid(&b, cases[i].weights, cases[i].together) == HR_OK);
        fill_fields(&b);
        const bool thin = strstr(cases[i].name, "since") != NULL;
        count_steps(&b, thin ? 1 : cases[i].together);
        hr_grid_state state = HR_GRID_STATE_INIT;
        CHECK(hr_grid_describe(b.grid, &state, NULL, 0) == HR_OK);
        CHECK(state.steps_per_exchange == (thin ? 1 : cases[i].together));
        CHECK(grid_model_agrees(&b.models[0], b.grid, 0));
        destroy_grid(&b);
    }
    hr_context_destroy(b.context);
}

/* Rows that change hands move, and no others. */
static void count_moves(void)
{
    TEST_CASE("a move");
    static const double thirds[] = {1, 1, 1}, others[] = {2, 1, 3};
    bed b = {.context = test_context("3xhost", 0),
             .extent = hr_extent2(30, 9),
             .field = hr_field_of(4, 2, HR_BOUNDARY_CLAMP, NULL)};
    hr_grid_state state = HR_GRID_STATE_INIT;
    CHECK(create_grid(&b, thirds, 1) == HR_OK);
    fill_fields(&b);
    CHECK(hr_grid_rebalance(b.grid, thirds) == HR_OK);
    CHECK(hr_grid_describe(b.grid, &state, NULL, 0) == HR_OK);
    CHECK(state.moves == 0 && state.moved_bytes == 0);
    const hr_traffic before = hr_context_traffic(b.context);
    CHECK(hr_grid_rebalance(b.grid, others) == HR_OK);
    CHECK(hr_grid_finish(b.grid) == HR_OK);
    const hr_traffic after = hr_context_traffic(b.context);
    CHECK(hr_grid_describe(b.grid, &state, NULL, 0) == HR_OK);
    /* rows 15 to 19 go to the third band */
    CHECK(state.moves == 1 && state.moved_bytes == 2 * 5 * row_bytes(&b));
    CHECK(after.peer - before.peer == state.moved_bytes);
    step_grid(&b, 3);
    CHECK(grid_model_agrees(&b.models[0], b.grid, 0));
    destroy_grid(&b);
    hr_context_destroy(b.context);
}

/* ---- memory */

static uint64_t count_allocations(const bed *b)
{
    uint64_t count = 0;
    for (uint32_t i = 0; i < b->context->accelerator_count; i++) {
        count += b->context->accelerators[i].allocations;
    }
    return count;
}

static void allocate_nothing(void)
{
    TEST_CASE("no memory is allocated while a grid steps");
    for (uint32_t together = 1; together <= 3; together++) {
        static const double weights[] = {3, 2, 3};
        bed b = {.context = test_context("3xhost", 0),
                 .extent = hr_extent2(40, 9),
                 .field = hr_field_of(4, 1, HR_BOUNDARY_MIRROR, NULL)};
        CHECK(create_grid(&b, weights, together) == HR_OK);
        fill_fields(&b);
        step_grid(&b, 2);
        const uint64_t before = count_allocations(&b);
        step_grid(&b, 60);
        CHECK(count_allocations(&b) == before);
        CHECK(grid_model_agrees(&b.models[0], b.grid, 0));
        destroy_grid(&b);
        hr_context_destroy(b.context);
    }
}

/* What needs less room leaves it to what needs more. */
static void take_turns(void)
{
    TEST_CASE("lists of phases in turn");
    static const double weights[] = {3, 2, 3};
    bed b = {.context = test_context("3xhost", 0),
             .extent = hr_extent2(40, 9),
             .field = hr_field_of(4, 1, HR_BOUNDARY_MIRROR, NULL)};
    hr_grid_state state = HR_GRID_STATE_INIT;
    CHECK(create_grid(&b, weights, 4) == HR_OK);
    fill_fields(&b);
    step_grid(&b, 4);
    const hri_storage *storage = b.grid->fields[0].storage;
    for (int i = 0; i < 10; i++) {
        step_as(&b, i % 2 == 1, 4);
        CHECK(hr_grid_describe(b.grid, &state, NULL, 0) == HR_OK);
        CHECK(state.steps_per_exchange == 4);
        CHECK(b.grid->fields[0].storage == storage);
    }
    CHECK(grid_model_agrees(&b.models[0], b.grid, 0));
    destroy_grid(&b);
    hr_context_destroy(b.context);
}

/* Launches of some steps, each in a call of its own. */
static uint64_t count_launches(bed *b)
{
    CHECK(hr_grid_finish(b->grid) == HR_OK);
    const uint64_t before = fault_backend_count(FAULT_LAUNCH);
    for (int i = 0; i < 4; i++) {
        step_grid(b, 1);
    }
    CHECK(grid_model_agrees(&b->models[0], b->grid, 0));
    return fault_backend_count(FAULT_LAUNCH) - before;
}

/* Where wider halos have no room beside the old ones that is tried once. */
static void try_once(void)
{
    TEST_CASE("no room for the halos of several steps");
    int refused = 0, taken = 0;
    for (uint64_t limit = 1 << 12; limit < 1 << 15; limit += 512) {
        bed b = {.extent = hr_extent2(60, 20),
                 .field = hr_field_of(4, 1, CLAMP, NULL)};
        uint64_t launches[2] = {0};
        uint32_t together = 0;
        fault_backend_reset();
        b.context = fault_backend_context("3xhost", limit);
        for (int i = 0; i < 2; i++) {
            if (create_grid(&b, (double[]){1, 1, 1}, i == 0 ? 4 : 1) == HR_OK) {
                fill_fields(&b);
                step_grid(&b, 2);
                launches[i] = count_launches(&b);
                together = i == 0 ? b.grid->state.steps_per_exchange : together;
                destroy_grid(&b);
            }
        }
        CHECK(together != 1 || launches[0] == launches[1]);
        refused += together == 1;
        taken += together == 4;
        hr_context_destroy(b.context);
    }
    CHECK(refused > 0 && taken > 0);
}

/* On one host a step is one launch: what lies beyond the ends is filled behind
 * its tiles. */
static void launch_once(hr_extent extent, hr_boundary rule)
{
    bed b = {.extent = extent, .field = hr_field_of(4, 2, rule, NULL)};
    TEST_CASE("one band of one host");
    fault_backend_reset();
    b.context = fault_backend_context("host", 0);
    if (b.context != NULL && create_grid(&b, (double[]){1}, 1) == HR_OK) {
        fill_fields(&b);
        step_grid(&b, 2);
        CHECK(count_launches(&b) == 4);
        destroy_grid(&b);
    }
    hr_context_destroy(b.context);
}

static void check_peaks(const bed *b)
{
    for (uint32_t i = 0; i < b->context->accelerator_count; i++) {
        const hri_accelerator *a = &b->context->accelerators[i];
        CHECK(a->memory_peak <= a->memory_limit);
    }
}

/* From a limit on all grids are made, and work; below it none. */
static void keep_limits(hr_extent extent, hr_boundary rule)
{
    bool fits = false;
    for (uint64_t limit = 1 << 10; limit < 1 << 14; limit += 64) {
        bed b = {.context = test_context("3xhost", limit),
                 .extent = extent,
                 .field = hr_field_of(4, 1, rule, NULL)};
        const hr_status status = create_grid(&b, NULL, 1);
        CHECK(!fits || status == HR_OK);
        if (status == HR_OK) {
            fits = true;
            fill_fields(&b);
            step_grid(&b, 3);
            CHECK(grid_model_agrees(&b.models[0], b.grid, 0));
            const hr_status moved =
                hr_grid_rebalance(b.grid, (double[]){1, 2, 5});
            CHECK(moved == HR_OK || moved == HR_ERROR_OUT_OF_MEMORY);
            step_grid(&b, 1);
            CHECK(grid_model_agrees(&b.models[0], b.grid, 0));
        } else {
            CHECK(status == HR_ERROR_OUT_OF_MEMORY &&
                  strstr(hr_last_error(), "2 fields do not fit into the ") !=
                      NULL);
        }
        check_peaks(&b);
        destroy_grid(&b);
        hr_context_destroy(b.context);
    }
    CHECK(fits);
}

/* An accelerator with a smaller limit gets fewer rows. A full one does not
 * grow, and does not hinder others. */
static void shrink_band(void)
{
    TEST_CASE("an accelerator with less memory");
    bed b = {.context = test_context("3xhost", 1 << 20),
             .extent = hr_extent2(90, 30),
             .field = hr_field_of(4, 1, HR_BOUNDARY_CLAMP, NULL)};
    hr_band bands[BANDS];
    hr_grid_state state = HR_GRID_STATE_INIT;
    b.context->accelerators[1].memory_limit = 4096;
    CHECK(create_grid(&b, (double[]){1, 1, 1}, 1) == HR_OK);
    fill_fields(&b);
    CHECK(hr_grid_describe(b.grid, &state, bands, BANDS) == HR_OK);
    CHECK(state.band_count == 3);
    CHECK(bands[1].count >= 8 && bands[1].count < 16);
    CHECK(bands[0].count + bands[1].count + bands[2].count == 90);
    CHECK(bands[0].count - bands[2].count <= 1);
    step_grid(&b, 3);
    CHECK(grid_model_agrees(&b.models[0], b.grid, 0));
    TEST_CASE("weights that leave all as it is want no memory");
    CHECK(hr_grid_rebalance(b.grid, (double[]){1, 1, 1}) == HR_OK);
    CHECK(hr_grid_describe(b.grid, &state, bands, BANDS) == HR_OK);
    CHECK(state.moves == 0 && bands[1].count >= 8);
    CHECK(hr_grid_rebalance(b.grid, (double[]){1, 80, 1}) == HR_OK);
    step_grid(&b, 3);
    CHECK(grid_model_agrees(&b.models[0], b.grid, 0));
    CHECK(hr_grid_rebalance(b.grid, (double[]){1, 1, 3}) == HR_OK);
    step_grid(&b, 3);
    CHECK(grid_model_agrees(&b.models[0], b.grid, 0));
    check_peaks(&b);
    destroy_grid(&b);
    hr_context_destroy(b.context);
}

int main(void)
{
    TEST(count_halos());
    TEST(count_moves());
    TEST(allocate_nothing());
    TEST(take_turns());
    TEST(try_once());
    for (int rule = HR_BOUNDARY_CONSTANT; rule <= HR_BOUNDARY_PERIODIC;
         rule++) {
        TEST(launch_once(hr_extent2(20, 30), (hr_boundary)rule));
        TEST(launch_once(hr_extent3(9, 1, 12), (hr_boundary)rule));
    }
    TEST_CASE("limits in rank 1");
    TEST(keep_limits(hr_extent1(1500), HR_BOUNDARY_CLAMP));
    TEST_CASE("limits in rank 2");
    TEST(keep_limits(hr_extent2(40, 20), HR_BOUNDARY_PERIODIC));
    TEST_CASE("limits in rank 3");
    TEST(keep_limits(hr_extent3(20, 3, 9), HR_BOUNDARY_MIRROR));
    TEST(shrink_band());
    return test_end();
}
