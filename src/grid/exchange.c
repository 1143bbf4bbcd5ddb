/* SPDX-License-Identifier: MIT */
/* Rows of other bands that a band holds. */
#include "base/size.h"
#include "grid/bands.h"

/* ---- copies from band to band */

hr_status hri_copy_cells(const hri_storage *from, const hri_cells *cells,
                         const hri_storage *to, int64_t shift,
                         uint32_t components, hr_queue *queue, uint64_t *bytes)
{
    hri_cells target = *cells;
    hri_boxes source = {0}, destination = {0}; /* one box each: of each row some
                                                  cells, of all components */
    target.lo[0] += shift;
    target.hi[0] += shift;
    const hr_view here = hri_storage_list(from, cells, 0, components);
    const hr_view there = hri_storage_list(to, &target, 0, components);
    hr_status status = hri_view_region(&here, &source);
    if (status == HR_OK) {
        status = hri_view_region(&there, &destination);
    }
    if (status == HR_OK) {
        *bytes += (uint64_t)hri_box_volume(&source.of[0]);
        status =
            hri_array_copy(from->array, &source.of[0], to->array,
                           hri_place_of(queue->context, queue->accelerator),
                           &destination.of[0], queue);
    }
    hri_boxes_finish(&source);
    hri_boxes_finish(&destination);
    return status;
}

/* ---- rows of bands beside */

/* Copy rows first to before end of other bands to a band. Row r goes to the
 * place of the band's row r + shift. */
static hr_status fetch(hr_grid *grid, const hri_field *f, uint32_t band,
                       int64_t first, int64_t end, int64_t shift)
{
    hr_status status = HR_OK;
    while (first < end && status == HR_OK) {
        const uint32_t owner = hri_grid_owner(grid, first);
        const int64_t stop = first < grid->bands[owner].end
                                 ? hri_min(end, grid->bands[owner].end)
                                 : end;
        const hri_cells cells = hri_field_rows(grid, f, first, stop);
        status = hri_copy_cells(&f->storage[owner], &cells, &f->storage[band],
                                shift, f->components, grid->bands[band].link,
                                &grid->state.halo_bytes);
        first = stop;
    }
    return status;
}

hr_status hri_exchange(hr_grid *grid, hri_field *f, hri_rows depth)
{
    const int64_t n = grid->extent.size[0];
    hri_rows lack;
    hr_status status = HR_OK;
    for (int s = 0; s < HRI_SIDES; s++) {
        lack.of[s] = depth.of[s] > f->valid.of[s] ? depth.of[s] : 0;
        f->valid.of[s] = hri_max(f->valid.of[s], depth.of[s]);
    }
    for (uint32_t b = 0; b < grid->band_count && status == HR_OK; b++) {
        const hri_band *band = &grid->bands[b];
        if (hri_band_is_empty(band)) {
            continue;
        }
        status =
            fetch(grid, f, b, hri_max(0, band->first - lack.of[HRI_BEFORE]),
                  band->first, 0);
        if (status == HR_OK) {
            status = fetch(grid, f, b, band->end,
                           hri_min(n, band->end + lack.of[HRI_AFTER]), 0);
        }
    }
    const bool any = lack.of[HRI_BEFORE] > 0 || lack.of[HRI_AFTER] > 0;
    grid->state.exchanges += any && hri_grid_busy(grid) > 1;
    return status;
}

/* ---- rows beyond the ends */

/* Fill rows in runs. A run has rows that follow each other and come from rows
 * that do so, too. Either all of these belong to the band or none does. */
static hr_status fill_runs(hr_grid *grid, const hri_field *f, uint32_t band,
                           int64_t first, int64_t end)
{
    hr_status status = HR_OK;
    for (int64_t row = first, run; row < end && status == HR_OK; row += run) {
        const int64_t source = hri_boundary_source(grid, f, row);
        const bool own = hri_grid_owner(grid, source) == band;
        run = 1;
        while (row + run < end &&
               hri_boundary_source(grid, f, row + run) == source + run &&
               (hri_grid_owner(grid, source + run) == band) == own) {
            run++;
        }
        status = own ? hri_boundary_fill_end(grid, f, band, row, row + run)
                     : fetch(grid, f, band, source, source + run, row - source);
    }
    return status;
}

/* Fill the rows of a band beyond an end of the grid. If all of them follow from
 * its own rows, this is one launch. */
static hr_status fill_end(hr_grid *grid, const hri_field *f, uint32_t band,
                          int side)
{
    const hri_cells *cells = &f->storage[band].cells;
    const int64_t n = grid->extent.size[0];
    const bool before = side == HRI_BEFORE;
    const int64_t first = before ? cells->lo[0] : hri_max(n, cells->lo[0]);
    const int64_t end = before ? hri_min(0, cells->hi[0]) : cells->hi[0];
    const hr_boundary rule = f->sides[side][0].boundary;
    bool own = true;
    if (rule == HR_BOUNDARY_CONSTANT || first >= end) {
        return HR_OK;
    }
    for (int64_t row = first; row < end; row++) {
        const int64_t source = hri_boundary_source(grid, f, row);
        own = own && hri_grid_owner(grid, source) == band;
    }
    if (!own) {
        return fill_runs(grid, f, band, first, end);
    }
    return rule == HR_BOUNDARY_USER /* the rows are their own sources */
               ? HR_OK
               : hri_boundary_fill_end(grid, f, band, first, end);
}

hr_status hri_exchange_ends(hr_grid *grid, hri_field *f)
{
    hr_status status = HR_OK;
    for (uint32_t b = 0; b < grid->band_count && status == HR_OK; b++) {
        for (int side = 0; side < HRI_SIDES && status == HR_OK; side++) {
            if (!hri_band_is_empty(&grid->bands[b])) {
                status = fill_end(grid, f, b, side);
            }
        }
    }
    f->ends_stale = false;
    return status;
}
