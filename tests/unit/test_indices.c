/* SPDX-License-Identifier: MIT */
/* Accelerators of a context. Lists of them: which are accepted, what they mean,
 * and the sentence for each that is not. Lost ones: what makes one lost, and
 * which sentence it keeps. */
#include "test.h"

#include "hal/backend.h"
#include "runtime/runtime.h"

/* ---- lists */

static const uint32_t list[] = {2, 0, 1, 1, 3};

static const struct {
    const char *name;
    const uint32_t *list;
    uint32_t count, there;
    const char *sentence; /* NULL: accepted */
} rows[] = {
    {"no list: all", NULL, 0, 3, NULL},
    {"one", list, 1, 3, NULL},
    {"all, in an order of its own", list, 3, 3, NULL},
    {"a count and no list", NULL, 2, 3,
     "gemm: 2 accelerators, but no list: accelerators is NULL"},
    {"as many as there are, and no list", NULL, 1, 1,
     "gemm: 1 accelerator, but no list: accelerators is NULL"},
    {"an empty list", list, 0, 3, "gemm: a list of 0 accelerators"},
    {"one that is not there", list, 1, 2,
     "gemm: accelerator index 2 is not below 2"},
    {"one twice", list + 1, 3, 3,
     "gemm: accelerator 1 is listed twice among 3 accelerators"},
    {"more than there are: one is twice", list, 5, 3,
     "gemm: accelerator 1 is listed twice among 5 accelerators"},
    {"more than there are: one is not there", list + 3, 2, 2,
     "gemm: accelerator index 3 is not below 2"},
    {"a context that is empty", NULL, 0, 0,
     "gemm: the context has 0 accelerators"},
    {"and a list", list, 1, 0, "gemm: the context has 0 accelerators"},
};

static void check_list(size_t i)
{
    hr_context context = {.accelerator_count = rows[i].there};
    hri_indices read = {0};
    hr_status status =
        hri_indices_read(&context, "gemm", rows[i].list, rows[i].count, &read);
    TEST_CASE(rows[i].name);
    if (rows[i].sentence != NULL) {
        CHECK(status == HR_ERROR_INVALID);
        CHECK(strcmp(hr_last_error(), rows[i].sentence) == 0);
        return;
    }
    CHECK(status == HR_OK);
    CHECK(read.count == (rows[i].list != NULL ? rows[i].count : rows[i].there));
    for (uint32_t j = 0; j < read.count; j++) {
        const uint32_t index = hri_indices_at(&read, j);
        CHECK(index == (rows[i].list != NULL ? rows[i].list[j] : j));
        CHECK(hri_indices_have(&read, index));
    }
    CHECK(!hri_indices_have(&read, rows[i].there));
    CHECK(hri_indices_have(&read, 0) == (read.count == 3));
}

/* ---- lost ones */

static const hri_device_ops alive = {.check = hri_not_lost};
static hri_device device = {.ops = &alive};
static hri_accelerator one = {.device = &device};

static void other_errors_lose_nothing(void)
{
    CHECK(hri_accelerator_note_status(&one, HR_OK) == HR_OK);
    CHECK(hri_accelerator_note_status(
              &one, hri_fail(HR_ERROR_BACKEND, "busy")) == HR_ERROR_BACKEND);
    CHECK(!hri_accelerator_is_lost(&one));
    CHECK(hri_accelerator_check(&one) == HR_OK);
}

static void first_loss_is_kept(void)
{
    CHECK(hri_accelerator_note_status(&one, hri_fail(HR_ERROR_LOST, "first")) ==
          HR_ERROR_LOST);
    CHECK(hri_accelerator_is_lost(&one));
    CHECK_FAILS(
        hri_accelerator_note_status(&one, hri_fail(HR_ERROR_LOST, "second")),
        HR_ERROR_LOST, "second");
    CHECK(hri_accelerator_note_status(&one, HR_OK) == HR_OK);
    CHECK(hri_accelerator_is_lost(&one));
    CHECK_FAILS(hri_accelerator_check(&one), HR_ERROR_LOST, "first");
}

static hr_status is_gone(hri_device *gone)
{
    (void)gone;
    return hri_fail(HR_ERROR_LOST, "the driver says so");
}

static void backend_knows_of_losses(void)
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
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        TEST(check_list(i));
    }
    TEST(other_errors_lose_nothing());
    TEST(first_loss_is_kept());
    TEST(backend_knows_of_losses());
    return test_end();
}
