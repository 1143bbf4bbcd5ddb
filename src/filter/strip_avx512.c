/* SPDX-License-Identifier: MIT */
/* Strips for x86-64 with AVX-512. */
#include <string.h>

#include "filter/kernels.h"

#if defined(__x86_64__)
#define VARIANT      hri_strip_avx512
#define VECTOR_BYTES 64
#define ROWS         12

#ifdef __clang__
#pragma clang attribute push(                                                  \
    __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl,fma"))),         \
    apply_to = function)
#else
#pragma GCC target("avx512f,avx512dq,avx512bw,avx512vl,fma")
#endif
#include "filter/strip_variant.inc"
#ifdef __clang__
#pragma clang attribute pop
#endif
#endif
