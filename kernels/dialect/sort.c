/* SPDX-License-Identifier: MIT */
#define KERNELS "sort.inc"
#include "sort_sizes.inc"
