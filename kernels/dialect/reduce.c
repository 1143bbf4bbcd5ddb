/* SPDX-License-Identifier: MIT */
/* reduce.inc for fractions. */

#define TYPE f32
#include "reduce.inc"
#undef TYPE

#define TYPE f64
#include "reduce.inc"
#undef TYPE

#define TYPE f16
#include "reduce.inc"
#undef TYPE

#define TYPE bf16
#include "reduce.inc"
#undef TYPE
