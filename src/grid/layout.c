/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>

#include "base/size.h"
#include "distribute/distribute.h"
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

/* Rows of dimension 0 come in grains: blocks in rank 1. */
static int64_t grain_of(const hr_grid *grid)
{
    return grid->extent.rank == 1 ? HRI_BLOCK : 1;
}

static void set_portions(const hr_grid *grid, const double *weights, bool stay,
                         const weighing *w, hri_portion *portions)
{
    const int64_t grain = grain_of(grid);
    for (uint32_t b = 0; b < grid->band_count; b++) {
        const hri_band *band = &grid->bands[b];
        const int64_t has = stay ? band->end - band->first : 0;
        portions[b].weight = weights != NULL ? weights[b] : 1;
        portions[b].most = hri_max(rows_that_fit(capacity_of(grid, b), w),
                                   hri_ceil_div(has, grain) * grain);
    }
}

hr_status hri_grid_lay_out(const hr_grid *grid, const double *weights,
                           bool stay, hri_band *bands)
{
    const uint32_t count = grid->band_count;
    const weighing w = weigh(grid);
    const hri_distribution d = {.units = grid->extent.size[0],
                                .grain = grain_of(grid),
                                .portions = calloc(count, sizeof(hri_portion)),
                                .count = count};
    bool held = true;
    if (d.portions == NULL) {
        return hri_fail(HR_ERROR_OUT_OF_MEMORY, "grid: out of memory");
    }
    set_portions(grid, weights, stay, &w, d.portions);
    hr_status status = hri_distribute(&d, &held);
    if (status == HR_OK && !held) {
        status = refuse(grid, &w);
    }
    for (uint32_t b = 0; b < count && status == HR_OK; b++) {
        bands[b].first = d.portions[b].first;
        bands[b].end = bands[b].first + d.portions[b].count;
    }
    free(d.portions);
    return status;
}
