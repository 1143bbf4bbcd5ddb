/* SPDX-License-Identifier: MIT */
/* What the drop-in BLAS learns from calls, and what it makes of that: to which
 * target calls go, and what retrying the slower one costs. */
#include "blas/rates.h"

#include <math.h>

#include "test.h"

static int is_near(double a, double b)
{
    return fabs(a - b) <= 1e-12 * fabs(b);
}

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

static void choose_targets(void)
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
        check_ratio(rows[i].ratio, rows[i].accelerators, rows[i].retries);
    }
    TEST_CASE("not at once");
    CHECK(!blas_target_of(1.0, 0).retry && !blas_target_of(1.0, 29).retry &&
          blas_target_of(1.0, 30).retry && blas_target_of(1.0, 31).retry);
}

static void settle_targets(void)
{
    atomic_int last = BLAS_LAST_NONE;
    TEST_CASE("a call is settled when the one before went to the same target");
    CHECK(!blas_is_settled(&last, false));
    CHECK(blas_is_settled(&last, false));
    CHECK(!blas_is_settled(&last, true));
    CHECK(blas_is_settled(&last, true));
    CHECK(blas_is_settled(&last, true));
    CHECK(!blas_is_settled(&last, false));
    atomic_store(&last, BLAS_LAST_NONE);
    CHECK(!blas_is_settled(&last, true));
}

static void learn_own_rate(void)
{
    blas_rates r = {.own = {.value = 0.0}};
    TEST_CASE("the fallback BLAS: a guess until a call has been timed");
    CHECK(blas_own_seconds(&r, 1e9, 2e-9) == 2.0);
    blas_learn_own(&r, 1e9, 4.0, false); /* the very first counts */
    CHECK(is_near(blas_own_seconds(&r, 1e9, 2e-9), 4.0));
    CHECK(is_near(blas_own_seconds(&r, 5e8, 2e-9), 2.0));
    TEST_CASE("a later call that is not settled does not count");
    blas_learn_own(&r, 1e9, 1.0, false);
    blas_learn_own(&r, 1e9, 1.0, false);
    CHECK(is_near(blas_own_seconds(&r, 1e9, 2e-9), 4.0));
    TEST_CASE("settled calls do, by the smaller of two in a row");
    blas_learn_own(&r, 1e9, 3.0, true);
    CHECK(is_near(blas_own_seconds(&r, 1e9, 2e-9), 3.0));
    blas_learn_own(&r, 2e9, 10.0, true);
    CHECK(is_near(blas_own_seconds(&r, 1e9, 2e-9), 3.0));
    blas_learn_own(&r, 2e9, 12.0, true);
    CHECK(is_near(blas_own_seconds(&r, 1e9, 2e-9), 5.0));
    CHECK(r.factor.value == 0.0 && r.factor.last == 0.0);
}

static void learn_plan_factor(void)
{
    blas_rates r = {.own = {.value = 0.0}};
    TEST_CASE("plans are believed until a call has been timed");
    CHECK(blas_planned_seconds(&r, 3.0) == 3.0);
    CHECK(blas_planned_seconds(&r, -1.0) == -1.0);
    blas_learn_factor(&r, 6.0, 3.0, false); /* provisional */
    CHECK(blas_planned_seconds(&r, 3.0) == 3.0);
    TEST_CASE("a later call that is not settled does not count");
    blas_learn_factor(&r, 6.0, 3.0, false);
    CHECK(blas_planned_seconds(&r, 3.0) == 3.0);
    TEST_CASE("settled calls correct the plan");
    blas_learn_factor(&r, 6.0, 3.0, true);
    CHECK(is_near(blas_planned_seconds(&r, 3.0), 6.0));
    TEST_CASE("what is planned then has the factor already");
    blas_learn_factor(&r, 9.0, 6.0, true);
    blas_learn_factor(&r, 9.0, 6.0, true);
    CHECK(is_near(blas_planned_seconds(&r, 3.0), 9.0));
    for (int i = 0; i < 4; i++) { /* plans that turn out do not move it */
        blas_learn_factor(&r, 9.0, 9.0, true);
    }
    CHECK(is_near(blas_planned_seconds(&r, 3.0), 9.0));
    blas_learn_factor(&r, 3.0, 9.0, true); /* faster counts at once */
    CHECK(is_near(blas_planned_seconds(&r, 3.0), 3.0));
    CHECK(r.own.value == 0.0 && r.own.last == 0.0);
    TEST_CASE("one step changes a plan at most by a factor of four");
    r = (blas_rates){.own = {.value = 0.0}};
    blas_learn_factor(&r, 300.0, 3.0, true);
    blas_learn_factor(&r, 300.0, 3.0, true);
    CHECK(is_near(blas_planned_seconds(&r, 3.0), 12.0));
}

static void number_calls(void)
{
    atomic_uint chosen = 0;
    TEST_CASE("calls that wait for others take so much longer");
    CHECK(is_near(blas_ratio(2.0, 4.0, 0), 0.5));
    CHECK(is_near(blas_ratio(2.0, 4.0, 1), 1.0));
    CHECK(is_near(blas_ratio(2.0, 4.0, 3), 2.0));
    TEST_CASE("calls are numbered while there are no others");
    CHECK(blas_next_number(&chosen, 0) == 0);
    CHECK(blas_next_number(&chosen, 0) == 1);
    CHECK(blas_next_number(&chosen, 1) == 0);
    CHECK(blas_next_number(&chosen, 2) == 0);
    CHECK(blas_next_number(&chosen, 0) == 2);
    TEST_CASE("both targets are tried in 32 calls, also among waiting ones");
    int retries = 0;
    chosen = 0;
    for (int i = 0; i < 32; i++) {
        retries += blas_target_of(blas_ratio(1.0, 1.0, 0),
                                  blas_next_number(&chosen, 0))
                       .retry;
        CHECK(!blas_target_of(1.0, blas_next_number(&chosen, 1)).retry);
    }
    CHECK(retries == 2);
}

static void open_accelerators(void)
{
    static const struct {
        double own, passed;
        blas_opening when;
    } rows[] = {
        {0.0, 0.0, BLAS_OPEN_LATER},     {0.5, 0.49, BLAS_OPEN_LATER},
        {0.5, 0.5, BLAS_OPEN},           {0.01, 1.0, BLAS_OPEN},
        {1.0, 0.0, BLAS_OPEN},           {1.99, 100.0, BLAS_OPEN},
        {2.0, 0.0, BLAS_OPEN_AND_WAIT},  {1e9, 0.0, BLAS_OPEN_AND_WAIT},
        {0.001, 0.998, BLAS_OPEN_LATER},
    };
    TEST_CASE("when accelerators are opened");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        CHECK(blas_opening_for(rows[i].own, rows[i].passed) == rows[i].when);
    }
}

static blas_planned plan_of_rows(int64_t m)
{
    return (blas_planned){.type = HR_F32, .m = m, .n = 5, .k = 6};
}

static void check_unknown(const blas_plans *plans, blas_planned other)
{
    other.seconds = 7.0;
    CHECK(!blas_plans_find(plans, &other) && other.seconds == 7.0);
}

static void keep_plans(void)
{
    static const blas_planned others[] = {
        {.type = HR_F64, .m = 4, .n = 5, .k = 6},
        {.type = HR_F32, .m = 5, .n = 5, .k = 6},
        {.type = HR_F32, .m = 4, .n = 4, .k = 6},
        {.type = HR_F32, .m = 4, .n = 5, .k = 4},
        {.type = HR_F32, .m = 4, .n = 5, .k = 6, .op_a = BLAS_TRANSPOSED},
        {.type = HR_F32, .m = 4, .n = 5, .k = 6, .op_b = BLAS_TRANSPOSED},
        {.type = HR_F32, .m = 4, .n = 5, .k = 6, .uplo = BLAS_UPPER},
        {.type = HR_F32, .m = 4, .n = 5, .k = 6, .reads = true},
    };
    static blas_plans plans;
    blas_planned p = plan_of_rows(4);
    TEST_CASE("a plan is found for the same shape alone");
    check_unknown(&plans, (blas_planned){.m = 0}); /* nor an empty place */
    p.seconds = 1.5;
    blas_plans_keep(&plans, &p);
    p.seconds = 0.0;
    CHECK(blas_plans_find(&plans, &p) && p.seconds == 1.5);
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        check_unknown(&plans, others[i]);
    }
    TEST_CASE("the latest plans are kept");
    for (int64_t m = 100; m < 100 + BLAS_PLANS; m++) {
        p = plan_of_rows(m);
        p.seconds = (double)m;
        blas_plans_keep(&plans, &p);
    }
    check_unknown(&plans, plan_of_rows(4));
    for (int64_t m = 100; m < 100 + BLAS_PLANS; m++) {
        p = plan_of_rows(m);
        CHECK(blas_plans_find(&plans, &p) && p.seconds == (double)m);
    }
}

int main(void)
{
    TEST(choose_targets());
    TEST(settle_targets());
    TEST(learn_own_rate());
    TEST(learn_plan_factor());
    TEST(number_calls());
    TEST(open_accelerators());
    TEST(keep_plans());
    return test_end();
}
