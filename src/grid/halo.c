/* SPDX-License-Identifier: MIT */
/* Halos: the rows of other bands that a band holds beside its own. */
#include "arrays/array.h"
#include "base/size.h"
#include "grid/bands.h"

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
    hr_status status = hri_view_boxes(&here, &source);
    if (status != HR_OK) {
        goto done;
    }
    status = hri_view_boxes(&there, &destination);
    if (status != HR_OK) {
        goto done;
    }
    *bytes += (uint64_t)hri_box_volume(&source.of[0]);
    status = hri_array_copy(from->array, &source.of[0], to->array,
                            hri_place_of(queue->context, queue->accelerator),
                            &destination.of[0], queue);
done:
    hri_boxes_finish(&source);
    hri_boxes_finish(&destination);
    return status;
}

hr_status hri_fetch_rows(hr_grid *grid, const hri_field *f, uint32_t band,
                         int64_t first, int64_t end, int64_t shift)
{
    while (first < end) {
        const uint32_t owner = hri_grid_owner(grid, first);
        const int64_t stop = first < grid->bands[owner].end
                                 ? hri_min(end, grid->bands[owner].end)
                                 : end;
        const hri_cells cells = hri_field_rows(grid, f, first, stop);
        HRI_TRY(hri_copy_cells(&f->storage[owner], &cells, &f->storage[band],
                               shift, f->components, grid->bands[band].link,
                               &grid->state.halo_bytes));
        first = stop;
    }
    return HR_OK;
}

hr_status hri_exchange_rows(hr_grid *grid, hri_field *f, hri_rows depth)
{
    const int64_t n = grid->extent.size[0];
    hri_rows lack;
    for (int s = 0; s < HRI_SIDES; s++) {
        lack.of[s] = depth.of[s] > f->valid.of[s] ? depth.of[s] : 0;
        f->valid.of[s] = hri_max(f->valid.of[s], depth.of[s]);
    }
    for (uint32_t b = 0; b < grid->band_count; b++) {
        const hri_band *band = &grid->bands[b];
        if (hri_band_is_empty(band)) {
            continue;
        }
        HRI_TRY(hri_fetch_rows(grid, f, b,
                               hri_max(0, band->first - lack.of[HRI_BEFORE]),
                               band->first, 0));
        HRI_TRY(hri_fetch_rows(grid, f, b, band->end,
                               hri_min(n, band->end + lack.of[HRI_AFTER]), 0));
    }
    const bool any = lack.of[HRI_BEFORE] > 0 || lack.of[HRI_AFTER] > 0;
    grid->state.exchanges += any && hri_grid_busy_bands(grid) > 1;
    return HR_OK;
}
