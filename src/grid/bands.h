/* SPDX-License-Identifier: MIT */
/* Bands: which rows each of them has, and where their cells lie. */
#ifndef HRI_GRID_BANDS_H
#define HRI_GRID_BANDS_H

#include "grid/grid.h"

/* ---- rows */

/* Set first and end of bands by these weights (NULL: all alike), so that every
 * band's storage fits into its memory beside what it has, which stays until the
 * new storage has its values. An accelerator that cannot hold its share has
 * less. stay: what a band has already counts as fitting, to ask whether all can
 * stay as it is. HR_ERROR_OUT_OF_MEMORY with the numbers. */
hr_status hri_grid_lay_out(const hr_grid *grid, const double *weights,
                           bool stay, hri_band *bands);

/* ---- storage */

/* Make the storage of a band, whose cells have no values yet. */
hr_status hri_storage_create(const hr_grid *grid, const hri_field *field,
                             const hri_band *band, hri_storage *storage);
void hri_storage_destroy(hri_storage *storage, uint32_t count);
/* Of a row with all that lies beyond its ends; UINT64_MAX: as many or more. */
uint64_t hri_storage_row_bytes(const hr_grid *grid, const hri_field *field);

/* The view of cells that are in storage. */
hr_view hri_storage_view(const hr_grid *grid, const hri_field *field,
                         const hri_storage *storage, const hri_cells *cells);

/* All cells of rows first to before end that the field has beside those of the
 * extent, ends included. */
hri_cells hri_field_rows(const hr_grid *grid, const hri_field *field,
                         int64_t first, int64_t end);

/* ---- move.c: new storage of all bands in place of the old. The context's lock
 * is not held. */

/* New queues, and new storage with the cells of a new grid, in place of the
 * old, which failed work may have left without values. Forgets the error. */
hr_status hri_grid_renew(hr_grid *grid);

/* Give the bands rows by these weights, unless they may stay as they are. On
 * failure the grid is as it was. */
hr_status hri_grid_rebalance(hr_grid *grid, const double *weights);

/* Give storage the room that so many steps from one exchange ask for, if it
 * has less; one step, when bands are not as wide, rows come from the other end
 * of the grid, or memory is short. */
hr_status hri_grid_widen(hr_grid *grid, const hr_stage *stages, size_t count,
                         uint32_t steps);

#endif
