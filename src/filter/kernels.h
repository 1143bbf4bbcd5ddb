/* SPDX-License-Identifier: MIT */
/* The kernels of filters: kernels/host/filter.c, for the host, and
 * kernels/dialect/filter.c, which the build also compiles with double in the
 * place of float; and what they are told. */
#ifndef HRI_FILTER_KERNELS_H
#define HRI_FILTER_KERNELS_H

#include <headrace/filter.h>
#include <headrace/kernel.h>

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

/* Strips: how wide they are, and how many rows make a block. Where an element
 * lies in its block decides in which order it is summed, so bands begin with
 * whole ones. */
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
    int64_t rows = CACHED / row - seen;
    rows = rows > 4 * seen ? 4 * seen : rows;
    rows = rows < seen ? seen : rows;
    rows = rows < 4 * HRI_STRIP_BLOCK ? 4 * HRI_STRIP_BLOCK : rows;
    return (rows + HRI_STRIP_BLOCK - 1) / HRI_STRIP_BLOCK * HRI_STRIP_BLOCK;
}

/* Elements that a strip works in. */
static inline int64_t hri_strip_scratch(int64_t reach, int64_t rank)
{
    const int64_t ring = hri_strip_rows(reach, rank) + 2 * reach;
    const int64_t line = hri_strip_line(reach);
    return rank == 0 ? ring * line
                     : line + rank * (ring * HRI_STRIP_COLS + HRI_STRIP_GAP);
}

/* The picture as kernels on the host see it, whatever its elements' type. */
typedef struct hri_rows {
    hri_filter_shape shape;
    const void *in, *apron;
    int64_t in_rows;
    int64_t in_stride, apron_stride; /* elements */
    double constant;
} hri_rows;

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
