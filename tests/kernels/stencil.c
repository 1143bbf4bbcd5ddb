/* SPDX-License-Identifier: MIT */
/* Steps of grids, for tests/unit/test_grid.c. They use integers: every right
 * order of sums gives the same bits, and any error gives others. */
#include <headrace/dialect.h>

/* How many cells are read before and after one's own, and factors that make the
 * place matter. */
typedef struct reach {
    int before[3], after[3];
    int place[3];
} reach;

HR_FUNCTION unsigned mixed(unsigned sum, unsigned value)
{
    return (sum ^ value) * 16777619u + 7u;
}

HR_KERNEL3(mix1, (IN, unsigned, 1, from), (OUT, unsigned, 1, to),
           (VALUE, reach, 0, r))
{
    HR_EACH1(i)
    {
        unsigned sum = (unsigned)(i * r.place[0]);
        for (int x = -r.before[0]; x <= r.after[0]; x++) {
            sum = mixed(sum, HR_AT1(from, i + x));
        }
        HR_AT1(to, i) = sum;
    }
}

HR_KERNEL3(mix2, (IN, unsigned, 2, from), (OUT, unsigned, 2, to),
           (VALUE, reach, 0, r))
{
    HR_EACH2(i0, j)
    {
        for (hr_index i = i0; i < i0 + HR_STEP(0) && i < HR_END(0); i++) {
            unsigned sum = (unsigned)(i * r.place[0] + j * r.place[1]);
            for (int y = -r.before[0]; y <= r.after[0]; y++) {
                for (int x = -r.before[1]; x <= r.after[1]; x++) {
                    sum = mixed(sum, HR_AT2(from, i + y, j + x));
                }
            }
            HR_AT2(to, i, j) = sum;
        }
    }
}

HR_KERNEL3(mix3, (IN, unsigned, 3, from), (OUT, unsigned, 3, to),
           (VALUE, reach, 0, r))
{
    HR_EACH3(i, j, k)
    {
        unsigned sum =
            (unsigned)(i * r.place[0] + j * r.place[1] + k * r.place[2]);
        for (int z = -r.before[0]; z <= r.after[0]; z++) {
            for (int y = -r.before[1]; y <= r.after[1]; y++) {
                for (int x = -r.before[2]; x <= r.after[2]; x++) {
                    sum = mixed(sum, HR_AT3(from, i + z, j + y, k + x));
                }
            }
        }
        HR_AT3(to, i, j, k) = sum;
    }
}

/* A field follows another in place. */
HR_KERNEL2(follow1, (IN, unsigned, 1, from), (INOUT, unsigned, 1, to))
{
    HR_EACH1(i)
    {
        HR_AT1(to, i) = mixed(HR_AT1(to, i), HR_AT1(from, i));
    }
}

HR_KERNEL2(follow2, (IN, unsigned, 2, from), (INOUT, unsigned, 2, to))
{
    HR_EACH2(i, j)
    {
        HR_AT2(to, i, j) = mixed(HR_AT2(to, i, j), HR_AT2(from, i, j));
    }
}

HR_KERNEL2(follow3, (IN, unsigned, 3, from), (INOUT, unsigned, 3, to))
{
    HR_EACH3(i, j, k)
    {
        HR_AT3(to, i, j, k) = mixed(HR_AT3(to, i, j, k), HR_AT3(from, i, j, k));
    }
}
