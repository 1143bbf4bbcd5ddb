/* SPDX-License-Identifier: MIT */
/* A block of items that `return` leaves. */
#include <headrace/dialect.h>

HR_KERNEL1(leaving, (INOUT, int, 1, y))
{
    HR_EACH1(i)
    {
        if (i % 3 == 0) {
            return;
        }
        HR_AT1(y, i) = 1;
    }
}
