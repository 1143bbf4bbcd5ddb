/* SPDX-License-Identifier: MIT */
/* To which target calls go, and what retrying the slower one costs. */
#include "blas/rates.h"

#include <math.h>

#include "test.h"

enum { CALLS = 100000 };

/* A call takes 1 in the fallback BLAS and `ratio` on accelerators. */
static void check_ratio(double ratio, bool accelerators, bool retries)
{
    char name[64];
    double seconds = 0.0;
    int seen = 0, alone = 0;
    bool held = true;
    snprintf(name, sizeof name, "ratio %g", ratio);
    TEST_CASE(name);
    for (unsigned i = 0; i < CALLS; i++) {
        const blas_target target = blas_target_of(ratio, i);
        const bool before = i > 0 && blas_target_of(ratio, i - 1).retry;
        held = held && target.accelerators == (accelerators != target.retry);
        seen += target.retry;
        alone += target.retry && !before && !blas_target_of(ratio, i + 1).retry;
        seconds += target.accelerators ? ratio : 1.0;
    }
    CHECK(held);
    CHECK(alone == 0);
    CHECK(retries ? seen >= CALLS / 64 : seen == 0);
    CHECK(!retries || seconds <= 1.017 * CALLS * (accelerators ? ratio : 1.0));
}

int main(void)
{
    static const struct {
        double ratio;
        bool accelerators, retries;
    } rows[] = {
        {0.0, true, false},   {0.1, true, false},     {0.499, true, false},
        {0.51, true, true},   {0.8, true, true},      {0.9, true, true},
        {0.969, true, true},  {0.971, false, true},   {1.0, false, true},
        {1.1, false, true},   {1.26, false, true},    {1.9, false, true},
        {2.01, false, false}, {1000.0, false, false}, {INFINITY, false, false},
        {NAN, false, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        TEST(check_ratio(rows[i].ratio, rows[i].accelerators, rows[i].retries));
    }
    TEST_CASE("not at once");
    CHECK(!blas_target_of(1.0, 0).retry && !blas_target_of(1.0, 29).retry &&
          blas_target_of(1.0, 30).retry && blas_target_of(1.0, 31).retry);
    return test_end();
}
