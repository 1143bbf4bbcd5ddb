/* SPDX-License-Identifier: MIT */
/* The workloads of headrace bench grid: grids that step them, and the same in
 * plain C on a small grid. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "base/status.h"
#include "bench/workloads/grid.h"
#include "bench/workloads/grid_lbm.h"
#include "console/context.h"
#include "console/output.h"
#include "console/random.h"

extern const hr_kernel jacobi, jacobi2, jacobi4, jacobi8, heat7, fdtd, fdtd_h,
    fdtd_e, lbm;

/* Arguments of the kernels, and the value beyond the ends. */
static const float heat_rate = 0.1f, courant = 0.5f, relaxation = 1.25f,
                   grid_edge = 0.25f;

/* The tiles and steps that were the fastest where measured. Items of GPUs go
 * down columns, those of the host go along rows. Items of the lattice have all
 * directions of a cell. */
static const bench_grid_form single = {.tile = {0}};
static const bench_grid_form halves = {.in_place = true};
static const bench_grid_form columns = {.tile = {1, 256}, .step = {32, 1}};
static const bench_grid_form quads = {.tile = {1, 128}, .step = {4, 1}};
static const bench_grid_form lines = {.tile = {1, 2, 64}, .step = {16, 4, 1}};
static const bench_grid_form blocks = {.tile = {1, 128}, .step = {128, 1}};
static const bench_grid_form long_blocks = {.tile = {1, 128}, .step = {256, 1}};
static const bench_grid_form wide_blocks = {.tile = {1, 256}, .step = {64, 1}};
static const bench_grid_form populations = {.tile = {1, 1, 128},
                                            .step = {1, BENCH_DIRECTIONS, 1}};
static const bench_grid_form host_populations = {
    .step = {1, BENCH_DIRECTIONS, 1}};

static const bench_workload workloads[] = {
    {"jacobi", BENCH_LAPLACE, 2, 1, 1, 1, HR_BOUNDARY_CONSTANT, &columns,
     &single, 16384, 2048},
    {"jacobi2", BENCH_LAPLACE, 2, 1, 2, 1, HR_BOUNDARY_CONSTANT, &blocks,
     &wide_blocks, 16384, 2048},
    {"jacobi4", BENCH_LAPLACE, 2, 1, 4, 1, HR_BOUNDARY_CONSTANT, &blocks,
     &wide_blocks, 16384, 2048},
    {"jacobi8", BENCH_LAPLACE, 2, 1, 8, 1, HR_BOUNDARY_CONSTANT, &long_blocks,
     &wide_blocks, 16384, 2048},
    {"heat", BENCH_HEAT, 3, 1, 1, 1, HR_BOUNDARY_CONSTANT, &lines, &single,
     1024, 256},
    {"heat-clamp", BENCH_HEAT, 3, 1, 1, 1, HR_BOUNDARY_CLAMP, &lines, &single,
     1024, 256},
    {"heat-mirror", BENCH_HEAT, 3, 1, 1, 1, HR_BOUNDARY_MIRROR, &lines, &single,
     1024, 256},
    {"heat-periodic", BENCH_HEAT, 3, 1, 1, 1, HR_BOUNDARY_PERIODIC, &lines,
     &single, 1024, 256},
    {"fdtd", BENCH_MAXWELL, 2, 3, 1, 1, HR_BOUNDARY_CONSTANT, &quads, &halves,
     16384, 2048},
    {"lbm", BENCH_BOLTZMANN, 3, 1, 1, BENCH_DIRECTIONS, HR_BOUNDARY_PERIODIC,
     &populations, &host_populations, 640, 128},
};

const bench_workloads bench_default_workloads = {
    {&workloads[0], &workloads[3], &workloads[4], &workloads[8], &workloads[9]},
    5};

static bool take_workload(const char *word, void *field)
{
    bench_workloads *list = field;
    for (size_t i = 0; i < sizeof workloads / sizeof workloads[0]; i++) {
        if (strcmp(workloads[i].name, word) == 0 &&
            list->count < BENCH_WORKLOADS_MAX) {
            list->list[list->count++] = &workloads[i];
            return true;
        }
    }
    return false;
}

const cli_kind bench_workload_list = {
    .take = take_workload,
    .wants = "a list of up to 8 of jacobi, jacobi2, jacobi4, jacobi8, heat, "
             "heat-clamp, heat-mirror, heat-periodic, fdtd and lbm",
    .list_bytes = sizeof(bench_workloads)};

hr_extent bench_grid_extent(const bench_workload *work, hr_extent extent)
{
    extent.size[1] *= work->parts;
    return extent;
}

/* Populations near those of a fluid at rest are stable. */
bool bench_grid_start(const bench_workload *work, float *values, int64_t count,
                      uint64_t seed)
{
    const hr_matrix all = hr_matrix_row_major(values, HR_F32, 1, count, 0);
    if (!cli_random_fill(all, seed, NULL)) {
        return false;
    }
    for (int64_t n = 0; n < count && work->equation == BENCH_BOLTZMANN; n++) {
        values[n] = (1.0f + 0.1f * values[n]) / BENCH_DIRECTIONS;
    }
    return true;
}

/* ---- fields and phases */

/* Fields have only the halos that kernels read, since more would be
 * exchanged. */
static void make_fields(const bench_workload *w, hr_field *fields)
{
    if (w->equation == BENCH_MAXWELL) {
        fields[0] = fields[1] = fields[2] =
            hr_field_of(sizeof(float), 0, HR_BOUNDARY_CONSTANT, NULL);
        for (int d = 0; d < HR_MAX_KERNEL_RANK; d++) { /* ez */
            fields[0].before[d].halo = fields[0].after[d].halo = 1;
        }
        fields[1].before[1].halo = 1; /* hx */
        fields[2].before[0].halo = 1; /* hy */
    } else if (w->equation == BENCH_BOLTZMANN) {
        fields[0] = hr_field_of(sizeof(float), 0, w->boundary, NULL);
        fields[0].before[0].halo = fields[0].after[0].halo = 1;
    } else {
        fields[0] = hr_field_of(sizeof(float), w->times, w->boundary,
                                w->boundary == HR_BOUNDARY_CONSTANT ? &grid_edge
                                                                    : NULL);
    }
    for (uint32_t f = 0; f < w->unknown; f++) {
        fields[w->unknown + f] = fields[f];
    }
}

static hr_phase phase_of(const bench_grids *g, const hr_kernel *kernel,
                         const hr_argument *arguments)
{
    hr_phase phase = hr_phase_of(kernel, arguments, kernel->parameter_count);
    phase.tile.rank = g->form->tile[0] > 0 ? g->work->rank : 0;
    memcpy(phase.tile.size, g->form->tile, sizeof g->form->tile);
    memcpy(phase.step, g->form->step, sizeof g->form->step);
    return phase;
}

static const hr_kernel *kernel_of(const bench_workload *w)
{
    static const hr_kernel *const jacobis[] = {
        [1] = &jacobi, [2] = &jacobi2, [4] = &jacobi4, [8] = &jacobi8};
    static const hr_kernel *const others[] = {[BENCH_HEAT] = &heat7,
                                              [BENCH_MAXWELL] = &fdtd,
                                              [BENCH_BOLTZMANN] = &lbm};
    return w->equation == BENCH_LAPLACE ? jacobis[w->times]
                                        : others[w->equation];
}

/* The number that the kernel takes, if it takes one. */
static const float *number_of(const bench_workload *w)
{
    static const float *const numbers[] = {[BENCH_LAPLACE] = &grid_edge,
                                           [BENCH_HEAT] = &heat_rate,
                                           [BENCH_MAXWELL] = &courant,
                                           [BENCH_BOLTZMANN] = &relaxation};
    return numbers[w->equation];
}

static hr_status step_in_place(const bench_grids *g, hr_grid *grid,
                               int64_t steps)
{
    const hr_argument number = hr_value(&courant, sizeof courant);
    const hr_argument magnetic[] = {hr_field_in(0), hr_field_inout(1),
                                    hr_field_inout(2), number};
    const hr_argument electric[] = {hr_field_in(1), hr_field_in(2),
                                    hr_field_inout(0), number};
    const hr_phase phases[] = {phase_of(g, &fdtd_h, magnetic),
                               phase_of(g, &fdtd_e, electric)};
    return hr_grid_step(grid, phases, 2, steps);
}

static hr_status step_grid(const bench_grids *g, hr_grid *grid, int64_t steps)
{
    enum { UNKNOWN_MAX = BENCH_GRID_FIELDS_MAX / 2 };
    const uint32_t unknown = g->work->unknown;
    hr_argument arguments[BENCH_GRID_FIELDS_MAX + 1];
    hr_phase phases[1 + UNKNOWN_MAX];
    if (g->form->in_place) {
        return step_in_place(g, grid, steps);
    }
    for (uint32_t f = 0; f < unknown; f++) {
        arguments[f] = hr_field_in(f);
        arguments[unknown + f] = hr_field_out(unknown + f);
        phases[1 + f] = hr_phase_swap(f, unknown + f);
    }
    arguments[2 * unknown] = hr_value(number_of(g->work), sizeof(float));
    phases[0] = phase_of(g, kernel_of(g->work), arguments);
    return hr_grid_step(grid, phases, 1 + unknown, steps);
}

/* ---- grids */

bool bench_grids_open(bench_grids *g, uint32_t count)
{
    g->count = count;
    g->grids = calloc(count, sizeof(hr_grid *));
    g->reducing = calloc(count, sizeof(hr_reducing *));
    return g->grids != NULL && g->reducing != NULL;
}

void bench_grids_close(bench_grids *g)
{
    for (uint32_t i = 0; i < g->count; i++) {
        if (g->reducing != NULL && g->reducing[i] != NULL &&
            hr_grid_reduced(g->reducing[i], NULL) != HR_OK) {
            g->residual = 0.0; /* a failure has been reported already */
        }
        if (g->grids != NULL) {
            hr_grid_destroy(g->grids[i]);
        }
    }
    free(g->grids);
    free(g->reducing);
    g->grids = NULL;
    g->reducing = NULL;
    g->count = 0;
}

/* Copy data into the unknown fields, repeating it. */
static hr_status load_fields(const bench_grids *g, hr_grid *grid, int64_t rows,
                             hr_array *data)
{
    const int64_t zero[HR_MAX_KERNEL_RANK] = {0, 0, 0};
    hr_extent block = hr_array_extent(data);
    hr_view from;
    for (int64_t first = 0; first < rows; first += block.size[0]) {
        const int64_t origin[HR_MAX_KERNEL_RANK] = {first, 0, 0};
        block.size[0] = hri_min(block.size[0], rows - first);
        HRI_TRY(hr_view_section(hr_view_of(data), zero, block, &from));
        for (uint32_t f = 0; f < g->work->unknown; f++) {
            HRI_TRY(hr_grid_write(grid, f, origin, from));
        }
    }
    return hr_grid_finish(grid);
}

hr_status bench_grids_make(bench_grids *g, uint32_t i, hr_context *context,
                           hr_extent cells, const hr_grid_options *options,
                           hr_array *data)
{
    const hr_extent extent = bench_grid_extent(g->work, cells);
    const uint32_t count = (g->form->in_place ? 1 : 2) * g->work->unknown;
    hr_field fields[BENCH_GRID_FIELDS_MAX];
    make_fields(g->work, fields);
    HRI_TRY(
        hr_grid_create(context, extent, fields, count, options, &g->grids[i]));
    return data != NULL ? load_fields(g, g->grids[i], extent.size[0], data)
                        : HR_OK;
}

/* ---- steps */

/* Take the residual that is under way. */
static hr_status collect_residual(bench_grids *g, uint32_t i)
{
    hr_reducing *reducing = g->reducing[i];
    g->reducing[i] = NULL;
    return reducing != NULL ? hr_grid_reduced(reducing, &g->residual) : HR_OK;
}

static hr_status start_residual(bench_grids *g, uint32_t i)
{
    hr_reducing *next = NULL;
    HRI_TRY(
        hr_grid_reduce(g->grids[i], HR_REDUCE_DISTANCE, HR_F32, 0, 1, &next));
    const hr_status status = collect_residual(g, i);
    g->reducing[i] = next;
    return status;
}

/* With several grids, so many steps of each are enqueued in a row. They are
 * few, so that the last grid soon has work. */
enum { IN_A_ROW = 8 };

hr_status bench_grids_advance(bench_grids *g, int64_t steps)
{
    for (int64_t done = 0; done < steps;) {
        int64_t now =
            g->count > 1 ? hri_min(IN_A_ROW, steps - done) : steps - done;
        now = g->period > 0 ? hri_min(now, g->period - done % g->period) : now;
        done += now;
        for (uint32_t i = 0; i < g->count; i++) {
            HRI_TRY(step_grid(g, g->grids[i], now));
        }
        if (g->period == 0 || done % g->period != 0) {
            continue;
        }
        for (uint32_t i = 0; i < g->count; i++) {
            HRI_TRY(start_residual(g, i));
        }
    }
    for (uint32_t i = 0; i < g->count; i++) {
        HRI_TRY(collect_residual(g, i));
        HRI_TRY(hr_grid_finish(g->grids[i]));
    }
    return HR_OK;
}

/* ---- the same in plain C */

/* TIMES time steps, for any workload. */
enum { TIMES = 16 };

typedef struct sample {
    hr_extent extent;
    hr_boundary boundary;
    int64_t cells; /* values of a field */
    float *start, *fields[BENCH_GRID_FIELDS_MAX], *seen;
} sample;

/* The index of the cell that gives its value to one right beside the ends. */
static int64_t inside(const sample *s, int64_t x, int64_t n)
{
    if (x >= 0 && x < n) {
        return x;
    }
    return s->boundary == HR_BOUNDARY_PERIODIC ? (x + n) % n
           : x < 0                             ? 0
                                               : n - 1;
}

static float cell_at(const sample *s, const float *field, int64_t i, int64_t j,
                     int64_t k)
{
    const int64_t index[] = {i, j, k};
    int64_t number = 0;
    for (uint32_t d = 0; d < s->extent.rank; d++) {
        const int64_t n = s->extent.size[d];
        if (s->boundary == HR_BOUNDARY_CONSTANT &&
            (index[d] < 0 || index[d] >= n)) {
            return grid_edge;
        }
        number = number * n + inside(s, index[d], n);
    }
    return field[number];
}

static float jacobi_of(const sample *s, const float *f, int64_t i, int64_t j)
{
    return 0.25f * (cell_at(s, f, i - 1, j, 0) + cell_at(s, f, i + 1, j, 0) +
                    cell_at(s, f, i, j - 1, 0) + cell_at(s, f, i, j + 1, 0));
}

static float heat_of(const sample *s, const float *f, int64_t i, int64_t j,
                     int64_t k)
{
    const float mid = cell_at(s, f, i, j, k);
    return mid +
           heat_rate *
               (cell_at(s, f, i - 1, j, k) + cell_at(s, f, i + 1, j, k) +
                (cell_at(s, f, i, j - 1, k) + cell_at(s, f, i, j + 1, k) +
                 cell_at(s, f, i, j, k - 1) + cell_at(s, f, i, j, k + 1)) -
                6.0f * mid);
}

static void swap_fields(sample *s)
{
    float *old = s->fields[0];
    s->fields[0] = s->fields[1];
    s->fields[1] = old;
}

static void step_stencil(sample *s)
{
    const int64_t cols = s->extent.size[1];
    const int64_t depth = s->extent.rank == 3 ? s->extent.size[2] : 1;
    const float *now = s->fields[0];
    for (int64_t n = 0; n < s->cells; n++) {
        const int64_t i = n / depth / cols, j = n / depth % cols, k = n % depth;
        s->fields[1][n] = s->extent.rank == 2 ? jacobi_of(s, now, i, j)
                                              : heat_of(s, now, i, j, k);
    }
    swap_fields(s);
}

static void step_wave(sample *s)
{
    const int64_t rows = s->extent.size[0], cols = s->extent.size[1];
    float *ez = s->fields[0], *hx = s->fields[1], *hy = s->fields[2];
    for (int64_t n = 0; n < s->cells; n++) {
        const float right = n % cols + 1 < cols ? ez[n + 1] : 0.0f;
        const float below = n / cols + 1 < rows ? ez[n + cols] : 0.0f;
        hx[n] -= courant * (right - ez[n]);
        hy[n] += courant * (below - ez[n]);
    }
    for (int64_t n = 0; n < s->cells; n++) {
        const float above = n >= cols ? hy[n - cols] : 0.0f;
        const float left = n % cols > 0 ? hx[n - 1] : 0.0f;
        ez[n] += courant * (hy[n] - above - (hx[n] - left));
    }
}

static void step_lbm(sample *s)
{
    bench_lbm_step(s->extent, relaxation, s->fields[0], s->fields[1]);
    swap_fields(s);
}

/* Write the cells of the first field to seen. */
static hr_status step_sample(hr_context *context, bench_grids *g,
                             const sample *s)
{
    HRI_TRY(bench_grids_make(g, 0, context, s->extent, NULL, NULL));
    for (uint32_t f = 0; f < g->work->unknown; f++) {
        HRI_TRY(hr_grid_scatter(g->grids[0], f, s->start));
    }
    HRI_TRY(bench_grids_advance(g, TIMES / g->work->times));
    return hr_grid_gather(g->grids[0], 0, s->seen);
}

/* Compare cells. Values stay below 8, and compilers may or may not round each
 * of at most 10 operations of a step. Jacobi's steps leave no choice, and the
 * lattice's kernel is reproducible, so they must be exact. */
static int compare_cells(const sample *s, const bench_workload *work)
{
    const bool exact =
        work->equation == BENCH_LAPLACE || work->equation == BENCH_BOLTZMANN;
    const float most = exact ? 0.0f : (float)TIMES * 10 * 4 * FLT_EPSILON;
    for (int64_t n = 0; n < s->cells; n++) {
        const float want = s->fields[0][n];
        if (!(fabsf(s->seen[n] - want) <= most)) {
            return cli_fail("%s: cell %lld of a small grid is %.9g, not %.9g",
                            work->name, (long long)n, (double)s->seen[n],
                            (double)want);
        }
    }
    return CLI_OK;
}

static int compare_steps(hr_context *context, bench_grids *g, sample *s)
{
    const size_t bytes = (size_t)s->cells * sizeof(float);
    if (!bench_grid_start(g->work, s->start, s->cells, 2)) {
        return cli_failed_call();
    }
    for (uint32_t f = 0; f < g->work->unknown; f++) {
        memcpy(s->fields[f], s->start, bytes);
    }
    for (int n = 0; n < TIMES; n++) {
        if (g->work->equation == BENCH_MAXWELL) {
            step_wave(s);
        } else if (g->work->equation == BENCH_BOLTZMANN) {
            step_lbm(s);
        } else {
            step_stencil(s);
        }
    }
    HRI_TRY(cli_called(step_sample(context, g, s)));
    return compare_cells(s, g->work);
}

int bench_grid_check(hr_context *context, const bench_workload *work,
                     const bench_grid_form *form)
{
    bench_grids g = {.work = work, .form = form};
    sample s = {.boundary = work->boundary,
                .extent = work->rank == 3 ? hr_extent3(37, 21, 67)
                                          : hr_extent2(131, 259)};
    s.cells = hr_extent_count(bench_grid_extent(work, s.extent));
    enum { ARRAYS = 2 + BENCH_GRID_FIELDS_MAX };
    float *all = malloc(ARRAYS * (size_t)s.cells * sizeof(float));
    int status = CLI_OK;
    if (!bench_grids_open(&g, 1) || all == NULL) {
        status = cli_fail("out of memory");
    } else {
        s.start = all;
        s.seen = all + s.cells;
        for (int f = 0; f < BENCH_GRID_FIELDS_MAX; f++) {
            s.fields[f] = all + (2 + f) * s.cells;
        }
        status = compare_steps(context, &g, &s);
    }
    bench_grids_close(&g);
    free(all);
    return status;
}
