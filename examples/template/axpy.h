/* SPDX-License-Identifier: MIT */
#ifndef AXPY_H
#define AXPY_H

#include <headrace/headrace.h>

/* y = a x + y, of n floats in ordinary memory each, on all accelerators. After
 * an error hr_last_error() says why. */
hr_status axpy(float a, const float *x, float *y, int64_t n);

#endif
