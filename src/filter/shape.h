/* SPDX-License-Identifier: MIT */
/* What all kernels of filters are told; kernels/dialect/filter.c has the same
 * struct. */
#ifndef HRI_FILTER_SHAPE_H
#define HRI_FILTER_SHAPE_H

#include <headrace/filter.h>

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

#endif
