/* SPDX-License-Identifier: MIT */
/* What bands hold of a field: where its cells lie. */
#include <stdlib.h>

#include "base/size.h"
#include "grid/grid.h"

static int64_t divisor(int64_t a, int64_t b)
{
    while (b != 0) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* Elements that rows are a multiple of and that lie in front of the first cell
 * inside, so that it starts a line of a cache; fewer when rows would be longer
 * by more than an eighth. */
static int64_t grain_of(const hri_field *field, int64_t cells)
{
    const int64_t bytes = (int64_t)field->element_bytes;
    int64_t grain = HRI_LINE_BYTES / divisor(HRI_LINE_BYTES, bytes);
    while (grain > 1 && 2 * grain > cells / 8) {
        grain /= 2;
    }
    return grain;
}

static int64_t round_up(int64_t count, int64_t grain)
{
    return hri_ceil_div(count, grain) * grain;
}

/* The cells of a row of the last dimension, but those that follow, and what
 * there is room for. */
static void measure_row(const hr_grid *grid, const hri_field *field,
                        int64_t cells, int64_t *lead, int64_t *pitch)
{
    const uint32_t last = grid->extent.rank - 1;
    const int64_t grain = grain_of(field, cells);
    const int64_t before = last > 0 ? field->sides[HRI_BEFORE][last].halo : 0;
    *lead = round_up(before, grain) - before;
    *pitch = round_up(*lead + cells, grain);
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

uint64_t hri_slab_row_bytes(const hr_grid *grid, const hri_field *field)
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
    return hri_mul(field->element_bytes, (uint64_t)pitch, &bytes) &&
                   hri_mul(bytes, (uint64_t)lines, &bytes)
               ? bytes
               : UINT64_MAX;
}

/* The rows that a band's slab has: its own, those of others, and no more beyond
 * the ends than are read there. */
static hri_cells cells_of(const hr_grid *grid, const hri_field *field,
                          const hri_band *band)
{
    const int64_t before = field->sides[HRI_BEFORE][0].halo;
    const int64_t after = field->sides[HRI_AFTER][0].halo;
    return hri_field_rows(
        grid, field, hri_max(band->first - field->depth[HRI_BEFORE], -before),
        hri_min(band->end + field->depth[HRI_AFTER],
                grid->extent.size[0] + after));
}

static hr_status make(hr_grid *grid, const hri_field *field,
                      const hri_band *band, hri_slab *slab)
{
    const uint32_t rank = grid->extent.rank;
    hr_extent extent = {.rank = rank};
    int64_t pitch;
    slab->cells = cells_of(grid, field, band);
    for (uint32_t d = 0; d < rank; d++) {
        extent.size[d] = slab->cells.hi[d] - slab->cells.lo[d];
    }
    measure_row(grid, field, extent.size[rank - 1], &slab->offset, &pitch);
    extent.size[rank - 1] = pitch;
    for (uint32_t d = rank; d-- > 0;) {
        slab->stride[d] =
            d + 1 < rank ? slab->stride[d + 1] * extent.size[d + 1] : 1;
    }
    hr_status status = hr_array_create(band->inner, field->element_bytes,
                                       extent, &slab->array);
    return status == HR_OK ? hri_boundary_set(grid, field, slab, band->inner)
                           : status;
}

hr_status hri_slabs_create(hr_grid *grid, const hri_field *field,
                           const hri_band *bands, hri_slab **slabs)
{
    hri_slab *made = calloc(grid->band_count, sizeof *made);
    hr_status status =
        made != NULL ? HR_OK
                     : hri_fail(HR_ERROR_OUT_OF_MEMORY, "grid: out of memory");
    for (uint32_t b = 0; b < grid->band_count && status == HR_OK; b++) {
        if (!hri_band_is_empty(&bands[b])) {
            status = make(grid, field, &bands[b], &made[b]);
        }
    }
    if (status != HR_OK) {
        hri_slabs_destroy(made, grid->band_count);
        return status;
    }
    *slabs = made;
    return HR_OK;
}

void hri_slabs_destroy(hri_slab *slabs, uint32_t count)
{
    for (uint32_t b = 0; b < count && slabs != NULL; b++) {
        hr_array_destroy(slabs[b].array);
    }
    free(slabs);
}

hr_view hri_slab_view(const hr_grid *grid, const hri_field *field,
                      const hri_slab *slab, const hri_cells *cells)
{
    const int64_t bytes = (int64_t)field->element_bytes;
    hr_view view = {.array = slab->array,
                    .extent = {.rank = grid->extent.rank},
                    .element_bytes = field->element_bytes,
                    .offset_bytes = slab->offset * bytes};
    for (uint32_t d = 0; d < grid->extent.rank; d++) {
        view.extent.size[d] = cells->hi[d] - cells->lo[d];
        view.stride_bytes[d] = slab->stride[d] * bytes;
        view.offset_bytes +=
            (cells->lo[d] - slab->cells.lo[d]) * view.stride_bytes[d];
    }
    return view;
}
