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
#ifdef __aarch64__
#define HAVE_FMA 1
#else
#define HAVE_FMA 0
#endif

#if defined(__aarch64__)
#include <arm_neon.h>
#define FMA_F32(x, v, s)                                                       \
    (vector_f32) vfmaq_n_f32((float32x4_t)(s), (float32x4_t)(v), (x))
#define FMA_F64(x, v, s)                                                       \
    (vector_f64) vfmaq_n_f64((float64x2_t)(s), (float64x2_t)(v), (x))
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
