/* SPDX-License-Identifier: MIT */
/* A reduction by a function of the caller's. A tile reduces a unit: some rows
 * (indices of dimension 0), lines and columns. The order depends on extents and
 * units alone. LANES items take the columns of a line in turn, then halves are
 * joined. Launched over units x (LANES for each piece of a unit's rows) in
 * tiles of 1 x LANES.
 *
 * It is known as text alone. src/calls/reduce.c puts before it the type
 * `element`, and the function joined(a, b). There is no number that changes
 * nothing: lanes begin with an element, and those without one take no part. */
#include <headrace/dialect.h>

enum { LANES = 64 }; /* as in src/calls/reduction.h */

/* src/calls/reduction.h has the same struct. */
typedef struct hri_unit {
    hr_index rows, lines, cols; /* of a unit */
} hri_unit;

HR_FUNCTION hr_index lesser(hr_index x, hr_index y)
{
    return x < y ? x : y;
}

/* Take columns first to end of a line. */
#define TAKE(AT, first, end, begins)                                           \
    HR_ITEMS2(i, lane)                                                         \
    {                                                                          \
        if (HR_LOCAL1 < (end) - (first)) {                                     \
            const element x = AT(a, (first) + HR_LOCAL1);                      \
            HR_P(sum) = (begins) ? x : joined(HR_P(sum), x);                   \
        }                                                                      \
    }                                                                          \
    for (hr_index at = (first) + LANES; at < (end); at += LANES) {             \
        if (at + LANES <= (end)) {                                             \
            HR_ITEMS2(i, lane)                                                 \
            {                                                                  \
                HR_P(sum) = joined(HR_P(sum), AT(a, at + HR_LOCAL1));          \
            }                                                                  \
        } else {                                                               \
            HR_ITEMS2(i, lane)                                                 \
            {                                                                  \
                if (HR_LOCAL1 < (end)-at) {                                    \
                    HR_P(sum) = joined(HR_P(sum), AT(a, at + HR_LOCAL1));      \
                }                                                              \
            }                                                                  \
        }                                                                      \
    }

/* Join the parts of the lanes that have one. */
#define JOIN_LANES(width)                                                      \
    HR_ITEMS2(i, lane)                                                         \
    {                                                                          \
        if (HR_LOCAL1 < (width)) {                                             \
            part[HR_LOCAL1] = HR_P(sum);                                       \
        }                                                                      \
    }                                                                          \
    HR_BARRIER;                                                                \
    for (int apart = LANES / 2; apart > 0; apart /= 2) {                       \
        HR_ITEMS2(i, lane)                                                     \
        {                                                                      \
            if (HR_LOCAL1 < apart && HR_LOCAL1 + apart < (width)) {            \
                part[HR_LOCAL1] =                                              \
                    joined(part[HR_LOCAL1], part[HR_LOCAL1 + apart]);          \
            }                                                                  \
        }                                                                      \
        HR_BARRIER;                                                            \
    }                                                                          \
    HR_ITEMS2(i, lane)                                                         \
    {                                                                          \
        if (HR_LOCAL1 == 0) {                                                  \
            HR_AT2(out, unit, piece) = part[0];                                \
        }                                                                      \
    }

/* The tile's place among all, outside of blocks. */
#define UNIT  (hr_d.first[0] + HR_NUMBER_(2, 0))
#define PIECE HR_NUMBER_(2, 1)

/* ---- a view of rank 1, in units of so many columns */

#define CELL(view, k) HR_AT1(view, k)

HR_KERNEL3(reduce_cells, (IN, element, 1, a), (OUT, element, 2, out),
           (VALUE, hri_unit, 0, box))
{
    HR_TILE_STATIC(element, part, [LANES]);
    HR_PRIVATE(element, sum);
    const hr_index unit = UNIT, piece = 0, first = unit * box.cols;
    const hr_index end = lesser(first + box.cols, HR_EXTENT(a, 0));
    if (HR_TILE(1) != LANES) { /* never; so that compilers know */
        return;
    }
    TAKE(CELL, first, end, 1)
    JOIN_LANES(end - first)
}

/* ---- a view of rank 3, in units of so many rows, lines and columns */

#define OF_LINE(view, k) HR_AT3(view, row, line, k)

HR_KERNEL3(reduce_lines, (IN, element, 3, a), (OUT, element, 2, out),
           (VALUE, hri_unit, 0, box))
{
    HR_TILE_STATIC(element, part, [LANES]);
    HR_PRIVATE(element, sum);
    const hr_index unit = UNIT, piece = PIECE, cols = HR_EXTENT(a, 2);
    const hr_index pieces = (cols + box.cols - 1) / box.cols;
    const hr_index across = piece / pieces;
    const hr_index first = piece % pieces * box.cols;
    const hr_index end = lesser(first + box.cols, cols);
    const hr_index first_row = unit * box.rows;
    const hr_index first_line = across * box.lines;
    const hr_index last_row = lesser(first_row + box.rows, HR_EXTENT(a, 0));
    const hr_index last_line = lesser(first_line + box.lines, HR_EXTENT(a, 1));
    if (HR_TILE(1) != LANES) {
        return;
    }
    for (hr_index row = first_row; row < last_row; row++) {
        for (hr_index line = first_line; line < last_line; line++) {
            TAKE(OF_LINE, first, end, row == first_row && line == first_line)
        }
    }
    JOIN_LANES(end - first)
}
