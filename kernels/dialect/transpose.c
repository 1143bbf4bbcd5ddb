/* SPDX-License-Identifier: MIT */
/* Transposition in float, for any extents. */
#include <headrace/dialect.h>

enum { EDGE = 32, HIGH = 8 };

/* Through memory of the tile, which is one column wider than its rows, so that
 * neighbours read and write neighbours on both sides, and no two items of a row
 * want the same bank. An item moves 4 elements. Launched over 8 x 32 items for
 * each 32 x 32 elements of `from`, in tiles of 8 x 32. */
HR_KERNEL2(transpose_blocked, (IN, float, 2, from), (OUT, float, 2, to))
{
    HR_TILE_STATIC(float, block, [EDGE][EDGE + 1]);
    HR_ITEMS2(row, col)
    {
        hr_index top = (row - HR_LOCAL0) * (EDGE / HIGH);
        for (hr_index i = HR_LOCAL0; i < EDGE; i += HIGH) {
            if (HR_INSIDE2(from, top + i, col)) {
                block[i][HR_LOCAL1] = HR_AT2(from, top + i, col);
            }
        }
    }
    HR_BARRIER;
    HR_ITEMS2(row, col)
    {
        hr_index top = col - HR_LOCAL1;
        hr_index s = (row - HR_LOCAL0) * (EDGE / HIGH) + HR_LOCAL1;
        for (hr_index i = HR_LOCAL0; i < EDGE; i += HIGH) {
            if (HR_INSIDE2(to, top + i, s)) {
                HR_AT2(to, top + i, s) = block[HR_LOCAL1][i];
            }
        }
    }
}
