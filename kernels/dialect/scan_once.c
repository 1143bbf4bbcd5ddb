/* SPDX-License-Identifier: MIT */
/* scan_once.inc for each pair of types. */
#define KERNELS "scan_once.inc"

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
