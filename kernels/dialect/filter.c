/* SPDX-License-Identifier: MIT */
/* Weighted sums over windows (headrace/filter.h), directly and as sums of
 * separable filters. The build makes a second file of this one, with double in
 * place of float.
 *
 * Directly, an item makes 16 sums, one below the other, of 8 weights at a time.
 * For 128 multiply-adds it reads 23 values and 8 weights from tile memory. With
 * n = 2 reach + 1 an element takes n^2 multiply-adds, and is read about 71 * 63
 * / (64 * 32) * (n / 8) * (n / 32) times.
 *
 * As a sum of `rank` filters an element first takes rank n multiply-adds along
 * rows. It takes half of them where filters are symmetric, since the two values
 * on either side are added first. An item makes 8 sums of five filters at once.
 * Then an element takes rank n multiply-adds down the columns. There an item
 * keeps the 16 values of its sums, so each weight is one value more. In
 * between, rank values go to memory, and come back about 1 + n / 128 times (n /
 * 64 in double).
 *
 * Sums of at most 256 products are added up, in an order that is the same for
 * every element. (src/filter/piece.c knows the extents of tiles and of items'
 * sums.) */
#include <headrace/dialect.h>

enum {
    HIGH = 4,                  /* items of a tile, */
    BROAD = 32,                /* each way, */
    TALL = 32 / sizeof(float), /* and down the columns of planes */
    OWN = 16,                  /* sums of an item, one below the other */
    TAPS = 8                   /* weights at a time */
};
enum { /* weights in tile memory; 32 KiB are enough for the last two: */
       WIDE = 32,                  /* of all, from column to column */
       DEEP = 500 / sizeof(float), /* of a filter down the columns */
       FAR = 256 / sizeof(float)   /* of filters along rows */
};

/* The struct of src/filter/kernels.h. */
typedef struct filter_shape {
    hr_index reach, rank, rows, cols, first, top, left, edges, folded, height;
} filter_shape;

/* Values of hr_edges in headrace/filter.h. */
enum { CLAMPED = 1, MIRRORED = 2, PERIODIC = 3 };

typedef struct sums {
    float of[OWN];
} sums;

/* Which of `count` elements stands for the one at index i. -1: none does. */
HR_FUNCTION hr_index edge_index(hr_index i, hr_index count, hr_index edges)
{
    if (i >= 0 && i < count) {
        return i;
    }
    if (edges == CLAMPED) {
        return i < 0 ? 0 : count - 1;
    }
    if (edges == PERIODIC) {
        return (i % count + count) % count;
    }
    if (edges == MIRRORED) {
        i = (i % (2 * count) + 2 * count) % (2 * count);
        return i < count ? i : 2 * count - 1 - i;
    }
    return -1;
}

/* The row of the apron that stands for a row beyond the picture's. */
HR_FUNCTION hr_index apron_row(hr_index row, filter_shape p)
{
    return row < 0 ? row + p.reach : row - p.rows + p.reach;
}

HR_FUNCTION int least(hr_index a, hr_index b)
{
    return (int)(a < b ? a : b);
}

/* own[q] += weight[i] value[q + i] */
HR_FUNCTION sums slide(sums own, const float *weight, const float *value)
{
    for (int i = 0; i < TAPS; i++) {
        for (int q = 0; q < OWN; q++) {
            own.of[q] += weight[i] * value[q + i];
        }
    }
    return own;
}

HR_FUNCTION sums add(sums a, sums b)
{
    for (int q = 0; q < OWN; q++) {
        a.of[q] += b.of[q];
    }
    return a;
}

HR_FUNCTION sums nothing(void)
{
    sums none;
    for (int q = 0; q < OWN; q++) {
        none.of[q] = 0;
    }
    return none;
}

/* Element (y, c) of the picture, or what stands for it. Beyond the rows and
 * columns that a piece was given, the value only goes into sums that are not
 * stored. */
#define PICTURE(y, c)                                                          \
    (HR_INSIDE2(in, (y)-p.first, c) ? HR_AT2(in, (y)-p.first, c)               \
     : HR_INSIDE2(apron, apron_row(y, p), c)                                   \
         ? HR_AT2(apron, apron_row(y, p), c)                                   \
         : beyond)

/* Row y of the picture, or what stands for it, and its number of elements. */
#define PICTURE_ROW(y, line, width)                                            \
    {                                                                          \
        const hr_index beside = apron_row(y, p);                               \
        line = &HR_AT2(apron, 0, 0);                                           \
        width = 0;                                                             \
        if (HR_INSIDE2(in, (y)-p.first, 0)) {                                  \
            line = &HR_AT2(in, (y)-p.first, 0);                                \
            width = HR_EXTENT(in, 1);                                          \
        } else if (HR_INSIDE2(apron, beside, 0)) {                             \
            line = &HR_AT2(apron, beside, 0);                                  \
            width = HR_EXTENT(apron, 1);                                       \
        }                                                                      \
    }

/* All weights, weights[n][n]. Launched over ceil(rows / 16) x cols of out in
 * tiles of 4 x 32. */
HR_KERNEL6(hri_filter_direct_float, (IN, float, 2, in), (IN, float, 2, apron),
           (IN, float, 2, weights), (OUT, float, 2, out),
           (VALUE, filter_shape, 0, p), (VALUE, float, 0, beyond))
{
    HR_TILE_STATIC(float, x, [HIGH * OWN + TAPS - 1][BROAD + WIDE - 1]);
    HR_TILE_STATIC(float, w, [WIDE][TAPS]);
    HR_PRIVATE(sums, all);
    const hr_index n = 2 * p.reach + 1;
    HR_ITEMS2(row, col)
    {
        HR_P(all) = nothing();
    }
    for (hr_index i0 = 0; i0 < n; i0 += TAPS) {
        const int taps = least(TAPS, n - i0);
        for (hr_index j0 = 0; j0 < n; j0 += WIDE) {
            const int wide = least(WIDE, n - j0);
            HR_ITEMS2(row, col)
            {
                const int item = (int)(HR_LOCAL0 * BROAD + HR_LOCAL1);
                const hr_index top =
                    p.top - p.reach + (row - HR_LOCAL0) * OWN + i0;
                const hr_index left = p.left - p.reach + j0 + col - HR_LOCAL1;
                for (int c = (int)HR_LOCAL1; c < BROAD + wide - 1; c += BROAD) {
                    const hr_index from = edge_index(left + c, p.cols, p.edges);
                    for (int r = (int)HR_LOCAL0; r < HIGH * OWN + taps - 1;
                         r += HIGH) {
                        x[r][c] = PICTURE(top + r, from);
                    }
                }
                for (int k = item; k < WIDE * TAPS; k += HIGH * BROAD) {
                    const hr_index i = i0 + k / WIDE, j = j0 + k % WIDE;
                    w[k % WIDE][k / WIDE] =
                        HR_INSIDE2(weights, i, j) ? HR_AT2(weights, i, j) : 0;
                }
            }
            HR_TILE_BARRIER;
            HR_ITEMS2(row, col)
            {
                sums own = nothing();
                for (int j = 0; j < wide; j++) {
                    if (taps == TAPS) {
                        float weight[TAPS], value[OWN + TAPS - 1];
                        for (int i = 0; i < TAPS; i++) {
                            weight[i] = w[j][i];
                        }
                        for (int k = 0; k < OWN + TAPS - 1; k++) {
                            value[k] = x[HR_LOCAL0 * OWN + k][HR_LOCAL1 + j];
                        }
                        own = slide(own, weight, value);
                    } else {
                        for (int i = 0; i < taps; i++) {
                            const float weight = w[j][i];
                            for (int q = 0; q < OWN; q++) {
                                own.of[q] +=
                                    weight *
                                    x[HR_LOCAL0 * OWN + q + i][HR_LOCAL1 + j];
                            }
                        }
                    }
                }
                HR_P(all) = add(HR_P(all), own);
            }
            HR_TILE_BARRIER;
        }
    }
    HR_ITEMS2(row, col)
    {
        for (int q = 0; q < OWN; q++) {
            if (HR_INSIDE2(out, row * OWN + q, col)) {
                HR_AT2(out, row * OWN + q, col) = HR_P(all).of[q];
            }
        }
    }
}

enum {
    SIDE = 8,            /* sums of an item for a filter, beside each other, */
    LINE = BROAD * SIDE, /* sums of a row of items, */
    FILTERS = 5, /* filters at a time, which share the values read */
    PADDED = 8   /* weights in tile memory, for one distance */
};

typedef struct many {
    float of[FILTERS][SIDE];
} many;

HR_FUNCTION many no_sums(void)
{
    many none;
    for (int f = 0; f < FILTERS; f++) {
        for (int q = 0; q < SIDE; q++) {
            none.of[f][q] = 0;
        }
    }
    return none;
}

/* The place of column c, so that items SIDE columns apart do not meet in a
 * bank; and the distance to the m-th column after one that is a multiple of
 * SIDE. */
HR_FUNCTION int spread(int c)
{
    return c + (int)((unsigned)c / SIDE);
}
#define BEHIND(m) ((m) + (m) / SIDE)

/* own[f][q] += the sum of w[j][f] value[q] over `count` distances from j on, at
 * most TAPS of them, for `filters` filters. Folded, value is the sum of the
 * values on either side. All arguments but j are constants where this is used,
 * and j is a multiple of TAPS unless count is 1. */
#define GATHER(own, count, filters, folded, j)                                 \
    {                                                                          \
        float ahead[SIDE + TAPS - 1], back[SIDE + TAPS - 1];                   \
        const int right = base + j, left = base + FAR - j - TAPS;              \
        const int right_at = spread(right), left_at = spread(left);            \
        for (int m = 0; m < SIDE + count - 1; m++) {                           \
            const int l = m + TAPS - count;                                    \
            ahead[m] = x[0][HR_LOCAL0][count > 1 ? right_at + BEHIND(m)        \
                                                 : spread(right + m)];         \
            if (folded) {                                                      \
                back[m] = x[1][HR_LOCAL0][count > 1 ? left_at + BEHIND(l)      \
                                                    : spread(left + l)];       \
            }                                                                  \
        }                                                                      \
        for (int i = 0; i < count; i++) {                                      \
            for (int q = 0; q < SIDE; q++) {                                   \
                const float value =                                            \
                    folded ? ahead[q + i] + back[q + count - 1 - i]            \
                           : ahead[q + i];                                     \
                for (int f = 0; f < filters; f++) {                            \
                    own.of[f][q] += w[j + i][f] * value;                       \
                }                                                              \
            }                                                                  \
        }                                                                      \
    }

#define GATHER_ALL(own, filters, folded)                                       \
    {                                                                          \
        int j = 0;                                                             \
        for (; j + TAPS <= near; j += TAPS) {                                  \
            GATHER(own, TAPS, filters, folded, j)                              \
        }                                                                      \
        if (j + TAPS / 2 <= near) {                                            \
            GATHER(own, TAPS / 2, filters, folded, j)                          \
            j += TAPS / 2;                                                     \
        }                                                                      \
        for (; j < near; j++) {                                                \
            GATHER(own, 1, filters, folded, j)                                 \
        }                                                                      \
    }

/* The result of filter k along rows of the picture, for all k. across[.][rank]
 * has the weights by columns from the left. Where filters are folded, it has
 * them by distance from the middle, with half the weight there. planes have
 * reach rows more than out at either end. Launched over the rows of planes x
 * ceil(cols / 8) in tiles of 4 x 32. */
HR_KERNEL6(hri_filter_across_float, (IN, float, 2, in), (IN, float, 2, apron),
           (IN, float, 1, across), (OUT, float, 3, planes),
           (VALUE, filter_shape, 0, p), (VALUE, float, 0, beyond))
{
    HR_TILE_STATIC(float, x, [2][HIGH][(LINE + FAR) / SIDE * (SIDE + 1)]);
    HR_TILE_STATIC(float, y, [HIGH][LINE / SIDE * (SIDE + 1)]);
    HR_TILE_STATIC(float, w, [FAR][PADDED]);
    HR_PRIVATE(many, all);
    const int folded = p.folded != 0;
    const hr_index taps = folded ? p.reach + 1 : 2 * p.reach + 1;
    for (hr_index k0 = 0; k0 < p.rank; k0 += FILTERS) {
        const int filters = least(FILTERS, p.rank - k0);
        HR_ITEMS2(row, col)
        {
            HR_P(all) = no_sums();
        }
        for (hr_index j0 = 0; j0 < taps; j0 += FAR) {
            const int near = least(FAR, taps - j0);
            HR_ITEMS2(row, col)
            {
                const int item = (int)(HR_LOCAL0 * BROAD + HR_LOCAL1);
                const hr_index middle = p.left + (col - HR_LOCAL1) * SIDE;
                const hr_index first =
                    folded ? middle + j0 : middle - p.reach + j0;
                const hr_index last = middle - j0 - (near - 1);
                hr_index width;
                HR_MEMORY const float *line;
                PICTURE_ROW(p.top - p.reach + row, line, width)
                /* values there for the first five filters are there for the
                 * next */
                const int count = k0 > 0 && taps <= FAR ? 0 : LINE + near - 1;
                for (int c = (int)HR_LOCAL1; c < count; c += BROAD) {
                    hr_index from = edge_index(first + c, p.cols, p.edges);
                    x[0][HR_LOCAL0][spread(c)] =
                        from >= 0 && from < width ? line[from] : beyond;
                    if (folded) {
                        from = edge_index(last + c, p.cols, p.edges);
                        x[1][HR_LOCAL0][spread(c + FAR - near)] =
                            from >= 0 && from < width ? line[from] : beyond;
                    }
                }
                for (int i = item; i < FAR * PADDED; i += HIGH * BROAD) {
                    const int j = i / PADDED, f = i % PADDED;
                    w[j][f] = j < near && f < filters
                                  ? HR_AT1(across, (j0 + j) * p.rank + k0 + f)
                                  : 0;
                }
            }
            HR_TILE_BARRIER;
            HR_ITEMS2(row, col)
            {
                const int base = (int)HR_LOCAL1 * SIDE;
                many own = no_sums();
                if (folded && filters == 1) {
                    GATHER_ALL(own, 1, 1)
                } else if (folded) {
                    GATHER_ALL(own, FILTERS, 1)
                } else if (filters == 1) {
                    GATHER_ALL(own, 1, 0)
                } else {
                    GATHER_ALL(own, FILTERS, 0)
                }
                for (int f = 0; f < FILTERS; f++) {
                    for (int q = 0; q < SIDE; q++) {
                        HR_P(all).of[f][q] += own.of[f][q];
                    }
                }
            }
            HR_TILE_BARRIER;
        }
        for (int f = 0; f < FILTERS; f++) {
            if (f == filters) {
                break;
            }
            HR_ITEMS2(row, col)
            {
                const int at = spread((int)HR_LOCAL1 * SIDE);
                for (int q = 0; q < SIDE; q++) {
                    y[HR_LOCAL0][at + q] = HR_P(all).of[f][q];
                }
            }
            HR_TILE_BARRIER;
            HR_ITEMS2(row, col)
            {
                const int lane = (int)HR_LOCAL1, at = spread(lane);
                const hr_index left = (col - lane) * SIDE + lane;
                if (HR_INSIDE3(planes, k0 + f, row, left)) {
                    const int wide = least(LINE, HR_EXTENT(planes, 2) - left);
                    HR_MEMORY float *to = &HR_AT3(planes, k0 + f, row, left);
                    for (int u = 0; u < SIDE; u++) {
                        if (u * BROAD < wide) {
                            to[u * BROAD] =
                                y[HR_LOCAL0][at + BEHIND(BROAD) * u];
                        }
                    }
                }
            }
            HR_TILE_BARRIER;
        }
    }
}

/* own[q] += the sum of w[i + j] x[base + i + q + j] over j < count. `around`
 * holds the values at q + j = 0 .. OWN - 2, and afterwards those at count ..
 * count + OWN - 2. Each other value is read once. */
#define SLIDE_DOWN(own, around, count)                                         \
    {                                                                          \
        for (int j = 0; j < count; j++) {                                      \
            around.of[(j + OWN - 1) % OWN] =                                   \
                x[base + i + j + OWN - 1][HR_LOCAL1];                          \
            for (int q = 0; q < OWN; q++) {                                    \
                own.of[q] += w[i + j] * around.of[(j + q) % OWN];              \
            }                                                                  \
        }                                                                      \
        if (count % OWN != 0) {                                                \
            const sums before = around;                                        \
            for (int q = 0; q < OWN; q++) {                                    \
                around.of[q] = before.of[(q + count) % OWN];                   \
            }                                                                  \
        }                                                                      \
    }

/* The sum of the results of filter k down the columns of plane k:
 * down[rank][n]. Launched over ceil(rows / 16) x cols of out in tiles of 8 x
 * 32, or 4 x 32 for elements of 8 bytes. */
HR_KERNEL4(hri_filter_down_float, (IN, float, 3, planes), (IN, float, 2, down),
           (OUT, float, 2, out), (VALUE, filter_shape, 0, p))
{
    HR_TILE_STATIC(float, x, [TALL * OWN + DEEP - 1][BROAD]);
    HR_TILE_STATIC(float, w, [DEEP]);
    HR_PRIVATE(sums, all);
    const hr_index n = 2 * p.reach + 1;
    HR_ITEMS2(row, col)
    {
        HR_P(all) = nothing();
    }
    for (hr_index k = 0; k < p.rank; k++) {
        for (hr_index i0 = 0; i0 < n; i0 += DEEP) {
            const int deep = least(DEEP, n - i0);
            HR_ITEMS2(row, col)
            {
                const int item = (int)(HR_LOCAL0 * BROAD + HR_LOCAL1);
                const hr_index top = (row - HR_LOCAL0) * OWN + i0;
                const int high = HR_INSIDE3(planes, k, 0, col)
                                     ? least(TALL * OWN + deep - 1,
                                             HR_EXTENT(planes, 1) - top)
                                     : 0;
                int r = (int)HR_LOCAL0;
                if (r < high) {
                    HR_MEMORY const float *from =
                        &HR_AT3(planes, k, top + r, col);
                    for (; r < high; r += TALL) {
                        x[r][HR_LOCAL1] = *from;
                        from += TALL * HR_STRIDE(planes, 1);
                    }
                }
                for (; r < TALL * OWN + deep - 1; r += TALL) {
                    x[r][HR_LOCAL1] = 0;
                }
                for (int i = item; i < deep; i += TALL * BROAD) {
                    w[i] = HR_AT2(down, k, i0 + i);
                }
            }
            HR_TILE_BARRIER;
            HR_ITEMS2(row, col)
            {
                const int base = (int)HR_LOCAL0 * OWN;
                sums own = nothing(), around;
                for (int q = 0; q < OWN - 1; q++) {
                    around.of[q] = x[base + q][HR_LOCAL1];
                }
                int i = 0;
                for (; i + OWN <= deep; i += OWN) {
                    SLIDE_DOWN(own, around, OWN)
                }
                if (i + TAPS <= deep) {
                    SLIDE_DOWN(own, around, TAPS)
                    i += TAPS;
                }
                for (; i < deep; i++) {
                    SLIDE_DOWN(own, around, 1)
                }
                HR_P(all) = add(HR_P(all), own);
            }
            HR_TILE_BARRIER;
        }
    }
    HR_ITEMS2(row, col)
    {
        for (int q = 0; q < OWN; q++) {
            if (HR_INSIDE2(out, row * OWN + q, col)) {
                HR_AT2(out, row * OWN + q, col) = HR_P(all).of[q];
            }
        }
    }
}
