/* SPDX-License-Identifier: MIT */
/* One product on a device's queue, compared with the reference. Operands are
 * windows in larger buffers, of which only C may change. */
#ifndef PRODUCT_H
#define PRODUCT_H

#include "hal/hal.h"
#include "support/pairs.h"

typedef struct product {
    hr_type type, c_type;
    int64_t m, n, k;
    hr_scalar alpha, beta;
    bool a_columns, b_columns; /* column-major */
    bool a_conjugate, b_conjugate;
    int64_t padding; /* elements between A's rows or columns; B and C have twice
                        and three times as many */
    int64_t lead;    /* elements before the first, likewise */
    bool in_place;   /* operands in host memory, which the device takes */
    bool special;    /* NaN and infinity among the elements of A and B */
} product;

/* Enqueues the product: a queue's gemm, or a part of what implements it. */
typedef hr_status (*product_function)(hri_queue *queue, const hri_gemm *gemm);

/* The queue's gemm. */
hr_status product_enqueue(hri_queue *queue, const hri_gemm *gemm);

/* Whether every element of the result is inside its derived bound, and
 * everything else is as before. With beta = 0 the old C is NaN. Prints on
 * stderr what is wrong. The numbers depend only on seed. */
bool product_is_right(hri_queue *queue, const product *p,
                      product_function multiply, uint64_t seed);

/* Whether the queue's gemm is right for these types. It tries every arrangement
 * of the operands with every pair of factors, and sizes by turns; and every
 * size, aligned and not. Sizes are around the tiles of our kernels. */
bool products_are_right(hri_queue *queue, const type_pair *types);

/* The same for three virtual accelerators that multiply at once. */
bool products_are_right_at_once(const hri_backend *backend, uint32_t index);

#endif
