/* SPDX-License-Identifier: MIT */
/* Reductions: an accelerator reduces each row to one number, and the host joins
 * the numbers of all rows. */
#include <math.h>
#include <stdlib.h>

#include "arrays/launch.h"
#include "base/size.h"
#include "grid/bands.h"

extern const hr_kernel hri_reduce_f32_rows, hri_reduce_f64_rows,
    hri_reduce_i32_rows;
extern const hr_kernel hri_reduce_f32_cells, hri_reduce_f64_cells,
    hri_reduce_i32_cells;

enum { LANES = HRI_BLOCK }; /* as in kernels/dialect/reduce.c */

struct hr_reducing {
    hr_grid *grid;
    hr_array *rows; /* one number for each row, in rank 1 for each block */
    int64_t count;
    hr_reduction reduction;
};

/* The kernel for a type and rank. NULL: there is none. */
static const hr_kernel *kernel_for(hr_type type, uint32_t rank)
{
    static const hr_kernel *const kernels[][2] = {
        [HR_F32] = {&hri_reduce_f32_rows, &hri_reduce_f32_cells},
        [HR_F64] = {&hri_reduce_f64_rows, &hri_reduce_f64_cells},
        [HR_I32] = {&hri_reduce_i32_rows, &hri_reduce_i32_cells}};
    return (size_t)type < sizeof kernels / sizeof kernels[0]
               ? kernels[type][rank == 1]
               : NULL;
}

static bool takes_two(hr_reduction reduction)
{
    return reduction >= HR_REDUCE_DOT;
}

static hr_status check_accelerators(const hr_grid *grid)
{
    for (uint32_t i = 0; i < grid->band_count; i++) {
        const hri_band *band = &grid->bands[i];
        const hri_accelerator *x =
            &grid->context->accelerators[band->accelerator];
        if (!hri_band_is_empty(band) &&
            !x->device->ops->gemm_offered(x->device, HR_F64, HR_F64,
                                          HR_COMPUTE_NATIVE)) {
            return hri_fail(HR_ERROR_UNSUPPORTED,
                            "reduce: %s cannot compute in double", x->path);
        }
    }
    return HR_OK;
}

static hr_status check(const hr_grid *grid, hr_reduction reduction,
                       hr_type type, uint32_t a, uint32_t b)
{
    if ((int)reduction < HR_REDUCE_SUM || reduction > HR_REDUCE_MAX_ABS_DIFF) {
        return hri_fail(HR_ERROR_INVALID, "reduce: unknown reduction %d",
                        (int)reduction);
    }
    if (hr_type_size(type) == 0) {
        return hri_fail(HR_ERROR_UNSUPPORTED, "reduce: unknown type %d",
                        (int)type);
    }
    if (kernel_for(type, 1) == NULL) {
        return hri_fail(HR_ERROR_UNSUPPORTED,
                        "reduce: only f32, f64 and i32 are offered, not %s",
                        hr_type_name(type));
    }
    const uint32_t fields[] = {a, b};
    for (int i = 0; i < 1 + takes_two(reduction); i++) {
        if (fields[i] >= grid->field_count) {
            return hri_fail(HR_ERROR_INVALID,
                            "reduce: field index %u is not below %u", fields[i],
                            grid->field_count);
        }
        if (grid->fields[fields[i]].element_bytes != hr_type_size(type)) {
            return hri_fail(HR_ERROR_INVALID,
                            "reduce: field %u has elements of %zu byte%s, not "
                            "%zu",
                            fields[i], grid->fields[fields[i]].element_bytes,
                            hri_plural(grid->fields[fields[i]].element_bytes),
                            hr_type_size(type));
        }
    }
    hr_status status = check_accelerators(grid);
    return status == HR_OK ? hri_error_raise(&grid->error) : status;
}

/* A view of rows first to before end of a field, without the cells beyond the
 * ends. Rank 3 becomes rank 2. */
static hr_view view_rows(const hr_grid *grid, uint32_t field, uint32_t band,
                         int64_t first, int64_t end, hri_window *window)
{
    hri_cells cells = {{first, 0, 0}, {end, 1, 1}};
    *window = (hri_window){{first, 0, 0}, {0}};
    for (uint32_t d = 1; d < grid->extent.rank; d++) {
        cells.hi[d] = grid->extent.size[d];
    }
    hr_view v = hri_storage_view(&grid->fields[field].storage[band], &cells);
    if (grid->extent.rank == 2) {
        v.extent = hr_extent3(end - first, 1, grid->extent.size[1]);
        v.stride_bytes[2] = v.stride_bytes[1];
        v.stride_bytes[1] = v.stride_bytes[0];
    }
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
    const int64_t origin[] = {first};
    const int kind = (int)r->reduction;
    const hr_extent tile = hr_extent2(1, LANES);
    hri_window windows[4] = {{{0}, {0}}};
    hr_view out;
    hr_status status = hr_view_section(hr_view_of(r->rows), origin,
                                       hr_extent1(end - first), &out);
    if (status != HR_OK) {
        return status;
    }
    windows[2] = (hri_window){{first}, {r->count}};
    const hr_argument arguments[] = {
        hr_in(view_rows(grid, a, band, x->first, x->end, &windows[0])),
        hr_in(view_rows(grid, b, band, x->first, x->end, &windows[1])),
        hr_out(out), hr_value(&kind, sizeof kind)};
    hri_part part = hri_part_of(hr_extent2(r->count, LANES));
    part.first[0] = first;
    part.end[0] = end;
    part.tile = &tile;
    part.windows = windows;
    return hri_launch_part(grid->context, x->inner,
                           kernel_for(type, grid->extent.rank), &part,
                           arguments, 4);
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
                                     hr_extent1(r->count), &r->rows);
    pthread_mutex_lock(&grid->context->lock);
    for (uint32_t i = 0; i < grid->band_count && status == HR_OK; i++) {
        if (!hri_band_is_empty(&grid->bands[i])) {
            status = launch(r, type, a, takes_two(reduction) ? b : a, i);
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

/* Join the numbers in halves, so that errors grow with the logarithm of the
 * count. */
static double join(hr_reduction reduction, const double *x, int64_t count)
{
    if (count == 1) {
        return x[0];
    }
    const int64_t half = count / 2;
    const double a = join(reduction, x, half);
    const double b = join(reduction, x + half, count - half);
    switch (reduction) {
    case HR_REDUCE_MIN:
        return b < a || isnan(b) ? b : a;
    case HR_REDUCE_MAX:
    case HR_REDUCE_MAX_ABS_DIFF:
        return b > a || isnan(b) ? b : a;
    default:
        return a + b;
    }
}

hr_status hr_grid_reduced(hr_reducing *reducing, double *value)
{
    hr_mapping mapping = {0};
    if (reducing == NULL) {
        return hri_fail(HR_ERROR_INVALID, "reduced: reducing is NULL");
    }
    hr_status status = hr_map(hr_view_of(reducing->rows), HR_IN, &mapping);
    if (status == HR_OK) {
        const double result =
            join(reducing->reduction, mapping.data, reducing->count);
        status = hr_unmap(&mapping);
        if (status == HR_OK && value != NULL) {
            *value = result;
        }
    }
    hr_array_destroy(reducing->rows);
    free(reducing);
    return status;
}
