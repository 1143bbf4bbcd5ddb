/* SPDX-License-Identifier: MIT */
#define KERNELS "sort_merge.inc"
#include "sort_sizes.inc"
