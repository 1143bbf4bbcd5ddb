/* SPDX-License-Identifier: MIT */
/* Launches that stream when any call to an accelerator fails, at once or later.
 * What is reported as right is right, nothing leaks, and the next launch works
 * again. */
#include <headrace/headrace.h>

#include "support/faults.h"

extern const hr_kernel split1;

enum { N = 40, ARRAYS = 3, ACCELERATORS = 3, CHUNK = 3 };

typedef struct reach {
    int before, after;
} reach;

typedef struct bed {
    hr_context *context;
    hr_array *arrays[ARRAYS];
    int data[ARRAYS][N], want[ARRAYS][N];
} bed;

static void fill(bed *b)
{
    for (int i = 0; i < ARRAYS * N; i++) {
        b->data[i / N][i % N] = b->want[i / N][i % N] = i % 7;
    }
}

/* The limit lets chunks of CHUNK rows through, beside a view that is given
 * whole. */
static hr_status create(bed *b)
{
    fill(b);
    hr_status status = faults_context(&b->context);
    for (uint32_t i = 0; status == HR_OK && i < b->context->accelerator_count;
         i++) {
        hri_accelerator *a = &b->context->accelerators[i];
        a->memory_limit = a->device->info.gemm_bytes +
                          (2 * (CHUNK + 3) + 5 * CHUNK + 8) * sizeof(int);
    }
    for (int i = 0; i < ARRAYS && status == HR_OK; i++) {
        status = hr_array_wrap(b->context, b->data[i], sizeof(int),
                               hr_extent1(N), 0, &b->arrays[i]);
    }
    return status;
}

static int low(int x)
{
    return x & 0xffff;
}

static void wanted(bed *b)
{
    for (int i = 0; i < N; i++) {
        int s = 0;
        for (int j = i - 2; j <= i + 1; j++) {
            s += j >= 0 && j < N ? (j - i + 7) * low(b->want[0][j]) : 1;
        }
        b->want[1][i] = low(3 * low(b->want[1][i]) + s);
        b->want[2][i] = low(s + low(b->want[0][i % 8]));
    }
}

static hr_status launch(bed *b)
{
    static const double weights[ACCELERATORS] = {1, 2, 1};
    static const int64_t origin[] = {0};
    static const reach r = {2, 1};
    hr_split_options options = HR_SPLIT_OPTIONS_INIT;
    const hr_view around = hr_view_of(b->arrays[0]);
    hr_view table;
    options.weights = weights;
    hr_status status = hr_view_section(around, origin, hr_extent1(8), &table);
    const hr_argument arguments[] = {
        hr_near(hr_in(around), 2, 1), hr_whole(hr_in(table)),
        hr_inout(hr_view_of(b->arrays[1])), hr_out(hr_view_of(b->arrays[2])),
        hr_value(&r, sizeof r)};
    wanted(b);
    return status == HR_OK ? hr_launch_split(b->context, &split1, hr_extent1(N),
                                             arguments, 5, &options)
                           : status;
}

/* Results are at home when the launch returns. */
static bool is_right(const bed *b)
{
    return memcmp(b->data, b->want, sizeof b->data) == 0;
}

/* After a failure, what was written has values again and the same launch
 * works. */
static void launch_again(bed *b)
{
    for (int i = 0; i < ARRAYS; i++) {
        (void)!hr_synchronize(hr_view_of(b->arrays[i]));
        CHECK(hr_invalidate(hr_view_of(b->arrays[i])) == HR_OK);
    }
    fill(b);
    CHECK(launch(b) == HR_OK);
    CHECK(is_right(b));
}

static void destroy(bed *b)
{
    for (uint32_t i = 0;
         b->context != NULL && i < b->context->accelerator_count; i++) {
        const hri_accelerator *a = &b->context->accelerators[i];
        CHECK(a->memory_peak <= a->memory_limit);
    }
    for (int i = 0; i < ARRAYS; i++) {
        hr_array_destroy(b->arrays[i]);
    }
    hr_context_destroy(b->context);
    CHECK(fault_backend_objects() == 0 && fault_backend_breaches() == 0);
}

static void fail_each(fault_way how, const char *name)
{
    faults f = {.how = how};
    TEST_CASE(name);
    while (faults_next(&f)) {
        bed b = {0};
        hr_status status = create(&b);
        const bool created = status == HR_OK;
        status = created ? launch(&b) : status;
        faults_note(&f, status != HR_OK);
        CHECK(status != HR_OK || is_right(&b));
        if (created && faults_stop(&f)) {
            launch_again(&b);
        }
        destroy(&b);
    }
    faults_end(&f);
}

int main(void)
{
    TEST(fail_each(CALL, "a call fails"));
    TEST(fail_each(OPERATION, "an operation fails later"));
    TEST(fail_each(LOSE, "the devices are lost"));
    return test_end();
}
