/* SPDX-License-Identifier: MIT */
/* Rows that bands have of others. */
#include "base/size.h"
#include "grid/bands.h"
#include "grid/halo.h"

/* ---- copies from band to band */

/* The box of cells of a band's storage: they are some of each row, so there is
 * one. */
static hr_status box_of(const hr_grid *grid, const hri_field *field,
                        const hri_storage *storage, const hri_cells *cells,
                        hri_boxes *boxes)
{
    const hr_view view = hri_storage_view(grid, field, storage, cells);
    bool linear;
    return hri_view_region(&view, boxes, &linear);
}

hr_status hri_copy_cells(hr_grid *grid, const hri_field *field,
                         const hri_storage *from, const hri_cells *cells,
                         const hri_storage *to, int64_t shift, hr_queue *queue,
                         uint64_t *bytes)
{
    hri_cells target = *cells;
    hri_boxes source = {0}, destination = {0};
    target.lo[0] += shift;
    target.hi[0] += shift;
    hr_status status = box_of(grid, field, from, cells, &source);
    if (status == HR_OK) {
        status = box_of(grid, field, to, &target, &destination);
    }
    if (status == HR_OK) {
        *bytes += (uint64_t)hri_box_volume(&source.of[0]);
        status = hri_array_copy(from->array, &source.of[0], to->array,
                                hri_place_of(grid->context, queue->accelerator),
                                &destination.of[0], queue);
    }
    hri_boxes_finish(&source);
    hri_boxes_finish(&destination);
    return status;
}

/* ---- rows of bands beside */

/* Copy rows first to before end of other bands to a band, where they are
 * `shift` rows further on. */
static hr_status fetch(hr_grid *grid, uint32_t field, uint32_t band,
                       int64_t first, int64_t end, int64_t shift)
{
    const hri_field *f = &grid->fields[field];
    hr_status status = HR_OK;
    while (first < end && status == HR_OK) {
        const uint32_t owner = hri_grid_owner(grid, first);
        const int64_t stop = first < grid->bands[owner].end
                                 ? hri_min(end, grid->bands[owner].end)
                                 : end;
        const hri_cells cells = hri_field_rows(grid, f, first, stop);
        status = hri_copy_cells(
            grid, f, &f->storage[owner], &cells, &f->storage[band], shift,
            grid->bands[band].link, &grid->state.halo_bytes);
        first = stop;
    }
    return status;
}

hr_status hri_exchange(hr_grid *grid, uint32_t field, hri_rows depth)
{
    hri_field *f = &grid->fields[field];
    const int64_t n = grid->extent.size[0];
    const bool before = depth.of[HRI_BEFORE] > f->valid[HRI_BEFORE];
    const bool after = depth.of[HRI_AFTER] > f->valid[HRI_AFTER];
    hr_status status = HR_OK;
    for (uint32_t b = 0; b < grid->band_count && status == HR_OK; b++) {
        const hri_band *band = &grid->bands[b];
        if (hri_band_is_empty(band)) {
            continue;
        }
        if (before) {
            status = fetch(grid, field, b,
                           hri_max(0, band->first - depth.of[HRI_BEFORE]),
                           band->first, 0);
        }
        if (after && status == HR_OK) {
            status = fetch(grid, field, b, band->end,
                           hri_min(n, band->end + depth.of[HRI_AFTER]), 0);
        }
    }
    for (int s = 0; s < HRI_SIDES; s++) {
        f->valid[s] = hri_max(f->valid[s], depth.of[s]);
    }
    grid->state.exchanges += (before || after) && hri_grid_busy(grid) > 1;
    return status;
}

/* ---- rows beyond the ends */

/* Where rows beyond an end of the grid that a band has come from. */
typedef struct end {
    int64_t first, end;
    bool any;  /* they come from anywhere */
    bool own;  /* all of them from rows of the band */
    bool kept; /* the band has them itself: its own boundary */
} end;

static end end_of(const hr_grid *grid, const hri_field *field, uint32_t band,
                  int side)
{
    const int64_t n = grid->extent.size[0];
    const hri_cells *cells = &field->storage[band].cells;
    end e = {.own = true, .kept = true};
    e.first = side == HRI_BEFORE ? cells->lo[0] : hri_max(n, cells->lo[0]);
    e.end = side == HRI_BEFORE ? hri_min(0, cells->hi[0]) : cells->hi[0];
    for (int64_t row = e.first; row < e.end; row++) {
        int64_t source = 0;
        if (hri_boundary_source(grid, field, row, &source)) {
            const bool ours = hri_grid_owner(grid, source) == band;
            e.any = true;
            e.own = e.own && ours;
            e.kept = e.kept && ours && source == row;
        }
    }
    return e;
}

/* Fill them one run at a time: rows that follow each other and come from rows
 * that do too, all of the band itself or none. */
static hr_status fetch_end(hr_grid *grid, uint32_t field, uint32_t band,
                           const end *e)
{
    const hri_field *f = &grid->fields[field];
    hr_status status = HR_OK;
    for (int64_t row = e->first; row < e->end && status == HR_OK;) {
        int64_t source = 0, next = 0, run = 1;
        if (hri_boundary_source(grid, f, row, &source)) {
            const bool own = hri_grid_owner(grid, source) == band;
            while (row + run < e->end &&
                   hri_boundary_source(grid, f, row + run, &next) &&
                   next == source + run &&
                   (hri_grid_owner(grid, next) == band) == own) {
                run++;
            }
            status =
                own ? hri_boundary_fill_end(grid, field, band, row, row + run)
                    : fetch(grid, field, band, source, source + run,
                            row - source);
        }
        row += run;
    }
    return status;
}

hr_status hri_exchange_ends(hr_grid *grid, uint32_t field)
{
    hri_field *f = &grid->fields[field];
    hr_status status = HR_OK;
    for (uint32_t b = 0; b < grid->band_count && status == HR_OK; b++) {
        for (int side = 0; side < HRI_SIDES && status == HR_OK; side++) {
            if (hri_band_is_empty(&grid->bands[b])) {
                continue;
            }
            const end e = end_of(grid, f, b, side);
            if (e.any && !e.kept) {
                status = e.own ? hri_boundary_fill_end(grid, field, b, e.first,
                                                       e.end)
                               : fetch_end(grid, field, b, &e);
            }
        }
    }
    f->ends_stale = false;
    return status;
}
