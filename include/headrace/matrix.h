/* SPDX-License-Identifier: MIT */
/** @file matrix.h
 *  Matrices: by-value windows over memory that the caller owns.
 *
 *  One struct covers row-major, column-major, transposed and sub-matrices, so
 *  nothing else in Headrace needs a transpose flag. Element (r, c) lives at
 *  data + (r * row_stride + c * col_stride) * hr_type_size(type) bytes. */
#ifndef HEADRACE_MATRIX_H
#define HEADRACE_MATRIX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <headrace/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Element types. Complex types are (real, imaginary) pairs. */
typedef enum hr_type {
    HR_F32 = 1,  /**< IEEE 754 binary32 */
    HR_F64 = 2,  /**< IEEE 754 binary64 */
    HR_C32 = 3,  /**< a pair of binary32: 8 bytes an element */
    HR_C64 = 4,  /**< a pair of binary64: 16 bytes an element */
    HR_F16 = 5,  /**< IEEE 754 binary16 */
    HR_BF16 = 6, /**< the upper half of a binary32 */
    HR_I8 = 7,   /**< signed 8-bit integer */
    HR_I32 = 8   /**< signed 32-bit integer; arithmetic wraps modulo 2^32 */
} hr_type;

/** A scalar factor. The imaginary part must be 0 for real types, and both
 *  parts integers for i32. */
typedef struct hr_scalar {
    double re, im;
} hr_scalar;

/** A window over memory. Strides count elements. One of the two must be 1, and
 *  the other at least the extent it steps over. A stride whose own extent is
 *  below 2 is never used and may be anything: row_stride of a single row,
 *  col_stride of a single column. So may both of a matrix without elements. */
typedef struct hr_matrix {
    void *data;
    hr_type type;
    bool conjugate; /**< elements count as their complex conjugates */
    int64_t rows, cols;
    int64_t row_stride, col_stride;
} hr_matrix;

/** Bytes of one element; 0 for a value that is no type.
 * @threads Any thread. */
HR_API size_t hr_type_size(hr_type type);

/** "f32", "f64", "c32", "c64", "f16", "bf16", "i8", "i32"; "?" for others.
 * @owner   A constant string.
 * @threads Any thread. */
HR_API const char *hr_type_name(hr_type type);

/** The scalar re + 0i.
 * @threads Any thread. */
HR_API hr_scalar hr_real(double re);

/** The scalar re + im i.
 * @threads Any thread. */
HR_API hr_scalar hr_complex(double re, double im);

/** A row-major matrix: rows follow each other row_stride elements apart.
 *
 * @shape   rows x cols; row_stride 0 means packed, that is cols.
 * @owner   Borrows data; nothing is copied. The library writes through it only
 *          where the matrix is an output, so const memory may be passed in.
 * @errors  None here: hr_gemm and the others check what they are given.
 * @threads Any thread. */
HR_API hr_matrix hr_matrix_row_major(const void *data, hr_type type,
                                     int64_t rows, int64_t cols,
                                     int64_t row_stride);

/** A column-major matrix: columns follow each other col_stride elements apart.
 *  Otherwise as hr_matrix_row_major; col_stride 0 means packed, that is rows.
 */
HR_API hr_matrix hr_matrix_column_major(const void *data, hr_type type,
                                        int64_t rows, int64_t cols,
                                        int64_t col_stride);

/** The transpose of m, over the same memory.
 * @threads Any thread. */
HR_API hr_matrix hr_matrix_transpose(hr_matrix m);

/** The complex conjugate of m, over the same memory; m itself for real types.
 * @threads Any thread. */
HR_API hr_matrix hr_matrix_conjugate(hr_matrix m);

/** The window of m that starts at (row, col) and is rows x cols.
 *
 * @owner   *section borrows what m borrows; written only on success.
 * @errors  HR_ERROR_INVALID when the window does not lie inside m, or section
 *          is NULL.
 * @threads Any thread. */
HR_API HR_NODISCARD hr_status hr_matrix_section(hr_matrix m, int64_t row,
                                                int64_t col, int64_t rows,
                                                int64_t cols,
                                                hr_matrix *section);

#ifdef __cplusplus
}
#endif
#endif
