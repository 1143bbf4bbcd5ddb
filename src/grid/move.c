/* SPDX-License-Identifier: MIT */
/* New storage for all bands: without values, for other rows, or with wider
 * halos. */
#include "grid/bands.h"

#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "grid/step.h"

/* ---- new storage */

/* Make the storage of a field for these bands. All cells get the values that
 * the boundaries hold, or 0. It must be destroyed in any case. */
static hr_status create_storage(hr_grid *grid, const hri_field *field,
                                const hri_band *bands, hri_storage **storage)
{
    hri_storage *made = *storage = calloc(grid->band_count, sizeof *made);
    if (made == NULL) {
        return hri_fail(HR_ERROR_OUT_OF_MEMORY, "grid: out of memory");
    }
    for (uint32_t b = 0; b < grid->band_count; b++) {
        if (hri_band_is_empty(&bands[b])) {
            continue;
        }
        HRI_TRY(hri_storage_create(grid, field, &bands[b], &made[b]));
        HRI_TRY(hri_boundary_set(grid, field, &made[b], bands[b].inner));
    }
    return HR_OK;
}

hr_status hri_grid_renew(hr_grid *grid)
{
    hri_grid_forget_graph(grid);
    hri_timing_forget(grid->timing);
    for (uint32_t f = 0; f < grid->field_count; f++) {
        hri_field *field = &grid->fields[f];
        hri_storage_destroy(field->storage, grid->band_count);
        field->storage = NULL;
        field->valid = field->depth;
        field->ends_stale = false;
        field->far_stale = true;
    }
    for (uint32_t b = 0; b < grid->band_count; b++) {
        hri_band_destroy_queues(&grid->bands[b]);
        HRI_TRY(hri_band_create_queues(grid, &grid->bands[b]));
    }
    for (uint32_t f = 0; f < grid->field_count; f++) {
        HRI_TRY(create_storage(grid, &grid->fields[f], grid->bands,
                               &grid->fields[f].storage));
    }
    grid->error = (hri_error){0};
    return HR_OK;
}

/* ---- moving the old values */

/* Rows of a band, with those beyond the grid's ends that only it has. Empty for
 * a band that has no rows. */
static hri_cells all_rows(const hr_grid *grid, const hri_field *field,
                          const hri_band *band)
{
    const bool empty = hri_band_is_empty(band);
    const bool first = band->first == 0 && !empty;
    const bool last = band->end == grid->extent.size[0] && !empty;
    return hri_field_rows(
        grid, field, first ? -field->sides[HRI_BEFORE][0].halo : band->first,
        band->end + (last ? field->sides[HRI_AFTER][0].halo : 0));
}

/* Copy a band's rows to their places in the new storage. */
static hr_status bring_band(hr_grid *grid, const hri_field *field,
                            uint32_t from, const hri_band *bands,
                            const hri_storage *storage)
{
    const hri_cells old = all_rows(grid, field, &grid->bands[from]);
    for (uint32_t b = 0; b < grid->band_count; b++) {
        const hri_cells now = all_rows(grid, field, &bands[b]);
        const hri_cells cells = hri_box_meet(&old, &now);
        if (!hri_box_is_empty(&cells)) {
            uint64_t bytes = 0;
            HRI_TRY(hri_copy_cells(&field->storage[from], &cells, &storage[b],
                                   0, field->components, bands[b].inner,
                                   &bytes));
            grid->state.moved_bytes += b != from ? bytes : 0;
        }
    }
    return HR_OK;
}

/* Replace the old storage of all fields by the new. */
static void replace_storage(hr_grid *grid, const hri_band *bands,
                            const hri_rows *depth, hri_storage **storage)
{
    hri_grid_forget_graph(grid);
    for (uint32_t f = 0; f < grid->field_count; f++) {
        hri_field *field = &grid->fields[f];
        hri_storage_destroy(field->storage, grid->band_count);
        field->storage = storage[f];
        field->depth = depth[f];
        field->valid = (hri_rows){{0}};
        field->ends_stale = true;
    }
    grid->full = false;
    for (uint32_t b = 0; b < grid->band_count; b++) {
        grid->bands[b].first = bands[b].first;
        grid->bands[b].end = bands[b].end;
    }
}

/* Bring a field's values to the new storage of all bands. */
static hr_status bring_bands(hr_grid *grid, const hri_field *field,
                             const hri_band *bands, hri_storage *storage)
{
    for (uint32_t b = 0; b < grid->band_count; b++) {
        HRI_TRY(bring_band(grid, field, b, bands, storage));
    }
    return HR_OK;
}

/* Make the new storage of all fields, with their values. */
static hr_status make_storage(hr_grid *grid, const hri_band *bands,
                              const hri_rows *depth, hri_storage **storage)
{
    for (uint32_t f = 0; f < grid->field_count; f++) {
        hri_field field = grid->fields[f]; /* with the new depth */
        field.depth = depth[f];
        HRI_TRY(create_storage(grid, &field, bands, &storage[f]));
        pthread_mutex_lock(&grid->context->lock);
        const hr_status status = bring_bands(grid, &field, bands, storage[f]);
        pthread_mutex_unlock(&grid->context->lock);
        HRI_TRY(status);
    }
    return HR_OK;
}

/* Give the bands other rows, and the storage other depths, and move all values.
 * On failure the grid is as it was. */
static hr_status move_values(hr_grid *grid, const hri_band *bands,
                             const hri_rows *depth)
{
    hri_storage *storage[HR_MAX_FIELDS] = {NULL};
    const hr_status status = make_storage(grid, bands, depth, storage);
    if (status != HR_OK) {
        for (uint32_t f = 0; f < grid->field_count; f++) {
            hri_storage_destroy(storage[f], grid->band_count);
        }
        return status;
    }
    replace_storage(grid, bands, depth, storage);
    return HR_OK;
}

/* ---- other rows */

static bool have_same_rows(const hr_grid *grid, const hri_band *bands)
{
    for (uint32_t b = 0; b < grid->band_count; b++) {
        if (bands[b].first != grid->bands[b].first ||
            bands[b].end != grid->bands[b].end) {
            return false;
        }
    }
    return true;
}

/* Lay out bands by these weights: as they are if they may stay, else anew. The
 * context's lock is held. */
static hr_status lay_out_again(hr_grid *grid, const double *weights,
                               hri_band *bands)
{
    HRI_TRY(hri_grid_lay_out(grid, weights, true, bands));
    return have_same_rows(grid, bands)
               ? HR_OK
               : hri_grid_lay_out(grid, weights, false, bands);
}

/* Give the bands rows by these weights. `bands` are a copy of the grid's. */
static hr_status rebalance_bands(hr_grid *grid, const double *weights,
                                 hri_band *bands)
{
    hri_rows depth[HR_MAX_FIELDS];
    pthread_mutex_lock(&grid->context->lock);
    const hr_status status = lay_out_again(grid, weights, bands);
    pthread_mutex_unlock(&grid->context->lock);
    HRI_TRY(status);
    for (uint32_t f = 0; f < grid->field_count; f++) {
        depth[f] = grid->fields[f].depth;
    }
    if (!have_same_rows(grid, bands)) {
        HRI_TRY(move_values(grid, bands, depth));
        grid->state.moves++;
    }
    grid->state.steps_per_exchange = 1; /* halos are widened again later, if
                                           bands allow it */
    return HR_OK;
}

hr_status hri_grid_rebalance(hr_grid *grid, const double *weights)
{
    hri_band *bands = calloc(grid->band_count, sizeof *bands);
    if (bands == NULL) {
        return hri_fail(HR_ERROR_OUT_OF_MEMORY, "grid: out of memory");
    }
    memcpy(bands, grid->bands, grid->band_count * sizeof *bands);
    const hr_status status = rebalance_bands(grid, weights, bands);
    free(bands);
    return status;
}

/* ---- wider halos */

hr_status hri_grid_widen(hr_grid *grid, const hr_phase *phases, size_t count,
                         uint32_t steps)
{
    hri_rows need[HR_MAX_FIELDS], room[HR_MAX_FIELDS];
    bool more = false, fits = true;
    if (steps == grid->state.steps_per_exchange && steps == 1) {
        return HR_OK;
    }
    hri_phases_need(grid, phases, count, 0, steps, need, room);
    for (uint32_t f = 0; f < grid->field_count; f++) {
        for (int s = 0; s < HRI_SIDES; s++) {
            const hri_field *field = &grid->fields[f];
            const hr_side *side = &field->sides[s][0];
            const int64_t rows = hri_max(room[f].of[s], side->halo);
            more = more || rows > field->depth.of[s];
            fits = fits &&
                   (side->halo == 0 || side->boundary != HR_BOUNDARY_PERIODIC);
            for (uint32_t b = 0; b < grid->band_count; b++) {
                const hri_band *band = &grid->bands[b];
                fits = fits && (hri_band_is_empty(band) ||
                                band->end - band->first >= rows);
            }
            room[f].of[s] = hri_max(rows, field->depth.of[s]);
        }
    }
    fits = fits && !(more && grid->full);
    if (fits && more) {
        const hr_status status = move_values(grid, grid->bands, room);
        fits = status != HR_ERROR_OUT_OF_MEMORY;
        grid->full = !fits;
        if (fits) {
            HRI_TRY(status);
        }
    }
    grid->state.steps_per_exchange = fits ? steps : 1;
    return HR_OK;
}
