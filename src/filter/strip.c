/* SPDX-License-Identifier: MIT */
/* Strips as kernels that run on the host alone: each item does some strips. */
#include "filter/strip.h"

#include <headrace/dialect.h>

#include "base/size.h"

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

HR_KERNEL8(hri_filter_strip_float, (IN, float, 2, in), (IN, float, 2, apron),
           (IN, float, 1, across), (IN, float, 1, down), (OUT, float, 2, out),
           (VALUE, hri_filter_shape, 0, shape), (VALUE, float, 0, constant),
           (TILE, float, 0, scratch))
{
    HR_EACH2(part, strip)
    {
        const hri_strip s = {
            .rows = {.shape = shape,
                     .in = &HR_AT2(in, 0, 0),
                     .apron = &HR_AT2(apron, 0, 0),
                     .in_stride = HR_STRIDE(in, 0),
                     .apron_stride = HR_STRIDE(apron, 0),
                     .constant = (double)constant},
            .across = &HR_AT1(across, 0),
            .down = &HR_AT1(down, 0),
            .out = &HR_AT2(out, 0, 0),
            .scratch = scratch,
            .out_stride = HR_STRIDE(out, 0),
            .out_cols = HR_EXTENT(out, 1),
            .first_row = part * shape.height,
            .last_row = hri_min((part + 1) * shape.height, HR_EXTENT(out, 0)),
            .first_strip = strip,
            .step = HR_DOMAIN(1)};
        variant()->f32(&s);
    }
}

HR_KERNEL8(hri_filter_strip_double, (IN, double, 2, in), (IN, double, 2, apron),
           (IN, double, 1, across), (IN, double, 1, down),
           (OUT, double, 2, out), (VALUE, hri_filter_shape, 0, shape),
           (VALUE, double, 0, constant), (TILE, double, 0, scratch))
{
    HR_EACH2(part, strip)
    {
        const hri_strip s = {
            .rows = {.shape = shape,
                     .in = &HR_AT2(in, 0, 0),
                     .apron = &HR_AT2(apron, 0, 0),
                     .in_stride = HR_STRIDE(in, 0),
                     .apron_stride = HR_STRIDE(apron, 0),
                     .constant = (double)constant},
            .across = &HR_AT1(across, 0),
            .down = &HR_AT1(down, 0),
            .out = &HR_AT2(out, 0, 0),
            .scratch = scratch,
            .out_stride = HR_STRIDE(out, 0),
            .out_cols = HR_EXTENT(out, 1),
            .first_row = part * shape.height,
            .last_row = hri_min((part + 1) * shape.height, HR_EXTENT(out, 0)),
            .first_strip = strip,
            .step = HR_DOMAIN(1)};
        variant()->f64(&s);
    }
}
