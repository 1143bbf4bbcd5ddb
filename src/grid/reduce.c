/* SPDX-License-Identifier: MIT */
/* Reductions: an accelerator reduces each block of a row to one number, and the
 * host joins the numbers of all blocks in a way that does not depend on their
 * order, so that other parts of a larger grid may have some of them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "arrays/launch.h"
#include "base/arithmetic.h"
#include "base/exact.h"
#include "base/hash.h"
#include "base/matrix.h"
#include "base/size.h"
#include "calls/reduction.h"
#include "grid/bands.h"

struct hr_reducing {
    hr_grid *grid;
    hr_array *rows; /* count x row_units: a number for each block of each row,
                       in rank 1 for each block */
    int64_t count, row_units;
    hr_reduction reduction;
};

static hr_status check_accelerators(const hr_grid *grid)
{
    for (uint32_t i = 0; i < grid->band_count; i++) {
        const hri_band *band = &grid->bands[i];
        if (!hri_band_is_empty(band)) {
            HRI_TRY(hri_accelerator_check_double(
                &grid->context->accelerators[band->accelerator]));
        }
    }
    return HR_OK;
}

static hr_status check_field(const hr_grid *grid, hr_type type, uint32_t name)
{
    const uint32_t index = hri_field_index(name);
    const hri_field *f = &grid->fields[index];
    HRI_TRY(hri_field_find(grid, "reduce", name));
    if (f->components > 1 && hri_component_index(name) == HRI_ALL_COMPONENTS) {
        return hri_fail(HR_ERROR_INVALID,
                        "reduce: field %u has %u components, and one of them "
                        "is reduced at a time",
                        index, f->components);
    }
    if (f->element_bytes != hr_type_size(type)) {
        return hri_fail(HR_ERROR_INVALID,
                        "reduce: field %u has elements of %zu byte%s, not %zu",
                        index, f->element_bytes, hri_plural(f->element_bytes),
                        hr_type_size(type));
    }
    return HR_OK;
}

static hr_status check_reduction(const hr_grid *grid, hr_reduction reduction,
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
    HRI_TRY(hri_type_check("reduce", NULL, type));
    if (reduction == HR_REDUCE_PRODUCT && hri_grid_is_part(grid)) {
        return hri_fail(HR_ERROR_UNSUPPORTED,
                        "reduce: products of a grid in parts are not offered");
    }
    if (type != HR_F32 && type != HR_F64 && type != HR_I32) {
        return hri_fail(HR_ERROR_UNSUPPORTED,
                        "reduce: only f32, f64 and i32 are offered, not %s",
                        hr_type_name(type));
    }
    const uint32_t fields[] = {a, b};
    for (int i = 0; i < 1 + hri_reduction_takes_two(reduction); i++) {
        HRI_TRY(check_field(grid, type, fields[i]));
    }
    HRI_TRY(check_accelerators(grid));
    return hri_error_raise(&grid->error);
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
    const int64_t component = hri_component_index(field);
    const hr_view v = hri_view_in_space(hri_storage_view(
        &grid->fields[hri_field_index(field)].storage[band], &cells,
        component == HRI_ALL_COMPONENTS ? 0 : component));
    for (uint32_t d = 0; d < v.extent.rank; d++) {
        window->extent[d] = v.extent.size[d];
    }
    window->extent[0] = grid->extent.size[0];
    return v;
}

/* The block of a grid, in the kernel's three dimensions, and how many blocks a
 * row has. */
static hri_unit unit_of(const hr_grid *grid, int64_t *row_units)
{
    const int64_t *size = grid->extent.size;
    hri_unit unit = {1, 1, HR_GRID_BLOCK1};
    *row_units = 1;
    if (grid->extent.rank == 2) {
        unit.cols = HR_GRID_BLOCK2;
        *row_units = hri_ceil_div(size[1], unit.cols);
    } else if (grid->extent.rank == 3) {
        unit.lines = HR_GRID_BLOCK3_LINES;
        unit.cols = HR_GRID_BLOCK3;
        *row_units = hri_ceil_div(size[1], unit.lines) *
                     hri_ceil_div(size[2], unit.cols);
    }
    return unit;
}

static hr_status reduce_band(const hr_reducing *r, hr_type type, uint32_t a,
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
    HRI_TRY(hr_view_section(hr_view_of(r->rows), origin,
                            hr_extent2(end - first, r->row_units), &out));
    hr_argument arguments[4];
    size_t n = 0;
    for (; n < 1U + hri_reduction_takes_two(r->reduction); n++) {
        arguments[n] = hr_in(view_rows(grid, n == 0 ? a : b, band, x->first,
                                       x->end, &windows[n]));
    }
    int64_t row_units;
    const hri_units units = {.kind = (int64_t)r->reduction,
                             .unit = unit_of(grid, &row_units),
                             .scale = 1};
    windows[n] = (hri_window){{first, 0}, {r->count, row_units}};
    arguments[n++] = hr_out(out);
    arguments[n++] = hr_value(&units, sizeof units);
    hri_launch_box box =
        hri_launch_box_of(hr_extent2(r->count, items * row_units));
    box.first[0] = first;
    box.end[0] = end;
    box.tile = &tile;
    box.windows = windows;
    return hri_launch_in_box(
        grid->context, x->inner,
        hri_reduction_kernel(r->reduction, type, false, cells), &box, arguments,
        n);
}

/* The context's lock is held. */
static hr_status reduce_bands(hr_reducing *r, hr_type type, uint32_t a,
                              uint32_t b)
{
    for (uint32_t i = 0; i < r->grid->band_count; i++) {
        if (!hri_band_is_empty(&r->grid->bands[i])) {
            HRI_TRY(reduce_band(r, type, a, b, i));
        }
    }
    return HR_OK;
}

static void discard(hr_reducing *r)
{
    if (r != NULL) {
        hr_array_destroy(r->rows);
    }
    free(r);
}

static hr_status enqueue_reduction(hr_grid *grid, hr_reduction reduction,
                                   hr_type type, uint32_t a, uint32_t b,
                                   hr_reducing **reducing)
{
    hr_reducing *r = *reducing = calloc(1, sizeof *r);
    if (r == NULL) {
        return hri_fail(HR_ERROR_OUT_OF_MEMORY, "reduce: out of memory");
    }
    *r = (hr_reducing){
        .grid = grid,
        .count = hri_ceil_div(grid->extent.size[0], hri_grid_grain(grid)),
        .reduction = reduction};
    (void)unit_of(grid, &r->row_units);
    /* in memory that the first accelerator copies to without blocking the
     * caller */
    HRI_TRY(hr_array_create_staging(hri_grid_first_queue(grid), sizeof(double),
                                    hr_extent2(r->count, r->row_units),
                                    &r->rows));
    pthread_mutex_lock(&grid->context->lock);
    const hr_status status =
        reduce_bands(r, type, a, hri_reduction_takes_two(reduction) ? b : a);
    pthread_mutex_unlock(&grid->context->lock);
    HRI_TRY(status);
    /* the numbers are copied while steps go on */
    return hr_synchronize_async(hr_view_of(r->rows), NULL);
}

hr_status hr_grid_reduce(hr_grid *grid, hr_reduction reduction, hr_type type,
                         uint32_t a, uint32_t b, hr_reducing **reducing)
{
    HRI_USUAL_ARITHMETIC;
    if (grid == NULL || reducing == NULL) {
        return hri_fail(HR_ERROR_INVALID, "reduce: %s is NULL",
                        grid == NULL ? "the grid" : "reducing");
    }
    hr_reducing *r = NULL;
    hr_status status = check_reduction(grid, reduction, type, a, b);
    if (status == HR_OK) { /* the parts agree in any case */
        status = enqueue_reduction(grid, reduction, type, a, b, &r);
    }
    const int64_t asked[] = {(int64_t)reduction, (int64_t)type, a, b};
    const int64_t hash =
        (int64_t)(hri_hash(HRI_HASH_INIT, asked, sizeof asked) & INT64_MAX);
    hri_agreement all = {{0}, {hash, -hash}};
    status = hri_grid_agree(grid, status, &all);
    if (status == HR_OK && all.least[0] != -all.least[1]) {
        status = hri_fail(HR_ERROR_INVALID,
                          "reduce: the parts were given different reductions, "
                          "types or fields");
    }
    if (status != HR_OK) {
        discard(r);
        return status; /* a failure here does not change the fields */
    }
    *reducing = r;
    return HR_OK;
}

/* ---- joining */

/* The order of doubles as that of integers, with NaN above all. */
static int64_t key_of(double x)
{
    int64_t bits;
    x += 0.0; /* no -0 */
    memcpy(&bits, &x, sizeof bits);
    return isnan(x) ? INT64_MAX : bits >= 0 ? bits : INT64_MIN - bits - 1;
}

static double of_key(int64_t key)
{
    const int64_t bits = key >= 0 ? key : INT64_MIN - key - 1;
    double x;
    memcpy(&x, &bits, sizeof x);
    return key == INT64_MAX ? NAN : x;
}

/* The least or the largest of all numbers, of all parts. */
static hr_status join_extreme(const hr_reducing *r, const double *x,
                              double *value)
{
    const double sign = r->reduction == HR_REDUCE_MIN ? -1 : 1;
    const hr_grid_part *part = &r->grid->part;
    int64_t key = key_of(
        sign * hri_reduction_join(r->reduction, x, r->count * r->row_units));
    if (hri_grid_is_part(r->grid)) {
        HRI_TRY(part->join(part->data, &key, 1, true));
    }
    *value = sign * of_key(key) + 0.0;
    return HR_OK;
}

/* The sum of all numbers, of all parts. */
static hr_status join_sum(const hr_reducing *r, const double *x, double *value)
{
    hri_exact sum = {{0}};
    const hr_grid_part *part = &r->grid->part;
    hri_exact_add(&sum, x, r->count * r->row_units);
    if (hri_grid_is_part(r->grid)) {
        HRI_TRY(part->join(part->data, sum.numbers, HRI_EXACT_NUMBERS, false));
    }
    *value = hri_exact_value(&sum);
    return HR_OK;
}

static hr_status join_numbers(const hr_reducing *r, const double *x,
                              double *value)
{
    switch (r->reduction) {
    case HR_REDUCE_SUM:
    case HR_REDUCE_SUM_ABS:
    case HR_REDUCE_DOT:
    case HR_REDUCE_DISTANCE:
        return join_sum(r, x, value);
    case HR_REDUCE_PRODUCT:
        *value = hri_reduction_join(r->reduction, x, r->count * r->row_units);
        return HR_OK;
    default:
        return join_extreme(r, x, value);
    }
}

hr_status hr_grid_reduced(hr_reducing *reducing, double *value)
{
    HRI_USUAL_ARITHMETIC;
    hr_mapping mapping = {0};
    double result = 0;
    if (reducing == NULL) {
        return hri_fail(HR_ERROR_INVALID, "reduced: reducing is NULL");
    }
    hr_status status = hr_map(hr_view_of(reducing->rows), HR_IN, &mapping);
    const bool mapped = status == HR_OK;
    status = hri_grid_agree(reducing->grid, status, NULL);
    if (status == HR_OK) {
        status = join_numbers(reducing, mapping.data, &result);
    }
    if (mapped) { /* after HR_IN nothing goes back, and all have agreed */
        const hr_status unmapped = hr_unmap(&mapping);
        (void)unmapped;
    }
    if (status == HR_OK && value != NULL) {
        *value = result;
    }
    discard(reducing);
    return status;
}
