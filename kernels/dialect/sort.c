/* SPDX-License-Identifier: MIT */
/* Stable sorts of rows by the bits of their keys, 8 bits a pass, the lowest
 * first [Satish2009]. A tile takes a unit: a part of a row. It counts the
 * unit's digits (count). A scan of the counts tells where the unit's elements
 * of each digit go, and the tile moves them there (scatter). Devices sort a
 * block in the tile's memory first, so that neighbours go to neighbours. Short
 * rows are sorted in the tile's memory alone (short). Launched over units x
 * LANES in tiles of 1 x LANES. Behind sort_keys.c. */
#if defined(HR_HAS_DOUBLE) /* as hr_scan, whose kernel scans the counts */

enum {
    LANES = 256, /* as in src/calls/sort.h; one for each digit */
    EACH = sizeof(KEY) > 4 ? 8 : 16,
    BLOCK = LANES * EACH,
    BINS = 16 /* of a step, which sorts by 4 bits */
};

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

#endif
