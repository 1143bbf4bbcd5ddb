/* SPDX-License-Identifier: MIT */
/* Cells that bands hold beside their own: beyond the ends of the grid, and of
 * other bands. The context's lock is held. */
#ifndef HRI_GRID_HALO_H
#define HRI_GRID_HALO_H

#include "grid/grid.h"

/* ---- boundary.c */

/* Give a band's cells of rows first to before end that lie beyond the ends of
 * dimensions from 1 on their values. */
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

/* ---- exchange.c */

/* Let bands have `depth` rows of those beside them as these have them. */
hr_status hri_exchange(hr_grid *grid, hri_field *f, hri_rows depth);
/* And rows beyond the ends of dimension 0. */
hr_status hri_exchange_ends(hr_grid *grid, hri_field *f);
/* Copy rows of one band's storage to another's of the same field, or to newer
 * storage. */
hr_status hri_copy_cells(hr_grid *grid, const hri_field *field,
                         const hri_storage *from, const hri_cells *cells,
                         const hri_storage *to, int64_t shift, hr_queue *queue,
                         uint64_t *bytes);

#endif
