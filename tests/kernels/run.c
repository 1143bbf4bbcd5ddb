/* SPDX-License-Identifier: MIT */
/* Kernels for tests/unit/test_run.c: of each rank, with values of each type,
 * and some that read other rows than their own. */
#include <headrace/dialect.h>

HR_KERNEL3(run1, (VALUE, float, 0, alpha), (IN, float, 1, x),
           (INOUT, float, 1, y))
{
    HR_EACH1(i)
    {
        HR_AT1(y, i) += alpha * HR_AT1(x, i);
    }
}

HR_KERNEL3(run2, (VALUE, float, 0, alpha), (IN, float, 2, x),
           (INOUT, float, 2, y))
{
    HR_EACH2(i, j)
    {
        HR_AT2(y, i, j) += alpha * HR_AT2(x, i, j);
    }
}

HR_KERNEL3(run3, (VALUE, float, 0, alpha), (IN, float, 3, x),
           (INOUT, float, 3, y))
{
    HR_EACH3(i, j, k)
    {
        HR_AT3(y, i, j, k) += alpha * HR_AT3(x, i, j, k);
    }
}

HR_KERNEL2(run_reverse, (IN, int, 1, from), (OUT, int, 1, to))
{
    HR_EACH1(i)
    {
        HR_AT1(to, i) = HR_AT1(from, HR_EXTENT(from, 0) - 1 - i);
    }
}

HR_KERNEL3(run_product, (IN, int, 2, a), (IN, int, 2, b), (OUT, int, 2, c))
{
    HR_EACH2(i, j)
    {
        int sum = 0;
        for (hr_index k = 0; k < HR_EXTENT(a, 1); k++) {
            sum += HR_AT2(a, i, k) * HR_AT2(b, k, j);
        }
        HR_AT2(c, i, j) = sum;
    }
}

HR_KERNEL8(run_small, (VALUE, char, 0, a), (VALUE, signed char, 0, b),
           (VALUE, unsigned char, 0, c), (VALUE, short, 0, d),
           (VALUE, unsigned short, 0, e), (VALUE, int, 0, f),
           (VALUE, unsigned, 0, g), (OUT, double, 1, all))
{
    HR_EACH1(i)
    {
        HR_AT1(all, i) = i == 0   ? (double)a
                         : i == 1 ? (double)b
                         : i == 2 ? (double)c
                         : i == 3 ? (double)d
                         : i == 4 ? (double)e
                         : i == 5 ? (double)f
                                  : (double)g;
    }
}

typedef struct pair {
    int first;
    float second;
} pair;

HR_KERNEL6(run_large, (VALUE, long, 0, a), (VALUE, unsigned long, 0, b),
           (VALUE, float, 0, c), (VALUE, double, 0, d), (VALUE, pair, 0, e),
           (OUT, double, 1, all))
{
    HR_EACH1(i)
    {
        HR_AT1(all, i) = i == 0   ? (double)a
                         : i == 1 ? (double)b
                         : i == 2 ? (double)c
                         : i == 3 ? d
                         : i == 4 ? (double)e.first
                                  : (double)e.second;
    }
}
