/* SPDX-License-Identifier: MIT */
/* Sums without rounding, in any order. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/exact.h"
#include "support/random.h"
#include "test.h"

static double any_double(random_source *random)
{
    const uint64_t bits = random_next(random);
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static bool is_same(double x, double y)
{
    return (isnan(x) && isnan(y)) || x == y;
}

static double sum_of(const double *x, int64_t count)
{
    hri_exact sum = {{0}};
    hri_exact_add(&sum, x, count);
    return hri_exact_value(&sum);
}

/* The processor's sum of two is the sum, rounded. */
static void add_pairs(random_source *random)
{
    for (int i = 0; i < 200000; i++) {
        double x[2] = {any_double(random), any_double(random)};
        if (i % 3 == 1) {
            x[0] *= DBL_MIN; /* often 0 or subnormal */
        } else if (i % 3 == 2) {
            x[1] = -x[0] * (1 + (double)(i % 7) * DBL_EPSILON);
        }
        if (!CHECK(is_same(sum_of(x, 2), x[0] + x[1]))) {
            fprintf(stderr, "  %a + %a\n", x[0], x[1]);
        }
    }
}

/* Numbers and their opposites in another order, and one more; in parts whose
 * numbers are added. */
static void add_in_orders(random_source *random)
{
    enum { COUNT = 500 };
    for (int i = 0; i < 200; i++) {
        double x[2 * COUNT + 1];
        for (int k = 0; k < COUNT; k++) {
            do {
                x[k] = any_double(random);
            } while (!isfinite(x[k]));
            x[2 * COUNT - k] = -x[k];
        }
        x[COUNT] = any_double(random);
        CHECK(is_same(sum_of(x, 2 * COUNT + 1), x[COUNT]));
        const int64_t cut = random_between(random, 0, 2 * COUNT);
        hri_exact parts[2] = {{{0}}, {{0}}};
        hri_exact_add(&parts[0], x, cut);
        hri_exact_add(&parts[1], x + cut, 2 * COUNT + 1 - cut);
        for (int k = 0; k < HRI_EXACT_NUMBERS; k++) {
            parts[0].numbers[k] += parts[1].numbers[k];
        }
        CHECK(is_same(hri_exact_value(&parts[0]), x[COUNT]));
    }
}

static void add_special(void)
{
    const double over[] = {DBL_MAX, DBL_MAX, -DBL_MAX, 1.0};
    const double halfway[] = {1.0, DBL_EPSILON / 2, 0x1p-1074};
    const double both[] = {INFINITY, 1, -INFINITY};
    CHECK(sum_of(over, 2) == INFINITY);
    CHECK(sum_of(over, 4) == DBL_MAX);
    CHECK(sum_of(halfway, 2) == 1.0);
    CHECK(sum_of(halfway, 3) == 1.0 + DBL_EPSILON);
    CHECK(isnan(sum_of(both, 3)));
    CHECK(sum_of(both, 2) == INFINITY && sum_of(both + 1, 2) == -INFINITY);
    CHECK(sum_of(both, 0) == 0.0);
}

int main(void)
{
    random_source random = {.state = 1};
    TEST(add_pairs(&random));
    TEST(add_in_orders(&random));
    TEST(add_special());
    return test_end();
}
