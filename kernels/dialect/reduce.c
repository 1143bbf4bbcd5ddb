/* SPDX-License-Identifier: MIT */
/* Reductions of one view or two. A tile reduces a unit: some rows (indices of
 * dimension 0), lines and columns. The order depends on extents and units
 * alone. LANES items take the columns of a line in turn, then halves are
 * joined. Launched over units x (LANES for each piece of a unit's rows) in
 * tiles of 1 x LANES.
 *
 * The build compiles this file for floats. It makes copies for other types,
 * with these macros defined before. EXACT: in integers of 64 bits. */
#ifndef ELEMENT
#define ELEMENT        float
#define NUMBER         double
#define NUMBER_OF(x)   ((double)(x))
#define COMPARED       float
#define COMPARED_OF(x) (x)
#define KERNEL(shape)  hri_reduce_f32_##shape
#endif
/* What MIN and MAX compare. With OpenCL float may lose subnormal numbers. */
#if defined(__OPENCL_C_VERSION__) || !defined(COMPARED)
#undef COMPARED
#undef COMPARED_OF
#define COMPARED       NUMBER
#define COMPARED_OF(x) NUMBER_OF(x)
#endif

#define HR_AVX512_BITS_ "512"
#include <headrace/dialect.h>

/* As in src/calls/reduction.h. A kernel's LANES is one of these. */
enum { CELL_LANES = 256, LINE_LANES = 64 };

/* The values of enum hr_reduction in headrace/reduce.h. */
enum {
    SUM = 1,
    MIN,
    LARGEST, /* not MAX: some compilers define that */
    DOT,
    DISTANCE,
    MAX_ABS_DIFF,
    PRODUCT,
    SUM_ABS,
    MAX_ABS,
    NORM,
    ARGMIN,
    ARGMAX
};

/* src/calls/reduction.h has the same struct. */
typedef struct hri_units {
    hr_index kind;              /* enum hr_reduction */
    hr_index rows, lines, cols; /* of a unit */
    double scale;               /* of what is squared for NORM */
} hri_units;

#if defined(HR_HAS_DOUBLE)

#ifdef EXACT /* numbers are unsigned, since sums may wrap around */
HR_FUNCTION NUMBER size_of(NUMBER x)
{
    return (long)x < 0 ? 0 - x : x;
}
#else
HR_FUNCTION NUMBER size_of(NUMBER x)
{
    return fabs(x);
}
#endif

HR_FUNCTION NUMBER squared(NUMBER x)
{
    return x * x;
}

HR_FUNCTION hr_index lesser(hr_index x, hr_index y)
{
    return x < y ? x : y;
}

/* How two numbers are joined. If one is a NaN, the result is a NaN. */
#define ADD(x, y)      ((x) + (y))
#define MULTIPLY(x, y) ((x) * (y))
#define LESSER(x, y)   ((int)((y) < (x)) | (int)((y) != (y)) ? (y) : (x))
#define LARGER(x, y)   ((int)((y) > (x)) | (int)((y) != (y)) ? (y) : (x))

/* What column k gives. AT names an element of a line. */
#define A(AT, k)          NUMBER_OF(AT(a, k))
#define KEY(AT, k)        COMPARED_OF(AT(a, k))
#define B(AT, k)          NUMBER_OF(AT(b, k))
#define SIZE(AT, k)       size_of(A(AT, k))
#define PAIR(AT, k)       (A(AT, k) * B(AT, k))
#define SQUARE(AT, k)     squared(A(AT, k) - B(AT, k))
#define DIFFERENCE(AT, k) size_of(A(AT, k) - B(AT, k))
#define SCALED(AT, k)     squared(A(AT, k) * units.scale)

/* Devices have several columns of a lane on their way at once. The host reads
 * one line after the other, which its caches do not fetch early enough. */
#if defined(__CUDACC__)
#define AT_ONCE 8
#elif defined(__OPENCL_C_VERSION__)
#define AT_ONCE 4
#else
#define AT_ONCE 1
#endif
enum { AHEAD = 4096 };
#define FETCH(AT, at)                                                          \
    HR_FETCH_((const char *)&AT(a, at) + AHEAD, LANES * sizeof(ELEMENT))
#if AT_ONCE > 1
#define EACH_AT_ONCE(j) HR_UNROLL for (int j = 0; j < AT_ONCE; j++)
#else /* no loop at all, which would not become vectors for LESSER */
#define EACH_AT_ONCE(j) const int j = 0;
#endif

/* All lanes, and those that have one of the last columns. Where gcc writes a
 * host's loop of 16 vectors in full, it reads lines in another order. */
#if defined(__OPENCL_C_VERSION__) || defined(__CUDACC__) || defined(HR_CHECKED)
#define EACH_LANE HR_ITEMS2(i, lane)
#define LAST_LANES(at, end)                                                    \
    HR_ITEMS2(i, lane)                                                         \
    if (HR_LOCAL1 < (end) - (at))
#else
#if defined(__GNUC__) && !defined(__clang__)
#define AS_LOOP _Pragma("GCC unroll 1")
#else
#define AS_LOOP
#endif
#define EACH_LANE                                                              \
    AS_LOOP for (hr_index hr_item = 0, hr_l1 = 0; hr_l1 < LANES;               \
                 hr_item++, hr_l1++)
#define LAST_LANES(at, end)                                                    \
    for (hr_index hr_item = 0, hr_l1 = 0;                                      \
         hr_l1 < LANES && hr_l1 < (end) - (at); hr_item++, hr_l1++)
#endif

/* Walk through columns first to end of a line. An item opens what it has so
 * far, does a step for each column k, and closes it. */
#define WALK(AT, first, end, OPEN, STEP, CLOSE)                                \
    {                                                                          \
        hr_index at = (first);                                                 \
        for (; at + AT_ONCE * LANES <= (end); at += AT_ONCE * LANES) {         \
            FETCH(AT, at)                                                      \
            EACH_LANE                                                          \
            {                                                                  \
                OPEN;                                                          \
                EACH_AT_ONCE(j)                                                \
                {                                                              \
                    const hr_index k = at + HR_LOCAL1 + j * LANES;             \
                    STEP;                                                      \
                }                                                              \
                CLOSE;                                                         \
            }                                                                  \
        }                                                                      \
        for (; at < (end); at += LANES) {                                      \
            LAST_LANES(at, end)                                                \
            {                                                                  \
                const hr_index k = at + HR_LOCAL1;                             \
                OPEN;                                                          \
                STEP;                                                          \
                CLOSE;                                                         \
            }                                                                  \
        }                                                                      \
    }

/* Take columns first to end of a line. */
#define TAKE(AT, first, end, TYPE, sum, TERM, JOIN)                            \
    WALK(AT, first, end, TYPE x = HR_P(sum), const TYPE y = TERM(AT, k);       \
         x = JOIN(x, y), HR_P(sum) = x)

/* Join the parts of all lanes in halves. The host does it in loops that become
 * vectors. */
#if defined(__OPENCL_C_VERSION__) || defined(__CUDACC__)
#define HALVE(JOIN)                                                            \
    HR_BARRIER;                                                                \
    for (int apart = LANES / 2; apart > 0; apart /= 2) {                       \
        HR_ITEMS2(i, lane)                                                     \
        {                                                                      \
            if (HR_LOCAL1 < apart) {                                           \
                const NUMBER x = part[HR_LOCAL1];                              \
                const NUMBER y = part[HR_LOCAL1 + apart];                      \
                part[HR_LOCAL1] = JOIN(x, y);                                  \
            }                                                                  \
        }                                                                      \
        HR_BARRIER;                                                            \
    }
#else
#define HALVE(JOIN)                                                            \
    for (int apart = LANES / 2; apart > 0; apart /= 2) {                       \
        for (int l = 0; l < apart; l++) {                                      \
            const NUMBER x = part[l], y = part[l + apart];                     \
            part[l] = JOIN(x, y);                                              \
        }                                                                      \
    }
#endif

/* The parts of all lanes, each starting with a number that changes nothing. */
#define LANE(LINES, TYPE, sum, nothing, TERM, JOIN)                            \
    HR_ITEMS2(i, lane)                                                         \
    {                                                                          \
        HR_P(sum) = (TYPE)(nothing);                                           \
    }                                                                          \
    LINES(TYPE, sum, TERM, JOIN)                                               \
    HR_ITEMS2(i, lane)                                                         \
    {                                                                          \
        part[HR_LOCAL1] = (NUMBER)HR_P(sum);                                   \
    }                                                                          \
    HALVE(JOIN)                                                                \
    break;

#ifdef EXACT
#define FRACTIONS(LINES)
#define FRACTIONS_OF_TWO(LINES)
#else
#define INFINITE (1.0 / 0.0)
#define FRACTIONS(LINES)                                                       \
    case MIN:                                                                  \
        LANE(LINES, COMPARED, most, INFINITE, KEY, LESSER)                     \
    case LARGEST:                                                              \
        LANE(LINES, COMPARED, most, -INFINITE, KEY, LARGER)                    \
    case MAX_ABS:                                                              \
        LANE(LINES, NUMBER, sum, -INFINITE, SIZE, LARGER)                      \
    case NORM:                                                                 \
        LANE(LINES, NUMBER, sum, 0, SCALED, ADD)
#define FRACTIONS_OF_TWO(LINES)                                                \
    case MAX_ABS_DIFF:                                                         \
        LANE(LINES, NUMBER, sum, -INFINITE, DIFFERENCE, LARGER)
#endif

/* The cases of one view, and of two. */
#define ONE(LINES)                                                             \
    case SUM:                                                                  \
        LANE(LINES, NUMBER, sum, 0, A, ADD)                                    \
    case PRODUCT:                                                              \
        LANE(LINES, NUMBER, sum, 1, A, MULTIPLY)                               \
    case SUM_ABS:                                                              \
        LANE(LINES, NUMBER, sum, 0, SIZE, ADD)                                 \
        FRACTIONS(LINES)
#define TWO(LINES)                                                             \
    case DOT:                                                                  \
        LANE(LINES, NUMBER, sum, 0, PAIR, ADD)                                 \
    case DISTANCE:                                                             \
        LANE(LINES, NUMBER, sum, 0, SQUARE, ADD)                               \
        FRACTIONS_OF_TWO(LINES)

#define REDUCE(CASES, LINES)                                                   \
    if (HR_TILE(1) != LANES) { /* never; so that compilers know */             \
        return;                                                                \
    }                                                                          \
    switch ((int)units.kind) {                                                 \
        CASES(LINES)                                                           \
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
#define ALL_CELLS(TYPE, sum, TERM, JOIN)                                       \
    TAKE(CELL, first, end, TYPE, sum, TERM, JOIN)

#define MEMORY(lanes)                                                          \
    enum { LANES = lanes };                                                    \
    HR_TILE_STATIC(NUMBER, part, [LANES]);                                     \
    HR_PRIVATE(NUMBER, sum);

/* What kernels of one view have besides. */
#ifdef EXACT
#define OF_ONE
#else
#define OF_ONE HR_PRIVATE(COMPARED, most);
#endif

/* The tile's unit. */
#define CELLS_OF_UNIT                                                          \
    const hr_index unit = UNIT, piece = 0, first = unit * units.cols;          \
    const hr_index end = lesser(first + units.cols, HR_EXTENT(a, 0));

#define REDUCE_CELLS(CASES)                                                    \
    MEMORY(CELL_LANES) CELLS_OF_UNIT REDUCE(CASES, ALL_CELLS)

HR_KERNEL3(KERNEL(cells), (IN, ELEMENT, 1, a), (OUT, NUMBER, 2, out),
           (VALUE, hri_units, 0, units)){OF_ONE REDUCE_CELLS(ONE)}

HR_KERNEL4(KERNEL(pair_cells), (IN, ELEMENT, 1, a), (IN, ELEMENT, 1, b),
           (OUT, NUMBER, 2, out),
           (VALUE, hri_units, 0, units)){REDUCE_CELLS(TWO)}

/* ---- a view of rank 3, in units of so many rows, lines and columns */

#define OF_LINE(view, k) HR_AT3(view, row, line, k)
#define ALL_LINES(TYPE, sum, TERM, JOIN)                                       \
    for (hr_index row = unit * units.rows; row < last_row; row++) {            \
        for (hr_index line = across * units.lines; line < last_line; line++) { \
            TAKE(OF_LINE, first, end, TYPE, sum, TERM, JOIN)                   \
        }                                                                      \
    }

#define LINES_OF_UNIT                                                          \
    const hr_index unit = UNIT, piece = PIECE, cols = HR_EXTENT(a, 2);         \
    const hr_index pieces = (cols + units.cols - 1) / units.cols;              \
    const hr_index across = piece / pieces;                                    \
    const hr_index first = piece % pieces * units.cols;                        \
    const hr_index end = lesser(first + units.cols, cols);                     \
    const hr_index last_row =                                                  \
        lesser((unit + 1) * units.rows, HR_EXTENT(a, 0));                      \
    const hr_index last_line =                                                 \
        lesser((across + 1) * units.lines, HR_EXTENT(a, 1));

#define REDUCE_LINES(CASES)                                                    \
    MEMORY(LINE_LANES) LINES_OF_UNIT REDUCE(CASES, ALL_LINES)

HR_KERNEL3(KERNEL(lines), (IN, ELEMENT, 3, a), (OUT, NUMBER, 2, out),
           (VALUE, hri_units, 0, units)){OF_ONE REDUCE_LINES(ONE)}

HR_KERNEL4(KERNEL(pair_lines), (IN, ELEMENT, 3, a), (IN, ELEMENT, 3, b),
           (OUT, NUMBER, 2, out), (VALUE, hri_units, 0, units))
{
    REDUCE_LINES(TWO)
}

/* ---- where the first of the least or of the largest elements is */

#ifndef EXACT

/* Whether y comes before x. The first NaN comes before all. */
#define IS_NAN(x)   ((int)((x) != (x)))
#define UNDER(y, x) ((int)((y) < (x)) | (IS_NAN(y) & !IS_NAN(x)))
#define OVER(y, x)  ((int)((y) > (x)) | (IS_NAN(y) & !IS_NAN(x)))

#if defined(__OPENCL_C_VERSION__) || defined(__CUDACC__) || defined(HR_CHECKED)

/* Look at columns first to end of a line, for the element that comes before all
 * others. An item remembers in which round it was there. */
#define LOOK(AT, first, end, BEFORE, JOIN)                                     \
    WALK(                                                                      \
        AT, first, end, COMPARED x = HR_P(most);                               \
        int then = HR_P(found_in), const COMPARED y = KEY(AT, k);              \
        if (BEFORE(y, x)) {                                                    \
            x = y;                                                             \
            then = rounds + (int)((unsigned)(k - (first)) / LANES);            \
        },                                                                     \
        HR_P(most) = x;                                                        \
        HR_P(found_in) = then)                                                 \
    rounds += (int)(((end) - (first) + LANES - 1) / LANES);

/* Of what two lanes found. */
#define EARLIER(BEFORE, l, m)                                                  \
    if (BEFORE(part[m], part[l]) ||                                            \
        (!BEFORE(part[l], part[m]) && places[m] < places[l])) {                \
        part[l] = part[m];                                                     \
        places[l] = places[m];                                                 \
    }

#define HALVE_FOUND(BEFORE)                                                    \
    HR_BARRIER;                                                                \
    for (int apart = LANES / 2; apart > 0; apart /= 2) {                       \
        HR_ITEMS2(i, lane)                                                     \
        {                                                                      \
            if (HR_LOCAL1 < apart) {                                           \
                EARLIER(BEFORE, HR_LOCAL1, HR_LOCAL1 + apart)                  \
            }                                                                  \
        }                                                                      \
        HR_BARRIER;                                                            \
    }

/* Nothing comes after `last`. So where all elements are that, the place is that
 * of the unit's first element. A line has `columns`, in so many rounds. */
#define FIND_LANE(ALL, last, BEFORE, JOIN)                                     \
    HR_PRIVATE(int, found_in);                                                 \
    HR_ITEMS2(i, lane)                                                         \
    {                                                                          \
        HR_P(most) = (COMPARED)(last);                                         \
        HR_P(found_in) = 0;                                                    \
    }                                                                          \
    LOOK_AT_##ALL(BEFORE, JOIN) HR_ITEMS2(i, lane)                             \
    {                                                                          \
        const int then = HR_P(found_in);                                       \
        const int of_line = (columns + LANES - 1) / LANES;                     \
        part[HR_LOCAL1] = (NUMBER)HR_P(most);                                  \
        places[HR_LOCAL1] = then / of_line * columns +                         \
                            then % of_line * LANES + (int)HR_LOCAL1;           \
    }                                                                          \
    HALVE_FOUND(BEFORE)

#else

/* On the host finding the number alone becomes vectors. The last block in which
 * a lane came before all earlier ones is looked at once more, in the end. */
enum { BLOCK = 2048 };
#define SEARCH(AT, IS_IT)                                                      \
    for (hr_index at = from, here = 0; at < end && !here; at += LANES) {       \
        const hr_index stop = lesser(at + LANES, end);                         \
        int any = 0;                                                           \
        for (hr_index k = at; k < stop; k++) {                                 \
            any |= IS_IT(KEY(AT, k));                                          \
        }                                                                      \
        for (hr_index k = at; any && k < stop && !here; k++) {                 \
            here = IS_IT(KEY(AT, k));                                          \
            places[0] = round * columns + (int)(k - first);                    \
        }                                                                      \
    }
#define IS_IT(y) ((int)((y) == it))
#define LOOK(AT, first, end, BEFORE, JOIN)                                     \
    for (hr_index start = (first); start < (end); start += BLOCK) {            \
        const hr_index stop = lesser(start + BLOCK, end);                      \
        int found_more = 0;                                                    \
        TAKE(AT, start, stop, COMPARED, most, KEY, JOIN)                       \
        HR_ITEMS2(i, lane)                                                     \
        {                                                                      \
            part[HR_LOCAL1] = (NUMBER)HR_P(most);                              \
            found_more |= BEFORE(HR_P(most), it);                              \
        }                                                                      \
        if (found_more) {                                                      \
            HALVE(JOIN)                                                        \
            it = (COMPARED)part[0];                                            \
            from = start;                                                      \
            round = rounds;                                                    \
        }                                                                      \
    }                                                                          \
    rounds++;

/* Nothing comes after `last`. So where all elements are that, the place is that
 * of the unit's first element. */
#define FIND_LANE(ALL, last, BEFORE, JOIN)                                     \
    HR_ITEMS2(i, lane)                                                         \
    {                                                                          \
        HR_P(most) = (COMPARED)(last);                                         \
    }                                                                          \
    COMPARED it = (COMPARED)(last);                                            \
    hr_index from = -1;                                                        \
    int round = 0;                                                             \
    LOOK_AT_##ALL(BEFORE, JOIN) part[0] = (NUMBER)it;                          \
    places[0] = 0;                                                             \
    if (from >= 0 && IS_NAN(it)) {                                             \
        SEARCH_IN_##ALL(IS_NAN)                                                \
    } else if (from >= 0) {                                                    \
        SEARCH_IN_##ALL(IS_IT)                                                 \
    }

#endif

#define FIND(ALL)                                                              \
    if (HR_TILE(1) != LANES) { /* never; so that compilers know */             \
        return;                                                                \
    }                                                                          \
    int rounds = 0;                                                            \
    const int columns = (int)(end - first);                                    \
    if (units.kind == ARGMIN) {                                                \
        FIND_LANE(ALL, INFINITE, UNDER, LESSER)                                \
    } else {                                                                   \
        FIND_LANE(ALL, -INFINITE, OVER, LARGER)                                \
    }                                                                          \
    HR_ITEMS2(i, lane)                                                         \
    {                                                                          \
        if (HR_LOCAL1 == 0) {                                                  \
            HR_AT2(out, unit, piece) = part[0];                                \
            HR_AT2(found, unit, piece) = places[0];                            \
        }                                                                      \
    }

#define FOUND_MEMORY(lanes)                                                    \
    enum { LANES = lanes };                                                    \
    HR_TILE_STATIC(NUMBER, part, [LANES]);                                     \
    HR_TILE_STATIC(int, places, [LANES]);                                      \
    HR_PRIVATE(COMPARED, most);

#define LOOK_AT_CELLS(BEFORE, JOIN) LOOK(CELL, first, end, BEFORE, JOIN)
#define SEARCH_IN_CELLS(IS_IT)      SEARCH(CELL, IS_IT)

HR_KERNEL4(KERNEL(find_cells), (IN, ELEMENT, 1, a), (OUT, NUMBER, 2, out),
           (OUT, int, 2, found), (VALUE, hri_units, 0, units)){
    FOUND_MEMORY(CELL_LANES) CELLS_OF_UNIT FIND(CELLS)}

#define LOOK_AT_LINES(BEFORE, JOIN)                                            \
    for (hr_index row = unit * units.rows; row < last_row; row++) {            \
        for (hr_index line = across * units.lines; line < last_line; line++) { \
            LOOK(OF_LINE, first, end, BEFORE, JOIN)                            \
        }                                                                      \
    }
#define SEARCH_IN_LINES(IS_IT)                                                 \
    {                                                                          \
        const hr_index lines = last_line - across * units.lines;               \
        const hr_index row = unit * units.rows + round / lines;                \
        const hr_index line = across * units.lines + round % lines;            \
        SEARCH(OF_LINE, IS_IT)                                                 \
    }

HR_KERNEL4(KERNEL(find_lines), (IN, ELEMENT, 3, a), (OUT, NUMBER, 2, out),
           (OUT, int, 2, found), (VALUE, hri_units, 0, units))
{
    FOUND_MEMORY(LINE_LANES)
    LINES_OF_UNIT
    FIND(LINES)
}

#endif

#endif
