/* SPDX-License-Identifier: MIT */
/* Kernels for tests/unit/test_launch_lists.c: lists of views, indexed by a
 * number that a loop counts. Each element of to gets those of all views of from
 * at its place, weighted by their number and its own. */
#include <headrace/dialect.h>

HR_KERNEL3(lists1, (INS, int, 1, from), (OUTS, int, 1, to),
           (VALUE, int, 0, shift))
{
    HR_EACH1(i)
    {
        for (hr_index q = 0; q < HR_COUNT(to); q++) {
            int sum = shift;
            for (hr_index p = 0; p < HR_COUNT(from); p++) {
                sum += (int)((p + 1) * (q + 2)) * HR_OF1(from, p, i);
            }
            HR_OF1(to, q, i) = sum;
        }
    }
}

HR_KERNEL3(lists2, (INS, int, 2, from), (OUTS, int, 2, to),
           (VALUE, int, 0, shift))
{
    HR_EACH2(i, j)
    {
        for (hr_index q = 0; q < HR_COUNT(to); q++) {
            int sum = shift;
            for (hr_index p = 0; p < HR_COUNT(from); p++) {
                sum += (int)((p + 1) * (q + 2)) * HR_OF2(from, p, i, j);
            }
            HR_OF2(to, q, i, j) = sum;
        }
    }
}

HR_KERNEL3(lists3, (INS, int, 3, from), (OUTS, int, 3, to),
           (VALUE, int, 0, shift))
{
    HR_EACH3(i, j, k)
    {
        for (hr_index q = 0; q < HR_COUNT(to); q++) {
            int sum = shift;
            for (hr_index p = 0; p < HR_COUNT(from); p++) {
                sum += (int)((p + 1) * (q + 2)) * HR_OF3(from, p, i, j, k);
            }
            HR_OF3(to, q, i, j, k) = sum;
        }
    }
}

/* Changes views of a list in place, by the rows above and a plain view. */
HR_KERNEL3(lists_mixed, (INS, float, 2, above), (IN, float, 2, plain),
           (INOUTS, float, 2, all))
{
    HR_EACH2(i, j)
    {
        const hr_index row = i > 0 ? i - 1 : 0;
        for (hr_index q = 0; q < HR_COUNT(all); q++) {
            HR_OF2(all, q, i, j) +=
                HR_OF2(above, HR_COUNT(all) - 1 - q, row, j) *
                (float)HR_EXTENT(above, 1);
        }
        HR_OF2(all, 0, i, j) += HR_AT2(plain, i, j);
    }
}

/* One that the checker must find: the number is that of no view. */
HR_KERNEL1(lists_beyond, (OUTS, int, 1, to))
{
    HR_EACH1(i)
    {
        for (hr_index q = 0; q < HR_COUNT(to); q++) {
            HR_OF1(to, q, i) = i == 0 && q == 0 ? 0 * HR_OF1(to, q + 7, i) : 1;
        }
    }
}

/* Plain views, for views of a higher rank. */
HR_KERNEL2(lists_flat1, (IN, int, 1, from), (OUT, int, 1, to))
{
    HR_EACH1(i)
    {
        HR_AT1(to, i) = (int)(2U * (unsigned)HR_AT1(from, i) + 1U);
    }
}

HR_KERNEL2(lists_flat2, (IN, int, 2, from), (OUT, int, 2, to))
{
    HR_EACH2(i, j)
    {
        HR_AT2(to, i, j) = 2 * HR_AT2(from, i, j) + (int)j;
    }
}

HR_KERNEL2(lists_flat3, (IN, int, 3, from), (OUT, int, 3, to))
{
    HR_EACH3(i, j, k)
    {
        HR_AT3(to, i, j, k) = 2 * HR_AT3(from, i, j, k) + (int)(j + k);
    }
}
