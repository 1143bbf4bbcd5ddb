/* SPDX-License-Identifier: MIT */
/* A kernel of the host with much memory of a tile. */
#include <headrace/dialect.h>

enum { HELD = 100000 };

HR_KERNEL1(deep, (OUT, double, 1, y))
{
    HR_TILE_STATIC(double, held, [HELD]);
    HR_ITEMS1(i)
    {
        for (hr_index k = HR_LOCAL0; k < HELD; k += HR_TILE(0)) {
            held[k] = (double)k;
        }
    }
    HR_BARRIER;
    HR_ITEMS1(i)
    {
        if (i < HR_END(0)) {
            HR_AT1(y, i) = held[HELD - 1 - i];
        }
    }
}
