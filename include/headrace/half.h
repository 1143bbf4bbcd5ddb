/* SPDX-License-Identifier: MIT */
/** @file half.h
 *  binary16 and bfloat16, as bit patterns, to and from binary32. For programs,
 *  and for kernels on the host and in OpenCL C. Rounding is to nearest, ties to
 *  even. Overflow gives infinity. A NaN stays a NaN of the same sign, made
 *  quiet, as the hardware's own conversions do. Any thread. */
#ifndef HEADRACE_HALF_H
#define HEADRACE_HALF_H

/* The only branches are those that a compiler can turn into selects, so loops
 * over these functions vectorise. */
#if defined(__OPENCL_C_VERSION__)

static inline unsigned hr_f32_bits(float value)
{
    return as_uint(value);
}

static inline float hr_f32_from_bits(unsigned bits)
{
    return as_float(bits);
}

#elif !defined(__CUDACC__)

#include <string.h>

static inline unsigned hr_f32_bits(float value)
{
    unsigned bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline float hr_f32_from_bits(unsigned bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

#endif

#if !defined(__CUDACC__) /* CUDA's hardware converts */

static inline float hr_f16_to_f32(unsigned short narrow)
{
    unsigned sign = (unsigned)(narrow & 0x8000) << 16;
    unsigned exponent = (narrow >> 10) & 31u;
    unsigned fraction = narrow & 0x3ffu;
    /* Subnormals are multiples of 2^-24. Converting an integer, and not a
     * subnormal float, is right under flush-to-zero, too. */
    unsigned small = hr_f32_bits((float)(int)fraction * 5.9604644775390625e-8f);
    unsigned normal = (exponent + 112) << 23 | fraction << 13;
    unsigned quiet = fraction != 0 ? 0x400000u : 0;
    unsigned special = 0x7f800000u | quiet | fraction << 13;
    unsigned bits = exponent == 0 ? small : exponent < 31 ? normal : special;
    return hr_f32_from_bits(sign | bits);
}

static inline unsigned short hr_f32_to_f16(float value)
{
    unsigned bits = hr_f32_bits(value);
    unsigned sign = bits >> 16 & 0x8000;
    unsigned size = bits & 0x7fffffff;
    /* Below 2^-14 a half has the spacing of floats in [0.5, 1): the addition
     * rounds. Where this result is not used, the clamp avoids overflow. */
    float clamped = hr_f32_from_bits(size < 0x38800000 ? size : 0x38800000);
    unsigned small = hr_f32_bits(clamped + 0.5f) - 0x3f000000;
    unsigned normal = (size - 0x38000000 + 0xfff + (size >> 13 & 1)) >> 13;
    unsigned nan = 0x7e00 | (size >> 13 & 0x3ff);
    unsigned narrow = size < 0x38800000 ? small
                      : size < 0x477ff000
                          ? normal /* 65520 rounds to infinity */
                      : size <= 0x7f800000 ? 0x7c00
                                           : nan;
    return (unsigned short)(sign | narrow);
}

static inline float hr_bf16_to_f32(unsigned short narrow)
{
    unsigned bits = (unsigned)narrow << 16;
    unsigned quiet = (bits & 0x7fffffff) > 0x7f800000 ? 0x400000u : 0;
    return hr_f32_from_bits(bits | quiet);
}

static inline unsigned short hr_f32_to_bf16(float value)
{
    unsigned bits = hr_f32_bits(value);
    unsigned rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
    unsigned nan = bits >> 16 | 0x40;
    return (unsigned short)((bits & 0x7fffffff) > 0x7f800000 ? nan : rounded);
}

#endif
#endif
