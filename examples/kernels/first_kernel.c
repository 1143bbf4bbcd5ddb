/* SPDX-License-Identifier: MIT */
#include <headrace/dialect.h>

HR_KERNEL3(add, (IN, float, 1, a), (IN, float, 1, b), (OUT, float, 1, c))
{
    HR_EACH1(i)
    {
        HR_AT1(c, i) = HR_AT1(a, i) + HR_AT1(b, i);
    }
}
