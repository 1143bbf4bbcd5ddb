/* SPDX-License-Identifier: MIT */
/* The rules for hr_gemm's arguments, and the normal form that the engine works
 * on. */
#ifndef HRI_GEMM_CHECK_H
#define HRI_GEMM_CHECK_H

#include "base/matrix.h"

/* A product in normal form: C is row-major (col_stride 1) and not conjugated,
 * and sizes and types agree. */
typedef struct hri_product {
    hr_compute compute;
    int64_t m, n, k;
    hr_scalar alpha, beta;
    hr_matrix a, b, c;
    bool transposed; /* c is the transpose of the caller's C */
} hri_product;

/* Check shapes, strides, types and scalars. HR_ERROR_INVALID or
 * HR_ERROR_UNSUPPORTED, with the numbers. Data pointers are not looked at. */
hr_status hri_gemm_check(hr_scalar alpha, const hr_matrix *a,
                         const hr_matrix *b, hr_scalar beta,
                         const hr_matrix *c);

/* Check data pointers, after hri_gemm_check. They must exist where elements are
 * read or written, and C must share no element with A or B (windows of one
 * array may interleave). */
hr_status hri_gemm_check_data(hr_scalar alpha, const hr_matrix *a,
                              const hr_matrix *b, const hr_matrix *c);

/* Make the normal form, after hri_gemm_check. A column-major C becomes its
 * transpose. A conjugated C becomes plain, and all other operands are
 * conjugated. */
hri_product hri_product_normal(hr_scalar alpha, hr_matrix a, hr_matrix b,
                               hr_scalar beta, hr_matrix c, hr_compute compute);

#endif
