/* SPDX-License-Identifier: MIT */
/* hr_run, and launches on default queues, when any call to an accelerator
 * fails, at once or later. Success means right results, and the next call works
 * again. */
#include <string.h>

#include <headrace/headrace.h>

#include "support/faults.h"

extern const hr_kernel run1, run_reverse;

enum { N = 30, ACCELERATORS = 3 };

typedef struct bed {
    hr_context *context;
    hr_queue *queue;
} bed;

static void destroy(bed *b)
{
    hr_context_destroy(b->context);
    CHECK(fault_backend_objects() == 0 && fault_backend_breaches() == 0);
}

static hr_split_options shared(void)
{
    static const double weights[ACCELERATORS] = {1, 2, 1};
    hr_split_options options = HR_SPLIT_OPTIONS_INIT;
    options.weights = weights;
    return options;
}

/* One kernel for which memory goes in bands, and one that gets it whole. */
static hr_status run_both(const bed *b)
{
    const hr_split_options all = shared();
    float x[N], y[N];
    int from[N], to[N];
    for (int i = 0; i < N; i++) {
        x[i] = (float)i;
        y[i] = 1;
        from[i] = i;
    }
    hr_status status =
        hr_run(b->context, &run1, hr_extent1(N),
               HR_ARGUMENTS(hr_value(2.0F), hr_in(x, N), hr_inout(y, N)), &all);
    for (int i = 0; i < N && status == HR_OK; i++) {
        CHECK(y[i] == 1 + 2 * x[i]);
    }
    if (status == HR_OK) {
        status = hr_run(b->context, &run_reverse, hr_extent1(N),
                        HR_ARGUMENTS(hr_in(from, N), hr_out(to, N)), &all);
    }
    for (int i = 0; i < N && status == HR_OK; i++) {
        CHECK(to[i] == N - 1 - i);
    }
    return status;
}

/* The same on the default queue of one accelerator. */
static hr_status launch_twice(const bed *b)
{
    float x[N], y[N];
    hr_array *arrays[2] = {NULL};
    hr_queue *queue = NULL;
    for (int i = 0; i < N; i++) {
        x[i] = (float)i;
        y[i] = 1;
    }
    hr_status status = hr_queue_default(b->context, 1, &queue);
    if (status == HR_OK) {
        status = hr_array_wrap(b->context, x, 4, hr_extent1(N), 0, &arrays[0]);
    }
    if (status == HR_OK) {
        status = hr_array_wrap(b->context, y, 4, hr_extent1(N), 0, &arrays[1]);
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

static void fail_each(fault_way how, hr_status (*work)(const bed *b),
                      const char *name)
{
    faults f = {.how = how};
    TEST_CASE(name);
    while (faults_next(&f)) {
        bed b = {0};
        hr_status status = faults_context(&b.context);
        const bool created = status == HR_OK;
        status = created ? work(&b) : status;
        faults_note(&f, status != HR_OK);
        if (created && faults_stop(&f)) { /* nothing of it stays */
            CHECK(work(&b) == HR_OK);
        }
        destroy(&b);
    }
    faults_end(&f);
}

int main(void)
{
    TEST(fail_each(CALL, run_both, "a call fails"));
    TEST(fail_each(OPERATION, run_both, "an operation fails later"));
    TEST(fail_each(LOSE, run_both, "the devices are lost"));
    TEST(fail_each(CALL, launch_twice, "a call, on a default queue"));
    TEST(fail_each(OPERATION, launch_twice, "an operation, on such a queue"));
    return test_end();
}
