/* SPDX-License-Identifier: MIT */
/* Scans along lines: result k of a line joins its elements up to k. A tile
 * scans a line, or a unit of a long one, in blocks. LANES items take EACH
 * neighbours of a block, and their results are scanned in log2(LANES) steps. So
 * the order depends on extents alone. Launched over rows x (LANES for each line
 * or unit) in tiles of 1 x LANES.
 *
 * The build compiles this file for floats. It makes copies for other types,
 * with these macros defined before. EXACT: integers that wrap around. */
#ifndef ELEMENT
#define ELEMENT      float
#define RESULT       float
#define KERNEL(name) hri_scan_f32_##name
#endif

#include <headrace/dialect.h>

#if defined(HR_HAS_DOUBLE)

enum { LANES = 64, EACH = 16, BLOCK = LANES * EACH };

/* The values of enum hr_reduction in headrace/reduce.h. LARGEST is not MAX:
 * some compilers define that. */
enum { SUM = 1, MIN = 2, LARGEST = 3, PRODUCT = 7 };

/* Numbers are joined in double or in unsigned 64 bits. Joined with the first
 * number of an operation, a number stays as it is: -0 + -0 is -0. */
#ifdef EXACT
#define NUMBER       unsigned long
#define NUMBER_OF(x) ((NUMBER)(long)(x))
#define LESS(x, y)   ((long)(x) < (long)(y))
#define IS_NAN(x)    0
#define TOP          0x7fffffffffffffffUL
#define BOTTOM       0x8000000000000000UL
#define NONE         0UL
#else
#define NUMBER       double
#define NUMBER_OF(x) ((double)(x))
#define LESS(x, y)   ((x) < (y))
#define IS_NAN(x)    ((x) != (x))
#define TOP          (1.0 / 0.0)
#define BOTTOM       (-1.0 / 0.0)
#define NONE         (-0.0)
#endif

/* If x or y is a NaN, the result is a NaN. */
#define ADD(x, y)      ((x) + (y))
#define MULTIPLY(x, y) ((x) * (y))
#define LESSER(x, y)   (LESS(y, x) || IS_NAN(y) ? (y) : (x))
#define LARGER(x, y)   (LESS(x, y) || IS_NAN(y) ? (y) : (x))

/* Which element of a block an item moves in turn j, the lane that takes it, and
 * where it is held. Items of devices move neighbours at a time, and find them
 * in different banks of memory. */
#if defined(__OPENCL_C_VERSION__) || defined(__CUDACC__)
#define MOVED(j) ((int)(j)*LANES + (int)HR_LOCAL1)
#define OWNER(j) (MOVED(j) / EACH)
#define PLACE(k) ((k) + (k) / EACH)
#else
#define MOVED(j) ((int)HR_LOCAL1 * EACH + (int)(j))
#define OWNER(j) ((int)HR_LOCAL1)
#define PLACE(k) (k)
#endif

/* Run `step` for the elements that each item moves, where they exist. A block
 * without an end needs no comparisons. */
#define MOVE(end, step, otherwise)                                             \
    if (at + BLOCK <= (end)) {                                                 \
        HR_ITEMS2(i, lane)                                                     \
        {                                                                      \
            HR_UNROLL                                                          \
            for (int j = 0; j < EACH; j++) {                                   \
                step;                                                          \
            }                                                                  \
        }                                                                      \
    } else {                                                                   \
        HR_ITEMS2(i, lane)                                                     \
        {                                                                      \
            for (int j = 0; j < EACH; j++) {                                   \
                if (at + MOVED(j) < (end)) {                                   \
                    step;                                                      \
                } else {                                                       \
                    otherwise;                                                 \
                }                                                              \
            }                                                                  \
        }                                                                      \
    }

/* Each lane scans its elements. */
#define SCAN_EACH(nothing, JOIN)                                               \
    HR_ITEMS2(i, lane)                                                         \
    {                                                                          \
        NUMBER sum = nothing;                                                  \
        HR_UNROLL                                                              \
        for (int j = 0; j < EACH; j++) {                                       \
            const int k = (int)HR_LOCAL1 * EACH + j;                           \
            const NUMBER x = held[PLACE(k)];                                   \
            const NUMBER y = JOIN(sum, x);                                     \
            held[PLACE(k)] = exclusive ? sum : y;                              \
            sum = y;                                                           \
        }                                                                      \
        part[0][HR_LOCAL1] = sum;                                              \
    }

/* Scan what the lanes have, in part[0] after an even number of steps. */
#define SCAN_LANES(JOIN)                                                       \
    for (int apart = 1, from = 0; apart < LANES;                               \
         apart *= 2, from = 1 - from) {                                        \
        HR_ITEMS2(i, lane)                                                     \
        {                                                                      \
            const int l = (int)HR_LOCAL1;                                      \
            const NUMBER y = part[from][l];                                    \
            const NUMBER x = part[from][l < apart ? l : l - apart];            \
            part[1 - from][l] = l < apart ? y : JOIN(x, y);                    \
        }                                                                      \
        HR_BARRIER;                                                            \
    }

/* Scan columns first to end of a line. FROM and TO name an element. */
#define SCAN(FROM, TO, nothing, JOIN)                                          \
    for (hr_index at = first; at < end; at += BLOCK) {                         \
        MOVE(end, held[PLACE(MOVED(j))] = NUMBER_OF(FROM(at + MOVED(j))),      \
             held[PLACE(MOVED(j))] = nothing)                                  \
        HR_BARRIER;                                                            \
        SCAN_EACH(nothing, JOIN)                                               \
        HR_BARRIER;                                                            \
        SCAN_LANES(JOIN)                                                       \
        MOVE(end, const int owner = OWNER(j);                                  \
             const NUMBER before =                                             \
                 owner == 0 ? carry : JOIN(carry, part[0][owner - 1]);         \
             const NUMBER own = held[PLACE(MOVED(j))];                         \
             TO(at + MOVED(j)) = (RESULT)JOIN(before, own), )                  \
        carry = JOIN(carry, part[0][LANES - 1]);                               \
        HR_BARRIER;                                                            \
    }                                                                          \
    break;

#define SCAN_LINE(FROM, TO)                                                    \
    if (HR_TILE(1) != LANES) { /* never; so that compilers know */             \
        return;                                                                \
    }                                                                          \
    switch (kind) {                                                            \
    case SUM:                                                                  \
        SCAN(FROM, TO, NONE, ADD)                                              \
    case PRODUCT:                                                              \
        SCAN(FROM, TO, (NUMBER)1, MULTIPLY)                                    \
    case MIN:                                                                  \
        SCAN(FROM, TO, TOP, LESSER)                                            \
    case LARGEST:                                                              \
        SCAN(FROM, TO, BOTTOM, LARGER)                                         \
    }

/* The tile's place among all, outside of blocks. */
#define ROW  (hr_d.first[0] + HR_NUMBER_(2, 0))
#define LINE HR_NUMBER_(2, 1)

/* ---- units of a view of rank 1, each with what comes before it */

#define MEMORY                                                                 \
    HR_TILE_STATIC(NUMBER, held, [BLOCK + LANES]);                             \
    HR_TILE_STATIC(NUMBER, part, [2][LANES]);

#define UNIT_OF(view)                                                          \
    const hr_index unit = ROW, first = unit * cols;                            \
    const hr_index all = HR_EXTENT(view, 0);                                   \
    const hr_index end = first + cols < all ? first + cols : all;              \
    NUMBER carry = HR_AT2(before_units, unit, 0);

#define CELL_A(k) HR_AT1(a, k)
#define CELL_B(k) HR_AT1(b, k)

HR_KERNEL6(KERNEL(cells), (IN, ELEMENT, 1, a), (OUT, RESULT, 1, b),
           (IN, NUMBER, 2, before_units), (VALUE, hr_index, 0, cols),
           (VALUE, int, 0, kind), (VALUE, int, 0, exclusive)){
    MEMORY UNIT_OF(a) SCAN_LINE(CELL_A, CELL_B)}

/* ---- lines of a view of rank 3 */

#define LINE_OF(view)                                                          \
    const hr_index row = ROW, line = LINE, first = 0;                          \
    const hr_index end = HR_EXTENT(view, 2);                                   \
    NUMBER carry = start;

#define AT_A(k) HR_AT3(a, row, line, k)
#define AT_B(k) HR_AT3(b, row, line, k)

HR_KERNEL5(KERNEL(lines), (IN, ELEMENT, 3, a), (OUT, RESULT, 3, b),
           (VALUE, NUMBER, 0, start), (VALUE, int, 0, kind),
           (VALUE, int, 0, exclusive)){MEMORY LINE_OF(a) SCAN_LINE(AT_A, AT_B)}

/* ---- in place */

#ifndef WIDER
HR_KERNEL5(KERNEL(cells_in_place), (INOUT, ELEMENT, 1, b),
           (IN, NUMBER, 2, before_units), (VALUE, hr_index, 0, cols),
           (VALUE, int, 0, kind), (VALUE, int, 0, exclusive)){
    MEMORY UNIT_OF(b) SCAN_LINE(CELL_B, CELL_B)}

HR_KERNEL4(KERNEL(lines_in_place), (INOUT, ELEMENT, 3, b),
           (VALUE, NUMBER, 0, start), (VALUE, int, 0, kind),
           (VALUE, int, 0, exclusive))
{
    MEMORY
    LINE_OF(b)
    SCAN_LINE(AT_B, AT_B)
}
#endif

#endif
