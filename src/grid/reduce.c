/* SPDX-License-Identifier: MIT */
/* Reductions: an accelerator reduces each row to one number, and the host joins
 * the numbers of all rows. */
#include <stdlib.h>

#include "arrays/launch.h"
#include "base/size.h"
#include "calls/reduction.h"
#include "grid/bands.h"

struct hr_reducing {
    hr_grid *grid;
    hr_array *rows; /* count x 1: a number for each row, in rank 1 for each
                       block of HRI_BLOCK cells */
    int64_t count;
    hr_reduction reduction;
};

/* The types of elements that fields are reduced with. */
static bool is_offered(hr_type type)
{
    return type == HR_F32 || type == HR_F64 || type == HR_I32;
}

static hr_status check_accelerators(const hr_grid *grid)
{
    hr_status status = HR_OK;
    for (uint32_t i = 0; i < grid->band_count && status == HR_OK; i++) {
        const hri_band *band = &grid->bands[i];
        if (!hri_band_is_empty(band)) {
            status = hri_accelerator_check_double(
                &grid->context->accelerators[band->accelerator]);
        }
    }
    return status;
}

static hr_status check_field(const hr_grid *grid, hr_type type, uint32_t name)
{
    const uint32_t index = hri_field_index(name);
    const hri_field *f = &grid->fields[index];
    hr_status status = hri_field_find(grid, "reduce", name);
    if (status == HR_OK && f->components > 1 &&
        hri_field_part(name) == HRI_ALL_COMPONENTS) {
        status = hri_fail(HR_ERROR_INVALID,
                          "reduce: field %u has %u components, and one of them "
                          "is reduced at a time",
                          index, f->components);
    }
    if (status == HR_OK && f->element_bytes != hr_type_size(type)) {
        status = hri_fail(
            HR_ERROR_INVALID,
            "reduce: field %u has elements of %zu byte%s, not %zu", index,
            f->element_bytes, hri_plural(f->element_bytes), hr_type_size(type));
    }
    return status;
}

static hr_status check(const hr_grid *grid, hr_reduction reduction,
                       hr_type type, uint32_t a, uint32_t b)
{
    if ((int)reduction < HR_REDUCE_SUM || reduction > HR_REDUCE_MAX_ABS) {
        return hri_fail(HR_ERROR_INVALID,
                        reduction > HR_REDUCE_MAX_ABS &&
                                reduction <= HR_REDUCE_ARGMAX
                            ? "reduce: grids have no reduction %d"
                            : "reduce: unknown reduction %d",
                        (int)reduction);
    }
    if (hr_type_size(type) == 0) {
        return hri_fail(HR_ERROR_UNSUPPORTED, "reduce: unknown type %d",
                        (int)type);
    }
    if (!is_offered(type)) {
        return hri_fail(HR_ERROR_UNSUPPORTED,
                        "reduce: only f32, f64 and i32 are offered, not %s",
                        hr_type_name(type));
    }
    const uint32_t fields[] = {a, b};
    for (int i = 0; i < 1 + hri_reduction_takes_two(reduction); i++) {
        hr_status status = check_field(grid, type, fields[i]);
        if (status != HR_OK) {
            return status;
        }
    }
    hr_status status = check_accelerators(grid);
    return status == HR_OK ? hri_error_raise(&grid->error) : status;
}

/* A view of rows first to before end of a field, without the cells beyond the
 * ends. Rank 2 becomes rank 3. */
static hr_view view_rows(const hr_grid *grid, uint32_t field, uint32_t band,
                         int64_t first, int64_t end, hri_window *window)
{
    hri_cells cells = {{first, 0, 0}, {end, 1, 1}};
    *window = (hri_window){{first, 0, 0}, {0}};
    for (uint32_t d = 1; d < grid->extent.rank; d++) {
        cells.hi[d] = grid->extent.size[d];
    }
    const int64_t part = hri_field_part(field);
    const hr_view v = hri_view_in_space(
        hri_storage_view(&grid->fields[hri_field_index(field)].storage[band],
                         &cells, part == HRI_ALL_COMPONENTS ? 0 : part));
    for (uint32_t d = 0; d < v.extent.rank; d++) {
        window->extent[d] = v.extent.size[d];
    }
    window->extent[0] = grid->extent.size[0];
    return v;
}

static hr_status launch(const hr_reducing *r, hr_type type, uint32_t a,
                        uint32_t b, uint32_t band)
{
    const hr_grid *grid = r->grid;
    const hri_band *x = &grid->bands[band];
    const int64_t grain = hri_grid_grain(grid);
    const int64_t first = x->first / grain, end = hri_ceil_div(x->end, grain);
    const int64_t origin[] = {first, 0};
    const bool cells = grid->extent.rank == 1;
    const int64_t items = cells ? HRI_REDUCE_CELL_ITEMS : HRI_REDUCE_ITEMS;
    const hr_extent tile = hr_extent2(1, items);
    hri_window windows[4] = {{{0}, {0}}};
    hr_view out;
    hr_status status = hr_view_section(hr_view_of(r->rows), origin,
                                       hr_extent2(end - first, 1), &out);
    if (status != HR_OK) {
        return status;
    }
    hr_argument arguments[4];
    size_t n = 0;
    for (; n < 1U + hri_reduction_takes_two(r->reduction); n++) {
        arguments[n] = hr_in(view_rows(grid, n == 0 ? a : b, band, x->first,
                                       x->end, &windows[n]));
    }
    const hri_units units = {
        .kind = (int64_t)r->reduction,
        .unit = {1, windows[0].extent[1], cells ? grain : windows[0].extent[2]},
        .scale = 1};
    windows[n] = (hri_window){{first, 0}, {r->count, 1}};
    arguments[n++] = hr_out(out);
    arguments[n++] = hr_value(&units, sizeof units);
    hri_part part = hri_part_of(hr_extent2(r->count, items));
    part.first[0] = first;
    part.end[0] = end;
    part.tile = &tile;
    part.windows = windows;
    return hri_launch_part(
        grid->context, x->inner,
        hri_reduction_kernel(r->reduction, type, false, cells), &part,
        arguments, n);
}

hr_status hr_grid_reduce(hr_grid *grid, hr_reduction reduction, hr_type type,
                         uint32_t a, uint32_t b, hr_reducing **reducing)
{
    if (grid == NULL || reducing == NULL) {
        return hri_fail(HR_ERROR_INVALID, "reduce: %s is NULL",
                        grid == NULL ? "the grid" : "reducing");
    }
    hr_status status = check(grid, reduction, type, a, b);
    if (status != HR_OK) {
        return status;
    }
    hr_reducing *r = calloc(1, sizeof *r);
    if (r == NULL) {
        return hri_fail(HR_ERROR_OUT_OF_MEMORY, "reduce: out of memory");
    }
    *r = (hr_reducing){
        .grid = grid,
        .count = hri_ceil_div(grid->extent.size[0], hri_grid_grain(grid)),
        .reduction = reduction};
    /* in memory that the first accelerator copies to without blocking the
     * caller */
    status = hr_array_create_staging(hri_grid_origin(grid), sizeof(double),
                                     hr_extent2(r->count, 1), &r->rows);
    pthread_mutex_lock(&grid->context->lock);
    for (uint32_t i = 0; i < grid->band_count && status == HR_OK; i++) {
        if (!hri_band_is_empty(&grid->bands[i])) {
            status = launch(r, type, a,
                            hri_reduction_takes_two(reduction) ? b : a, i);
        }
    }
    pthread_mutex_unlock(&grid->context->lock);
    if (status == HR_OK) { /* the numbers are copied while steps go on */
        status = hr_synchronize_async(hr_view_of(r->rows), NULL);
    }
    if (status != HR_OK) {
        hr_array_destroy(r->rows);
        free(r);
        return status; /* a failure here does not change the fields */
    }
    *reducing = r;
    return HR_OK;
}

hr_status hr_grid_reduced(hr_reducing *reducing, double *value)
{
    hr_mapping mapping = {0};
    if (reducing == NULL) {
        return hri_fail(HR_ERROR_INVALID, "reduced: reducing is NULL");
    }
    hr_status status = hr_map(hr_view_of(reducing->rows), HR_IN, &mapping);
    if (status == HR_OK) {
        const double result = hri_reduction_join(reducing->reduction,
                                                 mapping.data, reducing->count);
        status = hr_unmap(&mapping);
        if (status == HR_OK && value != NULL) {
            *value = result;
        }
    }
    hr_array_destroy(reducing->rows);
    free(reducing);
    return status;
}
