/* SPDX-License-Identifier: MIT */
/* Joining the numbers of units: halves, whatever their count. */
#include <math.h>

#include "calls/reduction.h"
#include "test.h"

enum { MAX_COUNT = 300 };

static double one(hr_reduction reduction, double a, double b)
{
    switch (reduction) {
    case HR_REDUCE_MIN:
        return b < a || isnan(b) ? b : a;
    case HR_REDUCE_MAX:
        return b > a || isnan(b) ? b : a;
    case HR_REDUCE_PRODUCT:
        return a * b;
    default:
        return a + b;
    }
}

static double halves(hr_reduction reduction, const double *x, int64_t count)
{
    const int64_t half = count / 2;
    return count == 1 ? x[0]
                      : one(reduction, halves(reduction, x, half),
                            halves(reduction, x + half, count - half));
}

static void all_counts(hr_reduction reduction)
{
    double x[MAX_COUNT];
    for (int i = 0; i < MAX_COUNT; i++) {
        x[i] = 1.0 + (double)(i * 7919 % 1013) * 1e-3;
    }
    for (int64_t count = 1; count <= MAX_COUNT; count++) {
        CHECK(hri_reduction_join(reduction, x, count) ==
              halves(reduction, x, count));
    }
    x[5] = NAN;
    CHECK(isnan(hri_reduction_join(reduction, x, MAX_COUNT)));
}

int main(void)
{
    static const hr_reduction all[] = {HR_REDUCE_SUM, HR_REDUCE_PRODUCT,
                                       HR_REDUCE_MIN, HR_REDUCE_MAX};
    TEST_CASE("numbers are joined in halves, and a NaN stays");
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        TEST(all_counts(all[i]));
    }
    return test_end();
}
