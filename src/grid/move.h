/* SPDX-License-Identifier: MIT */
/* New storage of all bands in place of the old: without values, for other rows,
 * or with wider halos. The context's lock is not held. */
#ifndef HRI_GRID_MOVE_H
#define HRI_GRID_MOVE_H

#include "grid/grid.h"

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
