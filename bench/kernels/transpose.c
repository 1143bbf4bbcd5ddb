/* SPDX-License-Identifier: MIT */
/* Transposition in float, for any extents. */
#include <headrace/dialect.h>

enum { EDGE = 32, HIGH = 4, OWN = EDGE / HIGH };

/* How many of an item's elements, HIGH apart, are among the next `left`. */
HR_FUNCTION int inside(hr_index left)
{
    const hr_index count = (left + HIGH - 1) / HIGH;
    return (int)(count < OWN ? count : OWN);
}

/* Through tile memory. It is one column wider than the tile, so that neighbours
 * read and write neighbours on both sides, and no two items of a row need the
 * same bank. An item moves 8 elements. Launched over 4 x 32 items for each 32 x
 * 32 elements of `from`, in tiles of 4 x 32. */
HR_KERNEL2(transpose_blocked, (IN, float, 2, from), (OUT, float, 2, to))
{
    HR_TILE_STATIC(float, block, [EDGE][EDGE + 1]);
    HR_ITEMS2(row, col)
    {
        const hr_index top = (row - HR_LOCAL0) * OWN + HR_LOCAL0;
        const int rows =
            col < HR_EXTENT(from, 1) ? inside(HR_EXTENT(from, 0) - top) : 0;
        HR_MEMORY const float *x =
            &HR_AT2(from, rows > 0 ? top : 0, rows > 0 ? col : 0);
        float own[OWN]; /* all are on their way before the first is stored */
        for (int i = 0; i < OWN; i++) {
            own[i] = i < rows ? *x : 0.0f;
            x += HIGH * HR_STRIDE(from, 0);
        }
        for (int i = 0; i < OWN; i++) {
            block[HR_LOCAL0 + i * HIGH][HR_LOCAL1] = own[i];
        }
    }
    HR_BARRIER;
    HR_ITEMS2(row, col)
    {
        const hr_index top = col - HR_LOCAL1 + HR_LOCAL0;
        const hr_index s = (row - HR_LOCAL0) * OWN + HR_LOCAL1;
        const int rows =
            s < HR_EXTENT(to, 1) ? inside(HR_EXTENT(to, 0) - top) : 0;
        if (rows > 0) {
            HR_MEMORY float *x = &HR_AT2(to, top, s);
            for (int i = 0; i < OWN; i++) {
                if (i < rows) {
                    *x = block[HR_LOCAL1][HR_LOCAL0 + i * HIGH];
                }
                x += HIGH * HR_STRIDE(to, 0);
            }
        }
    }
}
