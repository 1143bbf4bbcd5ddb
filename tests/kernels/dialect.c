/* SPDX-License-Identifier: MIT */
/* Kernels that use everything in the dialect beside views and barriers. */
#include <headrace/dialect.h>

/* ---- numbers of every type */

typedef struct mixture {
    char a;
    short b;
    double c;
    long d;
} mixture;

HR_KERNEL8(integers, (IN, signed char, 1, a), (IN, unsigned char, 1, b),
           (IN, short, 1, c), (IN, unsigned short, 1, d), (IN, int, 1, e),
           (IN, unsigned, 1, f), (IN, unsigned long, 1, g), (OUT, long, 1, sum))
{
    HR_EACH1(i)
    {
        HR_AT1(sum, i) = HR_AT1(a, i) + HR_AT1(b, i) + HR_AT1(c, i) +
                         HR_AT1(d, i) + HR_AT1(e, i) + (long)HR_AT1(f, i) +
                         (long)HR_AT1(g, i);
    }
}

/* Each way to write long long. Compilers of OpenCL reserve it for 128 bits. */
HR_KERNEL3(longs, (IN, unsigned long long, 1, a), (VALUE, long long, 0, b),
           (OUT, long long int, 1, sum))
{
    HR_EACH1(i)
    {
        long unsigned /* and */ long c = HR_AT1(a, i) ^ 0xffULL;
        HR_AT1(sum, i) = (signed long long)c + b - 1ll +
                         (long)sizeof(long long) + (long long)0LLU;
    }
}

HR_KERNEL8(values, (VALUE, char, 0, a), (VALUE, short, 0, b),
           (VALUE, unsigned, 0, c), (VALUE, hr_index, 0, d),
           (VALUE, float, 0, e), (VALUE, double, 0, f), (VALUE, mixture, 0, g),
           (OUT, double, 1, sum))
{
    HR_EACH1(i)
    {
        HR_AT1(sum, i) = a + b + (double)c + (double)d + e + f + g.a + g.b +
                         g.c + (double)g.d + (double)i;
    }
}

/* ---- sub-groups: width, lane, and what each lane receives */

#define SUBGROUPS(name, type)                                                  \
    HR_KERNEL2(name, (IN, type, 1, from), (OUT, type, 2, to))                  \
    {                                                                          \
        HR_PRIVATE(type, x);                                                   \
        HR_ITEMS1(i)                                                           \
        {                                                                      \
            HR_P(x) = HR_INSIDE1(from, i) ? HR_AT1(from, i) : (type)0;         \
        }                                                                      \
        HR_ITEMS1(i)                                                           \
        {                                                                      \
            const int width = HR_SUBGROUP_WIDTH, lane = HR_SUBGROUP_LANE;      \
            const type last = HR_SUBGROUP_BROADCAST(x, width - 1);             \
            const type mirrored = HR_SUBGROUP_SHUFFLE(x, width - 1 - lane);    \
            const type sum = HR_SUBGROUP_SUM(x);                               \
            const type least = HR_SUBGROUP_MIN(x), most = HR_SUBGROUP_MAX(x);  \
            if (i < HR_DOMAIN(0)) {                                            \
                HR_AT2(to, i, 0) = (type)width;                                \
                HR_AT2(to, i, 1) = (type)lane;                                 \
                HR_AT2(to, i, 2) = last;                                       \
                HR_AT2(to, i, 3) = mirrored;                                   \
                HR_AT2(to, i, 4) = sum;                                        \
                HR_AT2(to, i, 5) = least;                                      \
                HR_AT2(to, i, 6) = most;                                       \
            }                                                                  \
        }                                                                      \
    }
SUBGROUPS(subgroups_int, int)
SUBGROUPS(subgroups_unsigned, unsigned)
SUBGROUPS(subgroups_long, hr_index)
SUBGROUPS(subgroups_float, float)
SUBGROUPS(subgroups_double, double)

/* ---- atomics */

#define ATOMICS(name, type)                                                    \
    HR_KERNEL3(name, (IN, type, 1, x), (INOUT, type, 1, at),                   \
               (INOUT, int, 1, winner))                                        \
    {                                                                          \
        HR_EACH1(i)                                                            \
        {                                                                      \
            const type value = HR_AT1(x, i);                                   \
            HR_ATOMIC_ADD(HR_AT1(at, 0), value);                               \
            HR_ATOMIC_MIN(HR_AT1(at, 1), value);                               \
            HR_ATOMIC_MAX(HR_AT1(at, 2), value);                               \
            if (HR_ATOMIC_EXCHANGE(HR_AT1(at, 3), (type)1) == (type)0) {       \
                HR_ATOMIC_ADD(HR_AT1(winner, 0), 1);                           \
            }                                                                  \
            if (HR_ATOMIC_COMPARE_EXCHANGE(HR_AT1(at, 4), (type)7, value) ==   \
                (type)7) {                                                     \
                HR_ATOMIC_EXCHANGE(HR_AT1(winner, 1), (int)i);                 \
            }                                                                  \
        }                                                                      \
    }
ATOMICS(atomics_int, int)
ATOMICS(atomics_unsigned, unsigned)
ATOMICS(atomics_float, float)
ATOMICS(atomics_long, hr_index)
ATOMICS(atomics_double, double)

#define BITS(name, type)                                                       \
    HR_KERNEL2(name, (IN, type, 1, x), (INOUT, type, 1, at))                   \
    {                                                                          \
        HR_EACH1(i)                                                            \
        {                                                                      \
            HR_ATOMIC_AND(HR_AT1(at, 0), HR_AT1(x, i));                        \
            HR_ATOMIC_OR(HR_AT1(at, 1), HR_AT1(x, i));                         \
            HR_ATOMIC_XOR(HR_AT1(at, 2), HR_AT1(x, i));                        \
        }                                                                      \
    }
BITS(bits_int, int)
BITS(bits_unsigned, unsigned)
BITS(bits_long, hr_index)

/* The same in memory of the tile, and then once for the tile. */
#define TILE_ATOMICS(name, type)                                               \
    HR_KERNEL3(name, (IN, type, 1, x), (INOUT, type, 1, at),                   \
               (INOUT, int, 1, winner))                                        \
    {                                                                          \
        HR_TILE_STATIC(type, own, [5]);                                        \
        HR_TILE_STATIC(int, won, [2]);                                         \
        HR_ITEMS1(i)                                                           \
        {                                                                      \
            if (HR_LOCAL0 == 0 && i >= 0) {                                    \
                own[0] = own[2] = own[3] = (type)0;                            \
                own[1] = (type)1000000;                                        \
                own[4] = (type)7;                                              \
                won[0] = won[1] = 0;                                           \
            }                                                                  \
        }                                                                      \
        HR_TILE_BARRIER;                                                       \
        HR_EACH1(i)                                                            \
        {                                                                      \
            const type value = HR_AT1(x, i);                                   \
            HR_ATOMIC_ADD(own[0], value);                                      \
            HR_ATOMIC_MIN(own[1], value);                                      \
            HR_ATOMIC_MAX(own[2], value);                                      \
            if (HR_ATOMIC_EXCHANGE(own[3], (type)1) == (type)0) {              \
                HR_ATOMIC_ADD(won[0], 1);                                      \
            }                                                                  \
            if (HR_ATOMIC_COMPARE_EXCHANGE(own[4], (type)7, value) ==          \
                (type)7) {                                                     \
                HR_ATOMIC_EXCHANGE(won[1], (int)i);                            \
            }                                                                  \
        }                                                                      \
        HR_TILE_BARRIER;                                                       \
        HR_ITEMS1(i)                                                           \
        {                                                                      \
            if (HR_LOCAL0 == 0 && i >= 0) {                                    \
                HR_ATOMIC_ADD(HR_AT1(at, 0), own[0]);                          \
                HR_ATOMIC_MIN(HR_AT1(at, 1), own[1]);                          \
                HR_ATOMIC_MAX(HR_AT1(at, 2), own[2]);                          \
                if (HR_ATOMIC_EXCHANGE(HR_AT1(at, 3), own[3]) == (type)0) {    \
                    HR_ATOMIC_ADD(HR_AT1(winner, 0), won[0]);                  \
                }                                                              \
                if (HR_ATOMIC_COMPARE_EXCHANGE(HR_AT1(at, 4), (type)7,         \
                                               own[4]) == (type)7) {           \
                    HR_ATOMIC_EXCHANGE(HR_AT1(winner, 1), won[1]);             \
                }                                                              \
            }                                                                  \
        }                                                                      \
    }
TILE_ATOMICS(tile_atomics_int, int)
TILE_ATOMICS(tile_atomics_unsigned, unsigned)
TILE_ATOMICS(tile_atomics_float, float)
TILE_ATOMICS(tile_atomics_long, hr_index)
TILE_ATOMICS(tile_atomics_double, double)

#define TILE_BITS(name, type)                                                  \
    HR_KERNEL2(name, (IN, type, 1, x), (INOUT, type, 1, at))                   \
    {                                                                          \
        HR_TILE_STATIC(type, own, [3]);                                        \
        HR_ITEMS1(i)                                                           \
        {                                                                      \
            if (HR_LOCAL0 == 0 && i >= 0) {                                    \
                own[0] = ~(type)0;                                             \
                own[1] = own[2] = (type)0;                                     \
            }                                                                  \
        }                                                                      \
        HR_TILE_BARRIER;                                                       \
        HR_EACH1(i)                                                            \
        {                                                                      \
            HR_ATOMIC_AND(own[0], HR_AT1(x, i));                               \
            HR_ATOMIC_OR(own[1], HR_AT1(x, i));                                \
            HR_ATOMIC_XOR(own[2], HR_AT1(x, i));                               \
        }                                                                      \
        HR_TILE_BARRIER;                                                       \
        HR_ITEMS1(i)                                                           \
        {                                                                      \
            if (HR_LOCAL0 == 0 && i >= 0) {                                    \
                HR_ATOMIC_AND(HR_AT1(at, 0), own[0]);                          \
                HR_ATOMIC_OR(HR_AT1(at, 1), own[1]);                           \
                HR_ATOMIC_XOR(HR_AT1(at, 2), own[2]);                          \
            }                                                                  \
        }                                                                      \
    }
TILE_BITS(tile_bits_int, int)
TILE_BITS(tile_bits_unsigned, unsigned)
TILE_BITS(tile_bits_long, hr_index)

enum { BINS = 8 };

/* Counted in the tile first; each item also draws a ticket. */
HR_KERNEL4(histogram, (IN, int, 1, x), (INOUT, int, 1, bins),
           (INOUT, int, 1, drawn), (INOUT, int, 1, tickets))
{
    HR_TILE_STATIC(int, own, [BINS]);
    HR_TILE_STATIC(float, sum, [1]);
    HR_ITEMS1(i)
    {
        if (HR_LOCAL0 < BINS && i >= 0) {
            own[HR_LOCAL0] = 0;
            sum[0] = 0.0f;
        }
    }
    HR_TILE_BARRIER;
    HR_EACH1(i)
    {
        HR_ATOMIC_ADD(own[HR_AT1(x, i)], 1);
        HR_ATOMIC_ADD(sum[0], 1.0f);
        HR_AT1(tickets, HR_ATOMIC_ADD(HR_AT1(drawn, 0), 1)) = (int)i;
    }
    HR_TILE_BARRIER;
    HR_ITEMS1(i)
    {
        if (HR_LOCAL0 < BINS && i >= 0) {
            HR_ATOMIC_ADD(HR_AT1(bins, HR_LOCAL0), own[HR_LOCAL0]);
        }
        if (HR_LOCAL0 == 0) {
            HR_ATOMIC_ADD(HR_AT1(bins, BINS), (int)sum[0]);
        }
    }
}

/* ---- half precision, complex numbers, mathematics */

HR_KERNEL4(halves, (IN, hr_f16, 1, a), (IN, hr_bf16, 1, b),
           (OUT, float, 1, wide_a), (OUT, float, 1, wide_b))
{
    HR_EACH1(i)
    {
        HR_AT1(wide_a, i) = hr_f16_to_f32(HR_AT1(a, i));
        HR_AT1(wide_b, i) = hr_bf16_to_f32(HR_AT1(b, i));
    }
}

HR_KERNEL3(narrowed, (IN, float, 1, x), (OUT, hr_f16, 1, a),
           (OUT, hr_bf16, 1, b))
{
    HR_EACH1(i)
    {
        HR_AT1(a, i) = hr_f32_to_f16(HR_AT1(x, i));
        HR_AT1(b, i) = hr_f32_to_bf16(HR_AT1(x, i));
    }
}

#define COMPLEX(name, type)                                                    \
    HR_KERNEL3(name, (IN, type, 1, a), (IN, type, 1, b), (OUT, type, 2, c))    \
    {                                                                          \
        HR_EACH1(i)                                                            \
        {                                                                      \
            const type x = HR_AT1(a, i), y = HR_AT1(b, i);                     \
            HR_AT2(c, i, 0) = type##_add(x, y);                                \
            HR_AT2(c, i, 1) = type##_sub(x, y);                                \
            HR_AT2(c, i, 2) = type##_mul(x, y);                                \
            HR_AT2(c, i, 3) = type##_div(x, y);                                \
            HR_AT2(c, i, 4) = type##_mad(x, y, x);                             \
            HR_AT2(c, i, 5) = type##_of(type##_conj(x).im, type##_norm(y));    \
        }                                                                      \
    }
COMPLEX(complex_single, hr_c32)
COMPLEX(complex_double, hr_c64)

HR_KERNEL2(fast, (IN, float, 1, from), (OUT, float, 2, to))
{
    HR_EACH1(i)
    {
        const float x = HR_AT1(from, i);
        HR_AT2(to, i, 0) = HR_FAST_SQRT(x);
        HR_AT2(to, i, 1) = HR_FAST_RSQRT(x);
        HR_AT2(to, i, 2) = HR_FAST_SIN(x);
        HR_AT2(to, i, 3) = HR_FAST_COS(x);
        HR_AT2(to, i, 4) = HR_FAST_EXP(x);
        HR_AT2(to, i, 5) = HR_FAST_LOG(x);
        HR_AT2(to, i, 6) = HR_FAST_POW(x, 1.5f);
        HR_AT2(to, i, 7) = HR_FAST_DIVIDE(1.0f, x);
    }
}

HR_KERNEL2(precise, (IN, double, 1, from), (OUT, double, 2, to))
{
    HR_EACH1(i)
    {
        const double x = HR_AT1(from, i);
        HR_AT2(to, i, 0) = sqrt(x);
        HR_AT2(to, i, 1) = 1.0 / sqrt(x);
        HR_AT2(to, i, 2) = sin(x);
        HR_AT2(to, i, 3) = cos(x);
        HR_AT2(to, i, 4) = exp(x);
        HR_AT2(to, i, 5) = log(x);
        HR_AT2(to, i, 6) = pow(x, 1.5);
        HR_AT2(to, i, 7) = fma(x, x, 1.0);
    }
}

/* ---- tables, and fences */

HR_CONSTANT float weights[3] = {0.25f, 0.5f, 0.25f};

HR_KERNEL3(smoothed, (IN, float, 1, from), (OUT, float, 1, to),
           (TILE, float, 0, near))
{
    HR_ITEMS1(i)
    {
        near[HR_LOCAL0 + 1] = HR_INSIDE1(from, i) ? HR_AT1(from, i) : 0.0f;
        if (HR_LOCAL0 == 0) {
            near[0] = HR_INSIDE1(from, i - 1) ? HR_AT1(from, i - 1) : 0.0f;
            near[HR_TILE(0) + 1] = HR_INSIDE1(from, i + HR_TILE(0))
                                       ? HR_AT1(from, i + HR_TILE(0))
                                       : 0.0f;
        }
        HR_FENCE;
    }
    HR_TILE_BARRIER;
    HR_EACH1(i)
    {
        float sum = 0.0f;
        for (int k = 0; k < 3; k++) {
            sum += weights[k] * near[HR_LOCAL0 + k];
        }
        HR_AT1(to, i) = sum;
    }
}

/* ---- blocks of items without braces, on both sides of an else
 * NOLINTBEGIN(readability-braces-around-statements) */

HR_KERNEL2(either1, (VALUE, int, 0, which), (OUT, int, 1, y))
{
    if (which == 1)
        HR_EACH1(i) HR_AT1(y, i) = 1;
    else if (which == 2)
        HR_ITEMS1(i)
        {
            if (HR_INSIDE1(y, i)) {
                HR_AT1(y, i) = 2;
            }
        }
    else
        HR_EACH1(i) HR_AT1(y, i) = 3;
}

HR_KERNEL2(either2, (VALUE, int, 0, which), (OUT, int, 2, y))
{
    if (which == 1)
        HR_EACH2(i, j) HR_AT2(y, i, j) = 1;
    else if (which == 2)
        HR_ITEMS2(i, j)
        {
            if (HR_INSIDE2(y, i, j)) {
                HR_AT2(y, i, j) = 2;
            }
        }
    else
        HR_EACH2(i, j) HR_AT2(y, i, j) = 3;
}

HR_KERNEL2(either3, (VALUE, int, 0, which), (OUT, int, 3, y))
{
    if (which == 1)
        HR_EACH3(i, j, k) HR_AT3(y, i, j, k) = 1;
    else if (which == 2)
        HR_ITEMS3(i, j, k)
        {
            if (HR_INSIDE3(y, i, j, k)) {
                HR_AT3(y, i, j, k) = 2;
            }
        }
    else
        HR_EACH3(i, j, k) HR_AT3(y, i, j, k) = 3;
}
/* NOLINTEND(readability-braces-around-statements) */
