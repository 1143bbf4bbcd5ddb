/* SPDX-License-Identifier: MIT */
/* Sizes in 64 bits: checked products and sums, and small integer helpers. */
#ifndef HRI_BASE_SIZE_H
#define HRI_BASE_SIZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* *out = a * b or a + b; false (and *out unspecified) when it overflows. */
static inline bool hri_mul(uint64_t a, uint64_t b, uint64_t *out)
{
    return !__builtin_mul_overflow(a, b, out);
}

static inline bool hri_add(uint64_t a, uint64_t b, uint64_t *out)
{
    return !__builtin_add_overflow(a, b, out);
}

static inline int64_t hri_min(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline int64_t hri_max(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* a / b rounded up, for a >= 0 and b > 0. */
static inline int64_t hri_ceil_div(int64_t a, int64_t b)
{
    return a / b + (a % b != 0);
}

/* The least multiple of b that is not below a, for a >= 0 and b > 0. */
static inline int64_t hri_round_up(int64_t a, int64_t b)
{
    return hri_ceil_div(a, b) * b;
}

/* The same for bytes. The result must not overflow. */
static inline size_t hri_round_up_bytes(size_t bytes, size_t unit)
{
    return (bytes + unit - 1) / unit * unit;
}

/* Where piece `number` of `count` begins, which are of nearly equal length;
 * that of number `count` is the end. */
static inline int64_t hri_even(int64_t length, int64_t count, int64_t number)
{
    return length / count * number + length % count * number / count;
}

/* Parse "512MiB", "2GiB", "1000", "1.5GB" ... into bytes. Units: B, KiB, MiB,
 * GiB, TiB (powers of 1024), kB, MB, GB, TB (powers of 1000). False when the
 * text is anything else, negative, zero or too large. The console also compiles
 * size.c, since its options take the same sizes. */
bool hri_parse_bytes(const char *text, uint64_t *bytes);

#endif
