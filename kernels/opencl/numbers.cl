/* SPDX-License-Identifier: MIT */
/* What the kernels for products share: numbers, operands, and how C is written.
 * Its text comes before that of each of them.
 *
 * A work-group of WN x WM items computes a tile of TM x TN elements of C, and an
 * item RM x RN sums of it, BM x BN times. IN is the hr_type of A and B. U and V
 * tell which sums are an item's: see row_of. src/backends/opencl/gemm.c gives
 * these and all other build options. */
#define F32  1
#define F64  2
#define C32  3
#define C64  4
#define F16  5
#define BF16 6
#define I8   7

#if IN == F64 || IN == C64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#define REAL double
#elif IN == I8
#define REAL uint /* wraps modulo 2^32, as the sum of i8 products must */
#else
#define REAL float
#endif

#if IN == C32 || IN == C64
#define PLANES 2
#else
#define PLANES 1
#endif

#if DEPTH
#pragma OPENCL FP_CONTRACT OFF
#endif

#define INLINE      static inline __attribute__((always_inline))
#define JOIN_(a, b) a##b
#define JOIN(a, b)  JOIN_(a, b)
typedef JOIN(REAL, V) vector;
typedef JOIN(REAL, 2) pair;
typedef union {
    vector whole;
    REAL part[V];
} parts;

#if PLANES == 2
typedef pair element;
typedef pair stored;
#elif IN == F16 || IN == BF16
typedef REAL element;
typedef ushort stored;
#elif IN == I8
typedef REAL element;
typedef char stored;
#else
typedef REAL element;
typedef REAL stored;
#endif

#define TM    (WM * RM * BM)
#define TN    (WN * RN * BN)
#define ITEMS (WM * WN)

/* The bits of flags. */
#define CONJUGATE_A 1
#define CONJUGATE_B 2
#define READ_C      4
#define NARROW_C    8 /* C has A's half type */

/* binary16 and bfloat16 in integer code: cl_khr_fp16 is not needed, and
 * subnormal halves are right where subnormal floats are flushed. */
#if IN == F16
INLINE float from_f16(ushort half_bits)
{
    uint sign = (uint)(half_bits & 0x8000) << 16;
    uint exponent = (half_bits >> 10) & 31;
    uint fraction = half_bits & 0x3ff;
    uint small = as_uint((float)fraction * 0x1p-24f);
    uint normal = ((exponent + 112) << 23) | (fraction << 13);
    uint special = 0x7f800000u | (fraction << 13);
    uint bits = exponent == 0 ? small : exponent < 31 ? normal : special;
    return as_float(sign | bits);
}

INLINE ushort narrow(float value)
{
    uint bits = as_uint(value);
    uint sign = (bits >> 16) & 0x8000;
    uint size = bits & 0x7fffffff;
    /* Below 2^-14 a half has the spacing of floats in [0.5, 1). */
    float clamped = as_float(min(size, 0x38800000u));
    uint small = as_uint(clamped + 0.5f) - 0x3f000000u;
    uint normal = (size - 0x38000000u + 0xfff + ((size >> 13) & 1)) >> 13;
    uint nan = 0x7e00 | ((size >> 13) & 0x3ff);
    uint rounded = size < 0x38800000u    ? small
                   : size < 0x477ff000u  ? normal
                   : size <= 0x7f800000u ? 0x7c00
                                         : nan;
    return (ushort)(sign | rounded);
}

#elif IN == BF16
INLINE ushort narrow(float value)
{
    uint bits = as_uint(value);
    uint rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
    bool nan = (bits & 0x7fffffff) > 0x7f800000u;
    return (ushort)(nan ? (bits >> 16) | 0x40 : rounded);
}
#endif

INLINE element widen(stored value, bool conjugate)
{
#if PLANES == 2
    return (element)(value.x, conjugate ? -value.y : value.y);
#elif IN == F16
    return from_f16(value);
#elif IN == BF16
    return as_float((uint)value << 16);
#elif IN == I8
    return (uint)(int)value;
#else
    return value;
#endif
}

/* One operand as a work-group sees it. Rows are those of A, or columns of B. */
typedef struct {
    __global const stored *start; /* the first row of the tile, at k = 0 */
    long across, along;           /* strides from row to row, and along k */
    long rows, k; /* that exist; elements beyond count as 0 */
    bool conjugate;
} operand;

/* Where C is written, and how. */
typedef struct {
    __global void *c;
    long start, stride; /* its first element, and from row to row */
    long m, n;
    pair alpha, beta;
    int flags;
} target;

#if PLANES == 2
INLINE pair times(pair a, pair b)
{
    return (pair)(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
}
#endif

/* Element `at` becomes alpha times a sum, plus beta times its old value. */
INLINE void store(const target *t, long at, pair sum)
{
    const bool read = (t->flags & READ_C) != 0;
#if PLANES == 2
    __global pair *to = (__global pair *)t->c + at;
    const pair result = times(t->alpha, sum);
    *to = read ? result + times(t->beta, *to) : result;
#else
    const REAL result = t->alpha.x * sum.x;
#if IN == F16 || IN == BF16
    if (t->flags & NARROW_C) {
        __global ushort *to = (__global ushort *)t->c + at;
        *to = narrow(read ? result + t->beta.x * widen(*to, false) : result);
        return;
    }
#endif
    __global REAL *to = (__global REAL *)t->c + at;
    *to = read ? result + t->beta.x * *to : result;
#endif
}

/* The row and the column of the tile that sum (i, j) of item (ty, tx) belongs
 * to. Rows come in runs of U, columns in runs of V. The runs of neighbouring
 * items are neighbours. */
INLINE int row_of(int ty, int i)
{
    return (i / U * WM + ty) * U + i % U;
}

INLINE int col_of(int tx, int j)
{
    return (j / V * WN + tx) * V + j % V;
}
