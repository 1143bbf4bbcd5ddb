/* SPDX-License-Identifier: MIT */
/* Lists of accelerators: which are accepted, what they mean, and the sentence
 * for each that is not. */
#include "test.h"

#include "runtime/runtime.h"

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

static void check_row(size_t i)
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

int main(void)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        TEST(check_row(i));
    }
    return test_end();
}
