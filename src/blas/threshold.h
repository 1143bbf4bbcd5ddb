/* SPDX-License-Identifier: MIT */
/* From how many operations on calls leave the replaced library:
 * HEADRACE_BLAS_MIN_FLOPS and HEADRACE_BLAS_FORCE. */
#ifndef BLAS_THRESHOLD_H
#define BLAS_THRESHOLD_H

#include <stdbool.h>

typedef struct blas_threshold {
    double flops; /* 0 if forced */
    bool forced;  /* all calls, whatever is faster */
} blas_threshold;

/* What the user asked for, else `usual`. */
blas_threshold blas_threshold_read(double usual);

#endif
