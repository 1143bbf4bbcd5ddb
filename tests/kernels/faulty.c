/* SPDX-License-Identifier: MIT */
/* Kernels that do not do what they declare, and some that do: for
 * tests/unit/test_check.c, which knows the lines. */
#include <headrace/dialect.h>

/* ---- outside */

HR_KERNEL2(reads_beyond, (IN, int, 1, a), (OUT, int, 1, c))
{
    HR_EACH1(i)
    {
        HR_AT1(c, i) = HR_AT1(a, i + 1);
    }
}

HR_KERNEL1(writes_beyond1, (OUT, int, 1, c))
{
    HR_EACH1(i)
    {
        HR_AT1(c, i + 1) = 7;
    }
}

HR_KERNEL1(writes_beyond2, (OUT, double, 2, c))
{
    HR_EACH2(row, col)
    {
        HR_AT2(c, row, col) = 1.0;
        HR_AT2(c, row + 1, col + 3) = 1.0;
    }
}

HR_KERNEL1(writes_beyond3, (INOUT, short, 3, c))
{
    HR_EACH3(z, y, x)
    {
        HR_AT3(c, z, y, x - 1) = 1;
    }
}
#define FIRST_ROW HR_AT1 /* in the text, such an access is refused */
HR_KERNEL1(wrong_rank, (OUT, int, 2, c))
{
    HR_EACH1(i)
    {
        FIRST_ROW(c, i) = 1;
    }
}

/* ---- not as declared */

HR_KERNEL2(reads_out1, (OUT, int, 1, c), (OUT, int, 1, d))
{
    HR_EACH1(i)
    {
        HR_AT1(d, i) = HR_AT1(c, i) > 0 ? 1 : 3;
        HR_AT1(d, i) = 2;
    }
}

HR_KERNEL2(reads_out2, (OUT, float, 2, c), (OUT, float, 2, d))
{
    HR_EACH2(row, col)
    {
        HR_AT2(c, row, col) = 1.0f;
        HR_AT2(d, row, col) = row == 1 ? HR_AT2(d, row, col) : 0.0f;
    }
}

HR_KERNEL2(reads_out3, (INOUT, int, 3, c), (OUT, hr_index, 3, d))
{
    HR_EACH3(z, y, x)
    {
        if (HR_AT3(d, z, y, x) < 0) {
            HR_AT3(c, z, y, x) += 1;
        }
    }
}

HR_KERNEL2(adds_to_out, (IN, unsigned, 1, a), (OUT, unsigned, 1, c))
{
    HR_EACH1(i)
    {
        HR_AT1(c, i) += HR_AT1(a, i);
    }
}

HR_KERNEL1(counts_in_out, (OUT, unsigned, 1, c))
{
    HR_EACH1(i)
    {
        HR_ATOMIC_ADD(HR_AT1(c, i % 2), 1u);
    }
}

HR_KERNEL2(writes_in, (IN, int, 2, a), (OUT, int, 2, c))
{
    HR_EACH2(row, col)
    {
        HR_AT2(c, row, col) = 0;
        if (row == 1) {
            *(HR_MEMORY int *)&HR_AT2(a, row, col) = 9;
        }
    }
}

/* ---- two items and one element */

HR_KERNEL1(all_write1, (OUT, hr_index, 1, c))
{
    HR_EACH1(i)
    {
        HR_AT1(c, 0) = i;
    }
}

HR_KERNEL1(all_write2, (OUT, hr_index, 2, c))
{
    HR_EACH2(row, col)
    {
        HR_AT2(c, 0, col) = row;
    }
}

HR_KERNEL1(all_write3, (INOUT, hr_index, 3, c))
{
    HR_EACH3(z, y, x)
    {
        HR_AT3(c, z, y, 0) = 10 + x;
    }
}

HR_KERNEL1(shifts, (INOUT, int, 1, c))
{
    HR_EACH1(i)
    {
        int next = i + 1 < HR_EXTENT(c, 0) ? HR_AT1(c, i + 1) : 0;
        HR_AT1(c, i) = next;
    }
}

HR_KERNEL1(shifts_with_barrier, (INOUT, int, 1, c))
{
    HR_PRIVATE(int, next);
    HR_EACH1(i)
    {
        HR_P(next) = i + 1 < HR_EXTENT(c, 0) ? HR_AT1(c, i + 1) : 0;
    }
    HR_BARRIER;
    HR_EACH1(i)
    {
        HR_AT1(c, i) = HR_P(next);
    }
}

HR_KERNEL1(shifts_with_less, (INOUT, int, 1, c))
{
    HR_PRIVATE(int, next);
    HR_EACH1(i)
    {
        HR_P(next) = i + 1 < HR_EXTENT(c, 0) ? HR_AT1(c, i + 1) : 0;
    }
    HR_TILE_BARRIER; /* only of tile memory */
    HR_EACH1(i)
    {
        HR_AT1(c, i) = HR_P(next);
    }
}

HR_KERNEL1(between_blocks, (OUT, int, 1, c))
{
    HR_AT1(c, 0) = 5;
    HR_BARRIER;
    HR_EACH1(i)
    {
        if (i > 0) {
            HR_AT1(c, i) = HR_AT1(c, 0);
        }
    }
}

HR_KERNEL2(counts, (IN, int, 1, a), (INOUT, unsigned, 1, c))
{
    HR_EACH1(i)
    {
        HR_ATOMIC_ADD(HR_AT1(c, HR_AT1(a, i)), 1u);
    }
}

HR_KERNEL1(counts_and_looks, (INOUT, unsigned, 1, c))
{
    HR_EACH1(i)
    {
        HR_ATOMIC_ADD(HR_AT1(c, 0), 1u);
        if (i == 2) {
            HR_AT1(c, 1) = HR_AT1(c, 0);
        }
    }
}

/* ---- right, though this is hard to see */

typedef struct padded {
    double x;
    char n;
} padded;

HR_KERNEL3(every_byte, (OUT, unsigned char, 1, c), (OUT, padded, 1, d),
           (OUT, int, 1, some))
{
    HR_EACH1(i)
    {
        HR_AT1(c, i) = (unsigned char)(i % 256);
        HR_AT1(d, i).x = 1.5;
        HR_AT1(d, i).n = 'n';
        if (i % 2 == 0) {
            HR_AT1(some, i) = 3;
        }
        if (i % 5 == 0) {
            HR_AT1(c, i) = HR_AT1(c, i) == 0 ? 1 : 2;
        }
    }
}

/* ---- what functions do belongs to the item that calls them */

HR_FUNCTION int get(HR_MEMORY const int *a, const hr_shape a_shape, hr_index i)
{
    return HR_AT1(a, i);
}

HR_FUNCTION void put(HR_MEMORY int *c, const hr_shape c_shape, hr_index i,
                     int value)
{
    HR_AT1(c, i) = value;
}

HR_KERNEL3(calls, (IN, int, 1, a), (OUT, int, 1, c), (OUT, int, 1, d))
{
    HR_EACH1(i)
    {
        HR_AT1(c, i) = get(a, a_shape, i);
        put(d, d_shape, i, get(a + 1, a_shape, i - 1)); /* a moved view */
    }
}

HR_KERNEL1(calls_and_shifts, (OUT, int, 1, c))
{
    HR_EACH1(i)
    {
        put(c, c_shape, i / 2, (int)i);
    }
}

/* ---- the last of several atomic writes is by the reader's own tile */

HR_KERNEL2(counts_then_looks, (INOUT, unsigned, 1, n), (OUT, unsigned, 1, c))
{
    HR_EACH1(i)
    {
        HR_ATOMIC_ADD(HR_AT1(n, 0), 1u);
    }
    HR_BARRIER;
    HR_EACH1(i)
    {
        if (i + 1 == HR_DOMAIN(0)) {
            HR_AT1(c, 0) = HR_AT1(n, 0);
        }
    }
}

/* ---- atomic changes of members */

typedef struct counters {
    unsigned even, odd;
} counters;

HR_KERNEL1(counts_members, (INOUT, counters, 1, n))
{
    HR_EACH1(i)
    {
        if (i % 2 == 0) {
            HR_ATOMIC_ADD(HR_AT1(n, 0).even, 1u);
        } else {
            HR_ATOMIC_ADD(HR_AT1(n, 0).odd, 1u);
        }
    }
}

/* ---- reads of an OUT view that the same item writes afterwards */

HR_KERNEL2(larger_of_out, (IN, int, 1, x), (OUT, int, 1, c))
{
    HR_EACH1(i)
    {
        HR_AT1(c, i) =
            HR_AT1(c, i) > HR_AT1(x, i) ? HR_AT1(c, i) : HR_AT1(x, i);
    }
}

HR_KERNEL1(positive_out, (OUT, int, 1, c))
{
    HR_EACH1(i)
    {
        HR_AT1(c, i) = HR_AT1(c, i) > 0 ? 1 : 2;
    }
}

HR_KERNEL1(zero_out, (OUT, unsigned, 1, c))
{
    HR_EACH1(i)
    {
        HR_AT1(c, i) = HR_AT1(c, i) != 0 ? 1 : 2;
    }
}

HR_KERNEL1(doubles, (OUT, int, 1, c))
{
    HR_EACH1(i)
    {
        HR_AT1(c, i) = 2 * (int)i;
    }
}

/* ---- plain accesses beside atomics */

HR_KERNEL1(sets_and_counts, (INOUT, int, 1, n))
{
    HR_EACH1(i)
    {
        if (i == 0) {
            HR_AT1(n, 0) = 0;
        }
        HR_ATOMIC_ADD(HR_AT1(n, 0), 1);
    }
}

HR_KERNEL1(sets_then_counts, (INOUT, int, 1, n))
{
    HR_ITEMS1(i)
    {
        if (i == 0) {
            HR_AT1(n, 0) = 0;
        }
    }
    HR_ITEMS1(i)
    {
        HR_ATOMIC_ADD(HR_AT1(n, 0), 1);
    }
}

HR_KERNEL1(sets_then_counts_later, (INOUT, int, 1, n))
{
    HR_ITEMS1(i)
    {
        if (i == 0) {
            HR_AT1(n, 0) = 0;
        }
    }
    HR_BARRIER;
    HR_ITEMS1(i)
    {
        HR_ATOMIC_ADD(HR_AT1(n, 0), 1);
    }
}

HR_KERNEL1(looks_then_counts, (INOUT, int, 1, n))
{
    HR_ITEMS1(i)
    {
        if (i == 0 && HR_AT1(n, 0) < 0) {
            HR_AT1(n, 1) = 0;
        }
    }
    HR_BARRIER;
    HR_ITEMS1(i)
    {
        HR_ATOMIC_ADD(HR_AT1(n, 0), 1);
    }
}

HR_KERNEL1(all_count_and_look, (INOUT, int, 1, n))
{
    if (HR_AT1(n, 0) > 100) {
        HR_ATOMIC_ADD(HR_AT1(n, 0), 1);
    }
    HR_EACH1(i)
    {
        HR_AT1(n, i + 1) = 0;
    }
}

/* ---- OUT views of types whose bits are something else in others */

HR_KERNEL1(adds_to_out64, (OUT, double, 1, c))
{
    HR_EACH1(i)
    {
        HR_AT1(c, i) += 3.0;
    }
}

HR_KERNEL1(largest_in_out32, (OUT, int, 1, c))
{
    HR_EACH1(i)
    {
        HR_AT1(c, i) = HR_AT1(c, i) > 2000000000 ? HR_AT1(c, i) : 2000000000;
    }
}

HR_KERNEL1(largest_in_out16, (OUT, short, 1, c))
{
    HR_EACH1(i)
    {
        HR_AT1(c, i) = HR_AT1(c, i) > 30000 ? HR_AT1(c, i) : 30000;
    }
}

typedef double real;

HR_KERNEL1(least_in_out, (OUT, real, 1, c))
{
    HR_EACH1(i)
    {
        HR_AT1(c, i) = fmin(HR_AT1(c, i), -1e300);
    }
}

typedef int number;

HR_KERNEL1(least_number_in_out, (OUT, number, 1, c))
{
    HR_EACH1(i)
    {
        HR_AT1(c, i) = HR_AT1(c, i) < -2000000000 ? HR_AT1(c, i) : -2000000000;
    }
}
