/* SPDX-License-Identifier: MIT */
/* scan.inc for products of fractions. */
#define KERNELS "scan.inc"

#define TYPE f32_product
#include "scan_numbers.inc"
#include KERNELS
#undef TYPE

#define TYPE f32_f64_product
#include "scan_numbers.inc"
#include KERNELS
#undef TYPE

#define TYPE f64_product
#include "scan_numbers.inc"
#include KERNELS
#undef TYPE
