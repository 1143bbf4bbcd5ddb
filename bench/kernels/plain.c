/* SPDX-License-Identifier: MIT */
/* The shortest kernels. */
#include <headrace/dialect.h>

HR_KERNEL3(bench_add, (IN, float, 1, a), (IN, float, 1, b), (OUT, float, 1, c))
{
    HR_EACH1(i)
    {
        HR_AT1(c, i) = HR_AT1(a, i) + HR_AT1(b, i);
    }
}

/* A kernel that does nothing, but no compiler can know that. */
HR_KERNEL1(bench_nothing, (INOUT, float, 1, x))
{
    HR_EACH1(i)
    {
        if (HR_EXTENT(x, 0) == 0) {
            HR_AT1(x, i) = 0.0f;
        }
    }
}

/* Histograms: part p of x counts in row p. The bins are a power of two, 1024 at
 * most, and each item counts values that follow each other. */
enum { MAX_BINS = 1024 };

HR_KERNEL2(bench_histogram, (IN, float, 1, x), (OUT, float, 2, parts))
{
    HR_TILE_STATIC(int, own, [MAX_BINS]);
    const hr_index bins = HR_EXTENT(parts, 1);
    HR_ITEMS2(part, item)
    {
        for (hr_index b = item; b < bins && part >= 0; b += HR_TILE(1)) {
            own[b] = 0;
        }
    }
    HR_TILE_BARRIER;
    HR_ITEMS2(part, item)
    {
        const hr_index all = HR_DOMAIN(0) * HR_TILE(1);
        const hr_index n = HR_EXTENT(x, 0), many = (n + all - 1) / all;
        const hr_index first = (part * HR_TILE(1) + item) * many;
        const hr_index end = first + many < n ? first + many : n;
        for (hr_index k = first; k < end; k++) {
            const int bin = (int)(HR_AT1(x, k) * 4096.0f) & ((int)bins - 1);
            HR_ATOMIC_ADD(own[bin], 1);
        }
    }
    HR_TILE_BARRIER;
    HR_ITEMS2(part, item)
    {
        for (hr_index b = item; b < bins; b += HR_TILE(1)) {
            HR_AT2(parts, part, b) = (float)own[b];
        }
    }
}
