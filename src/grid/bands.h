/* SPDX-License-Identifier: MIT */
/* Bands: which rows each of them has, where their cells lie, and cells that
 * they hold beside their own. */
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
hr_view hri_storage_view(const hri_storage *storage, const hri_cells *cells);

/* All cells of rows first to before end that the field has beside those of the
 * extent, ends included. */
hri_cells hri_field_rows(const hr_grid *grid, const hri_field *field,
                         int64_t first, int64_t end);

/* ---- cells beyond the ends of the grid, and of other bands. The context's
 * lock is held. */

/* boundary.c: give a band's cells of rows first to before end that lie beyond
 * the ends of dimensions from 1 on their values. */
hr_status hri_boundary_fill(hr_grid *grid, const hri_field *f, uint32_t band,
                            hr_queue *queue, int64_t first, int64_t end);
/* And rows first to before end, which lie beyond an end of dimension 0, out of
 * rows that the storage has. */
hr_status hri_boundary_fill_end(hr_grid *grid, const hri_field *f,
                                uint32_t band, int64_t first, int64_t end);
/* The row inside, or of the caller's own boundary, that a row beyond an end has
 * its values from; they are not constant. */
int64_t hri_boundary_source(const hr_grid *grid, const hri_field *field,
                            int64_t row);
/* Set new storage. Takes the context's lock itself. */
hr_status hri_boundary_set(hr_grid *grid, const hri_field *field,
                           const hri_storage *storage, hr_queue *queue);

/* exchange.c: let bands have `depth` rows of those beside them as these have
 * them. */
hr_status hri_exchange(hr_grid *grid, hri_field *f, hri_rows depth);
/* And rows beyond the ends of dimension 0. */
hr_status hri_exchange_ends(hr_grid *grid, hri_field *f);
/* Copy rows of one band's storage to another's of the same field, or to newer
 * storage. */
hr_status hri_copy_cells(const hri_storage *from, const hri_cells *cells,
                         const hri_storage *to, int64_t shift, hr_queue *queue,
                         uint64_t *bytes);

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
hr_status hri_grid_widen(hr_grid *grid, const hr_phase *phases, size_t count,
                         uint32_t steps);

#endif
