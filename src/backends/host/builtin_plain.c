/* SPDX-License-Identifier: MIT */
/* The built-in multiplication for the compiler's default target: SSE2 on
 * x86-64, NEON on aarch64. */
#include <string.h>

#include <headrace/half.h>

#include "backends/host/builtin.h"
#include "base/size.h"

#define VARIANT      hri_builtin_plain
#define VECTOR_BYTES 16
#define HAVE_F16C    0

#if defined(__aarch64__)
#define VARIANT_NAME "neon"
#define ROWS         8 /* 16 of 32 registers */
#elif defined(__x86_64__)
#include <emmintrin.h>

#define VARIANT_NAME       "sse2"
#define MULTIPLY_ADD(x, y) _mm_madd_epi16((__m128i)(x), (__m128i)(y))
#define ROWS               6 /* 12 of 16 registers */
#else
#define VARIANT_NAME "plain"
#define ROWS         4
#endif
#include "backends/host/builtin_variant.inc"
