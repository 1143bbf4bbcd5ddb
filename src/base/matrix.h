/* SPDX-License-Identifier: MIT */
/* The rules that all functions with matrix arguments share. */
#ifndef HRI_BASE_MATRIX_H
#define HRI_BASE_MATRIX_H

#include <stdbool.h>

#include <headrace/gemm.h>
#include <headrace/matrix.h>

#include "base/pool.h"

/* The same matrix, with strides that are never used set to allowed ones: those
 * over an extent below 2, and both of an empty matrix. NumPy puts anything
 * there. */
hr_matrix hri_matrix_tidy(hr_matrix m);

/* rows x cols elements of a matrix, from element (row, col) on. */
hr_matrix hri_matrix_section(hr_matrix m, int64_t row, int64_t col,
                             int64_t rows, int64_t cols);

/* HR_ERROR_UNSUPPORTED for a value that is no type. `call` begins the error
 * message. name: whose type it is, NULL where the call has only one. */
hr_status hri_type_check(const char *call, const char *name, hr_type type);

/* Check the extents, strides and size of one matrix. `caller` and `name` begin
 * the error message. */
hr_status hri_matrix_check(const char *caller, const char *name,
                           const hr_matrix *m);

/* The bytes from a matrix's first element to behind its last one; 0 when it is
 * empty. It has passed hri_matrix_check. */
int64_t hri_matrix_bytes(const hr_matrix *m);

/* Whether any line of x shares a byte with any line of y. Each matrix by itself
 * must have passed hri_matrix_check. */
bool hri_matrix_overlap(const hr_matrix *x, const hr_matrix *y);

static inline bool hri_is_complex(hr_type type)
{
    return type == HR_C32 || type == HR_C64;
}

/* Floating-point (or integer) operations of an m x n x k product. */
static inline double hri_product_flops(hr_type type, int64_t m, int64_t n,
                                       int64_t k)
{
    return (hri_is_complex(type) ? 8.0 : 2.0) * (double)m * (double)n *
           (double)k;
}

/* Whether two matrices of type are multiplied into one of c_type. */
bool hri_types_multiply(hr_type type, hr_type c_type);

/* C := beta C. Products that have nothing to multiply need it. c must be
 * row-major and not conjugated. beta = 0 never reads c. Returns when C is
 * written. */
void hri_matrix_scale(hri_pool *pool, hr_scalar beta, const hr_matrix *c);

#endif
