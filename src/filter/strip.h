/* SPDX-License-Identifier: MIT */
/* Filters on the host: strips of 64 columns, from top to bottom, so that what a
 * strip works on stays in the second cache and its loops become vectors.
 *
 * Directly, the rows that a window covers lie in a ring beside each other, with
 * what is beyond the edges: n^2 multiply-adds an element, n = 2 reach + 1. As a
 * sum of separable filters, the ring holds of each row what the rank filters
 * along it give, computed once: rank n multiply-adds (half of them where the
 * filters are symmetric: both elements of a pair are added first), and as many
 * down the ring. Per element 4 to 8 bytes are read from memory and as many
 * written. Sums are formed in an order that depends on the element alone. */
#ifndef HRI_FILTER_STRIP_H
#define HRI_FILTER_STRIP_H

#include "filter/kernels.h"

/* A part of a strip kernel's domain, whatever the elements' type. */
typedef struct hri_strip {
    hri_rows rows;
    const void *across, *down;
    void *out, *scratch;
    int64_t out_stride, out_cols; /* elements */
    int64_t first_row, last_row;  /* of out */
    int64_t first_strip, step;    /* every step-th strip from the first on */
} hri_strip;

/* What is compiled for an instruction set. */
typedef struct hri_strip_variant {
    void (*f32)(const hri_strip *strip);
    void (*f64)(const hri_strip *strip);
} hri_strip_variant;

extern const hri_strip_variant hri_strip_avx512, hri_strip_avx2,
    hri_strip_plain;

/* With the best of those that this CPU can run. */
void hri_strip_run_float(const hri_strip *strip);
void hri_strip_run_double(const hri_strip *strip);

#endif
