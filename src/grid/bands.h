/* SPDX-License-Identifier: MIT */
/* Bands: which rows each of them has, and where their cells lie. */
#ifndef HRI_GRID_BANDS_H
#define HRI_GRID_BANDS_H

#include "grid/grid.h"

/* ---- rows */

/* Set first and end of bands by these weights (NULL: all alike), so that every
 * band's slabs fit into its memory beside those that it has, which stay until
 * the new ones have their values: who cannot hold its share has less. stay:
 * what a band has already counts as fitting, for who asks whether all can stay
 * as it is. HR_ERROR_OUT_OF_MEMORY with the numbers. */
hr_status hri_grid_lay_out(const hr_grid *grid, const double *weights,
                           bool stay, hri_band *bands);

/* ---- storage */

/* Make the slab of a band, whose cells have no values yet. */
hr_status hri_slab_create(const hr_grid *grid, const hri_field *field,
                          const hri_band *band, hri_slab *slab);
void hri_slabs_destroy(hri_slab *slabs, uint32_t count);
/* Of a row with all that lies beyond its ends; UINT64_MAX: as many or more. */
uint64_t hri_slab_row_bytes(const hr_grid *grid, const hri_field *field);

/* The view of cells that a slab holds. */
hr_view hri_slab_view(const hr_grid *grid, const hri_field *field,
                      const hri_slab *slab, const hri_cells *cells);

/* All cells of rows first to before end that the field has beside those of the
 * extent, ends included. */
hri_cells hri_field_rows(const hr_grid *grid, const hri_field *field,
                         int64_t first, int64_t end);

#endif
