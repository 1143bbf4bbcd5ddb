/* SPDX-License-Identifier: MIT */
/* The lattice of bench/kernels/lbm.c in plain C. */
#ifndef BENCH_GRID_LBM_H
#define BENCH_GRID_LBM_H

#include <headrace/view.h>

enum { BENCH_DIRECTIONS = 19 };

/* Slices, rows and columns from a cell to the next one, and the weight. */
extern const int bench_lbm_moves[BENCH_DIRECTIONS][3];
float bench_lbm_weight(int direction);

/* A step with the kernel's operations in its order, and all sides periodic.
 * Populations lie as there, for an extent of cells. */
void bench_lbm_step(hr_extent cells, float rate, const float *now, float *next);

#endif
