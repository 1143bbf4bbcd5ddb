/* SPDX-License-Identifier: MIT */
/* A step towards the steady state, for examples/steady.c. */
#include <headrace/dialect.h>

HR_KERNEL2(settle, (IN, float, 2, now), (OUT, float, 2, next))
{
    HR_EACH2(i, j)
    {
        HR_AT2(next, i, j) =
            0.25f * (HR_AT2(now, i - 1, j) + HR_AT2(now, i + 1, j) +
                     HR_AT2(now, i, j - 1) + HR_AT2(now, i, j + 1));
    }
}
