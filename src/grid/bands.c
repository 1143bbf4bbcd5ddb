/* SPDX-License-Identifier: MIT */
/* Bands: which rows each of them has, and how their cells are stored. */
#include "grid/bands.h"

#include <stdlib.h>

#include "base/size.h"
#include "distribute/distribute.h"

/* ---- storage */

/* The grain, in elements. Rows are a multiple of it, and so are the elements
 * before the first cell inside, which thus starts a cache line. The grain is
 * smaller when rows would be longer by more than an eighth. */
static int64_t line_grain(const hri_field *field, int64_t cells)
{
    const int64_t bytes = (int64_t)field->element_bytes;
    const int64_t power = bytes & -bytes; /* the largest power of two that
                                             divides bytes */
    int64_t grain = HRI_LINE_BYTES / hri_min(HRI_LINE_BYTES, power);
    while (grain > 1 && 2 * grain > cells / 8) {
        grain /= 2;
    }
    return grain;
}

/* Find where the first of a row's cells lies in storage, and the length of the
 * row, in elements. Halo cells count. */
static void measure_row(const hr_grid *grid, const hri_field *field,
                        int64_t cells, int64_t *lead, int64_t *pitch)
{
    const uint32_t last = grid->extent.rank - 1;
    const int64_t grain = line_grain(field, cells);
    const int64_t before = last > 0 ? field->sides[HRI_BEFORE][last].halo : 0;
    *lead = hri_round_up(before, grain) - before;
    *pitch = hri_round_up(*lead + cells, grain);
}

hri_cells hri_field_rows(const hr_grid *grid, const hri_field *field,
                         int64_t first, int64_t end)
{
    hri_cells cells = {{first, 0, 0}, {end, 1, 1}};
    for (uint32_t d = 1; d < grid->extent.rank; d++) {
        cells.lo[d] = -field->sides[HRI_BEFORE][d].halo;
        cells.hi[d] = grid->extent.size[d] + field->sides[HRI_AFTER][d].halo;
    }
    return cells;
}

uint64_t hri_storage_row_bytes(const hr_grid *grid, const hri_field *field)
{
    const uint32_t rank = grid->extent.rank;
    const hri_cells cells = hri_field_rows(grid, field, 0, 1);
    int64_t lead, pitch = 1;
    uint64_t bytes = 0;
    if (rank > 1) {
        measure_row(grid, field, cells.hi[rank - 1] - cells.lo[rank - 1], &lead,
                    &pitch);
    }
    const int64_t lines = rank > 2 ? cells.hi[1] - cells.lo[1] : 1;
    return hri_mul(field->element_bytes, field->components, &bytes) &&
                   hri_mul(bytes, (uint64_t)pitch, &bytes) &&
                   hri_mul(bytes, (uint64_t)lines, &bytes)
               ? bytes
               : UINT64_MAX;
}

/* The cells that a band's storage has: its own rows and those of its
 * neighbours. Beyond the grid's ends it has no more rows than its halo. */
static hri_cells cells_of(const hr_grid *grid, const hri_field *field,
                          const hri_band *band)
{
    const int64_t before = field->sides[HRI_BEFORE][0].halo;
    const int64_t after = field->sides[HRI_AFTER][0].halo;
    return hri_field_rows(
        grid, field,
        hri_max(band->first - field->depth.of[HRI_BEFORE], -before),
        hri_min(band->end + field->depth.of[HRI_AFTER],
                grid->extent.size[0] + after));
}

/* The components of a row of dimension 0 lie behind each other, so that halos
 * are one copy. In rank 1 all of a component lies together. */
hr_status hri_storage_create(const hr_grid *grid, const hri_field *field,
                             const hri_band *band, hri_storage *storage)
{
    const uint32_t rank = grid->extent.rank;
    const int64_t components = field->components;
    int64_t size[HR_MAX_KERNEL_RANK], lines, pitch;
    storage->cells = cells_of(grid, field, band);
    storage->rank = rank;
    for (uint32_t d = 0; d < rank; d++) {
        size[d] = storage->cells.hi[d] - storage->cells.lo[d];
    }
    measure_row(grid, field, size[rank - 1], &storage->offset, &pitch);
    lines = rank > 2 ? size[1] : 1;
    storage->plane = lines * pitch;
    storage->stride[0] = rank > 1 ? components * storage->plane : 1;
    storage->stride[1] = rank > 2 ? pitch : 1;
    storage->stride[2] = 1;
    /* One component has the shape of the grid, and so that of the arrays that
     * callers copy from and to. */
    size[rank - 1] = pitch;
    const hr_extent extent =
        components == 1
            ? hr_extent_of(rank, size)
            : hr_extent3(rank > 1 ? size[0] : 1, components * lines, pitch);
    return hr_array_create(band->inner, field->element_bytes, extent,
                           &storage->array);
}

void hri_storage_destroy(hri_storage *storage, uint32_t count)
{
    for (uint32_t b = 0; b < count && storage != NULL; b++) {
        hr_array_destroy(storage[b].array);
    }
    free(storage);
}

hr_view hri_storage_view(const hri_storage *storage, const hri_cells *cells,
                         int64_t component)
{
    hr_view view = hr_view_of(storage->array);
    const int64_t bytes = (int64_t)view.element_bytes;
    int64_t first = storage->offset + component * storage->plane;
    view.extent.rank = storage->rank;
    for (uint32_t d = 0; d < storage->rank; d++) {
        view.extent.size[d] = cells->hi[d] - cells->lo[d];
        view.stride_bytes[d] = storage->stride[d] * bytes;
        first += (cells->lo[d] - storage->cells.lo[d]) * storage->stride[d];
    }
    view.offset_bytes = first * bytes;
    return view;
}

hr_view hri_storage_list(const hri_storage *storage, const hri_cells *cells,
                         int64_t component, int64_t count)
{
    const hr_view one = hri_storage_view(storage, cells, component);
    hr_view list = one;
    list.extent.rank++;
    list.extent.size[0] = count;
    list.stride_bytes[0] = storage->plane * (int64_t)one.element_bytes;
    for (uint32_t d = 0; d < one.extent.rank; d++) {
        list.extent.size[d + 1] = one.extent.size[d];
        list.stride_bytes[d + 1] = one.stride_bytes[d];
    }
    return list;
}

hr_view hri_storage_argument(const hri_field *field, const hri_storage *storage,
                             const hri_cells *cells,
                             const hr_parameter *parameter,
                             const hr_argument *argument)
{
    const int64_t component = hri_component_index(argument->field - 1);
    const bool all = component == HRI_ALL_COMPONENTS;
    return !parameter->list
               ? hri_storage_view(storage, cells, all ? 0 : component)
               : hri_storage_list(storage, cells, all ? 0 : component,
                                  all ? field->components : 1);
}

/* ---- rows */

/* Bytes that an accelerator has left for storage. */
static uint64_t capacity_of(const hr_grid *grid, uint32_t band)
{
    hri_accelerator *a =
        &grid->context->accelerators[grid->bands[band].accelerator];
    return a->in_place ? a->device->info.free_bytes : hri_accelerator_room(a);
}

/* What bands hold, for all fields together. */
typedef struct weighing {
    uint64_t row;   /* bytes of a row */
    uint64_t spare; /* bytes that are not in rows: in rank 1 the rest of a line,
                       and a value to set cells to */
    int64_t others; /* the most rows beside a band's own */
} weighing;

static weighing weigh(const hr_grid *grid)
{
    weighing w = {0};
    for (uint32_t f = 0; f < grid->field_count; f++) {
        const hri_field *field = &grid->fields[f];
        const int64_t *depth = field->depth.of; /* rows of neighbours: its halo,
                                                   or more */
        if (!hri_add(w.row, hri_storage_row_bytes(grid, field), &w.row)) {
            w.row = UINT64_MAX;
        }
        w.spare +=
            field->element_bytes + (uint64_t)field->components * HRI_LINE_BYTES;
        w.others = hri_max(w.others, depth[HRI_BEFORE] + depth[HRI_AFTER]);
    }
    return w;
}

/* How many rows of a band fit, beside those of its neighbours and the ends. */
static int64_t rows_that_fit(uint64_t capacity, const weighing *w)
{
    const uint64_t most = (uint64_t)1 << 62, others = (uint64_t)w->others;
    const uint64_t rows =
        capacity > w->spare ? (capacity - w->spare) / w->row : 0;
    return rows <= others         ? 0
           : rows - others < most ? (int64_t)(rows - others)
                                  : (int64_t)most;
}

/* The memory that is enough for each accelerator to hold an equal band, with
 * what is taken already. UINT64_MAX: too much for 64 bits. */
static uint64_t find_enough(const hr_grid *grid, const weighing *w)
{
    const int64_t rows = grid->extent.size[0];
    const int64_t grain = hri_min(hri_grid_grain(grid), rows);
    const int64_t share =
        hri_ceil_div(hri_ceil_div(rows, grain), grid->band_count) * grain;
    uint64_t bytes, taken = 0;
    for (uint32_t b = 0; b < grid->band_count; b++) {
        hri_accelerator *a =
            &grid->context->accelerators[grid->bands[b].accelerator];
        const uint64_t own = a->device->info.gemm_bytes;
        if (!a->in_place && own + hri_accelerator_held(a) > taken) {
            taken = own + hri_accelerator_held(a);
        }
    }
    return hri_mul((uint64_t)(share + w->others), w->row, &bytes) &&
                   hri_add(bytes, w->spare, &bytes) &&
                   hri_add(bytes, taken, &bytes)
               ? bytes
               : UINT64_MAX;
}

static hr_status refuse_bands(const hr_grid *grid, const weighing *w)
{
    const uint32_t bands = grid->band_count, fields = grid->field_count;
    const uint64_t enough = find_enough(grid, w);
    uint64_t capacity = 0;
    for (uint32_t b = 0; b < bands; b++) {
        capacity += capacity_of(grid, b);
    }
    if (enough == UINT64_MAX) {
        return hri_fail(HR_ERROR_OUT_OF_MEMORY,
                        "grid: %u field%s 2^64 bytes or more of an accelerator",
                        fields, fields == 1 ? " takes" : "s take");
    }
    return hri_fail(
        HR_ERROR_OUT_OF_MEMORY,
        "grid: %u field%s not fit into the %llu bytes of %u accelerator%s; "
        "%llu bytes for each are enough",
        fields, fields == 1 ? " does" : "s do", (unsigned long long)capacity,
        bands, hri_plural(bands), (unsigned long long)enough);
}

hr_status hri_grid_lay_out(const hr_grid *grid, const double *weights,
                           bool stay, hri_band *bands)
{
    const uint32_t count = grid->band_count;
    const weighing w = weigh(grid);
    const hri_distribution d = {.caller = "grid",
                                .units = grid->extent.size[0],
                                .grain = hri_grid_grain(grid),
                                .shares = calloc(count, sizeof(hri_share)),
                                .count = count};
    bool held = true;
    if (d.shares == NULL) {
        return hri_fail(HR_ERROR_OUT_OF_MEMORY, "grid: out of memory");
    }
    for (uint32_t b = 0; b < count; b++) {
        const hri_band *band = &grid->bands[b];
        const int64_t has = stay ? band->end - band->first : 0;
        d.shares[b].weight = weights != NULL ? weights[b] : 1;
        d.shares[b].most = hri_max(rows_that_fit(capacity_of(grid, b), &w),
                                   hri_round_up(has, d.grain));
    }
    hr_status status = hri_distribute(&d, &held);
    if (status != HR_OK) {
        goto done;
    }
    if (!held) {
        status = refuse_bands(grid, &w);
        goto done;
    }
    for (uint32_t b = 0; b < count; b++) {
        bands[b].first = d.shares[b].first;
        bands[b].end = bands[b].first + d.shares[b].count;
    }
done:
    free(d.shares);
    return status;
}
