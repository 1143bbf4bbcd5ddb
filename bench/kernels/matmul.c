/* SPDX-License-Identifier: MIT */
/* C := A B in float, in several ways, for any extents. They differ in how often
 * an element is read from memory. The counts are for C of m x n with k products
 * each. */
#include <headrace/dialect.h>

HR_FUNCTION hr_index least(hr_index a, hr_index b)
{
    return a < b ? a : b;
}

/* One item does everything, like a program without accelerators: 2 m n k
 * elements. Launched over 1 x 1. */
HR_KERNEL3(matmul_sequential, (IN, float, 2, a), (IN, float, 2, b),
           (OUT, float, 2, c))
{
    HR_EACH2(top, left)
    {
        for (hr_index row = top; row < HR_EXTENT(c, 0); row++) {
            for (hr_index col = left; col < HR_EXTENT(c, 1); col++) {
                float sum = 0.0f;
                for (hr_index k = 0; k < HR_EXTENT(a, 1); k++) {
                    sum += HR_AT2(a, row, k) * HR_AT2(b, k, col);
                }
                HR_AT2(c, row, col) = sum;
            }
        }
    }
}

/* One item for each element of C. Both operands come from memory: 2 m n k
 * elements. Launched over m x n, in tiles of any extent. */
HR_KERNEL3(matmul_naive, (IN, float, 2, a), (IN, float, 2, b),
           (OUT, float, 2, c))
{
    HR_EACH2(row, col)
    {
        float sum = 0.0f;
        for (hr_index k = 0; k < HR_EXTENT(a, 1); k++) {
            sum += HR_AT2(a, row, k) * HR_AT2(b, k, col);
        }
        HR_AT2(c, row, col) = sum;
    }
}

/* Tile memory holds a piece of a row of A. A tile is a piece of a row of C: m n
 * k (1 + 1 / w) elements for tiles of 1 x w. Launched over m x n in such tiles,
 * with w floats. */
HR_KERNEL4(matmul_row_tile, (IN, float, 2, a), (IN, float, 2, b),
           (OUT, float, 2, c), (TILE, float, 0, piece))
{
    HR_PRIVATE(float, sum);
    HR_ITEMS2(row, col)
    {
        HR_P(sum) = 0.0f;
    }
    for (hr_index k0 = 0; k0 < HR_EXTENT(a, 1); k0 += HR_TILE(1)) {
        HR_ITEMS2(row, col)
        {
            hr_index k = k0 + HR_LOCAL1;
            piece[HR_LOCAL1] = HR_INSIDE2(a, row, k) ? HR_AT2(a, row, k) : 0.0f;
        }
        HR_BARRIER;
        HR_EACH2(row, col)
        {
            hr_index last = HR_EXTENT(a, 1) - k0;
            last = last < HR_TILE(1) ? last : HR_TILE(1);
            for (hr_index k = 0; k < last; k++) {
                HR_P(sum) += piece[k] * HR_AT2(b, k0 + k, col);
            }
        }
        HR_BARRIER;
    }
    HR_EACH2(row, col)
    {
        HR_AT2(c, row, col) = HR_P(sum);
    }
}

/* The width of sub-groups. Launched over 1, in tiles like those of the next
 * kernel. */
HR_KERNEL1(subgroup_width, (OUT, int, 2, width))
{
    const int most = HR_MAX_SUBGROUP;
    HR_EACH2(row, col)
    {
        HR_AT2(width, row, col) = most;
    }
}

enum { AT_ONCE = 8 }; /* elements on their way at a time */

/* The same without tile memory or barriers. The items of a sub-group hold the
 * piece in their registers, and read it from each other. It is as wide as the
 * device's sub-groups: m n k (1 + 1 / width) elements. Launched over m x n in
 * tiles with rows of whole sub-groups, or with one row. */
HR_KERNEL3(matmul_subgroup, (IN, float, 2, a), (IN, float, 2, b),
           (OUT, float, 2, c))
{
    HR_PRIVATE(float, sum);
    HR_PRIVATE(float, piece);
    HR_PRIVATE(hr_index, k0);
    const hr_index rest = HR_TILE(0) * HR_TILE(1) % HR_MAX_SUBGROUP;
    const hr_index narrowest = rest > 0 ? rest : HR_MAX_SUBGROUP;
    HR_ITEMS2(row, col)
    {
        HR_P(sum) = 0.0f;
        HR_P(k0) = 0;
    }
    for (hr_index k = 0; k < HR_EXTENT(a, 1); k += narrowest) {
        HR_ITEMS2(row, col)
        {
            const hr_index own = HR_P(k0) + HR_SUBGROUP_LANE;
            HR_P(piece) = HR_INSIDE2(a, row, own) ? HR_AT2(a, row, own) : 0.0f;
        }
        HR_ITEMS2(row, col)
        {
            const hr_index inside = least(col, HR_EXTENT(b, 1) - 1);
            const hr_index width = HR_SUBGROUP_WIDTH;
            const hr_index last = least(width, HR_EXTENT(b, 0) - HR_P(k0));
            const hr_index first = HR_P(k0);
            float own = HR_P(sum);
            int lane = 0;
            for (; lane + AT_ONCE <= last; lane += AT_ONCE) {
                float y[AT_ONCE];
                for (int i = 0; i < AT_ONCE; i++) {
                    y[i] = HR_AT2(b, first + lane + i, inside);
                }
                for (int i = 0; i < AT_ONCE; i++) {
                    own += HR_SUBGROUP_BROADCAST(piece, lane + i) * y[i];
                }
            }
            for (; lane < last; lane++) {
                const float x = HR_SUBGROUP_BROADCAST(piece, lane);
                own += x * HR_AT2(b, first + lane, inside);
            }
            HR_P(sum) = own;
            HR_P(k0) = first + width;
        }
    }
    HR_EACH2(row, col)
    {
        HR_AT2(c, row, col) = HR_P(sum);
    }
}

enum { EDGE = 16 };

/* Square tiles of both operands: 2 m n k / 16 elements. Launched over m x n in
 * tiles of 16 x 16. */
HR_KERNEL3(matmul_tiled, (IN, float, 2, a), (IN, float, 2, b),
           (OUT, float, 2, c))
{
    HR_TILE_STATIC(float, ta, [EDGE][EDGE]);
    HR_TILE_STATIC(float, tb, [EDGE][EDGE]);
    HR_PRIVATE(float, sum);
    HR_ITEMS2(row, col)
    {
        HR_P(sum) = 0.0f;
    }
    for (hr_index k0 = 0; k0 < HR_EXTENT(a, 1); k0 += EDGE) {
        HR_ITEMS2(row, col)
        {
            hr_index ka = k0 + HR_LOCAL1, kb = k0 + HR_LOCAL0;
            ta[HR_LOCAL0][HR_LOCAL1] =
                HR_INSIDE2(a, row, ka) ? HR_AT2(a, row, ka) : 0.0f;
            tb[HR_LOCAL0][HR_LOCAL1] =
                HR_INSIDE2(b, kb, col) ? HR_AT2(b, kb, col) : 0.0f;
        }
        HR_BARRIER;
        HR_EACH2(row, col)
        {
            float own = HR_P(sum);
            for (int k = 0; k < EDGE; k++) {
                own += ta[HR_LOCAL0][k] * tb[k][HR_LOCAL1];
            }
            HR_P(sum) = own;
        }
        HR_BARRIER;
    }
    HR_EACH2(row, col)
    {
        HR_AT2(c, row, col) = HR_P(sum);
    }
}

enum { ITEMS = 16, OWN = 8, PART = 4, WIDE = ITEMS * OWN, DEEP = 16 };

typedef struct block {
    float of[OWN][OWN];
} block;

typedef struct strips {
    float a[OWN], b[OWN];
} strips;

/* How many of OWN elements, `apart` apart, are among the next `left`. */
HR_FUNCTION int inside(hr_index left, int apart)
{
    return (int)least((left + apart - 1) / apart, OWN);
}

/* Each item computes 8 x 8 elements of C in its registers, from strips of A and
 * B in tile memory. A tile computes 128 x 128: 2 m n k / 128 elements. While
 * the items multiply one pair of strips they fetch the next. An item's rows,
 * and columns, are four in a row and four more 64 away. So neighbours read
 * neighbours, four at once. Launched over as many items as 128 x 128 tiles of C
 * have, 16 x 16 each. */
/* NOLINTNEXTLINE(readability-function-size): what the macro expands to */
HR_KERNEL3(matmul_blocked, (IN, float, 2, a), (IN, float, 2, b),
           (OUT, float, 2, c))
{
    HR_TILE_STATIC(float, ta, [DEEP][WIDE + PART]);
    HR_TILE_STATIC(float, tb, [DEEP][WIDE]);
    HR_PRIVATE(block, sums);
    HR_PRIVATE(strips, next);
    HR_ITEMS2(row, col)
    {
        for (int i = 0; i < OWN * OWN; i++) {
            HR_P(sums).of[i / OWN][i % OWN] = 0.0f;
        }
    }
    for (hr_index k0 = -DEEP; k0 < HR_EXTENT(a, 1); k0 += DEEP) {
        HR_ITEMS2(row, col)
        {
            const int item = (int)(HR_LOCAL0 * ITEMS + HR_LOCAL1);
            for (int i = 0; i < OWN && k0 >= 0; i++) {
                ta[HR_LOCAL1][HR_LOCAL0 + i * ITEMS] = HR_P(next).a[i];
                tb[item / WIDE + i * (ITEMS / OWN)][item % WIDE] =
                    HR_P(next).b[i];
            }
        }
        HR_TILE_BARRIER;
        HR_ITEMS2(row, col)
        {
            const int item = (int)(HR_LOCAL0 * ITEMS + HR_LOCAL1);
            const hr_index top = (row - HR_LOCAL0) * OWN + HR_LOCAL0;
            const hr_index left = (col - HR_LOCAL1) * OWN + item % WIDE;
            const hr_index ka = k0 + DEEP + HR_LOCAL1;
            const hr_index kb = k0 + DEEP + item / WIDE;
            /* how many of its elements are inside */
            const int rows =
                ka < HR_EXTENT(a, 1) ? inside(HR_EXTENT(a, 0) - top, ITEMS) : 0;
            const int steps = left < HR_EXTENT(b, 1)
                                  ? inside(HR_EXTENT(b, 0) - kb, ITEMS / OWN)
                                  : 0;
            HR_MEMORY const float *from_a =
                &HR_AT2(a, least(top, HR_EXTENT(a, 0) - 1), rows > 0 ? ka : 0);
            HR_MEMORY const float *from_b = &HR_AT2(
                b, steps > 0 ? kb : 0, least(left, HR_EXTENT(b, 1) - 1));
            for (int i = 0; i < OWN; i++) {
                HR_P(next).a[i] = i < rows ? *from_a : 0.0f;
                HR_P(next).b[i] = i < steps ? *from_b : 0.0f;
                from_a += ITEMS * HR_STRIDE(a, 0);
                from_b += ITEMS / OWN * HR_STRIDE(b, 0);
            }
            block own = HR_P(sums);
            for (int k = 0; k < DEEP && k0 >= 0; k++) {
                float x[OWN], y[OWN];
                for (int i = 0; i < OWN; i++) {
                    const int apart = i / PART * (WIDE / 2) + i % PART;
                    x[i] = ta[k][HR_LOCAL0 * PART + apart];
                    y[i] = tb[k][HR_LOCAL1 * PART + apart];
                }
                for (int i = 0; i < OWN; i++) {
                    for (int j = 0; j < OWN; j++) {
                        own.of[i][j] += x[i] * y[j];
                    }
                }
            }
            HR_P(sums) = own;
        }
        HR_TILE_BARRIER;
    }
    HR_ITEMS2(row, col)
    {
        const hr_index top = (row - HR_LOCAL0) * OWN + HR_LOCAL0 * PART;
        const hr_index left = (col - HR_LOCAL1) * OWN + HR_LOCAL1 * PART;
        for (int i = 0; i < OWN; i++) {
            const hr_index r = top + i / PART * (WIDE / 2) + i % PART;
            for (int j = 0; j < OWN; j++) {
                const hr_index s = left + j / PART * (WIDE / 2) + j % PART;
                if (HR_INSIDE2(c, r, s)) {
                    HR_AT2(c, r, s) = HR_P(sums).of[i][j];
                }
            }
        }
    }
}
