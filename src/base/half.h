/* SPDX-License-Identifier: MIT */
/* binary16 and bfloat16, as bit patterns, to and from binary32. Rounding is to
 * nearest, ties to even; overflow gives infinity; a NaN stays a NaN of the same
 * sign, made quiet, as the hardware's own conversions do. Free of branches that
 * a compiler cannot turn into selects, so loops over them vectorise. */
#ifndef HRI_BASE_HALF_H
#define HRI_BASE_HALF_H

#include <stdint.h>
#include <string.h>

static inline uint32_t hri_f32_bits(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline float hri_f32_from_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline float hri_f16_to_f32(uint16_t half)
{
    uint32_t sign = (uint32_t)(half & 0x8000) << 16;
    uint32_t exponent = (half >> 10) & 31u;
    uint32_t fraction = half & 0x3ffu;
    /* Subnormals are multiples of 2^-24. That this goes through an integer and
     * not through a subnormal float makes it right under flush-to-zero too. */
    uint32_t small = hri_f32_bits((float)(int32_t)fraction * 0x1p-24f);
    uint32_t normal = (exponent + 112) << 23 | fraction << 13;
    uint32_t quiet = fraction != 0 ? 0x400000u : 0;
    uint32_t special = 0x7f800000u | quiet | fraction << 13;
    uint32_t bits = exponent == 0 ? small : exponent < 31 ? normal : special;
    return hri_f32_from_bits(sign | bits);
}

static inline uint16_t hri_f32_to_f16(float value)
{
    uint32_t bits = hri_f32_bits(value);
    uint32_t sign = bits >> 16 & 0x8000;
    uint32_t size = bits & 0x7fffffff;
    /* Below 2^-14 a half has the spacing of floats in [0.5, 1): the addition
     * rounds. The clamp keeps it free of overflow where it is not used. */
    float clamped = hri_f32_from_bits(size < 0x38800000 ? size : 0x38800000);
    uint32_t small = hri_f32_bits(clamped + 0.5f) - 0x3f000000;
    uint32_t normal = (size - 0x38000000 + 0xfff + (size >> 13 & 1)) >> 13;
    uint32_t nan = 0x7e00 | (size >> 13 & 0x3ff);
    uint32_t half = size < 0x38800000    ? small
                    : size < 0x477ff000  ? normal /* 65520 rounds to infinity */
                    : size <= 0x7f800000 ? 0x7c00
                                         : nan;
    return (uint16_t)(sign | half);
}

static inline float hri_bf16_to_f32(uint16_t half)
{
    uint32_t bits = (uint32_t)half << 16;
    uint32_t quiet = (bits & 0x7fffffff) > 0x7f800000 ? 0x400000u : 0;
    return hri_f32_from_bits(bits | quiet);
}

static inline uint16_t hri_f32_to_bf16(float value)
{
    uint32_t bits = hri_f32_bits(value);
    uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
    uint32_t nan = bits >> 16 | 0x40;
    return (uint16_t)((bits & 0x7fffffff) > 0x7f800000 ? nan : rounded);
}

#endif
