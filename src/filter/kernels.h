/* SPDX-License-Identifier: MIT */
/* The kernels of filters and their arguments. kernels/host/filter.inc is for
 * the host, kernels/dialect/filter.inc for devices. */
#ifndef HRI_FILTER_KERNELS_H
#define HRI_FILTER_KERNELS_H

#include <headrace/filter.h>
#include <headrace/kernel.h>

#include "base/size.h"

extern const hr_kernel hri_filter_strip_float, hri_filter_strip_double;
extern const hr_kernel hri_filter_fft_float, hri_filter_fft_double;
extern const hr_kernel hri_filter_direct_float, hri_filter_direct_double;
extern const hr_kernel hri_filter_across_float, hri_filter_across_double;
extern const hr_kernel hri_filter_down_float, hri_filter_down_double;

/* kernels/dialect/filter.inc has the same struct. */
typedef struct hri_filter_shape {
    int64_t reach, rank; /* rank 0: the direct method */
    int64_t rows, cols;  /* of the picture */
    int64_t first;       /* the row of the picture that is row 0 of `in` */
    int64_t top, left;   /* the place of out's (0, 0) in the picture */
    int64_t edges;       /* hr_edges */
    int64_t folded;      /* strips: filters along rows are symmetric */
    int64_t height;      /* strips: rows of out that an item does */
} hri_filter_shape;

/* The picture for kernels on the host, with elements of any type. */
typedef struct hri_picture {
    hri_filter_shape shape;
    const void *in, *apron;
    int64_t in_rows;
    int64_t in_stride, apron_stride; /* elements */
    double constant;
} hri_picture;

/* Which of `count` elements in a row stands for the one at index i, inside or
 * outside. -1: none does. */
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

/* ---- strips */

/* Filters on the host work in strips of 64 columns, from top to bottom. So the
 * data of a strip stays in the second-level cache, and loops become vectors.
 *
 * In the direct method, a ring holds the rows that a window covers, with values
 * beyond the edges. Each element takes n^2 multiply-adds, n = 2 reach + 1. With
 * separable filters, the ring holds what the rank filters along rows give,
 * computed once for each row: rank n multiply-adds, or half of them where
 * filters are symmetric, since both elements of a pair are added first. Then
 * rank n multiply-adds follow down the ring. For each element 4 to 8 bytes are
 * read from memory and as many written. The order of summation depends only on
 * the element. */

/* The width of strips, and how many of their rows make a block. The order in
 * which an element is summed depends on its place in the block. So bands begin
 * with whole blocks. */
enum { HRI_STRIP_COLS = 64, HRI_STRIP_BLOCK = 12 };

/* Elements between the rows of one filter and those of the next, so that they
 * do not fall into one set of a cache. */
enum { HRI_STRIP_GAP = 16 };

/* Elements in a row of a strip, with those that windows reach on both sides. */
static inline int64_t hri_strip_line(int64_t reach)
{
    return (HRI_STRIP_COLS + 2 * reach + 15) / 16 * 16;
}

/* Rows to do between two moves of the ring, in whole blocks. The ring should
 * stay in the second-level cache. So there are at most four times as many rows
 * as are moved, and never fewer than those. */
static inline int64_t hri_strip_rows(int64_t reach, int64_t rank)
{
    enum { CACHED = 1 << 19 }; /* elements */
    const int64_t seen = 2 * reach;
    const int64_t row =
        rank == 0 ? hri_strip_line(reach) : rank * HRI_STRIP_COLS;
    const int64_t rows = hri_max(hri_min(CACHED / row - seen, 4 * seen),
                                 hri_max(seen, 4 * HRI_STRIP_BLOCK));
    return hri_round_up(rows, HRI_STRIP_BLOCK);
}

/* Elements of scratch memory for a strip. */
static inline int64_t hri_strip_scratch(int64_t reach, int64_t rank)
{
    const int64_t ring = hri_strip_rows(reach, rank) + 2 * reach;
    const int64_t line = hri_strip_line(reach);
    return rank == 0 ? ring * line
                     : line + rank * (ring * HRI_STRIP_COLS + HRI_STRIP_GAP);
}

/* The part of a strip kernel's domain for one item, for elements of any
 * type. */
typedef struct hri_strip {
    hri_picture picture;
    const void *across, *down;
    void *out, *scratch;
    int64_t out_stride, out_cols; /* elements */
    int64_t first_row, last_row;  /* of out */
    int64_t first_strip, step;    /* every step-th strip from the first on */
} hri_strip;

/* The functions compiled for one instruction set. */
typedef struct hri_strip_variant {
    void (*f32)(const hri_strip *strip);
    void (*f64)(const hri_strip *strip);
} hri_strip_variant;

extern const hri_strip_variant hri_strip_avx512, hri_strip_avx2,
    hri_strip_plain;

/* Run with the best variant for this CPU. */
void hri_strip_run_float(const hri_strip *strip);
void hri_strip_run_double(const hri_strip *strip);

#endif
