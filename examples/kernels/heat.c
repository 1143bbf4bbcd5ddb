/* SPDX-License-Identifier: MIT */
/* A step of time of the heat equation, for examples/heat.c. */
#include <headrace/dialect.h>

/* r is dt / h^2. Four neighbours are read; those beyond the plate are 0. */
HR_KERNEL3(heat, (IN, double, 2, now), (OUT, double, 2, next),
           (VALUE, double, 0, r))
{
    HR_EACH2(i, j)
    {
        const double u = HR_AT2(now, i, j);
        HR_AT2(next, i, j) =
            u + r * (HR_AT2(now, i - 1, j) + HR_AT2(now, i + 1, j) +
                     HR_AT2(now, i, j - 1) + HR_AT2(now, i, j + 1) - 4 * u);
    }
}
