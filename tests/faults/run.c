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
    HRI_TRY(hr_run(context, &run1, hr_extent1(N),
                   HR_ARGUMENTS(hr_value(2.0F), hr_in(x, N), hr_inout(y, N)),
                   &all));
    for (int i = 0; i < N; i++) {
        CHECK(y[i] == 1 + 2 * x[i]);
    }
    HRI_TRY(hr_run(context, &run_reverse, hr_extent1(N),
                   HR_ARGUMENTS(hr_in(from, N), hr_out(to, N)), &all));
    for (int i = 0; i < N; i++) {
        CHECK(to[i] == N - 1 - i);
    }
    return HR_OK;
}

static hr_status launch_twice(hr_context *context, hr_queue *queue,
                              hr_array *arrays[2])
{
    static float x[N], y[N];
    for (int i = 0; i < N; i++) {
        x[i] = (float)i;
        y[i] = 1;
    }
    HRI_TRY(hr_array_wrap(context, x, 4, hr_extent1(N), 0, &arrays[0]));
    HRI_TRY(hr_array_wrap(context, y, 4, hr_extent1(N), 0, &arrays[1]));
    for (int i = 0; i < 2; i++) {
        HRI_TRY(
            hr_launch(queue, &run1, hr_extent1(N), NULL,
                      HR_ARGUMENTS(hr_value(2.0F), hr_in(hr_view_of(arrays[0])),
                                   hr_inout(hr_view_of(arrays[1])))));
    }
    HRI_TRY(hr_synchronize(hr_view_of(arrays[1])));
    for (int i = 0; i < N; i++) {
        CHECK(y[i] == 1 + 4 * x[i]);
    }
    return HR_OK;
}

/* The same on the default queue of one accelerator. */
static hr_status launch_on_default(hr_context *context, const void *unused)
{
    hr_array *arrays[2] = {NULL};
    hr_queue *queue = NULL;
    (void)unused;
    HRI_TRY(hr_queue_default(context, 1, &queue));
    hr_status status = launch_twice(context, queue, arrays);
    const hr_status told = hr_queue_finish(queue);
    status = status == HR_OK ? told : status;
    hr_array_destroy(arrays[0]);
    hr_array_destroy(arrays[1]);
    return status;
}

void faults_run(void)
{
    static const fault_case cases[] = {
        {"run", run_both, .accelerators = "3xhost", .limit = 1 << 20},
        {"run_queue_default", launch_on_default, .accelerators = "3xhost",
         .limit = 1 << 20, .ways = FAULTS_CALL | FAULTS_OPERATION},
    };
    FAULTS_EACH(cases);
}
