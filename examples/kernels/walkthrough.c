/* SPDX-License-Identifier: MIT */
/* Two ways to multiply matrices of int. */
#include <headrace/dialect.h>

/* One item for each element of C; each reads a row of A and a column of B. */
HR_KERNEL3(multiply_simple, (IN, int, 2, a), (IN, int, 2, b), (OUT, int, 2, c))
{
    HR_EACH2(row, col)
    {
        int sum = 0;
        for (hr_index k = 0; k < HR_EXTENT(a, 1); k++) {
            sum += HR_AT2(a, row, k) * HR_AT2(b, k, col);
        }
        HR_AT2(c, row, col) = sum;
    }
}

enum { EDGE = 2 };

/* Items of a tile share what they read: each element of A and B comes from
 * memory once for each tile that needs it, not once for each item. */
HR_KERNEL3(multiply_tiled, (IN, int, 2, a), (IN, int, 2, b), (OUT, int, 2, c))
{
    HR_TILE_STATIC(int, ta, [EDGE][EDGE]);
    HR_TILE_STATIC(int, tb, [EDGE][EDGE]);
    HR_PRIVATE(int, sum);
    HR_ITEMS2(row, col)
    {
        HR_P(sum) = 0;
    }
    for (hr_index k0 = 0; k0 < HR_EXTENT(a, 1); k0 += EDGE) {
        HR_ITEMS2(row, col)
        {
            hr_index ka = k0 + HR_LOCAL1, kb = k0 + HR_LOCAL0;
            ta[HR_LOCAL0][HR_LOCAL1] =
                HR_INSIDE2(a, row, ka) ? HR_AT2(a, row, ka) : 0;
            tb[HR_LOCAL0][HR_LOCAL1] =
                HR_INSIDE2(b, kb, col) ? HR_AT2(b, kb, col) : 0;
        }
        HR_BARRIER;
        HR_ITEMS2(row, col)
        {
            for (int k = 0; k < EDGE; k++) {
                HR_P(sum) += ta[HR_LOCAL0][k] * tb[k][HR_LOCAL1];
            }
        }
        HR_BARRIER;
    }
    HR_EACH2(row, col)
    {
        HR_AT2(c, row, col) = HR_P(sum);
    }
}
