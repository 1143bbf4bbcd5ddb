/* SPDX-License-Identifier: MIT */
/* histogram.inc for each type. */

#define TYPE f32
#include "histogram.inc"
#undef TYPE

#define TYPE f64
#include "histogram.inc"
#undef TYPE

#define TYPE i8
#include "histogram.inc"
#undef TYPE

#define TYPE i32
#include "histogram.inc"
#undef TYPE
