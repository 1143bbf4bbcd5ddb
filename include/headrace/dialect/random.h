/* SPDX-License-Identifier: MIT */
/** @file dialect/random.h
 *  Random numbers in kernels, by Philox4x32-10 [Salmon2011] (J. K. Salmon and
 *  others, Parallel random numbers: as easy as 1, 2, 3, SC 2011). It makes them
 *  of counters, so there is no state to keep. Any item computes any number.
 *
 *      const hr_random4 r = hr_philox(seed, stream, (unsigned long)i);
 *      HR_AT1(x, i) = hr_normal_f32(r.word[0]);
 *
 *  hr_philox(seed, stream, counter) gives four numbers of 32 bits, r.word[0] to
 *  r.word[3]. The seed is Philox's key. The counter is the low half of Philox's
 *  counter, the stream the high half. Take one stream for each use of a seed,
 *  such as an array or a time step.
 *
 *  hr_random_u64(r, 0) and hr_random_u64(r, 1) are 64 bits: words 0 and 1, and
 *  words 2 and 3. The low word comes first.
 *
 *  hr_uniform_f32(bits) makes of 32 random bits a multiple of 2^-24 in [0, 1).
 *  hr_uniform_f64(bits) makes of 64 bits a multiple of 2^-53.
 *
 *  hr_normal_f32(bits) and hr_normal_f64(bits) make normal numbers of mean 0
 *  and variance 1. The first bit is the sign. The other 31 or 63 bits, m, say
 *  where the size lies: z = sqrt(2) erfinv((m + 1/2) / 2^31), or 2^63. Floats
 *  go up to 6.34, doubles to 9.16. The error is below 0.6 units in the last
 *  place.
 *
 *  All of them give the same bits on every device and with any options of
 *  compilers, also without HR_REPRODUCIBLE. They compute in integers and end
 *  with a conversion and an exact scaling. Those of double exist where
 *  HR_HAS_DOUBLE is defined. */
#ifndef HEADRACE_DIALECT_RANDOM_H
#define HEADRACE_DIALECT_RANDOM_H

typedef struct hr_random4 {
    unsigned word[4];
} hr_random4;

HR_FUNCTION hr_random4 hr_philox(unsigned long seed, unsigned long stream,
                                 unsigned long counter)
{
    unsigned k0 = (unsigned)seed, k1 = (unsigned)(seed >> 32);
    unsigned c0 = (unsigned)counter, c1 = (unsigned)(counter >> 32);
    unsigned c2 = (unsigned)stream, c3 = (unsigned)(stream >> 32);
    hr_random4 r;
    HR_UNROLL
    for (int i = 0; i < 10; i++) {
        const unsigned long p0 = 0xD2511F53UL * c0, p1 = 0xCD9E8D57UL * c2;
        c0 = (unsigned)(p1 >> 32) ^ c1 ^ k0;
        c2 = (unsigned)(p0 >> 32) ^ c3 ^ k1;
        c1 = (unsigned)p1;
        c3 = (unsigned)p0;
        k0 += 0x9E3779B9U;
        k1 += 0xBB67AE85U;
    }
    r.word[0] = c0;
    r.word[1] = c1;
    r.word[2] = c2;
    r.word[3] = c3;
    return r;
}

HR_FUNCTION unsigned long hr_random_u64(hr_random4 r, int which)
{
    return which == 0 ? (unsigned long)r.word[1] << 32 | r.word[0]
                      : (unsigned long)r.word[3] << 32 | r.word[2];
}

HR_FUNCTION float hr_uniform_f32(unsigned bits)
{
    return (float)(int)(bits >> 8) * 5.9604644775390625e-8f;
}

/* ---- integers that backends have other names for */

#if defined(__OPENCL_C_VERSION__)

HR_FUNCTION int hr_leading_zeros_(unsigned long x)
{
    return (int)clz(x);
}

HR_FUNCTION long hr_high_(long x, long y)
{
    return mul_hi(x, y);
}

HR_FUNCTION unsigned long hr_unsigned_high_(unsigned long x, unsigned long y)
{
    return mul_hi(x, y);
}

#elif defined(__CUDACC__)

HR_FUNCTION int hr_leading_zeros_(unsigned long x)
{
    return __clzll((long long)x);
}

HR_FUNCTION long hr_high_(long x, long y)
{
    return (long)__mul64hi(x, y);
}

HR_FUNCTION unsigned long hr_unsigned_high_(unsigned long x, unsigned long y)
{
    return (unsigned long)__umul64hi(x, y);
}

#else

HR_FUNCTION int hr_leading_zeros_(unsigned long x)
{
    return __builtin_clzl(x);
}

__extension__ typedef __int128 hr_wide_;
__extension__ typedef unsigned __int128 hr_unsigned_wide_;

HR_FUNCTION long hr_high_(long x, long y)
{
    return (long)((hr_wide_)x * y >> 64);
}

HR_FUNCTION unsigned long hr_unsigned_high_(unsigned long x, unsigned long y)
{
    return (unsigned long)((hr_unsigned_wide_)x * y >> 64);
}

#endif

/* ---- the normal distribution
 *
 * z = sqrt(2) erfinv(x) for x in (0, 1), in steps:
 *
 * 1. 1 - x^2 = (1 - x) (1 + x) is exact. It is 2^-zeros times a number in
 *    [1/2, 1), by which m stands below.
 * 2. depth = -log2(1 - x^2), by a polynomial in m.
 * 3. ratio = z / x is a smooth function of the depth [Giles2010] (M. Giles,
 *    Approximating the erfinv function, GPU Computing Gems 2). It is a
 *    polynomial for depths from 0 to 2, and another for each octave from there.
 * 4. z = x ratio.
 *
 * Polynomials are interpolated at Chebyshev points (tools/normal-tables). Their
 * variables m and t are halves of what goes from -1 to 1, and have all their
 * bits behind the point. Comments tell how many bits other integers have there.
 */

/* -log2((3 + 2 t) / 4): 30 bits */
HR_CONSTANT int hr_log_f32_[10] = {
    445643128, -1032721359, 344239123, -152993948, 76539551,
    -40838626, 22211268,    -12598649, 9529133,    -5813123};
/* z / x: 28 bits */
HR_CONSTANT int hr_normal_f32_[5][9] = {
    {399288069, 128696210, 4730001, -2489058, 50638, 87003, -7432, -3058, 466},
    {530352882, 131264763, -1724124, -1641598, 306348, 10315, -12628, 1285,
     309},
    {719343095, 237923911, -21305998, -1070370, 2395023, -931555, 113662, 69507,
     -39216},
    {1031432310, 364638392, -56344495, 15135629, -3392760, -416768, 1299602,
     -1150331, 560944},
    {1487828807, 521115484, -86104528, 27962649, -11225690, 4981023, -2331463,
     1105280, -384682}};

HR_FUNCTION float hr_normal_f32(unsigned bits)
{
    const unsigned x = bits << 1 | 1, rest = 0U - x;
    const unsigned long y =
        ((unsigned long)rest << 32) + (unsigned long)rest * x;
    const int zeros = hr_leading_zeros_(y);
    const long m = (int)((unsigned)(y << zeros >> 31) ^ 0x80000000U);
    int logarithm = hr_log_f32_[9];
    HR_UNROLL
    for (int i = 8; i >= 0; i--) {
        logarithm = hr_log_f32_[i] + (int)(m * logarithm >> 32);
    }
    /* 27 bits */
    const unsigned depth = ((unsigned)zeros << 27) +
                           ((unsigned)(logarithm > 0 ? logarithm : 0) >> 3);
    const int octave =
        hr_leading_zeros_((unsigned long)(depth | 1U << 28)) - 32;
    const int piece = 3 - octave + (depth >> 28 != 0);
    const long t = (int)(depth << (octave + 1) ^ 0x80000000U);
    int ratio = hr_normal_f32_[piece][8];
    HR_UNROLL
    for (int i = 7; i >= 0; i--) {
        ratio = hr_normal_f32_[piece][i] + (int)(t * ratio >> 32);
    }
    const long z = (long)x * ratio; /* 60 bits, below 2^63 */
    const long sign = -(long)(bits >> 31);
    return (float)((z ^ sign) - sign) * 8.673617379884035e-19f;
}

#if defined(HR_HAS_DOUBLE)

HR_FUNCTION double hr_uniform_f64(unsigned long bits)
{
    return (double)(long)(bits >> 11) * 1.1102230246251565e-16;
}

/* 2^-n for n up to 1022. */
HR_FUNCTION double hr_negative_power_(int n)
{
    const long bits = (long)(1023 - n) << 52;
#if defined(__OPENCL_C_VERSION__)
    return as_double(bits);
#elif defined(__CUDACC__)
    return __longlong_as_double(bits);
#else
    double power;
    memcpy(&power, &bits, sizeof power);
    return power;
#endif
}

/* As hr_log_f32_: 62 bits */
HR_CONSTANT long hr_log_f64_[22] = {
    1914022632547311137L, -4435504365948107561L, 1478501455316027673L,
    -657111757918215807L, 328555878960416805L,   -175229802113839214L,
    97349889981568568L,   -55628508496835570L,   32449965903434813L,
    -19229610819358537L,  11537717704152603L,    -6992537921196248L,
    4273785327163585L,    -2630171591187137L,    1623959242691947L,
    -1009687155848731L,   651417121297320L,      -411198437203294L,
    198214040670335L,     -120803591513893L,     178721453376776L,
    -116814299525307L};
/* As hr_normal_f32_: 59 bits */
HR_CONSTANT long hr_normal_f64_[6][20] = {
    {857464599339649303L, 276373007623135909L, 10157599259697371L,
     -5345213088055820L, 108744708377620L, 186861546437935L, -15966595880356L,
     -6695281983400L, 1034758476108L, 230637660981L, -56434913042L,
     -7222749848L, 2726961901L, 179049269L},
    {1138924142107987929L, 281888931182764540L, -3702528519121295L,
     -3525303811633232L, 657877736033526L, 22131103574108L, -27118890823953L,
     2870950115285L, 664936499429L, -200415450411L, -210256237L, 8049915102L,
     -978237850L, -193203092L},
    {1544777533423372817L, 510937710813416764L, -45754280902507785L,
     -2298714611545801L,   5143218683385513L,   -1998851153798041L,
     244679931373995L,     140209106783613L,    -86847342427203L,
     17503701876906L,      3824268123518L,      -3705205735293L,
     988643338656L,        75253786468L,        -154953557278L,
     51886950100L,         -664739174L,         -6384258493L,
     2289204724L,          -70944160L},
    {2214984018857906451L, 783054935563123576L, -120998895153625824L,
     32506129839005147L,   -7285506398101337L,  -933439826429286L,
     2787385760164013L,    -2256997042615528L,  1212680882128214L,
     -420861994338942L,    24084190975315L,     94400342319134L,
     -85108703847208L,     45167158660862L,     -14595183821562L,
     -2421236597L,         4055017733901L,      -3411862150535L,
     1462751933769L,       -209151084924L},
    {3195088033990989582L, 1119086990417980883L, -184907958830521908L,
     60048684438709934L,   -24110200053897635L,  10708349642917260L,
     -4973997048150734L,   2287710890648146L,    -948157999285496L,
     262623230195781L,     74235067304105L,      -212258315152128L,
     237097537240962L,     -203384528035225L,    146300200781945L,
     -92040801976365L,     55967110711169L,      -26965000232880L,
     -2434138513114L,      9136057873684L},
    {4586343723169810621L, 1582848059441148537L, -265119890849881007L,
     87990164163678063L,   -36309994099422680L,  16720790230280741L,
     -8227561417944270L,   4232140684616516L,    -2247239465051978L,
     1222068839317599L,    -676988670836661L,    380575424956907L,
     -216494174614349L,    124343616693583L,     -71699033927003L,
     41062720449168L,      -23840923720120L,     14610080517431L,
     -7850387676721L,      2215442327274L}};

HR_FUNCTION double hr_normal_f64(unsigned long bits)
{
    const unsigned long x = bits << 1 | 1, rest = 0UL - x;
    const unsigned long high = rest + hr_unsigned_high_(rest, x);
    const int zeros = hr_leading_zeros_(high);
    /* without the first bit; shifts stay below 64 */
    const unsigned long behind = high << zeros << 1 | rest * x >> (63 - zeros);
    const long m = (long)(behind ^ 0x8000000000000000UL);
    long logarithm = hr_log_f64_[21];
    HR_UNROLL
    for (int i = 20; i >= 0; i--) {
        logarithm = hr_log_f64_[i] + hr_high_(m, logarithm);
    }
    /* 57 bits */
    const unsigned long depth =
        ((unsigned long)zeros << 57) +
        ((unsigned long)(logarithm > 0 ? logarithm : 0) >> 5);
    const int octave = hr_leading_zeros_(depth | 1UL << 58);
    const int piece = 5 - octave + (depth >> 58 != 0);
    const long t = (long)(depth << (octave + 1) ^ 0x8000000000000000UL);
    long ratio = 0;
    if (piece > 1) { /* others have fewer terms */
        HR_UNROLL
        for (int i = 19; i > 13; i--) {
            ratio = hr_normal_f64_[piece][i] + hr_high_(t, ratio);
        }
    }
    HR_UNROLL
    for (int i = 13; i >= 0; i--) {
        ratio = hr_normal_f64_[piece][i] + hr_high_(t, ratio);
    }
    /* 59 + shift bits */
    const int shift = hr_leading_zeros_(x);
    const long z = (long)hr_unsigned_high_(x << shift, (unsigned long)ratio);
    const long sign = -(long)(bits >> 63);
    return (double)((z ^ sign) - sign) * hr_negative_power_(59 + shift);
}

#endif
#endif
