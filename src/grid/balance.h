/* SPDX-License-Identifier: MIT */
/* How fast bands are, as measured while they step, and what follows: other
 * bands, and how many steps are made from one exchange. */
#ifndef HRI_GRID_BALANCE_H
#define HRI_GRID_BALANCE_H

#include "grid/grid.h"

typedef struct hri_balance hri_balance;

/* NULL when there is nothing to balance. HR_ERROR_OUT_OF_MEMORY. */
hr_status hri_balance_create(const hr_grid *grid, hri_balance **balance);
void hri_balance_destroy(hri_balance *balance); /* NULL is accepted */

/* Before a step: whether it is one that is timed. */
void hri_balance_begin(hr_grid *grid);
/* In such a step, where the fence right before a kernel on a band's inner rows
 * goes, of which there are so many; NULL: it is not timed. Kernels are
 * numbered that run for all rows, so that all bands say something. */
hri_fence **hri_balance_start(hr_grid *grid, size_t kernel, uint32_t band,
                              int64_t rows);
/* And behind a kernel that is. */
hr_status hri_balance_end(hr_grid *grid, size_t kernel, uint32_t band);
/* What was timed has failed. */
void hri_balance_forget(hr_grid *grid);

/* After a step, of which so many follow: move the bands and change the steps
 * of an exchange if that pays, by what is known by now. The context's lock is
 * not held. */
hr_status hri_balance_settle(hr_grid *grid, const hr_stage *stages,
                             size_t count, int64_t left);

#endif
