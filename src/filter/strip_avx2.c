/* SPDX-License-Identifier: MIT */
/* Strips for x86-64 with AVX2. */
#include <string.h>

#include "base/size.h"
#include "filter/strip.h"

#if defined(__x86_64__)
#define VARIANT      hri_strip_avx2
#define VECTOR_BYTES 32
#define VECTORS      2
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
