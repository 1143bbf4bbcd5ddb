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
#define MULTIPLY_ADD(x, y) _mm256_madd_epi16((__m256i)(x), (__m256i)(y))

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
