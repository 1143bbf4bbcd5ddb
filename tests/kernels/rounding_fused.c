/* SPDX-License-Identifier: MIT */
/* A kernel whose multiplications and additions may be fused. */
#include <headrace/dialect.h>

HR_KERNEL4(rounds_fused, (IN, float, 1, a), (IN, float, 1, b),
           (IN, float, 1, c), (OUT, float, 1, out))
{
    HR_EACH1(i)
    {
        HR_AT1(out, i) = HR_AT1(a, i) * HR_AT1(b, i) + HR_AT1(c, i);
    }
}
