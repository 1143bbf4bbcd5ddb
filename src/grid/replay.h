/* SPDX-License-Identifier: MIT */
/* Steps that are enqueued as one, where the backend has graphs. */
#ifndef HRI_GRID_REPLAY_H
#define HRI_GRID_REPLAY_H

#include "grid/grid.h"

/* Enqueue as many of `steps` steps as graphs do, *done of them, and those that
 * bring the fields to where a graph wants them: none where there are no graphs,
 * or where launches are in time. The grid has stepped
 * before with these stages, so that all it needs is compiled. */
hr_status hri_replay_steps(hr_grid *grid, const hr_stage *stages, size_t count,
                           int64_t steps, int64_t *done);

#endif
