/* SPDX-License-Identifier: MIT */
/* Precise products: src/hal/precise.inc in C, and its tables. */
#ifndef HRI_HAL_PRECISE_H
#define HRI_HAL_PRECISE_H

#include <stdbool.h>
#include <stdint.h>

#include "hal/hal.h"

typedef int32_t i32;
typedef uint32_t u32;
typedef int64_t i64;
typedef uint64_t u64;

#define FN                     static inline
#define CONSTANT               const
#define LEADING_ZEROS(integer) __builtin_clzll(integer)
#define HIGH(x, y)             ((u32)((u64)(x) * (y) >> 32))
#include "precise.inc"
#undef FN
#undef CONSTANT
#undef LEADING_ZEROS
#undef HIGH

/* Whether HR_COMPUTE_PRECISE is for it: f32, f64, c32 and c64. */
static inline bool hri_is_precise_type(hr_type type)
{
    return type == HR_F32 || type == HR_F64 || type == HR_C32 || type == HR_C64;
}

/* A slice of k. */
typedef struct hri_precise_slice {
    int64_t first, length; /* elements along k */
    int64_t width;         /* bytes of a line of residues: numbers, and zeros */
    int parts;             /* numbers in an element */
    precise_form form;
} hri_precise_slice;

/* Set *slice, which is all zero at first, to the next slice of k elements.
 * False behind the last one. */
bool hri_precise_next(hr_type type, int64_t k, hri_precise_slice *slice);

/* A packed panel has `count` rows of A or columns of B, and its slices of k lie
 * one behind the other. Each begins with all residues [moduli][lines][width],
 * for which there is room in multiples of 64 lines, in an order of the
 * device's. Then comes a precise_line for each row or column. A complex column
 * of B makes two lines. side: 0 for A, 1 for B. Where they begin, and the bytes
 * of all. */
uint64_t hri_precise_known(const hri_precise_slice *slice, int side,
                           int64_t count);
uint64_t hri_precise_size(const hri_precise_slice *slice, int side,
                          int64_t count);
/* Bytes of a packed panel. UINT64_MAX on overflow. */
uint64_t hri_precise_bytes(hr_type type, int side, int64_t count, int64_t k);

/* Bytes that a product with rows x cols elements of C needs beside packed
 * panels. */
uint64_t hri_precise_scratch(hr_type type, int64_t rows, int64_t cols);
/* Reduce rows and columns to those of which it holds residues, [moduli][rows]
 * [cols * parts], and then a byte for each element, at one time. */
void hri_precise_block(hr_type type, int64_t *rows, int64_t *cols);

/* The factor of C before the slice is added: the product's, and later 1. */
static inline hr_scalar hri_precise_beta(const hri_gemm *gemm,
                                         const hri_precise_slice *slice)
{
    return slice->first == 0 ? gemm->beta : hr_real(1.0);
}

/* The reproducible product that adds the slice to rows x cols elements of C,
 * from element (row, col) on. */
hri_gemm hri_precise_ordered(const hri_gemm *gemm,
                             const hri_precise_slice *slice, int64_t row,
                             int64_t rows, int64_t col, int64_t cols);

/* Elements of a slice of k: all but the last have so many. */
int64_t hri_precise_depth(hr_type type);

/* Numbers in an element. */
static inline int hri_precise_parts(hr_type type)
{
    return type == HR_C32 || type == HR_C64 ? 2 : 1;
}

#endif
