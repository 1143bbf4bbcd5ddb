/* SPDX-License-Identifier: MIT */
/* filter.inc for each type. */

#define REAL float
#include "filter.inc"
#undef REAL

#define REAL double
#include "filter.inc"
#undef REAL
