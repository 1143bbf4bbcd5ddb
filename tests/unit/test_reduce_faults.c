/* SPDX-License-Identifier: MIT */
/* Reductions when any call to an accelerator fails, at once or later: a result
 * that is given is right, and nothing leaks. */
#include <math.h>

#include <headrace/headrace.h>

#include "support/faults.h"

enum { N = 30000 };

static const hr_reduction kinds[] = {HR_REDUCE_SUM, HR_REDUCE_ARGMAX,
                                     HR_REDUCE_NORM};
static int data[N];

static hr_status create(hr_context **context, hr_array **array)
{
    hr_status status = faults_context(context);
    if (status == HR_OK) {
        status =
            hr_array_wrap(*context, data, sizeof(int), hr_extent1(N), 0, array);
    }
    return status;
}

static bool is_right(hr_reduction kind, const hr_reduced *got)
{
    return kind == HR_REDUCE_SUM ? got->integer == N / 2
           : kind == HR_REDUCE_ARGMAX
               ? got->index == 1 && got->integer == 1
               : fabs(got->value * got->value - N / 2) < 1e-9;
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

static void fail_each(fault_way how, const char *name)
{
    faults f = {.how = how};
    TEST_CASE(name);
    while (faults_next(&f)) {
        hr_context *context = NULL;
        hr_array *array = NULL;
        faults_note(&f, create(&context, &array) != HR_OK ||
                            reduce(context, array) > 0);
        hr_array_destroy(array);
        hr_context_destroy(context);
    }
    faults_end(&f);
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
