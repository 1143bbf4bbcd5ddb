/* SPDX-License-Identifier: MIT */
#include "split/split.h"

#include <math.h>
#include <stddef.h>

#include "base/size.h"
#include "base/status.h"

/* Sums of weights as integers stay below 2^WEIGHT_BITS, so that share can count
 * in 64 bits. */
enum { WEIGHT_BITS = 60, SIZE_BITS = 62 };

static hr_status check(int64_t size, uint32_t count, int64_t before,
                       int64_t after, const hr_band *bands)
{
    if (bands == NULL) {
        return hri_fail(HR_ERROR_INVALID, "split: bands is NULL");
    }
    if (size < 1 || size > INT64_C(1) << SIZE_BITS) {
        return hri_fail(HR_ERROR_INVALID, "split: %lld rows, not 1 to 2^62",
                        (long long)size);
    }
    if (count == 0) {
        return hri_fail(HR_ERROR_INVALID, "split: %lld rows into 0 bands",
                        (long long)size);
    }
    if (before < 0 || after < 0) {
        return hri_fail(HR_ERROR_INVALID,
                        "split: %lld rows before and %lld after, not 0 or more",
                        (long long)before, (long long)after);
    }
    return HR_OK;
}

/* The largest weight, which is above 0 and finite. */
static hr_status find_largest(const double *weights, uint32_t count,
                              double *largest)
{
    double most = weights != NULL ? 0 : 1;
    for (uint32_t i = 0; i < count && weights != NULL; i++) {
        if (!(weights[i] >= 0) || isinf(weights[i])) {
            return hri_fail(HR_ERROR_INVALID,
                            "split: weight %u is %g, not finite and 0 or more",
                            i, isnan(weights[i]) ? NAN : weights[i]);
        }
        most = fmax(most, weights[i]);
    }
    if (most == 0) {
        return hri_fail(HR_ERROR_INVALID, "split: all %u weights are 0", count);
    }
    *largest = most;
    return HR_OK;
}

/* The power of two that makes integers of weights up to `largest`. */
static int scale_of(double largest, uint32_t count)
{
    int exponent, spare;
    (void)frexp(largest, &exponent);
    (void)frexp((double)count, &spare);
    return WEIGHT_BITS - exponent - spare;
}

static int64_t weight_of(const double *weights, uint32_t i, int scale)
{
    return (int64_t)ldexp(weights != NULL ? weights[i] : 1.0, scale);
}

/* size * weight / whole, rounded down, and what is left over: long division,
 * since the product has twice the bits. */
static int64_t share(int64_t size, int64_t weight, int64_t whole, int64_t *rest)
{
    int64_t rows = 0, left = 0;
    for (int bit = SIZE_BITS; bit >= 0; bit--) {
        left = 2 * left + ((size >> bit & 1) != 0 ? weight : 0);
        rows = 2 * rows + left / whole;
        left %= whole;
    }
    *rest = left;
    return rows;
}

/* Deal the rows that rounding left, to the largest rests, which read_count has
 * for the time being. */
static void deal_rest(int64_t rows, uint32_t count, hr_band *bands)
{
    for (; rows > 0; rows--) {
        hr_band *most = &bands[0];
        for (uint32_t i = 1; i < count; i++) {
            most = bands[i].read_count > most->read_count ? &bands[i] : most;
        }
        most->count++;
        most->read_count = 0;
    }
}

void hri_band_reach(int64_t size, int64_t before, int64_t after, hr_band *band)
{
    const int64_t end = band->first + band->count;
    const bool empty = band->count == 0;
    before = empty ? 0 : hri_min(band->first, before);
    after = empty ? 0 : hri_min(size - end, after);
    band->read_first = band->first - before;
    band->read_count = before + band->count + after;
}

hr_status hr_split(int64_t size, const double *weights, uint32_t count,
                   int64_t before, int64_t after, hr_band *bands)
{
    double largest = 1;
    hr_status status = check(size, count, before, after, bands);
    if (status == HR_OK) {
        status = find_largest(weights, count, &largest);
    }
    if (status != HR_OK) {
        return status;
    }
    const int scale = scale_of(largest, count);
    int64_t whole = 0, dealt = 0;
    for (uint32_t i = 0; i < count; i++) {
        whole += weight_of(weights, i, scale);
    }
    for (uint32_t i = 0; i < count; i++) {
        bands[i].count = share(size, weight_of(weights, i, scale), whole,
                               &bands[i].read_count);
        dealt += bands[i].count;
    }
    deal_rest(size - dealt, count, bands);
    for (uint32_t i = 0; i < count; i++) {
        bands[i].accelerator = i;
        bands[i].first = i > 0 ? bands[i - 1].first + bands[i - 1].count : 0;
        hri_band_reach(size, before, after, &bands[i]);
    }
    return HR_OK;
}
