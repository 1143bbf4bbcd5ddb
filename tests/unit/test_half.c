/* SPDX-License-Identifier: MIT */
/* Half precision: every bit pattern against the formats' definitions. */
#include <math.h>

#include <headrace/half.h>

#include "test.h"

/* The value of a format with fraction_bits bits of fraction and bias. */
static double defined(uint32_t half, int fraction_bits, int bias)
{
    int exponents = 1 << (15 - fraction_bits);
    int exponent = (int)(half >> fraction_bits) & (exponents - 1);
    double fraction = (double)(half & ((1u << fraction_bits) - 1));
    double scale = ldexp(1.0, -fraction_bits);
    double value;
    if (exponent == exponents - 1) {
        value = fraction != 0 ? NAN : INFINITY;
    } else if (exponent == 0) {
        value = ldexp(fraction * scale, 1 - bias);
    } else {
        value = ldexp(1.0 + fraction * scale, exponent - bias);
    }
    return half & 0x8000 ? -value : value;
}

static int is_same_number(double a, double b)
{
    return isnan(a) ? isnan(b) : a == b && !signbit(a) == !signbit(b);
}

static void every_pattern_has_its_value_and_comes_back(void)
{
    int values = 0, back = 0, nans = 0;
    for (uint32_t h = 0; h < 65536; h++) {
        float f = hr_f16_to_f32((uint16_t)h);
        float b = hr_bf16_to_f32((uint16_t)h);
        values += is_same_number(f, defined(h, 10, 15)) &&
                  is_same_number(b, defined(h, 7, 127));
        if (isnan(f)) {
            nans += isnan(hr_f16_to_f32(hr_f32_to_f16(f))) &&
                    hr_f32_to_f16(f) >> 15 == h >> 15;
        } else {
            back += hr_f32_to_f16(f) == h;
        }
        if (isnan(b)) {
            nans += isnan(hr_bf16_to_f32(hr_f32_to_bf16(b))) &&
                    hr_f32_to_bf16(b) >> 15 == h >> 15;
        } else {
            back += hr_f32_to_bf16(b) == h;
        }
    }
    TEST_CASE("each of 65536 patterns has the value its format defines");
    CHECK(values == 65536);
    TEST_CASE("numbers come back as they were, NaN as NaN of the same sign");
    CHECK(nans == 2 * 1023 + 2 * 127);
    CHECK(back == 2 * 65536 - nans);
}

/* Between neighbours h and h + 1: the middle goes to the even one, and the
 * floats beside the middle to the nearer one. Beyond the largest number the
 * same rule holds with infinity in the place of 2^(emax+1). */
static int rounds_between(uint16_t h, uint16_t (*round)(float), double low,
                          double high)
{
    float middle = (float)((low + high) / 2);
    uint16_t even = (uint16_t)(h + (h & 1));
    uint16_t next = (uint16_t)(h + 1);
    return round(middle) == even && round(nextafterf(middle, 0)) == h &&
           round(nextafterf(middle, INFINITY)) == next &&
           round(-middle) == (even | 0x8000);
}

static void rounding_is_to_nearest_even(void)
{
    int right = 0;
    TEST_CASE("f32 to f16 rounds to nearest, ties to even");
    for (uint32_t h = 0; h < 0x7c00; h++) {
        double high = h + 1 < 0x7c00 ? defined(h + 1, 10, 15) : 0x1p16;
        right += rounds_between((uint16_t)h, hr_f32_to_f16, defined(h, 10, 15),
                                high);
    }
    CHECK(right == 0x7c00);
    TEST_CASE("f32 to bf16 rounds to nearest, ties to even");
    right = 0;
    for (uint32_t h = 0; h < 0x7f7f; h++) {
        right += rounds_between((uint16_t)h, hr_f32_to_bf16, defined(h, 7, 127),
                                defined(h + 1, 7, 127));
    }
    CHECK(right == 0x7f7f);
    TEST_CASE("overflow gives infinity");
    CHECK(hr_f32_to_f16(1e30f) == 0x7c00);
    CHECK(hr_f32_to_f16(-INFINITY) == 0xfc00);
    CHECK(hr_f32_to_bf16(0x1.fffffep127f) == 0x7f80);
    CHECK(hr_f32_to_bf16(-INFINITY) == 0xff80);
}

int main(void)
{
    TEST(every_pattern_has_its_value_and_comes_back());
    TEST(rounding_is_to_nearest_even());
    return test_end();
}
