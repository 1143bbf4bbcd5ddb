/* SPDX-License-Identifier: MIT */
/* The kernels of tests/kernels/split.c. */
#ifndef TESTS_SPLIT_H
#define TESTS_SPLIT_H

#include <headrace/kernel.h>

extern const hr_kernel split1, split2, split3, split_tiled, split_items1,
    split_items2, split_scaled;

/* The value that split1 to split3 take: how many rows they read before and
 * after one's own. */
typedef struct reach {
    int before, after;
} reach;

/* They keep sums small. */
static inline int split_low(int x)
{
    return x & 0xffff;
}

#endif
