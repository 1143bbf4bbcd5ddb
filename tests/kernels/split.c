/* SPDX-License-Identifier: MIT */
/* Kernels of each rank for tests/unit/test_launch_split.c. They have rows near
 * by, a view that is read anywhere, one that is changed and one that is
 * written. */
#include <headrace/dialect.h>

typedef struct reach {
    int before, after;
} reach;

/* Keep sums small, also of elements that have no values after a failure. */
HR_FUNCTION int low(int x)
{
    return x & 0xffff;
}

HR_KERNEL5(split1, (IN, int, 1, around), (IN, int, 1, table),
           (INOUT, int, 1, sum), (OUT, int, 1, last), (VALUE, reach, 0, r))
{
    HR_EACH1(i)
    {
        int s = 0;
        for (hr_index j = i - r.before; j <= i + r.after; j++) {
            s += HR_INSIDE1(around, j)
                     ? (int)(j - i + 7) * low(HR_AT1(around, j))
                     : 1;
        }
        HR_AT1(sum, i) = low(3 * low(HR_AT1(sum, i)) + s);
        HR_AT1(last, i) = low(s + low(HR_AT1(table, i % HR_EXTENT(table, 0))));
    }
}

HR_KERNEL5(split2, (IN, int, 2, around), (IN, int, 1, table),
           (INOUT, int, 2, sum), (OUT, int, 2, last), (VALUE, reach, 0, r))
{
    HR_EACH2(i, x)
    {
        int s = 0;
        for (hr_index j = i - r.before; j <= i + r.after; j++) {
            s += HR_INSIDE2(around, j, x)
                     ? (int)(j - i + 7) * low(HR_AT2(around, j, x))
                     : 1;
        }
        HR_AT2(sum, i, x) = low(3 * low(HR_AT2(sum, i, x)) + s);
        HR_AT2(last, i, x) =
            low(s + low(HR_AT1(table, i % HR_EXTENT(table, 0))));
    }
}

HR_KERNEL5(split3, (IN, int, 3, around), (IN, int, 1, table),
           (INOUT, int, 3, sum), (OUT, int, 3, last), (VALUE, reach, 0, r))
{
    HR_EACH3(i, y, x)
    {
        int s = 0;
        for (hr_index j = i - r.before; j <= i + r.after; j++) {
            s += HR_INSIDE3(around, j, y, x)
                     ? (int)(j - i + 7) * low(HR_AT3(around, j, y, x))
                     : 1;
        }
        HR_AT3(sum, i, y, x) = low(3 * low(HR_AT3(sum, i, y, x)) + s);
        HR_AT3(last, i, y, x) =
            low(s + low(HR_AT1(table, i % HR_EXTENT(table, 0))));
    }
}

enum { EDGE = 4 };

/* In tiles of EDGE x EDGE. Items read before they check whether they are in the
 * domain. Each row becomes the sum of the rows of its tile. */
HR_KERNEL2(split_tiled, (IN, int, 2, from), (OUT, int, 2, to))
{
    HR_TILE_STATIC(int, part, [EDGE][EDGE]);
    HR_ITEMS2(row, col)
    {
        part[HR_LOCAL0][HR_LOCAL1] =
            HR_INSIDE2(from, row, col) ? HR_AT2(from, row, col) : 0;
    }
    HR_BARRIER;
    HR_EACH2(row, col)
    {
        int s = 0;
        for (int i = 0; i < EDGE; i++) {
            s += part[i][HR_LOCAL1];
        }
        HR_AT2(to, row, col) = s + (int)HR_LOCAL0;
    }
}

/* Both are indexed with the item's own indices. */
HR_KERNEL2(split_scaled, (IN, int, 1, factor), (INOUT, int, 2, cells))
{
    HR_EACH2(i, x)
    {
        HR_AT2(cells, i, x) = low(HR_AT2(cells, i, x) * HR_AT1(factor, x));
    }
}

/* Items see to themselves: each one inside of the views does the work of its
 * point, and counts it. */
HR_KERNEL3(split_items1, (IN, int, 1, from), (OUT, int, 1, to),
           (INOUT, int, 1, count))
{
    HR_ITEMS1(i)
    {
        if (HR_INSIDE1(from, i)) {
            HR_AT1(to, i) = HR_AT1(from, i) + 1;
            HR_ATOMIC_ADD(HR_AT1(count, 0), 1);
        }
    }
}

HR_KERNEL3(split_items2, (IN, int, 2, from), (OUT, int, 2, to),
           (INOUT, int, 1, count))
{
    HR_ITEMS2(i, j)
    {
        if (HR_INSIDE2(from, i, j)) {
            HR_AT2(to, i, j) = HR_AT2(from, i, j) + 1;
            HR_ATOMIC_ADD(HR_AT1(count, 0), 1);
        }
    }
}
