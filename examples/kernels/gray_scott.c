/* SPDX-License-Identifier: MIT */
/* Two substances that react and spread, for examples/gray_scott.c. */
#include <headrace/dialect.h>

typedef struct reaction {
    float spread_u, spread_v, feed, kill; /* for a step of time */
} reaction;

/* v makes more of itself out of u. u is fed, and v is taken away. */
HR_KERNEL5(react, (IN, float, 3, u), (IN, float, 3, v), (OUT, float, 3, next_u),
           (OUT, float, 3, next_v), (VALUE, reaction, 0, r))
{
    HR_EACH3(i, j, k)
    {
        const float a = HR_AT3(u, i, j, k), b = HR_AT3(v, i, j, k);
        const float around_a = HR_AT3(u, i - 1, j, k) + HR_AT3(u, i + 1, j, k) +
                               HR_AT3(u, i, j - 1, k) + HR_AT3(u, i, j + 1, k) +
                               HR_AT3(u, i, j, k - 1) + HR_AT3(u, i, j, k + 1);
        const float around_b = HR_AT3(v, i - 1, j, k) + HR_AT3(v, i + 1, j, k) +
                               HR_AT3(v, i, j - 1, k) + HR_AT3(v, i, j + 1, k) +
                               HR_AT3(v, i, j, k - 1) + HR_AT3(v, i, j, k + 1);
        const float made = a * b * b;
        HR_AT3(next_u, i, j, k) =
            a + r.spread_u * (around_a - 6.0f * a) - made + r.feed * (1.0f - a);
        HR_AT3(next_v, i, j, k) = b + r.spread_v * (around_b - 6.0f * b) +
                                  made - (r.feed + r.kill) * b;
    }
}
