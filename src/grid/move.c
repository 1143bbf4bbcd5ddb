/* SPDX-License-Identifier: MIT */
/* Bands with other rows, and slabs of other depth. */
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "grid/replay.h"

/* Rows of a band with those beyond the ends that only it has. */
static void all_rows(const hr_grid *grid, const hri_field *field,
                     const hri_band *band, int64_t *first, int64_t *end)
{
    const int64_t n = grid->extent.size[0];
    *first = band->first == 0 ? -field->sides[HRI_BEFORE][0].halo : band->first;
    *end = band->end == n ? n + field->sides[HRI_AFTER][0].halo : band->end;
}

/* Copy the rows that a band has to where they are in new slabs. */
static hr_status bring_band(hr_grid *grid, const hri_field *field,
                            uint32_t from, const hri_band *bands,
                            const hri_slab *slabs)
{
    int64_t first, end, lo, hi;
    hr_status status = HR_OK;
    all_rows(grid, field, &grid->bands[from], &first, &end);
    for (uint32_t b = 0; b < grid->band_count && status == HR_OK; b++) {
        if (hri_band_is_empty(&bands[b])) {
            continue;
        }
        all_rows(grid, field, &bands[b], &lo, &hi);
        lo = hri_max(lo, first);
        hi = hri_min(hi, end);
        if (lo < hi) {
            const hri_cells cells = hri_field_rows(grid, field, lo, hi);
            uint64_t bytes = 0;
            status = hri_copy_cells(grid, field, &field->slabs[from], &cells,
                                    &slabs[b], 0, bands[b].inner, &bytes);
            grid->state.moved_bytes += b != from ? bytes : 0;
        }
    }
    return status;
}

static hr_status bring(hr_grid *grid, const hri_field *field,
                       const hri_band *bands, const hri_slab *slabs)
{
    hr_status status = HR_OK;
    pthread_mutex_lock(&grid->context->lock);
    for (uint32_t b = 0; b < grid->band_count && status == HR_OK; b++) {
        if (!hri_band_is_empty(&grid->bands[b])) {
            status = bring_band(grid, field, b, bands, slabs);
        }
    }
    pthread_mutex_unlock(&grid->context->lock);
    return status;
}

/* The new slabs of all fields replace the old ones. */
static void replace(hr_grid *grid, const hri_band *bands, const hri_rows *depth,
                    hri_slab **slabs)
{
    hri_replay_forget(grid);
    for (uint32_t f = 0; f < grid->field_count; f++) {
        hri_field *field = &grid->fields[f];
        hri_slabs_destroy(field->slabs, grid->band_count);
        field->slabs = slabs[f];
        for (int s = 0; s < HRI_SIDES; s++) {
            field->depth[s] = depth[f].of[s];
            field->fresh[s] = 0;
        }
        field->ends_stale = true;
    }
    grid->full = false;
    for (uint32_t b = 0; b < grid->band_count; b++) {
        grid->bands[b].first = bands[b].first;
        grid->bands[b].end = bands[b].end;
    }
}

hr_status hri_grid_move(hr_grid *grid, const hri_band *bands,
                        const hri_rows *depth)
{
    hri_slab *slabs[HR_MOST_FIELDS] = {NULL};
    hr_status status = HR_OK;
    for (uint32_t f = 0; f < grid->field_count && status == HR_OK; f++) {
        hri_field field = grid->fields[f]; /* with the new depth */
        memcpy(field.depth, depth[f].of, sizeof field.depth);
        status = hri_slabs_create(grid, &field, bands, &slabs[f]);
        if (status == HR_OK) {
            status = bring(grid, &field, bands, slabs[f]);
        }
    }
    if (status != HR_OK) {
        for (uint32_t f = 0; f < grid->field_count; f++) {
            hri_slabs_destroy(slabs[f], grid->band_count);
        }
        return status;
    }
    replace(grid, bands, depth, slabs);
    return HR_OK;
}

static bool are_alike(const hr_grid *grid, const hri_band *bands)
{
    bool alike = true;
    for (uint32_t b = 0; b < grid->band_count; b++) {
        alike = alike && bands[b].first == grid->bands[b].first &&
                bands[b].end == grid->bands[b].end;
    }
    return alike;
}

hr_status hr_grid_rebalance(hr_grid *grid, const double *weights)
{
    if (grid == NULL || weights == NULL) {
        return hri_fail(HR_ERROR_INVALID, "grid: %s",
                        grid == NULL ? "the grid is NULL"
                                     : "the weights are NULL");
    }
    hri_rows depth[HR_MOST_FIELDS];
    hr_status status = hri_grid_check(grid);
    hri_band *bands = calloc(grid->band_count, sizeof *bands);
    if (status == HR_OK && bands == NULL) {
        status = hri_fail(HR_ERROR_OUT_OF_MEMORY, "grid: out of memory");
    }
    if (status == HR_OK) {
        memcpy(bands, grid->bands, grid->band_count * sizeof *bands);
        pthread_mutex_lock(&grid->context->lock);
        status = hri_grid_lay_out(grid, weights, true, bands);
        if (status == HR_OK && !are_alike(grid, bands)) {
            status = hri_grid_lay_out(grid, weights, false, bands);
        }
        pthread_mutex_unlock(&grid->context->lock);
    }
    for (uint32_t f = 0; f < grid->field_count; f++) {
        for (int s = 0; s < HRI_SIDES; s++) {
            depth[f].of[s] = grid->fields[f].depth[s];
        }
    }
    if (status == HR_OK && !are_alike(grid, bands)) {
        status = hri_grid_move(grid, bands, depth);
        grid->state.moves += status == HR_OK;
    }
    if (status == HR_OK) {
        grid->state.steps_per_exchange = 1; /* deepened anew, if bands allow */
    }
    free(bands);
    return status;
}
