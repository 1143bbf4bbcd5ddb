/* SPDX-License-Identifier: MIT */
/* Transforms, and reductions by a function, when any call to an accelerator
 * fails, at once or later: success means right results, nothing leaks, and the
 * next call works again. The cache has what the C compiler made: it is loaded
 * each time. */
#include <string.h>

#include <headrace/headrace.h>

#include "support/faults.h"
#include "support/files.h"
#include "support/without_compiler.h"

enum { N = 10000, ACCELERATORS = 3 };

static hr_split_options shared(void)
{
    static const double weights[ACCELERATORS] = {1, 2, 1};
    hr_split_options options = HR_SPLIT_OPTIONS_INIT;
    options.weights = weights;
    return options;
}

static hr_status transform(hr_context *context)
{
    static float x[N], y[N];
    const hr_split_options all = shared();
    bool ok = true;
    for (int i = 0; i < N; i++) {
        x[i] = (float)i;
        y[i] = 1;
    }
    const hr_status status = hr_transform(
        context, "y = a * x + y", "a, x, y",
        HR_ARGUMENTS(hr_value(2.0F), hr_in(x, N), hr_inout(y, N)), &all);
    for (int i = 0; i < N && status == HR_OK; i++) {
        ok = ok && y[i] == 2.0F * (float)i + 1;
    }
    CHECK(ok);
    return status;
}

static hr_status reduce(hr_context *context)
{
    static int data[N];
    const hr_split_options all = shared();
    hr_array *array = NULL;
    int sum = 77;
    for (int i = 0; i < N; i++) {
        data[i] = i;
    }
    hr_status status =
        hr_array_wrap(context, data, sizeof(int), hr_extent1(N), 0, &array);
    if (status == HR_OK) {
        status = hr_reduce_with(context, "a + b", HR_I32, hr_view_of(array),
                                &all, &sum);
    }
    CHECK(sum == (status == HR_OK ? N * (N - 1) / 2 : 77));
    hr_array_destroy(array);
    return status;
}

int main(void)
{
    char cache[64];
    if (has_no_compiler("host")) {
        return test_skip(hr_last_error());
    }
    files_make_cache(cache, sizeof cache);
    TEST(faults_each(CALL, transform, "a call fails"));
    TEST(faults_each(OPERATION, transform, "an operation fails later"));
    TEST(faults_each(LOSE, transform, "the devices are lost"));
    TEST(faults_each(CALL, reduce, "a call of a reduction fails"));
    TEST(faults_each(OPERATION, reduce, "an operation of one fails later"));
    TEST(faults_each(LOSE, reduce, "the devices are lost in one"));
    files_remove_folder(cache);
    return test_end();
}
