/* SPDX-License-Identifier: MIT */
/* Grids on the accelerators of argv[1] with cells of any size: each boundary on
 * all sides, and any boundaries. Among these are the user's, which phases write
 * in boxes that lie beyond the ends. Random grids in random bands that move are
 * compared with a model. argv[2]: how many. */
#include <stdlib.h>
#include <string.h>

#include <headrace/headrace.h>

#include "support/grid_model.h"
#include "support/random.h"
#include "test.h"

enum { SIZES = 8, MAX_BANDS = 8, BOXES = 2, MAX_BYTES = 40 };

#define STIRRED(rank)                                                          \
    stir##rank##_1, stir##rank##_2, stir##rank##_4, stir##rank##_8,            \
        stir##rank##_12, stir##rank##_16, stir##rank##_24, stir##rank##_40
#define REFERRED(rank)                                                         \
    {                                                                          \
        &stir##rank##_1, &stir##rank##_2, &stir##rank##_4, &stir##rank##_8,    \
            &stir##rank##_12, &stir##rank##_16, &stir##rank##_24,              \
            &stir##rank##_40                                                   \
    }
extern const hr_kernel STIRRED(1), STIRRED(2), STIRRED(3);

static const size_t sizes[SIZES] = {1, 2, 4, 8, 12, 16, 24, 40};
static const hr_kernel *const kernels[3][SIZES] = {REFERRED(1), REFERRED(2),
                                                   REFERRED(3)};

/* Field 0 is stirred into field 1 with all its halos, and field 1 back, in
 * boxes that lie beyond the ends where field 0 is the user's; some read field 1
 * at the cell itself alone. */
typedef struct bed {
    hr_context *context;
    random_source random;
    hr_extent extent;
    int size;
    bool here;
    hr_field fields[2];
    unsigned char values[2][2][3][MAX_BYTES];
    reach wide, near;
    grid_model models[2];
    hr_extent box[BOXES];
    int64_t origin[BOXES][3];
    hr_grid *grid;
} bed;

static int64_t any(bed *b, int64_t low, int64_t high)
{
    return random_between(&b->random, low, high);
}

static void make_extent(bed *b)
{
    static const int64_t most[] = {300, 20, 8};
    b->extent = (hr_extent){.rank = (uint32_t)any(b, 1, 3)};
    for (uint32_t d = 0; d < b->extent.rank; d++) {
        b->extent.size[d] = any(b, 1, most[b->extent.rank - 1]);
    }
}

static hr_side make_side(bed *b, unsigned char *value, int64_t least)
{
    static const hr_boundary rules[] = {
        HR_BOUNDARY_CONSTANT, HR_BOUNDARY_CLAMP, HR_BOUNDARY_MIRROR,
        HR_BOUNDARY_PERIODIC, HR_BOUNDARY_USER,  HR_BOUNDARY_USER};
    hr_side side = {.halo = least + any(b, 0, 2),
                    .boundary = rules[any(b, 0, 5)]};
    random_fill_bytes(&b->random, value, MAX_BYTES);
    side.value = any(b, 0, 2) != 0 ? value : NULL;
    return side;
}

/* Field 1 is read where field 0 is written, and one cell further. */
static void make_fields(bed *b)
{
    b->size = (int)any(b, 0, SIZES - 1);
    b->here = any(b, 0, 3) == 0;
    b->near = (reach){.place = {3, 5, 7}};
    for (int f = 0; f < 2; f++) {
        b->fields[f] = (hr_field){.element_bytes = sizes[b->size]};
    }
    for (uint32_t d = 0; d < b->extent.rank; d++) {
        hr_side *before[] = {&b->fields[0].before[d], &b->fields[1].before[d]};
        hr_side *after[] = {&b->fields[0].after[d], &b->fields[1].after[d]};
        b->near.before[d] = b->here ? 0 : (int)any(b, 0, 1);
        b->near.after[d] = b->here ? 0 : (int)any(b, 0, 1);
        *before[0] = make_side(b, b->values[0][0][d], 0);
        *after[0] = make_side(b, b->values[0][1][d], 0);
        *before[1] = make_side(b, b->values[1][0][d],
                               before[0]->halo + b->near.before[d]);
        *after[1] =
            make_side(b, b->values[1][1][d], after[0]->halo + b->near.after[d]);
    }
    b->wide = grid_model_reach(&b->fields[0], b->extent.rank);
}

static int64_t room_of(const hr_side *side)
{
    return side->boundary == HR_BOUNDARY_USER ? side->halo : 0;
}

/* One anywhere, one that starts or ends as far out as it may. */
static void make_boxes(bed *b)
{
    for (int i = 0; i < BOXES; i++) {
        b->box[i].rank = b->extent.rank;
        for (uint32_t d = 0; d < b->extent.rank; d++) {
            const int64_t lo = -room_of(&b->fields[0].before[d]);
            const int64_t hi =
                b->extent.size[d] + room_of(&b->fields[0].after[d]);
            const int64_t size = any(b, 1, hi - lo);
            const bool low = any(b, 0, 1) == 0;
            b->box[i].size[d] = size;
            b->origin[i][d] = i == 0 ? any(b, lo, hi - size)
                              : low  ? lo
                                     : hi - size;
        }
    }
}

static hr_status step_grid(bed *b, int64_t steps)
{
    const hr_kernel *kernel = kernels[b->extent.rank - 1][b->size];
    const hr_argument wide[] = {hr_field_in(0), hr_field_out(1),
                                hr_value(&b->wide, sizeof b->wide)};
    const hr_argument near[] = {b->here ? hr_field_here(1) : hr_field_in(1),
                                hr_field_out(0),
                                hr_value(&b->near, sizeof b->near)};
    hr_phase phases[1 + BOXES];
    phases[0] = hr_phase_of(kernel, wide, 3);
    for (int i = 0; i < BOXES; i++) {
        phases[1 + i] = hr_phase_of(kernel, near, 3);
        phases[1 + i].extent = b->box[i];
        memcpy(phases[1 + i].origin, b->origin[i], sizeof b->origin[i]);
    }
    for (int64_t n = 0; n < steps; n++) {
        grid_model_stir_all(&b->models[0], &b->models[1], &b->wide);
        for (int i = 0; i < BOXES; i++) {
            int64_t hi[3] = {1, 1, 1};
            for (uint32_t d = 0; d < b->extent.rank; d++) {
                hi[d] = b->origin[i][d] + b->box[i].size[d];
            }
            grid_model_stir(&b->models[1], &b->models[0], b->origin[i], hi,
                            &b->near);
        }
    }
    return hr_grid_step(b->grid, phases, 1 + BOXES, steps);
}

static void make_weights(bed *b, double *weights, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        weights[i] = any(b, 0, 4) == 0 ? 0.0 : (double)any(b, 1, 100);
    }
    weights[any(b, 0, count - 1)] = 50;
}

static void compare_fields(const bed *b, uint64_t seed, const char *when)
{
    for (uint32_t f = 0; f < 2; f++) {
        if (!CHECK(grid_model_agrees(&b->models[f], b->grid, f))) {
            fprintf(stderr, "  seed %llu, field %u of %zu bytes, %s\n",
                    (unsigned long long)seed, f, sizes[b->size], when);
        }
    }
}

static bool create_grid(bed *b)
{
    const uint32_t count = hr_accelerator_count(b->context);
    uint32_t list[MAX_BANDS];
    double weights[MAX_BANDS];
    hr_grid_options options = HR_GRID_OPTIONS_INIT;
    options.accelerators = list;
    options.accelerator_count = count;
    options.weights = weights;
    options.steps_per_exchange = (uint32_t)any(b, 0, 3);
    make_weights(b, weights, count);
    for (uint32_t i = 0; i < count; i++) {
        list[i] = count - 1 - i;
    }
    return CHECK(hr_grid_create(b->context, b->extent, b->fields, 2, &options,
                                &b->grid) == HR_OK) &&
           CHECK(grid_model_create(&b->models[0], b->extent, &b->fields[0])) &&
           CHECK(grid_model_create(&b->models[1], b->extent, &b->fields[1]));
}

static void destroy_grid(bed *b)
{
    grid_model_destroy(&b->models[0]);
    grid_model_destroy(&b->models[1]);
    hr_grid_destroy(b->grid);
}

static void scatter_fields(bed *b)
{
    const size_t count = (size_t)hr_extent_count(b->extent);
    unsigned char *data = malloc(count * sizes[b->size]);
    for (uint32_t f = 0; f < 2; f++) {
        grid_model_fill(&b->models[f], &b->random);
        grid_model_pack(&b->models[f], data);
        CHECK(hr_grid_scatter(b->grid, f, data) == HR_OK);
    }
    free(data);
}

static void run_grid(bed *b, uint64_t seed)
{
    double weights[MAX_BANDS];
    b->random.state = seed;
    b->grid = NULL;
    make_extent(b);
    make_fields(b);
    make_boxes(b);
    if (create_grid(b)) {
        scatter_fields(b);
        CHECK(step_grid(b, any(b, 1, 3)) == HR_OK);
        compare_fields(b, seed, "after steps");
        make_weights(b, weights, hr_accelerator_count(b->context));
        CHECK(hr_grid_rebalance(b->grid, weights) == HR_OK);
        CHECK(step_grid(b, 2) == HR_OK);
        compare_fields(b, seed, "after a move and steps");
        scatter_fields(b); /* what is the user's stays */
        CHECK(step_grid(b, 1) == HR_OK);
        compare_fields(b, seed, "after new values and a step");
    }
    destroy_grid(b);
}

/* ---- one boundary on all sides, extents below and above the halo */

static void make_uniform(bed *b, hr_boundary rule, int64_t halo)
{
    random_fill_bytes(&b->random, b->values[0][0][0], MAX_BYTES);
    b->here = false;
    b->near = (reach){.place = {3, 5, 7}};
    for (int f = 0; f < 2; f++) {
        b->fields[f] = hr_field_of(
            sizes[b->size], halo, rule,
            rule == HR_BOUNDARY_CONSTANT ? b->values[0][0][0] : NULL);
    }
    for (uint32_t d = 0; d < b->extent.rank; d++) {
        b->near.before[d] = b->near.after[d] = 1;
    }
    b->wide = grid_model_reach(&b->fields[0], b->extent.rank);
    make_boxes(b);
}

static void run_uniform(bed *b, hr_boundary rule, uint32_t rank, int64_t size,
                        int64_t halo)
{
    b->random.state = (uint64_t)((int64_t)rule * 1000 + size * 10 + halo);
    b->grid = NULL;
    b->extent = (hr_extent){.rank = rank};
    for (uint32_t d = 0; d < rank; d++) {
        b->extent.size[d] = size;
    }
    b->size = (int)((size + halo) % SIZES);
    make_uniform(b, rule, halo);
    if (create_grid(b)) {
        scatter_fields(b);
        CHECK(step_grid(b, 2) == HR_OK);
        compare_fields(b, b->random.state, "of one boundary");
    }
    destroy_grid(b);
}

static void run_all_uniform(bed *b)
{
    static const hr_boundary rules[] = {HR_BOUNDARY_CONSTANT, HR_BOUNDARY_CLAMP,
                                        HR_BOUNDARY_MIRROR,
                                        HR_BOUNDARY_PERIODIC};
    static const int64_t extents[] = {1, 2, 5, 13};
    static const int64_t halos[] = {1, 3, 9}; /* 18 ends of a row are many */
    for (size_t n = 0; n < 4 * 4 * 3 * 3; n++) {
        const uint32_t rank = (uint32_t)(n / 48 + 1);
        const int64_t halo = halos[n / 16 % 3];
        if (rank < 3 || halo < 9) {
            run_uniform(b, rules[n % 4], rank, extents[n / 4 % 4], halo);
        }
    }
}

int main(int argc, char **argv)
{
    hr_context_options options = HR_CONTEXT_OPTIONS_INIT;
    static bed b;
    options.accelerators = argc > 1 ? argv[1] : "3xhost";
    if (!test_open(&options, &b.context)) {
        return test_end();
    }
    uint64_t seed = 1, last = argc > 2 ? strtoull(argv[2], NULL, 10) : 50;
    if (test_seed(&seed)) {
        last = seed;
    }
    TEST_CASE("the same boundary on all sides");
    run_all_uniform(&b);
    TEST_CASE("random grids of cells");
    for (; seed <= last; seed++) {
        TEST(run_grid(&b, seed));
    }
    hr_context_destroy(b.context);
    return test_end();
}
