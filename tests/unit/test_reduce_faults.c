/* SPDX-License-Identifier: MIT */
/* Reductions when any call to an accelerator fails, at once or later: a result
 * that is given is right, and nothing leaks. */
#include <headrace/headrace.h>

#include "runtime/runtime.h"
#include "support/fault_backend.h"
#include "support/told.h"
#include "test.h"

extern const hri_backend hri_backend_host;

enum { N = 30000 };

typedef enum way { CALL, OPERATION, LOSE } way;

static const hr_reduction kinds[] = {HR_REDUCE_SUM, HR_REDUCE_ARGMAX,
                                     HR_REDUCE_NORM};
static int data[N];

static hr_status create(hr_context **context, hr_array **array)
{
    static const hri_backend *list[2];
    hr_context_options options = HR_CONTEXT_OPTIONS_INIT;
    list[0] = fault_backend_wrap(&hri_backend_host);
    options.accelerators = "3xhost";
    options.memory_limit = 1 << 20;
    hr_status status = hri_context_create_from(list, &options, context);
    if (status == HR_OK) { /* which takes thousands of calls to measure */
        told_overheads(*context);
        status =
            hr_array_wrap(*context, data, sizeof(int), hr_extent1(N), 0, array);
    }
    return status;
}

static bool is_right(hr_reduction kind, const hr_reduced *got)
{
    return kind == HR_REDUCE_SUM      ? got->integer == N / 2
           : kind == HR_REDUCE_ARGMAX ? got->index == 1 && got->integer == 1
                                      : got->value * got->value - N / 2 < 1e-9;
}

/* How many of the reductions fail. */
static int reduce(hr_context *context, hr_array *array)
{
    static const double weights[] = {1, 2, 1};
    hr_split_options options = HR_SPLIT_OPTIONS_INIT;
    int failed = 0;
    options.weights = weights;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        hr_reduced got = {.value = 77};
        hr_status status = hr_reduce(context, kinds[i], HR_I32,
                                     hr_view_of(array), NULL, &options, &got);
        CHECK(status == HR_OK ? is_right(kinds[i], &got) : got.value == 77);
        CHECK(status == HR_OK || hr_last_error()[0] != '\0');
        failed += status != HR_OK;
    }
    return failed;
}

static void inject(way how, uint64_t n)
{
    if (how == CALL) {
        fault_backend_fail_call(n, HR_ERROR_BACKEND);
    } else if (how == OPERATION) {
        fault_backend_fail_operation(n, HR_ERROR_BACKEND);
    } else {
        fault_backend_lose(n);
    }
}

static void fail_each(way how, const char *name)
{
    int failed = 0;
    bool more = true;
    TEST_CASE(name);
    for (uint64_t n = 1; more && test_state.failures == 0; n += FAULT_STEP) {
        hr_context *context = NULL;
        hr_array *array = NULL;
        fault_backend_reset();
        inject(how, n);
        failed +=
            create(&context, &array) != HR_OK || reduce(context, array) > 0;
        more = (how == OPERATION ? fault_backend_operations()
                                 : fault_backend_calls()) >= n;
        hr_array_destroy(array);
        hr_context_destroy(context);
        CHECK(fault_backend_objects() == 0 && fault_backend_breaches() == 0);
        if (test_state.failures > 0) {
            printf("number %llu\n", (unsigned long long)n);
        }
    }
    printf("%s: %d failed\n", name, failed);
    CHECK(failed > 0);
}

/* Accelerators without double get no band; with weights they are named. */
static void without_double(void)
{
    TEST_CASE("no double");
    static const double weights[] = {1, 2, 1};
    hr_split_options options = HR_SPLIT_OPTIONS_INIT;
    hr_context *context = NULL;
    hr_array *array = NULL;
    hr_reduced got = {.value = 77};
    fault_backend_reset();
    CHECK(create(&context, &array) == HR_OK);
    fault_backend_pretend_no_double(true);
    options.weights = weights;
    for (int i = 0; i < 2; i++) {
        CHECK_FAILS(hr_reduce(context, HR_REDUCE_SUM, HR_I32, hr_view_of(array),
                              NULL, i == 0 ? NULL : &options, &got),
                    HR_ERROR_UNSUPPORTED, "host#0 cannot compute in double");
    }
    CHECK(got.value == 77);
    hr_array_destroy(array);
    hr_context_destroy(context);
}

int main(void)
{
    for (int i = 0; i < N; i++) {
        data[i] = i % 2;
    }
    TEST(fail_each(CALL, "a call fails"));
    TEST(fail_each(OPERATION, "an operation fails later"));
    TEST(fail_each(LOSE, "the device is lost"));
    TEST(without_double());
    return test_end();
}
