/* SPDX-License-Identifier: MIT */
#include "base/exact.h"

#include <math.h>
#include <string.h>

enum {
    BITS = 32,    /* of a digit */
    POINT = 1074, /* bits behind the point */
    FRACTION = 52,
    NOT_A_NUMBER = HRI_EXACT_DIGITS,
    INFINITE,
    MINUS_INFINITE
};

#define DIGIT ((int64_t)1 << BITS)

/* Carry what digits have too much to the next ones, the last digit's sign
 * excepted. All others are 0 to DIGIT - 1 afterwards. */
static void carry(hri_exact *sum)
{
    int64_t over = 0;
    for (int i = 0; i + 1 < HRI_EXACT_DIGITS; i++) {
        const int64_t all = sum->numbers[i] + over;
        const int64_t digit = (int64_t)((uint64_t)all & (DIGIT - 1));
        over = (all - digit) / DIGIT;
        sum->numbers[i] = digit;
    }
    sum->numbers[HRI_EXACT_DIGITS - 1] += over;
}

static void add(hri_exact *sum, double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    const int exponent = (int)(bits >> FRACTION & 0x7ff);
    uint64_t mantissa = bits & (((uint64_t)1 << FRACTION) - 1);
    if (exponent == 0x7ff) {
        sum->numbers[mantissa != 0     ? NOT_A_NUMBER
                     : bits >> 63 == 0 ? INFINITE
                                       : MINUS_INFINITE]++;
        return;
    }
    /* subnormal numbers have the exponent of the least normal ones */
    const int place = exponent > 0 ? exponent - 1 : 0;
    mantissa |= exponent > 0 ? (uint64_t)1 << FRACTION : 0;
    const int64_t sign = bits >> 63 == 0 ? 1 : -1;
    int64_t *digit = &sum->numbers[place / BITS];
    const int shift = place % BITS;
    const uint64_t low = mantissa << shift; /* the mantissa has 53 bits, so up
                                               to 20 are lost here */
    const uint64_t high = shift > 0 ? mantissa >> (64 - shift) : 0;
    digit[0] += sign * (int64_t)(low & (DIGIT - 1));
    digit[1] += sign * (int64_t)(low >> BITS);
    digit[2] += sign * (int64_t)high;
}

void hri_exact_add(hri_exact *sum, const double *x, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        add(sum, x[i]);
        if (i % HRI_EXACT_ADDITIONS == HRI_EXACT_ADDITIONS - 1) {
            carry(sum);
        }
    }
    carry(sum);
}

double hri_exact_value(const hri_exact *sum)
{
    hri_exact x = *sum;
    const int64_t *counts = x.numbers;
    if (counts[NOT_A_NUMBER] > 0 ||
        (counts[INFINITE] > 0 && counts[MINUS_INFINITE] > 0)) {
        return NAN;
    }
    if (counts[INFINITE] > 0 || counts[MINUS_INFINITE] > 0) {
        return counts[INFINITE] > 0 ? INFINITY : -INFINITY;
    }
    carry(&x);
    double sign = 1;
    if (x.numbers[HRI_EXACT_DIGITS - 1] < 0) {
        sign = -1;
        for (int i = 0; i < HRI_EXACT_DIGITS; i++) {
            x.numbers[i] = -x.numbers[i];
        }
        carry(&x);
    }
    int top = HRI_EXACT_DIGITS - 1;
    while (top > 0 && x.numbers[top] == 0) {
        top--;
    }
    /* the first 64 bits from the highest one on, the last of which is set if
     * any bit below them is */
    uint64_t first = (uint64_t)x.numbers[top];
    int low = top; /* the lowest digit in them, */
    int shift = 0; /* and how far it was shifted */
    for (; low > 0 && first >> BITS == 0; low--) {
        first = first << BITS | (uint64_t)x.numbers[low - 1];
    }
    if (low > 0) {
        while (first >> 63 == 0) {
            shift++;
            first = first << 1 |
                    ((uint64_t)x.numbers[low - 1] >> (BITS - shift) & 1);
        }
        uint64_t rest = (uint64_t)x.numbers[low - 1] << shift & (DIGIT - 1);
        for (int i = 0; i < low - 1; i++) {
            rest |= (uint64_t)x.numbers[i];
        }
        first |= rest != 0;
    }
    return sign * ldexp((double)first, low * BITS - shift - POINT);
}
