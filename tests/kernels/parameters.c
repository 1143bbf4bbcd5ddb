/* SPDX-License-Identifier: MIT */
/* Kernels of 9, 18 and 32 parameters. Each parameter has a factor of its own,
 * so that none can stand for another. */
#include <headrace/dialect.h>

HR_KERNEL9(nine, (IN, int, 1, a1), (IN, int, 1, a2), (IN, int, 1, a3),
           (IN, int, 1, a4), (IN, int, 1, a5), (IN, int, 1, a6),
           (IN, int, 1, a7), (VALUE, int, 0, scale), (OUT, int, 1, y))
{
    HR_EACH1(i)
    {
        int sum = 0;
        sum += 1 * HR_AT1(a1, i);
        sum += 2 * HR_AT1(a2, i);
        sum += 3 * HR_AT1(a3, i);
        sum += 4 * HR_AT1(a4, i);
        sum += 5 * HR_AT1(a5, i);
        sum += 6 * HR_AT1(a6, i);
        sum += 7 * HR_AT1(a7, i);
        HR_AT1(y, i) = scale * sum;
    }
}

/* As a lattice of nine directions has its populations: each is read in the row
 * above, the same row, or the row below. */
HR_FUNCTION hr_index wrapped(hr_index i, hr_index count)
{
    return (i + count) % count;
}

HR_KERNEL18(eighteen, (IN, int, 2, f0), (IN, int, 2, f1), (IN, int, 2, f2),
            (IN, int, 2, f3), (IN, int, 2, f4), (IN, int, 2, f5),
            (IN, int, 2, f6), (IN, int, 2, f7), (IN, int, 2, f8),
            (OUT, int, 2, g0), (OUT, int, 2, g1), (OUT, int, 2, g2),
            (OUT, int, 2, g3), (OUT, int, 2, g4), (OUT, int, 2, g5),
            (OUT, int, 2, g6), (OUT, int, 2, g7), (OUT, int, 2, g8))
{
    HR_EACH2(i, j)
    {
        const hr_index above = wrapped(i - 1, HR_EXTENT(f0, 0));
        const hr_index below = wrapped(i + 1, HR_EXTENT(f0, 0));
        HR_AT2(g0, i, j) = 1 * HR_AT2(f0, i, j);
        HR_AT2(g1, i, j) = 2 * HR_AT2(f1, above, j);
        HR_AT2(g2, i, j) = 3 * HR_AT2(f2, below, j);
        HR_AT2(g3, i, j) = 4 * HR_AT2(f3, i, j);
        HR_AT2(g4, i, j) = 5 * HR_AT2(f4, above, j);
        HR_AT2(g5, i, j) = 6 * HR_AT2(f5, below, j);
        HR_AT2(g6, i, j) = 7 * HR_AT2(f6, i, j);
        HR_AT2(g7, i, j) = 8 * HR_AT2(f7, above, j);
        HR_AT2(g8, i, j) = 9 * HR_AT2(f8, below, j);
    }
}

typedef struct factors {
    int first, second;
} factors;

HR_KERNEL32(thirty_two, (IN, int, 1, b0), (IN, int, 2, b1), (IN, int, 3, b2),
            (IN, int, 1, b3), (IN, int, 2, b4), (IN, int, 3, b5),
            (IN, int, 1, b6), (IN, int, 2, b7), (IN, int, 3, b8),
            (IN, int, 1, b9), (IN, int, 2, b10), (IN, int, 3, b11),
            (IN, int, 1, b12), (IN, int, 2, b13), (IN, int, 3, b14),
            (IN, int, 1, b15), (IN, int, 2, b16), (IN, int, 3, b17),
            (IN, int, 1, b18), (IN, int, 2, b19), (IN, int, 3, b20),
            (IN, int, 1, b21), (IN, int, 2, b22), (IN, int, 3, b23),
            (IN, int, 1, b24), (IN, int, 2, b25), (IN, int, 3, b26),
            (IN, int, 1, b27), (IN, int, 2, b28), (VALUE, factors, 0, by),
            (TILE, int, 0, own), (OUT, int, 1, y))
{
    HR_ITEMS1(i)
    {
        own[HR_LOCAL0] = by.second;
    }
    HR_BARRIER;
    HR_EACH1(i)
    {
        int sum = own[HR_LOCAL0];
        sum += 1 * HR_AT1(b0, i);
        sum += 2 * HR_AT2(b1, i, 1);
        sum += 3 * HR_AT3(b2, i, 1, 2);
        sum += 4 * HR_AT1(b3, i);
        sum += 5 * HR_AT2(b4, i, 1);
        sum += 6 * HR_AT3(b5, i, 1, 2);
        sum += 7 * HR_AT1(b6, i);
        sum += 8 * HR_AT2(b7, i, 1);
        sum += 9 * HR_AT3(b8, i, 1, 2);
        sum += 10 * HR_AT1(b9, i);
        sum += 11 * HR_AT2(b10, i, 1);
        sum += 12 * HR_AT3(b11, i, 1, 2);
        sum += 13 * HR_AT1(b12, i);
        sum += 14 * HR_AT2(b13, i, 1);
        sum += 15 * HR_AT3(b14, i, 1, 2);
        sum += 16 * HR_AT1(b15, i);
        sum += 17 * HR_AT2(b16, i, 1);
        sum += 18 * HR_AT3(b17, i, 1, 2);
        sum += 19 * HR_AT1(b18, i);
        sum += 20 * HR_AT2(b19, i, 1);
        sum += 21 * HR_AT3(b20, i, 1, 2);
        sum += 22 * HR_AT1(b21, i);
        sum += 23 * HR_AT2(b22, i, 1);
        sum += 24 * HR_AT3(b23, i, 1, 2);
        sum += 25 * HR_AT1(b24, i);
        sum += 26 * HR_AT2(b25, i, 1);
        sum += 27 * HR_AT3(b26, i, 1, 2);
        sum += 28 * HR_AT1(b27, i);
        sum += 29 * HR_AT2(b28, i, 1);
        HR_AT1(y, i) = by.first * sum;
    }
}
