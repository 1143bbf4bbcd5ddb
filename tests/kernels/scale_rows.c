/* SPDX-License-Identifier: MIT */
/* The kernel of the engine in docs/architecture.md. */
#include <headrace/dialect.h>

HR_KERNEL3(scale_rows, (IN, float, 2, a), (IN, float, 1, factors),
           (OUT, float, 2, c))
{
    HR_EACH2(i, j)
    {
        HR_AT2(c, i, j) = HR_AT1(factors, i) * HR_AT2(a, i, j);
    }
}
