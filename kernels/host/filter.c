/* SPDX-License-Identifier: MIT */
/* Filters that only the host has. Their items are strips
 * (src/filter/kernels.h), or blocks for Fourier transforms (src/filter/fft.h).
 * The build makes a second file of this one, with double in place of float. */
#include <headrace/dialect.h>

#include "base/size.h"
#include "filter/fft.h"
#include "filter/kernels.h"

/* The picture of both kernels: their arguments have the same names. */
#define PICTURE                                                                \
    {                                                                          \
        .shape = shape, .in = &HR_AT2(in, 0, 0),                               \
        .apron = &HR_AT2(apron, 0, 0), .in_rows = HR_EXTENT(in, 0),            \
        .in_stride = HR_STRIDE(in, 0), .apron_stride = HR_STRIDE(apron, 0),    \
        .constant = (double)constant,                                          \
    }

/* Filter every HR_DOMAIN(1)-th strip of a part of the rows. */
HR_KERNEL8(hri_filter_strip_float, (IN, float, 2, in), (IN, float, 2, apron),
           (IN, float, 1, across), (IN, float, 1, down), (OUT, float, 2, out),
           (VALUE, hri_filter_shape, 0, shape), (VALUE, float, 0, constant),
           (TILE, float, 0, scratch))
{
    HR_EACH2(part, strip)
    {
        const hri_strip s = {
            .picture = PICTURE,
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
        hri_strip_run_float(&s);
    }
}

/* Transform every HR_DOMAIN(0)-th block. */
HR_KERNEL7(hri_filter_fft_float, (IN, float, 2, in), (IN, float, 2, apron),
           (OUT, float, 2, out), (VALUE, hri_filter_shape, 0, shape),
           (VALUE, float, 0, constant), (VALUE, hri_fft, 0, fft),
           (TILE, float, 0, scratch))
{
    HR_EACH1(item)
    {
        const hri_block_work s = {.picture = PICTURE,
                                  .out = &HR_AT2(out, 0, 0),
                                  .scratch = scratch,
                                  .out_rows = HR_EXTENT(out, 0),
                                  .out_cols = HR_EXTENT(out, 1),
                                  .out_stride = HR_STRIDE(out, 0),
                                  .first = item,
                                  .step = HR_DOMAIN(0)};
        hri_fft_run_float(&fft, &s);
    }
}
