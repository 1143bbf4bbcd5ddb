/* SPDX-License-Identifier: MIT */
/* scan.inc for integers. */
#define KERNELS "scan.inc"

#define TYPE i8
#include "scan_numbers.inc"
#include KERNELS
#undef TYPE

#define TYPE i8_i32
#include "scan_numbers.inc"
#include KERNELS
#undef TYPE

#define TYPE i32
#include "scan_numbers.inc"
#include KERNELS
#undef TYPE

#define TYPE i32_i64
#include "scan_numbers.inc"
#include KERNELS
#undef TYPE
