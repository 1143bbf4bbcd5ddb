/* SPDX-License-Identifier: MIT */
/* Accelerators that no longer work: what makes one lost, and which sentence it
 * keeps. */
#include "test.h"

#include "hal/backend.h"
#include "runtime/runtime.h"

static const hri_device_ops alive = {.check = hri_not_lost};
static hri_device device = {.ops = &alive};
static hri_accelerator a = {.device = &device};

static void test_other_errors(void)
{
    CHECK(hri_accelerator_note_status(&a, HR_OK) == HR_OK);
    CHECK(hri_accelerator_note_status(&a, hri_fail(HR_ERROR_BACKEND, "busy")) ==
          HR_ERROR_BACKEND);
    CHECK(!hri_accelerator_is_lost(&a));
    CHECK(hri_accelerator_check(&a) == HR_OK);
}

static void test_first_loss(void)
{
    CHECK(hri_accelerator_note_status(&a, hri_fail(HR_ERROR_LOST, "first")) ==
          HR_ERROR_LOST);
    CHECK(hri_accelerator_is_lost(&a));
    CHECK_FAILS(
        hri_accelerator_note_status(&a, hri_fail(HR_ERROR_LOST, "second")),
        HR_ERROR_LOST, "second");
    CHECK(hri_accelerator_note_status(&a, HR_OK) == HR_OK);
    CHECK(hri_accelerator_is_lost(&a));
    CHECK_FAILS(hri_accelerator_check(&a), HR_ERROR_LOST, "first");
}

static hr_status is_gone(hri_device *gone)
{
    (void)gone;
    return hri_fail(HR_ERROR_LOST, "the driver says so");
}

static void test_backend_knows(void)
{
    static const hri_device_ops dead = {.check = is_gone};
    static const uint32_t second = 1;
    hri_device other = {.ops = &dead};
    hri_accelerator both[] = {{.device = &device}, {.device = &other}};
    hr_context context = {.accelerators = both, .accelerator_count = 2};
    const hri_indices all = {NULL, 2}, first = {NULL, 1}, last = {&second, 1};
    CHECK(!hri_accelerator_is_lost(&both[0]));
    CHECK(hri_accelerator_is_lost(&both[1]));
    CHECK_FAILS(hri_accelerator_check(&both[1]), HR_ERROR_LOST,
                "the driver says so");
    CHECK(hri_indices_check(&context, &first) == HR_OK);
    CHECK(hri_indices_check(&context, &all) == HR_ERROR_LOST);
    CHECK(hri_indices_check(&context, &last) == HR_ERROR_LOST);
}

int main(void)
{
    TEST(test_other_errors());
    TEST(test_first_loss());
    TEST(test_backend_knows());
    return test_end();
}
