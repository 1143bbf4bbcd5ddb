/* SPDX-License-Identifier: MIT */
/* Kernels with views that are written anywhere, for
 * tests/unit/test_combined.c. */
#include <headrace/dialect.h>

/* What x tells: a row of the combined views, and a small number. */
HR_FUNCTION hr_index row_of(int x, hr_index rows)
{
    return (x & 0xffff) % rows;
}

#define COMBINED(name, type)                                                   \
    HR_KERNEL4(name, (IN, int, 2, x), (INOUT, type, 2, sum),                   \
               (INOUT, type, 2, least), (INOUT, type, 2, most))                \
    {                                                                          \
        HR_EACH2(i, j)                                                         \
        {                                                                      \
            const int v = HR_AT2(x, i, j);                                     \
            const hr_index row = row_of(v, HR_EXTENT(sum, 0));                 \
            const hr_index col = j % HR_EXTENT(sum, 1);                        \
            HR_ATOMIC_ADD(HR_AT2(sum, row, col), (type)(v % 7));               \
            HR_ATOMIC_MIN(HR_AT2(least, row, col), (type)(v % 1000));          \
            HR_ATOMIC_MAX(HR_AT2(most, row, col), (type)(v % 1000));           \
        }                                                                      \
    }

COMBINED(combined_i32, int)
COMBINED(combined_u32, unsigned)
COMBINED(combined_i64, long)
COMBINED(combined_u64, unsigned long)
COMBINED(combined_f32, float)
#if defined(HR_HAS_DOUBLE)
COMBINED(combined_f64, double)
#endif

HR_KERNEL2(combined_count, (IN, int, 1, x), (INOUT, int, 1, bins))
{
    HR_EACH1(i)
    {
        HR_ATOMIC_ADD(HR_AT1(bins, row_of(HR_AT1(x, i), HR_EXTENT(bins, 0))),
                      1);
    }
}

/* Each row adds to all columns once. */
HR_KERNEL2(combined_rows, (IN, float, 2, x), (INOUT, float, 1, sum))
{
    HR_EACH2(i, j)
    {
        HR_ATOMIC_ADD(HR_AT1(sum, j), HR_AT2(x, i, j));
    }
}

/* The element behind the last one. */
HR_KERNEL2(combined_beyond, (IN, int, 1, x), (INOUT, int, 1, bins))
{
    HR_EACH1(i)
    {
        HR_ATOMIC_ADD(HR_AT1(bins, HR_EXTENT(bins, 0)), HR_AT1(x, i));
    }
}

/* What cannot be combined. */
HR_KERNEL4(combined_others, (IN, int, 1, in), (OUT, int, 1, out),
           (INOUT, short, 1, small), (INOUTS, int, 1, list))
{
    HR_EACH1(i)
    {
        HR_AT1(out, i) = HR_AT1(in, i);
        HR_AT1(small, i) += 1;
        HR_OF1(list, 0, i) += 1;
    }
}
