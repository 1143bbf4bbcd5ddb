/* SPDX-License-Identifier: MIT */
#include "filter/strip.h"

#include <stdbool.h>

/* The best variant that this CPU can run. */
static const hri_strip_variant *variant(void)
{
#if defined(__x86_64__)
    const bool avx2 =
        __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    if (avx2 && __builtin_cpu_supports("avx512f") &&
        __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vl")) {
        return &hri_strip_avx512;
    }
    if (avx2) {
        return &hri_strip_avx2;
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
