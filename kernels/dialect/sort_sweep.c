/* SPDX-License-Identifier: MIT */
#define KERNELS "sort_sweep.inc"
#include "sort_sizes.inc"
