/* SPDX-License-Identifier: MIT */
/* Fields of several components on the accelerators of argv[1]: random grids in
 * random bands that move, beside a model of each component. argv[2]: how many
 * grids. */
#include <stdlib.h>
#include <string.h>

#include <headrace/headrace.h>

#include "support/grid_model.h"
#include "support/random.h"
#include "test.h"

extern const hr_kernel flow1, flow2, flow3, tint1, tint2, tint3, blur1, blur2,
    blur3;

static const hr_kernel *const flows[] = {&flow1, &flow2, &flow3};
static const hr_kernel *const tints[] = {&tint1, &tint2, &tint3};
static const hr_kernel *const blurs[] = {&blur1, &blur2, &blur3};

enum { MAX_COMPONENTS = 5, MAX_BANDS = 8, STEPS = 4, MAX_CELLS = 600 };

typedef struct bed {
    hr_context *context;
    random_source random;
    hr_extent extent;
    hr_field field; /* both are alike */
    int values[2][3];
    uint32_t components, read, written; /* of blur: from 1 to 0 */
    bool tinted, blurred;
    grid_model models[2][MAX_COMPONENTS];
    hr_grid *grid;
} bed;

static int64_t any(bed *b, int64_t low, int64_t high)
{
    return random_between(&b->random, low, high);
}

/* ---- a grid */

static void make_case(bed *b)
{
    static const int64_t most[] = {300, 20, 7};
    const hr_boundary last = HR_BOUNDARY_PERIODIC;
    b->extent = (hr_extent){.rank = (uint32_t)any(b, 1, 3)};
    b->components = (uint32_t)any(b, 1, MAX_COMPONENTS);
    b->field =
        (hr_field){.element_bytes = sizeof(int), .components = b->components};
    for (uint32_t d = 0; d < b->extent.rank; d++) {
        b->extent.size[d] = any(b, 1, most[b->extent.rank - 1]);
        for (int s = 0; s < 2; s++) {
            b->values[s][d] = (int)any(b, -99, 99);
            const hr_side side = {
                .halo = any(b, 1, 2),
                .boundary = (hr_boundary)any(b, HR_BOUNDARY_CONSTANT, last),
                .value = any(b, 0, 1) != 0 ? &b->values[s][d] : NULL};
            *(s == 0 ? &b->field.before[d] : &b->field.after[d]) = side;
        }
    }
    b->tinted = any(b, 0, 1) != 0;
    b->blurred = any(b, 0, 1) != 0;
    b->read = (uint32_t)any(b, 0, b->components - 1);
    b->written = (uint32_t)any(b, 0, b->components - 1);
}

static void random_weights(bed *b, double *weights)
{
    for (int i = 0; i < MAX_BANDS; i++) {
        weights[i] = (double)any(b, 0, 5);
    }
    weights[any(b, 0, hr_accelerator_count(b->context) - 1)] = 3;
}

static void make_grid(bed *b)
{
    hr_grid_options options = HR_GRID_OPTIONS_INIT;
    double weights[MAX_BANDS];
    const hr_field fields[] = {b->field, b->field};
    random_weights(b, weights);
    options.weights = any(b, 0, 3) != 0 ? weights : NULL;
    options.steps_per_exchange = (uint32_t)any(b, 0, 3);
    CHECK(hr_grid_create(b->context, b->extent, fields, 2, &options,
                         &b->grid) == HR_OK);
    for (int f = 0; f < 2; f++) {
        for (uint32_t q = 0; q < b->components; q++) {
            CHECK(grid_model_create(&b->models[f][q], b->extent, &b->field));
        }
    }
}

/* ---- the model */

static unsigned at_of(const grid_model *m, const int64_t *at, int64_t by)
{
    int64_t near[3] = {0};
    int value;
    for (uint32_t d = 0; d < m->extent.rank; d++) {
        near[d] = at[d] + by;
    }
    memcpy(&value, grid_model_read(m, near), sizeof value);
    return (unsigned)value;
}

static void set_to(const grid_model *m, const int64_t *at, unsigned value)
{
    memcpy(grid_model_own(m, at), &value, sizeof value);
}

/* Where cell number `number` of a box is that begins at `origin`. Returns how
 * many boxes come before it. */
static int64_t find_cell(int64_t number, uint32_t rank, const int64_t *size,
                         const int64_t *origin, int64_t at[3])
{
    for (uint32_t d = rank; d-- > 0;) {
        at[d] = origin[d] + number % size[d];
        number /= size[d];
    }
    return number;
}

typedef void cell_function(bed *b, const int64_t *at);

static void flow_cell(bed *b, const int64_t *at)
{
    for (uint32_t q = 0; q < b->components; q++) {
        set_to(&b->models[1][q], at,
               3 * at_of(&b->models[0][(q + 1) % b->components], at, 1) +
                   at_of(&b->models[0][q], at, -1) + q);
    }
}

static void tint_cell(bed *b, const int64_t *at)
{
    for (uint32_t q = b->components; q-- > 0;) {
        set_to(&b->models[1][q], at,
               2 * at_of(&b->models[1][q], at, 0) +
                   at_of(&b->models[1][0], at, 0));
    }
}

static void blur_cell(bed *b, const int64_t *at)
{
    set_to(&b->models[0][b->written], at,
           at_of(&b->models[1][b->read], at, -1) +
               5 * at_of(&b->models[1][b->read], at, 1));
}

static void each_cell(bed *b, cell_function *function)
{
    const int64_t zero[3] = {0};
    for (int64_t n = 0; n < hr_extent_count(b->extent); n++) {
        int64_t at[3] = {0};
        find_cell(n, b->extent.rank, b->extent.size, zero, at);
        function(b, at);
    }
}

static void step_model(bed *b)
{
    each_cell(b, flow_cell);
    if (b->blurred) {
        each_cell(b, blur_cell);
        each_cell(b, flow_cell);
    }
    if (b->tinted) {
        each_cell(b, tint_cell);
    }
    for (uint32_t q = 0; q < b->components; q++) {
        const grid_model old = b->models[0][q];
        b->models[0][q] = b->models[1][q];
        b->models[1][q] = old;
    }
}

/* ---- beside each other */

static void step_grid(bed *b, int64_t steps)
{
    const uint32_t r = b->extent.rank - 1;
    const hr_argument flowing[] = {hr_field_in(0), hr_field_out(1)};
    const hr_argument tinting[] = {hr_field_inout(1)};
    const hr_argument blurring[] = {
        hr_field_in(hr_field_component(1, b->read)),
        hr_field_out(hr_field_component(0, b->written))};
    hr_phase list[5];
    size_t count = 0;
    list[count++] = hr_phase_of(flows[r], flowing, 2);
    if (b->blurred) {
        list[count++] = hr_phase_of(blurs[r], blurring, 2);
        list[count++] = hr_phase_of(flows[r], flowing, 2);
    }
    if (b->tinted) {
        list[count++] = hr_phase_of(tints[r], tinting, 1);
    }
    list[count++] = hr_phase_swap(0, 1);
    CHECK(hr_grid_step(b->grid, list, count, steps) == HR_OK);
    for (int64_t n = 0; n < steps; n++) {
        step_model(b);
    }
}

static bool fields_agree(bed *b, uint32_t field)
{
    bool same = true;
    for (uint32_t q = 0; q < b->components; q++) {
        same = same && grid_model_agrees(&b->models[field][q], b->grid,
                                         hr_field_component(field, q));
    }
    return same;
}

/* All components at once: those of component 0 come first. */
static void scatter_all(bed *b, uint32_t field)
{
    static int data[MAX_COMPONENTS * MAX_CELLS],
        seen[MAX_COMPONENTS * MAX_CELLS];
    const size_t cells = (size_t)hr_extent_count(b->extent);
    for (uint32_t q = 0; q < b->components; q++) {
        grid_model_fill(&b->models[field][q], &b->random);
        grid_model_pack(&b->models[field][q], data + q * cells);
    }
    CHECK(hr_grid_scatter(b->grid, field, data) == HR_OK);
    CHECK(hr_grid_gather(b->grid, field, seen) == HR_OK);
    CHECK(memcmp(data, seen, b->components * cells * sizeof(int)) == 0);
}

/* Write a section of all components, or of one, and read it back. */
static void write_section(bed *b, uint32_t field)
{
    static int data[MAX_COMPONENTS * MAX_CELLS];
    const bool all = any(b, 0, 1) != 0 && b->components > 1;
    const uint32_t one = (uint32_t)any(b, 0, b->components - 1);
    const uint32_t name = all ? field : hr_field_component(field, one);
    const uint32_t lead = all ? 1 : 0;
    hr_extent extent = {.rank = b->extent.rank + lead};
    int64_t origin[3] = {0};
    hr_array *array = NULL;
    extent.size[0] = b->components;
    for (uint32_t d = 0; d < b->extent.rank; d++) {
        origin[d] = any(b, 0, b->extent.size[d] - 1);
        extent.size[d + lead] = any(b, 1, b->extent.size[d] - origin[d]);
    }
    const int64_t count = hr_extent_count(extent);
    random_fill_bytes(&b->random, data, (size_t)count * sizeof(int));
    CHECK(hr_array_wrap(b->context, data, sizeof(int), extent, 0, &array) ==
          HR_OK);
    CHECK(hr_grid_write(b->grid, name, origin, hr_view_of(array)) == HR_OK);
    for (int64_t n = 0; n < count; n++) {
        int64_t at[3] = {0};
        const int64_t q =
            find_cell(n, b->extent.rank, &extent.size[lead], origin, at);
        set_to(&b->models[field][all ? q : one], at, (unsigned)data[n]);
    }
    CHECK(hr_grid_read(b->grid, name, origin, hr_view_of(array)) == HR_OK);
    CHECK(hr_synchronize(hr_view_of(array)) == HR_OK);
    int wrong = 0;
    for (int64_t n = 0; n < count; n++) {
        int64_t at[3] = {0};
        const int64_t q =
            find_cell(n, b->extent.rank, &extent.size[lead], origin, at);
        wrong +=
            (unsigned)data[n] != at_of(&b->models[field][all ? q : one], at, 0);
    }
    CHECK(wrong == 0);
    hr_array_destroy(array);
}

static void reduce_one(bed *b)
{
    static int data[MAX_CELLS];
    const uint32_t q = (uint32_t)any(b, 0, b->components - 1);
    hr_reducing *reducing = NULL;
    double value = 0, sum = 0;
    grid_model_pack(&b->models[0][q], data);
    for (int64_t n = 0; n < hr_extent_count(b->extent); n++) {
        sum += data[n];
    }
    CHECK(hr_grid_reduce(b->grid, HR_REDUCE_SUM, HR_I32,
                         hr_field_component(0, q), 0, &reducing) == HR_OK);
    CHECK(hr_grid_reduced(reducing, &value) == HR_OK);
    CHECK(value == sum);
}

static void move_bands(bed *b)
{
    double weights[MAX_BANDS];
    random_weights(b, weights);
    CHECK(hr_grid_rebalance(b->grid, weights) == HR_OK);
}

static void try_case(bed *b)
{
    make_case(b);
    make_grid(b);
    scatter_all(b, 0);
    scatter_all(b, 1);
    for (int n = 0; n < 3 && test_state.failures == 0; n++) {
        step_grid(b, any(b, 1, STEPS));
        if (any(b, 0, 2) == 0) {
            move_bands(b);
        }
        if (any(b, 0, 1) == 0) {
            write_section(b, (uint32_t)any(b, 0, 1));
        }
        if (any(b, 0, 2) == 0) {
            CHECK(fields_agree(b, 0));
            reduce_one(b);
        }
    }
    CHECK(fields_agree(b, 0) && fields_agree(b, 1));
    for (int f = 0; f < 2; f++) {
        for (uint32_t q = 0; q < b->components; q++) {
            grid_model_destroy(&b->models[f][q]);
        }
    }
    hr_grid_destroy(b->grid);
}

static void try_cases(bed *b, long count)
{
    for (long n = 0; n < count && test_state.failures == 0; n++) {
        char name[80];
        b->random = (random_source){(uint64_t)n};
        snprintf(name, sizeof name, "grid %ld beside the model", n);
        TEST_CASE(name);
        try_case(b);
    }
}

/* ---- bytes, and the sentences */

/* Halos of all components are one exchange, and as many bytes as needed. */
static void try_bytes(bed *b)
{
    enum { ROWS = 40, COLS = 6, COMPONENTS = 9 };
    hr_field field = hr_field_of(sizeof(int), 0, HR_BOUNDARY_CLAMP, NULL);
    hr_grid_options options = HR_GRID_OPTIONS_INIT;
    hr_grid_state state = HR_GRID_STATE_INIT;
    double weights[MAX_BANDS] = {1, 1, 1, 1, 1, 1, 1, 1};
    TEST_CASE("bytes of halos");
    field.before[0].halo = field.after[0].halo = 1;
    field.before[1].halo = field.after[1].halo = 1;
    field.components = COMPONENTS;
    const hr_field fields[] = {field, field};
    options.weights = weights;
    CHECK(hr_grid_create(b->context, hr_extent2(ROWS, COLS), fields, 2,
                         &options, &b->grid) == HR_OK);
    const hr_argument flowing[] = {hr_field_in(0), hr_field_out(1)};
    const hr_phase list[] = {hr_phase_of(&flow2, flowing, 2),
                             hr_phase_swap(0, 1)};
    CHECK(hr_grid_step(b->grid, list, 2, 5) == HR_OK);
    CHECK(hr_grid_finish(b->grid) == HR_OK);
    CHECK(hr_grid_describe(b->grid, &state, NULL, 0) == HR_OK);
    const uint64_t bands = state.band_count, row = COMPONENTS * (COLS + 2) * 4;
    /* the grid starts with valid halos, of zeros */
    CHECK(state.exchanges == (bands > 1 ? 4 : 0));
    CHECK(state.halo_bytes == 4 * 2 * (bands - 1) * row);
    hr_grid_destroy(b->grid);
}

static void try_refusals(bed *b)
{
    hr_field field = hr_field_of(sizeof(int), 1, HR_BOUNDARY_CLAMP, NULL);
    const hr_field plain = field;
    hr_grid *grid = NULL;
    hr_reducing *reducing = NULL;
    static int data[3 * 48];
    hr_array *array = NULL;
    TEST_CASE("refusals");
    field.components = HR_MAX_COMPONENTS + 1;
    CHECK_FAILS(
        hr_grid_create(b->context, hr_extent2(8, 6), &field, 1, NULL, &grid),
        HR_ERROR_INVALID, "field 0 has 1025 components, not 1 to 1024");
    field.components = 3;
    const hr_field fields[] = {field, field, plain};
    CHECK(hr_grid_create(b->context, hr_extent2(8, 6), fields, 3, NULL,
                         &grid) == HR_OK);
    CHECK_FAILS(hr_grid_gather(grid, hr_field_component(0, 3), data),
                HR_ERROR_INVALID, "component 3 of field 0 is not below 3");
    CHECK_FAILS(hr_grid_gather(grid, hr_field_component(3, 0), data),
                HR_ERROR_INVALID, "field index 3 is not below 3");
    CHECK_FAILS(hr_grid_gather(grid, hr_field_component(0, UINT32_MAX), data),
                HR_ERROR_INVALID, "is not below 3");
    CHECK_FAILS(hr_grid_reduce(grid, HR_REDUCE_SUM, HR_I32, 0, 0, &reducing),
                HR_ERROR_INVALID,
                "field 0 has 3 components, and one of them is reduced at a "
                "time");
    CHECK(hr_array_wrap(b->context, data, sizeof(int), hr_extent3(2, 8, 6), 0,
                        &array) == HR_OK);
    CHECK_FAILS(hr_grid_write(grid, 0, NULL, hr_view_of(array)),
                HR_ERROR_INVALID,
                "the view has 2 components, but field 0 has 3");
    const hr_argument one[] = {hr_field_in(0), hr_field_out(1)};
    const hr_argument twice[] = {hr_field_in(1), hr_field_out(1)};
    const hr_argument part[] = {hr_field_in(1),
                                hr_field_out(hr_field_component(1, 2))};
    const hr_argument none[] = {hr_field_in(0),
                                hr_field_out(hr_field_component(1, 3))};
    const hr_argument parts[] = {hr_field_in(hr_field_component(1, 0)),
                                 hr_field_out(hr_field_component(1, 2))};
    const struct {
        hr_phase phase;
        const char *words;
    } cases[] = {
        {hr_phase_of(&blur2, one, 2),
         "blur2: from is one view, but field 0 has 3 components"},
        {hr_phase_of(&flow2, twice, 2), "field 1 is two arguments"},
        {hr_phase_of(&flow2, part, 2), "field 1 is two arguments"},
        {hr_phase_of(&flow2, none, 2), "component 3 of field 1 is not below 3"},
        {hr_phase_of(&flow3, one, 2), "is a list of views of rank 3"},
        {hr_phase_swap(1, 2), "but their components, elements, halos or"},
        {hr_phase_swap(hr_field_component(0, 1), 1), "are swapped, but"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        CHECK_FAILS(hr_grid_step(grid, &cases[i].phase, 1, 1), HR_ERROR_INVALID,
                    cases[i].words);
    }
    const hr_phase apart = hr_phase_of(&blur2, parts, 2);
    CHECK(hr_grid_step(grid, &apart, 1, 1) == HR_OK);
    CHECK(hr_grid_finish(grid) == HR_OK);
    hr_array_destroy(array);
    hr_grid_destroy(grid);
}

int main(int count, char **arguments)
{
    hr_context_options options = HR_CONTEXT_OPTIONS_INIT;
    bed b = {.context = NULL};
    options.accelerators = count > 1 ? arguments[1] : "3xhost";
    if (test_open(&options, &b.context)) {
        TEST(try_cases(&b, count > 2 ? strtol(arguments[2], NULL, 10) : 40));
        TEST(try_bytes(&b));
        TEST(try_refusals(&b));
    }
    hr_context_destroy(b.context);
    return test_end();
}
