/* SPDX-License-Identifier: MIT */
/* C := A B in float, in several ways, for any extents: what they differ in is
 * how often an element is read from memory. Counted for C of m x n and k
 * products each. */
#include <headrace/dialect.h>

/* One item for each element of C; both operands come from memory: 2 m n k
 * elements. Launched over m x n, in tiles of any extent. */
HR_KERNEL3(matmul_naive, (IN, float, 2, a), (IN, float, 2, b),
           (OUT, float, 2, c))
{
    HR_EACH2(row, col)
    {
        float sum = 0.0f;
        for (hr_index k = 0; k < HR_EXTENT(a, 1); k++) {
            sum += HR_AT2(a, row, k) * HR_AT2(b, k, col);
        }
        HR_AT2(c, row, col) = sum;
    }
}

/* A piece of a row of A lies in memory of the tile, which is a piece of a row
 * of C: m n k (1 + 1 / w) elements for tiles of 1 x w. Launched over m x n in
 * such tiles, with w floats. */
HR_KERNEL4(matmul_row_tile, (IN, float, 2, a), (IN, float, 2, b),
           (OUT, float, 2, c), (TILE, float, 0, piece))
{
    HR_PRIVATE(float, sum);
    HR_ITEMS2(row, col)
    {
        HR_P(sum) = 0.0f;
    }
    for (hr_index k0 = 0; k0 < HR_EXTENT(a, 1); k0 += HR_TILE(1)) {
        HR_ITEMS2(row, col)
        {
            hr_index k = k0 + HR_LOCAL1;
            piece[HR_LOCAL1] = HR_INSIDE2(a, row, k) ? HR_AT2(a, row, k) : 0.0f;
            if (col < 0) {
                continue;
            }
        }
        HR_BARRIER;
        HR_EACH2(row, col)
        {
            hr_index last = HR_EXTENT(a, 1) - k0;
            last = last < HR_TILE(1) ? last : HR_TILE(1);
            for (hr_index k = 0; k < last; k++) {
                HR_P(sum) += piece[k] * HR_AT2(b, k0 + k, col);
            }
        }
        HR_BARRIER;
    }
    HR_EACH2(row, col)
    {
        HR_AT2(c, row, col) = HR_P(sum);
    }
}

enum { EDGE = 16 };

/* Square tiles of both operands: 2 m n k / 16 elements. Launched over m x n in
 * tiles of 16 x 16. */
HR_KERNEL3(matmul_tiled, (IN, float, 2, a), (IN, float, 2, b),
           (OUT, float, 2, c))
{
    HR_TILE_STATIC(float, ta, [EDGE][EDGE]);
    HR_TILE_STATIC(float, tb, [EDGE][EDGE]);
    HR_PRIVATE(float, sum);
    HR_ITEMS2(row, col)
    {
        HR_P(sum) = 0.0f;
    }
    for (hr_index k0 = 0; k0 < HR_EXTENT(a, 1); k0 += EDGE) {
        HR_ITEMS2(row, col)
        {
            hr_index ka = k0 + HR_LOCAL1, kb = k0 + HR_LOCAL0;
            ta[HR_LOCAL0][HR_LOCAL1] =
                HR_INSIDE2(a, row, ka) ? HR_AT2(a, row, ka) : 0.0f;
            tb[HR_LOCAL0][HR_LOCAL1] =
                HR_INSIDE2(b, kb, col) ? HR_AT2(b, kb, col) : 0.0f;
        }
        HR_BARRIER;
        HR_EACH2(row, col)
        {
            float own = HR_P(sum);
            for (int k = 0; k < EDGE; k++) {
                own += ta[HR_LOCAL0][k] * tb[k][HR_LOCAL1];
            }
            HR_P(sum) = own;
        }
        HR_BARRIER;
    }
    HR_EACH2(row, col)
    {
        HR_AT2(c, row, col) = HR_P(sum);
    }
}

enum { ITEMS = 16, OWN = 4, WIDE = ITEMS * OWN, DEEP = 16 };

typedef struct block {
    float of[OWN][OWN];
} block;

/* Each item makes 4 x 4 elements of C in its registers, out of strips of A and
 * B in memory of the tile, which makes 64 x 64: 2 m n k / 64 elements. The
 * elements of an item are 16 apart, so that neighbours read neighbours.
 * Launched over as many items as 64 x 64 tiles of C have, 16 x 16 each. */
HR_KERNEL3(matmul_blocked, (IN, float, 2, a), (IN, float, 2, b),
           (OUT, float, 2, c))
{
    HR_TILE_STATIC(float, ta, [DEEP][WIDE + 1]);
    HR_TILE_STATIC(float, tb, [DEEP][WIDE]);
    HR_PRIVATE(block, sums);
    HR_ITEMS2(row, col)
    {
        for (int i = 0; i < OWN * OWN; i++) {
            HR_P(sums).of[i / OWN][i % OWN] = 0.0f;
        }
    }
    for (hr_index k0 = 0; k0 < HR_EXTENT(a, 1); k0 += DEEP) {
        HR_ITEMS2(row, col)
        {
            hr_index top = (row - HR_LOCAL0) * OWN;
            hr_index left = (col - HR_LOCAL1) * OWN;
            for (int i = 0; i < OWN; i++) {
                hr_index r = top + HR_LOCAL0 + i * ITEMS, ka = k0 + HR_LOCAL1;
                hr_index s = left + HR_LOCAL1 + i * ITEMS, kb = k0 + HR_LOCAL0;
                ta[HR_LOCAL1][HR_LOCAL0 + i * ITEMS] =
                    HR_INSIDE2(a, r, ka) ? HR_AT2(a, r, ka) : 0.0f;
                tb[HR_LOCAL0][HR_LOCAL1 + i * ITEMS] =
                    HR_INSIDE2(b, kb, s) ? HR_AT2(b, kb, s) : 0.0f;
            }
        }
        HR_BARRIER;
        HR_ITEMS2(row, col)
        {
            block own = HR_P(sums);
            for (int k = 0; k < DEEP; k++) {
                float x[OWN], y[OWN];
                for (int i = 0; i < OWN; i++) {
                    x[i] = ta[k][HR_LOCAL0 + i * ITEMS];
                    y[i] = tb[k][HR_LOCAL1 + i * ITEMS];
                }
                for (int i = 0; i < OWN; i++) {
                    for (int j = 0; j < OWN; j++) {
                        own.of[i][j] += x[i] * y[j];
                    }
                }
            }
            HR_P(sums) = own;
        }
        HR_BARRIER;
    }
    HR_ITEMS2(row, col)
    {
        hr_index top = (row - HR_LOCAL0) * OWN, left = (col - HR_LOCAL1) * OWN;
        for (int i = 0; i < OWN * OWN; i++) {
            hr_index r = top + HR_LOCAL0 + i / OWN * ITEMS;
            hr_index s = left + HR_LOCAL1 + i % OWN * ITEMS;
            if (HR_INSIDE2(c, r, s)) {
                HR_AT2(c, r, s) = HR_P(sums).of[i / OWN][i % OWN];
            }
        }
    }
}
