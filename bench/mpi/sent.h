/* SPDX-License-Identifier: MIT */
/* What processes send, counted where functions of MPI are called. */
#ifndef BENCH_MPI_SENT_H
#define BENCH_MPI_SENT_H

#include <stdint.h>

/* Bytes since the program began. The sum over all processes says how many went
 * from one process to another; what one process counts may be another's. */
uint64_t sent_bytes(void);

#endif
