/* SPDX-License-Identifier: MIT */
/* Kernels whose forms for wider vectors are tested one by one. */
#include <headrace/dialect.h>

/* The value in a row, or 0 beyond the ends. */
HR_FUNCTION float value(HR_MEMORY const float *row, hr_index j, hr_index cols)
{
    return j >= 0 && j < cols ? row[j] : 0.0f;
}

HR_KERNEL2(smooth, (IN, float, 2, x), (OUT, float, 2, y))
{
    HR_EACH2(i, j)
    {
        HR_MEMORY const float *row = &HR_AT2(x, i, 0);
        const hr_index cols = HR_EXTENT(x, 1);
        const float above = HR_INSIDE2(x, i - 1, j) ? HR_AT2(x, i - 1, j) : 0;
        const float below = HR_INSIDE2(x, i + 1, j) ? HR_AT2(x, i + 1, j) : 0;
        HR_AT2(y, i, j) =
            0.3f * row[j] + 0.175f * (above + below + value(row, j - 1, cols) +
                                      value(row, j + 1, cols));
    }
}

/* A loop of another length for each item. */
HR_KERNEL1(collatz, (OUT, int, 1, steps))
{
    HR_EACH1(i)
    {
        hr_index n = i;
        int many = 0;
        for (; n > 1; many++) {
            n = n % 2 == 0 ? n / 2 : 3 * n + 1;
        }
        HR_AT1(steps, i) = many;
    }
}

HR_KERNEL1(draw, (OUT, float, 1, x))
{
    HR_EACH1(i)
    {
        const hr_random4 r = hr_philox(5, 3, (unsigned long)i / 4);
        HR_AT1(x, i) = hr_normal_f32(r.word[i % 4]);
    }
}

/* The sum of a tile's elements, joined in tile memory by atomics. */
HR_KERNEL2(tally, (IN, int, 1, x), (INOUT, int, 1, total))
{
    HR_TILE_STATIC(int, sum, [1]);
    HR_ITEMS1(i)
    {
        if (HR_LOCAL0 == 0) {
            sum[0] = 0;
        }
    }
    HR_TILE_BARRIER;
    HR_ITEMS1(i)
    {
        if (HR_INSIDE1(x, i)) {
            HR_ATOMIC_ADD(sum[0], HR_AT1(x, i));
        }
    }
    HR_TILE_BARRIER;
    HR_ITEMS1(i)
    {
        if (HR_LOCAL0 == 0) {
            HR_ATOMIC_ADD(HR_AT1(total, 0), sum[0]);
        }
    }
}
