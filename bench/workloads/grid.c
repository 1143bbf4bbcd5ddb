/* SPDX-License-Identifier: MIT */
/* headrace bench grid. For each workload and size, every list of accelerators
 * steps a grid in a context of its own. Then the same bands step without
 * neighbours, and then their halos are copied alone. */
#include "bench/workloads/grid.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "base/status.h"
#include "bench/bench.h"
#include "console/context.h"
#include "console/output.h"
#include "console/signals.h"
#include "console/text.h"

enum { SUMS = 2 * BENCH_GRID_FIELDS_MAX };

/* One workload of one size on one list. */
typedef struct grid_row {
    const bench_workload *work;
    const bench_setting *setting;
    hr_extent extent;
    int64_t runs, steps;    /* runs after the first; time steps of each */
    int64_t period;         /* time steps between residuals */
    double first, best;     /* seconds */
    double copy;            /* bytes a second */
    double alone, exchange; /* seconds of a run; 0: not measured */
    double residual, speed_up, efficiency; /* 0: none */
    double sums[SUMS];     /* of the fields, and of their squares */
    bool summed, compared; /* sums are there; they are those of the first
                              list */
    hr_grid_state state;
    hr_band *bands;
} grid_row;

/* What the rows of one workload and size share. */
typedef struct contest {
    benchmark *bench;
    bench_grid_wish wish;
    const bench_workload *work;
    int64_t size, steps; /* steps of the grid */
    hr_extent extent;    /* of data: rows of the grid, which repeats them */
    float *data;
    grid_row first; /* the first list's row; setting NULL: there is none */
} contest;

/* Bytes of values to start from. */
enum { MAX_DATA = 1 << 30 };

/* A row that is being measured. */
typedef struct measuring {
    contest *contest;
    hr_context *context;
    hr_array *data;
    bench_grids grids;
    grid_row row;
} measuring;

static double cells_per_second(const grid_row *r)
{
    return (double)hr_extent_count(r->extent) * (double)r->steps / r->best;
}

static const bench_grid_form *form_of(const bench_workload *work,
                                      const bench_setting *setting)
{
    return setting->all_gpus ? work->gpu : work->host;
}

static hr_extent extent_of(const bench_workload *work, int64_t rows,
                           int64_t size)
{
    return work->rank == 3 ? hr_extent3(rows, size, size)
                           : hr_extent2(rows, size);
}

/* ---- one grid */

/* Run everything several times: the first time, and the best of the others. */
static hr_status time_steps(measuring *m, double *first, double *best)
{
    for (int64_t n = 0; n <= m->row.runs; n++) {
        const double begin = cli_clock();
        HRI_TRY(bench_grids_advance(&m->grids, m->contest->steps));
        bench_note(n, cli_clock() - begin, first, best);
    }
    return HR_OK;
}

/* Sum up all cells, and their squares. All lists with one kind of accelerator
 * must give the same sums. */
static hr_status sum_cells(measuring *m)
{
    hr_grid *grid = m->grids.grids[0];
    for (uint32_t i = 0; i < 2 * m->row.work->unknown; i++) {
        hr_reducing *reducing = NULL;
        HRI_TRY(hr_grid_reduce(grid, i % 2 == 0 ? HR_REDUCE_SUM : HR_REDUCE_DOT,
                               HR_F32, i / 2, i / 2, &reducing));
        HRI_TRY(hr_grid_reduced(reducing, &m->row.sums[i]));
    }
    return HR_OK;
}

static hr_status measure_whole(measuring *m)
{
    grid_row *r = &m->row;
    r->state.size = sizeof r->state;
    HRI_TRY(
        bench_grids_make(&m->grids, 0, m->context, r->extent, NULL, m->data));
    HRI_TRY(time_steps(m, &r->first, &r->best));
    r->residual = m->grids.residual;
    const hr_status summed = sum_cells(m);
    r->summed = summed == HR_OK;
    if (summed != HR_ERROR_UNSUPPORTED) { /* no accelerator with double */
        HRI_TRY(summed);
    }
    return hr_grid_describe(m->grids.grids[0], &r->state, r->bands,
                            r->setting->count);
}

/* Step a grid for each band by itself, on its accelerator. */
static hr_status measure_alone(measuring *m)
{
    grid_row *r = &m->row;
    double first;
    for (uint32_t b = 0; b < r->state.band_count; b++) {
        hr_grid_options options = HR_GRID_OPTIONS_INIT;
        hr_extent extent = r->extent;
        extent.size[0] = r->bands[b].count;
        options.accelerators = &r->bands[b].accelerator;
        options.accelerator_count = 1;
        HRI_TRY(bench_grids_make(&m->grids, b, m->context, extent, &options,
                                 m->data));
    }
    return time_steps(m, &first, &r->alone);
}

static int with_grids(measuring *m, uint32_t count,
                      hr_status (*function)(measuring *m))
{
    const grid_row *r = &m->row;
    m->grids = (bench_grids){.work = r->work,
                             .form = form_of(r->work, r->setting),
                             .period = r->period / r->work->times};
    const int status = bench_grids_open(&m->grids, count)
                           ? cli_called(function(m))
                           : cli_fail("out of memory");
    bench_grids_close(&m->grids);
    return status;
}

/* ---- exchanges */

/* Time messages as large as those of the grid. */
static int measure_exchange(measuring *m)
{
    grid_row *r = &m->row;
    const uint32_t bands = r->state.band_count;
    const uint64_t each = r->state.steps_per_exchange; /* steps */
    const uint64_t bytes =
        r->state.halo_bytes * each / (r->state.steps * 2 * (bands - 1));
    const int status = bench_grid_exchange(m->context, r->bands, bands,
                                           bytes > 0 ? bytes : 1, &r->exchange);
    r->exchange *= (double)m->contest->steps / (double)each;
    return status;
}

static bool same_sums(const grid_row *a, const grid_row *b)
{
    for (uint32_t i = 0; i < 2 * a->work->unknown; i++) {
        if (a->sums[i] != b->sums[i]) {
            return false;
        }
    }
    return true;
}

/* Compare with the first list: how much faster it is, and whether the sums are
 * the same on the same kind of devices. */
static int compare_with_first(grid_row *r, grid_row *first, bool weak)
{
    if (first->setting == NULL) {
        r->speed_up = r->efficiency = 1.0;
        *first = *r;
        return CLI_OK;
    }
    const double more = (double)r->setting->count / first->setting->count;
    r->speed_up = cells_per_second(r) / cells_per_second(first);
    r->efficiency = weak ? first->best / r->best : r->speed_up / more;
    r->compared = !weak && r->summed && first->summed &&
                  r->setting->same_name && first->setting->same_name &&
                  strcmp(r->setting->device, first->setting->device) == 0;
    if (r->compared && !same_sums(r, first)) {
        return cli_fail("%s on %s: the sum of the cells is %.17g, not %.17g as "
                        "on %s",
                        r->work->name, r->setting->name, r->sums[0],
                        first->sums[0], first->setting->name);
    }
    return CLI_OK;
}

/* ---- rows */

/* Bytes a second if each value is read and written once in a time step. Other
 * reads must come from caches. */
static double effective_rate(const grid_row *r)
{
    return 2.0 * sizeof(float) * r->work->unknown * (double)r->work->parts *
           cells_per_second(r);
}

/* The part of the exchange that is hidden behind other work. */
static double hidden_part(const grid_row *r)
{
    return r->exchange > 0.0
               ? fmax(0.0, fmin(1.0, 1.0 - (r->best - r->alone) / r->exchange))
               : NAN;
}

static void add_extent(bench_rows *rows, const hr_extent *e)
{
    bench_cell(rows, "size", 'r', cli_extents_text(e->size, (int)e->rank).text);
    if (rows->writing) {
        cli_json_begin(&rows->line, "extent", '[');
        for (uint32_t d = 0; d < e->rank; d++) {
            cli_json_count(&rows->line, NULL, (uint64_t)e->size[d]);
        }
        cli_json_end(&rows->line, ']');
    }
}

static void write_bands(cli_json *json, const grid_row *r)
{
    cli_json_begin(json, "bands", '[');
    for (uint32_t b = 0; b < r->state.band_count; b++) {
        cli_json_begin(json, NULL, '{');
        cli_json_count(json, "accelerator", r->bands[b].accelerator);
        cli_json_count(json, "first", (uint64_t)r->bands[b].first);
        cli_json_count(json, "rows", (uint64_t)r->bands[b].count);
        cli_json_end(json, '}');
    }
    cli_json_end(json, ']');
}

static void add_times(bench_rows *rows, const grid_row *r)
{
    const bool several = r->state.band_count > 1;
    bench_value(rows, "runs", NULL, BENCH_COUNT, (double)r->runs);
    bench_value(rows, "first_seconds", NULL, BENCH_SECONDS, r->first);
    bench_value(rows, "min_seconds", "best", BENCH_SECONDS, r->best);
    bench_value(rows, "cells_per_second", "cells/s", BENCH_CELLS,
                cells_per_second(r));
    bench_value(rows, "effective_bytes_per_second", "T_eff", BENCH_LINK,
                effective_rate(r));
    bench_value(rows, "copy_bytes_per_second", NULL, BENCH_LINK, r->copy);
    bench_value(rows, "of_copy", "of copy", BENCH_PER_CENT,
                r->copy > 0.0 ? effective_rate(r) / r->copy : NAN);
    bench_value(rows, "alone_seconds", NULL, BENCH_SECONDS,
                several ? r->alone : NAN);
    bench_value(rows, "exchange_seconds", NULL, BENCH_SECONDS,
                several ? r->exchange : NAN);
    bench_value(rows, "hidden", "hidden", BENCH_PER_CENT, hidden_part(r));
    bench_value(rows, "speed_up", "speed-up", BENCH_RATIO, r->speed_up);
    bench_value(rows, "efficiency", "efficiency", BENCH_PER_CENT,
                r->efficiency);
}

static void add_row(bench_rows *rows, const grid_row *r, bool weak)
{
    const hr_grid_state *state = &r->state;
    bench_row_begin(rows, "grid");
    bench_text(rows, "workload", "workload", r->work->name);
    bench_text(rows, "type", NULL, "f32");
    add_extent(rows, &r->extent);
    bench_flag(rows, "weak", true, weak);
    bench_value(rows, "steps", NULL, BENCH_COUNT, (double)r->steps);
    bench_value(rows, "steps_at_once", NULL, BENCH_COUNT,
                (double)r->work->times);
    bench_value(rows, "residual_every", NULL, BENCH_COUNT, (double)r->period);
    bench_text(rows, "name", "accelerators", r->setting->name);
    bench_list(rows, r->setting);
    add_times(rows, r);
    if (rows->writing) {
        write_bands(&rows->line, r);
    }
    bench_value(rows, "halo_bytes_per_step", NULL, BENCH_BYTES,
                (double)state->halo_bytes /
                    ((double)state->steps * (double)r->work->times));
    bench_value(rows, "steps_per_exchange", NULL, BENCH_COUNT,
                (double)state->steps_per_exchange);
    bench_value(rows, "moves", NULL, BENCH_COUNT, (double)state->moves);
    bench_value(rows, "residual", NULL, BENCH_RATIO,
                r->period > 0 && r->period <= r->steps ? r->residual : NAN);
    bench_flag(rows, "verified", true, true);
    bench_flag(rows, "identical", r->compared, true);
    bench_row_end(rows);
}

static int measure_row(measuring *m)
{
    grid_row *r = &m->row;
    contest *c = m->contest;
    HRI_TRY(
        bench_grid_check(m->context, r->work, form_of(r->work, r->setting)));
    HRI_TRY(bench_copy_rate(m->context, r->setting->all_gpus, &r->copy));
    HRI_TRY(with_grids(m, 1, measure_whole));
    if (r->state.band_count > 1) {
        HRI_TRY(with_grids(m, r->state.band_count, measure_alone));
        HRI_TRY(measure_exchange(m));
    }
    HRI_TRY(compare_with_first(r, &c->first, c->wish.weak));
    add_row(&c->bench->rows, r, c->wish.weak);
    return cli_flush();
}

/* ---- all lists, workloads and sizes */

static int measure_in_context(measuring *m)
{
    contest *c = m->contest;
    if (m->row.bands == NULL) {
        return cli_fail("out of memory");
    }
    HRI_TRY(bench_context(m->row.setting, &m->context));
    HRI_TRY(cli_called(hr_array_wrap(m->context, c->data, sizeof(float),
                                     c->extent, 0, &m->data)));
    return measure_row(m);
}

static int measure_list(contest *c, const bench_setting *setting)
{
    const int64_t wider = c->wish.weak ? setting->count : 1;
    const int64_t times = c->work->times;
    measuring m = {
        .contest = c,
        .row = {.work = c->work,
                .setting = setting,
                .extent = extent_of(c->work, c->size * wider, c->size),
                .runs = c->bench->o.repeat,
                .steps = c->steps * times,
                .period = bench_has_residual(c->work)
                              ? (c->wish.residual + times - 1) / times * times
                              : 0,
                .bands = calloc(setting->count, sizeof(hr_band))}};
    const int status = measure_in_context(&m);
    hr_array_destroy(m.data);
    hr_context_destroy(m.context);
    free(m.row.bands);
    return status;
}

/* Make the data of all lists: as many rows as the size, but at most
 * MAX_DATA. */
static int make_data(contest *c)
{
    c->extent = bench_grid_extent(c->work, extent_of(c->work, 1, c->size));
    const int64_t row = hr_extent_count(c->extent);
    c->extent.size[0] =
        hri_max(1, hri_min(c->size, MAX_DATA / (int64_t)sizeof(float) / row));
    const int64_t count = row * c->extent.size[0];
    c->data = malloc((size_t)count * sizeof(float));
    if (c->data == NULL) {
        return cli_fail("out of memory");
    }
    return bench_grid_start(c->work, c->data, count, 1) ? CLI_OK
                                                        : cli_failed_call();
}

/* Measure all lists. If one fails, the others are still measured. */
static int measure_lists(contest *c)
{
    HRI_TRY(make_data(c));
    for (int i = 0; i < c->bench->setting_count; i++) {
        if (measure_list(c, &c->bench->settings[i]) != CLI_OK) {
            c->bench->failed = true;
            HRI_TRY(cli_cancelled() ? CLI_FAILED : CLI_OK);
        }
    }
    return CLI_OK;
}

static int measure_workloads(benchmark *bench, const bench_grid_wish *wish)
{
    const bench_problems *sizes = &bench->problems;
    bool gpus = true;
    for (int i = 0; i < bench->setting_count; i++) {
        gpus = gpus && bench->settings[i].all_gpus;
    }
    const int64_t steps = wish->steps > 0 ? wish->steps : gpus ? 1000 : 100;
    const int each = sizes->count > 0 ? sizes->count : 1;
    for (int n = 0; n < wish->workloads.count * each; n++) {
        const bench_workload *work = wish->workloads.list[n / each];
        contest c = {.bench = bench,
                     .wish = *wish,
                     .work = work,
                     .steps = (steps + work->times - 1) / work->times,
                     .size = sizes->count > 0 ? sizes->list[n % each].extents[0]
                             : gpus           ? work->gpu_size
                                              : work->size};
        const int status = measure_lists(&c);
        free(c.data);
        HRI_TRY(status);
    }
    return CLI_OK;
}

int bench_grid(benchmark *bench)
{
    bench_grid_wish wish = bench->o.grid;
    if (wish.workloads.count == 0) {
        wish.workloads = bench_default_workloads;
    }
    wish.residual = wish.residual < 0 ? 100 : wish.residual;
    const int status = measure_workloads(bench, &wish);
    const int printed = bench_rows_print(&bench->rows);
    return status == CLI_OK ? printed : status;
}
