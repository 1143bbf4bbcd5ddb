/* SPDX-License-Identifier: MIT */
/* Cells beyond the ends of the grid, which each band has for its rows. */
#include "arrays/launch.h"
#include "base/size.h"
#include "grid/bands.h"
#include "grid/shell.h"

extern const hr_kernel hri_halo_fill1, hri_halo_fill2, hri_halo_fill4,
    hri_halo_fill8, hri_halo_rows;
extern const hr_kernel hri_halo_set1, hri_halo_set2, hri_halo_set4,
    hri_halo_set8;

enum { ROWS = 32 }; /* that a thread fills at once */

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
    return HR_MAX_KERNEL_RANK - grid->extent.rank + d;
}

/* A view of cells of a component in three dimensions, as units of 1 << unit
 * bytes, and its window. */
static hr_view view_units(const hr_grid *grid, const hri_storage *storage,
                          const hri_cells *cells, int64_t component, int unit,
                          hri_window *window)
{
    const hr_view v = hri_storage_view(storage, cells, component);
    const int64_t bytes = (int64_t)1 << unit;
    const int64_t units = (int64_t)v.element_bytes / bytes;
    hr_view u = v;
    u.extent = hr_extent3(1, 1, 1);
    u.element_bytes = (size_t)bytes;
    *window = (hri_window){{0, 0, 0}, {1, 1, 1}};
    for (uint32_t a = 0; a < HR_MAX_KERNEL_RANK; a++) {
        u.stride_bytes[a] = v.stride_bytes[0] * v.extent.size[0];
    }
    for (uint32_t d = 0; d < grid->extent.rank; d++) {
        const uint32_t a = axis_of(grid, d);
        const int64_t many = a + 1 == HR_MAX_KERNEL_RANK ? units : 1;
        u.extent.size[a] = v.extent.size[d] * many;
        u.stride_bytes[a] = v.stride_bytes[d];
        window->first[a] = cells->lo[d] * many;
        window->extent[a] = grid->extent.size[d] * many;
    }
    u.stride_bytes[HR_MAX_KERNEL_RANK - 1] = bytes;
    return u;
}

/* ---- values that follow from cells inside */

/* The row that gives its values to a row beyond an end. It lies inside, or is
 * the row itself where the boundary is the user's. The boundary must not be
 * constant. */
static int64_t source_of(const hr_grid *grid, const hri_field *field,
                         int64_t row)
{
    return hri_shell_source(
        field->sides[row < 0 ? HRI_BEFORE : HRI_AFTER][0].boundary,
        grid->extent.size[0], row);
}

/* The shell of all cells of a field beyond the ends, in rows first to before
 * end. */
static hri_shell shell_of(const hr_grid *grid, const hri_field *field,
                          int64_t first, int64_t end)
{
    const uint32_t rows = axis_of(grid, 0);
    hri_shell s = {.extent = {1, 1, 1}, .out = {1, 1, 1}, .hi = {1, 1, 1}};
    for (uint32_t d = 0; d < grid->extent.rank; d++) {
        const uint32_t a = axis_of(grid, d);
        s.extent[a] = s.out[a] = grid->extent.size[d];
        s.lo[a] = -field->sides[HRI_BEFORE][d].halo;
        s.hi[a] = s.extent[a] + field->sides[HRI_AFTER][d].halo;
        s.below[a] = field->sides[HRI_BEFORE][d].boundary;
        s.above[a] = field->sides[HRI_AFTER][d].boundary;
    }
    s.lo[rows] = first;
    s.hi[rows] = end;
    s.in[rows] = hri_max(s.in[rows], first);
    s.out[rows] = hri_max(hri_min(s.out[rows], end), s.in[rows]);
    return s;
}

/* The number of cells of the outer box that are not in the inner box. */
static int64_t count_of(const hri_shell *s)
{
    int64_t all = 1, inner = 1;
    for (int a = 0; a < HR_MAX_KERNEL_RANK; a++) {
        all *= s->hi[a] - s->lo[a];
        inner *= s->out[a] - s->in[a];
    }
    return all - inner;
}

/* Whether kernels on a queue may fill cells themselves, and whole rows. The
 * checker wants kernels that it can watch. */
static bool is_by_rows(const hr_grid *grid, const hr_queue *queue)
{
    return queue->accelerator->device->info.host &&
           grid->context->checker == NULL;
}

/* Fill the shell of a band's storage. The kernel reads and writes only rows lo
 * to before hi. */
static hr_status fill_shell(const hr_grid *grid, const hri_field *f,
                            uint32_t band, hr_queue *queue, hri_shell *s,
                            int64_t lo, int64_t hi)
{
    static const hr_kernel *const kernels[] = {
        &hri_halo_fill1, &hri_halo_fill2, &hri_halo_fill4, &hri_halo_fill8};
    const hri_cells cells = hri_field_rows(grid, f, lo, hi);
    const int64_t count = count_of(s);
    const bool by_rows = is_by_rows(grid, queue);
    const int unit = by_rows ? 0 : unit_of(f->element_bytes);
    hri_window windows[2];
    int64_t whole;
    if (count == 0) {
        return HR_OK;
    }
    s->units = (int64_t)(f->element_bytes >> unit);
    const hr_extent tile = hr_extent1(ROWS);
    hri_launch_box box = hri_launch_box_of(
        hr_extent1(by_rows ? hri_shell_rows(s, &whole) : count));
    box.tile = by_rows ? &tile : NULL;
    box.windows = windows;
    box.kept = grid->keeping;
    for (uint32_t q = 0; q < f->components; q++) {
        const hr_argument arguments[] = {
            hr_inout(view_units(grid, &f->storage[band], &cells, q, unit,
                                &windows[0])),
            hr_value(s, sizeof *s)};
        HRI_TRY(hri_launch_in_box(grid->context, queue,
                                  by_rows ? &hri_halo_rows : kernels[unit],
                                  &box, arguments, 2));
    }
    return HR_OK;
}

/* ---- behind kernels */

/* Whether each tile of a phase on the host has whole rows. */
static bool has_whole_rows(const hr_grid *grid, const hr_phase *phase,
                           const hri_cells *cells)
{
    const uint32_t last = grid->extent.rank - 1;
    const int64_t n = grid->extent.size[last];
    return last > 0 && cells->lo[last] == 0 && cells->hi[last] == n &&
           n <= (phase->tile.rank > 0 ? phase->tile.size[last] : HR_MAX_ITEMS);
}

/* List the indices from lo to before hi that lie beyond the ends of a dimension
 * and follow from others. False: there are too many. */
static bool list_ends(const hr_grid *grid, const hri_field *f, uint32_t d,
                      int64_t lo, int64_t hi, hri_ends *ends)
{
    const int64_t n = grid->extent.size[d];
    *ends = (hri_ends){.low = 0, .high = n};
    for (int64_t to = lo < 0 ? lo : n; to < hi; to = to == -1 ? n : to + 1) {
        const hr_side *side = &f->sides[to < 0 ? HRI_BEFORE : HRI_AFTER][d];
        if (side->boundary == HR_BOUNDARY_CONSTANT ||
            side->boundary == HR_BOUNDARY_USER) {
            continue;
        }
        if (ends->count == HRI_MAX_ENDS) {
            return false;
        }
        const int64_t from = hri_shell_source(side->boundary, n, to);
        ends->list[ends->count++] = (hri_end){to, from};
        if (from < n / 2) {
            ends->low = hri_max(ends->low, from + 1);
        } else {
            ends->high = hri_min(ends->high, from);
        }
    }
    return true;
}

/* Whether everything beyond the ends of a field follows from the rows that a
 * launch for these cells writes, or stays. */
static bool all_follows(const hr_grid *grid, const hri_field *f,
                        const hri_cells *cells)
{
    for (uint32_t d = 0; d < grid->extent.rank; d++) {
        if (d > 0 &&
            (cells->lo[d] != 0 || cells->hi[d] != grid->extent.size[d])) {
            return false;
        }
        for (int side = 0; side < HRI_SIDES; side++) {
            if (f->sides[side][d].halo != 0 &&
                f->sides[side][d].boundary == HR_BOUNDARY_USER) {
                return false;
            }
        }
    }
    return true;
}

/* List what follows from the rows of a field: ends of rows, and with `all` also
 * rows. */
static bool list_field(const hr_grid *grid, const hri_field *f, uint32_t band,
                       const hri_cells *cells, bool all, hri_written_rows *w)
{
    const uint32_t last = grid->extent.rank - 1;
    for (uint32_t d = 0; d <= last; d++) {
        int64_t lo = -f->sides[HRI_BEFORE][d].halo;
        int64_t hi = grid->extent.size[d] + f->sides[HRI_AFTER][d].halo;
        const bool wanted =
            d == last ||
            (all && (d > 0 || hri_boundary_fills_all(grid, f, cells->lo[0],
                                                     cells->hi[0])));
        if (d == 0) {
            lo = f->storage[band].cells.lo[0];
            hi = f->storage[band].cells.hi[0];
        }
        w->ends[d] = (hri_ends){.high = grid->extent.size[d]};
        if (wanted && !list_ends(grid, f, d, lo, hi, &w->ends[d])) {
            return false;
        }
    }
    return true;
}

/* The fields that a phase writes, with `all` or without. */
static bool list_fields(const hr_grid *grid, const hr_phase *phase,
                        uint32_t band, const hri_cells *cells, bool all,
                        hri_row_ends *ends)
{
    const hr_parameter *p = phase->kernel->parameters(phase->kernel);
    *ends = (hri_row_ends){.rank = grid->extent.rank, .all = all};
    for (uint32_t i = 0; i < phase->argument_count; i++) {
        const hri_field *f = hri_argument_field(grid, &phase->arguments[i]);
        hri_written_rows *w = &ends->of[ends->count];
        if (f == NULL || !hri_argument_writes(&phase->arguments[i])) {
            continue;
        }
        if ((all && !all_follows(grid, f, cells)) ||
            !list_field(grid, f, band, cells, all, w)) {
            return false;
        }
        w->argument = i;
        w->list = p[i].list;
        w->at = p[i].at;
        w->shape_at = p[i].shape_at;
        w->cell_bytes = (int64_t)f->element_bytes;
        w->first = 0;
        w->cells = grid->extent.size[grid->extent.rank - 1];
        for (uint32_t d = 0; d < grid->extent.rank; d++) {
            if (w->ends[d].count > 0) {
                ends->count++;
                break;
            }
        }
    }
    return ends->count > 0;
}

bool hri_boundary_row_ends(const hr_grid *grid, const hr_phase *phase,
                           uint32_t band, const hr_queue *queue,
                           const hri_cells *cells, hri_row_ends *ends)
{
    return is_by_rows(grid, queue) && phase->kernel->host != NULL &&
           has_whole_rows(grid, phase, cells) &&
           (list_fields(grid, phase, band, cells, true, ends) ||
            list_fields(grid, phase, band, cells, false, ends));
}

void hri_boundary_add_ends(const hri_row_ends *ends, uint32_t argument,
                           hri_cells *cells)
{
    for (uint32_t n = 0; n < ends->count; n++) {
        const hri_written_rows *w = &ends->of[n];
        for (uint32_t d = 0; d < ends->rank && w->argument == argument; d++) {
            for (uint32_t i = 0; i < w->ends[d].count; i++) {
                const int64_t to = w->ends[d].list[i].to;
                cells->lo[d] = hri_min(cells->lo[d], to);
                cells->hi[d] = hri_max(cells->hi[d], to + 1);
            }
        }
    }
}

void hri_boundary_shift_ends(hri_row_ends *ends, const int64_t *origin)
{
    for (uint32_t n = 0; n < ends->count; n++) {
        hri_written_rows *w = &ends->of[n];
        w->first += origin[ends->rank - 1];
        for (uint32_t d = 0; d < ends->rank; d++) {
            hri_ends *e = &w->ends[d];
            e->low += origin[d];
            e->high += origin[d];
            for (uint32_t i = 0; i < e->count; i++) {
                e->list[i].to += origin[d];
                e->list[i].from += origin[d];
            }
        }
    }
}

bool hri_boundary_fills_all(const hr_grid *grid, const hri_field *f,
                            int64_t first, int64_t end)
{
    const hr_side *before = &f->sides[HRI_BEFORE][0];
    const hr_side *after = &f->sides[HRI_AFTER][0];
    const bool follows =
        (before->halo > 0 && before->boundary != HR_BOUNDARY_CONSTANT) ||
        (after->halo > 0 && after->boundary != HR_BOUNDARY_CONSTANT);
    return follows && before->boundary != HR_BOUNDARY_USER &&
           after->boundary != HR_BOUNDARY_USER && first <= 0 &&
           end >= grid->extent.size[0] && hri_grid_busy_bands(grid) == 1;
}

hr_status hri_boundary_fill(hr_grid *grid, const hri_field *f, uint32_t band,
                            hr_queue *queue, int64_t first, int64_t end,
                            const hri_row_ends *done)
{
    const uint32_t a = axis_of(grid, 0), last = HR_MAX_KERNEL_RANK - 1;
    const bool all = hri_boundary_fills_all(grid, f, first, end);
    if ((!f->filled && !all) || first >= end || (done != NULL && done->all)) {
        return HR_OK;
    }
    const hri_cells *cells = &f->storage[band].cells;
    const int64_t lo = all ? cells->lo[0] : first;
    const int64_t hi = all ? cells->hi[0] : end;
    hri_shell s = shell_of(grid, f, lo, hi);
    if (!all) {
        s.in[a] = first;
        s.out[a] = end;
    }
    if (done != NULL) {
        s.in[last] = s.lo[last];
        s.out[last] = s.hi[last];
    }
    return fill_shell(grid, f, band, queue, &s, lo, hi);
}

/* Compute rows first to before end, which lie beyond an end of dimension 0,
 * from rows that the storage has. */
static hr_status fill_ends(const hr_grid *grid, const hri_field *f,
                           uint32_t band, int64_t first, int64_t end)
{
    const uint32_t a = axis_of(grid, 0);
    hri_shell s = shell_of(grid, f, first, end);
    int64_t lo = first, hi = end;
    for (int64_t row = first; row < end; row++) {
        const int64_t source = source_of(grid, f, row);
        lo = hri_min(lo, source);
        hi = hri_max(hi, source + 1);
    }
    s.in[a] = s.out[a] = first; /* the inner box is empty */
    /* with one band, all work is in one queue (replay.c) */
    hr_queue *queue = hri_grid_busy_bands(grid) > 1 ? grid->bands[band].edge
                                                    : grid->bands[band].inner;
    return fill_shell(grid, f, band, queue, &s, lo, hi);
}

/* ---- rows beyond the ends */

/* Fill rows in runs. A run has rows that follow each other and come from rows
 * that do so, too. Either all of these belong to the band or none does. */
static hr_status fill_runs(hr_grid *grid, const hri_field *f, uint32_t band,
                           int64_t first, int64_t end)
{
    for (int64_t row = first, run; row < end; row += run) {
        const int64_t source = source_of(grid, f, row);
        const bool own = hri_grid_owner(grid, source) == band;
        run = 1;
        while (row + run < end &&
               source_of(grid, f, row + run) == source + run &&
               (hri_grid_owner(grid, source + run) == band) == own) {
            run++;
        }
        HRI_TRY(own ? fill_ends(grid, f, band, row, row + run)
                    : hri_fetch_rows(grid, f, band, source, source + run,
                                     row - source));
    }
    return HR_OK;
}

/* Whether a band has all rows that give their values to these. */
static bool has_sources(const hr_grid *grid, const hri_field *f, uint32_t band,
                        int64_t first, int64_t end)
{
    for (int64_t row = first; row < end; row++) {
        if (hri_grid_owner(grid, source_of(grid, f, row)) != band) {
            return false;
        }
    }
    return true;
}

/* Fill the rows of a band beyond an end of the grid. If all of them follow from
 * its own rows, this is one launch. */
static hr_status fill_side(hr_grid *grid, const hri_field *f, uint32_t band,
                           int side)
{
    const hri_cells *cells = &f->storage[band].cells;
    const int64_t n = grid->extent.size[0];
    const bool before = side == HRI_BEFORE;
    const int64_t first = before ? cells->lo[0] : hri_max(n, cells->lo[0]);
    const int64_t end = before ? hri_min(0, cells->hi[0]) : cells->hi[0];
    const hr_boundary rule = f->sides[side][0].boundary;
    if (rule == HR_BOUNDARY_CONSTANT || first >= end) {
        return HR_OK;
    }
    if (!has_sources(grid, f, band, first, end)) {
        return fill_runs(grid, f, band, first, end);
    }
    return rule == HR_BOUNDARY_USER /* the rows are their own sources */
               ? HR_OK
               : fill_ends(grid, f, band, first, end);
}

hr_status hri_boundary_fill_ends(hr_grid *grid, hri_field *f)
{
    for (uint32_t b = 0; b < grid->band_count; b++) {
        for (int side = 0; side < HRI_SIDES; side++) {
            if (!hri_band_is_empty(&grid->bands[b])) {
                HRI_TRY(fill_side(grid, f, b, side));
            }
        }
    }
    f->ends_stale = false;
    return HR_OK;
}

/* ---- constant values */

/* Set cells to a value, which a small array holds. */
static hr_status set_cells(const hr_grid *grid, const hri_field *field,
                           const hri_storage *storage, hr_queue *queue,
                           const hri_cells *cells, int64_t component,
                           const unsigned char *value)
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
    const hr_view to =
        view_units(grid, storage, cells, component, unit, &windows[0]);
    HRI_TRY(hr_array_wrap(grid->context, value, (size_t)1 << unit,
                          hr_extent1((int64_t)units), 0, &array));
    const hr_argument arguments[] = {hr_out(to), hr_in(hr_view_of(array))};
    hri_launch_box box = hri_launch_box_of(to.extent);
    for (uint32_t a = 0; a < HR_MAX_KERNEL_RANK; a++) {
        box.domain.size[a] = windows[0].extent[a];
        box.first[a] = windows[0].first[a];
        box.end[a] = box.first[a] + to.extent.size[a];
    }
    box.windows = windows;
    pthread_mutex_lock(&grid->context->lock);
    const hr_status status = hri_launch_in_box(
        grid->context, queue, kernels[unit], &box, arguments, 2);
    pthread_mutex_unlock(&grid->context->lock);
    hr_array_destroy(array);
    return status;
}

static hr_status set_component(const hr_grid *grid, const hri_field *field,
                               const hri_storage *storage, hr_queue *queue,
                               int64_t component)
{
    HRI_TRY(set_cells(grid, field, storage, queue, &storage->cells, component,
                      field->values));
    for (uint32_t d = grid->extent.rank; d-- > 0 && field->valued;) {
        for (int side = 0; side < HRI_SIDES; side++) {
            const hr_side *x = &field->sides[side][d];
            hri_cells cells = storage->cells;
            if (side == HRI_BEFORE) {
                cells.hi[d] = hri_min(cells.hi[d], 0);
            } else {
                cells.lo[d] = hri_max(cells.lo[d], grid->extent.size[d]);
            }
            if (x->boundary == HR_BOUNDARY_CONSTANT) {
                HRI_TRY(set_cells(grid, field, storage, queue, &cells,
                                  component, x->value));
            }
        }
    }
    return HR_OK;
}

hr_status hri_boundary_set(hr_grid *grid, const hri_field *field,
                           const hri_storage *storage, hr_queue *queue)
{
    for (uint32_t q = 0; q < field->components; q++) {
        HRI_TRY(set_component(grid, field, storage, queue, q));
    }
    return HR_OK;
}
