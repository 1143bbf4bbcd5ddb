/* SPDX-License-Identifier: MIT */
/* Accelerators that no longer work: what makes one lost, and which sentence it
 * keeps. */
#include "test.h"

#include "runtime/runtime.h"

static hri_accelerator a;

static void test_other_errors(void)
{
    CHECK(hri_accelerator_saw(&a, HR_OK) == HR_OK);
    CHECK(hri_accelerator_saw(&a, hri_fail(HR_ERROR_BACKEND, "busy")) ==
          HR_ERROR_BACKEND);
    CHECK(!hri_accelerator_is_lost(&a));
    CHECK(hri_accelerator_check(&a) == HR_OK);
}

static void test_first_loss(void)
{
    CHECK(hri_accelerator_saw(&a, hri_fail(HR_ERROR_LOST, "first")) ==
          HR_ERROR_LOST);
    CHECK(hri_accelerator_is_lost(&a));
    CHECK_FAILS(hri_accelerator_saw(&a, hri_fail(HR_ERROR_LOST, "second")),
                HR_ERROR_LOST, "second");
    CHECK(hri_accelerator_saw(&a, HR_OK) == HR_OK);
    CHECK(hri_accelerator_is_lost(&a));
    CHECK_FAILS(hri_accelerator_check(&a), HR_ERROR_LOST, "first");
}

int main(void)
{
    TEST(test_other_errors());
    TEST(test_first_loss());
    return test_end();
}
