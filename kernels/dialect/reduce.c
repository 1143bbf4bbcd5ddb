/* SPDX-License-Identifier: MIT */
/* reduce.inc for fractions.
 *
 * One body serves all types. It is included once for each type, so the host
 * gets all from one compilation. The library keeps the text of the body once.
 * Each hr_kernel says in its `definitions` what TYPE was, and compilers of
 * devices get that line before the text. Scans, sorts, histograms and filters
 * are made in the same way (cmake/kernels.cmake). */

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
