/* SPDX-License-Identifier: MIT */
/* Transposition in float, for any extents. */
#include <headrace/dialect.h>

enum { EDGE = 32, HIGH = 8, OWN = EDGE / HIGH };

/* Through memory of the tile, which is one column wider than its rows, so that
 * neighbours read and write neighbours on both sides, and no two items of a row
 * want the same bank. An item moves 4 elements. Launched over 8 x 32 items for
 * each 32 x 32 elements of `from`, in tiles of 8 x 32. */
HR_KERNEL2(transpose_blocked, (IN, float, 2, from), (OUT, float, 2, to))
{
    HR_TILE_STATIC(float, block, [EDGE][EDGE + 1]);
    HR_ITEMS2(row, col)
    {
        hr_index top = (row - HR_LOCAL0) * OWN + HR_LOCAL0;
        float own[OWN]; /* all are on their way before the first is put down */
        for (int i = 0; i < OWN; i++) {
            hr_index r = top + i * HIGH;
            own[i] = HR_INSIDE2(from, r, col) ? HR_AT2(from, r, col) : 0.0f;
        }
        for (int i = 0; i < OWN; i++) {
            block[HR_LOCAL0 + i * HIGH][HR_LOCAL1] = own[i];
        }
    }
    HR_BARRIER;
    HR_ITEMS2(row, col)
    {
        hr_index top = col - HR_LOCAL1 + HR_LOCAL0;
        hr_index s = (row - HR_LOCAL0) * OWN + HR_LOCAL1;
        for (int i = 0; i < OWN; i++) {
            hr_index r = top + i * HIGH;
            if (HR_INSIDE2(to, r, s)) {
                HR_AT2(to, r, s) = block[HR_LOCAL1][HR_LOCAL0 + i * HIGH];
            }
        }
    }
}
