/* SPDX-License-Identifier: MIT */
/* The rules of hr_gemm's arguments, and the one form the engine works on. */
#ifndef HRI_GEMM_CHECK_H
#define HRI_GEMM_CHECK_H

#include "base/matrix.h"

/* A product in normal form: C is row-major (col_stride 1) and not conjugated,
 * sizes and types agree. */
typedef struct hri_product {
    hr_compute compute;
    int64_t m, n, k;
    hr_scalar alpha, beta;
    hr_matrix a, b, c;
} hri_product;

/* Shapes, strides, types and scalars: HR_ERROR_INVALID or
 * HR_ERROR_UNSUPPORTED with the numbers. Data pointers are not looked at. */
hr_status hri_gemm_check(hr_scalar alpha, const hr_matrix *a,
                         const hr_matrix *b, hr_scalar beta,
                         const hr_matrix *c);

/* Data pointers: there where elements are read or written, C apart from A and
 * B element by element (windows of one array may interleave). After
 * hri_gemm_check. */
hr_status hri_gemm_check_data(hr_scalar alpha, const hr_matrix *a,
                              const hr_matrix *b, const hr_matrix *c);

/* The normal form: a column-major C becomes its transpose, a conjugated one
 * moves its conjugation to everything else. After hri_gemm_check. */
hri_product hri_product_normal(hr_scalar alpha, hr_matrix a, hr_matrix b,
                               hr_scalar beta, hr_matrix c, hr_compute compute);

#endif
