/* SPDX-License-Identifier: MIT */
/* What a plan sends, holds and needs, counted element by element, and the
 * fewest bytes that any plan sends. */
#ifndef HRI_MPI_COUNT_H
#define HRI_MPI_COUNT_H

#include "mpi/plan.h"

/* Of a process: what it receives of A and B, while products run, and sends of
 * C, when they have ended. Bytes or seconds. */
typedef struct hri_traffic {
    double panels, sums;
} hri_traffic;

/* Whether every process multiplies with it where it is. */
static inline bool hri_mpi_operand_stays(const hri_mpi_operand *o)
{
    return o->everywhere >= 1.0 && o->m.block_count == 1;
}

/* Bytes of an element, or of the part of it that not every process has. */
static inline double hri_foreign_width(const hri_mpi_operand *o)
{
    return (double)o->element_bytes * (1.0 - o->everywhere);
}

/* All bytes that are sent, and *most: those of the process that receives most
 * of A and B and sends most of C. */
uint64_t hri_count_sent(const hri_mpi_plan *plan,
                        const hri_mpi_product *product, hri_traffic *most);

/* All messages. Processes that need the same parts must have them in the same
 * order: all begin with the first panel. */
uint64_t hri_count_messages(const hri_mpi_plan *plan,
                            const hri_mpi_product *product);

/* The bytes of its n-th panel that the process at a place receives. */
uint64_t hri_count_panel(const hri_mpi_plan *plan,
                         const hri_mpi_product *product, int64_t place,
                         int64_t n);

/* Whatever the process at a place has in memory at one time. */
uint64_t hri_count_memory(const hri_mpi_plan *plan,
                          const hri_mpi_product *product, int64_t place);

/* Bytes that all of so many processes receive at least, each computing a
 * share. */
uint64_t hri_least_sent(const hri_mpi_product *product, int count);

#endif
