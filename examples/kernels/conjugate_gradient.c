/* SPDX-License-Identifier: MIT */
/* What examples/conjugate_gradient.c does with vectors. */
#include <headrace/dialect.h>

/* y = A x. Row i of A has its elements at starts[i] to starts[i + 1] - 1 of
 * values, and their columns likewise (CSR). */
HR_KERNEL5(multiply, (IN, int, 1, starts), (IN, int, 1, columns),
           (IN, double, 1, values), (IN, double, 1, x), (OUT, double, 1, y))
{
    HR_EACH1(i)
    {
        double sum = 0.0;
        for (int k = HR_AT1(starts, i); k < HR_AT1(starts, i + 1); k++) {
            sum += HR_AT1(values, k) * HR_AT1(x, HR_AT1(columns, k));
        }
        HR_AT1(y, i) = sum;
    }
}

/* A step of length a along p, where q = A p. */
HR_KERNEL5(advance, (VALUE, double, 0, a), (IN, double, 1, p),
           (IN, double, 1, q), (INOUT, double, 1, x), (INOUT, double, 1, r))
{
    HR_EACH1(i)
    {
        HR_AT1(x, i) += a * HR_AT1(p, i);
        HR_AT1(r, i) -= a * HR_AT1(q, i);
    }
}

/* The next direction. */
HR_KERNEL3(redirect, (VALUE, double, 0, b), (IN, double, 1, r),
           (INOUT, double, 1, p))
{
    HR_EACH1(i)
    {
        HR_AT1(p, i) = HR_AT1(r, i) + b * HR_AT1(p, i);
    }
}
