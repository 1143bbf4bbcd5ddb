/* SPDX-License-Identifier: MIT */
/* Strips for the compiler's default target (SSE2 on x86-64, NEON on aarch64),
 * and the choice of the variant. */
#include "filter/kernels.h"

#include <string.h>

#include "base/cpus.h"

#define VARIANT      hri_strip_plain
#define VECTOR_BYTES 16
#define ROWS         6
#include "filter/strip_variant.inc"

static const hri_strip_variant *variant(void)
{
#if defined(__x86_64__)
    const hri_simd simd = hri_simd_here();
    if (simd != HRI_SIMD_BASELINE) {
        return simd == HRI_SIMD_AVX512 ? &hri_strip_avx512 : &hri_strip_avx2;
    }
#endif
    return &hri_strip_plain;
}

void hri_strip_run_float(const hri_strip *strip)
{
    variant()->f32(strip);
}

void hri_strip_run_double(const hri_strip *strip)
{
    variant()->f64(strip);
}
