/* SPDX-License-Identifier: MIT */
/* Cells beyond the ends of a grid. */
#include <string.h>

#include "arrays/launch.h"
#include "base/size.h"
#include "grid/bands.h"

extern const hr_kernel hri_halo_fill1, hri_halo_fill2, hri_halo_fill4,
    hri_halo_fill8;
extern const hr_kernel hri_halo_set1, hri_halo_set2, hri_halo_set4,
    hri_halo_set8;

/* The struct of kernels/dialect/halo.c. It has three dimensions; the grid's are
 * the last ones. */
typedef struct shell {
    int64_t extent[HR_MAX_RANK];
    int64_t lo[HR_MAX_RANK], in[HR_MAX_RANK];
    int64_t out[HR_MAX_RANK], hi[HR_MAX_RANK];
    int64_t below[HR_MAX_RANK], above[HR_MAX_RANK];
    int64_t units;
} shell;

/* ---- cells as units */

/* The largest unit that divides cells of so many bytes: 0 for 1 byte to 3 for
 * 8. */
static int unit_of(size_t element_bytes)
{
    int unit = 3;
    while (element_bytes % ((size_t)1 << unit) != 0) {
        unit--;
    }
    return unit;
}

static uint32_t axis_of(const hr_grid *grid, uint32_t d)
{
    return HR_MAX_RANK - grid->extent.rank + d;
}

/* A view of cells in three dimensions, and its window. */
static hr_view view_units(const hr_grid *grid, const hri_storage *storage,
                          const hri_cells *cells, hri_window *window)
{
    const hr_view v = hri_storage_view(storage, cells);
    const int64_t bytes = (int64_t)1 << unit_of(v.element_bytes);
    const int64_t units = (int64_t)v.element_bytes / bytes;
    hr_view u = v;
    u.extent = hr_extent3(1, 1, 1);
    u.element_bytes = (size_t)bytes;
    *window = (hri_window){{0, 0, 0}, {1, 1, 1}};
    for (uint32_t a = 0; a < HR_MAX_RANK; a++) {
        u.stride_bytes[a] = v.stride_bytes[0] * v.extent.size[0];
    }
    for (uint32_t d = 0; d < grid->extent.rank; d++) {
        const uint32_t a = axis_of(grid, d);
        const int64_t many = a + 1 == HR_MAX_RANK ? units : 1;
        u.extent.size[a] = v.extent.size[d] * many;
        u.stride_bytes[a] = v.stride_bytes[d];
        window->first[a] = cells->lo[d] * many;
        window->extent[a] = grid->extent.size[d] * many;
    }
    u.stride_bytes[HR_MAX_RANK - 1] = bytes;
    return u;
}

/* ---- values that follow from cells inside */

static int64_t wrap(int64_t row, int64_t period)
{
    const int64_t rest = row % period;
    return rest < 0 ? rest + period : rest;
}

int64_t hri_boundary_source(const hr_grid *grid, const hri_field *field,
                            int64_t row)
{
    const int64_t n = grid->extent.size[0];
    int64_t x;
    switch (field->sides[row < 0 ? HRI_BEFORE : HRI_AFTER][0].boundary) {
    case HR_BOUNDARY_CLAMP:
        return row < 0 ? 0 : n - 1;
    case HR_BOUNDARY_MIRROR:
        x = wrap(row, 2 * n);
        return x < n ? x : 2 * n - 1 - x;
    case HR_BOUNDARY_PERIODIC:
        return wrap(row, n);
    default: /* the user's */
        return row;
    }
}

static shell shell_of(const hr_grid *grid, const hri_field *field)
{
    shell s = {.extent = {1, 1, 1},
               .out = {1, 1, 1},
               .hi = {1, 1, 1},
               .units = (int64_t)(field->element_bytes >>
                                  unit_of(field->element_bytes))};
    for (uint32_t d = 0; d < grid->extent.rank; d++) {
        const uint32_t a = axis_of(grid, d);
        s.extent[a] = s.out[a] = grid->extent.size[d];
        s.lo[a] = -field->sides[HRI_BEFORE][d].halo;
        s.hi[a] = s.extent[a] + field->sides[HRI_AFTER][d].halo;
        s.below[a] = field->sides[HRI_BEFORE][d].boundary;
        s.above[a] = field->sides[HRI_AFTER][d].boundary;
    }
    return s;
}

/* The number of cells of the outer box that are not in the inner box. */
static int64_t count_of(const shell *s)
{
    int64_t all = 1, inner = 1;
    for (int a = 0; a < HR_MAX_RANK; a++) {
        all *= s->hi[a] - s->lo[a];
        inner *= s->out[a] - s->in[a];
    }
    return all - inner;
}

/* Fill the shell of a band's storage. The kernel reads and writes only rows lo
 * to before hi. */
static hr_status fill(const hr_grid *grid, const hri_field *f, uint32_t band,
                      hr_queue *queue, const shell *s, int64_t lo, int64_t hi)
{
    static const hr_kernel *const kernels[] = {
        &hri_halo_fill1, &hri_halo_fill2, &hri_halo_fill4, &hri_halo_fill8};
    const hri_cells cells = hri_field_rows(grid, f, lo, hi);
    const int64_t count = count_of(s);
    hri_window windows[2];
    if (count == 0) {
        return HR_OK;
    }
    const hr_argument arguments[] = {
        hr_inout(view_units(grid, &f->storage[band], &cells, &windows[0])),
        hr_value(s, sizeof *s)};
    hri_part part = hri_part_of(hr_extent1(count));
    part.windows = windows;
    part.kept = grid->keeping;
    return hri_launch_part(grid->context, queue,
                           kernels[unit_of(f->element_bytes)], &part, arguments,
                           2);
}

hr_status hri_boundary_fill(hr_grid *grid, const hri_field *f, uint32_t band,
                            hr_queue *queue, int64_t first, int64_t end)
{
    const uint32_t a = axis_of(grid, 0);
    shell s = shell_of(grid, f);
    if (!f->filled || first >= end) {
        return HR_OK;
    }
    s.lo[a] = s.in[a] = first;
    s.hi[a] = s.out[a] = end;
    return fill(grid, f, band, queue, &s, first, end);
}

hr_status hri_boundary_fill_end(hr_grid *grid, const hri_field *f,
                                uint32_t band, int64_t first, int64_t end)
{
    const uint32_t a = axis_of(grid, 0);
    shell s = shell_of(grid, f);
    int64_t lo = first, hi = end;
    for (int64_t row = first; row < end; row++) {
        const int64_t source = hri_boundary_source(grid, f, row);
        lo = hri_min(lo, source);
        hi = hri_max(hi, source + 1);
    }
    s.lo[a] = first;
    s.hi[a] = end;
    s.in[a] = s.out[a] = first; /* the inner box is empty */
    /* with one band, all work is in one queue (replay.c) */
    hr_queue *queue = hri_grid_busy(grid) > 1 ? grid->bands[band].edge
                                              : grid->bands[band].inner;
    return fill(grid, f, band, queue, &s, lo, hi);
}

/* ---- constant values */

/* Set cells to a value, which a small array holds. */
static hr_status set(const hr_grid *grid, const hri_field *field,
                     const hri_storage *storage, hr_queue *queue,
                     const hri_cells *cells, const unsigned char *value)
{
    static const hr_kernel *const kernels[] = {&hri_halo_set1, &hri_halo_set2,
                                               &hri_halo_set4, &hri_halo_set8};
    const int unit = unit_of(field->element_bytes);
    const size_t units = field->element_bytes >> unit;
    hr_array *array = NULL;
    hri_window windows[2] = {{{0}, {0}}, {{0}, {(int64_t)units}}};
    if (hri_box_is_empty(cells)) {
        return HR_OK;
    }
    const hr_view to = view_units(grid, storage, cells, &windows[0]);
    hr_status status = hr_array_wrap(grid->context, value, (size_t)1 << unit,
                                     hr_extent1((int64_t)units), 0, &array);
    if (status == HR_OK) {
        const hr_argument arguments[] = {hr_out(to), hr_in(hr_view_of(array))};
        hri_part part = hri_part_of(to.extent);
        for (uint32_t a = 0; a < HR_MAX_RANK; a++) {
            part.domain.size[a] = windows[0].extent[a];
            part.first[a] = windows[0].first[a];
            part.end[a] = part.first[a] + to.extent.size[a];
        }
        part.windows = windows;
        pthread_mutex_lock(&grid->context->lock);
        status = hri_launch_part(grid->context, queue, kernels[unit], &part,
                                 arguments, 2);
        pthread_mutex_unlock(&grid->context->lock);
    }
    hr_array_destroy(array);
    return status;
}

hr_status hri_boundary_set(hr_grid *grid, const hri_field *field,
                           const hri_storage *storage, hr_queue *queue)
{
    hr_status status =
        set(grid, field, storage, queue, &storage->cells, field->values);
    for (uint32_t d = grid->extent.rank;
         d-- > 0 && field->valued && status == HR_OK;) {
        for (int side = 0; side < HRI_SIDES && status == HR_OK; side++) {
            const hr_side *x = &field->sides[side][d];
            hri_cells cells = storage->cells;
            if (side == HRI_BEFORE) {
                cells.hi[d] = hri_min(cells.hi[d], 0);
            } else {
                cells.lo[d] = hri_max(cells.lo[d], grid->extent.size[d]);
            }
            if (x->boundary == HR_BOUNDARY_CONSTANT) {
                status = set(grid, field, storage, queue, &cells, x->value);
            }
        }
    }
    return status;
}
