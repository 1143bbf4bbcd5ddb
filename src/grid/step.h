/* SPDX-License-Identifier: MIT */
/* Steps: what stages ask for, a step, and what is made of many. */
#ifndef HRI_GRID_STEP_H
#define HRI_GRID_STEP_H

#include "grid/grid.h"

/* ---- stage.c */

hr_status hri_stages_check(const hr_grid *grid, const hr_stage *stages,
                           size_t count);

/* Rows of other bands that so many steps, from stage `first` on, ask for of
 * each field when they are made from one exchange, and those that they work out
 * as well, for which there must be room. */
void hri_stages_need(const hr_grid *grid, const hr_stage *stages, size_t count,
                     size_t first, uint32_t steps, hri_rows *need,
                     hri_rows *room);

/* ---- step.c */

/* Enqueue a step. The context's lock is held. */
hr_status hri_grid_run_step(hr_grid *grid, const hr_stage *stages,
                            size_t count);

/* ---- replay.c */

/* Enqueue as many of `steps` steps as graphs do, *done of them, and those that
 * bring the fields to where a graph wants them: none where there are no graphs,
 * or where launches are in time. The grid has stepped before with these stages,
 * so that all it needs is compiled. */
hr_status hri_replay_steps(hr_grid *grid, const hr_stage *stages, size_t count,
                           int64_t steps, int64_t *done);

/* ---- balance.c */

/* After a step, of which so many follow: move the bands and change the steps
 * of an exchange if that pays, by what is known by now. The context's lock is
 * not held. */
hr_status hri_balance_settle(hr_grid *grid, const hr_stage *stages,
                             size_t count, int64_t left);

#endif
