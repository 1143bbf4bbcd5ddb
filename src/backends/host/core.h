/* SPDX-License-Identifier: MIT */
/* OpenBLAS's core types: which of them suits a CPU. */
#ifndef HRI_BACKENDS_HOST_CORE_H
#define HRI_BACKENDS_HOST_CORE_H

#include <headrace/headrace.h>

typedef enum hri_cpu {
    HRI_CPU_BASELINE,
    HRI_CPU_AVX2,      /* with FMA */
    HRI_CPU_AVX512,    /* F, DQ, BW, VL and CD */
    HRI_CPU_AVX512_256 /* the same, in units of 256 bits: AMD's Zen 4 */
} hri_cpu;

/* This machine's. Any thread. */
hri_cpu hri_cpu_here(void);

/* The core type to ask for in products of a type, instead of the one that
 * OpenBLAS chose; NULL when its choice stands. */
const char *hri_core_wish(hri_cpu cpu, hr_type type, const char *chosen);

#endif
