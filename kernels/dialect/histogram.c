/* SPDX-License-Identifier: MIT */
/* Histograms (headrace/histogram.h). A tile counts a unit: some rows (indices
 * of dimension 0), lines and columns. It counts in its own memory if the bins
 * fit there, and adds what it has to the view once. Launched over units x
 * (LANES for each piece of a unit's rows) in tiles of 1 x LANES.
 *
 * Bin b is the last one with edges[b] <= x. A number says about where that is.
 * Where it is near an edge, edges are compared.
 *
 * The build compiles this file for floats. It makes copies for other types,
 * with these macros defined before. */
#ifndef ELEMENT
#define ELEMENT       float
#define EDGE          float
#define NUMBER        float
#define KERNEL(shape) hri_histogram_f32_##shape
#endif

#include <headrace/dialect.h>

/* as in src/calls/histogram.c */
enum { LANES = 256, MAX_BINS = 4096 /* bins in memory of the tile */ };

/* src/calls/histogram.c has the same struct. */
typedef struct hri_binning {
    hr_index rows, lines, cols; /* of a unit */
    NUMBER half_low;            /* half the first edge */
    NUMBER scale;               /* twice the bins for 1 */
    float margin; /* how far the number may be from what the edges say */
} hri_binning;

#if !defined(NEEDS_DOUBLE) || defined(HR_HAS_DOUBLE)

HR_FUNCTION hr_index lesser(hr_index x, hr_index y)
{
    return x < y ? x : y;
}

/* What is known of the bin of a number: the bin, or one of these. */
enum { OUTSIDE = -1, NEAR = -2 /* about bin NEAR - b, but an edge is near */ };

/* Without branches, so that the host's loop over items becomes vectors. Halves
 * cannot overflow when they are subtracted. */
HR_FUNCTION int place_of(EDGE x, EDGE low, EDGE high, float last, hri_binning s)
{
    const float f = (float)(((NUMBER)x / 2 - s.half_low) * s.scale);
    const float up = f > 0 ? f : 0;
    const int b = (int)(up < last ? up : last);
    const float rest = f - (float)b;
    const int sure = (int)(rest > s.margin) & (int)(rest < 1 - s.margin);
    const int inside = (int)(x >= low) & (int)(x <= high);
    const int known = b ^ ((b ^ (NEAR - b)) & (sure - 1));
    return known | (inside - 1); /* OUTSIDE has all bits */
}

#define PLACE(x) place_of((EDGE)(x), low, high, (float)(bins - 1), binning)

/* Count x, of which PLACE has told `place`. */
#define COUNT(place, x, PUT)                                                   \
    {                                                                          \
        int b = (place);                                                       \
        if (b <= NEAR) {                                                       \
            b = NEAR - b;                                                      \
            while (b > 0 && (EDGE)(x) < HR_AT1(edges, b)) {                    \
                b--;                                                           \
            }                                                                  \
            while (b + 1 < bins && (EDGE)(x) >= HR_AT1(edges, b + 1)) {        \
                b++;                                                           \
            }                                                                  \
        }                                                                      \
        if (b >= 0) {                                                          \
            PUT                                                                \
        }                                                                      \
    }

/* Count columns first to end of a line. Devices have several columns of a lane
 * on their way at once. The host finds the places of a row of items first. */
#if defined(__OPENCL_C_VERSION__) || defined(__CUDACC__)
enum { AT_ONCE = 4 };
#define TAKE(AT, first, end, PUT)                                              \
    {                                                                          \
        hr_index at = (first);                                                 \
        for (; at + AT_ONCE * LANES <= (end); at += AT_ONCE * LANES) {         \
            HR_ITEMS2(i, lane)                                                 \
            {                                                                  \
                ELEMENT x[AT_ONCE];                                            \
                HR_UNROLL                                                      \
                for (int j = 0; j < AT_ONCE; j++) {                            \
                    x[j] = AT(a, at + HR_LOCAL1 + j * LANES);                  \
                }                                                              \
                HR_UNROLL                                                      \
                for (int j = 0; j < AT_ONCE; j++) {                            \
                    COUNT(PLACE(x[j]), x[j], PUT)                              \
                }                                                              \
            }                                                                  \
        }                                                                      \
        for (; at < (end); at += LANES) {                                      \
            HR_ITEMS2(i, lane)                                                 \
            {                                                                  \
                if (HR_LOCAL1 < (end)-at) {                                    \
                    const ELEMENT x = AT(a, at + HR_LOCAL1);                   \
                    COUNT(PLACE(x), x, PUT)                                    \
                }                                                              \
            }                                                                  \
        }                                                                      \
    }
#else
#define TAKE(AT, first, end, PUT)                                              \
    for (hr_index at = (first); at < (end); at += LANES) {                     \
        if ((end)-at >= LANES) {                                               \
            HR_ITEMS2(i, lane)                                                 \
            {                                                                  \
                HR_P(place) = PLACE(AT(a, at + HR_LOCAL1));                    \
            }                                                                  \
        } else {                                                               \
            HR_ITEMS2(i, lane)                                                 \
            {                                                                  \
                HR_P(place) = HR_LOCAL1 < (end)-at                             \
                                  ? PLACE(AT(a, at + HR_LOCAL1))               \
                                  : OUTSIDE;                                   \
            }                                                                  \
        }                                                                      \
        HR_ITEMS2(i, lane)                                                     \
        {                                                                      \
            COUNT(HR_P(place), AT(a, at + HR_LOCAL1), PUT)                     \
        }                                                                      \
    }
#endif

#define IN_TILE HR_ATOMIC_ADD(part[b], 1U);
#define IN_VIEW HR_ATOMIC_ADD(HR_AT1(counts, b), 1L);

#define HISTOGRAM(LINES)                                                       \
    if (HR_TILE(1) != LANES) { /* never; so that compilers know */             \
        return;                                                                \
    }                                                                          \
    if (bins > MAX_BINS) {                                                     \
        LINES(IN_VIEW)                                                         \
    } else {                                                                   \
        HR_ITEMS2(i, lane)                                                     \
        {                                                                      \
            for (int b = (int)HR_LOCAL1; b < bins; b += LANES) {               \
                part[b] = 0;                                                   \
            }                                                                  \
        }                                                                      \
        HR_TILE_BARRIER;                                                       \
        LINES(IN_TILE)                                                         \
        HR_TILE_BARRIER;                                                       \
        HR_ITEMS2(i, lane)                                                     \
        {                                                                      \
            for (int b = (int)HR_LOCAL1; b < bins; b += LANES) {               \
                if (part[b] != 0) {                                            \
                    HR_ATOMIC_ADD(HR_AT1(counts, b), (long)part[b]);           \
                }                                                              \
            }                                                                  \
        }                                                                      \
    }

/* The tile's place among all, outside of blocks. */
#define UNIT  (hr_d.first[0] + HR_NUMBER_(2, 0))
#define PIECE HR_NUMBER_(2, 1)

#define BINS                                                                   \
    HR_PRIVATE(int, place);                                                    \
    const int bins = (int)HR_EXTENT(counts, 0);                                \
    const EDGE low = HR_AT1(edges, 0), high = HR_AT1(edges, bins);

/* ---- a view of rank 1, in units of so many columns */

#define CELL(view, k)  HR_AT1(view, k)
#define ALL_CELLS(PUT) TAKE(CELL, unit *binning.cols, end, PUT)

HR_KERNEL4(KERNEL(cells), (IN, ELEMENT, 1, a), (IN, EDGE, 1, edges),
           (INOUT, long, 1, counts), (VALUE, hri_binning, 0, binning))
{
    HR_TILE_STATIC(unsigned, part, [MAX_BINS]);
    BINS const hr_index unit = UNIT;
    const hr_index end = lesser((unit + 1) * binning.cols, HR_EXTENT(a, 0));
    HISTOGRAM(ALL_CELLS)
}

/* ---- a view of rank 3, in units of so many rows, lines and columns */

#define OF_LINE(view, k) HR_AT3(view, row, line, k)
#define ALL_LINES(PUT)                                                         \
    for (hr_index row = unit * binning.rows; row < last_row; row++) {          \
        for (hr_index line = across * binning.lines; line < last_line;         \
             line++) {                                                         \
            TAKE(OF_LINE, first, end, PUT)                                     \
        }                                                                      \
    }

HR_KERNEL4(KERNEL(lines), (IN, ELEMENT, 3, a), (IN, EDGE, 1, edges),
           (INOUT, long, 1, counts), (VALUE, hri_binning, 0, binning))
{
    HR_TILE_STATIC(unsigned, part, [MAX_BINS]);
    BINS const hr_index unit = UNIT, piece = PIECE, cols = HR_EXTENT(a, 2);
    const hr_index pieces = (cols + binning.cols - 1) / binning.cols;
    const hr_index across = piece / pieces;
    const hr_index first = piece % pieces * binning.cols;
    const hr_index end = lesser(first + binning.cols, cols);
    const hr_index last_row =
        lesser((unit + 1) * binning.rows, HR_EXTENT(a, 0));
    const hr_index last_line =
        lesser((across + 1) * binning.lines, HR_EXTENT(a, 1));
    HISTOGRAM(ALL_LINES)
}

#endif
