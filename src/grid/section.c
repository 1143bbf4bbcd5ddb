/* SPDX-License-Identifier: MIT */
/* Copying values into a grid and out of it. */
#include <string.h>

#include "base/arithmetic.h"
#include "base/size.h"
#include "grid/bands.h"

static hr_status check_field(const hr_grid *grid, uint32_t field)
{
    return grid == NULL ? hri_fail(HR_ERROR_INVALID, "grid: the grid is NULL")
                        : hri_field_find(grid, "grid", field);
}

/* How many components a field's name stands for, and the first of them. */
static uint32_t components_of(const hr_grid *grid, uint32_t field,
                              uint32_t *first)
{
    const int64_t component = hri_component_index(field);
    const bool all = component == HRI_ALL_COMPONENTS;
    *first = all ? 0 : (uint32_t)component;
    return all ? grid->fields[hri_field_index(field)].components : 1;
}

/* How many cells beyond a side sections may have: those that follow from no
 * others. */
static int64_t beyond(const hri_field *f, int side, uint32_t d)
{
    const hr_side *s = &f->sides[side][d];
    return s->boundary == HR_BOUNDARY_USER ? s->halo : 0;
}

static hr_status check_section(const hr_grid *grid, uint32_t field,
                               const int64_t *origin, const hr_view *view)
{
    uint32_t first;
    const uint32_t index = hri_field_index(field);
    const uint32_t count = components_of(grid, field, &first);
    const uint32_t lead = count > 1 ? 1 : 0, rank = grid->extent.rank;
    const size_t bytes = grid->fields[index].element_bytes;
    if (view->extent.rank != rank + lead || view->element_bytes != bytes) {
        return hri_fail(
            HR_ERROR_INVALID,
            "grid: the view has rank %u and elements of %zu byte%s, "
            "but field %u has rank %u and %zu",
            view->extent.rank, view->element_bytes,
            hri_plural(view->element_bytes), index, rank + lead, bytes);
    }
    if (lead > 0 && view->extent.size[0] != count) {
        return hri_fail(HR_ERROR_INVALID,
                        "grid: the view has %lld components, but field %u has "
                        "%u",
                        (long long)view->extent.size[0], index, count);
    }
    for (uint32_t d = 0; d < rank; d++) {
        const int64_t lo = origin[d], size = view->extent.size[d + lead];
        const int64_t least = -beyond(&grid->fields[index], HRI_BEFORE, d);
        const int64_t most =
            grid->extent.size[d] + beyond(&grid->fields[index], HRI_AFTER, d);
        const int64_t from = grid->part.origin[d] + lo;
        if (lo < least || lo > most || size > most - lo) {
            return hri_fail(HR_ERROR_INVALID,
                            hri_grid_is_part(grid)
                                ? "grid: %lld cells from %lld on exceed "
                                  "dimension %u, of which the part has %lld "
                                  "from %lld on"
                                : "grid: %lld cells from %lld on exceed "
                                  "dimension %u, which has %lld",
                            (long long)size, (long long)from, d,
                            (long long)grid->extent.size[d],
                            (long long)grid->part.origin[d]);
        }
    }
    return HR_OK;
}

/* The rows of a band that lie in these rows. Rows beyond the ends belong to the
 * first and the last band. */
static hri_cells meet_rows(const hr_grid *grid, uint32_t band, int64_t first,
                           int64_t end)
{
    const hri_band *b = &grid->bands[band];
    hri_cells cells = {{hri_max(first, b->first), 0, 0},
                       {hri_min(end, b->end), 1, 1}};
    if (hri_band_is_empty(b)) {
        cells.hi[0] = cells.lo[0];
        return cells;
    }
    if (b->first == 0 && first < 0) {
        cells.lo[0] = first;
    }
    if (b->end == grid->extent.size[0] && end > b->end) {
        cells.hi[0] = end;
    }
    return cells;
}

/* Copy between a view and a band's part of the section, of one component. */
static hr_status copy_component(const hr_grid *grid, const hri_field *f,
                                uint32_t band, int64_t component,
                                const int64_t *origin, const hr_view *view,
                                bool write)
{
    int64_t at[HR_MAX_KERNEL_RANK] = {0};
    hr_extent extent = view->extent;
    hri_cells cells =
        meet_rows(grid, band, origin[0], origin[0] + extent.size[0]);
    hr_view outside;
    if (cells.lo[0] >= cells.hi[0]) {
        return HR_OK;
    }
    for (uint32_t d = 1; d < extent.rank; d++) {
        cells.lo[d] = origin[d];
        cells.hi[d] = cells.lo[d] + extent.size[d];
    }
    at[0] = cells.lo[0] - origin[0];
    extent.size[0] = cells.hi[0] - cells.lo[0];
    HRI_TRY(hr_view_section(*view, at, extent, &outside));
    const hr_view inside =
        hri_storage_view(&f->storage[band], &cells, component);
    return write ? hr_copy_async(outside, inside, NULL)
                 : hr_copy_async(inside, outside, NULL);
}

/* Fill cells beyond the ends that follow from rows first to before end. The
 * context's lock is held. */
static hr_status fill_sides(hr_grid *grid, const hri_field *f, int64_t first,
                            int64_t end)
{
    for (uint32_t b = 0; b < grid->band_count; b++) {
        const hri_cells rows = meet_rows(grid, b, first, end);
        HRI_TRY(hri_boundary_fill(grid, f, b, grid->bands[b].inner, rows.lo[0],
                                  rows.hi[0], NULL));
    }
    return HR_OK;
}

/* Note that values of a view were written to a field, and fill the cells beyond
 * the ends that follow from them. */
static hr_status renew_sides(hr_grid *grid, hri_field *f, const int64_t *origin,
                             const hr_view *view)
{
    const int64_t *size =
        view->extent.size + (view->extent.rank - grid->extent.rank);
    bool inside = true; /* some cells are not beyond a side */
    const int64_t end = origin[0] + size[0];
    for (uint32_t d = 0; d < grid->extent.rank; d++) {
        inside = inside && origin[d] < grid->extent.size[d] &&
                 origin[d] + size[d] > 0;
    }
    if (end > 0 && origin[0] < grid->extent.size[0]) {
        f->valid = (hri_rows){{0}};
    }
    f->ends_stale = true;
    f->far_stale = f->far_stale || inside;
    pthread_mutex_lock(&grid->context->lock);
    const hr_status status = fill_sides(grid, f, origin[0], end);
    pthread_mutex_unlock(&grid->context->lock);
    return status;
}

/* Copy all components that a field's name stands for. */
static hr_status copy_components(const hr_grid *grid, uint32_t field,
                                 const int64_t *origin, const hr_view *view,
                                 bool write)
{
    const hri_field *f = &grid->fields[hri_field_index(field)];
    uint32_t first;
    const uint32_t count = components_of(grid, field, &first);
    for (uint32_t q = 0; q < count; q++) {
        hr_view one = *view;
        if (count > 1) {
            HRI_TRY(hr_view_project(*view, q, &one));
        }
        for (uint32_t b = 0; b < grid->band_count; b++) {
            HRI_TRY(copy_component(grid, f, b, first + q, origin, &one, write));
        }
    }
    return HR_OK;
}

static hr_status copy_section(hr_grid *grid, uint32_t field,
                              const int64_t *from, const hr_view *view,
                              bool write)
{
    int64_t origin[HR_MAX_KERNEL_RANK] = {0}; /* in the part */
    HRI_TRY(check_field(grid, field));
    for (uint32_t d = 0; d < grid->extent.rank && from != NULL; d++) {
        origin[d] = from[d] - grid->part.origin[d];
    }
    HRI_TRY(hri_error_raise(&grid->error));
    HRI_TRY(check_section(grid, field, origin, view));
    hr_status status = copy_components(grid, field, origin, view, write);
    if (status == HR_OK && write) {
        status = renew_sides(grid, &grid->fields[hri_field_index(field)],
                             origin, view);
    }
    /* after a refusal or a read the grid still has its values */
    return write && status != HR_ERROR_INVALID
               ? hri_grid_keep_error(grid, status)
               : status;
}

hr_status hr_grid_write(hr_grid *grid, uint32_t field, const int64_t *origin,
                        hr_view from)
{
    HRI_USUAL_ARITHMETIC;
    return copy_section(grid, field, origin, &from, true);
}

hr_status hr_grid_read(hr_grid *grid, uint32_t field, const int64_t *origin,
                       hr_view to)
{
    HRI_USUAL_ARITHMETIC;
    return copy_section(grid, field, origin, &to, false);
}

/* ---- all of a field */

/* The extent of its values in the caller's memory. */
static hr_extent whole_of(const hr_grid *grid, uint32_t field)
{
    uint32_t first;
    const uint32_t count = components_of(grid, field, &first);
    hr_extent extent = grid->extent;
    if (count > 1) {
        extent.rank++;
        extent.size[0] = count;
        memcpy(extent.size + 1, grid->extent.size,
               grid->extent.rank * sizeof extent.size[0]);
    }
    return extent;
}

static hr_status copy_view(hr_grid *grid, uint32_t field, const hr_view *view,
                           bool write)
{
    if (write && grid->error.status != HR_OK) {
        HRI_TRY(hri_grid_renew(grid));
    }
    HRI_TRY(copy_section(grid, field, NULL, view, write));
    if (!write) {
        HRI_TRY(hri_grid_keep_error(grid, hr_synchronize(*view)));
    }
    return hri_grid_finish(grid);
}

static hr_status copy_all(hr_grid *grid, uint32_t field, const void *data,
                          bool write)
{
    hr_array *array = NULL;
    HRI_TRY(check_field(grid, field));
    if (data == NULL) {
        return hri_fail(HR_ERROR_INVALID, "grid: data is NULL");
    }
    HRI_TRY(hr_array_wrap(grid->context, data,
                          grid->fields[hri_field_index(field)].element_bytes,
                          whole_of(grid, field), 0, &array));
    const hr_view view = hr_view_of(array);
    const hr_status status = copy_view(grid, field, &view, write);
    hr_array_destroy(array);
    return status;
}

hr_status hr_grid_scatter(hr_grid *grid, uint32_t field, const void *data)
{
    HRI_USUAL_ARITHMETIC;
    return copy_all(grid, field, data, true);
}

hr_status hr_grid_gather(hr_grid *grid, uint32_t field, void *data)
{
    HRI_USUAL_ARITHMETIC;
    return copy_all(grid, field, data, false);
}
