/* SPDX-License-Identifier: MIT */
/* Kernels of every rank and kind of parameter, for tests/unit/test_launch.c. */
#include <headrace/dialect.h>

typedef struct point {
    float x;
    int n;
} point;

HR_FUNCTION float blend(float a, float b, float part)
{
    return a + (b - a) * part;
}

HR_KERNEL4(axpy, (IN, float, 1, x), (INOUT, float, 1, y), (VALUE, float, 0, a),
           (VALUE, point, 0, p))
{
    HR_EACH1(i)
    {
        HR_AT1(y, i) = HR_AT1(y, i) + a * HR_AT1(x, i) + p.x * (float)p.n;
    }
}

HR_KERNEL2(transpose, (IN, int, 2, from), (OUT, int, 2, to))
{
    HR_EACH2(row, col)
    {
        HR_AT2(to, row, col) = HR_AT2(from, col, row);
    }
}

enum { EDGE = 8 };

/* Through tile memory, one column wider, so that neither side is read in
 * strides. */
HR_KERNEL2(transpose_tiled, (IN, int, 2, from), (OUT, int, 2, to))
{
    HR_TILE_STATIC(int, tile, [EDGE][EDGE + 1]);
    HR_ITEMS2(row, col)
    {
        hr_index i = col - HR_LOCAL1 + HR_LOCAL0, j = row - HR_LOCAL0;
        j += HR_LOCAL1;
        tile[HR_LOCAL0][HR_LOCAL1] =
            HR_INSIDE2(from, i, j) ? HR_AT2(from, i, j) : 0;
    }
    HR_BARRIER;
    HR_EACH2(row, col)
    {
        HR_AT2(to, row, col) = tile[HR_LOCAL1][HR_LOCAL0];
    }
}

HR_KERNEL3(box, (IN, double, 3, from), (OUT, double, 3, to),
           (VALUE, int, 0, reach))
{
    HR_EACH3(z, y, x)
    {
        double sum = 0.0;
        for (int d = -reach; d <= reach; d++) {
            sum +=
                HR_INSIDE3(from, z + d, y, x) ? HR_AT3(from, z + d, y, x) : 0.0;
            sum +=
                HR_INSIDE3(from, z, y + d, x) ? HR_AT3(from, z, y + d, x) : 0.0;
            sum +=
                HR_INSIDE3(from, z, y, x + d) ? HR_AT3(from, z, y, x + d) : 0.0;
        }
        HR_AT3(to, z, y, x) = sum;
    }
}

/* Sums over each tile, in memory sized at launch. A private value stays from
 * block to block. */
HR_KERNEL3(tile_sums, (IN, int, 1, from), (OUT, int, 1, sums),
           (TILE, int, 0, scratch))
{
    HR_PRIVATE(int, own);
    HR_ITEMS1(i)
    {
        HR_P(own) = HR_INSIDE1(from, i) ? HR_AT1(from, i) : 0;
        scratch[HR_LOCAL0] = HR_P(own);
    }
    HR_BARRIER;
    for (hr_index step = HR_TILE(0) / 2; step > 0; step /= 2) {
        HR_ITEMS1(i)
        {
            if (HR_LOCAL0 < step) {
                HR_P(own) += scratch[HR_LOCAL0 + step];
            }
        }
        HR_BARRIER;
        HR_ITEMS1(i)
        {
            scratch[HR_LOCAL0] = HR_P(own);
        }
        HR_BARRIER;
    }
    HR_ITEMS1(i)
    {
        if (HR_LOCAL0 == 0) {
            HR_AT1(sums, i / HR_TILE(0)) = HR_P(own);
        }
    }
}

HR_KERNEL3(mixed, (IN, float, 1, a), (OUT, float, 1, b),
           (VALUE, float, 0, part))
{
    HR_EACH1(i)
    {
        if (i % 3 == 0) {
            HR_AT1(b, i) = 0.0f;
            continue;
        }
        HR_AT1(b, i) = blend(HR_AT1(a, i), sqrt(HR_AT1(a, i)), part);
    }
}
