/* SPDX-License-Identifier: MIT */
/* Strips for x86-64 with AVX2. */
#include <string.h>

#include "filter/kernels.h"

#if defined(__x86_64__)
#define VARIANT      hri_strip_avx2
#define VECTOR_BYTES 32
#define ROWS         6

#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx2,fma"))),              \
                             apply_to = function)
#else
#pragma GCC target("avx2,fma")
#endif
#include "filter/strip_variant.inc"
#ifdef __clang__
#pragma clang attribute pop
#endif
#endif
