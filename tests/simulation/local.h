/* SPDX-License-Identifier: MIT */
/* What the local grids of the simulation take. */
#ifndef TESTS_SIMULATION_LOCAL_H
#define TESTS_SIMULATION_LOCAL_H

#include <headrace/grid.h>

/* The seconds of a copy between memory and the accelerator. */
double simulated_copy_seconds(uint64_t bytes);

/* The cells of a process, and those of them that read no other's. */
double simulated_cells(const hr_grid *grid, double *inner);

#endif
