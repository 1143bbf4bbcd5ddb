/* SPDX-License-Identifier: MIT */
/* The kernels of bench/kernels/stencil.c on the accelerators of argv[1]: each
 * way to step leaves the same bits, which are those of plain C. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <headrace/headrace.h>

#include "support/random.h"
#include "test.h"

extern const hr_kernel jacobi, jacobi2, jacobi4, jacobi8, heat7, fdtd, fdtd_h,
    fdtd_e;

enum { TIMES = 16, MAX_CELLS = 40000, MAX_FIELDS = 6 };

static const float edge = 0.25f, rate = 0.1f, courant = 0.5f;

/* Some phases of kernels of ours, and how they run. */
typedef struct form {
    const char *name;
    const hr_kernel *kernel;
    int times; /* steps that one of the grid stands for */
    int64_t tile[3], step[3];
} form;

static const form planes[] = {
    {"a row", &jacobi, 1, {0}, {1, 1}},
    {"16 rows", &jacobi, 1, {1, 256}, {16, 1}},
    {"11 rows, some tiles", &jacobi, 1, {2, 8}, {11, 1}},
    {"2 at once", &jacobi2, 2, {1, 256}, {64, 1}},
    {"2 at once, small tiles", &jacobi2, 2, {1, 4}, {3, 1}},
    {"4 at once", &jacobi4, 4, {1, 128}, {128, 1}},
    {"4 at once, small tiles", &jacobi4, 4, {1, 9}, {1, 1}},
    {"8 at once", &jacobi8, 8, {1, 128}, {256, 1}},
    {"8 at once, small tiles", &jacobi8, 8, {1, 17}, {5, 1}},
};

static const form spaces[] = {
    {"a cell", &heat7, 1, {0}, {1, 1, 1}},
    {"16 slices of 4 rows", &heat7, 1, {1, 2, 64}, {16, 4, 1}},
    {"3 slices of 4 rows", &heat7, 1, {1, 1, 8}, {3, 4, 1}},
    {"5 slices", &heat7, 1, {1, 4, 8}, {5, 1, 1}},
};

static const form wave_forms[] = {
    {"waves, a cell", &fdtd, 1, {0}, {1, 1}},
    {"waves, 16 rows", &fdtd, 1, {1, 256}, {16, 1}},
    {"waves, 7 rows, some tiles", &fdtd, 1, {2, 8}, {7, 1}},
    {"waves in place", &fdtd_h, 1, {0}, {1, 1}},
};

static const int64_t extents[][3] = {{1, 1, 1},    {2, 5, 3},     {7, 301, 0},
                                     {61, 67, 0},  {131, 259, 0}, {33, 18, 35},
                                     {16, 4, 128}, {17, 5, 129}};

typedef struct bed {
    hr_context *context;
    hr_extent extent;
    int64_t cells;
    float *start, *want, *next, *first, *seen;
} bed;

/* ---- plain C */

static float cell_of(const bed *b, const float *field, int64_t i, int64_t j,
                     int64_t k)
{
    const int64_t at[] = {i, j, k};
    int64_t number = 0;
    for (uint32_t d = 0; d < b->extent.rank; d++) {
        if (at[d] < 0 || at[d] >= b->extent.size[d]) {
            return edge;
        }
        number = number * b->extent.size[d] + at[d];
    }
    return field[number];
}

static float jacobi_of(const bed *b, const float *f, int64_t i, int64_t j)
{
    return 0.25f * (cell_of(b, f, i - 1, j, 0) + cell_of(b, f, i + 1, j, 0) +
                    cell_of(b, f, i, j - 1, 0) + cell_of(b, f, i, j + 1, 0));
}

static float heat_of(const bed *b, const float *f, int64_t i, int64_t j,
                     int64_t k)
{
    const float mid = cell_of(b, f, i, j, k);
    return mid +
           rate * (cell_of(b, f, i - 1, j, k) + cell_of(b, f, i + 1, j, k) +
                   (cell_of(b, f, i, j - 1, k) + cell_of(b, f, i, j + 1, k) +
                    cell_of(b, f, i, j, k - 1) + cell_of(b, f, i, j, k + 1)) -
                   6.0f * mid);
}

static void step_plainly(bed *b)
{
    const int64_t cols = b->extent.size[1];
    const int64_t depth = b->extent.rank == 3 ? b->extent.size[2] : 1;
    for (int64_t n = 0; n < b->cells; n++) {
        const int64_t i = n / depth / cols, j = n / depth % cols, k = n % depth;
        b->next[n] = b->extent.rank == 2 ? jacobi_of(b, b->want, i, j)
                                         : heat_of(b, b->want, i, j, k);
    }
    float *old = b->want;
    b->want = b->next;
    b->next = old;
}

/* ---- grids */

static hr_phase phase_of(const form *f, uint32_t rank,
                         const hr_argument *arguments, size_t count)
{
    hr_phase phase = hr_phase_of(f->kernel, arguments, count);
    phase.tile.rank = f->tile[0] > 0 ? rank : 0;
    memcpy(phase.tile.size, f->tile, sizeof f->tile);
    memcpy(phase.step, f->step, sizeof f->step);
    return phase;
}

/* TIMES steps of one form, to b->seen. */
static void step_form(const bed *b, const form *f)
{
    const hr_field field =
        hr_field_of(sizeof(float), f->times, HR_BOUNDARY_CONSTANT, &edge);
    const hr_field fields[] = {field, field};
    const hr_argument arguments[] = {hr_field_in(0), hr_field_out(1),
                                     hr_value(&rate, sizeof rate)};
    const hr_phase phases[] = {
        phase_of(f, b->extent.rank, arguments, f->kernel->parameter_count),
        hr_phase_swap(0, 1)};
    hr_grid *grid = NULL;
    CHECK(hr_grid_create(b->context, b->extent, fields, 2, NULL, &grid) ==
          HR_OK);
    CHECK(hr_grid_scatter(grid, 0, b->start) == HR_OK);
    CHECK(hr_grid_step(grid, phases, 2, TIMES / f->times) == HR_OK);
    CHECK(hr_grid_gather(grid, 0, b->seen) == HR_OK);
    hr_grid_destroy(grid);
}

static bool is_near(const bed *b, float most)
{
    bool near = true;
    for (int64_t n = 0; n < b->cells; n++) {
        near = near && fabsf(b->seen[n] - b->want[n]) <= most;
    }
    return near;
}

static void start_field(bed *b, const int64_t *extent, uint64_t seed)
{
    random_source random = {.state = seed};
    b->extent = extent[2] > 0 ? hr_extent3(extent[0], extent[1], extent[2])
                              : hr_extent2(extent[0], extent[1]);
    b->cells = hr_extent_count(b->extent);
    for (int64_t n = 0; n < b->cells; n++) {
        b->start[n] = (float)random_between(&random, -1000, 1000) * 0.001f;
    }
    memcpy(b->want, b->start, (size_t)b->cells * sizeof *b->want);
    for (int n = 0; n < TIMES; n++) {
        step_plainly(b);
    }
}

/* All forms have the bits of the first one, and are near what is wanted. */
static void check_seen(bed *b, bool first, float most)
{
    const size_t bytes = (size_t)b->cells * sizeof *b->seen;
    if (first) {
        memcpy(b->first, b->seen, bytes);
    }
    if (!CHECK(memcmp(b->first, b->seen, bytes) == 0) ||
        !CHECK(is_near(b, most))) {
        fprintf(stderr, "  %lld x %lld x %lld of rank %u\n",
                (long long)b->extent.size[0], (long long)b->extent.size[1],
                (long long)b->extent.size[2], b->extent.rank);
    }
}

/* Compilers may or may not round a product and a sum at once. Values go up to
 * 1. A step of heat has 10 operations with results below 8, and no step makes a
 * difference larger. */
static void compare_forms(bed *b, const form *forms, size_t count)
{
    const float most =
        b->extent.rank == 2 ? 0.0f : TIMES * 10 * 4 * FLT_EPSILON;
    const size_t bytes = (size_t)b->cells * sizeof *b->seen;
    for (size_t f = 0; f < count; f++) {
        TEST_CASE(forms[f].name);
        memset(b->seen, 0xee, bytes);
        step_form(b, &forms[f]);
        check_seen(b, f == 0, most);
    }
}

/* ---- fields that follow each other */

static void wave_plainly(const bed *b, float *ez, float *hx, float *hy)
{
    const int64_t rows = b->extent.size[0], cols = b->extent.size[1];
    for (int64_t n = 0; n < b->cells; n++) {
        const float right = n % cols + 1 < cols ? ez[n + 1] : 0.0f;
        const float below = n / cols + 1 < rows ? ez[n + cols] : 0.0f;
        hx[n] -= courant * (right - ez[n]);
        hy[n] += courant * (below - ez[n]);
    }
    for (int64_t n = 0; n < b->cells; n++) {
        const float above = n >= cols ? hy[n - cols] : 0.0f;
        const float left = n % cols > 0 ? hx[n - 1] : 0.0f;
        ez[n] += courant * (hy[n] - above - (hx[n] - left));
    }
}

static hr_status step_waves(hr_grid *grid, const form *f)
{
    const hr_argument number = hr_value(&courant, sizeof courant);
    const hr_argument arguments[] = {
        hr_field_in(0),  hr_field_in(1),  hr_field_in(2), hr_field_out(3),
        hr_field_out(4), hr_field_out(5), number};
    const hr_phase phases[] = {phase_of(f, 2, arguments, 7),
                               hr_phase_swap(0, 3), hr_phase_swap(1, 4),
                               hr_phase_swap(2, 5)};
    return hr_grid_step(grid, phases, 4, TIMES);
}

static hr_status step_waves_in_place(hr_grid *grid)
{
    const hr_argument number = hr_value(&courant, sizeof courant);
    const hr_argument magnetic[] = {hr_field_in(0), hr_field_inout(1),
                                    hr_field_inout(2), number};
    const hr_argument electric[] = {hr_field_in(1), hr_field_in(2),
                                    hr_field_inout(0), number};
    const hr_phase phases[] = {hr_phase_of(&fdtd_h, magnetic, 4),
                               hr_phase_of(&fdtd_e, electric, 4)};
    return hr_grid_step(grid, phases, 2, TIMES);
}

/* TIMES steps of one form, with ez to b->seen. */
static void step_form_of_waves(const bed *b, const form *f)
{
    const hr_field field =
        hr_field_of(sizeof(float), 1, HR_BOUNDARY_CONSTANT, NULL);
    const hr_field fields[] = {field, field, field, field, field, field};
    const bool in_place = f->kernel == &fdtd_h;
    hr_grid *grid = NULL;
    CHECK(hr_grid_create(b->context, b->extent, fields,
                         in_place ? 3 : MAX_FIELDS, NULL, &grid) == HR_OK);
    CHECK(hr_grid_scatter(grid, 0, b->start) == HR_OK);
    CHECK((in_place ? step_waves_in_place(grid) : step_waves(grid, f)) ==
          HR_OK);
    CHECK(hr_grid_gather(grid, 0, b->seen) == HR_OK);
    hr_grid_destroy(grid);
}

/* Waves keep their energy, so values stay below 8 and 8 operations a step round
 * by less than 4 FLT_EPSILON each. */
static void waves_keep_energy(bed *b)
{
    const float most = TIMES * 8 * 4 * FLT_EPSILON;
    const size_t bytes = (size_t)b->cells * sizeof *b->seen;
    float *hx = calloc(MAX_CELLS, sizeof *hx);
    float *hy = calloc(MAX_CELLS, sizeof *hy);
    if (hx != NULL && hy != NULL) {
        memcpy(b->want, b->start, bytes);
        for (int n = 0; n < TIMES; n++) {
            wave_plainly(b, b->want, hx, hy);
        }
        for (size_t f = 0; f < sizeof wave_forms / sizeof *wave_forms; f++) {
            TEST_CASE(wave_forms[f].name);
            memset(b->seen, 0xee, bytes);
            step_form_of_waves(b, &wave_forms[f]);
            check_seen(b, f == 0, most);
        }
    }
    free(hx);
    free(hy);
}

static void run_cases(bed *b)
{
    for (size_t e = 0; e < sizeof extents / sizeof extents[0]; e++) {
        start_field(b, extents[e], e + 1);
        if (b->extent.rank == 3) {
            compare_forms(b, spaces, sizeof spaces / sizeof spaces[0]);
        } else {
            compare_forms(b, planes, sizeof planes / sizeof planes[0]);
            waves_keep_energy(b);
        }
    }
}

int main(int argc, char **argv)
{
    bed b = {0};
    hr_context_options options = HR_CONTEXT_OPTIONS_INIT;
    options.accelerators = argc > 1 ? argv[1] : "host";
    if (!test_open(&options, &b.context)) {
        return test_end();
    }
    float **fields[] = {&b.start, &b.want, &b.next, &b.first, &b.seen};
    bool all = true;
    for (int i = 0; i < 5; i++) {
        *fields[i] = calloc(MAX_CELLS, sizeof(float));
        all = all && *fields[i] != NULL;
    }
    if (CHECK(all)) {
        TEST(run_cases(&b));
    }
    for (int i = 0; i < 5; i++) {
        free(*fields[i]);
    }
    hr_context_destroy(b.context);
    return test_end();
}
