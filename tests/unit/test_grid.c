/* SPDX-License-Identifier: MIT */
/* Grids of random extents, halos and boundaries on the accelerators of argv[1],
 * in random bands that move, beside a model that has one array for each field:
 * every cell has the same bits, whatever the bands. argv[2]: how many grids. */
#include <stdlib.h>
#include <string.h>

#include <headrace/headrace.h>

#include "support/random.h"
#include "support/stencil.h"
#include "test.h"

enum { FIELDS = 3, MAX_CELLS = 30000, MAX_BANDS = 8 };

/* Fields 0 and 1 are mixed and swapped; field 2 follows, and has another halo,
 * of which field 0 is mixed in a box. */
typedef struct bed {
    hr_context *context;
    random_source random;
    uint64_t seed;
    int wide; /* the dimension of rank 2 with wide halos; -1: none */
    hr_extent extent;
    hr_field fields[FIELDS];
    uint32_t values[FIELDS][2][3];
    reach reach[FIELDS];
    grid_model models[FIELDS];
    uint32_t packed[MAX_CELLS];
    int64_t cells;
    /* the box of a phase */
    hr_extent box;
    int64_t origin[3];
    hr_grid *grid;
} bed;

static int64_t any(bed *b, int64_t low, int64_t high)
{
    return random_between(&b->random, low, high);
}

/* ---- the model */

/* Where cell number `number` of a box is that begins at `origin`. */
static void find_cell(int64_t number, const hr_extent *box,
                      const int64_t *origin, int64_t at[3])
{
    for (uint32_t d = box->rank; d-- > 0;) {
        at[d] = origin[d] + number % box->size[d];
        number /= box->size[d];
    }
}

static void follow_model(const bed *b)
{
    const int64_t zero[3] = {0, 0, 0};
    for (int64_t i = 0; i < b->cells; i++) {
        int64_t at[3];
        uint32_t other, *own;
        find_cell(i, &b->extent, zero, at);
        own = (uint32_t *)(void *)grid_model_own(&b->models[2], at);
        memcpy(&other, grid_model_own(&b->models[0], at), sizeof other);
        *own = (*own ^ other) * 16777619u + 7u;
    }
}

static void step_model(bed *b)
{
    int64_t hi[3] = {1, 1, 1};
    for (uint32_t d = 0; d < b->extent.rank; d++) {
        hi[d] = b->origin[d] + b->box.size[d];
    }
    grid_model_stir_all(&b->models[0], &b->models[1], &b->reach[0]);
    const grid_model old = b->models[0];
    b->models[0] = b->models[1];
    b->models[1] = old;
    follow_model(b);
    grid_model_stir(&b->models[2], &b->models[0], b->origin, hi, &b->reach[2]);
}

/* ---- the grid */

static hr_status step_grid(const bed *b, int64_t steps)
{
    const uint32_t rank = b->extent.rank;
    const hr_argument first[] = {hr_field_in(0), hr_field_out(1),
                                 hr_value(&b->reach[0], sizeof(reach))};
    const hr_argument second[] = {hr_field_here(0), hr_field_inout(2)};
    const hr_argument third[] = {hr_field_in(2), hr_field_out(0),
                                 hr_value(&b->reach[2], sizeof(reach))};
    hr_phase phases[] = {hr_phase_of(mix_of(rank), first, 3),
                         hr_phase_swap(0, 1),
                         hr_phase_of(follow_of(rank), second, 2),
                         hr_phase_of(mix_of(rank), third, 3)};
    phases[0].step[0] = rank == 2 ? 3 : 1;
    phases[3].extent = b->box;
    memcpy(phases[3].origin, b->origin, sizeof b->origin);
    return hr_grid_step(b->grid, phases, 4, steps);
}

static void make_extent(bed *b)
{
    b->wide = b->seed % 100 == 0 ? (int)any(b, 0, 1) : -1;
    b->extent.rank = b->wide < 0 ? (uint32_t)any(b, 1, 3) : 2;
    const int64_t most = b->wide >= 0          ? 170
                         : b->extent.rank == 1 ? 700
                         : b->extent.rank == 2 ? 40
                                               : 14;
    b->cells = 1;
    b->box.rank = b->extent.rank;
    for (uint32_t d = 0; d < b->extent.rank; d++) {
        b->extent.size[d] = any(b, 1, most);
        b->cells *= b->extent.size[d];
        b->box.size[d] = any(b, 1, b->extent.size[d]);
        b->origin[d] = any(b, 0, b->extent.size[d] - b->box.size[d]);
    }
}

static hr_side make_side(bed *b, uint32_t *value, int most)
{
    hr_side side = {.halo = any(b, 0, most),
                    .boundary = (hr_boundary)any(b, 0, 3)};
    *value = (uint32_t)random_next(&b->random);
    side.value = any(b, 0, 1) != 0 ? value : NULL;
    return side;
}

static void make_fields(bed *b)
{
    static const int most[] = {60, 3, 2}; /* by rank */
    for (int f = 0; f < FIELDS; f++) {
        b->fields[f] = (hr_field){.element_bytes = sizeof(uint32_t)};
        for (uint32_t d = 0; d < b->extent.rank; d++) {
            const int halo = b->wide >= 0 ? (int)d == b->wide ? 60 : 1
                             : d == 0 && any(b, 0, 9) == 0
                                 ? 20
                                 : most[b->extent.rank - 1];
            b->fields[f].before[d] = make_side(b, &b->values[f][0][d], halo);
            b->fields[f].after[d] = make_side(b, &b->values[f][1][d], halo);
        }
        b->reach[f] = grid_model_reach(&b->fields[f], b->extent.rank);
    }
    b->fields[1] = b->fields[0];
}

static void make_weights(bed *b, double *weights, uint32_t count)
{
    bool none = true;
    for (uint32_t i = 0; i < count; i++) {
        weights[i] = any(b, 0, 4) == 0 ? 0.0 : (double)any(b, 1, 100);
        none = none && weights[i] == 0.0;
    }
    weights[0] = none ? 1.0 : weights[0];
}

static void compare_fields(const bed *b, const char *when)
{
    for (uint32_t f = 0; f < FIELDS; f += 2) { /* field 1 is of no use */
        if (!CHECK(grid_model_agrees(&b->models[f], b->grid, f))) {
            fprintf(stderr,
                    "  seed %llu, field %u, %s: %lld x %lld x %lld, rank %u\n",
                    (unsigned long long)b->seed, f, when,
                    (long long)b->extent.size[0], (long long)b->extent.size[1],
                    (long long)b->extent.size[2], b->extent.rank);
        }
    }
}

static void run_steps(bed *b, int64_t steps)
{
    CHECK(step_grid(b, steps) == HR_OK);
    for (int64_t i = 0; i < steps; i++) {
        step_model(b);
    }
}

static void draw_values(bed *b, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        b->packed[i] = (uint32_t)random_next(&b->random);
    }
}

/* A section is written and read while the grid steps. */
static void write_section(bed *b)
{
    hr_array *array = NULL;
    const int64_t count = hr_extent_count(b->box);
    draw_values(b, count);
    CHECK(hr_array_wrap(b->context, b->packed, sizeof *b->packed, b->box, 0,
                        &array) == HR_OK);
    CHECK(hr_grid_write(b->grid, 2, b->origin, hr_view_of(array)) == HR_OK);
    for (int64_t i = 0; i < count; i++) {
        int64_t at[3];
        find_cell(i, &b->box, b->origin, at);
        memcpy(grid_model_own(&b->models[2], at), &b->packed[i],
               sizeof *b->packed);
    }
    CHECK(hr_grid_finish(b->grid) == HR_OK);
    hr_array_destroy(array);
    run_steps(b, 1);
}

/* A grid, and a model of each field with the same values. */
static bool make_grid(bed *b, hr_grid_options *options)
{
    for (uint32_t f = 0; f < FIELDS; f++) {
        if (!CHECK(
                grid_model_create(&b->models[f], b->extent, &b->fields[f]))) {
            return false;
        }
        draw_values(b, b->cells);
        grid_model_unpack(&b->models[f], b->packed);
    }
    if (!CHECK(hr_grid_create(b->context, b->extent, b->fields, FIELDS, options,
                              &b->grid) == HR_OK)) {
        return false;
    }
    for (uint32_t f = 0; f < FIELDS; f++) {
        grid_model_pack(&b->models[f], b->packed);
        CHECK(hr_grid_scatter(b->grid, f, b->packed) == HR_OK);
    }
    return true;
}

static void run_grid(bed *b, uint64_t seed)
{
    const uint32_t accelerators = hr_accelerator_count(b->context);
    uint32_t list[MAX_BANDS];
    double weights[MAX_BANDS];
    hr_grid_options options = HR_GRID_OPTIONS_INIT;
    b->seed = seed;
    b->random.state = seed;
    b->grid = NULL;
    make_extent(b);
    make_fields(b);
    options.accelerators = list;
    options.accelerator_count = accelerators;
    options.weights = any(b, 0, 2) > 0 ? weights : NULL;
    options.steps_per_exchange = (uint32_t)any(b, 0, 4);
    for (uint32_t i = 0; i < accelerators; i++) {
        list[i] = accelerators - 1 - i;
    }
    make_weights(b, weights, accelerators);
    if (make_grid(b, &options)) {
        run_steps(b, any(b, 0, 9) > 0 ? any(b, 1, 5) : any(b, 34, 70));
        compare_fields(b, "after steps");
        make_weights(b, weights, accelerators);
        CHECK(hr_grid_rebalance(b->grid, weights) == HR_OK);
        compare_fields(b, "after a move");
        run_steps(b, 2);
        write_section(b);
        compare_fields(b, "after a section");
    }
    for (int f = 0; f < FIELDS; f++) {
        grid_model_destroy(&b->models[f]);
    }
    hr_grid_destroy(b->grid);
}

int main(int argc, char **argv)
{
    static bed b;
    hr_context_options options = HR_CONTEXT_OPTIONS_INIT;
    options.accelerators = argc > 1 ? argv[1] : "host";
    if (!test_open(&options, &b.context)) {
        return test_end();
    }
    uint64_t seed = 1, last = argc > 2 ? strtoull(argv[2], NULL, 10) : 200;
    if (test_seed(&seed)) {
        last = seed;
    }
    TEST_CASE("random grids");
    for (; seed <= last; seed++) {
        TEST(run_grid(&b, seed));
    }
    hr_context_destroy(b.context);
    return test_end();
}
