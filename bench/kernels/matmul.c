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

/* Tile memory holds a chunk of a row of A. A tile is some of a row of C: m n
 * k (1 + 1 / w) elements for tiles of 1 x w. Launched over m x n in such tiles,
 * with w floats. */
HR_KERNEL4(matmul_row_tile, (IN, float, 2, a), (IN, float, 2, b),
           (OUT, float, 2, c), (TILE, float, 0, chunk))
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
            chunk[HR_LOCAL1] = HR_INSIDE2(a, row, k) ? HR_AT2(a, row, k) : 0.0f;
        }
        HR_BARRIER;
        HR_EACH2(row, col)
        {
            hr_index last = HR_EXTENT(a, 1) - k0;
            last = last < HR_TILE(1) ? last : HR_TILE(1);
            for (hr_index k = 0; k < last; k++) {
                HR_P(sum) += chunk[k] * HR_AT2(b, k0 + k, col);
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
 * chunk in their registers, and read it from each other. It is as wide as the
 * device's sub-groups: m n k (1 + 1 / width) elements. Launched over m x n in
 * tiles with rows of whole sub-groups, or with one row. */
HR_KERNEL3(matmul_subgroup, (IN, float, 2, a), (IN, float, 2, b),
           (OUT, float, 2, c))
{
    HR_PRIVATE(float, sum);
    HR_PRIVATE(float, chunk);
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
            HR_P(chunk) = HR_INSIDE2(a, row, own) ? HR_AT2(a, row, own) : 0.0f;
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
                    own += HR_SUBGROUP_BROADCAST(chunk, lane + i) * y[i];
                }
            }
            for (; lane < last; lane++) {
                const float x = HR_SUBGROUP_BROADCAST(chunk, lane);
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

enum {
    DOWN = 16, /* items of a tile */
    ACROSS = 8,
    ITEMS = DOWN * ACROSS,
    OWN_DOWN = 8, /* elements of C of an item */
    OWN_ACROSS = 16,
    HIGH = DOWN * OWN_DOWN, /* and of a tile */
    WIDE = ACROSS * OWN_ACROSS,
    DEEP = 16, /* steps of k in tile memory */
    PART = 4   /* elements that are read at once */
};

/* What an item fetches: parts of rows of A and B. */
enum {
    PARTS_A = HIGH * DEEP / PART / ITEMS,
    PARTS_B = WIDE * DEEP / PART / ITEMS,
    LINE_A = DEEP / PART, /* parts of a row */
    LINE_B = WIDE / PART,
    NEXT_A = ITEMS / LINE_A, /* rows from part to part */
    NEXT_B = ITEMS / LINE_B
};

typedef struct __attribute__((aligned(16))) part {
    float of[PART];
} part;

typedef struct block {
    float of[OWN_DOWN][OWN_ACROSS];
} block;

typedef struct panels {
    part a[PARTS_A], b[PARTS_B];
} panels;

/* The next elements, of which `left` exist. Others are 0. */
HR_FUNCTION part read_part(HR_MEMORY const float *from, hr_index left)
{
    part p;
    for (int i = 0; i < PART; i++) {
        p.of[i] = i < left ? from[i] : 0.0f;
    }
    return p;
}

/* Which parts of a tile's rows and columns are an item's: this one, and those
 * DOWN or ACROSS further on. The items of a warp have 8 by 4 of them. So they
 * read few different parts of tile memory. */
HR_FUNCTION int down(int item)
{
    return item / 32 / (ACROSS / 4) * 8 + item % 32 / 4;
}

HR_FUNCTION int across(int item)
{
    return item / 32 % (ACROSS / 4) * 4 + item % 4;
}

/* Add the products of a column and a row. The row has no parts, so that vectors
 * may be wider than one. */
HR_FUNCTION void add_products(block *own, const part *x, const float *y)
{
    for (int i = 0; i < OWN_DOWN; i++) {
        for (int j = 0; j < OWN_ACROSS; j++) {
            own->of[i][j] += x[i / PART].of[i % PART] * y[j];
        }
    }
}

/* Each item computes 8 x 16 elements of C in its registers, from panels of A
 * and B in tile memory. A tile computes 128 x 128: 2 m n k / 128 elements.
 * While the items multiply one pair of panels they fetch the next, four
 * neighbours at once where the tile has no edge and rows begin at multiples of
 * 16 bytes. Launched over as many items as 128 x 128 tiles of C have, 16 x 8
 * each. */
/* NOLINTNEXTLINE(readability-function-size): what the macro expands to */
HR_KERNEL3(matmul_blocked, (IN, float, 2, a), (IN, float, 2, b),
           (OUT, float, 2, c))
{
    HR_TILE_STATIC(part, ta, [DEEP][HIGH / PART + 1]);
    HR_TILE_STATIC(part, tb, [DEEP][WIDE / PART]);
    HR_PRIVATE(block, sums);
    HR_PRIVATE(panels, next);
    const hr_index high = HR_EXTENT(a, 0), wide = HR_EXTENT(b, 1);
    const hr_index deep = HR_EXTENT(a, 1);
    HR_ITEMS2(row, col)
    {
        for (int i = 0; i < OWN_DOWN * OWN_ACROSS; i++) {
            HR_P(sums).of[i / OWN_ACROSS][i % OWN_ACROSS] = 0.0f;
        }
    }
    for (hr_index k0 = -DEEP; k0 < deep; k0 += DEEP) {
        HR_ITEMS2(row, col)
        {
            const int item = (int)(HR_LOCAL0 * ACROSS + HR_LOCAL1);
            const int x = item / LINE_A, y = item % LINE_A * PART;
            for (int i = 0; i < PARTS_A * PART && k0 >= 0; i++) {
                ta[y + i % PART][(x + i / PART * NEXT_A) / PART].of[x % PART] =
                    HR_P(next).a[i / PART].of[i % PART];
            }
            for (int i = 0; i < PARTS_B && k0 >= 0; i++) {
                tb[item / LINE_B + i * NEXT_B][item % LINE_B] = HR_P(next).b[i];
            }
        }
        HR_TILE_BARRIER;
        HR_ITEMS2(row, col)
        {
            const int item = (int)(HR_LOCAL0 * ACROSS + HR_LOCAL1);
            const hr_index top = (row - HR_LOCAL0) * OWN_DOWN;
            const hr_index left = (col - HR_LOCAL1) * OWN_ACROSS;
            const hr_index xa = top + item / LINE_A;
            const hr_index ka = k0 + DEEP + item % LINE_A * PART;
            const hr_index xb = left + item % LINE_B * PART;
            const hr_index kb = k0 + DEEP + item / LINE_B;
            HR_MEMORY const float *from_a =
                &HR_AT2(a, least(xa, high - 1), ka < deep ? ka : 0);
            HR_MEMORY const float *from_b =
                &HR_AT2(b, kb < deep ? kb : 0, least(xb, wide - 1));
            if (top + HIGH <= high && left + WIDE <= wide &&
                k0 + 2 * DEEP <= deep && HR_STRIDE(a, 0) % PART == 0 &&
                HR_STRIDE(b, 0) % PART == 0 && (hr_index)from_a % 16 == 0 &&
                (hr_index)from_b % 16 == 0) {
                for (int i = 0; i < PARTS_A; i++) {
                    HR_P(next).a[i] = *(HR_MEMORY const part *)from_a;
                    from_a += NEXT_A * HR_STRIDE(a, 0);
                }
                for (int i = 0; i < PARTS_B; i++) {
                    HR_P(next).b[i] = *(HR_MEMORY const part *)from_b;
                    from_b += NEXT_B * HR_STRIDE(b, 0);
                }
            } else {
                for (int i = 0; i < PARTS_A; i++) {
                    HR_P(next).a[i] = read_part(
                        from_a, xa + i * NEXT_A < high ? deep - ka : 0);
                    from_a += NEXT_A * HR_STRIDE(a, 0);
                }
                for (int i = 0; i < PARTS_B; i++) {
                    HR_P(next).b[i] = read_part(
                        from_b, kb + i * NEXT_B < deep ? wide - xb : 0);
                    from_b += NEXT_B * HR_STRIDE(b, 0);
                }
            }
            block own = HR_P(sums);
            if (k0 >= 0) {
                HR_UNROLL
                for (int k = 0; k < DEEP; k++) {
                    part x[OWN_DOWN / PART];
                    float y[OWN_ACROSS];
                    for (int i = 0; i < OWN_DOWN / PART; i++) {
                        x[i] = ta[k][down(item) + i * DOWN];
                    }
                    for (int i = 0; i < OWN_ACROSS / PART; i++) {
                        const part p = tb[k][across(item) + i * ACROSS];
                        for (int j = 0; j < PART; j++) {
                            y[i * PART + j] = p.of[j];
                        }
                    }
                    add_products(&own, x, y);
                }
            }
            HR_P(sums) = own;
        }
        HR_TILE_BARRIER;
    }
    HR_ITEMS2(row, col)
    {
        const int item = (int)(HR_LOCAL0 * ACROSS + HR_LOCAL1);
        const hr_index top = (row - HR_LOCAL0) * OWN_DOWN + down(item) * PART;
        const hr_index left =
            (col - HR_LOCAL1) * OWN_ACROSS + across(item) * PART;
        for (int i = 0; i < OWN_DOWN; i++) {
            const hr_index r = top + i / PART * DOWN * PART + i % PART;
            for (int j = 0; j < OWN_ACROSS; j++) {
                const hr_index s = left + j / PART * ACROSS * PART + j % PART;
                if (HR_INSIDE2(c, r, s)) {
                    HR_AT2(c, r, s) = HR_P(sums).of[i][j];
                }
            }
        }
    }
}
