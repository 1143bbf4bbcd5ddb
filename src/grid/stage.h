/* SPDX-License-Identifier: MIT */
/* Stages: their rules, and what they ask for of other bands. */
#ifndef HRI_GRID_STAGE_H
#define HRI_GRID_STAGE_H

#include "grid/grid.h"

hr_status hri_stages_check(const hr_grid *grid, const hr_stage *stages,
                           size_t count);

/* The cells that a stage runs for. */
hri_cells hri_stage_cells(const hr_grid *grid, const hr_stage *stage);

/* Rows of other bands that so many steps, from stage `first` on,
 * ask for of each field when they are made from one exchange, and those that
 * they work out as well, for which there must be room. */
void hri_stages_need(const hr_grid *grid, const hr_stage *stages, size_t count,
                     size_t first, uint32_t steps, hri_rows *need,
                     hri_rows *room);

#endif
