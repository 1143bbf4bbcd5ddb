/* SPDX-License-Identifier: MIT */
/* Scans along lines: result k of a line joins its elements up to k. A tile
 * scans a line, or a unit of a long one, in blocks. LANES items take EACH
 * neighbours of a block, and their results are scanned in log2(LANES) steps
 * [Sklansky1960]. So the order depends on extents alone. Launched over rows x
 * (LANES for each line or unit) in tiles of 1 x LANES. Behind scan_numbers.c.
 */
#if defined(HR_HAS_DOUBLE)

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

/* What an item of the host reads in the next block, which its caches do not
 * fetch early enough. */
enum { EACH_BYTES = EACH * (int)sizeof(ELEMENT) };
#define FETCH_NEXT(place)                                                      \
    HR_FETCH_((const char *)&(place) + (LANES + HR_LOCAL1) * EACH_BYTES,       \
              EACH_BYTES)

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
#define SCAN_EACH(FROM, nothing, JOIN)                                         \
    HR_ITEMS2(i, lane)                                                         \
    {                                                                          \
        NUMBER sum = nothing;                                                  \
        FETCH_NEXT(FROM(at))                                                   \
        HR_UNROLL                                                              \
        for (int j = 0; j < EACH; j++) {                                       \
            const int k = (int)HR_LOCAL1 * EACH + j;                           \
            const NUMBER x = held[PLACE(k)];                                   \
            const NUMBER y = JOIN(sum, x);                                     \
            held[PLACE(k)] = exclusive ? sum : y;                              \
            sum = y;                                                           \
        }                                                                      \
        part[HR_LOCAL1] = sum;                                                 \
    }

/* Scan what the lanes have. The host does it in loops that become vectors. */
#if defined(__OPENCL_C_VERSION__) || defined(__CUDACC__)
#define SCAN_LANES(JOIN)                                                       \
    for (int apart = 1; apart < LANES; apart *= 2) {                           \
        HR_ITEMS2(i, lane)                                                     \
        {                                                                      \
            const int l = (int)HR_LOCAL1;                                      \
            if ((l & apart) != 0) {                                            \
                const NUMBER x = part[(l & -apart) - 1], y = part[l];          \
                part[l] = JOIN(x, y);                                          \
            }                                                                  \
        }                                                                      \
        HR_BARRIER;                                                            \
    }
#else
#define SCAN_LANES(JOIN)                                                       \
    for (int apart = 1; apart < LANES; apart *= 2) {                           \
        for (int first_lane = apart; first_lane < LANES;                       \
             first_lane += 2 * apart) {                                        \
            const NUMBER x = part[first_lane - 1];                             \
            for (int l = first_lane; l < first_lane + apart; l++) {            \
                const NUMBER y = part[l];                                      \
                part[l] = JOIN(x, y);                                          \
            }                                                                  \
        }                                                                      \
    }
#endif

/* Scan columns first to end of a line. FROM and TO name an element. */
#define SCAN(FROM, TO, nothing, JOIN)                                          \
    for (hr_index at = first; at < end; at += BLOCK) {                         \
        MOVE(end, held[PLACE(MOVED(j))] = NUMBER_OF(FROM(at + MOVED(j))),      \
             held[PLACE(MOVED(j))] = nothing)                                  \
        HR_BARRIER;                                                            \
        SCAN_EACH(FROM, nothing, JOIN)                                         \
        HR_BARRIER;                                                            \
        SCAN_LANES(JOIN)                                                       \
        MOVE(end, const int owner = OWNER(j);                                  \
             const NUMBER before =                                             \
                 owner == 0 ? carry : JOIN(carry, part[owner - 1]);            \
             const NUMBER own = held[PLACE(MOVED(j))];                         \
             TO(at + MOVED(j)) = (RESULT)JOIN(before, own), )                  \
        carry = JOIN(carry, part[LANES - 1]);                                  \
        HR_BARRIER;                                                            \
    }                                                                          \
    break;

/* Join columns first to end of a line. */
#define TOTAL(FROM, TO, nothing, JOIN)                                         \
    carry = nothing;                                                           \
    for (hr_index at = first; at < end; at += BLOCK) {                         \
        MOVE(end, held[PLACE(MOVED(j))] = NUMBER_OF(FROM(at + MOVED(j))),      \
             held[PLACE(MOVED(j))] = nothing)                                  \
        HR_BARRIER;                                                            \
        HR_ITEMS2(i, lane)                                                     \
        {                                                                      \
            NUMBER sum = nothing;                                              \
            FETCH_NEXT(FROM(at))                                               \
            HR_UNROLL                                                          \
            for (int j = 0; j < EACH; j++) {                                   \
                const NUMBER x = held[PLACE((int)HR_LOCAL1 * EACH + j)];       \
                sum = JOIN(sum, x);                                            \
            }                                                                  \
            part[HR_LOCAL1] = sum;                                             \
        }                                                                      \
        HR_BARRIER;                                                            \
        SCAN_LANES(JOIN)                                                       \
        carry = JOIN(carry, part[LANES - 1]);                                  \
        HR_BARRIER;                                                            \
    }                                                                          \
    break;

#define EACH_KIND(DO, FROM, TO)                                                \
    if (HR_TILE(1) != LANES) { /* never; so that compilers know */             \
        return;                                                                \
    }                                                                          \
    switch (kind) {                                                            \
    case SUM:                                                                  \
        DO(FROM, TO, NONE, ADD)                                                \
    case PRODUCT:                                                              \
        DO(FROM, TO, (NUMBER)1, MULTIPLY)                                      \
    case MIN:                                                                  \
        DO(FROM, TO, TOP, LESSER)                                              \
    case LARGEST:                                                              \
        DO(FROM, TO, BOTTOM, LARGER)                                           \
    }
#define SCAN_LINE(FROM, TO) EACH_KIND(SCAN, FROM, TO)

/* The tile's place among all, outside of blocks. */
#define ROW  (hr_d.first[0] + HR_NUMBER_(2, 0))
#define LINE HR_NUMBER_(2, 1)

/* ---- units of a view of rank 1, each with what comes before it */

#define MEMORY                                                                 \
    HR_TILE_STATIC(NUMBER, held, [BLOCK + LANES]);                             \
    HR_TILE_STATIC(NUMBER, part, [LANES]);

#define UNIT_OF(view)                                                          \
    const hr_index unit = ROW, first = unit * UNIT;                            \
    const hr_index all = HR_EXTENT(view, 0);                                   \
    const hr_index end = first + UNIT < all ? first + UNIT : all;

#define BEFORE NUMBER carry = HR_AT2(before_units, unit, 0);

#define CELL_A(k) HR_AT1(a, k)
#define CELL_B(k) HR_AT1(b, k)

HR_KERNEL5(KERNEL(cells), (IN, ELEMENT, 1, a), (OUT, RESULT, 1, b),
           (IN, NUMBER, 2, before_units), (VALUE, int, 0, kind),
           (VALUE, int, 0, exclusive)){MEMORY UNIT_OF(a)
                                           BEFORE SCAN_LINE(CELL_A, CELL_B)}

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
HR_KERNEL4(KERNEL(cells_in_place), (INOUT, ELEMENT, 1, b),
           (IN, NUMBER, 2, before_units), (VALUE, int, 0, kind),
           (VALUE, int, 0, exclusive)){MEMORY UNIT_OF(b)
                                           BEFORE SCAN_LINE(CELL_B, CELL_B)}

/* What each unit gives. */
HR_KERNEL3(KERNEL(totals), (IN, ELEMENT, 1, a), (OUT, NUMBER, 2, total),
           (VALUE, int, 0, kind))
{
    MEMORY
    UNIT_OF(a)
    NUMBER carry = NONE;
    EACH_KIND(TOTAL, CELL_A, CELL_A)
    HR_ITEMS2(i, lane)
    {
        if (HR_LOCAL1 == 0) {
            HR_AT2(total, unit, 0) = carry;
        }
    }
}

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
