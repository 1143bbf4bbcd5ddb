/* SPDX-License-Identifier: MIT */
/* What grids reached: rows of a table for people, JSON lines for programs. */
#include <inttypes.h>
#include <stdio.h>

#include "bench/bench.h"
#include "bench/workloads/grid.h"
#include "console/json.h"
#include "console/text.h"

double bench_grid_cells(const bench_grid_row *r)
{
    return (double)hr_extent_count(r->extent) * (double)r->steps / r->best;
}

/* Each unknown is read and written once in a time step; what is more has to
 * come from caches. Nothing is only read. */
double bench_grid_effective(const bench_grid_row *r)
{
    return 2.0 * sizeof(float) * r->work->unknown * bench_grid_cells(r);
}

double bench_grid_hidden(const bench_grid_row *r)
{
    if (r->state.band_count < 2 || r->exchange <= 0.0) {
        return -1.0;
    }
    const double hidden = 1.0 - (r->best - r->alone) / r->exchange;
    return hidden < 0.0 ? 0.0 : hidden > 1.0 ? 1.0 : hidden;
}

/* Bytes that bands get of others, for each time step. */
static double halo_bytes(const bench_grid_row *r)
{
    return (double)r->state.halo_bytes /
           ((double)r->state.steps * (double)r->work->times);
}

/* ---- the table */

const char bench_grid_align[] = "lrlrrrrrrr";

static void add_size(cli_table *table, const hr_extent *e)
{
    if (e->rank == 3) {
        cli_table_add(table, "%" PRId64 "x%" PRId64 "x%" PRId64, e->size[0],
                      e->size[1], e->size[2]);
    } else {
        cli_table_add(table, "%" PRId64 "x%" PRId64, e->size[0], e->size[1]);
    }
}

void bench_grid_add_row(cli_table *table, const bench_grid_row *r)
{
    if (table->count == 0) {
        cli_table_head(table, "workload|size|accelerators|best|cells/s|T_eff|"
                              "of copy|hidden|speed-up|efficiency");
    }
    cli_table_add(table, "%s", r->work->name);
    add_size(table, &r->extent);
    cli_table_add(table, "%s", r->setting->name);
    cli_table_add(table, "%s", cli_seconds_text(r->best).text);
    cli_table_add(table, "%.3g G", 1e-9 * bench_grid_cells(r));
    cli_table_add(table, "%s", cli_link_text(bench_grid_effective(r)).text);
    cli_table_maybe(table, r->copy > 0.0, "%.0f %%",
                    100.0 * (bench_grid_effective(r) / r->copy));
    cli_table_maybe(table, bench_grid_hidden(r) >= 0.0, "%.0f %%",
                    100.0 * (bench_grid_hidden(r)));
    cli_table_add(table, "%.2f", r->speed_up);
    cli_table_maybe(table, true, "%.0f %%", 100.0 * (r->efficiency));
}

/* ---- JSON */

static void write_case(cli_json *json, const bench_grid_row *r, bool weak)
{
    cli_json_text(json, "workload", r->work->name);
    cli_json_text(json, "type", "f32");
    cli_json_begin(json, "extent", '[');
    for (uint32_t d = 0; d < r->extent.rank; d++) {
        cli_json_count(json, NULL, (uint64_t)r->extent.size[d]);
    }
    cli_json_end(json, ']');
    cli_json_bool(json, "weak", weak);
    cli_json_count(json, "steps", (uint64_t)r->steps);
    cli_json_count(json, "steps_at_once", (uint64_t)r->work->times);
    cli_json_count(json, "residual_every", (uint64_t)r->period);
    cli_json_text(json, "name", r->setting->name);
    bench_setting_json(json, r->setting);
}

static void write_bands(cli_json *json, const bench_grid_row *r)
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
    cli_json_number(json, "halo_bytes_per_step", halo_bytes(r));
    cli_json_count(json, "steps_per_exchange", r->state.steps_per_exchange);
    cli_json_count(json, "moves", r->state.moves);
}

static void write_times(cli_json *json, const bench_grid_row *r)
{
    const bool several = r->state.band_count > 1;
    cli_json_count(json, "runs", (uint64_t)r->runs);
    cli_json_number(json, "first_seconds", r->first);
    cli_json_number(json, "min_seconds", r->best);
    cli_json_number(json, "cells_per_second", bench_grid_cells(r));
    cli_json_number(json, "effective_bytes_per_second",
                    bench_grid_effective(r));
    cli_json_number(json, "copy_bytes_per_second", r->copy);
    cli_json_maybe(json, "of_copy", r->copy > 0.0,
                   bench_grid_effective(r) / r->copy);
    cli_json_maybe(json, "alone_seconds", several, r->alone);
    cli_json_maybe(json, "exchange_seconds", several, r->exchange);
    cli_json_maybe(json, "hidden", several, bench_grid_hidden(r));
    cli_json_number(json, "speed_up", r->speed_up);
    cli_json_number(json, "efficiency", r->efficiency);
}

void bench_grid_write(const bench_grid_row *r, bool weak)
{
    cli_json json = bench_json_begin("grid");
    write_case(&json, r, weak);
    write_times(&json, r);
    write_bands(&json, r);
    cli_json_maybe(&json, "residual", r->period > 0 && r->period <= r->steps,
                   r->residual);
    cli_json_bool(&json, "verified", true);
    if (r->compared) {
        cli_json_bool(&json, "identical", true);
    } else {
        cli_json_null(&json, "identical");
    }
    cli_json_line(&json);
}
