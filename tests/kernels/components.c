/* SPDX-License-Identifier: MIT */
/* Kernels for tests/unit/test_grid_components.c: fields of several components,
 * all of them as a list and one alone. */
#include <headrace/dialect.h>

/* Each component gets its own at one neighbour and the next one's at another.
 */
HR_KERNEL2(flow1, (INS, int, 1, from), (OUTS, int, 1, to))
{
    HR_EACH1(i)
    {
        const hr_index n = HR_COUNT(from);
        for (hr_index q = 0; q < n; q++) {
            HR_OF1(to, q, i) =
                (int)(3U * (unsigned)HR_OF1(from, (q + 1) % n, i + 1) +
                      (unsigned)HR_OF1(from, q, i - 1) + (unsigned)q);
        }
    }
}

HR_KERNEL2(flow2, (INS, int, 2, from), (OUTS, int, 2, to))
{
    HR_EACH2(i, j)
    {
        const hr_index n = HR_COUNT(from);
        for (hr_index q = 0; q < n; q++) {
            HR_OF2(to, q, i, j) =
                (int)(3U * (unsigned)HR_OF2(from, (q + 1) % n, i + 1, j + 1) +
                      (unsigned)HR_OF2(from, q, i - 1, j - 1) + (unsigned)q);
        }
    }
}

HR_KERNEL2(flow3, (INS, int, 3, from), (OUTS, int, 3, to))
{
    HR_EACH3(i, j, k)
    {
        const hr_index n = HR_COUNT(from);
        for (hr_index q = 0; q < n; q++) {
            HR_OF3(to, q, i, j, k) =
                (int)(3U * (unsigned)HR_OF3(from, (q + 1) % n, i + 1, j + 1,
                                            k + 1) +
                      (unsigned)HR_OF3(from, q, i - 1, j - 1, k - 1) +
                      (unsigned)q);
        }
    }
}

/* In place, the last component first: each is doubled, and component 0 added.
 */
HR_KERNEL1(tint1, (INOUTS, int, 1, f))
{
    HR_EACH1(i)
    {
        for (hr_index q = HR_COUNT(f) - 1; q >= 0; q--) {
            HR_OF1(f, q, i) = (int)(2U * (unsigned)HR_OF1(f, q, i) +
                                    (unsigned)HR_OF1(f, 0, i));
        }
    }
}

HR_KERNEL1(tint2, (INOUTS, int, 2, f))
{
    HR_EACH2(i, j)
    {
        for (hr_index q = HR_COUNT(f) - 1; q >= 0; q--) {
            HR_OF2(f, q, i, j) = (int)(2U * (unsigned)HR_OF2(f, q, i, j) +
                                       (unsigned)HR_OF2(f, 0, i, j));
        }
    }
}

HR_KERNEL1(tint3, (INOUTS, int, 3, f))
{
    HR_EACH3(i, j, k)
    {
        for (hr_index q = HR_COUNT(f) - 1; q >= 0; q--) {
            HR_OF3(f, q, i, j, k) = (int)(2U * (unsigned)HR_OF3(f, q, i, j, k) +
                                          (unsigned)HR_OF3(f, 0, i, j, k));
        }
    }
}

/* One component of one field, from one of another. */
HR_KERNEL2(blur1, (IN, int, 1, from), (OUT, int, 1, to))
{
    HR_EACH1(i)
    {
        HR_AT1(to, i) = (int)((unsigned)HR_AT1(from, i - 1) +
                              5U * (unsigned)HR_AT1(from, i + 1));
    }
}

HR_KERNEL2(blur2, (IN, int, 2, from), (OUT, int, 2, to))
{
    HR_EACH2(i, j)
    {
        HR_AT2(to, i, j) = (int)((unsigned)HR_AT2(from, i - 1, j - 1) +
                                 5U * (unsigned)HR_AT2(from, i + 1, j + 1));
    }
}

HR_KERNEL2(blur3, (IN, int, 3, from), (OUT, int, 3, to))
{
    HR_EACH3(i, j, k)
    {
        HR_AT3(to, i, j, k) =
            (int)((unsigned)HR_AT3(from, i - 1, j - 1, k - 1) +
                  5U * (unsigned)HR_AT3(from, i + 1, j + 1, k + 1));
    }
}
