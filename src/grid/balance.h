/* SPDX-License-Identifier: MIT */
/* What follows from how fast bands are: other bands, and how many steps are
 * made from one exchange. */
#ifndef HRI_GRID_BALANCE_H
#define HRI_GRID_BALANCE_H

#include "grid/grid.h"

/* After a step, of which so many follow: move the bands and change the steps
 * of an exchange if that pays, by what is known by now. The context's lock is
 * not held. */
hr_status hri_balance_settle(hr_grid *grid, const hr_stage *stages,
                             size_t count, int64_t left);

#endif
