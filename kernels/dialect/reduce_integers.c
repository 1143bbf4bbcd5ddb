/* SPDX-License-Identifier: MIT */
/* reduce.inc for integers. */

#define TYPE i8
#include "reduce.inc"
#undef TYPE

#define TYPE i32
#include "reduce.inc"
#undef TYPE

#define TYPE i8_exact
#include "reduce.inc"
#undef TYPE

#define TYPE i32_exact
#include "reduce.inc"
#undef TYPE
