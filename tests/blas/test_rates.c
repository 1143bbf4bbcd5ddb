/* SPDX-License-Identifier: MIT */
/* What the drop-in BLAS learns from calls, and what it makes of that. */
#include "blas/rates.h"

#include <math.h>

#include "test.h"

static int near(double a, double b)
{
    return fabs(a - b) <= 1e-12 * fabs(b);
}

static void targets_settle(void)
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

static void own_rate(void)
{
    blas_rates r = {.own = {.value = 0.0}};
    TEST_CASE("the fallback BLAS: a guess until a call has been timed");
    CHECK(blas_own_seconds(&r, 1e9, 2e-9) == 2.0);
    blas_learn_own(&r, 1e9, 4.0, false); /* the very first counts */
    CHECK(near(blas_own_seconds(&r, 1e9, 2e-9), 4.0));
    CHECK(near(blas_own_seconds(&r, 5e8, 2e-9), 2.0));
    TEST_CASE("a later call that is not settled does not count");
    blas_learn_own(&r, 1e9, 1.0, false);
    blas_learn_own(&r, 1e9, 1.0, false);
    CHECK(near(blas_own_seconds(&r, 1e9, 2e-9), 4.0));
    TEST_CASE("settled calls do, by the smaller of two in a row");
    blas_learn_own(&r, 1e9, 3.0, true);
    CHECK(near(blas_own_seconds(&r, 1e9, 2e-9), 3.0));
    blas_learn_own(&r, 2e9, 10.0, true);
    CHECK(near(blas_own_seconds(&r, 1e9, 2e-9), 3.0));
    blas_learn_own(&r, 2e9, 12.0, true);
    CHECK(near(blas_own_seconds(&r, 1e9, 2e-9), 5.0));
    CHECK(r.factor.value == 0.0 && r.factor.last == 0.0);
}

static void plan_factor(void)
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
    CHECK(near(blas_planned_seconds(&r, 3.0), 6.0));
    TEST_CASE("what is planned then has the factor already");
    blas_learn_factor(&r, 9.0, 6.0, true);
    blas_learn_factor(&r, 9.0, 6.0, true);
    CHECK(near(blas_planned_seconds(&r, 3.0), 9.0));
    for (int i = 0; i < 4; i++) { /* plans that turn out do not move it */
        blas_learn_factor(&r, 9.0, 9.0, true);
    }
    CHECK(near(blas_planned_seconds(&r, 3.0), 9.0));
    blas_learn_factor(&r, 3.0, 9.0, true); /* faster counts at once */
    CHECK(near(blas_planned_seconds(&r, 3.0), 3.0));
    CHECK(r.own.value == 0.0 && r.own.last == 0.0);
    TEST_CASE("one step changes a plan at most by a factor of four");
    r = (blas_rates){.own = {.value = 0.0}};
    blas_learn_factor(&r, 300.0, 3.0, true);
    blas_learn_factor(&r, 300.0, 3.0, true);
    CHECK(near(blas_planned_seconds(&r, 3.0), 12.0));
}

static void choices(void)
{
    atomic_uint chosen = 0;
    TEST_CASE("calls that wait for others take so much longer");
    CHECK(near(blas_ratio(2.0, 4.0, 0), 0.5));
    CHECK(near(blas_ratio(2.0, 4.0, 1), 1.0));
    CHECK(near(blas_ratio(2.0, 4.0, 3), 2.0));
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

static void opening(void)
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

static blas_planned shape(int64_t m)
{
    return (blas_planned){.type = HR_F32, .m = m, .n = 5, .k = 6};
}

static void plans_differ(const blas_plans *plans, blas_planned other)
{
    other.seconds = 7.0;
    CHECK(!blas_plans_find(plans, &other) && other.seconds == 7.0);
}

static void plans_of_shapes(void)
{
    static blas_plans plans;
    blas_planned p = shape(4);
    TEST_CASE("a plan is found for the same shape alone");
    plans_differ(&plans, (blas_planned){.m = 0}); /* nor an empty place */
    p.seconds = 1.5;
    blas_plans_keep(&plans, &p);
    p.seconds = 0.0;
    CHECK(blas_plans_find(&plans, &p) && p.seconds == 1.5);
    plans_differ(&plans, shape(5));
    p.type = HR_F64, plans_differ(&plans, p), p = shape(4);
    p.op_a = BLAS_TRANSPOSED, plans_differ(&plans, p), p = shape(4);
    p.op_b = BLAS_TRANSPOSED, plans_differ(&plans, p), p = shape(4);
    p.uplo = BLAS_UPPER, plans_differ(&plans, p), p = shape(4);
    p.n = 4, plans_differ(&plans, p), p = shape(4);
    p.k = 4, plans_differ(&plans, p), p = shape(4);
    p.reads = true, plans_differ(&plans, p);
    TEST_CASE("the latest plans are kept");
    for (int64_t m = 100; m < 100 + BLAS_PLANS; m++) {
        p = shape(m);
        p.seconds = (double)m;
        blas_plans_keep(&plans, &p);
    }
    plans_differ(&plans, shape(4));
    for (int64_t m = 100; m < 100 + BLAS_PLANS; m++) {
        p = shape(m);
        CHECK(blas_plans_find(&plans, &p) && p.seconds == (double)m);
    }
}

int main(void)
{
    TEST(targets_settle());
    TEST(own_rate());
    TEST(plan_factor());
    TEST(choices());
    TEST(opening());
    TEST(plans_of_shapes());
    return test_end();
}
