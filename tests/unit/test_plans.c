/* SPDX-License-Identifier: MIT */
/* Plans that are kept: the same one for the same inputs, a new one when a
 * single input differs, and no more than some. */
#include "gemm/plans.h"

#include "test.h"

enum { EDGE = 512, MANY = 40 };

static const hri_plan_shape shape = {
    .m = EDGE, .n = EDGE, .k = EDGE, .size = 4, .c_size = 4, .flops = 2.0};

static hri_plan_accelerator accelerator_of(uint32_t index)
{
    return (hri_plan_accelerator){.memory = 1u << 30,
                                  .buffer = 1u << 30,
                                  .rate = 1e12,
                                  .up.rate = 1e10,
                                  .down.rate = 1e10,
                                  .both.rate = 2e10,
                                  .task = 1e-5,
                                  .start = 3e-4,
                                  .brief = 4e-5,
                                  .peers = index,
                                  .device = index};
}

/* Get a plan and give it back. The address stays the same while it is kept. */
static const hri_plan *get(hri_plans **plans, const hri_plan_shape *s,
                           const hri_plan_accelerator *inputs, uint32_t count)
{
    hri_plan *plan = NULL;
    CHECK(hri_plans_get(plans, s, inputs, count, &plan) == HR_OK);
    CHECK(plan != NULL && plan->shape.m == s->m && plan->shape.k == s->k);
    hri_plan_destroy(plan);
    return plan;
}

static void same_inputs(void)
{
    TEST_CASE("the same plan for the same inputs");
    hri_plans *plans = NULL;
    hri_plan_accelerator inputs[2] = {accelerator_of(0), accelerator_of(1)};
    const hri_plan *first = get(&plans, &shape, inputs, 2);
    CHECK(get(&plans, &shape, inputs, 2) == first);
    CHECK(get(&plans, &shape, inputs, 1) != first);
    CHECK(get(&plans, &shape, inputs, 2) == first);

    TEST_CASE("another one when an input differs");
    hri_plan_shape other = shape;
    other.dense[HRI_B] = true;
    CHECK(get(&plans, &other, inputs, 2) != first);
    other = shape;
    other.by_columns[HRI_A] = true;
    CHECK(get(&plans, &other, inputs, 2) != first);
    other = shape;
    other.reads_result = true;
    CHECK(get(&plans, &other, inputs, 2) != first);
    other = shape;
    other.k++;
    CHECK(get(&plans, &other, inputs, 2) != first);
    inputs[1].memory--;
    CHECK(get(&plans, &shape, inputs, 2) != first);
    inputs[1] = accelerator_of(1);
    inputs[1].tile_rates[2] = 1e11;
    CHECK(get(&plans, &shape, inputs, 2) != first);
    inputs[1] = accelerator_of(1);
    inputs[0].both.alone = 1e9;
    CHECK(get(&plans, &shape, inputs, 2) != first);
    inputs[0] = accelerator_of(0);
    inputs[0].single = 1e11;
    CHECK(get(&plans, &shape, inputs, 2) != first);
    inputs[0] = accelerator_of(0);
    CHECK(get(&plans, &shape, inputs, 2) == first);
    hri_plans_destroy(plans);
}

static void few_are_kept(void)
{
    TEST_CASE("the one that was not used for longest goes");
    hri_plans *plans = NULL;
    const hri_plan_accelerator input = accelerator_of(0);
    hri_plan *held = NULL;
    CHECK(hri_plans_get(&plans, &shape, &input, 1, &held) == HR_OK);
    hri_plan_shape other = shape;
    for (int i = 0; i < MANY; i++) { /* used in between: it stays */
        other.m++;
        get(&plans, &other, &input, 1);
        CHECK(get(&plans, &shape, &input, 1) == held);
    }
    for (int i = 0; i < MANY; i++) {
        other.m++;
        get(&plans, &other, &input, 1);
    }
    CHECK(get(&plans, &shape, &input, 1) != held);
    CHECK(held->shape.m == EDGE); /* a holder's plan stays */
    hri_plan_destroy(held);
    hri_plans_destroy(plans);
}

static void errors_are_not_kept(void)
{
    TEST_CASE("no plan");
    hri_plans *plans = NULL;
    hri_plan *plan = NULL;
    hri_plan_accelerator input = accelerator_of(0);
    CHECK_FAILS(hri_plans_get(&plans, &shape, &input, 0, &plan),
                HR_ERROR_INVALID, "no accelerators");
    input.memory = 1;
    CHECK_FAILS(hri_plans_get(&plans, &shape, &input, 1, &plan),
                HR_ERROR_OUT_OF_MEMORY, "least working set");
    CHECK(plans == NULL);
    hri_plans_destroy(plans);
}

int main(void)
{
    TEST(same_inputs());
    TEST(few_are_kept());
    TEST(errors_are_not_kept());
    return test_end();
}
