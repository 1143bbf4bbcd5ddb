/* SPDX-License-Identifier: MIT */
/* Scans along lines: result k of a line joins its elements up to k. A tile
 * scans a line, or a unit of a long one, in blocks. LANES items take EACH
 * neighbours of a block, and their results are scanned in log2(LANES) steps
 * [Sklansky1960]. So the order depends on extents alone. Launched over rows x
 * (LANES for each line or unit) in tiles of 1 x LANES.
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

/* As in src/calls/scan.c. Units before a unit are joined in pairs, pairs of
 * these and so on, up to a section of 2^LEVELS units. Sections are joined in
 * turn. */
enum { UNIT = 4 * BLOCK, LEVELS = 10, SECTION = 1 << LEVELS };

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
        SCAN_EACH(nothing, JOIN)                                               \
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

#if !defined(__OPENCL_C_VERSION__)

/* ---- a view of rank 1 in one launch [Merrill2016], where tiles may wait for
 * those that have started, which OpenCL does not promise. `words` tells what
 * was found so far: a counter of tiles, and two words for each unit, group of
 * 32 units and section. They have the launch's number, so that none of them
 * must be set before. */

#if defined(__CUDACC__)

enum { TILE = UNIT / EACH, WARP = 32, WARPS = TILE / WARP, AT_ONCE = 8 };

/* Launched in tiles of 1 x TILE. */
#undef HR_BOUNDS_
#define HR_BOUNDS_ __launch_bounds__(TILE, 8)

template <int kind> HR_FUNCTION NUMBER join(NUMBER x, NUMBER y)
{
    return kind == SUM       ? ADD(x, y)
           : kind == PRODUCT ? MULTIPLY(x, y)
           : kind == MIN     ? LESSER(x, y)
                             : LARGER(x, y);
}

template <int kind> HR_FUNCTION NUMBER nothing()
{
    return kind == SUM       ? NONE
           : kind == PRODUCT ? (NUMBER)1
           : kind == MIN     ? TOP
                             : BOTTOM;
}

/* Halves of a number, each with the launch's number, which are seen at once. */
HR_FUNCTION void tell(unsigned long *word, unsigned launch, NUMBER x)
{
    const unsigned long bits = *(const unsigned long *)&x;
    const unsigned long sign = (unsigned long)launch << 32;
    asm volatile("st.volatile.global.v2.u64 [%0], {%1, %2};" ::"l"(word),
                 "l"(sign | (bits & 0xffffffffUL)), "l"(sign | bits >> 32)
                 : "memory");
}

HR_FUNCTION NUMBER hear(const unsigned long *word, unsigned launch)
{
    unsigned long low, high;
    do {
        asm volatile("ld.volatile.global.v2.u64 {%0, %1}, [%2];"
                     : "=l"(low), "=l"(high)
                     : "l"(word)
                     : "memory");
    } while (low >> 32 != launch || high >> 32 != launch);
    const unsigned long bits = high << 32 | (low & 0xffffffffUL);
    return *(const NUMBER *)&bits;
}

HR_FUNCTION NUMBER of_lane(NUMBER x, int lane)
{
    return __shfl_sync(~0u, x, lane);
}

/* Scan what the lanes of a warp have. */
template <int kind> HR_FUNCTION NUMBER scan_warp(NUMBER x, int lane)
{
    HR_UNROLL
    for (int apart = 1; apart < WARP; apart *= 2) {
        const NUMBER y = of_lane(x, (lane & -apart) - 1);
        x = (lane & apart) != 0 ? join<kind>(y, x) : x;
    }
    return x;
}

/* What 32 neighbours give of which `own` is at p, for p = 31. pair[b]: what the
 * 2^b of them give that stand before p rounded down to 2^b. */
template <int kind>
HR_FUNCTION NUMBER look_back(const unsigned long *words, unsigned launch, int p,
                             NUMBER own, int lane, NUMBER *pair)
{
    NUMBER x = own;
    if (lane < p) {
        x = hear(words + 2 * lane, launch);
    }
    __syncwarp();
    HR_UNROLL
    for (int b = 0; b < 5; b++) {
        const int apart = 1 << b;
        const NUMBER y = of_lane(x, (lane & -apart) - 1);
        pair[b] = of_lane(x, (p & -apart) - 1);
        x = (lane & apart) != 0 ? join<kind>(y, x) : x;
    }
    return of_lane(x, WARP - 1);
}

template <int kind>
HR_FUNCTION NUMBER after(NUMBER carry, int p, const NUMBER *pair)
{
    HR_UNROLL
    for (int b = 5; b-- > 0;) {
        carry = (p >> b & 1) != 0 ? join<kind>(carry, pair[b]) : carry;
    }
    return carry;
}

/* What is before a unit that gives `total`. All lanes of a warp come here. */
template <int kind>
HR_FUNCTION NUMBER find_before(unsigned long *words, unsigned launch, int unit,
                               int units, NUMBER total, NUMBER start, int lane)
{
    unsigned long *group = words + 2 * units;
    unsigned long *section = group + 2 * ((units + WARP - 1) / WARP);
    const int p = unit % WARP, q = unit / WARP % WARP, s = unit / SECTION;
    NUMBER near[5], far[5];
    if (lane == 0) {
        tell(words + 2 * unit, launch, total);
    }
    const NUMBER of_group =
        look_back<kind>(words + 2 * (unit - p), launch, p, total, lane, near);
    if (p == WARP - 1 && lane == 0) {
        tell(group + 2 * (unit / WARP), launch, of_group);
    }
    const NUMBER of_section = look_back<kind>(group + 2 * (unit / WARP - q),
                                              launch, q, of_group, lane, far);
    const NUMBER carry = s > 0 ? hear(section + 2 * s, launch) : start;
    if (p == WARP - 1 && q == WARP - 1 && lane == 0) {
        tell(section + 2 * (s + 1), launch, join<kind>(carry, of_section));
    }
    return after<kind>(after<kind>(carry, q, far), p, near);
}

template <int kind>
HR_FUNCTION void scan_unit(const ELEMENT *from, RESULT *to, int count,
                           RESULT *held, NUMBER *totals, unsigned long *words,
                           unsigned launch, int unit, int units, NUMBER start,
                           int exclusive)
{
    const int t = (int)threadIdx.x, warp = t / WARP, lane = t % WARP;
    if (count == UNIT) {
        _Pragma("unroll 1") for (int at = t; at < UNIT; at += AT_ONCE * TILE)
        {
            ELEMENT x[AT_ONCE];
            HR_UNROLL
            for (int j = 0; j < AT_ONCE; j++) {
                x[j] = from[at + j * TILE];
            }
            HR_UNROLL
            for (int j = 0; j < AT_ONCE; j++) {
                held[PLACE(at + j * TILE)] = (RESULT)x[j];
            }
        }
    } else {
        for (int k = t; k < count; k += TILE) {
            held[PLACE(k)] = (RESULT)from[k];
        }
    }
    __syncthreads();
    const int first = t * EACH, own = count - first;
    RESULT *mine = held + PLACE(first);
    NUMBER sum = nothing<kind>();
    _Pragma("unroll 2") for (int j = 0; j < EACH; j++)
    {
        sum = j < own ? join<kind>(sum, NUMBER_OF(mine[j])) : sum;
    }
    NUMBER before = scan_warp<kind>(sum, lane);
    if (lane == WARP - 1) {
        totals[warp] = before;
    }
    __syncthreads();
    if (warp == 0) {
        NUMBER total = join<kind>(totals[0], totals[1]);
        for (int w = 2; w < WARPS; w += 2) {
            total = join<kind>(total, join<kind>(totals[w], totals[w + 1]));
        }
        total =
            find_before<kind>(words, launch, unit, units, total, start, lane);
        if (lane == 0) {
            totals[WARPS] = total;
        }
    }
    before = of_lane(before, lane - 1);
    __syncthreads();
    NUMBER carry = totals[WARPS];
    for (int w = 0; w + 1 < warp; w += 2) {
        carry = join<kind>(carry, join<kind>(totals[w], totals[w + 1]));
    }
    if (warp % 2 == 1) {
        before =
            lane > 0 ? join<kind>(totals[warp - 1], before) : totals[warp - 1];
    }
    before = warp % 2 == 1 || lane > 0 ? join<kind>(carry, before) : carry;
    sum = nothing<kind>();
    _Pragma("unroll 2") for (int j = 0; j < EACH; j++)
    {
        const NUMBER y = j < own ? join<kind>(sum, NUMBER_OF(mine[j])) : sum;
        mine[j] = (RESULT)join<kind>(before, exclusive ? sum : y);
        sum = y;
    }
    __syncthreads();
    if (count == UNIT) {
        _Pragma("unroll 2") for (int k = t; k < UNIT; k += TILE)
        {
            to[k] = held[PLACE(k)];
        }
    } else {
        for (int k = t; k < count; k += TILE) {
            to[k] = held[PLACE(k)];
        }
    }
}

#define SCAN_UNIT(kind)                                                        \
    case kind:                                                                 \
        scan_unit<kind>(from, to, count, held, totals, of_units, launch, unit, \
                        units, start, exclusive);                              \
        break;

/* The tile that comes last has no followers, so it clears the counter. */
#define ONCE(a, b)                                                             \
    HR_TILE_STATIC(RESULT, held, [UNIT + UNIT / EACH]);                        \
    HR_TILE_STATIC(NUMBER, totals, [WARPS + 1]);                               \
    HR_TILE_STATIC(int, number, [1]);                                          \
    const hr_index all = HR_EXTENT(a, 0);                                      \
    const int units = (int)((all + UNIT - 1) / UNIT);                          \
    unsigned long *of_units = &HR_AT1(words, 2);                               \
    if (threadIdx.x == 0) {                                                    \
        number[0] = (int)HR_ATOMIC_ADD(HR_AT1(words, 0), 1UL);                 \
        if (number[0] == units - 1) {                                          \
            HR_AT1(words, 0) = 0;                                              \
        }                                                                      \
    }                                                                          \
    __syncthreads();                                                           \
    const int unit = number[0];                                                \
    const hr_index first = (hr_index)unit * UNIT, left = all - first;          \
    const int count = left < UNIT ? (int)left : (int)UNIT;                     \
    const ELEMENT *from = &HR_AT1(a, first);                                   \
    RESULT *to = &HR_AT1(b, first);                                            \
    switch (kind) {                                                            \
        SCAN_UNIT(SUM)                                                         \
        SCAN_UNIT(PRODUCT)                                                     \
        SCAN_UNIT(MIN)                                                         \
        SCAN_UNIT(LARGEST)                                                     \
    }

#else

/* Elsewhere one item does all of it, in the same order. Only tests come here.
 */
HR_FUNCTION NUMBER join(int kind, NUMBER x, NUMBER y)
{
    return kind == SUM       ? ADD(x, y)
           : kind == PRODUCT ? MULTIPLY(x, y)
           : kind == MIN     ? LESSER(x, y)
                             : LARGER(x, y);
}

#define ONCE(a, b)                                                             \
    const hr_index all = HR_EXTENT(a, 0);                                      \
    const NUMBER nothing = kind == SUM       ? NONE                            \
                           : kind == PRODUCT ? (NUMBER)1                       \
                           : kind == MIN     ? TOP                             \
                                             : BOTTOM;                             \
    NUMBER part[LANES], pair[LEVELS + 1], before[LEVELS + 1];                  \
    NUMBER carry = start, total = nothing;                                     \
    for (int level = 0; level <= LEVELS; level++) {                            \
        before[level] = start;                                                 \
    }                                                                          \
    HR_ITEMS2(i, lane)                                                         \
    {                                                                          \
        const int works = HR_LOCAL1 == 0 && HR_NUMBER_(2, 1) == 0;             \
        for (hr_index at = 0; works && at < all; at += BLOCK) {                \
            if (at % UNIT == 0) {                                              \
                carry = before[0];                                             \
                total = nothing;                                               \
            }                                                                  \
            for (int l = 0; l < LANES; l++) {                                  \
                part[l] = nothing;                                             \
                for (int j = 0; j < EACH && at + l * EACH + j < all; j++) {    \
                    const NUMBER x = NUMBER_OF(HR_AT1(a, at + l * EACH + j));  \
                    part[l] = join(kind, part[l], x);                          \
                }                                                              \
            }                                                                  \
            for (int apart = 1; apart < LANES; apart *= 2) {                   \
                for (int l = 0; l < LANES; l++) {                              \
                    if ((l & apart) != 0) {                                    \
                        part[l] = join(kind, part[(l & -apart) - 1], part[l]); \
                    }                                                          \
                }                                                              \
            }                                                                  \
            for (int l = 0; l < LANES; l++) {                                  \
                const NUMBER prior =                                           \
                    l == 0 ? carry : join(kind, carry, part[l - 1]);           \
                NUMBER sum = nothing;                                          \
                for (int j = 0; j < EACH && at + l * EACH + j < all; j++) {    \
                    const hr_index k = at + l * EACH + j;                      \
                    const NUMBER y = join(kind, sum, NUMBER_OF(HR_AT1(a, k))); \
                    HR_AT1(b, k) =                                             \
                        (RESULT)join(kind, prior, exclusive ? sum : y);        \
                    sum = y;                                                   \
                }                                                              \
            }                                                                  \
            carry = join(kind, carry, part[LANES - 1]);                        \
            total = join(kind, total, part[LANES - 1]);                        \
            if ((at + BLOCK) % UNIT == 0) {                                    \
                int level = 0;                                                 \
                for (; (at / UNIT % SECTION) >> level & 1; level++) {          \
                    total = join(kind, pair[level], total);                    \
                }                                                              \
                pair[level] = total;                                           \
                total = join(                                                  \
                    kind, before[level < LEVELS ? level + 1 : LEVELS], total); \
                for (; level >= 0; level--) {                                  \
                    before[level] = total;                                     \
                }                                                              \
            }                                                                  \
        }                                                                      \
        HR_AT1(words, 0) = launch;                                             \
    }

#endif

HR_KERNEL7(KERNEL(once), (IN, ELEMENT, 1, a), (OUT, RESULT, 1, b),
           (INOUT, unsigned long, 1, words), (VALUE, NUMBER, 0, start),
           (VALUE, unsigned, 0, launch), (VALUE, int, 0, kind),
           (VALUE, int, 0, exclusive)){ONCE(a, b)}

#ifndef WIDER
HR_KERNEL6(KERNEL(once_in_place), (INOUT, ELEMENT, 1, b),
           (INOUT, unsigned long, 1, words), (VALUE, NUMBER, 0, start),
           (VALUE, unsigned, 0, launch), (VALUE, int, 0, kind),
           (VALUE, int, 0, exclusive))
{
    ONCE(b, b)
}
#endif

#endif

#endif
