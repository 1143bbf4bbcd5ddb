/* SPDX-License-Identifier: MIT */
/* Scans of rank 1 in one launch [Merrill2016], where tiles may wait for those
 * that have started, which OpenCL does not promise. `words` tells what was
 * found so far: a counter of tiles, and two words for each unit, group of 32
 * units and section. They have the launch's number, so that none of them must
 * be set before. The order is that of scan.c. Behind scan_numbers.c. */
#if defined(HR_HAS_DOUBLE) && !defined(__OPENCL_C_VERSION__)

#if defined(__CUDACC__)

/* A warp takes a block, and an item the elements of two lanes. They lie in
 * different banks of memory. */
enum { WARP = 32, WARPS = UNIT / BLOCK, TILE = WARP * WARPS, OWN = 2 * EACH };
enum { TILES_AT_ONCE = sizeof(RESULT) > 4 ? 6 : 10, AT_ONCE = 8 };
#define PLACE(k) ((k) + (k) / OWN)

/* Launched in tiles of 1 x TILE. */
#undef HR_BOUNDS_
#define HR_BOUNDS_ __launch_bounds__(TILE, TILES_AT_ONCE)

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

/* A word, which may not be told yet. */
typedef struct hri_scan_word {
    unsigned long low, high;
} hri_scan_word;

HR_FUNCTION hri_scan_word hear(const unsigned long *word)
{
    hri_scan_word w;
    asm volatile("ld.volatile.global.v2.u64 {%0, %1}, [%2];"
                 : "=l"(w.low), "=l"(w.high)
                 : "l"(word)
                 : "memory");
    return w;
}

/* Whether the launch has told it. */
HR_FUNCTION bool is_told(const hri_scan_word w, unsigned launch, NUMBER *x)
{
    const unsigned long bits = w.high << 32 | (w.low & 0xffffffffUL);
    const bool told = w.low >> 32 == launch && w.high >> 32 == launch;
    if (told) {
        *x = *(const NUMBER *)&bits;
    }
    return told;
}

HR_FUNCTION NUMBER of_lane(NUMBER x, int lane)
{
    return __shfl_sync(~0u, x, lane);
}

/* What 32 neighbours give. pair[b]: what the 2^b of them give that stand before
 * p rounded down to 2^b. */
template <int kind>
HR_FUNCTION NUMBER join_pairs(NUMBER x, int p, int lane, NUMBER *pair)
{
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

/* What is before a unit that gives `total`. All lanes of a warp come here. They
 * listen to the units of the group before this one, to the groups of the
 * section before this one, and to the section before this one, all at once. */
template <int kind>
HR_FUNCTION NUMBER find_before(unsigned long *words, unsigned launch, int unit,
                               int units, NUMBER total, NUMBER start, int lane)
{
    unsigned long *group = words + 2 * units;
    unsigned long *section = group + 2 * ((units + WARP - 1) / WARP);
    const int p = unit % WARP, q = unit / WARP % WARP, s = unit / SECTION;
    const unsigned long *near_word = words + 2 * (unit - p + min(lane, p));
    const unsigned long *far_word =
        group + 2 * (unit / WARP - q + min(lane, q));
    bool near_told = lane >= p, far_told = lane >= q, told = s == 0;
    NUMBER near_one = total, far_one = total, carry = start, pair[5];
    if (lane == 0) {
        tell(words + 2 * unit, launch, total);
    }
    while (__any_sync(~0u, !near_told)) {
        const hri_scan_word near_said = hear(near_word);
        const hri_scan_word far_said = hear(far_word);
        const hri_scan_word said = hear(section + 2 * s);
        near_told = near_told || is_told(near_said, launch, &near_one);
        far_told = far_told || is_told(far_said, launch, &far_one);
        told = told || is_told(said, launch, &carry);
    }
    const bool last = p == WARP - 1;
    if (last) {
        const NUMBER of_group = join_pairs<kind>(near_one, p, lane, pair);
        far_one = lane >= q ? of_group : far_one;
        if (lane == 0) {
            tell(group + 2 * (unit / WARP), launch, of_group);
        }
    }
    while (__any_sync(~0u, !(far_told && told))) {
        const hri_scan_word far_said = hear(far_word);
        const hri_scan_word said = hear(section + 2 * s);
        far_told = far_told || is_told(far_said, launch, &far_one);
        told = told || is_told(said, launch, &carry);
    }
    const NUMBER of_section = join_pairs<kind>(far_one, q, lane, pair);
    if (last && q == WARP - 1 && lane == 0) {
        tell(section + 2 * (s + 1), launch, join<kind>(carry, of_section));
    }
    carry = after<kind>(carry, q, pair);
    (void)join_pairs<kind>(near_one, p, lane, pair);
    return after<kind>(carry, p, pair);
}

/* Start to bring an element to the tile's memory. */
#if __CUDA_ARCH__ >= 800
#define COPIES (sizeof(ELEMENT) == sizeof(RESULT) && sizeof(RESULT) >= 4)
HR_FUNCTION void begin_copy(const ELEMENT *from, RESULT *to)
{
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(
                     (unsigned)__cvta_generic_to_shared(to)),
                 "l"(from), "n"(COPIES ? sizeof(RESULT) : 4)
                 : "memory");
}
HR_FUNCTION void end_copies(void)
{
    asm volatile("cp.async.wait_all;" ::: "memory");
}
#else
#define COPIES false
HR_FUNCTION void begin_copy(const ELEMENT *from, RESULT *to)
{
    *to = (RESULT)*from;
}
HR_FUNCTION void end_copies(void)
{
}
#endif

/* Bring the warp's block. From its start on, `count` elements exist: all of
 * the block, fewer, or less than none. */
HR_FUNCTION void bring(const ELEMENT *from, int count, RESULT *held, int lane)
{
    if (count < BLOCK) {
        for (int k = lane; k < count; k += WARP) {
            held[PLACE(k)] = (RESULT)from[k];
        }
    } else if (COPIES) {
        HR_UNROLL
        for (int j = 0; j < OWN; j++) {
            begin_copy(from + lane + j * WARP, held + PLACE(lane + j * WARP));
        }
        end_copies();
    } else {
        _Pragma("unroll 1") for (int at = lane; at < BLOCK;
                                 at += AT_ONCE * WARP)
        {
            ELEMENT x[AT_ONCE];
            HR_UNROLL
            for (int j = 0; j < AT_ONCE; j++) {
                x[j] = from[at + j * WARP];
            }
            HR_UNROLL
            for (int j = 0; j < AT_ONCE; j++) {
                held[PLACE(at + j * WARP)] = (RESULT)x[j];
            }
        }
    }
    __syncwarp();
}

template <int kind>
HR_FUNCTION void scan_unit(const ELEMENT *from, RESULT *to, int count,
                           RESULT *held, NUMBER *totals, unsigned long *words,
                           unsigned launch, int unit, int units, NUMBER start,
                           int exclusive)
{
    const int warp = (int)threadIdx.x / WARP, lane = (int)threadIdx.x % WARP;
    from += warp * BLOCK;
    to += warp * BLOCK;
    held += PLACE(warp * BLOCK);
    count -= warp * BLOCK;
    bring(from, count, held, lane);
    const int own = count - lane * OWN;
    RESULT *mine = held + PLACE(lane * OWN);
    NUMBER even = nothing<kind>(), odd = even;
    _Pragma("unroll 4") for (int j = 0; j < EACH; j++)
    {
        even = j < own ? join<kind>(even, NUMBER_OF(mine[j])) : even;
        odd = j + EACH < own ? join<kind>(odd, NUMBER_OF(mine[j + EACH])) : odd;
    }
    odd = join<kind>(even, odd);
    HR_UNROLL
    for (int apart = 1; apart < WARP; apart *= 2) {
        const NUMBER y = of_lane(odd, (lane & -apart) - 1);
        if ((lane & apart) != 0) {
            even = join<kind>(y, even);
            odd = join<kind>(y, odd);
        }
    }
    if (lane == WARP - 1) {
        totals[warp] = odd;
    }
    __syncthreads();
    if (warp == 0) {
        NUMBER total = totals[0];
        HR_UNROLL
        for (int w = 1; w < WARPS; w++) {
            total = join<kind>(total, totals[w]);
        }
        total =
            find_before<kind>(words, launch, unit, units, total, start, lane);
        if (lane == 0) {
            totals[WARPS] = total;
        }
    }
    __syncthreads();
    NUMBER carry = totals[WARPS];
    for (int w = 0; w < warp; w++) {
        carry = join<kind>(carry, totals[w]);
    }
    odd = of_lane(odd, lane - 1);
    const NUMBER before = lane > 0 ? join<kind>(carry, odd) : carry;
    const NUMBER between = join<kind>(carry, even);
    even = odd = nothing<kind>();
    _Pragma("unroll 2") for (int j = 0; j < EACH; j++)
    {
        const int k = j + EACH;
        const NUMBER x = j < own ? join<kind>(even, NUMBER_OF(mine[j])) : even;
        const NUMBER y = k < own ? join<kind>(odd, NUMBER_OF(mine[k])) : odd;
        mine[j] = (RESULT)join<kind>(before, exclusive ? even : x);
        mine[k] = (RESULT)join<kind>(between, exclusive ? odd : y);
        even = x;
        odd = y;
    }
    __syncwarp();
    if (count >= BLOCK) {
        _Pragma("unroll 4") for (int k = lane; k < BLOCK; k += WARP)
        {
            to[k] = held[PLACE(k)];
        }
    } else {
        for (int k = lane; k < count; k += WARP) {
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
    HR_TILE_STATIC(RESULT, held, [PLACE(UNIT)]);                               \
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
