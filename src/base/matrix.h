/* SPDX-License-Identifier: MIT */
/* Rules that all who take matrices have in common. */
#ifndef HRI_BASE_MATRIX_H
#define HRI_BASE_MATRIX_H

#include <stdbool.h>

#include <headrace/gemm.h>
#include <headrace/matrix.h>

#include "base/pool.h"

/* One matrix by itself: extents, strides and size; who and name are for the
 * sentence. */
hr_status hri_matrix_check(const char *who, const char *name,
                           const hr_matrix *m);

/* Whether any line of x shares a byte with any line of y; both are right by
 * themselves. */
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

/* C := beta C, for products that have nothing to multiply, where c is
 * row-major and not conjugated. beta = 0 never reads c. Returns when it is
 * done. */
void hri_matrix_scale(hri_pool *pool, hr_scalar beta, const hr_matrix *c);

#endif
