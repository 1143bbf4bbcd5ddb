/* SPDX-License-Identifier: MIT */
/* Stable sorts of rows by sweeps: one read counts all digits, then each digit
 * takes a read and a write [Adinets2022].
 *
 * Tiles take blocks of rows in the order of their tickets. A tile tells how
 * often its block has each digit. Then it looks back at the blocks before,
 * adding what they tell, up to one that tells the sum of all so far. So it
 * waits for tiles that have started. Devices on which these go on all the same
 * run it: those of CUDA. The host's form is for tiles that come one by one.
 * Behind sort_keys.c. */
#if defined(HR_HAS_DOUBLE) && !defined(__OPENCL_C_VERSION__)

#ifdef CARRIED
#define WITH_VALUES 1
#define WIDE        (sizeof(KEY) > 4 || sizeof(CARRIED) > 4)
#else
#define WITH_VALUES 0
#define WIDE        (sizeof(KEY) > 4)
#endif

/* The first four are as in src/calls/sort_sweep.c. */
enum {
    TALLIERS = 512,                           /* items of a tile that counts */
    SWEEPERS = 384,                           /* and of one that sweeps */
    SWEEP = WIDE ? 15 : 19 + 4 * WITH_VALUES, /* elements of an item */
    SWEPT = SWEEPERS * SWEEP,                 /* of a block */
    MOVES = DIGITS,
    TICKET,
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

#ifdef PLACES /* once for all sizes */

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
