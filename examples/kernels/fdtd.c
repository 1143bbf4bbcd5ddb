/* SPDX-License-Identifier: MIT */
/* Yee's scheme in two dimensions, TM waves, for examples/fdtd.c.
 *
 * Lengths are in cells, time in the same unit over c, and H is scaled by the
 * impedance of vacuum, so that only s = c dt / dx stands in the equations. Cell
 * (i, j) has Ez at (i, j), Hx at (i, j + 1/2), Hy at (i + 1/2, j). */
#include <headrace/dialect.h>

/* How a field changes at one index of a dimension: `keep` times what it was,
 * and `gain` times a difference. These are 1 and s in vacuum, and less in a
 * layer. */
typedef struct slope {
    float keep, gain;
} slope;

HR_KERNEL5(magnetic, (IN, float, 2, ez), (INOUT, float, 2, hx),
           (INOUT, float, 2, hy), (IN, slope, 1, along_i),
           (IN, slope, 1, along_j))
{
    HR_EACH2(i, j)
    {
        const slope a = HR_AT1(along_j, j), b = HR_AT1(along_i, i);
        const float e = HR_AT2(ez, i, j);
        HR_AT2(hx, i, j) =
            a.keep * HR_AT2(hx, i, j) - a.gain * (HR_AT2(ez, i, j + 1) - e);
        HR_AT2(hy, i, j) =
            b.keep * HR_AT2(hy, i, j) + b.gain * (HR_AT2(ez, i + 1, j) - e);
    }
}

/* Ez is the sum of a part from differences along i and a part from differences
 * along j [Berenger 1994], so that each can fade at its own rate. */
HR_KERNEL7(electric, (IN, float, 2, hx), (IN, float, 2, hy),
           (INOUT, float, 2, ezi), (INOUT, float, 2, ezj), (OUT, float, 2, ez),
           (IN, slope, 1, along_i), (IN, slope, 1, along_j))
{
    HR_EACH2(i, j)
    {
        const slope a = HR_AT1(along_i, i), b = HR_AT1(along_j, j);
        const float x = a.keep * HR_AT2(ezi, i, j) +
                        a.gain * (HR_AT2(hy, i, j) - HR_AT2(hy, i - 1, j));
        const float y = b.keep * HR_AT2(ezj, i, j) -
                        b.gain * (HR_AT2(hx, i, j) - HR_AT2(hx, i, j - 1));
        HR_AT2(ezi, i, j) = x;
        HR_AT2(ezj, i, j) = y;
        HR_AT2(ez, i, j) = x + y;
    }
}

/* A current at one cell is added to the values there, so waves can pass. */
HR_KERNEL3(source, (INOUT, float, 2, ezi), (INOUT, float, 2, ez),
           (VALUE, float, 0, amplitude))
{
    HR_EACH2(i, j)
    {
        HR_AT2(ezi, i, j) += amplitude;
        HR_AT2(ez, i, j) += amplitude;
    }
}
