/* SPDX-License-Identifier: MIT */
/* What hr_grid_create refuses, and what grids refuse once they are made: the
 * status, a word of the sentence, nothing written, and the grid as it was. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/refused.h"

extern const hr_kernel weighed, stir1_4, stir2_4;

enum { ROWS = 6, COLS = 5, CELLS = ROWS * COLS };

static hr_context *context;
static hr_grid *grid;

/* ---- making a grid */

typedef struct request {
    hr_context *context;
    hr_extent extent;
    hr_field fields[2];
    bool listed; /* or the list is NULL */
    uint32_t count;
    hr_grid_options options;
    hr_grid *grid;
} request;

static request good(void)
{
    const hr_field field = hr_field_of(4, 1, HR_BOUNDARY_CLAMP, NULL);
    return (request){.context = context,
                     .extent = hr_extent2(6, 5),
                     .fields = {field, field},
                     .listed = true,
                     .count = 2,
                     .options = HR_GRID_OPTIONS_INIT};
}

static hr_status call(request *r)
{
    r->grid = (hr_grid *)r;
    return hr_grid_create(r->context, r->extent, r->listed ? r->fields : NULL,
                          r->count, &r->options, &r->grid);
}

static bool untouched(const request *r)
{
    return r->grid == (const hr_grid *)r;
}

static void refuse_shapes(void)
{
    const hr_field large =
        hr_field_of((size_t)1 << 24, 0, HR_BOUNDARY_CLAMP, NULL);
    const int64_t many = (int64_t)1 << 40, some = 1 << 20;
    REFUSED(r.context = NULL, HR_ERROR_INVALID, "the context is NULL");
    REFUSED(r.extent.size[1] = 0, HR_ERROR_INVALID,
            "the extent is 6 x 0, but each");
    REFUSED(r.extent.rank = 4, HR_ERROR_INVALID, "rank 4, not 1 to 3");
    REFUSED(r.extent = hr_extent2(many, many), HR_ERROR_INVALID,
            "1099511627776 x 1099511627776, which is more than 2^63 - 1 cells");
    REFUSED(r.extent = hr_extent2(many, 1000), HR_ERROR_OUT_OF_MEMORY,
            "2 fields do not fit into the 2097152 bytes of 2 accelerators; ");
    REFUSED((r.extent = hr_extent3(2, some, some),
             r.fields[0].element_bytes = r.fields[1].element_bytes = 1 << 30),
            HR_ERROR_OUT_OF_MEMORY, "2 fields take 2^64 bytes or more");
    REFUSED((r.extent = hr_extent2(2, many), r.fields[0] = r.fields[1] = large),
            HR_ERROR_OUT_OF_MEMORY, "2 fields take 2^64 bytes or more");
}

static void refuse_fields(void)
{
    REFUSED(r.listed = false, HR_ERROR_INVALID, "the list of fields is NULL");
    REFUSED(r.count = 0, HR_ERROR_INVALID, "0 fields, not 1 to 64");
    REFUSED(r.count = HR_MAX_FIELDS + 1, HR_ERROR_INVALID,
            "65 fields, not 1 to 64");
    REFUSED(r.fields[1].element_bytes = 0, HR_ERROR_INVALID,
            "field 1 has elements of 0 bytes, not 1 to");
    REFUSED(r.fields[1].element_bytes = (size_t)1 << 31, HR_ERROR_INVALID,
            "field 1 has elements of 2147483648 bytes");
    REFUSED(r.fields[1].after[1].halo = -1, HR_ERROR_INVALID,
            "field 1 has a halo of -1");
    REFUSED(r.fields[0].before[0].halo = (int64_t)1 << 31, HR_ERROR_INVALID,
            "field 0 has a halo of 2147483648");
    REFUSED(r.fields[0].before[1].boundary = (hr_boundary)5, HR_ERROR_INVALID,
            "field 0 has the unknown boundary 5");
    REFUSED(r.fields[0].before[0].halo = r.fields[0].after[1].halo = INT32_MAX,
            HR_ERROR_OUT_OF_MEMORY, "2 fields take 2^64 bytes or more");
}

static void set_list(request *r, const uint32_t *accelerators, uint32_t count)
{
    r->options.accelerators = accelerators;
    r->options.accelerator_count = count;
}

static void refuse_options(void)
{
    static const uint32_t twice[] = {0, 1, 0}, beyond[] = {0, 2};
    static const double negative[] = {1, -1}, zeros[] = {0, 0};
    static const double nans[] = {-NAN, 1};
    REFUSED(r.options.size = 4, HR_ERROR_INVALID,
            "start with HR_GRID_OPTIONS_INIT");
    REFUSED(set_list(&r, NULL, 1), HR_ERROR_INVALID,
            "1 accelerator, but no list");
    REFUSED(set_list(&r, twice, 0), HR_ERROR_INVALID,
            "a list of 0 accelerators");
    REFUSED(set_list(&r, beyond, 2), HR_ERROR_INVALID,
            "accelerator index 2 is not below 2");
    REFUSED(set_list(&r, twice, 3), HR_ERROR_INVALID,
            "accelerator 0 is listed twice");
    REFUSED(r.options.weights = negative, HR_ERROR_INVALID, "weight 1 is -1");
    REFUSED(r.options.weights = nans, HR_ERROR_INVALID, "weight 0 is nan");
    REFUSED(r.options.weights = zeros, HR_ERROR_INVALID,
            "grid: all 2 weights are 0");
}

static void refuse_no_place(void)
{
    const request r = good();
    CHECK_FAILS(hr_grid_create(context, r.extent, r.fields, 2, NULL, NULL),
                HR_ERROR_INVALID, "grid is NULL");
    hr_grid_destroy(NULL);
}

/* ---- phases */

enum { NEAR, HERE, WALLED, WIDE, LARGE, FIELDS };

/* Read with halos, without, written by the user beyond the ends, with wider
 * halos, and of 8 bytes. */
static void make_grid(void)
{
    const hr_field fields[FIELDS] = {
        hr_field_of(4, 1, HR_BOUNDARY_CLAMP, NULL),
        hr_field_of(4, 0, HR_BOUNDARY_CLAMP, NULL),
        hr_field_of(4, 2, HR_BOUNDARY_USER, NULL),
        hr_field_of(4, 3, HR_BOUNDARY_MIRROR, NULL),
        hr_field_of(8, 1, HR_BOUNDARY_CLAMP, NULL)};
    static const double weights[] = {1, 2};
    hr_grid_options options = HR_GRID_OPTIONS_INIT;
    options.weights = weights;
    CHECK(hr_grid_create(context, hr_extent2(ROWS, COLS), fields, FIELDS,
                         &options, &grid) == HR_OK);
}

typedef struct reach {
    int before[3], after[3];
    int place[3];
} reach;

static const reach none;
static const hr_extent all;

/* What stir2_4 reads and writes, in a box or over the whole grid (rank 0). */
typedef struct box {
    uint32_t from, to;
    hr_extent extent;
    int64_t origin[2];
} box;

/* Two steps, whose items have so many rows and columns; 0: one. */
static hr_status step_box(box b, int64_t rows, int64_t cols)
{
    const hr_argument arguments[] = {hr_field_in(b.from), hr_field_out(b.to),
                                     hr_value(&none, sizeof none)};
    hr_phase phase = hr_phase_of(&stir2_4, arguments, 3);
    phase.extent = b.extent;
    memcpy(phase.origin, b.origin, sizeof b.origin);
    phase.step[0] = rows;
    phase.step[1] = cols;
    return hr_grid_step(grid, &phase, 1, 2);
}

static void run_box(box b, const char *name)
{
    TEST_CASE(name);
    CHECK(step_box(b, 0, 0) == HR_OK);
    CHECK(hr_grid_finish(grid) == HR_OK);
}

static void refuse_box(box b, const char *words)
{
    TEST_CASE(words);
    CHECK_FAILS(step_box(b, 0, 0), HR_ERROR_INVALID, words);
    CHECK(hr_grid_finish(grid) == HR_OK); /* it is as it was */
}

static void run_boxes(void)
{
    run_box((box){NEAR, HERE, all, {0}}, "all cells");
    run_box((box){NEAR, HERE, {2, {2, 2}}, {4, 3}}, "a box inside");
    run_box((box){WIDE, WALLED, {2, {1, 5}}, {-2, 0}}, "beyond the end");
    run_box((box){WIDE, WALLED, {2, {2, 2}}, {6, 5}}, "a corner beyond");
    run_box((box){WIDE, WALLED, {2, {10, 9}}, {-2, -2}}, "and all around");
    run_box((box){NEAR, WALLED, {2, {8, 7}}, {-1, -1}},
            "as far as what is read");
}

static void refuse_boxes(void)
{
    const hr_extent one = hr_extent2(1, 1), two = hr_extent2(2, 2);
    refuse_box((box){NEAR, HERE, hr_extent1(2), {0}},
               "the extent has rank 1, but the grid");
    refuse_box((box){NEAR, HERE, hr_extent2(2, 0), {0}},
               "0 cells from 0 on exceed");
    refuse_box((box){NEAR, HERE, hr_extent2(2, -1), {0}}, "-1 cells from 0");
    refuse_box((box){NEAR, HERE, two, {-1, 0}},
               "2 cells from -1 on exceed dimension 0, which has 6");
    refuse_box((box){NEAR, HERE, two, {0, 4}},
               "2 cells from 4 on exceed dimension 1, which has 5");
    refuse_box((box){NEAR, HERE, one, {0, INT64_MAX}},
               "1 cells from 9223372036854775807 on exceed dimension 1, which "
               "has 5");
    refuse_box((box){NEAR, HERE, one, {INT64_MIN, 0}},
               "1 cells from -9223372036854775808 on exceed dimension 0, which "
               "has 6");
    refuse_box((box){NEAR, HERE, hr_extent2(1, INT64_MAX), {0, 1}},
               "9223372036854775807 cells from 1 on exceed dimension 1, which "
               "has 5");
    refuse_box((box){WIDE, WALLED, one, {-3, 0}}, /* beyond the user's */
               "1 cells from -3 on");
    refuse_box((box){NEAR, WALLED, one, {0, -2}}, /* beyond what is read */
               "1 cells from -2 on");
    refuse_box((box){HERE, WALLED, one, {6, 0}}, /* beyond what has no halo */
               "1 cells from 6 on");
    refuse_box((box){9, HERE, all, {0}}, "argument 0 is field 9");
    refuse_box((box){9, HERE, one, {-1, 0}},
               "argument 0 is field 9, but the grid has 5");
    refuse_box((box){NEAR, NEAR, all, {0}},
               "field 0 is two arguments, and one");
}

static void refuse_steps(void)
{
    const box whole = {NEAR, HERE, all, {0}};
    TEST_CASE("cells of an item");
    CHECK_FAILS(step_box(whole, -1, 0), HR_ERROR_INVALID,
                "step is -1 in dimension 0 of 2");
    CHECK_FAILS(step_box(whole, 0, 2), HR_ERROR_INVALID,
                "step is 2 in dimension 1 of 2");
    CHECK(hr_grid_finish(grid) == HR_OK);
}

/* A view beside the grid that has fewer rows than the phase has cells. */
static void refuse_weights(void)
{
    float data[ROWS] = {0};
    hr_array *array = NULL;
    CHECK(hr_array_wrap(context, data, sizeof data[0], hr_extent1(ROWS - 1), 0,
                        &array) == HR_OK);
    const hr_argument arguments[] = {hr_field_out(HERE),
                                     hr_in(hr_view_of(array))};
    hr_phase phase = hr_phase_of(&weighed, arguments, 2);
    CHECK_FAILS(hr_grid_step(grid, &phase, 1, 1), HR_ERROR_COMPUTE_DOMAIN,
                "weighed: the domain has size");
    phase.extent = hr_extent2(ROWS - 1, COLS);
    CHECK(hr_grid_step(grid, &phase, 1, 1) == HR_OK);
    phase.origin[0] = 1;
    CHECK_FAILS(hr_grid_step(grid, &phase, 1, 1), HR_ERROR_COMPUTE_DOMAIN,
                "weighed: items have the indices 1 to");
    hr_array_destroy(array);
}

static void refuse_lists(void)
{
    TEST_CASE("lists of phases");
    int data[CELLS] = {0};
    hr_array *array = NULL;
    CHECK(hr_array_wrap(context, data, sizeof data[0], hr_extent2(ROWS, COLS),
                        0, &array) == HR_OK);
    const hr_argument right[] = {hr_field_in(NEAR), hr_field_out(HERE),
                                 hr_value(&none, sizeof none)};
    hr_argument written[] = {right[0], hr_out(hr_view_of(array)), right[2]};
    const hr_phase phase = hr_phase_of(&stir2_4, right, 3);
    const hr_phase unlike = hr_phase_swap(NEAR, WIDE);
    const hr_phase strange = hr_phase_swap(NEAR, 5);
    const hr_phase few = hr_phase_of(&stir2_4, right, 2);
    const hr_phase no_arguments = hr_phase_of(&stir2_4, NULL, 3);
    const hr_phase view = hr_phase_of(&stir2_4, written, 3);
    CHECK_FAILS(hr_grid_step(NULL, &phase, 1, 1), HR_ERROR_INVALID,
                "the grid is NULL");
    CHECK_FAILS(hr_grid_step(grid, NULL, 1, 1), HR_ERROR_INVALID,
                "list of phases is NULL");
    CHECK_FAILS(hr_grid_step(grid, &phase, 1, -1), HR_ERROR_INVALID,
                "-1 steps");
    CHECK_FAILS(
        hr_grid_step(grid, &unlike, 1, 1), HR_ERROR_INVALID,
        "fields 0 and 3 are swapped, but their components, elements, halos or");
    CHECK_FAILS(hr_grid_step(grid, &strange, 1, 1), HR_ERROR_INVALID,
                "fields 0 and 5 are swapped, but the grid has 5");
    CHECK_FAILS(hr_grid_step(grid, &few, 1, 1), HR_ERROR_INVALID,
                "stir2_4: the kernel has 3 parameters, but 2 arguments");
    CHECK_FAILS(hr_grid_step(grid, &no_arguments, 1, 1), HR_ERROR_INVALID,
                "stir2_4: the list of arguments is NULL");
    CHECK_FAILS(hr_grid_step(grid, &view, 1, 1), HR_ERROR_INVALID,
                "argument 1 is a written view");
    refuse_weights();
    CHECK(hr_grid_step(grid, NULL, 0, 3) == HR_OK);
    CHECK(hr_grid_step(grid, &phase, 1, 0) == HR_OK);
    hr_array_destroy(array);
}

/* Fields change places only when nothing is unlike. */
static void refuse_swaps(void)
{
    TEST_CASE("swaps");
    static const uint32_t one = 1, same = 1, two = 2;
    hr_field fields[6];
    for (int f = 0; f < 6; f++) {
        fields[f] = hr_field_of(4, 1, HR_BOUNDARY_CONSTANT, &one);
    }
    fields[1].after[1].value = &same;
    fields[2].after[1].value = &two;
    fields[3].before[0].halo = 2;
    fields[4].before[1].boundary = HR_BOUNDARY_CLAMP;
    fields[5].element_bytes = 1;
    hr_grid *unlike = NULL;
    CHECK(hr_grid_create(context, hr_extent2(ROWS, COLS), fields, 6, NULL,
                         &unlike) == HR_OK);
    for (uint32_t f = 1; f < 6; f++) {
        const hr_phase phase = hr_phase_swap(f, 0);
        if (f == 1) {
            CHECK(hr_grid_step(unlike, &phase, 1, 1) == HR_OK);
        } else {
            CHECK_FAILS(
                hr_grid_step(unlike, &phase, 1, 1), HR_ERROR_INVALID,
                "are swapped, but their components, elements, halos or");
        }
    }
    hr_grid_destroy(unlike);
}

static bool count_call(void *data, hr_grid *of, int64_t steps)
{
    (void)of;
    (void)steps;
    ++*(int *)data;
    return true;
}

static void refuse_runs(void)
{
    TEST_CASE("runs");
    const hr_phase phase = hr_phase_swap(NEAR, NEAR);
    int calls = 0;
    CHECK_FAILS(hr_grid_run(grid, &phase, 1, 4, 0, count_call, &calls),
                HR_ERROR_INVALID, "a call after every 0 steps");
    CHECK_FAILS(hr_grid_run(grid, &phase, 1, 4, 1, NULL, &calls),
                HR_ERROR_INVALID, "the function is NULL");
    CHECK_FAILS(hr_grid_run(NULL, &phase, 1, 4, 1, count_call, &calls),
                HR_ERROR_INVALID, "the grid is NULL");
    CHECK_FAILS(hr_grid_run(grid, &phase, 1, -4, 1, count_call, &calls),
                HR_ERROR_INVALID, "-4 steps");
    CHECK(calls == 0);
}

/* The list is refused before any of it runs. */
static void refuse_second(const hr_kernel *kernel, const hr_argument *arguments,
                          const char *word)
{
    const hr_argument right[] = {hr_field_in(NEAR), hr_field_out(HERE),
                                 hr_value(&none, sizeof none)};
    const hr_phase list[] = {hr_phase_of(&stir2_4, right, 3),
                             hr_phase_of(kernel, arguments, 3)};
    uint32_t data[CELLS], seen[CELLS] = {0};
    for (uint32_t i = 0; i < CELLS; i++) {
        data[i] = i;
    }
    CHECK(hr_grid_scatter(grid, HERE, data) == HR_OK);
    CHECK_FAILS(hr_grid_step(grid, list, 2, 1), HR_ERROR_INVALID, word);
    CHECK(hr_grid_gather(grid, HERE, seen) == HR_OK);
    CHECK(memcmp(seen, data, sizeof data) == 0);
    CHECK(hr_grid_step(grid, list, 1, 1) == HR_OK);
    CHECK(hr_grid_finish(grid) == HR_OK);
}

static void refuse_arguments(void)
{
    TEST_CASE("arguments that do not suit the kernel");
    static const uint64_t data[15];
    hr_array *array = NULL;
    CHECK(hr_array_wrap(context, data, 8, hr_extent2(3, 5), 0, &array) ==
          HR_OK);
    const hr_argument in = hr_field_in(NEAR), out = hr_field_out(HERE);
    const hr_argument value = hr_value(&none, sizeof none);
    const struct {
        const hr_kernel *kernel;
        hr_argument arguments[3];
        const char *word;
    } rows[] = {
        {&stir2_4,
         {hr_field_in(LARGE), out, value},
         "elements of cell4, 4 bytes, but the view has 8"},
        {&stir2_4,
         {hr_in(hr_view_of(array)), out, value},
         "elements of cell4, 4 bytes, but the view has 8"},
        {&stir2_4,
         {hr_field_inout(NEAR), out, value},
         "from is declared IN, but given as INOUT"},
        {&stir2_4,
         {in, hr_field_here(HERE), value},
         "to is declared OUT, but given as IN"},
        {&stir1_4, {in, out, value}, "from has rank 1, but the view has 2"},
        {&stir2_4,
         {in, out, hr_value(&none, 1)},
         "r is a reach of 36 bytes, but 1 were given"},
        {&stir2_4, {in, value, out}, "to is a view, but a value was given"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        refuse_second(rows[i].kernel, rows[i].arguments, rows[i].word);
    }
    hr_array_destroy(array);
}

/* ---- sections */

static void refuse_sections(hr_context *other)
{
    TEST_CASE("sections");
    uint32_t data[CELLS], first[CELLS];
    hr_array *array = NULL, *strange = NULL;
    for (uint32_t i = 0; i < CELLS; i++) {
        data[i] = first[i] = i;
    }
    CHECK(hr_grid_scatter(grid, NEAR, data) == HR_OK);
    CHECK(hr_array_wrap(context, data, 4, hr_extent2(ROWS, COLS), 0, &array) ==
          HR_OK);
    CHECK(hr_array_wrap(other, data, 4, hr_extent2(ROWS, COLS), 0, &strange) ==
          HR_OK);
    const hr_view view = hr_view_of(array);
    hr_view flat = view, wide = view, nothing = view;
    flat.extent = hr_extent1(CELLS);
    wide.element_bytes = 8;
    nothing.array = NULL;
    const int64_t right[] = {0, 1}, below[] = {-1, 0}, far[] = {INT64_MAX, 0};
    const struct {
        uint32_t field;
        const int64_t *origin;
        hr_view view;
        const char *word;
    } rows[] = {
        {5, NULL, view, "field index 5 is not below 5"},
        {NEAR, NULL, flat, "the view has rank 1"},
        {NEAR, NULL, wide, "and elements of 8 bytes"},
        {NEAR, right, view,
         "5 cells from 1 on exceed dimension 1, which has 5"},
        {NEAR, below, view, "6 cells from -1 on exceed dimension 0"},
        {NEAR, far, view, "on exceed dimension 0, which has 6"},
        {NEAR, NULL, nothing, ""},
        {NEAR, NULL, hr_view_of(strange), ""},
    };
    memset(data, 0xee, sizeof data);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        CHECK_FAILS(
            hr_grid_write(grid, rows[i].field, rows[i].origin, rows[i].view),
            HR_ERROR_INVALID, rows[i].word);
        CHECK_FAILS(
            hr_grid_read(grid, rows[i].field, rows[i].origin, rows[i].view),
            HR_ERROR_INVALID, rows[i].word);
    }
    CHECK_FAILS(hr_grid_write(NULL, 0, NULL, view), HR_ERROR_INVALID,
                "the grid is NULL");
    CHECK_FAILS(hr_grid_read(NULL, 0, NULL, view), HR_ERROR_INVALID,
                "the grid is NULL");
    CHECK_FAILS(hr_grid_scatter(NULL, 0, data), HR_ERROR_INVALID, "NULL");
    CHECK_FAILS(hr_grid_gather(NULL, 0, data), HR_ERROR_INVALID, "NULL");
    CHECK_FAILS(hr_grid_scatter(grid, 5, data), HR_ERROR_INVALID,
                "field index 5 is not below");
    CHECK_FAILS(hr_grid_gather(grid, 5, data), HR_ERROR_INVALID,
                "field index 5 is not below");
    CHECK_FAILS(hr_grid_scatter(grid, 0, NULL), HR_ERROR_INVALID, "data");
    CHECK_FAILS(hr_grid_gather(grid, 0, NULL), HR_ERROR_INVALID, "data");
    CHECK(data[0] == 0xeeeeeeee && data[CELLS - 1] == 0xeeeeeeee);
    CHECK(hr_grid_gather(grid, NEAR, data) == HR_OK);
    CHECK(memcmp(data, first, sizeof data) == 0);
    hr_array_destroy(array);
    hr_array_destroy(strange);
}

/* ---- the rest */

static void refuse_moves(void)
{
    TEST_CASE("moves");
    hr_grid_state before = HR_GRID_STATE_INIT, state = HR_GRID_STATE_INIT;
    hr_band bands[2], band = {.accelerator = 77};
    CHECK(hr_grid_describe(grid, &before, NULL, 0) == HR_OK);
    CHECK_FAILS(hr_grid_rebalance(NULL, (double[]){1, 1}), HR_ERROR_INVALID,
                "the grid is NULL");
    CHECK_FAILS(hr_grid_rebalance(grid, NULL), HR_ERROR_INVALID, "weights");
    CHECK_FAILS(hr_grid_rebalance(grid, (double[]){1, -2}), HR_ERROR_INVALID,
                "weight 1 is -2");
    CHECK_FAILS(hr_grid_rebalance(grid, (double[]){0, 0}), HR_ERROR_INVALID,
                "0");
    CHECK_FAILS(hr_grid_rebalance(grid, (double[]){1, INFINITY}),
                HR_ERROR_INVALID, "weight 1 is inf");
    CHECK_FAILS(hr_grid_describe(NULL, &state, bands, 2), HR_ERROR_INVALID,
                "the grid is NULL");
    CHECK_FAILS(hr_grid_describe(grid, NULL, bands, 2), HR_ERROR_INVALID,
                "state is NULL");
    CHECK_FAILS(hr_grid_describe(grid, &(hr_grid_state){0}, bands, 2),
                HR_ERROR_INVALID, "start with HR_GRID_STATE_INIT");
    CHECK_FAILS(hr_grid_describe(grid, &state, NULL, 2), HR_ERROR_INVALID,
                "bands is NULL");
    CHECK_FAILS(hr_grid_finish(NULL), HR_ERROR_INVALID, "the grid is NULL");
    CHECK(hr_grid_describe(grid, &state, &band, 1) == HR_OK);
    CHECK(state.band_count == 2 && state.moves == before.moves);
    CHECK(band.accelerator == 0 && band.first == 0 && band.count == 2);
}

static void refuse_reductions(void)
{
    TEST_CASE("reductions");
    hr_reducing *const untouched = (hr_reducing *)grid;
    hr_reducing *reducing = untouched;
    const struct {
        hr_reduction reduction;
        hr_type type;
        uint32_t a, b;
        hr_status status;
        const char *word;
    } rows[] = {
        {(hr_reduction)0, HR_F32, 0, 1, HR_ERROR_INVALID,
         "unknown reduction 0"},
        {HR_REDUCE_NORM, HR_F32, 0, 1, HR_ERROR_INVALID,
         "grids have no reduction 10"},
        {(hr_reduction)99, HR_F32, 0, 1, HR_ERROR_INVALID,
         "unknown reduction 99"},
        {HR_REDUCE_SUM, HR_F16, 0, 1, HR_ERROR_UNSUPPORTED,
         "f32, f64 and i32 are offered, not f16"},
        {HR_REDUCE_SUM, (hr_type)99, 0, 1, HR_ERROR_UNSUPPORTED, "type 99"},
        {HR_REDUCE_SUM, HR_F32, 5, 1, HR_ERROR_INVALID,
         "field index 5 is not below"},
        {HR_REDUCE_DOT, HR_F32, 0, 5, HR_ERROR_INVALID,
         "field index 5 is not below"},
        {HR_REDUCE_SUM, HR_F64, 0, 0, HR_ERROR_INVALID,
         "field 0 has elements of 4 bytes, not 8"},
        {HR_REDUCE_MAX_ABS_DIFF, HR_F32, 0, LARGE, HR_ERROR_INVALID,
         "field 4 has elements of 8 bytes, not 4"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        CHECK_FAILS(hr_grid_reduce(grid, rows[i].reduction, rows[i].type,
                                   rows[i].a, rows[i].b, &reducing),
                    rows[i].status, rows[i].word);
        CHECK(reducing == untouched);
    }
    CHECK_FAILS(hr_grid_reduce(NULL, HR_REDUCE_SUM, HR_F32, 0, 0, &reducing),
                HR_ERROR_INVALID, "the grid is NULL");
    CHECK_FAILS(hr_grid_reduce(grid, HR_REDUCE_SUM, HR_F32, 0, 0, NULL),
                HR_ERROR_INVALID, "reducing is NULL");
    CHECK_FAILS(hr_grid_reduced(NULL, NULL), HR_ERROR_INVALID, "NULL");
    CHECK(hr_grid_reduce(grid, HR_REDUCE_SUM, HR_F32, 0, 99, &reducing) ==
          HR_OK); /* it is not looked at */
    CHECK(hr_grid_reduced(reducing, NULL) == HR_OK);
}

int main(void)
{
    hr_context *other = test_context("2xhost", 1 << 20);
    context = test_context("2xhost", 1 << 20);
    TEST(refuse_shapes());
    TEST(refuse_fields());
    TEST(refuse_options());
    TEST(refuse_no_place());
    make_grid();
    TEST(run_boxes());
    TEST(refuse_boxes());
    TEST(refuse_steps());
    TEST(refuse_lists());
    TEST(refuse_swaps());
    TEST(refuse_runs());
    TEST(refuse_arguments());
    TEST(refuse_sections(other));
    TEST(refuse_moves());
    TEST(refuse_reductions());
    hr_grid_destroy(grid);
    hr_context_destroy(other);
    hr_context_destroy(context);
    return test_end();
}
