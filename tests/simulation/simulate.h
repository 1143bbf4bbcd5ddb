/* SPDX-License-Identifier: MIT */
/* The library for MPI over simulated processes. Its messages are those of
 * src/mpi. There are no elements: what would touch them takes time instead. All
 * processes are in one, so that what is static belongs to all. */
#ifndef TESTS_SIMULATION_H
#define TESTS_SIMULATION_H

#include <headrace/grid.h>

#include "mpi/processes.h"

/* A machine with one accelerator. */
typedef struct simulated_machine {
    double flops_per_second; /* f64; f32 is twice as fast */
    double cells_per_second; /* steps of one cell */
    double copy_seconds;     /* of a byte within memory */
    double link_seconds;     /* of a byte between memory and accelerator */
    double link_latency;     /* of a copy between them */
    uint64_t memory_bytes;   /* for panels */
} simulated_machine;

extern const simulated_machine machine;

/* What all processes have sent since the program set it to 0. */
extern uint64_t simulated_bytes;

/* An address that messages go from and to. Nobody reads what is there. */
void *simulated_memory(void);

/* Seconds pass for this process. */
void simulated_pass(double seconds);

/* The seconds of a copy between memory and the accelerator. */
double simulated_copy_seconds(uint64_t bytes);

/* The cells of a process, and those of them that read no other's. */
double simulated_cells(const hr_grid *grid, double *inner);

#endif
