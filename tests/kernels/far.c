/* SPDX-License-Identifier: MIT */
/* A kernel that writes far outside of its memory, and one that does not. */
#include <headrace/dialect.h>

HR_KERNEL2(write_far, (OUT, int, 1, y), (VALUE, long long, 0, far))
{
    HR_EACH1(i)
    {
        HR_AT1(y, i + far) = 1;
    }
}

HR_KERNEL2(add_one, (IN, int, 1, x), (OUT, int, 1, y))
{
    HR_EACH1(i)
    {
        HR_AT1(y, i) = HR_AT1(x, i) + 1;
    }
}
