/* SPDX-License-Identifier: MIT */
/* The picture as kernels on the host see it, whatever its elements' type. */
#ifndef HRI_FILTER_ROWS_H
#define HRI_FILTER_ROWS_H

#include "filter/shape.h"

typedef struct hri_rows {
    hri_filter_shape shape;
    const void *in, *apron;
    int64_t in_rows;
    int64_t in_stride, apron_stride; /* elements */
    double constant;
} hri_rows;

#endif
