/* SPDX-License-Identifier: MIT */
/* Stable sorts of rows by the bits of their keys, 8 bits a pass, the lowest
 * first [Satish2009]. A tile takes a unit: a part of a row. It counts the
 * unit's digits (count). A scan of the counts tells where the unit's elements
 * of each digit go, and the tile moves them there (scatter). Devices sort a
 * block in the tile's memory first, so that neighbours go to neighbours. Short
 * rows are sorted in the tile's memory alone (short). Sorted runs are merged
 * by merge paths [Green2012]. Launched over units x LANES in tiles of 1 x
 * LANES.
 *
 * The build compiles this file for keys of 4 bytes. It makes copies for other
 * sizes, with these macros defined before. CARRIED: the type of values that
 * move with their keys. */
#ifndef KEY
#define KEY          unsigned
#define KERNEL(name) hri_sort_u32_##name
#define PLANS
#endif

#include <headrace/dialect.h>

#if defined(HR_HAS_DOUBLE) /* as hr_scan, whose kernel scans the counts */

#ifdef CARRIED
#define CARRY(step) step
#define WITH_VALUES 1
#define WIDE        (sizeof(KEY) > 4 || sizeof(CARRIED) > 4)
#else
#define CARRY(step)
#define WITH_VALUES 0
#define WIDE        (sizeof(KEY) > 4)
#endif

enum {
    LANES = 256, /* as in src/calls/sort.h; one for each digit */
    DIGITS = 256,
    EACH = sizeof(KEY) > 4 ? 8 : 16,
    BLOCK = LANES * EACH,
    BINS = 16 /* of a step, which sorts by 4 bits */
};

/* Of sweeps, as in src/calls/sort_sweep.c. */
enum {
    TALLIERS = 512,                           /* items of a tile that counts */
    SWEEPERS = 384,                           /* and of one that sweeps */
    SWEEP = WIDE ? 15 : 19 + 4 * WITH_VALUES, /* elements of an item */
    SWEPT = SWEEPERS * SWEEP,                 /* of a block */
    MOVES = DIGITS,
    TICKET
};

/* How bits are compared as numbers; src/calls/sort.h has the same struct. Zeros
 * of both signs become one number, and so do NaNs. */
typedef struct hri_sort_form {
    unsigned long positive; /* the largest bits without a sign that turns the
                               order round */
    unsigned long below;    /* what larger bits are subtracted from */
    unsigned long above;    /* what is added to the others */
    unsigned long last;     /* what NaNs become; nothing is larger */
    unsigned long flip;     /* all bits, if the largest comes first */
} hri_sort_form;

/* A number that is compared without a sign. */
HR_FUNCTION KEY key_of(KEY x, const hri_sort_form f)
{
    const KEY y =
        (KEY)(x > (KEY)f.positive ? (KEY)f.below - x : (KEY)f.above + x);
    return (KEY)((y > (KEY)f.last ? (KEY)f.last : y) ^ (KEY)f.flip);
}

#define DIGIT(x, shift, digits)                                                \
    ((int)(key_of(x, form) >> (shift)) & ((digits)-1))

/* The tile's place among all, outside of blocks. */
#define TILE (hr_d.first[0] + HR_NUMBER_(2, 0))

/* The part of a row that a tile takes. */
#define UNIT_OF(view, units)                                                   \
    const hr_index row = TILE / (units), number = TILE % (units);              \
    const hr_index first = number * unit, all = HR_EXTENT(view, 1);            \
    const hr_index end = first + unit < all ? first + unit : all;

#if defined(__OPENCL_C_VERSION__) || defined(__CUDACC__)
#define ON_DEVICE
#endif

/* ---- a block in the tile's memory */

#ifdef ON_DEVICE

/* Neighbours of different lanes lie in different banks. */
#define PLACE(k) ((k) + (k) / EACH)

/* What an item keeps while others write. */
typedef struct elements {
    KEY key[EACH];
    unsigned short from[EACH], cell[EACH], rank[EACH];
} elements;

/* from: where each element was at first. */
#define BLOCK_MEMORY                                                           \
    HR_TILE_STATIC(KEY, held, [BLOCK + LANES]);                                \
    HR_TILE_STATIC(unsigned short, from_place, [BLOCK + LANES]);               \
    HR_TILE_STATIC(unsigned short, tally, [BINS * LANES]);                     \
    HR_TILE_STATIC(int, part, [2][LANES]);                                     \
    HR_PRIVATE(elements, own);

/* Add up what lanes before have, too; in sums[0], after an even number of
 * steps. */
#define SCAN_LANES(type, sums)                                                 \
    for (int apart = 1, side = 0; apart < LANES;                               \
         apart *= 2, side = 1 - side) {                                        \
        HR_ITEMS2(i, lane)                                                     \
        {                                                                      \
            const int l = (int)HR_LOCAL1;                                      \
            const type y = sums[side][l];                                      \
            sums[1 - side][l] = l < apart ? y : y + sums[side][l - apart];     \
        }                                                                      \
        HR_TILE_BARRIER;                                                       \
    }

#define LOAD(view, at, count)                                                  \
    HR_ITEMS2(i, lane)                                                         \
    {                                                                          \
        HR_UNROLL                                                              \
        for (int j = 0; j < EACH; j++) {                                       \
            const int k = j * LANES + (int)HR_LOCAL1;                          \
            held[PLACE(k)] =                                                   \
                k < (count) ? HR_AT2(view, row, (at) + k) : (KEY)0;            \
            from_place[PLACE(k)] = (unsigned short)k;                          \
        }                                                                      \
    }                                                                          \
    HR_TILE_BARRIER;

/* Sort the block by 4 bits of its keys, and keep the order of equal ones.
 * Places without an element stay behind all others. */
#define BIN_STEP(count, shift)                                                 \
    HR_ITEMS2(i, lane)                                                         \
    {                                                                          \
        const int l = (int)HR_LOCAL1;                                          \
        HR_UNROLL                                                              \
        for (int b = 0; b < BINS; b++) {                                       \
            tally[b * LANES + l] = 0;                                          \
        }                                                                      \
        HR_UNROLL                                                              \
        for (int j = 0; j < EACH; j++) {                                       \
            const int k = l * EACH + j;                                        \
            const KEY x = held[PLACE(k)];                                      \
            const int bin = k < (count) ? DIGIT(x, shift, BINS) : BINS - 1;    \
            const int cell = bin * LANES + l;                                  \
            HR_P(own).key[j] = x;                                              \
            HR_P(own).from[j] = from_place[PLACE(k)];                          \
            HR_P(own).cell[j] = (unsigned short)cell;                          \
            HR_P(own).rank[j] = tally[cell];                                   \
            tally[cell] = (unsigned short)(HR_P(own).rank[j] + 1);             \
        }                                                                      \
    }                                                                          \
    HR_TILE_BARRIER;                                                           \
    HR_ITEMS2(i, lane)                                                         \
    {                                                                          \
        int sum = 0;                                                           \
        HR_UNROLL                                                              \
        for (int b = 0; b < BINS; b++) {                                       \
            sum += tally[(int)HR_LOCAL1 * BINS + b];                           \
        }                                                                      \
        part[0][HR_LOCAL1] = sum;                                              \
    }                                                                          \
    HR_TILE_BARRIER;                                                           \
    SCAN_LANES(int, part)                                                      \
    HR_ITEMS2(i, lane)                                                         \
    {                                                                          \
        const int l = (int)HR_LOCAL1;                                          \
        int sum = l > 0 ? part[0][l - 1] : 0;                                  \
        HR_UNROLL                                                              \
        for (int b = 0; b < BINS; b++) {                                       \
            const int x = tally[l * BINS + b];                                 \
            tally[l * BINS + b] = (unsigned short)sum;                         \
            sum += x;                                                          \
        }                                                                      \
    }                                                                          \
    HR_TILE_BARRIER;                                                           \
    HR_ITEMS2(i, lane)                                                         \
    {                                                                          \
        HR_UNROLL                                                              \
        for (int j = 0; j < EACH; j++) {                                       \
            const int k = tally[HR_P(own).cell[j]] + HR_P(own).rank[j];        \
            held[PLACE(k)] = HR_P(own).key[j];                                 \
            from_place[PLACE(k)] = HR_P(own).from[j];                          \
        }                                                                      \
    }                                                                          \
    HR_TILE_BARRIER;

#endif

/* ---- which bits differ, and how often each digit occurs */

#ifndef CARRIED

HR_KERNEL4(KERNEL(differ), (IN, KEY, 2, from), (OUT, unsigned long, 2, bits),
           (VALUE, hri_sort_form, 0, form), (VALUE, hr_index, 0, unit))
{
#ifdef ON_DEVICE
    HR_TILE_STATIC(KEY, part, [LANES]);
#endif
    const hr_index units = HR_EXTENT(bits, 1);
    UNIT_OF(from, units)
#ifdef ON_DEVICE
    HR_ITEMS2(i, lane)
    {
        const KEY one = key_of(HR_AT2(from, row, 0), form);
        KEY differing = 0;
        for (hr_index k = first + HR_LOCAL1; k < end; k += LANES) {
            differing |= key_of(HR_AT2(from, row, k), form) ^ one;
        }
        part[HR_LOCAL1] = differing;
    }
    HR_TILE_BARRIER;
    for (int apart = LANES / 2; apart > 0; apart /= 2) {
        HR_ITEMS2(i, lane)
        {
            if (HR_LOCAL1 < apart) {
                part[HR_LOCAL1] |= part[HR_LOCAL1 + apart];
            }
        }
        HR_TILE_BARRIER;
    }
    HR_ITEMS2(i, lane)
    {
        if (HR_LOCAL1 == 0) {
            HR_AT2(bits, row, number) = part[0];
        }
    }
#else
    HR_ITEMS2(i, lane)
    {
        if (HR_LOCAL1 == 0) {
            const KEY one = key_of(HR_AT2(from, row, 0), form);
            KEY differing = 0;
            for (hr_index k = first; k < end; k++) {
                differing |= key_of(HR_AT2(from, row, k), form) ^ one;
            }
            HR_AT2(bits, row, number) = differing;
        }
    }
#endif
}

HR_KERNEL5(KERNEL(count), (IN, KEY, 2, from), (OUT, int, 3, counts),
           (VALUE, hri_sort_form, 0, form), (VALUE, hr_index, 0, unit),
           (VALUE, int, 0, shift))
{
#ifdef ON_DEVICE
    enum { COPIES = 8 }; /* so that fewer items want the same one */
    HR_TILE_STATIC(int, tallies, [COPIES][DIGITS]);
#endif
    const hr_index units = HR_EXTENT(counts, 2);
    UNIT_OF(from, units)
#ifdef ON_DEVICE
    HR_ITEMS2(i, lane)
    {
        for (int c = 0; c < COPIES; c++) {
            tallies[c][HR_LOCAL1] = 0;
        }
    }
    HR_TILE_BARRIER;
    HR_ITEMS2(i, lane)
    {
        const int copy = (int)HR_LOCAL1 / (LANES / COPIES);
        for (hr_index k = first + HR_LOCAL1; k < end; k += LANES) {
            const int digit = DIGIT(HR_AT2(from, row, k), shift, DIGITS);
            (void)HR_ATOMIC_ADD(tallies[copy][digit], 1);
        }
    }
    HR_TILE_BARRIER;
    HR_ITEMS2(i, lane)
    {
        int sum = 0;
        for (int c = 0; c < COPIES; c++) {
            sum += tallies[c][HR_LOCAL1];
        }
        HR_AT3(counts, row, HR_LOCAL1, number) = sum;
    }
#else
    HR_ITEMS2(i, lane)
    {
        if (HR_LOCAL1 == 0) {
            int tallies[2][DIGITS] = {{0}}; /* equal neighbours do not wait */
            for (hr_index k = first; k < end; k++) {
                tallies[k & 1][DIGIT(HR_AT2(from, row, k), shift, DIGITS)]++;
            }
            for (int d = 0; d < DIGITS; d++) {
                HR_AT3(counts, row, d, number) = tallies[0][d] + tallies[1][d];
            }
        }
    }
#endif
}

#endif

/* ---- moving elements by a digit */

#ifdef ON_DEVICE

/* begin, stop: where a digit's elements are in the block. base[1]: where they
 * go. */
#define SCATTER_MEMORY                                                         \
    BLOCK_MEMORY HR_TILE_STATIC(hr_index, base, [2][DIGITS]);                  \
    HR_TILE_STATIC(unsigned short, begin, [DIGITS]);                           \
    HR_TILE_STATIC(unsigned short, stop, [DIGITS]);

/* The elements before those of the unit: all of smaller digits, and those of
 * units before. */
#define FIND_BASES                                                             \
    HR_ITEMS2(i, lane)                                                         \
    {                                                                          \
        const hr_index l = HR_LOCAL1;                                          \
        base[0][l] = HR_AT3(before, row, l, units - 1) +                       \
                     HR_AT3(counts, row, l, units - 1);                        \
        begin[l] = 0;                                                          \
        stop[l] = 0;                                                           \
    }                                                                          \
    HR_TILE_BARRIER;                                                           \
    SCAN_LANES(hr_index, base)                                                 \
    HR_ITEMS2(i, lane)                                                         \
    {                                                                          \
        const hr_index l = HR_LOCAL1;                                          \
        base[1][l] =                                                           \
            (l > 0 ? base[0][l - 1] : 0) + HR_AT3(before, row, l, number);     \
    }                                                                          \
    HR_TILE_BARRIER;

#define HELD(k) DIGIT(held[PLACE(k)], shift, DIGITS)

#define FIND_DIGITS(count)                                                     \
    HR_ITEMS2(i, lane)                                                         \
    {                                                                          \
        HR_UNROLL                                                              \
        for (int j = 0; j < EACH; j++) {                                       \
            const int k = j * LANES + (int)HR_LOCAL1;                          \
            if (k < (count)) {                                                 \
                const int digit = HELD(k);                                     \
                if (k == 0 || HELD(k - 1) != digit) {                          \
                    begin[digit] = (unsigned short)k;                          \
                }                                                              \
                if (k + 1 == (count) || HELD(k + 1) != digit) {                \
                    stop[digit] = (unsigned short)(k + 1);                     \
                }                                                              \
            }                                                                  \
        }                                                                      \
    }                                                                          \
    HR_TILE_BARRIER;

#define WRITE(at, count)                                                       \
    HR_ITEMS2(i, lane)                                                         \
    {                                                                          \
        HR_UNROLL                                                              \
        for (int j = 0; j < EACH; j++) {                                       \
            const int k = j * LANES + (int)HR_LOCAL1;                          \
            if (k < (count)) {                                                 \
                const int digit = HELD(k);                                     \
                const hr_index place = base[1][digit] + (k - begin[digit]);    \
                HR_AT2(to, row, place) = held[PLACE(k)];                       \
                CARRY(HR_AT2(to_values, row, place) =                          \
                          HR_AT2(values, row, (at) + from_place[PLACE(k)]);)   \
            }                                                                  \
        }                                                                      \
    }                                                                          \
    HR_TILE_BARRIER;                                                           \
    HR_ITEMS2(i, lane)                                                         \
    {                                                                          \
        const hr_index l = HR_LOCAL1;                                          \
        base[1][l] += stop[l] - begin[l];                                      \
        begin[l] = 0;                                                          \
        stop[l] = 0;                                                           \
    }                                                                          \
    HR_TILE_BARRIER;

#define SCATTER                                                                \
    SCATTER_MEMORY                                                             \
    const hr_index units = HR_EXTENT(before, 2);                               \
    UNIT_OF(from, units)                                                       \
    FIND_BASES                                                                 \
    for (hr_index at = first; at < end; at += BLOCK) {                         \
        const int count = end - at < BLOCK ? (int)(end - at) : (int)BLOCK;     \
        LOAD(from, at, count)                                                  \
        BIN_STEP(count, shift)                                                 \
        BIN_STEP(count, shift + 4)                                             \
        FIND_DIGITS(count)                                                     \
        WRITE(at, count)                                                       \
    }

#else

/* Elements go to memory in lines, so that processors see few places at a
 * time. */
enum { LINE = 64 / sizeof(KEY) };

#define FLUSH(digit, n)                                                        \
    for (int j = 0; j < (n); j++) {                                            \
        HR_AT2(to, row, base[digit] + j) = lines[digit][j];                    \
        CARRY(HR_AT2(to_values, row, base[digit] + j) =                        \
                  value_lines[digit][j];)                                      \
    }

#define SCATTER                                                                \
    const hr_index units = HR_EXTENT(before, 2);                               \
    UNIT_OF(from, units)                                                       \
    HR_ITEMS2(i, lane)                                                         \
    {                                                                          \
        if (HR_LOCAL1 == 0) {                                                  \
            KEY lines[DIGITS][LINE];                                           \
            CARRY(CARRIED value_lines[DIGITS][LINE];)                          \
            hr_index base[DIGITS], sum = 0;                                    \
            int filled[DIGITS] = {0};                                          \
            for (int d = 0; d < DIGITS; d++) {                                 \
                base[d] = sum + HR_AT3(before, row, d, number);                \
                sum += HR_AT3(before, row, d, units - 1) +                     \
                       HR_AT3(counts, row, d, units - 1);                      \
            }                                                                  \
            for (hr_index k = first; k < end; k++) {                           \
                const KEY x = HR_AT2(from, row, k);                            \
                const int d = DIGIT(x, shift, DIGITS);                         \
                const int n = filled[d];                                       \
                lines[d][n] = x;                                               \
                CARRY(value_lines[d][n] = HR_AT2(values, row, k);)             \
                filled[d] = n + 1;                                             \
                if (n == LINE - 1) {                                           \
                    FLUSH(d, LINE)                                             \
                    base[d] += LINE;                                           \
                    filled[d] = 0;                                             \
                }                                                              \
            }                                                                  \
            for (int d = 0; d < DIGITS; d++) {                                 \
                FLUSH(d, filled[d])                                            \
            }                                                                  \
        }                                                                      \
    }

#endif

#ifdef CARRIED
HR_KERNEL9(KERNEL(scatter), (IN, KEY, 2, from), (IN, CARRIED, 2, values),
           (IN, int, 3, counts), (IN, long, 3, before), (OUT, KEY, 2, to),
           (OUT, CARRIED, 2, to_values), (VALUE, hri_sort_form, 0, form),
           (VALUE, hr_index, 0, unit), (VALUE, int, 0, shift)){SCATTER}
#else
HR_KERNEL7(KERNEL(scatter), (IN, KEY, 2, from), (IN, int, 3, counts),
           (IN, long, 3, before), (OUT, KEY, 2, to),
           (VALUE, hri_sort_form, 0, form), (VALUE, hr_index, 0, unit),
           (VALUE, int, 0, shift))
{
    SCATTER
}
#endif

/* ---- sweeps: one read counts all digits, then each digit takes a read and a
 * write [Adinets2022]
 *
 * Tiles take blocks of rows in the order of their tickets. A tile tells how
 * often its block has each digit. Then it looks back at the blocks before,
 * adding what they tell, up to one that tells the sum of all so far. So it
 * waits for tiles that have started. Devices on which these go on all the same
 * run it: those of CUDA. The host's form is for tiles that come one by one. */

#ifndef __OPENCL_C_VERSION__

enum {
    PASSES = sizeof(KEY),
    AT_ONCE = 8, /* elements that an item of a count has on their way */
    LOOKED = 4   /* blocks before that are looked at at once */
};

#ifndef CARRIED

#define TALLY(x)                                                               \
    {                                                                          \
        const KEY y = key_of(x, form);                                         \
        HR_UNROLL                                                              \
        for (int p = 0; p < PASSES; p++) {                                     \
            const int digit = (int)(y >> 8 * p) & (DIGITS - 1);                \
            (void)HR_ATOMIC_ADD(tallies[p * DIGITS + digit], 1);               \
        }                                                                      \
    }

/* How often each digit of each pass occurs in a unit. What tiles of sweeps tell
 * begins with 0. */
HR_KERNEL5(KERNEL(tally), (IN, KEY, 2, from), (OUT, int, 3, counts),
           (OUT, unsigned, 3, words), (VALUE, hri_sort_form, 0, form),
           (VALUE, hr_index, 0, unit))
{
    HR_TILE_STATIC(int, tallies, [PASSES * DIGITS]);
    const hr_index units = HR_EXTENT(counts, 1), blocks = HR_EXTENT(words, 1);
    const hr_index share = (blocks + units - 1) / units;
    UNIT_OF(from, units)
    HR_ITEMS2(i, lane)
    {
        for (hr_index k = HR_LOCAL1; k < PASSES * DIGITS; k += TALLIERS) {
            tallies[k] = 0;
        }
    }
    HR_TILE_BARRIER;
    HR_ITEMS2(i, lane)
    {
        hr_index k = first + HR_LOCAL1;
        for (; k + (AT_ONCE - 1) * TALLIERS < end; k += AT_ONCE * TALLIERS) {
            KEY x[AT_ONCE];
            HR_UNROLL
            for (int j = 0; j < AT_ONCE; j++) {
                x[j] = HR_AT2(from, row, k + j * TALLIERS);
            }
            HR_UNROLL
            for (int j = 0; j < AT_ONCE; j++) {
                TALLY(x[j])
            }
        }
        for (; k < end; k += TALLIERS) {
            TALLY(HR_AT2(from, row, k))
        }
    }
    HR_TILE_BARRIER;
    HR_ITEMS2(i, lane)
    {
        for (hr_index k = HR_LOCAL1; k < PASSES * DIGITS; k += TALLIERS) {
            HR_AT3(counts, row, number, k) = tallies[k];
        }
        for (hr_index k = HR_LOCAL1; k < share * DIGITS; k += TALLIERS) {
            const hr_index block = number * share + k / DIGITS;
            if (block < blocks) {
                HR_AT3(words, row, block, k % DIGITS) = 0;
            }
        }
    }
}

#endif

#ifdef PLANS

/* For each pass, where a row's elements of each digit go: behind those of
 * smaller ones. MOVES: whether the row has several digits. TICKET: the number
 * of blocks that were taken, of all rows in the first one. */
HR_KERNEL3(hri_sort_places, (IN, int, 3, counts), (OUT, int, 3, places),
           (VALUE, int, 0, cols))
{
    enum { PARTS = TALLIERS / DIGITS };
    HR_TILE_STATIC(int, part, [PARTS][DIGITS]);
    HR_TILE_STATIC(int, sums, [2][DIGITS]);
    HR_TILE_STATIC(int, moves, [1]);
    const hr_index passes = HR_EXTENT(places, 1), units = HR_EXTENT(counts, 1);
    const hr_index row = TILE / passes, pass = TILE % passes;
    HR_ITEMS2(i, lane)
    {
        const hr_index p = HR_LOCAL1 / DIGITS, digit = HR_LOCAL1 % DIGITS;
        int sum = 0;
        for (hr_index u = p; u < units; u += AT_ONCE * PARTS) {
            HR_UNROLL
            for (int j = 0; j < AT_ONCE; j++) {
                const hr_index v = u + j * PARTS;
                sum += v < units ? HR_AT3(counts, row, v, pass * DIGITS + digit)
                                 : 0;
            }
        }
        part[p][digit] = sum;
        moves[0] = 1;
    }
    HR_TILE_BARRIER;
    HR_ITEMS2(i, lane)
    {
        if (HR_LOCAL1 < DIGITS) {
            int sum = 0;
            for (int p = 0; p < PARTS; p++) {
                sum += part[p][HR_LOCAL1];
            }
            sums[0][HR_LOCAL1] = sum;
            if (sum == cols) {
                moves[0] = 0;
            }
        }
    }
    HR_TILE_BARRIER;
    for (int apart = 1, side = 0; apart < DIGITS; apart *= 2, side = 1 - side) {
        HR_ITEMS2(i, lane)
        {
            if (HR_LOCAL1 < DIGITS) {
                const int y = sums[side][HR_LOCAL1];
                sums[1 - side][HR_LOCAL1] =
                    HR_LOCAL1 < apart ? y : y + sums[side][HR_LOCAL1 - apart];
            }
        }
        HR_TILE_BARRIER;
    }
    HR_ITEMS2(i, lane)
    {
        if (HR_LOCAL1 < DIGITS) {
            HR_AT3(places, row, pass, HR_LOCAL1) =
                HR_LOCAL1 > 0 ? sums[0][HR_LOCAL1 - 1] : 0;
        }
        if (HR_LOCAL1 == 0) {
            HR_AT3(places, row, pass, MOVES) = moves[0];
            HR_AT3(places, row, pass, TICKET) = 0;
        }
    }
}

#endif

/* The passes of a row that move something. */
typedef struct hri_sort_moves {
    int before, all; /* before this one */
    int now;         /* whether this one does */
} hri_sort_moves;

HR_FUNCTION hri_sort_moves moves_of(HR_MEMORY const int *flags, hr_index apart,
                                    int pass)
{
    hri_sort_moves m = {0, 0, 0};
    HR_UNROLL
    for (int p = 0; p < PASSES; p++) {
        const int moves = flags[p * apart];
        m.all += moves;
        m.before += p < pass ? moves : 0;
        m.now = p == pass ? moves : m.now;
    }
    return m;
}

/* A block to sweep. */
typedef struct hri_sort_block {
    const KEY *from; /* the row */
    KEY *to;
#ifdef CARRIED
    const CARRIED *values;
    CARRIED *to_values;
#endif
    const int *places; /* of each digit */
    unsigned *words;   /* of the row's first block: one for each digit */
    int number, count; /* of this block, and of the row's elements */
    unsigned told;     /* what words have in STATE before */
    int shift;
} hri_sort_block;

/* A word has a number of elements, and what it is: TOLD of the block alone, or
 * the other SUM, of all blocks so far. So words of a pass begin as the pass
 * before has left them. */
#define SUM   0x80000000U
#define TOLD  0x40000000U
#define COUNT 0x3fffffffU

#ifdef __CUDACC__

enum {
    TILES_AT_ONCE = WIDE || WITH_VALUES ? 2 : 3, /* of a multiprocessor */
    WARPS = SWEEPERS / 32,
    TALLY_BYTES = WARPS * DIGITS * (int)sizeof(int),
    KEY_BYTES = SWEPT * (int)sizeof(KEY),
#ifdef CARRIED
    VALUE_BYTES = SWEPT * (int)sizeof(CARRIED),
#else
    VALUE_BYTES = 0,
#endif
    ELEMENT_BYTES = KEY_BYTES > VALUE_BYTES ? KEY_BYTES : VALUE_BYTES,
    HELD_BYTES = TALLY_BYTES > ELEMENT_BYTES ? TALLY_BYTES : ELEMENT_BYTES
};

HR_FUNCTION int take_ticket(int *next)
{
    __shared__ int ticket;
    if (threadIdx.x == 0) {
        ticket = atomicAdd(next, 1);
    }
    __syncthreads();
    return ticket;
}

/* The lanes of the warp that have the same digit. A vote for each bit takes
 * less time than the instruction that compares all. In C it would become twice
 * as many instructions. */
HR_FUNCTION unsigned peers_of(int digit)
{
    unsigned peers = ~0u;
    HR_UNROLL
    for (int bit = 1; bit < DIGITS; bit *= 2) {
        unsigned same;
        asm("{\n"
            ".reg .pred p;\n"
            "and.b32 %0, %1, %2;\n"
            "setp.ne.u32 p, %0, 0;\n"
            "vote.sync.ballot.b32 %0, p, 0xffffffff;\n"
            "@!p not.b32 %0, %0;\n"
            "}"
            : "=r"(same)
            : "r"(digit), "r"(bit));
        peers &= same;
    }
    return peers;
}

/* Elements of a digit before the block, which is not the row's first one. own:
 * those of the block. All lanes of the warp come here. */
HR_FUNCTION int look_back(const hri_sort_block b, int digit, int own)
{
    volatile unsigned *words = b.words + digit;
    int at = b.number - 1, sum = 0;
    bool done = false;
    while (__any_sync(~0u, !done)) {
        unsigned seen[LOOKED];
        bool stop = done;
        HR_UNROLL
        for (int j = 0; j < LOOKED; j++) {
            seen[j] = words[(at > j ? at - j : 0) * DIGITS];
        }
        HR_UNROLL
        for (int j = 0; j < LOOKED; j++) {
            stop = stop || ((seen[j] ^ b.told) & (SUM | TOLD)) == 0;
            if (!stop) {
                sum += (int)(seen[j] & COUNT);
                at--;
                stop = done = ((seen[j] ^ b.told) & SUM) != 0;
            }
        }
    }
    words[b.number * DIGITS] = (unsigned)(sum + own) | (b.told ^ SUM);
    return sum;
}

HR_FUNCTION void sweep(const hri_sort_block b, const hri_sort_form form)
{
    __shared__ __align__(16) unsigned char held[HELD_BYTES];
    __shared__ int offset[DIGITS], parts[DIGITS / 32];
    const int item = (int)threadIdx.x, lane = item % 32;
    int *const tallies = (int *)held;
    const int warp = item / 32 * DIGITS; /* its tallies begin there */
    const int tally = (int)__cvta_generic_to_shared(tallies + warp);
    const int first = b.number * SWEPT;
    const int count = b.count - first < SWEPT ? b.count - first : SWEPT;
    const int at = item / 32 * 32 * SWEEP + lane; /* in the block */
    KEY key[SWEEP];
    int rank[SWEEP]; /* at first, where the tally of the digit is */
    HR_UNROLL
    for (int k = 0; k < DIGITS; k += 32) {
        tallies[warp + k + lane] = 0;
    }
    if (count == SWEPT) {
        HR_UNROLL
        for (int j = 0; j < SWEEP; j++) {
            key[j] = b.from[first + at + j * 32];
        }
        HR_UNROLL
        for (int j = 0; j < SWEEP; j++) {
            rank[j] = tally + 4 * DIGIT(key[j], b.shift, DIGITS);
        }
    } else { /* places without an element come last */
        HR_UNROLL
        for (int j = 0; j < SWEEP; j++) {
            const bool is = at + j * 32 < count;
            key[j] = is ? b.from[first + at + j * 32] : (KEY)0;
            rank[j] =
                tally + 4 * (is ? DIGIT(key[j], b.shift, DIGITS) : DIGITS - 1);
        }
    }
    __syncwarp();
    HR_UNROLL
    for (int j = 0; j < SWEEP; j++) {
        asm volatile("red.shared.add.u32 [%0], 1;" ::"r"(rank[j]) : "memory");
    }
    __syncthreads();
    /* An item looks after a digit: how often the block has it, and where in
     * the block it begins. */
    const bool counts = item < DIGITS;
    int own = 0, begin = 0;
    if (counts) {
        HR_UNROLL
        for (int w = 0; w < WARPS; w++) {
            own += tallies[w * DIGITS + item];
        }
        /* Places without an element count too, but no block follows. The first
         * block never tells of itself alone: whoever looks back ends there. */
        ((volatile unsigned *)b.words)[b.number * DIGITS + item] =
            (unsigned)own | (b.number > 0 ? b.told | TOLD : b.told ^ SUM);
        begin = own;
        HR_UNROLL
        for (int apart = 1; apart < 32; apart *= 2) {
            const int y = __shfl_up_sync(~0u, begin, apart);
            begin += lane >= apart ? y : 0;
        }
        if (lane == 31) {
            parts[item / 32] = begin;
        }
        begin -= own;
    }
    __syncthreads();
    if (counts) {
        HR_UNROLL
        for (int p = 0; p < DIGITS / 32; p++) {
            begin += p < item / 32 ? parts[p] : 0;
        }
        offset[item] = b.places[item] - begin;
        HR_UNROLL
        for (int w = 0; w < WARPS; w++) {
            const int some = tallies[w * DIGITS + item];
            tallies[w * DIGITS + item] = begin;
            begin += some;
        }
    }
    __syncthreads();
    HR_UNROLL
    for (int j = 0; j < SWEEP; j++) {
        const unsigned peers = peers_of(rank[j] >> 2);
        const int leader = 31 - __clz((int)peers);
        const int among = __popc(peers & (2u << lane) - 1);
        int base = 0;
        if (lane == leader) {
            asm volatile("atom.shared.add.u32 %0, [%1], %2;"
                         : "=r"(base)
                         : "r"(rank[j]), "r"(among)
                         : "memory");
        }
        rank[j] = __shfl_sync(~0u, base, leader) + among - 1;
    }
    __syncthreads();
    HR_UNROLL
    for (int j = 0; j < SWEEP; j++) {
        ((KEY *)held)[rank[j]] = key[j];
    }
#ifdef CARRIED
    CARRIED value[SWEEP];
    HR_UNROLL
    for (int j = 0; j < SWEEP; j++) {
        if (count == SWEPT || at + j * 32 < count) {
            value[j] = b.values[first + at + j * 32];
        }
    }
    int to[SWEEP];
#endif
    if (counts && b.number > 0) {
        offset[item] += look_back(b, item, own);
    }
    __syncthreads();
    HR_UNROLL
    for (int j = 0; j < SWEEP; j++) {
        const int k = item + j * SWEEPERS;
        if (count == SWEPT || k < count) {
            const KEY x = ((const KEY *)held)[k];
            const int place = offset[DIGIT(x, b.shift, DIGITS)] + k;
            b.to[place] = x;
            CARRY(to[j] = place;)
        }
    }
#ifdef CARRIED
    __syncthreads();
    HR_UNROLL
    for (int j = 0; j < SWEEP; j++) {
        ((CARRIED *)held)[rank[j]] = value[j];
    }
    __syncthreads();
    HR_UNROLL
    for (int j = 0; j < SWEEP; j++) {
        const int k = item + j * SWEEPERS;
        if (count == SWEPT || k < count) {
            b.to_values[to[j]] = ((const CARRIED *)held)[k];
        }
    }
#endif
}

#else

HR_FUNCTION int take_ticket(int *next)
{
    return (*next)++;
}

HR_FUNCTION void sweep(const hri_sort_block b, const hri_sort_form form)
{
    const int first = b.number * SWEPT;
    const int end = b.count - first < SWEPT ? b.count : first + SWEPT;
    unsigned *const words = b.words + b.number * DIGITS;
    int place[DIGITS];
    for (int d = 0; d < DIGITS; d++) {
        const unsigned before = b.number > 0 ? words[d - DIGITS] & COUNT : 0;
        place[d] = b.places[d] + (int)before;
        words[d] = before | (b.told ^ SUM);
    }
    for (int k = first; k < end; k++) {
        const int d = DIGIT(b.from[k], b.shift, DIGITS);
        b.to[place[d]] = b.from[k];
        CARRY(b.to_values[place[d]] = b.values[k];)
        place[d]++;
        words[d]++;
    }
}

#endif

/* Sort blocks by the digit of a pass, from one side to the other, if the row
 * has several. The sides are written by turns, and the result is to be in
 * `one`. Tiles read what those of the pass before have written. `source`:
 * where the first of them reads. */
#define SWEEP_ROWS(source, to_one)                                             \
    (void)HR_DOMAIN(0); /* tickets tell what a tile takes */                   \
    const int blocks = (int)HR_EXTENT(words, 1);                               \
    const hr_index apart = HR_STRIDE(places, 1);                               \
    hri_sort_moves m = moves_of(&HR_AT3(places, 0, 0, MOVES), apart, pass);    \
    const int ticket = take_ticket(&HR_AT3(places, 0, pass, TICKET));          \
    const int row = ticket / blocks;                                           \
    if (row > 0) {                                                             \
        m = moves_of(&HR_AT3(places, row, 0, MOVES), apart, pass);             \
    }                                                                          \
    if (m.now) {                                                               \
        hri_sort_block b;                                                      \
        b.from = m.before == 0 ? &HR_AT2(source, row, 0)                       \
                 : (to_one)    ? &HR_AT2(two, row, 0)                          \
                               : &HR_AT2(one, row, 0);                            \
        b.to = (to_one) ? &HR_AT2(one, row, 0) : &HR_AT2(two, row, 0);         \
        CARRY(b.values = (to_one) ? &HR_AT2(two_values, row, 0)                \
                                  : &HR_AT2(one_values, row, 0);)              \
        CARRY(b.to_values = (to_one) ? &HR_AT2(one_values, row, 0)             \
                                     : &HR_AT2(two_values, row, 0);)           \
        b.places = &HR_AT3(places, row, pass, 0);                              \
        b.words = &HR_AT3(words, row, 0, 0);                                   \
        b.number = ticket - row * blocks;                                      \
        b.count = (int)HR_EXTENT(one, 1);                                      \
        b.told = m.before % 2 != 0 ? SUM : 0;                                  \
        b.shift = 8 * pass;                                                    \
        sweep(b, form);                                                        \
    }

#ifdef __CUDACC__
#undef HR_BOUNDS_
#define HR_BOUNDS_ __launch_bounds__(SWEEPERS, TILES_AT_ONCE)
#endif

#ifdef CARRIED
HR_KERNEL8(KERNEL(sweep_in_place), (INOUT, KEY, 2, one), (OUT, KEY, 2, two),
           (INOUT, CARRIED, 2, one_values), (OUT, CARRIED, 2, two_values),
           (INOUT, int, 3, places), (INOUT, unsigned, 3, words),
           (VALUE, hri_sort_form, 0, form),
           (VALUE, int, 0, pass)){SWEEP_ROWS(one, m.before % 2 != 0)}
#else
HR_KERNEL7(KERNEL(sweep), (IN, KEY, 2, from), (OUT, KEY, 2, one),
           (OUT, KEY, 2, two), (INOUT, int, 3, places),
           (INOUT, unsigned, 3, words), (VALUE, hri_sort_form, 0, form),
           (VALUE, int, 0, pass)){SWEEP_ROWS(from, (m.all - m.before) % 2 != 0)}

HR_KERNEL6(KERNEL(sweep_in_place), (INOUT, KEY, 2, one), (OUT, KEY, 2, two),
           (INOUT, int, 3, places), (INOUT, unsigned, 3, words),
           (VALUE, hri_sort_form, 0, form), (VALUE, int, 0, pass))
{
    SWEEP_ROWS(one, m.before % 2 != 0)
}
#endif

#ifdef __CUDACC__
#undef HR_BOUNDS_
#define HR_BOUNDS_
#endif

/* Copy rows that the passes have left elsewhere: with odd, those that an odd
 * number of passes have moved; else those that none has. */
#define SETTLE                                                                 \
    const hr_index units = HR_DOMAIN(0) / HR_EXTENT(to, 0);                    \
    UNIT_OF(from, units)                                                       \
    const hri_sort_moves m =                                                   \
        moves_of(&HR_AT3(places, row, 0, MOVES), HR_STRIDE(places, 1), 0);     \
    HR_ITEMS2(i, lane)                                                         \
    {                                                                          \
        const hr_index last = (odd ? m.all % 2 : m.all == 0) ? end : first;    \
        for (hr_index k = first + HR_LOCAL1; k < last; k += TALLIERS) {        \
            HR_AT2(to, row, k) = HR_AT2(from, row, k);                         \
            CARRY(HR_AT2(to_values, row, k) = HR_AT2(values, row, k);)         \
        }                                                                      \
    }

#ifdef CARRIED
HR_KERNEL7(KERNEL(settle), (IN, KEY, 2, from), (IN, CARRIED, 2, values),
           (INOUT, KEY, 2, to), (INOUT, CARRIED, 2, to_values),
           (IN, int, 3, places), (VALUE, hr_index, 0, unit),
           (VALUE, int, 0, odd)){SETTLE}
#else
HR_KERNEL5(KERNEL(settle), (IN, KEY, 2, from), (INOUT, KEY, 2, to),
           (IN, int, 3, places), (VALUE, hr_index, 0, unit),
           (VALUE, int, 0, odd))
{
    SETTLE
}
#endif

#endif

/* ---- short rows: up to BLOCK elements */

#ifdef ON_DEVICE

#ifdef CARRIED
typedef struct carried {
    CARRIED value[EACH];
} carried;
#endif

/* Values are read before any is written: they may be in place. */
#define SHORT(input, output)                                                   \
    BLOCK_MEMORY CARRY(HR_PRIVATE(carried, moved);) const hr_index row = TILE; \
    const int count = (int)HR_EXTENT(input, 1);                                \
    LOAD(input, 0, count)                                                      \
    for (int shift = 0; shift < bits; shift += 4) {                            \
        BIN_STEP(count, shift)                                                 \
    }                                                                          \
    CARRY(HR_ITEMS2(i, lane) {                                                 \
        HR_UNROLL                                                              \
        for (int j = 0; j < EACH; j++) {                                       \
            const int k = j * LANES + (int)HR_LOCAL1;                          \
            if (k < count) {                                                   \
                HR_P(moved).value[j] =                                         \
                    HR_AT2(values, row, from_place[PLACE(k)]);                 \
            }                                                                  \
        }                                                                      \
    } HR_BARRIER;)                                                             \
    HR_ITEMS2(i, lane)                                                         \
    {                                                                          \
        HR_UNROLL                                                              \
        for (int j = 0; j < EACH; j++) {                                       \
            const int k = j * LANES + (int)HR_LOCAL1;                          \
            if (k < count) {                                                   \
                HR_AT2(output, row, k) = held[PLACE(k)];                       \
                CARRY(HR_AT2(values, row, k) = HR_P(moved).value[j];)          \
            }                                                                  \
        }                                                                      \
    }

#else

/* An element of a short row, and where it was. */
typedef struct element {
    KEY key, bits;
    unsigned short from;
} element;

enum { FEW = 40 };

/* Insert one by one. */
HR_FUNCTION void sort_few(element *x, int count)
{
    for (int k = 1; k < count; k++) {
        const element own = x[k];
        int at = k;
        for (; at > 0 && x[at - 1].key > own.key; at--) {
            x[at] = x[at - 1];
        }
        x[at] = own;
    }
}

/* Move by one digit. False: all are alike, and nothing was moved. */
HR_FUNCTION _Bool move_by(const element *x, element *y, int count, int shift)
{
    int base[DIGITS] = {0};
    for (int k = 0; k < count; k++) {
        base[(int)(x[k].key >> shift) & (DIGITS - 1)]++;
    }
    if (base[(int)(x[0].key >> shift) & (DIGITS - 1)] == count) {
        return 0;
    }
    for (int d = 0, sum = 0; d < DIGITS; d++) {
        const int own = base[d];
        base[d] = sum;
        sum += own;
    }
    for (int k = 0; k < count; k++) {
        y[base[(int)(x[k].key >> shift) & (DIGITS - 1)]++] = x[k];
    }
    return 1;
}

/* Returns the one of the two that has the result. */
HR_FUNCTION element *sort_short(element *x, element *y, int count, int bits)
{
    if (count <= FEW) {
        sort_few(x, count);
        return x;
    }
    for (int shift = 0; shift < bits; shift += 8) {
        if (move_by(x, y, count, shift)) {
            element *z = x;
            x = y;
            y = z;
        }
    }
    return x;
}

#define SHORT(input, output)                                                   \
    const hr_index row = TILE;                                                 \
    const int count = (int)HR_EXTENT(input, 1);                                \
    HR_ITEMS2(i, lane)                                                         \
    {                                                                          \
        if (HR_LOCAL1 == 0) {                                                  \
            element x[BLOCK], y[BLOCK];                                        \
            CARRY(CARRIED moved[BLOCK];)                                       \
            for (int k = 0; k < count; k++) {                                  \
                x[k].bits = HR_AT2(input, row, k);                             \
                x[k].key = key_of(x[k].bits, form);                            \
                x[k].from = (unsigned short)k;                                 \
                CARRY(moved[k] = HR_AT2(values, row, k);)                      \
            }                                                                  \
            const element *z = sort_short(x, y, count, bits);                  \
            for (int k = 0; k < count; k++) {                                  \
                HR_AT2(output, row, k) = z[k].bits;                            \
                CARRY(HR_AT2(values, row, k) = moved[z[k].from];)              \
            }                                                                  \
        }                                                                      \
    }

#endif

/* bits: those of a key. As a constant it would make compilers of devices unroll
 * all steps. */
#ifdef CARRIED
HR_KERNEL4(KERNEL(short_in_place), (INOUT, KEY, 2, to),
           (INOUT, CARRIED, 2, values), (VALUE, hri_sort_form, 0, form),
           (VALUE, int, 0, bits)){SHORT(to, to)}
#else
HR_KERNEL4(KERNEL(short), (IN, KEY, 2, from), (OUT, KEY, 2, to),
           (VALUE, hri_sort_form, 0, form),
           (VALUE, int, 0, bits)){SHORT(from, to)}

HR_KERNEL3(KERNEL(short_in_place), (INOUT, KEY, 2, to),
           (VALUE, hri_sort_form, 0, form), (VALUE, int, 0, bits))
{
    SHORT(to, to)
}
#endif

/* ---- merging runs of one row */

#ifndef CARRIED

/* How many elements of a run are below some numbers: those that begin with a
 * prefix and go on with each digit. */
HR_KERNEL5(KERNEL(ranks), (IN, KEY, 2, run), (IN, unsigned long, 2, prefixes),
           (OUT, long, 2, ranks), (VALUE, hri_sort_form, 0, form),
           (VALUE, int, 0, shift))
{
    HR_EACH2(q, digit)
    {
        const KEY least =
            (KEY)(HR_AT2(prefixes, q, 0) | (unsigned long)digit << shift);
        hr_index low = 0, high = HR_EXTENT(run, 1);
        while (low < high) {
            const hr_index middle = low + (high - low) / 2;
            if (key_of(HR_AT2(run, 0, middle), form) < least) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        HR_AT2(ranks, q, digit) = low;
    }
}

#endif

/* An item makes `each` elements of the result. Of equal ones those of the left
 * run come first. The right run has its first `rights` elements. */
#define MERGE                                                                  \
    HR_EACH2(line, item)                                                       \
    {                                                                          \
        const hr_index lefts = HR_EXTENT(left, 1), all = lefts + rights;       \
        const hr_index first = item * each;                                    \
        const hr_index end = first + each < all ? first + each : all;          \
        hr_index i = first > rights ? first - rights : 0;                      \
        hr_index high = first < lefts ? first : lefts;                         \
        while (i < high) {                                                     \
            const hr_index middle = i + (high - i) / 2;                        \
            if (key_of(HR_AT2(left, line, middle), form) <=                    \
                key_of(HR_AT2(right, line, first - 1 - middle), form)) {       \
                i = middle + 1;                                                \
            } else {                                                           \
                high = middle;                                                 \
            }                                                                  \
        }                                                                      \
        for (hr_index k = first; k < end; k++) {                               \
            const hr_index j = k - i;                                          \
            const int take =                                                   \
                j >= rights ||                                                 \
                (i < lefts && key_of(HR_AT2(left, line, i), form) <=           \
                                  key_of(HR_AT2(right, line, j), form));       \
            HR_AT2(to, line, k) =                                              \
                take ? HR_AT2(left, line, i) : HR_AT2(right, line, j);         \
            CARRY(HR_AT2(to_values, line, k) =                                 \
                      take ? HR_AT2(left_values, line, i)                      \
                           : HR_AT2(right_values, line, j);)                   \
            i += take;                                                         \
        }                                                                      \
    }

#ifdef CARRIED
HR_KERNEL9(KERNEL(merge), (IN, KEY, 2, left), (IN, CARRIED, 2, left_values),
           (IN, KEY, 2, right), (IN, CARRIED, 2, right_values),
           (OUT, KEY, 2, to), (OUT, CARRIED, 2, to_values),
           (VALUE, hri_sort_form, 0, form), (VALUE, hr_index, 0, rights),
           (VALUE, hr_index, 0, each)){MERGE}
#else
HR_KERNEL6(KERNEL(merge), (IN, KEY, 2, left), (IN, KEY, 2, right),
           (OUT, KEY, 2, to), (VALUE, hri_sort_form, 0, form),
           (VALUE, hr_index, 0, rights), (VALUE, hr_index, 0, each))
{
    MERGE
}
#endif

/* ---- what long rows are planned with: bytes that a sort reads and writes.
 * These kernels are never launched. */

#ifdef PLANS

#define AT_ROW(view)  HR_AT2(view, unit, 0)
#define AT_CELL(view) HR_AT1(view, unit)

#define PLANS_OF(shape, rank, AT)                                              \
    HR_KERNEL3(hri_sort_plan_##shape, (IN, unsigned char, rank, a),            \
               (OUT, unsigned char, rank, b),                                  \
               (OUT, unsigned char, rank, temporary))                          \
    {                                                                          \
        HR_EACH2(unit, item)                                                   \
        {                                                                      \
            AT(b) = AT(a);                                                     \
            AT(temporary) = AT(a);                                             \
        }                                                                      \
    }                                                                          \
    HR_KERNEL2(hri_sort_plan_##shape##_in_place,                               \
               (INOUT, unsigned char, rank, b),                                \
               (OUT, unsigned char, rank, temporary))                          \
    {                                                                          \
        HR_EACH2(unit, item)                                                   \
        {                                                                      \
            AT(temporary) = AT(b);                                             \
        }                                                                      \
    }                                                                          \
    HR_KERNEL4(hri_sort_plan_##shape##_by_key,                                 \
               (INOUT, unsigned char, rank, keys),                             \
               (OUT, unsigned char, rank, temporary),                          \
               (INOUT, unsigned char, rank, values),                           \
               (OUT, unsigned char, rank, temporary_values))                   \
    {                                                                          \
        HR_EACH2(unit, item)                                                   \
        {                                                                      \
            AT(temporary) = AT(keys);                                          \
            AT(temporary_values) = AT(values);                                 \
        }                                                                      \
    }

PLANS_OF(cells, 1, AT_CELL) PLANS_OF(rows, 2, AT_ROW)

#endif

#endif
