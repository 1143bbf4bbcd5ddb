/* SPDX-License-Identifier: MIT */
/* Kernels whose items do what a list says: for tests/unit/test_check_random.c,
 * which makes such lists at random and knows what is right. */
#include <headrace/dialect.h>

typedef struct use {
    int block, item, how, view, x, value; /* item < 0: all items of tile -1 -
                                             item, between blocks */
} use;

enum { READ, WRITE, ADD, MAX, MIN, ATOMIC_ADD, ATOMIC_MAX };

#define DO_PLAIN(type, at, u, sum)                                             \
    if ((u).how == READ) {                                                     \
        (sum) += (double)(at);                                                 \
    } else if ((u).how == WRITE || ((u).how == MAX && (at) < (u).value) ||     \
               ((u).how == MIN && (at) > (u).value)) {                         \
        (at) = (type)(u).value;                                                \
    }
#define DO_ANY(type, at, u, sum)                                               \
    DO_PLAIN(type, at, u, sum)                                                 \
    if ((u).how == ADD) {                                                      \
        (at) += (type)(u).value;                                               \
    } else if ((u).how == ATOMIC_ADD) {                                        \
        HR_ATOMIC_ADD(at, (type)(u).value);                                    \
    } else if ((u).how == ATOMIC_MAX) {                                        \
        HR_ATOMIC_MAX(at, (type)(u).value);                                    \
    }
#define DO(u, sum)                                                             \
    if ((u).view == 0 && (u).how == READ) {                                    \
        (sum) += (double)HR_AT1(a, (u).x);                                     \
    } else if ((u).view == 0) {                                                \
        *(HR_MEMORY int *)&HR_AT1(a, (u).x) = (u).value;                       \
    } else if ((u).view == 1) {                                                \
        DO_ANY(int, HR_AT1(b, (u).x), u, sum)                                  \
    } else if ((u).view == 2) {                                                \
        DO_ANY(int, HR_AT1(c, (u).x), u, sum)                                  \
    } else if ((u).view == 3) {                                                \
        DO_ANY(double, HR_AT1(d, (u).x), u, sum)                               \
    } else {                                                                   \
        DO_PLAIN(short, HR_AT1(e, (u).x), u, sum)                              \
    }

/* Bit n of barriers: there is one behind block n. */
HR_KERNEL11(uses_in_tiles, (IN, use, 1, list), (VALUE, int, 0, count),
            (VALUE, int, 0, blocks), (VALUE, int, 0, barriers), (IN, int, 1, a),
            (INOUT, int, 1, b), (OUT, int, 1, c), (OUT, double, 1, d),
            (OUT, short, 1, e), (OUT, double, 1, result), (TILE, int, 0, tile))
{
    HR_PRIVATE(double, sum);
    double all = 0;
    HR_ITEMS1(i)
    {
        HR_P(sum) = 0;
        if (HR_LOCAL0 == 0) {
            tile[0] = (int)(i / HR_TILE(0));
        }
    }
    HR_TILE_BARRIER;
    for (int block = 0; block < blocks; block++) {
        for (int k = 0; k < count; k++) {
            const use u = HR_AT1(list, k);
            if (u.block == block && u.item == -1 - tile[0]) {
                DO(u, all)
            }
        }
        HR_ITEMS1(i)
        {
            for (int k = 0; k < count; k++) {
                const use u = HR_AT1(list, k);
                if (u.block == block && u.item == i) {
                    DO(u, HR_P(sum))
                }
            }
        }
        if ((barriers >> block & 1) != 0) {
            HR_BARRIER;
        }
    }
    HR_EACH1(i)
    {
        HR_AT1(result, i) = HR_P(sum) + all;
    }
}

/* Without barriers, and without code between blocks. */
HR_KERNEL11(uses_in_rows, (IN, use, 1, list), (VALUE, int, 0, count),
            (VALUE, int, 0, blocks), (VALUE, int, 0, barriers), (IN, int, 1, a),
            (INOUT, int, 1, b), (OUT, int, 1, c), (OUT, double, 1, d),
            (OUT, short, 1, e), (OUT, double, 1, result), (TILE, int, 0, tile))
{
    HR_PRIVATE(double, sum);
    HR_EACH1(i)
    {
        HR_P(sum) = 0;
        tile[0] = 0;
    }
    for (int block = 0; block < blocks; block++) {
        HR_EACH1(i)
        {
            for (int k = 0; k < count; k++) {
                const use u = HR_AT1(list, k);
                if (u.block == block && u.item == i) {
                    DO(u, HR_P(sum))
                }
            }
        }
    }
    HR_EACH1(i)
    {
        HR_AT1(result, i) = HR_P(sum) + barriers;
    }
}
