/* SPDX-License-Identifier: MIT */
/* The kernels of filters: kernels/host/filter.c, for the host, and
 * kernels/dialect/filter.c, which the build also compiles with double in the
 * place of float; and what they are told. */
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

/* kernels/dialect/filter.c has the same struct. */
typedef struct hri_filter_shape {
    int64_t reach, rank; /* rank 0: directly */
    int64_t rows, cols;  /* of the picture */
    int64_t first;       /* the picture's row that row 0 of `in` is */
    int64_t top, left;   /* the picture's row and column of out's (0, 0) */
    int64_t edges;       /* hr_edges */
    int64_t folded;      /* strips: filters along rows are symmetric */
    int64_t height;      /* strips: rows of out that an item does */
} hri_filter_shape;

/* The picture as kernels on the host see it, whatever its elements' type. */
typedef struct hri_picture {
    hri_filter_shape shape;
    const void *in, *apron;
    int64_t in_rows;
    int64_t in_stride, apron_stride; /* elements */
    double constant;
} hri_picture;

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

/* ---- strips */

/* Filters on the host: strips of 64 columns, from top to bottom, so that what a
 * strip works on stays in the second cache and its loops become vectors.
 *
 * Directly, the rows that a window covers lie in a ring beside each other, with
 * what is beyond the edges: n^2 multiply-adds an element, n = 2 reach + 1. As a
 * sum of separable filters, the ring holds of each row what the rank filters
 * along it give, computed once: rank n multiply-adds (half of them where the
 * filters are symmetric: both elements of a pair are added first), and as many
 * down the ring. Per element 4 to 8 bytes are read from memory and as many
 * written. Sums are formed in an order that depends on the element alone. */

/* How wide strips are, and how many of their rows make a block. Where an
 * element lies in its block decides in which order it is summed, so bands begin
 * with whole ones. */
enum { HRI_STRIP_COLS = 64, HRI_STRIP_BLOCK = 12 };

/* Between the rows of one filter and the next, so that they do not meet in one
 * set of a cache. */
enum { HRI_STRIP_GAP = 16 };

/* A row of a strip with what windows reach on both sides. */
static inline int64_t hri_strip_line(int64_t reach)
{
    return (HRI_STRIP_COLS + 2 * reach + 15) / 16 * 16;
}

/* Rows that are done between two moves of the ring, whole blocks: as many as
 * let it stay in the second cache, up to four times what moves; never less than
 * that. */
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

/* Elements that a strip works in. */
static inline int64_t hri_strip_scratch(int64_t reach, int64_t rank)
{
    const int64_t ring = hri_strip_rows(reach, rank) + 2 * reach;
    const int64_t line = hri_strip_line(reach);
    return rank == 0 ? ring * line
                     : line + rank * (ring * HRI_STRIP_COLS + HRI_STRIP_GAP);
}

/* A part of a strip kernel's domain, whatever the elements' type. */
typedef struct hri_strip {
    hri_picture picture;
    const void *across, *down;
    void *out, *scratch;
    int64_t out_stride, out_cols; /* elements */
    int64_t first_row, last_row;  /* of out */
    int64_t first_strip, step;    /* every step-th strip from the first on */
} hri_strip;

/* What is compiled for an instruction set. */
typedef struct hri_strip_variant {
    void (*f32)(const hri_strip *strip);
    void (*f64)(const hri_strip *strip);
} hri_strip_variant;

extern const hri_strip_variant hri_strip_avx512, hri_strip_avx2,
    hri_strip_plain;

/* With the best of those that this CPU can run. */
void hri_strip_run_float(const hri_strip *strip);
void hri_strip_run_double(const hri_strip *strip);

#endif
