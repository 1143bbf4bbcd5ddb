/* SPDX-License-Identifier: MIT */
/* The sum of two matrices of int. */
#include <headrace/dialect.h>

HR_KERNEL3(matrix_addition, (IN, int, 2, a), (IN, int, 2, b), (OUT, int, 2, c))
{
    HR_EACH2(row, col)
    {
        HR_AT2(c, row, col) = HR_AT2(a, row, col) + HR_AT2(b, row, col);
    }
}
