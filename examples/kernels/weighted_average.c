/* SPDX-License-Identifier: MIT */
/* An average of the elements around each one, weighted by a window. */
#include <headrace/dialect.h>

/* window has an odd number of rows and as many columns. Elements nearer than
 * half of it to an edge are left out. */
HR_KERNEL3(weighted_average, (IN, float, 2, from), (IN, float, 2, window),
           (OUT, float, 2, to))
{
    const hr_index edge = HR_EXTENT(window, 0), shift = edge / 2;
    HR_EACH2(row, col)
    {
        float sum = 0.0f;
        if (row < shift || row >= HR_EXTENT(from, 0) - shift || col < shift ||
            col >= HR_EXTENT(from, 1) - shift) {
            continue;
        }
        for (hr_index i = 0; i < edge; i++) {
            for (hr_index j = 0; j < edge; j++) {
                sum += HR_AT2(window, i, j) *
                       HR_AT2(from, row - shift + i, col - shift + j);
            }
        }
        HR_AT2(to, row, col) = sum / (float)(edge * edge);
    }
}
