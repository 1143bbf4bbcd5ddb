/* SPDX-License-Identifier: MIT */
/* Copying values into a grid and out of it. */
#include "base/size.h"
#include "grid/bands.h"

static hr_status check(const hr_grid *grid, uint32_t field)
{
    if (grid == NULL) {
        return hri_fail(HR_ERROR_INVALID, "grid: the grid is NULL");
    }
    if (field >= grid->field_count) {
        return hri_fail(HR_ERROR_INVALID,
                        "grid: field index %u is not below %u", field,
                        grid->field_count);
    }
    return HR_OK;
}

static hr_status check_section(const hr_grid *grid, uint32_t field,
                               const int64_t *origin, const hr_view *view)
{
    const uint32_t rank = grid->extent.rank;
    if (view->extent.rank != rank ||
        view->element_bytes != grid->fields[field].element_bytes) {
        return hri_fail(
            HR_ERROR_INVALID,
            "grid: the view has rank %u and elements of %zu byte%s, "
            "but field %u has rank %u and %zu",
            view->extent.rank, view->element_bytes,
            hri_plural(view->element_bytes), field, rank,
            grid->fields[field].element_bytes);
    }
    for (uint32_t d = 0; d < rank; d++) {
        const int64_t lo = origin[d];
        if (lo < 0 || lo > grid->extent.size[d] ||
            view->extent.size[d] > grid->extent.size[d] - lo) {
            return hri_fail(HR_ERROR_INVALID,
                            "grid: %lld cells from %lld on exceed dimension "
                            "%u, which has %lld",
                            (long long)view->extent.size[d], (long long)lo, d,
                            (long long)grid->extent.size[d]);
        }
    }
    return HR_OK;
}

/* Copy between a view and a band's part of the section. */
static hr_status copy_part(const hr_grid *grid, const hri_field *f,
                           uint32_t band, const int64_t *origin,
                           const hr_view *view, bool write)
{
    const hri_band *b = &grid->bands[band];
    int64_t at[HR_MAX_RANK] = {0};
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
    const hr_view inside = hri_storage_view(&f->storage[band], &cells);
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

static hr_status copy(hr_grid *grid, uint32_t field, const int64_t *origin,
                      const hr_view *view, bool write)
{
    static const int64_t start[HR_MAX_RANK] = {0};
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
    hri_field *f = &grid->fields[field];
    for (uint32_t b = 0; b < grid->band_count && status == HR_OK; b++) {
        status = copy_part(grid, f, b, origin, view, write);
    }
    if (status == HR_OK && write) {
        status = renew(grid, f, origin[0], origin[0] + view->extent.size[0]);
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

static hr_status copy_all(hr_grid *grid, uint32_t field, const void *data,
                          bool write)
{
    hr_array *array = NULL;
    hr_status status = check(grid, field);
    if (status == HR_OK && data == NULL) {
        status = hri_fail(HR_ERROR_INVALID, "grid: data is NULL");
    }
    if (status == HR_OK) {
        status = hr_array_wrap(grid->context, data,
                               grid->fields[field].element_bytes, grid->extent,
                               0, &array);
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
