/* SPDX-License-Identifier: MIT */
/* Kernels for tests/unit/test_progress.c. They take a while. */
#include <headrace/dialect.h>

/* tests/unit/test_progress.c has the same loop. */
HR_KERNEL3(progress_add, (VALUE, int, 0, n), (IN, int, 2, x), (OUT, int, 2, y))
{
    HR_EACH2(i, j)
    {
        int sum = 1;
        for (int k = 0; k < n; k++) {
            sum = (sum ^ k) + HR_AT2(x, i, j);
            sum = sum ^ k;
        }
        HR_AT2(y, i, j) = sum;
    }
}

HR_KERNEL2(progress_next, (IN, int, 2, now), (OUT, int, 2, next))
{
    HR_EACH2(i, j)
    {
        HR_AT2(next, i, j) = HR_AT2(now, i, j) + 1;
    }
}

HR_KERNEL2(progress_count, (IN, int, 1, x), (INOUT, unsigned, 1, bins))
{
    HR_EACH1(i)
    {
        HR_ATOMIC_ADD(HR_AT1(bins, HR_AT1(x, i) % 8), 1u);
    }
}
