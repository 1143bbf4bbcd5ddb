/* SPDX-License-Identifier: MIT */
/* hr_run, and launches on default queues. */
#include "faults/groups.h"
#include "support/faults.h"

extern const hr_kernel run1, run_reverse;

enum { N = 30 };
/* One kernel for which memory goes in bands, and one that gets it whole. */
static hr_status run_both(hr_context *context, const void *unused)
{
    const hr_split_options all = faults_shares();
    float x[N], y[N];
    int from[N], to[N];
    (void)unused;
    for (int i = 0; i < N; i++) {
        x[i] = (float)i;
        y[i] = 1;
        from[i] = i;
    }
    hr_status status =
        hr_run(context, &run1, hr_extent1(N),
               HR_ARGUMENTS(hr_value(2.0F), hr_in(x, N), hr_inout(y, N)), &all);
    for (int i = 0; i < N && status == HR_OK; i++) {
        CHECK(y[i] == 1 + 2 * x[i]);
    }
    if (status == HR_OK) {
        status = hr_run(context, &run_reverse, hr_extent1(N),
                        HR_ARGUMENTS(hr_in(from, N), hr_out(to, N)), &all);
    }
    for (int i = 0; i < N && status == HR_OK; i++) {
        CHECK(to[i] == N - 1 - i);
    }
    return status;
}

/* The same on the default queue of one accelerator. */
static hr_status launch_twice(hr_context *context, const void *unused)
{
    float x[N], y[N];
    hr_array *arrays[2] = {NULL};
    hr_queue *queue = NULL;
    (void)unused;
    for (int i = 0; i < N; i++) {
        x[i] = (float)i;
        y[i] = 1;
    }
    hr_status status = hr_queue_default(context, 1, &queue);
    if (status == HR_OK) {
        status = hr_array_wrap(context, x, 4, hr_extent1(N), 0, &arrays[0]);
    }
    if (status == HR_OK) {
        status = hr_array_wrap(context, y, 4, hr_extent1(N), 0, &arrays[1]);
    }
    for (int i = 0; i < 2 && status == HR_OK; i++) {
        status =
            hr_launch(queue, &run1, hr_extent1(N), NULL,
                      HR_ARGUMENTS(hr_value(2.0F), hr_in(hr_view_of(arrays[0])),
                                   hr_inout(hr_view_of(arrays[1]))));
    }
    if (status == HR_OK) {
        status = hr_synchronize(hr_view_of(arrays[1]));
    }
    for (int i = 0; i < N && status == HR_OK; i++) {
        CHECK(y[i] == 1 + 4 * x[i]);
    }
    if (queue != NULL) {
        const hr_status told = hr_queue_finish(queue);
        status = status == HR_OK ? told : status;
    }
    hr_array_destroy(arrays[0]);
    hr_array_destroy(arrays[1]);
    return status;
}

void faults_run(void)
{
    static const fault_case cases[] = {
        {"run", run_both, .accelerators = "3xhost", .limit = 1 << 20},
        {"run_queue_default", launch_twice, .accelerators = "3xhost",
         .limit = 1 << 20, .ways = FAULTS_CALL | FAULTS_OPERATION},
    };
    FAULTS_EACH(cases);
}
