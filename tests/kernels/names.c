/* SPDX-License-Identifier: MIT */
/* Kernels and views with names that compilers use for functions, types and
 * operators of their own. */
#include <headrace/dialect.h>

#define NAMED(name, view, change)                                              \
    HR_KERNEL1(name, (INOUT, int, 1, view))                                    \
    {                                                                          \
        HR_EACH1(i)                                                            \
        {                                                                      \
            HR_AT1(view, i) += HR_INSIDE1(view, i) ? change : 0;               \
        }                                                                      \
    }

HR_KERNEL1(step, (INOUT, int, 1, select))
{
    HR_EACH1(i)
    {
        HR_AT1(select, i) += HR_INSIDE1(select, i) ? 1 : 0;
    }
}

HR_KERNEL2(dot, (INOUT, int, 2, cross), (IN, int, 1, length))
{
    HR_EACH2(row, col)
    {
        HR_AT2(cross, row, col) +=
            HR_STRIDE(cross, 0) > 0 ? HR_AT1(length, 0) : 0;
    }
}

NAMED(mix, distance, 3)
NAMED(normalize, min, 4)
NAMED(clamp, max, 5)
NAMED(half, hr_kernel_half, 6)
NAMED(image2d_t, sign, 7)
NAMED(float4, radians, 8)
NAMED(gemm, atomic_add, 9)
NAMED(new, barrier, 10)
NAMED(global, global_, 11)
