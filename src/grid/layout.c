/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "grid/grid.h"
#include "runtime/memory.h"

bool hri_band_is_empty(const hri_band *band)
{
    return band->first == band->end;
}

uint32_t hri_grid_busy(const hr_grid *grid)
{
    uint32_t busy = 0;
    for (uint32_t b = 0; b < grid->band_count; b++) {
        busy += !hri_band_is_empty(&grid->bands[b]);
    }
    return busy;
}

uint32_t hri_grid_owner(const hr_grid *grid, int64_t row)
{
    uint32_t owner = 0;
    for (uint32_t b = 0; b < grid->band_count; b++) {
        const hri_band *band = &grid->bands[b];
        if (!hri_band_is_empty(band)) {
            owner = b;
            if (row < band->end) {
                break;
            }
        }
    }
    return owner;
}

/* Bytes that an accelerator has left for slabs. */
static uint64_t capacity_of(const hr_grid *grid, uint32_t band)
{
    const hri_accelerator *a =
        &grid->context->accelerators[grid->bands[band].accelerator];
    return a->in_place ? a->device->info.free_bytes : hri_accelerator_room(a);
}

/* What bands hold, of all fields. */
typedef struct weighing {
    uint64_t row;   /* bytes of a row */
    uint64_t spare; /* bytes that are no rows: the rest of a line in rank 1, and
                       a value that cells are set to */
    int64_t others; /* the most rows beside a band's own */
} weighing;

static weighing weigh(const hr_grid *grid)
{
    weighing w = {0};
    for (uint32_t f = 0; f < grid->field_count; f++) {
        const hri_field *field = &grid->fields[f];
        int64_t rows = 0;
        for (int s = 0; s < HRI_SIDES; s++) {
            rows += hri_max(field->depth[s], field->sides[s][0].halo);
        }
        if (!hri_add(w.row, hri_slab_row_bytes(grid, field), &w.row)) {
            w.row = UINT64_MAX;
        }
        w.spare += field->element_bytes + HRI_LINE_BYTES;
        w.others = hri_max(w.others, rows);
    }
    return w;
}

/* Rows of a band that fit beside those of its neighbours and the ends. */
static int64_t rows_that_fit(uint64_t capacity, const weighing *w)
{
    const uint64_t most = (uint64_t)1 << 62, others = (uint64_t)w->others;
    const uint64_t rows =
        capacity > w->spare ? (capacity - w->spare) / w->row : 0;
    return rows <= others         ? 0
           : rows - others < most ? (int64_t)(rows - others)
                                  : (int64_t)most;
}

typedef struct dealing {
    int64_t rows;    /* still to be dealt, in grains */
    double *weights; /* 0: has all it can hold */
    int64_t *most, *count;
    hr_band *bands;
} dealing;

/* Deal by weight; who cannot hold its share gets what it can, and the others
 * share out the rest. False: nobody can. */
static bool deal(dealing *d, uint32_t count)
{
    bool full = true;
    while (d->rows > 0 && full) {
        if (hr_split(d->rows, d->weights, count, 0, 0, d->bands) != HR_OK) {
            return false; /* all are full */
        }
        full = false;
        for (uint32_t b = 0; b < count; b++) {
            if (d->weights[b] > 0 && d->bands[b].count > d->most[b]) {
                full = true;
                d->count[b] = d->most[b];
                d->rows -= d->most[b];
                d->weights[b] = 0;
            }
        }
    }
    for (uint32_t b = 0; b < count && d->rows > 0; b++) {
        d->count[b] += d->weights[b] > 0 ? d->bands[b].count : 0;
    }
    return true;
}

/* UINT64_MAX stands for all that 64 bits do not hold. */
static const char *bytes_text(char *text, size_t room, uint64_t bytes)
{
    if (bytes == UINT64_MAX) {
        return "2^64 bytes or more";
    }
    snprintf(text, room, "%llu bytes", (unsigned long long)bytes);
    return text;
}

static hr_status refuse(const hr_grid *grid, const weighing *w)
{
    uint64_t capacity = 0, all = 0;
    char whole[40], row[40];
    const uint32_t bands = grid->band_count, fields = grid->field_count;
    for (uint32_t b = 0; b < grid->band_count; b++) {
        capacity += capacity_of(grid, b);
    }
    if (!hri_mul((uint64_t)grid->extent.size[0], w->row, &all)) {
        all = UINT64_MAX;
    }
    return hri_fail(
        HR_ERROR_OUT_OF_MEMORY,
        "grid: %u field%s of %s%s, and %lld row%s of %s more on each "
        "accelerator, but %u accelerator%s %llu bytes%s",
        fields, hri_plural(fields), bytes_text(whole, sizeof whole, all),
        fields == 1 ? "" : " together", (long long)w->others,
        hri_plural((uint64_t)w->others), bytes_text(row, sizeof row, w->row),
        bands, bands == 1 ? " has" : "s have", (unsigned long long)capacity,
        bands == 1 ? "" : " together");
}

/* Rows of dimension 0 are dealt in grains: blocks in rank 1. */
static int64_t grain_of(const hr_grid *grid)
{
    return grid->extent.rank == 1 ? HRI_BLOCK : 1;
}

static void set_bands(const hr_grid *grid, const int64_t *count,
                      hri_band *bands)
{
    const int64_t rows = grid->extent.size[0];
    int64_t first = 0;
    for (uint32_t b = 0; b < grid->band_count; b++) {
        const int64_t own = count[b] * grain_of(grid);
        bands[b].first = first;
        bands[b].end = hri_min(rows, first + own);
        first = bands[b].end;
    }
}

hr_status hri_grid_lay_out(const hr_grid *grid, const double *weights,
                           bool stay, hri_band *bands)
{
    const uint32_t count = grid->band_count;
    const weighing w = weigh(grid);
    const int64_t grain = grain_of(grid);
    dealing d = {.rows = hri_ceil_div(grid->extent.size[0], grain),
                 .weights = calloc(count, sizeof *d.weights),
                 .most = calloc(count, sizeof *d.most),
                 .count = calloc(count, sizeof *d.count),
                 .bands = calloc(count, sizeof *d.bands)};
    hr_status status = HR_OK;
    if (d.weights == NULL || d.most == NULL || d.count == NULL ||
        d.bands == NULL) {
        status = hri_fail(HR_ERROR_OUT_OF_MEMORY, "grid: out of memory");
    } else { /* the weights are valid, or hr_split says what they are not */
        status = hr_split(d.rows, weights, count, 0, 0, d.bands);
    }
    for (uint32_t b = 0; b < count && status == HR_OK; b++) {
        d.weights[b] = weights != NULL ? weights[b] : 1;
        const int64_t has =
            stay ? grid->bands[b].end - grid->bands[b].first : 0;
        d.most[b] = hri_max(rows_that_fit(capacity_of(grid, b), &w) / grain,
                            hri_ceil_div(has, grain));
    }
    if (status == HR_OK) {
        status = deal(&d, count) ? HR_OK : refuse(grid, &w);
    }
    if (status == HR_OK) {
        set_bands(grid, d.count, bands);
    }
    free(d.weights);
    free(d.most);
    free(d.count);
    free(d.bands);
    return status;
}
