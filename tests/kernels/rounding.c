/* SPDX-License-Identifier: MIT */
/* Kernels in which compilers may fuse and approximate. This file is compiled
 * with HR_REPRODUCIBLE. */
#include <headrace/dialect.h>

/* What may be fused, divided and rooted, in float. */
HR_KERNEL4(rounds, (IN, float, 1, a), (IN, float, 1, b), (IN, float, 1, c),
           (OUT, float, 2, out))
{
    HR_EACH1(i)
    {
        const float x = HR_AT1(a, i), y = HR_AT1(b, i), z = HR_AT1(c, i);
        const hr_c32 p = hr_c32_mul(hr_c32_of(x, y), hr_c32_of(z, x));
        const hr_c32 q = hr_c32_div(hr_c32_of(x, y), hr_c32_of(z, x));
        HR_AT2(out, i, 0) = x * y + z;
        HR_AT2(out, i, 1) = x * y - z * x;
        HR_AT2(out, i, 2) = x / y;
        HR_AT2(out, i, 3) = sqrt(fabs(x)) * y + z;
        HR_AT2(out, i, 4) = p.re + q.re;
        HR_AT2(out, i, 5) = p.im + q.im;
        HR_AT2(out, i, 6) = fma(x, y, z) * z + x;
        HR_AT2(out, i, 7) = HR_FAST_DIVIDE(x, z) + HR_FAST_SQRT(fabs(y)) * x;
    }
}

#if defined(HR_HAS_DOUBLE)
HR_KERNEL4(rounds_double, (IN, double, 1, a), (IN, double, 1, b),
           (IN, double, 1, c), (OUT, double, 2, out))
{
    HR_EACH1(i)
    {
        const double x = HR_AT1(a, i), y = HR_AT1(b, i), z = HR_AT1(c, i);
        HR_AT2(out, i, 0) = x * y + z;
        HR_AT2(out, i, 1) = x / y - z * x;
        HR_AT2(out, i, 2) = sqrt(fabs(x)) * y + z;
        HR_AT2(out, i, 3) = (x * x + y * y) + z * z;
    }
}
#endif

/* A stencil of five points. */
HR_KERNEL2(spread, (IN, float, 2, now), (OUT, float, 2, next))
{
    HR_EACH2(i, j)
    {
        HR_AT2(next, i, j) =
            0.4f * HR_AT2(now, i, j) +
            (0.11f * HR_AT2(now, i - 1, j) + 0.17f * HR_AT2(now, i + 1, j) +
             0.13f * HR_AT2(now, i, j - 1) + 0.19f * HR_AT2(now, i, j + 1));
    }
}
