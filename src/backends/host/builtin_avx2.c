/* SPDX-License-Identifier: MIT */
/* The built-in multiplication for x86-64 with AVX2 and FMA: 12 of 16 registers
 * hold the tile. */
#include <string.h>

#include "backends/host/builtin.h"
#include "base/size.h"

#if defined(__x86_64__)
#include <immintrin.h>

#include <headrace/half.h>

#define VARIANT            hri_builtin_avx2
#define VARIANT_NAME       "avx2"
#define ROWS               6
#define VECTOR_BYTES       32
#define HAVE_F16C          1
#define HAVE_FMA           1
#define MULTIPLY_ADD(x, y) _mm256_madd_epi16((__m256i)(x), (__m256i)(y))

#define FMA_F32(x, v, s)                                                       \
    (vector_f32) _mm256_fmadd_ps(_mm256_set1_ps(x), (__m256)(v), (__m256)(s))
#define FMA_F64(x, v, s)                                                       \
    (vector_f64) _mm256_fmadd_pd(_mm256_set1_pd(x), (__m256d)(v), (__m256d)(s))

#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx2,fma,f16c"))),         \
                             apply_to = function)
#else
#pragma GCC target("avx2,fma,f16c")
#endif
#include "backends/host/builtin_variant.inc"
#ifdef __clang__
#pragma clang attribute pop
#endif
#endif
