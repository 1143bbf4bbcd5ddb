/* SPDX-License-Identifier: MIT */
/* Launches with combined views when any call to an accelerator fails, at once
 * or later. What is reported as right is right, nothing leaks, and the next
 * launch works again. */
#include <headrace/headrace.h>

#include "support/faults.h"

extern const hr_kernel combined_count;

enum { N = 40, BINS = 5, ACCELERATORS = 3, CHUNK = 3 };

typedef struct bed {
    hr_context *context;
    bool streams;
    hr_array *x_array, *bins_array;
    int x[N], bins[BINS], want[BINS];
} bed;

static void fill(bed *b)
{
    for (int i = 0; i < N; i++) {
        b->x[i] = i * i;
    }
    for (int i = 0; i < BINS; i++) {
        b->bins[i] = b->want[i] = i;
    }
}

/* With a limit, x goes through in chunks of CHUNK rows. */
static hr_status create(bed *b)
{
    fill(b);
    hr_status status = faults_context(&b->context);
    for (uint32_t i = 0;
         status == HR_OK && b->streams && i < b->context->accelerator_count;
         i++) {
        hri_accelerator *a = &b->context->accelerators[i];
        a->memory_limit =
            a->device->info.gemm_bytes + (2 * CHUNK + BINS) * sizeof(int);
    }
    if (status == HR_OK) {
        status = hr_array_wrap(b->context, b->x, sizeof(int), hr_extent1(N), 0,
                               &b->x_array);
    }
    if (status == HR_OK) {
        status = hr_array_wrap(b->context, b->bins, sizeof(int),
                               hr_extent1(BINS), 0, &b->bins_array);
    }
    return status;
}

static hr_status launch(bed *b)
{
    static const double weights[ACCELERATORS] = {1, 2, 1};
    hr_split_options options = HR_SPLIT_OPTIONS_INIT;
    const hr_argument arguments[] = {
        hr_in(hr_view_of(b->x_array)),
        hr_combined(hr_inout(hr_view_of(b->bins_array)), HR_COMBINE_SUM)};
    options.weights = weights;
    for (int i = 0; i < N; i++) {
        b->want[(b->x[i] & 0xffff) % BINS]++;
    }
    return hr_launch_split(b->context, &combined_count, hr_extent1(N),
                           arguments, 2, &options);
}

static bool is_right(const bed *b)
{
    return memcmp(b->bins, b->want, sizeof b->want) == 0;
}

/* After a failure, bins get values again and the same launch works. */
static void launch_again(bed *b)
{
    (void)!hr_synchronize(hr_view_of(b->bins_array));
    (void)!hr_synchronize(hr_view_of(b->x_array));
    CHECK(hr_invalidate(hr_view_of(b->bins_array)) == HR_OK);
    CHECK(hr_invalidate(hr_view_of(b->x_array)) == HR_OK);
    fill(b);
    CHECK(launch(b) == HR_OK);
    CHECK(hr_synchronize(hr_view_of(b->bins_array)) == HR_OK);
    CHECK(is_right(b));
}

static void destroy(bed *b)
{
    for (uint32_t i = 0;
         b->context != NULL && i < b->context->accelerator_count; i++) {
        const hri_accelerator *a = &b->context->accelerators[i];
        CHECK(a->memory_peak <= a->memory_limit);
    }
    hr_array_destroy(b->x_array);
    hr_array_destroy(b->bins_array);
    hr_context_destroy(b->context);
    CHECK(fault_backend_objects() == 0 && fault_backend_breaches() == 0);
}

/* Launch, and bring the bins home. */
static hr_status run(bed *b)
{
    hr_status status = create(b);
    if (status == HR_OK) {
        status = launch(b);
    }
    return status == HR_OK ? hr_synchronize(hr_view_of(b->bins_array)) : status;
}

static void fail_each(fault_way how, bool streams, const char *name)
{
    faults f = {.how = how};
    TEST_CASE(name);
    while (faults_next(&f)) {
        bed b = {.streams = streams};
        const hr_status status = run(&b);
        faults_note(&f, status != HR_OK);
        CHECK(status != HR_OK || is_right(&b));
        if (b.bins_array != NULL && faults_stop(&f)) {
            launch_again(&b);
        }
        destroy(&b);
    }
    faults_end(&f);
}

int main(void)
{
    TEST(fail_each(CALL, false, "a call fails"));
    TEST(fail_each(OPERATION, false, "an operation fails later"));
    TEST(fail_each(LOSE, false, "the devices are lost"));
    TEST(fail_each(CALL, true, "a call fails, streaming"));
    TEST(fail_each(OPERATION, true, "an operation fails later, streaming"));
    TEST(fail_each(LOSE, true, "the devices are lost, streaming"));
    return test_end();
}
