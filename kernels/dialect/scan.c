/* SPDX-License-Identifier: MIT */
/* scan.inc for fractions, but for their products. */
#define KERNELS "scan.inc"

#define TYPE f32
#include "scan_numbers.inc"
#include KERNELS
#undef TYPE

#define TYPE f32_f64
#include "scan_numbers.inc"
#include KERNELS
#undef TYPE

#define TYPE f64
#include "scan_numbers.inc"
#include KERNELS
#undef TYPE
