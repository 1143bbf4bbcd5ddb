/* SPDX-License-Identifier: MIT */
/* Strips for whatever the compiler was told to build for: SSE2
 * on x86-64, NEON on aarch64. */
#include <string.h>

#include "base/size.h"
#include "filter/edge.h"
#include "filter/strip.h"

#define VARIANT      hri_strip_plain
#define VECTOR_BYTES 16
#define VECTORS      2
#define ROWS         6
#include "filter/strip_variant.inc"
