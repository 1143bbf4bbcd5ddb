/* SPDX-License-Identifier: MIT */
/* The lattice of bench/kernels/lbm.c on the accelerators of argv[1]: each
 * way to step leaves the bits of plain C, mass stays, and vortices decay as
 * theory says. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <headrace/headrace.h>

#include "bench/workloads/grid_lbm.h"
#include "support/random.h"
#include "test.h"

extern const hr_kernel lbm;

enum { Q = BENCH_DIRECTIONS, STEPS = 7, MAX_VALUES = 2 * 32 * 32 * Q };

static const float rate = 1.25f;

static const int64_t tiles[][3] = {{0}, {1, 1, 128}, {1, 2, 8}, {2, 1, 5}};

static const int64_t extents[][3] = {
    {1, 1, 1}, {2, 1, 3}, {5, 4, 33}, {17, 3, 7}, {3, 9, 20}};

typedef struct bed {
    hr_context *context;
    hr_extent cells;
    int64_t count; /* of populations */
    float *start, *want, *next, *seen;
} bed;

/* Step the populations of b->start, to b->seen. */
static void step_grid(const bed *b, const int64_t *tile, int64_t steps)
{
    hr_field field = hr_field_of(sizeof(float), 0, HR_BOUNDARY_PERIODIC, NULL);
    hr_extent extent = b->cells;
    extent.size[1] *= Q;
    field.before[0].halo = field.after[0].halo = 1;
    const hr_field fields[] = {field, field};
    const hr_argument arguments[] = {hr_field_in(0), hr_field_out(1),
                                     hr_value(&rate, sizeof rate)};
    hr_phase phases[] = {hr_phase_of(&lbm, arguments, 3), hr_phase_swap(0, 1)};
    phases[0].step[1] = Q;
    phases[0].tile.rank = tile[0] > 0 ? 3 : 0;
    memcpy(phases[0].tile.size, tile, sizeof tiles[0]);
    hr_grid *grid = NULL;
    CHECK(hr_grid_create(b->context, extent, fields, 2, NULL, &grid) == HR_OK);
    CHECK(hr_grid_scatter(grid, 0, b->start) == HR_OK);
    CHECK(hr_grid_step(grid, phases, 2, steps) == HR_OK);
    CHECK(hr_grid_gather(grid, 0, b->seen) == HR_OK);
    hr_grid_destroy(grid);
}

static double sum_values(const bed *b, const float *values)
{
    double total = 0.0;
    for (int64_t n = 0; n < b->count; n++) {
        total += values[n];
    }
    return total;
}

static void set_cells(bed *b, hr_extent cells)
{
    b->cells = cells;
    b->count = hr_extent_count(cells) * Q;
}

/* ---- bits */

static void check_bits(bed *b, uint64_t seed)
{
    random_source random = {.state = seed};
    const size_t bytes = (size_t)b->count * sizeof(float);
    for (int64_t n = 0; n < b->count; n++) {
        b->start[n] = (float)random_between(&random, 900, 1100) / 19000.0f;
    }
    memcpy(b->want, b->start, bytes);
    for (int n = 0; n < STEPS; n++) {
        bench_lbm_step(b->cells, rate, b->want, b->next);
        float *old = b->want;
        b->want = b->next;
        b->next = old;
    }
    for (size_t t = 0; t < sizeof tiles / sizeof tiles[0]; t++) {
        memset(b->seen, 0xee, bytes);
        step_grid(b, tiles[t], STEPS);
        if (!CHECK(memcmp(b->seen, b->want, bytes) == 0)) {
            fprintf(stderr, "  %lld x %lld x %lld, tile %zu\n",
                    (long long)b->cells.size[0], (long long)b->cells.size[1],
                    (long long)b->cells.size[2], t);
        }
    }
}

/* ---- vortices of Taylor and Green: in the plane of dimensions p and q the
 * velocity is (sin x cos y, -cos x sin y), and half of its square decays as
 * exp(-4 nu k^2 t) */

typedef struct plane {
    uint32_t p, q;
} plane;

static float *population_of(const bed *b, float *values, const int64_t *cell,
                            int q)
{
    const int64_t *n = b->cells.size;
    return &values[((cell[0] * n[1] + cell[1]) * Q + q) * n[2] + cell[2]];
}

static void find_cell(const bed *b, int64_t number, int64_t *cell)
{
    const int64_t *n = b->cells.size;
    cell[0] = number / n[2] / n[1];
    cell[1] = number / n[2] % n[1];
    cell[2] = number % n[2];
}

/* Start at the equilibrium of the vortices' velocity. */
static void start_vortices(const bed *b, plane in, double speed, double k)
{
    for (int64_t number = 0; number < hr_extent_count(b->cells); number++) {
        int64_t cell[3];
        double u[3] = {0.0, 0.0, 0.0};
        find_cell(b, number, cell);
        const double x = k * (double)cell[in.p];
        const double y = k * (double)cell[in.q];
        u[in.p] = speed * sin(x) * cos(y);
        u[in.q] = -speed * cos(x) * sin(y);
        const double square = u[0] * u[0] + u[1] * u[1] + u[2] * u[2];
        const double rho =
            1.0 + 0.75 * speed * speed * (cos(2.0 * x) + cos(2.0 * y));
        for (int q = 0; q < Q; q++) {
            const int *move = bench_lbm_moves[q];
            const double along =
                move[0] * u[0] + move[1] * u[1] + move[2] * u[2];
            *population_of(b, b->start, cell, q) =
                (float)((double)bench_lbm_weight(q) * rho *
                        (1.0 + 3.0 * along + 4.5 * along * along -
                         1.5 * square));
        }
    }
}

static double energy_of(const bed *b, float *values)
{
    double total = 0.0;
    for (int64_t number = 0; number < hr_extent_count(b->cells); number++) {
        int64_t cell[3];
        double rho = 0.0, momentum[3] = {0.0, 0.0, 0.0};
        find_cell(b, number, cell);
        for (int q = 0; q < Q; q++) {
            const double f = *population_of(b, values, cell, q);
            rho += f;
            for (int d = 0; d < 3; d++) {
                momentum[d] += bench_lbm_moves[q][d] * f;
            }
        }
        for (int d = 0; d < 3; d++) {
            total += momentum[d] * momentum[d] / rho / 2.0;
        }
    }
    return total;
}

/* How far the decay in n x n cells is from theory, relative to it. */
static double decay_error(bed *b, plane in, int64_t n)
{
    const double k = 2.0 * acos(-1.0) / (double)n;
    const double viscosity = (1.0 / (double)rate - 0.5) / 3.0;
    const int64_t steps = n * n / 8;
    hr_extent cells = hr_extent3(2, 2, 2);
    cells.size[in.p] = cells.size[in.q] = n;
    set_cells(b, cells);
    start_vortices(b, in, 0.64 / (double)n, k);
    const double before = energy_of(b, b->start),
                 mass = sum_values(b, b->start);
    step_grid(b, tiles[0], steps);
    /* each population is rounded some times in a step */
    CHECK(fabs(sum_values(b, b->seen) - mass) <
          mass * (double)steps * 4.0 * (double)FLT_EPSILON);
    const double seen = log(before / energy_of(b, b->seen));
    return fabs(seen / (4.0 * viscosity * k * k * (double)steps) - 1.0);
}

/* The method is of second order, so twice the cells leave a quarter of the
 * error. */
static void vortices_decay(bed *b)
{
    static const plane planes[] = {{1, 2}, {0, 2}, {0, 1}};
    for (size_t i = 0; i < sizeof planes / sizeof planes[0]; i++) {
        const double coarse = decay_error(b, planes[i], 16);
        const double fine = decay_error(b, planes[i], 32);
        CHECK(fine < 0.01);
        CHECK(fine < coarse * 0.3);
    }
}

static void run_cases(bed *b)
{
    for (size_t e = 0; e < sizeof extents / sizeof extents[0]; e++) {
        const int64_t *n = extents[e];
        set_cells(b, hr_extent3(n[0], n[1], n[2]));
        check_bits(b, e + 1);
    }
    vortices_decay(b);
}

int main(int argc, char **argv)
{
    bed b = {0};
    hr_context_options options = HR_CONTEXT_OPTIONS_INIT;
    options.accelerators = argc > 1 ? argv[1] : "host";
    if (!test_open(&options, &b.context)) {
        return test_end();
    }
    float **fields[] = {&b.start, &b.want, &b.next, &b.seen};
    bool all = true;
    for (int i = 0; i < 4; i++) {
        *fields[i] = calloc(MAX_VALUES, sizeof(float));
        all = all && *fields[i] != NULL;
    }
    if (CHECK(all)) {
        TEST(run_cases(&b));
    }
    for (int i = 0; i < 4; i++) {
        free(*fields[i]);
    }
    hr_context_destroy(b.context);
    return test_end();
}
