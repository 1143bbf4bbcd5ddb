/* SPDX-License-Identifier: MIT */
/* headrace bench grid: for each workload and size, every list of accelerators
 * steps a grid in a context of its own; then the same bands step without
 * neighbours, and their halos are copied alone. */
#include "bench/workloads/grid.h"

#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"
#include "console/context.h"
#include "console/output.h"
#include "console/random.h"
#include "console/signals.h"
#include "console/text.h"

/* What the rows of one workload and size have in common. */
typedef struct contest {
    benchmark *bench;
    bench_grid_wish wish;
    const bench_workload *work;
    int64_t size, steps;  /* steps of the grid */
    float *data;          /* size rows, which wider grids have several times */
    bench_grid_row first; /* the first list's; setting NULL: there is none */
    cli_table *table;
} contest;

/* Bytes of copies, more than caches have. */
enum { GPU_COPY = 1 << 28, HOST_COPY = 1 << 26 };

/* A row that is being measured. */
typedef struct measuring {
    contest *contest;
    hr_context *context;
    hr_array *data;
    bench_grids grids;
    bench_grid_row row;
} measuring;

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

/* Run it all several times: the first, and the best of the others. */
static hr_status run(measuring *m, double *first, double *best)
{
    hr_status status = HR_OK;
    for (int64_t n = 0; n <= m->row.runs && status == HR_OK; n++) {
        const double begin = cli_clock();
        status = bench_grids_advance(&m->grids, m->contest->steps);
        bench_note(n, cli_clock() - begin, first, best);
    }
    return status;
}

/* Sums of all cells, and of their squares, which are alike on all lists of one
 * kind of accelerator. */
static hr_status sum(measuring *m)
{
    hr_status status = HR_OK;
    hr_grid *grid = m->grids.grids[0];
    for (uint32_t i = 0; i < 2 * m->row.work->unknown && status == HR_OK; i++) {
        hr_reducing *reducing = NULL;
        status =
            hr_grid_reduce(grid, i % 2 == 0 ? HR_REDUCE_SUM : HR_REDUCE_DOT,
                           HR_F32, i / 2, i / 2, &reducing);
        if (status == HR_OK) {
            status = hr_grid_reduced(reducing, &m->row.sums[i]);
        }
    }
    m->row.summed = status == HR_OK;
    return status == HR_ERROR_UNSUPPORTED ? HR_OK : status; /* no double */
}

static hr_status measure_whole(measuring *m)
{
    bench_grid_row *r = &m->row;
    hr_status status =
        bench_grids_create(&m->grids, 0, m->context, r->extent, NULL);
    if (status == HR_OK) {
        status = bench_grids_load(&m->grids, 0, r->extent, m->data);
    }
    if (status == HR_OK) {
        status = run(m, &r->first, &r->best);
    }
    if (status == HR_OK) {
        r->residual = m->grids.residual;
        status = sum(m);
    }
    r->state.size = sizeof r->state;
    return status == HR_OK ? hr_grid_describe(m->grids.grids[0], &r->state,
                                              r->bands, r->setting->count)
                           : status;
}

/* A grid for each band, on its accelerator. */
static hr_status measure_alone(measuring *m)
{
    bench_grid_row *r = &m->row;
    double first;
    hr_status status = HR_OK;
    for (uint32_t b = 0; b < r->state.band_count && status == HR_OK; b++) {
        hr_grid_options options = HR_GRID_OPTIONS_INIT;
        hr_extent extent = r->extent;
        extent.size[0] = r->bands[b].count;
        options.accelerators = &r->bands[b].accelerator;
        options.accelerator_count = 1;
        status = bench_grids_create(&m->grids, b, m->context, extent, &options);
        if (status == HR_OK) {
            status = bench_grids_load(&m->grids, b, extent, m->data);
        }
    }
    return status == HR_OK ? run(m, &first, &r->alone) : status;
}

static int with_grids(measuring *m, uint32_t count,
                      hr_status (*function)(measuring *m))
{
    const bench_grid_row *r = &m->row;
    m->grids = (bench_grids){.work = r->work,
                             .form = form_of(r->work, r->setting),
                             .period = r->period / r->work->times};
    int status = CLI_OK;
    if (!bench_grids_open(&m->grids, count)) {
        status = cli_fail("out of memory");
    } else if (function(m) != HR_OK) {
        status = cli_failed_call();
    }
    bench_grids_close(&m->grids);
    return status;
}

/* ---- beside others */

/* The messages of a run, as large as those of the grid were. */
static int measure_exchange(measuring *m)
{
    bench_grid_row *r = &m->row;
    const uint32_t bands = r->state.band_count;
    const uint64_t each = r->state.steps_per_exchange; /* steps */
    const uint64_t bytes =
        r->state.halo_bytes * each / (r->state.steps * 2 * (bands - 1));
    const int status = bench_grid_exchange(m->context, r->bands, bands,
                                           bytes > 0 ? bytes : 1, &r->exchange);
    r->exchange *= (double)m->contest->steps / (double)each;
    return status;
}

static bool same_sums(const bench_grid_row *a, const bench_grid_row *b)
{
    bool same = true;
    for (uint32_t i = 0; i < 2 * a->work->unknown; i++) {
        same = same && a->sums[i] == b->sums[i];
    }
    return same;
}

/* Beside the first list: faster, and the same on the same kind of devices. */
static int compare(bench_grid_row *r, bench_grid_row *first, bool weak)
{
    if (first->setting == NULL) {
        r->speed_up = r->efficiency = 1.0;
        *first = *r;
        return CLI_OK;
    }
    const double more = (double)r->setting->count / first->setting->count;
    r->speed_up = bench_grid_cells(r) / bench_grid_cells(first);
    r->efficiency = weak ? first->best / r->best : r->speed_up / more;
    r->compared = !weak && r->summed && first->summed && r->setting->alike &&
                  first->setting->alike &&
                  strcmp(r->setting->device, first->setting->device) == 0;
    if (r->compared && !same_sums(r, first)) {
        return cli_fail("%s on %s: the sum of the cells is %.17g, not %.17g as "
                        "on %s",
                        r->work->name, r->setting->name, r->sums[0],
                        first->sums[0], first->setting->name);
    }
    return CLI_OK;
}

static void print_row(const contest *c, const bench_grid_row *r)
{
    if (c->bench->o.json) {
        bench_grid_write(r, c->wish.weak);
    } else {
        bench_grid_add_row(c->table, r);
    }
}

static int measure_row(measuring *m)
{
    bench_grid_row *r = &m->row;
    contest *c = m->contest;
    int status =
        bench_grid_check(m->context, r->work, form_of(r->work, r->setting));
    if (status == CLI_OK) {
        status = bench_grid_copy_rate(
            m->context, r->setting->all_gpus ? GPU_COPY : HOST_COPY, &r->copy);
    }
    if (status == CLI_OK) {
        status = with_grids(m, 1, measure_whole);
    }
    if (status == CLI_OK && r->state.band_count > 1) {
        status = with_grids(m, r->state.band_count, measure_alone);
        status = status == CLI_OK ? measure_exchange(m) : status;
    }
    if (status == CLI_OK) {
        status = compare(r, &c->first, c->wish.weak);
    }
    if (status == CLI_OK) {
        print_row(c, r);
        status = cli_flush();
    }
    return status;
}

/* ---- all lists, workloads and sizes */

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
                .steps = c->steps * c->work->times,
                .period = c->work->residual
                              ? (c->wish.residual + times - 1) / times * times
                              : 0,
                .bands = calloc(setting->count, sizeof(hr_band))}};
    int status = m.row.bands != NULL ? bench_context(setting, &m.context)
                                     : cli_fail("out of memory");
    if (status == CLI_OK) {
        status = hr_array_wrap(m.context, c->data, sizeof(float),
                               extent_of(c->work, c->size, c->size), 0,
                               &m.data) == HR_OK
                     ? measure_row(&m)
                     : cli_failed_call();
    }
    hr_array_destroy(m.data);
    hr_context_destroy(m.context);
    free(m.row.bands);
    return status;
}

/* A list that fails is no reason to give up the others. */
static int measure_lists(contest *c)
{
    const int64_t line = c->work->rank == 3 ? c->size * c->size : c->size;
    c->data = malloc((size_t)c->size * (size_t)line * sizeof(float));
    if (c->data == NULL) {
        return cli_fail("out of memory");
    }
    int status = CLI_OK;
    if (!cli_random_fill(hr_matrix_row_major(c->data, HR_F32, c->size, line, 0),
                         1, NULL)) {
        status = cli_failed_call();
    }
    for (int i = 0; i < c->bench->setting_count && status == CLI_OK; i++) {
        if (measure_list(c, &c->bench->settings[i]) != CLI_OK) {
            c->bench->failed = true;
            status = cli_cancelled() ? CLI_FAILED : CLI_OK;
        }
    }
    free(c->data);
    return status;
}

int bench_grid(benchmark *bench)
{
    cli_table table = {.align = bench_grid_align};
    bench_grid_wish wish = bench->o.grid;
    bool gpus = true;
    int status = CLI_OK;
    if (wish.workloads.count == 0) {
        wish.workloads = bench_default_workloads;
    }
    wish.residual = wish.residual < 0 ? 100 : wish.residual;
    for (int i = 0; i < bench->setting_count; i++) {
        gpus = gpus && bench->settings[i].all_gpus;
    }
    const int sizes = bench->problems.count > 0 ? bench->problems.count : 1;
    for (int n = 0; n < wish.workloads.count * sizes && status == CLI_OK; n++) {
        contest c = {.bench = bench,
                     .wish = wish,
                     .work = wish.workloads.list[n / sizes],
                     .table = &table};
        const int64_t steps = wish.steps > 0 ? wish.steps : gpus ? 1000 : 100;
        c.steps = (steps + c.work->times - 1) / c.work->times;
        c.size = bench->problems.count > 0
                     ? bench->problems.list[n % sizes].extents[0]
                 : gpus ? c.work->gpu_size
                        : c.work->size;
        status = measure_lists(&c);
    }
    if (table.count > 0) {
        const int printed = cli_table_print(&table);
        status = status == CLI_OK ? printed : status;
    }
    return status;
}
