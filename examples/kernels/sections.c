/* SPDX-License-Identifier: MIT */
#include <headrace/dialect.h>

HR_KERNEL2(square, (IN, int, 2, from), (OUT, int, 2, to))
{
    HR_EACH2(row, col)
    {
        HR_AT2(to, row, col) = HR_AT2(from, row, col) * HR_AT2(from, row, col);
    }
}
