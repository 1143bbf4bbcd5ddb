/* SPDX-License-Identifier: MIT */
/* The built-in multiplication for x86-64 with AVX-512: 24 of 32 registers hold
 * the tile. */
#include <string.h>

#include "backends/host/builtin.h"
#include "base/size.h"

#if defined(__x86_64__)
#include <immintrin.h>

#include <headrace/half.h>

#define VARIANT            hri_builtin_avx512
#define VARIANT_NAME       "avx512"
#define ROWS               12
#define VECTOR_BYTES       64
#define HAVE_F16C          1
#define HAVE_FMA           1
#define MULTIPLY_ADD(x, y) _mm512_madd_epi16((__m512i)(x), (__m512i)(y))

#define FMA_F32(x, v, s)                                                       \
    (vector_f32) _mm512_fmadd_ps(_mm512_set1_ps(x), (__m512)(v), (__m512)(s))
#define FMA_F64(x, v, s)                                                       \
    (vector_f64) _mm512_fmadd_pd(_mm512_set1_pd(x), (__m512d)(v), (__m512d)(s))

#ifdef __clang__
#pragma clang attribute push(                                                  \
    __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl,fma,f16c"))),    \
    apply_to = function)
#else
#pragma GCC target("avx512f,avx512dq,avx512bw,avx512vl,fma,f16c")
#endif
#include "backends/host/builtin_variant.inc"
#ifdef __clang__
#pragma clang attribute pop
#endif
#endif
