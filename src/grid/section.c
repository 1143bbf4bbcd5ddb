/* SPDX-License-Identifier: MIT */
/* Copying values into a grid and out of it. */
#include <string.h>

#include "base/size.h"
#include "grid/bands.h"

static hr_status check(const hr_grid *grid, uint32_t field)
{
    return grid == NULL ? hri_fail(HR_ERROR_INVALID, "grid: the grid is NULL")
                        : hri_field_find(grid, "grid", field);
}

/* How many components a field's name stands for, and the first of them. */
static uint32_t parts_of(const hr_grid *grid, uint32_t field, uint32_t *first)
{
    const int64_t part = hri_field_part(field);
    const bool all = part == HRI_ALL_COMPONENTS;
    *first = all ? 0 : (uint32_t)part;
    return all ? grid->fields[hri_field_index(field)].components : 1;
}

static hr_status check_section(const hr_grid *grid, uint32_t field,
                               const int64_t *origin, const hr_view *view)
{
    uint32_t first;
    const uint32_t index = hri_field_index(field);
    const uint32_t count = parts_of(grid, field, &first);
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
        if (lo < 0 || lo > grid->extent.size[d] ||
            size > grid->extent.size[d] - lo) {
            return hri_fail(HR_ERROR_INVALID,
                            "grid: %lld cells from %lld on exceed dimension "
                            "%u, which has %lld",
                            (long long)size, (long long)lo, d,
                            (long long)grid->extent.size[d]);
        }
    }
    return HR_OK;
}

/* Copy between a view and a band's part of the section, of one component. */
static hr_status copy_part(const hr_grid *grid, const hri_field *f,
                           uint32_t band, int64_t component,
                           const int64_t *origin, const hr_view *view,
                           bool write)
{
    const hri_band *b = &grid->bands[band];
    int64_t at[HR_MAX_KERNEL_RANK] = {0};
    hr_extent extent = view->extent;
    hri_cells cells = {{0}, {1, 1, 1}};
    hr_view outside;
    for (uint32_t d = 0; d < extent.rank; d++) {
        cells.lo[d] = origin[d];
        cells.hi[d] = cells.lo[d] + extent.size[d];
    }
    cells.lo[0] = hri_max(cells.lo[0], b->first);
    cells.hi[0] = hri_min(cells.hi[0], b->end);
    if (cells.lo[0] >= cells.hi[0]) {
        return HR_OK;
    }
    at[0] = cells.lo[0] - origin[0];
    extent.size[0] = cells.hi[0] - cells.lo[0];
    hr_status status = hr_view_section(*view, at, extent, &outside);
    if (status != HR_OK) {
        return status;
    }
    const hr_view inside =
        hri_storage_view(&f->storage[band], &cells, component);
    return write ? hr_copy_async(outside, inside, NULL)
                 : hr_copy_async(inside, outside, NULL);
}

/* Note that values were written to rows of a field. */
static hr_status renew(hr_grid *grid, hri_field *f, int64_t first, int64_t end)
{
    hr_status status = HR_OK;
    f->valid = (hri_rows){{0}};
    f->ends_stale = true;
    pthread_mutex_lock(&grid->context->lock);
    for (uint32_t b = 0; b < grid->band_count && status == HR_OK; b++) {
        const hri_band *band = &grid->bands[b];
        status = hri_boundary_fill(grid, f, b, band->inner,
                                   hri_max(first, band->first),
                                   hri_min(end, band->end), false);
    }
    pthread_mutex_unlock(&grid->context->lock);
    return status;
}

/* Copy all components that a field's name stands for. */
static hr_status copy_parts(const hr_grid *grid, uint32_t field,
                            const int64_t *origin, const hr_view *view,
                            bool write)
{
    const hri_field *f = &grid->fields[hri_field_index(field)];
    uint32_t first;
    const uint32_t count = parts_of(grid, field, &first);
    hr_status status = HR_OK;
    for (uint32_t q = 0; q < count && status == HR_OK; q++) {
        hr_view part = *view;
        if (count > 1) {
            status = hr_view_project(*view, q, &part);
        }
        for (uint32_t b = 0; b < grid->band_count && status == HR_OK; b++) {
            status = copy_part(grid, f, b, first + q, origin, &part, write);
        }
    }
    return status;
}

static hr_status copy(hr_grid *grid, uint32_t field, const int64_t *origin,
                      const hr_view *view, bool write)
{
    static const int64_t start[HR_MAX_KERNEL_RANK] = {0};
    hr_status status = check(grid, field);
    origin = origin != NULL ? origin : start;
    if (status == HR_OK) {
        status = hri_error_raise(&grid->error);
    }
    if (status == HR_OK) {
        status = check_section(grid, field, origin, view);
    }
    if (status != HR_OK) {
        return status;
    }
    status = copy_parts(grid, field, origin, view, write);
    if (status == HR_OK && write) {
        const uint32_t lead = view->extent.rank - grid->extent.rank;
        status = renew(grid, &grid->fields[hri_field_index(field)], origin[0],
                       origin[0] + view->extent.size[lead]);
    }
    /* after a refusal or a read the grid still has its values */
    return write && status != HR_ERROR_INVALID ? hri_grid_keep(grid, status)
                                               : status;
}

hr_status hr_grid_write(hr_grid *grid, uint32_t field, const int64_t *origin,
                        hr_view from)
{
    return copy(grid, field, origin, &from, true);
}

hr_status hr_grid_read(hr_grid *grid, uint32_t field, const int64_t *origin,
                       hr_view to)
{
    return copy(grid, field, origin, &to, false);
}

/* ---- all of a field */

/* The extent of its values in the caller's memory. */
static hr_extent whole_of(const hr_grid *grid, uint32_t field)
{
    uint32_t first;
    const uint32_t count = parts_of(grid, field, &first);
    hr_extent extent = grid->extent;
    if (count > 1) {
        extent.rank++;
        extent.size[0] = count;
        memcpy(extent.size + 1, grid->extent.size,
               grid->extent.rank * sizeof extent.size[0]);
    }
    return extent;
}

static hr_status copy_all(hr_grid *grid, uint32_t field, const void *data,
                          bool write)
{
    hr_array *array = NULL;
    hr_status status = check(grid, field);
    if (status == HR_OK && data == NULL) {
        status = hri_fail(HR_ERROR_INVALID, "grid: data is NULL");
    }
    if (status == HR_OK) {
        status =
            hr_array_wrap(grid->context, data,
                          grid->fields[hri_field_index(field)].element_bytes,
                          whole_of(grid, field), 0, &array);
    }
    if (status == HR_OK && write && grid->error.status != HR_OK) {
        status = hri_grid_renew(grid);
    }
    if (status == HR_OK) {
        const hr_view view = hr_view_of(array);
        status = copy(grid, field, NULL, &view, write);
    }
    if (status == HR_OK && !write) {
        status = hri_grid_keep(grid, hr_synchronize(hr_view_of(array)));
    }
    if (status == HR_OK) { /* after a failure there is nothing to copy */
        status = hri_grid_finish(grid);
    }
    hr_array_destroy(array);
    return status;
}

hr_status hr_grid_scatter(hr_grid *grid, uint32_t field, const void *data)
{
    return copy_all(grid, field, data, true);
}

hr_status hr_grid_gather(hr_grid *grid, uint32_t field, void *data)
{
    return copy_all(grid, field, data, false);
}
