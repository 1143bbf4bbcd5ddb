/* SPDX-License-Identifier: MIT */
#ifndef BLAS_TRIANGLE_H
#define BLAS_TRIANGLE_H

#include "blas/engine.h"

/* A call for a triangle of C (gemmt), of one row or more: squares beside the
 * diagonal are products, and small ones on it are taken out of a product of
 * their own. NULL, or why it failed. */
const char *blas_triangle(hr_context *context, const blas_call *call,
                          const blas_operands *operands);

/* What its products take as planned; negative: they cannot be. */
double blas_triangle_seconds(hr_context *context, const blas_call *call,
                             const blas_operands *operands);

#endif
