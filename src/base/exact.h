/* SPDX-License-Identifier: MIT */
/* Sums of doubles without any rounding, so that their order does not matter:
 * fixed-point numbers that hold every double, as [Kulisch2011] (U. Kulisch,
 * V. Snyder, The exact dot product as basic tool for long interval arithmetic,
 * Computing 91, 2011) has them. */
#ifndef HRI_BASE_EXACT_H
#define HRI_BASE_EXACT_H

#include <stdint.h>

enum {
    HRI_EXACT_DIGITS = 68,                    /* of 32 bits, the lowest first */
    HRI_EXACT_NUMBERS = HRI_EXACT_DIGITS + 3, /* then the counts of NaN, inf
                                                 and -inf */
    HRI_EXACT_ADDITIONS = 1 << 30 /* that digits hold without a carry */
};

/* A sum. Starts with zeros. Sums of whole structs may be added number by
 * number, HRI_EXACT_ADDITIONS of them at most, if each has been carried. */
typedef struct hri_exact {
    int64_t numbers[HRI_EXACT_NUMBERS];
} hri_exact;

/* Add count numbers, and carry. */
void hri_exact_add(hri_exact *sum, const double *x, int64_t count);

/* The double next to the sum; of two, the even one. */
double hri_exact_value(const hri_exact *sum);

#endif
