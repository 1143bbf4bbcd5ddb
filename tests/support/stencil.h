/* SPDX-License-Identifier: MIT */
/* The kernels of tests/kernels/stencil.c, by the rank of their fields. */
#ifndef TESTS_STENCIL_H
#define TESTS_STENCIL_H

#include <headrace/kernel.h>

#include "support/grid_model.h" /* reach, which mixes take, too */

extern const hr_kernel mix1, mix2, mix3, follow1, follow2, follow3;

/* A cell becomes a mix of those around it, as by grid_model_stir. */
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
