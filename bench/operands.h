/* SPDX-License-Identifier: MIT */
/* Random matrices in memory, to be multiplied, and what a product is off by. */
#ifndef BENCH_OPERANDS_H
#define BENCH_OPERANDS_H

#include <stdbool.h>

#include <headrace/headrace.h>

/* What is wanted. */
typedef struct bench_operands_wish {
    hr_type type, c_type;
    int64_t m, n, k;
    hr_context *pinned; /* page-locked by it; NULL: ordinary */
} bench_operands_wish;

typedef struct bench_operands {
    hr_matrix a, b, c; /* row-major and packed; data is this struct's own */
    hr_context *pinned;
} bench_operands;

/* False when out of memory, or cancelled. */
bool bench_operands_create(bench_operands *operands,
                           const bench_operands_wish *wish);

/* The same, unless they are such operands already. */
bool bench_operands_keep(bench_operands *operands,
                         const bench_operands_wish *wish);

/* Other numbers into C, so that no result of before is taken for the next one.
 * False when cancelled. */
bool bench_operands_spoil(const bench_operands *operands);

/* May be called for a zeroed struct. The context in question is still there. */
void bench_operands_free(bench_operands *operands);

/* Of about so many elements of C, spread over it, the largest |C - A B| over
 * |A| |B|, in double; infinite when one is no number. All three are packed by
 * rows, of f32, f64, c32 or c64. */
double bench_product_error(hr_matrix a, hr_matrix b, hr_matrix c,
                           int64_t samples);

#endif
