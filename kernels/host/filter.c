/* SPDX-License-Identifier: MIT */
/* filter.inc for each type. */

#define REAL       float
#define NAME(word) word##_float
#include "filter.inc"
#undef REAL
#undef NAME

#define REAL       double
#define NAME(word) word##_double
#include "filter.inc"
#undef REAL
#undef NAME
