/* SPDX-License-Identifier: MIT */
#include <headrace/dialect.h>

/* y = a x + y */
HR_KERNEL3(axpy_kernel, (VALUE, float, 0, a), (IN, float, 1, x),
           (INOUT, float, 1, y))
{
    HR_EACH1(i)
    {
        HR_AT1(y, i) += a * HR_AT1(x, i);
    }
}
