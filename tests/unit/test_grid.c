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
    uint32_t *model[FIELDS], *seen;
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

static const hr_side *side_of(const bed *b, int f, uint32_t d, int64_t at)
{
    return at < 0 ? &b->fields[f].before[d] : &b->fields[f].after[d];
}

static int64_t inside(const hr_side *side, int64_t at, int64_t n)
{
    switch (side->boundary) {
    case HR_BOUNDARY_CLAMP:
        return at < 0 ? 0 : n - 1;
    case HR_BOUNDARY_PERIODIC:
        return (at % n + n) % n;
    case HR_BOUNDARY_MIRROR:
        at = (at % (2 * n) + 2 * n) % (2 * n);
        return at < n ? at : 2 * n - 1 - at;
    default:
        return at;
    }
}

static uint32_t cell(const bed *b, int f, const int64_t *at)
{
    int64_t number = 0;
    for (uint32_t d = 0; d < b->extent.rank; d++) { /* a constant comes first */
        const hr_side *s = side_of(b, f, d, at[d]);
        if ((at[d] < 0 || at[d] >= b->extent.size[d]) &&
            s->boundary == HR_BOUNDARY_CONSTANT) {
            return s->value != NULL ? *(const uint32_t *)s->value : 0;
        }
    }
    for (uint32_t d = 0; d < b->extent.rank; d++) {
        const int64_t n = b->extent.size[d];
        const int64_t x = at[d] >= 0 && at[d] < n
                              ? at[d]
                              : inside(side_of(b, f, d, at[d]), at[d], n);
        number = number * n + x;
    }
    return b->model[f][number];
}

static uint32_t mixed(uint32_t sum, uint32_t value)
{
    return (sum ^ value) * 16777619u + 7u;
}

static uint32_t mix_at(const bed *b, int f, const int64_t *at)
{
    const reach *r = &b->reach[f];
    uint32_t sum = 0;
    int64_t x[3];
    for (uint32_t d = 0; d < 3; d++) {
        sum += (uint32_t)(at[d] * r->place[d]);
    }
    for (x[0] = at[0] - r->before[0]; x[0] <= at[0] + r->after[0]; x[0]++) {
        for (x[1] = at[1] - r->before[1]; x[1] <= at[1] + r->after[1]; x[1]++) {
            for (x[2] = at[2] - r->before[2]; x[2] <= at[2] + r->after[2];
                 x[2]++) {
                sum = mixed(sum, cell(b, f, x));
            }
        }
    }
    return sum;
}

/* Mix field f into another, in a box. */
static void model_mix(const bed *b, int f, int to, const int64_t *lo,
                      const int64_t *hi)
{
    int64_t at[3];
    for (at[0] = lo[0]; at[0] < hi[0]; at[0]++) {
        for (at[1] = lo[1]; at[1] < hi[1]; at[1]++) {
            for (at[2] = lo[2]; at[2] < hi[2]; at[2]++) {
                int64_t number = 0;
                for (uint32_t d = 0; d < b->extent.rank; d++) {
                    number = number * b->extent.size[d] + at[d];
                }
                b->model[to][number] = mix_at(b, f, at);
            }
        }
    }
}

static void model_step(bed *b)
{
    const int64_t zero[3] = {0, 0, 0};
    int64_t size[3] = {1, 1, 1}, lo[3] = {0, 0, 0}, hi[3] = {1, 1, 1};
    for (uint32_t d = 0; d < b->extent.rank; d++) {
        size[d] = b->extent.size[d];
        lo[d] = b->origin[d];
        hi[d] = lo[d] + b->box.size[d];
    }
    model_mix(b, 0, 1, zero, size);
    uint32_t *old = b->model[0];
    b->model[0] = b->model[1];
    b->model[1] = old;
    for (int64_t i = 0; i < b->cells; i++) {
        b->model[2][i] = mixed(b->model[2][i], b->model[0][i]);
    }
    model_mix(b, 2, 0, lo, hi);
}

/* ---- the grid */

static hr_status step(bed *b, int64_t steps)
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
        b->reach[f] = (reach){.place = {3, 5, 7}};
        for (uint32_t d = 0; d < b->extent.rank; d++) {
            const int halo = b->wide >= 0 ? (int)d == b->wide ? 60 : 1
                             : d == 0 && any(b, 0, 9) == 0
                                 ? 20
                                 : most[b->extent.rank - 1];
            b->fields[f].before[d] = make_side(b, &b->values[f][0][d], halo);
            b->fields[f].after[d] = make_side(b, &b->values[f][1][d], halo);
            b->reach[f].before[d] = (int)b->fields[f].before[d].halo;
            b->reach[f].after[d] = (int)b->fields[f].after[d].halo;
        }
    }
    b->fields[1] = b->fields[0];
    b->reach[1] = b->reach[0];
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

static void compare(bed *b, const char *when)
{
    for (uint32_t f = 0; f < FIELDS; f++) {
        if (f == 1) { /* what it holds is of no use */
            continue;
        }
        memset(b->seen, 0xee, (size_t)b->cells * sizeof *b->seen);
        CHECK(hr_grid_gather(b->grid, f, b->seen) == HR_OK);
        if (!CHECK(memcmp(b->seen, b->model[f],
                          (size_t)b->cells * sizeof *b->seen) == 0)) {
            fprintf(stderr,
                    "  seed %llu, field %u, %s: %lld x %lld x %lld, rank %u\n",
                    (unsigned long long)b->seed, f, when,
                    (long long)b->extent.size[0], (long long)b->extent.size[1],
                    (long long)b->extent.size[2], b->extent.rank);
        }
    }
}

/* A section is written and read while the grid steps. */
static void sections(bed *b)
{
    hr_array *array = NULL;
    const int64_t count = hr_extent_count(b->box);
    for (int64_t i = 0; i < count; i++) {
        b->seen[i] = (uint32_t)random_next(&b->random);
    }
    CHECK(hr_array_wrap(b->context, b->seen, sizeof *b->seen, b->box, 0,
                        &array) == HR_OK);
    CHECK(hr_grid_write(b->grid, 2, b->origin, hr_view_of(array)) == HR_OK);
    for (int64_t i = 0; i < count; i++) {
        int64_t number = 0, rest = i, at[3];
        for (uint32_t d = b->box.rank; d-- > 0;) {
            at[d] = b->origin[d] + rest % b->box.size[d];
            rest /= b->box.size[d];
        }
        for (uint32_t d = 0; d < b->box.rank; d++) {
            number = number * b->extent.size[d] + at[d];
        }
        b->model[2][number] = b->seen[i];
    }
    CHECK(hr_grid_finish(b->grid) == HR_OK);
    hr_array_destroy(array);
    CHECK(step(b, 1) == HR_OK);
    model_step(b);
}

static void run(bed *b, uint64_t seed)
{
    const uint32_t accelerators = hr_accelerator_count(b->context);
    uint32_t list[MAX_BANDS];
    double weights[MAX_BANDS];
    hr_grid_options options = HR_GRID_OPTIONS_INIT;
    b->seed = seed;
    b->random.state = seed;
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
    for (int f = 0; f < FIELDS; f++) {
        for (int64_t i = 0; i < b->cells; i++) {
            b->model[f][i] = (uint32_t)random_next(&b->random);
        }
    }
    b->grid = NULL;
    if (!CHECK(hr_grid_create(b->context, b->extent, b->fields, FIELDS,
                              &options, &b->grid) == HR_OK)) {
        return;
    }
    for (uint32_t f = 0; f < FIELDS; f++) {
        CHECK(hr_grid_scatter(b->grid, f, b->model[f]) == HR_OK);
    }
    const int64_t steps = any(b, 0, 9) > 0 ? any(b, 1, 5) : any(b, 34, 70);
    CHECK(step(b, steps) == HR_OK);
    for (int64_t i = 0; i < steps; i++) {
        model_step(b);
    }
    compare(b, "after steps");
    make_weights(b, weights, accelerators);
    CHECK(hr_grid_rebalance(b->grid, weights) == HR_OK);
    compare(b, "after a move");
    CHECK(step(b, 2) == HR_OK);
    model_step(b);
    model_step(b);
    sections(b);
    compare(b, "after a section");
    hr_grid_destroy(b->grid);
}

int main(int argc, char **argv)
{
    bed *b = calloc(1, sizeof *b);
    hr_context_options options = HR_CONTEXT_OPTIONS_INIT;
    options.accelerators = argc > 1 ? argv[1] : "host";
    hr_status status = hr_context_create(&options, &b->context);
    if (status != HR_OK) {
        free(b);
        return test_skip(hr_last_error());
    }
    uint64_t seed = 1, last = argc > 2 ? strtoull(argv[2], NULL, 10) : 200;
    if (test_seed(&seed)) {
        last = seed;
    }
    for (int f = 0; f < FIELDS; f++) {
        b->model[f] = calloc(MAX_CELLS, sizeof *b->model[f]);
    }
    b->seen = calloc(MAX_CELLS, sizeof *b->seen);
    TEST_CASE("random grids");
    for (; seed <= last; seed++) {
        TEST(run(b, seed));
    }
    for (int f = 0; f < FIELDS; f++) {
        free(b->model[f]);
    }
    free(b->seen);
    hr_context_destroy(b->context);
    free(b);
    return test_end();
}
