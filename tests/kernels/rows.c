/* SPDX-License-Identifier: MIT */
/* Kernels that use other rows than their own: for tests/unit/test_check_rows.c,
 * which knows the lines. */
#include <headrace/dialect.h>

HR_KERNEL2(adds_rows, (IN, int, 1, a), (OUT, int, 1, c))
{
    HR_EACH1(i)
    {
        int sum = HR_AT1(a, i);
        sum += HR_INSIDE1(a, i - 2) ? HR_AT1(a, i - 2) : 0;
        sum += HR_INSIDE1(a, i + 1) ? HR_AT1(a, i + 1) : 0;
        HR_AT1(c, i) = sum;
    }
}

HR_KERNEL1(turns_rows, (OUT, int, 2, c))
{
    HR_EACH2(i, j)
    {
        HR_AT2(c, HR_EXTENT(c, 0) - 1 - i, j) = (int)(i + j);
    }
}

HR_KERNEL1(follows_rows, (INOUT, int, 1, c))
{
    HR_EACH1(i)
    {
        if (i > 0 && HR_AT1(c, i - 1) == 77) {
            HR_AT1(c, i) = 0;
        }
    }
}

HR_KERNEL2(first_of_each, (INS, int, 1, f), (OUT, int, 1, c))
{
    HR_EACH1(i)
    {
        HR_AT1(c, i) = HR_OF1(f, 1, 0);
    }
}

/* ---- whole tiles go together */

HR_KERNEL2(turns_in_tiles, (IN, int, 1, a), (OUT, int, 1, c))
{
    HR_TILE_STATIC(int, part, [256]);
    HR_ITEMS1(i)
    {
        const hr_index from = i - HR_LOCAL0 + HR_TILE(0) - 1 - HR_LOCAL0;
        part[HR_LOCAL0] = HR_INSIDE1(a, from) ? HR_AT1(a, from) : 0;
    }
    HR_BARRIER;
    HR_EACH1(i)
    {
        HR_AT1(c, i) = part[HR_LOCAL0];
    }
}

HR_KERNEL2(looks_behind_tile, (IN, int, 1, a), (OUT, int, 1, c))
{
    HR_PRIVATE(int, next);
    HR_ITEMS1(i)
    {
        const hr_index from = i - HR_LOCAL0 + HR_TILE(0);
        HR_P(next) = HR_INSIDE1(a, from) ? HR_AT1(a, from) : 0;
    }
    HR_EACH1(i)
    {
        HR_AT1(c, i) = HR_P(next);
    }
}

/* ---- views that any point writes */

HR_KERNEL1(counts_plainly, (INOUT, int, 1, bins))
{
    HR_EACH1(i)
    {
        HR_AT1(bins, 0) += 1;
    }
}

HR_KERNEL1(counts_atomically, (INOUT, int, 1, bins))
{
    HR_EACH1(i)
    {
        HR_ATOMIC_ADD(HR_AT1(bins, i % 2), 1);
    }
}

HR_KERNEL1(last_one_looks, (INOUT, int, 1, bins))
{
    HR_EACH1(i)
    {
        if (i + 1 < HR_DOMAIN(0)) {
            HR_ATOMIC_ADD(HR_AT1(bins, 0), 1);
        } else if (HR_AT1(bins, 0) < 0) {
            HR_AT1(bins, 1) = 5;
        }
    }
}

HR_KERNEL1(writes_own, (INOUT, int, 1, bins))
{
    HR_EACH1(i)
    {
        HR_AT1(bins, i) = (int)i + 100;
    }
}
