/* SPDX-License-Identifier: MIT */
/* Scans when any call to an accelerator fails, at once or later: results that
 * are given are right, and nothing leaks. */
#include <string.h>

#include <headrace/headrace.h>

#include "support/faults.h"

enum { N = 30000 };

static int data[N], out[N];

static hr_status create(hr_context **context, hr_array **arrays)
{
    hr_status status = faults_context(context);
    if (status == HR_OK) {
        status = hr_array_wrap(*context, data, sizeof(int), hr_extent1(N), 0,
                               &arrays[0]);
    }
    if (status == HR_OK) {
        status = hr_array_wrap(*context, out, sizeof(int), hr_extent1(N), 0,
                               &arrays[1]);
    }
    return status;
}

static bool is_right(hr_extent extent)
{
    const int64_t cols = extent.size[extent.rank - 1];
    bool right = true;
    for (int64_t i = 0; i < N && right; i++) {
        const int64_t k = i % cols; /* data alternates; rows begin with 0 */
        right = out[i] == (int)((k + 1) / 2);
    }
    return right;
}

/* How many of the scans fail. */
static int scan(hr_context *context, hr_array *const *arrays)
{
    static const double weights[] = {1, 2, 1};
    const hr_extent extents[] = {hr_extent1(N), hr_extent2(3, N / 3)};
    hr_split_options options = HR_SPLIT_OPTIONS_INIT;
    int failed = 0;
    options.weights = weights;
    for (int i = 0; i < 2; i++) {
        hr_view a, b;
        CHECK(hr_view_reshape(hr_view_of(arrays[0]), extents[i], &a) == HR_OK);
        CHECK(hr_view_reshape(hr_view_of(arrays[1]), extents[i], &b) == HR_OK);
        hr_status status = hr_scan(context, HR_REDUCE_SUM, HR_SCAN_INCLUSIVE,
                                   HR_I32, a, b, &options);
        if (status == HR_OK) {
            status = hr_synchronize(b);
        }
        CHECK(status == HR_OK ? is_right(extents[i])
                              : hr_last_error()[0] != '\0');
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
        hr_array *arrays[2] = {NULL};
        memset(out, 0x7f, sizeof out); /* while nothing works on it */
        faults_note(&f, create(&context, arrays) != HR_OK ||
                            scan(context, arrays) > 0);
        hr_array_destroy(arrays[0]);
        hr_array_destroy(arrays[1]);
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
    hr_array *arrays[2] = {NULL};
    fault_backend_reset();
    CHECK(create(&context, arrays) == HR_OK);
    fault_backend_pretend_no_double(true);
    options.weights = weights;
    for (int i = 0; i < 2; i++) {
        CHECK_FAILS(hr_scan(context, HR_REDUCE_SUM, HR_SCAN_INCLUSIVE, HR_I32,
                            hr_view_of(arrays[0]), hr_view_of(arrays[1]),
                            i == 0 ? NULL : &options),
                    HR_ERROR_UNSUPPORTED, "host#0 cannot compute in double");
    }
    hr_array_destroy(arrays[0]);
    hr_array_destroy(arrays[1]);
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
