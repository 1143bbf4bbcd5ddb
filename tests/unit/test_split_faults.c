/* SPDX-License-Identifier: MIT */
/* Launches over several accelerators when any call to one of them fails, at
 * once or later. What is reported as right is right, and the rest goes on. */
#include <string.h>

#include <headrace/headrace.h>

#include "support/faults.h"

extern const hr_kernel split1;

enum { N = 30, ARRAYS = 3, STEPS = 3 };

typedef struct reach {
    int before, after;
} reach;

typedef struct bed {
    hr_context *context;
    bool chosen; /* bands are the library's choice, which measures first */
    hr_array *arrays[ARRAYS];
    int data[ARRAYS][N], want[ARRAYS][N];
} bed;

static hr_status create(bed *b)
{
    for (int i = 0; i < ARRAYS * N; i++) {
        b->data[i / N][i % N] = b->want[i / N][i % N] = i % 7;
    }
    hr_status status = faults_context(&b->context);
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

static void step_wanted(const int *around, int *sum, int *last)
{
    for (int i = 0; i < N; i++) {
        int s = 0;
        for (int j = i - 2; j <= i + 1; j++) {
            s += j >= 0 && j < N ? (j - i + 7) * low(around[j]) : 1;
        }
        sum[i] = low(3 * low(sum[i]) + s);
        last[i] = low(s + low(around[i]));
    }
}

/* Arrays change their parts from step to step, and bands their accelerators. */
static hr_status launch_all(bed *b)
{
    static const double weights[STEPS][3] = {{1, 1, 1}, {2, 0, 1}, {1, 3, 1}};
    static const reach r = {2, 1};
    hr_status status = HR_OK;
    for (int i = 0; i < STEPS && status == HR_OK; i++) {
        const int x = i % 3, y = (i + 1) % 3, z = (i + 2) % 3;
        hr_split_options options = HR_SPLIT_OPTIONS_INIT;
        const hr_view around = hr_view_of(b->arrays[x]);
        const hr_argument arguments[] = {
            hr_near(hr_in(around), 2, 1), hr_whole(hr_in(around)),
            hr_inout(hr_view_of(b->arrays[y])),
            hr_out(hr_view_of(b->arrays[z])), hr_value(&r, sizeof r)};
        options.weights = b->chosen ? NULL : weights[i];
        step_wanted(b->want[x], b->want[y], b->want[z]);
        status = hr_launch_split(b->context, &split1, hr_extent1(N), arguments,
                                 5, &options);
    }
    return status;
}

/* How many arrays could not be brought home; those that could are right, when
 * all was launched. */
static int read_all(const bed *b)
{
    int failed = 0;
    for (int i = 0; i < ARRAYS; i++) {
        const bool told = hr_synchronize(hr_view_of(b->arrays[i])) != HR_OK;
        CHECK(told || memcmp(b->data[i], b->want[i], sizeof b->data[i]) == 0);
        failed += told;
    }
    return failed;
}

static void destroy(bed *b)
{
    for (int i = 0; i < ARRAYS; i++) {
        hr_array_destroy(b->arrays[i]);
    }
    hr_context_destroy(b->context);
    CHECK(fault_backend_objects() == 0 && fault_backend_breaches() == 0);
}

static void fail_each(fault_way how, bool chosen, uint64_t stride,
                      const char *name)
{
    faults f = {.how = how, .stride = stride};
    TEST_CASE(name);
    while (faults_next(&f)) {
        bed b = {.chosen = chosen};
        hr_status status = create(&b);
        if (status == HR_OK) {
            status = launch_all(&b);
        }
        faults_note(&f, status != HR_OK || read_all(&b) > 0);
        destroy(&b);
    }
    faults_end(&f);
}

/* After a failure, launches on the same accelerators work again. */
static void goes_on(void)
{
    TEST_CASE("launches after one that failed");
    for (uint64_t n = 1; n <= 20; n++) {
        bed b = {0};
        fault_backend_reset();
        CHECK(create(&b) == HR_OK);
        fault_backend_fail_operation(n, HR_ERROR_BACKEND);
        if (launch_all(&b) == HR_OK) {
            (void)read_all(&b);
        }
        fault_backend_fail_operation(0, HR_OK);
        for (int i = 0; i < ARRAYS; i++) {
            (void)!hr_synchronize(hr_view_of(b.arrays[i]));
        }
        for (int i = 0; i < ARRAYS; i++) {
            CHECK(hr_invalidate(hr_view_of(b.arrays[i])) == HR_OK);
            memcpy(b.want[i], b.data[i], sizeof b.want[i]);
        }
        CHECK(launch_all(&b) == HR_OK);
        CHECK(read_all(&b) == 0);
        destroy(&b);
    }
}

int main(void)
{
    TEST(fail_each(CALL, false, 1, "a call fails"));
    TEST(fail_each(OPERATION, false, 1, "an operation fails later"));
    TEST(fail_each(LOSE, false, 1, "the device is lost"));
    TEST(fail_each(CALL, true, 3, "a call fails when bands are chosen"));
    TEST(fail_each(OPERATION, true, 3, "an operation when bands are chosen"));
    TEST(goes_on());
    return test_end();
}
