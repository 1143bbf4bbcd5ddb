/* SPDX-License-Identifier: MIT */
/* Transforms, and reductions by a function. The cache has what the C compiler
 * made: it is loaded each time. */
#include "faults/groups.h"
#include "support/faults.h"
#include "support/files.h"

enum { N = 10000 };

static hr_status transform_by_text(hr_context *context, const void *unused)
{
    static float x[N], y[N];
    const hr_split_options all = faults_shares();
    bool ok = true;
    (void)unused;
    for (int i = 0; i < N; i++) {
        x[i] = (float)i;
        y[i] = 1;
    }
    HRI_TRY(hr_transform(
        context, "y = a * x + y", "a, x, y",
        HR_ARGUMENTS(hr_value(2.0F), hr_in(x, N), hr_inout(y, N)), &all));
    for (int i = 0; i < N; i++) {
        ok = ok && y[i] == 2.0F * (float)i + 1;
    }
    CHECK(ok);
    return HR_OK;
}

static hr_status reduce_by_text(hr_context *context, const void *unused)
{
    static int data[N];
    const hr_split_options all = faults_shares();
    hr_array *array = NULL;
    int sum = 77;
    (void)unused;
    for (int i = 0; i < N; i++) {
        data[i] = i;
    }
    HRI_TRY(
        hr_array_wrap(context, data, sizeof(int), hr_extent1(N), 0, &array));
    const hr_status status =
        hr_reduce_with(context, "a + b", HR_I32, hr_view_of(array), &all, &sum);
    CHECK(sum == (status == HR_OK ? N * (N - 1) / 2 : 77));
    hr_array_destroy(array);
    return status;
}

void faults_text(void)
{
    static const fault_case cases[] = {
        {"transform", transform_by_text, .accelerators = "3xhost",
         .limit = 1 << 20},
        {"reduce_with", reduce_by_text, .accelerators = "3xhost",
         .limit = 1 << 20},
    };
    char cache[64];
    files_make_cache(cache, sizeof cache);
    FAULTS_EACH(cases);
    files_remove_folder(cache);
}
