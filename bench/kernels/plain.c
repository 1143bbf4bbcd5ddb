/* SPDX-License-Identifier: MIT */
/* The shortest kernels. */
#include <headrace/dialect.h>

HR_KERNEL3(bench_add, (IN, float, 1, a), (IN, float, 1, b), (OUT, float, 1, c))
{
    HR_EACH1(i)
    {
        HR_AT1(c, i) = HR_AT1(a, i) + HR_AT1(b, i);
    }
}

/* A kernel that does nothing, but no compiler can know that. */
HR_KERNEL1(bench_nothing, (INOUT, float, 1, x))
{
    HR_EACH1(i)
    {
        if (HR_EXTENT(x, 0) == 0) {
            HR_AT1(x, i) = 0.0f;
        }
    }
}
