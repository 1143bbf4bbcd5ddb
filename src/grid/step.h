/* SPDX-License-Identifier: MIT */
/* A step: what each band does at each stage, and in which queues. */
#ifndef HRI_GRID_STEP_H
#define HRI_GRID_STEP_H

#include "grid/grid.h"

/* Enqueue a step. The context's lock is held. */
hr_status hri_grid_run_step(hr_grid *grid, const hr_stage *stages,
                            size_t count);

#endif
