/* SPDX-License-Identifier: MIT */
/* The kernels of tests/kernels/stencil.c, by the rank of their fields. */
#ifndef TESTS_STENCIL_H
#define TESTS_STENCIL_H

#include <headrace/kernel.h>

extern const hr_kernel mix1, mix2, mix3, follow1, follow2, follow3;

/* The value that mixes take: how many cells they read before and after one's
 * own, and factors that make the place matter. */
typedef struct reach {
    int before[3], after[3];
    int place[3];
} reach;

/* A cell becomes a mix of those around it. */
static inline const hr_kernel *mix_of(uint32_t rank)
{
    return rank == 1 ? &mix1 : rank == 2 ? &mix2 : &mix3;
}

/* A cell follows that of another field. */
static inline const hr_kernel *follow_of(uint32_t rank)
{
    return rank == 1 ? &follow1 : rank == 2 ? &follow2 : &follow3;
}

#endif
