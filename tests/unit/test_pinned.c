/* SPDX-License-Identifier: MIT */
/* Memory for callers: page-locked by a device that stages, else ordinary; freed
 * by hand or with the context. */
#include "test.h"

#include "runtime/runtime.h"
#include "support/fault_backend.h"

static hr_context *open_staged(const char *list, int staged)
{
    fault_backend_reset();
    fault_backend_pretend_staged(staged);
    return fault_backend_context(list, 8 << 20);
}

static void close_staged(hr_context *context)
{
    fault_backend_close(context);
}

static void check_use(const char *list, int staged, bool asks_device)
{
    hr_context *context = open_staged(list, staged);
    uint64_t calls = fault_backend_calls();
    enum { BYTES = 100000 };
    void *first = NULL, *second = NULL;
    CHECK(hr_allocate_pinned(context, BYTES, &first) == HR_OK);
    CHECK(hr_allocate_pinned(context, 1, &second) == HR_OK);
    CHECK((fault_backend_calls() > calls) == asks_device);
    CHECK(first != NULL && second != NULL && first != second);
    memset(first, 1, BYTES);
    hr_free_pinned(context, first);
    hr_free_pinned(context, NULL);
    hr_free_pinned(context, &calls); /* not of this context */
    close_staged(context);           /* frees the second */
}

static void check_refusals(void)
{
    void *memory = &memory;
    hr_context *context = open_staged("2xhost", 1);
    TEST_CASE("nothing is NULL");
    CHECK(hr_allocate_pinned(context, 0, &memory) == HR_OK && memory == NULL);
    memory = &memory;
    TEST_CASE("no context, no place");
    CHECK_FAILS(hr_allocate_pinned(NULL, 8, &memory), HR_ERROR_INVALID,
                "the context is NULL");
    CHECK_FAILS(hr_allocate_pinned(context, 8, NULL), HR_ERROR_INVALID,
                "memory is NULL");
    TEST_CASE("the device refuses: its error, nothing written");
    fault_backend_fail_call(fault_backend_calls() + 1, HR_ERROR_OUT_OF_MEMORY);
    CHECK(hr_allocate_pinned(context, 8, &memory) == HR_ERROR_OUT_OF_MEMORY);
    CHECK(memory == &memory);
    hr_free_pinned(NULL, memory);
    close_staged(context);
}

int main(void)
{
    TEST_CASE("a device that stages page-locks it");
    TEST(check_use("2xhost", 1, true));
    TEST_CASE("ordinary memory where none stages");
    TEST(check_use("2xhost", 0, false));
    TEST_CASE("ordinary memory where the host works in place");
    TEST(check_use("host", 1, false));
    TEST(check_refusals());
    return test_end();
}
