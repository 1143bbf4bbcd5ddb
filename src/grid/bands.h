/* SPDX-License-Identifier: MIT */
/* Bands: which rows each of them has, how their cells are stored, and which
 * other cells they hold. */
#ifndef HRI_GRID_BANDS_H
#define HRI_GRID_BANDS_H

#include "grid/grid.h"
#include "grid/shell.h"

/* ---- rows */

/* Set first and end of bands by these weights (NULL: equal ones). Every band's
 * new storage must fit beside its old one, which stays until the values have
 * moved. An accelerator that cannot hold its share gets less. stay: a band's
 * present storage counts as room, to find out whether the bands can stay.
 * HR_ERROR_OUT_OF_MEMORY with the numbers. */
hr_status hri_grid_lay_out(const hr_grid *grid, const double *weights,
                           bool stay, hri_band *bands);

/* ---- storage */

/* Make the storage of a band. Its cells have no values yet. */
hr_status hri_storage_create(const hr_grid *grid, const hri_field *field,
                             const hri_band *band, hri_storage *storage);
void hri_storage_destroy(hri_storage *storage, uint32_t count);
/* Bytes of a row, with the cells beyond its ends. UINT64_MAX: as many or
 * more. */
uint64_t hri_storage_row_bytes(const hr_grid *grid, const hri_field *field);

/* The view of cells that are in storage, of one component. */
hr_view hri_storage_view(const hri_storage *storage, const hri_cells *cells,
                         int64_t component);
/* The list of views of `count` components from this one on. */
hr_view hri_storage_list(const hri_storage *storage, const hri_cells *cells,
                         int64_t component, int64_t count);
/* What an argument that is a field gives to a parameter. */
hr_view hri_storage_argument(const hri_field *field, const hri_storage *storage,
                             const hri_cells *cells,
                             const hr_parameter *parameter,
                             const hr_argument *argument);

/* All cells of rows first to before end that the field has, with those beyond
 * the ends of the other dimensions. */
hri_cells hri_field_rows(const hr_grid *grid, const hri_field *field,
                         int64_t first, int64_t end);

/* ---- cells beyond the ends of the grid, and rows of other bands. The caller
 * holds the context's lock. */

/* boundary.c: compute a band's cells beyond the ends of dimensions 1 and
 * higher, for rows first to before end, and where hri_boundary_fills_all, also
 * those beyond the ends of dimension 0. done: what an epilogue has done in
 * these rows; NULL: nothing. */
hr_status hri_boundary_fill(hr_grid *grid, const hri_field *f, uint32_t band,
                            hr_queue *queue, int64_t first, int64_t end,
                            const hri_row_ends *done);
/* Whether the launch of a phase for these cells can fill cells beyond the ends
 * that follow from the rows that it writes: all of them, or just the ends of
 * these rows. Then *ends is what its epilogue needs. */
bool hri_boundary_row_ends(const hr_grid *grid, const hr_phase *phase,
                           uint32_t band, const hr_queue *queue,
                           const hri_cells *cells, hri_row_ends *ends);
/* Let all indices of *ends count from `origin` cells further back. */
void hri_boundary_shift_ends(hri_row_ends *ends, const int64_t *origin);
/* Add the cells to *cells that such an epilogue writes of an argument. */
void hri_boundary_add_ends(const hri_row_ends *ends, uint32_t argument,
                           hri_cells *cells);
/* Whether one band has all rows, and these are all, so that one launch fills
 * everything beyond the ends. */
bool hri_boundary_fills_all(const hr_grid *grid, const hri_field *f,
                            int64_t first, int64_t end);
/* Set the cells of new storage. Takes the context's lock itself. */
hr_status hri_boundary_set(hr_grid *grid, const hri_field *field,
                           const hri_storage *storage, hr_queue *queue);

/* Fill rows beyond the ends of dimension 0. */
hr_status hri_boundary_fill_ends(hr_grid *grid, hri_field *f);

/* halo.c: copy `depth` rows of neighbouring bands to each band. */
hr_status hri_exchange_rows(hr_grid *grid, hri_field *f, hri_rows depth);
/* Copy rows first to before end of other bands to a band. Row r goes to the
 * place of the band's row r + shift. */
hr_status hri_fetch_rows(hr_grid *grid, const hri_field *f, uint32_t band,
                         int64_t first, int64_t end, int64_t shift);
/* Copy whole rows of one band's storage to another band's storage of the same
 * field, or to new storage. */
hr_status hri_copy_cells(const hri_storage *from, const hri_cells *cells,
                         const hri_storage *to, int64_t shift,
                         uint32_t components, hr_queue *queue, uint64_t *bytes);

/* ---- move.c: new storage of all bands replaces the old. The caller does not
 * hold the context's lock. */

/* Replace queues and storage, which failed work may have left without values.
 * The cells are those of a new grid. Forgets the error. */
hr_status hri_grid_renew(hr_grid *grid);

/* Give the bands rows by these weights, unless they may stay as they are. On
 * failure the grid is as it was. */
hr_status hri_grid_rebalance(hr_grid *grid, const double *weights);

/* Give storage the room for `steps` steps from one exchange, unless it has it.
 * It gets room for one step only when bands have too few rows, rows come from
 * the other end of the grid, or memory is short. */
hr_status hri_grid_widen(hr_grid *grid, const hr_phase *phases, size_t count,
                         uint32_t steps);

#endif
