/* SPDX-License-Identifier: MIT */
/* What lies beyond the edges. */
#ifndef HRI_FILTER_EDGE_H
#define HRI_FILTER_EDGE_H

#include <headrace/filter.h>

/* Which of `count` elements in a row stands for the one at index i, inside or
 * not; -1: none of them. */
static inline int64_t hri_edge_index(int64_t i, int64_t count, int64_t edges)
{
    if (i >= 0 && i < count) {
        return i;
    }
    if (edges == HR_EDGES_CLAMPED) {
        return i < 0 ? 0 : count - 1;
    }
    if (edges == HR_EDGES_PERIODIC) {
        return (i % count + count) % count;
    }
    if (edges == HR_EDGES_MIRRORED) {
        i = (i % (2 * count) + 2 * count) % (2 * count);
        return i < count ? i : 2 * count - 1 - i;
    }
    return -1;
}

#endif
