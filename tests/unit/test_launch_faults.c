/* SPDX-License-Identifier: MIT */
/* Launches when any call to an accelerator fails, alone and after an operation
 * that failed. What is reported as right is right. */
#include <string.h>

#include <headrace/headrace.h>

#include "runtime/runtime.h"
#include "support/fault_backend.h"
#include "test.h"
extern const hr_kernel axpy;

enum { N = 64, ARRAYS = 3, QUEUES = 3, OPERATIONS = 8 };

typedef struct point {
    float x;
    int n;
} point;

typedef struct bed {
    hr_context *context;
    hr_queue *queues[QUEUES]; /* of accelerators 0, 1 and 0 */
    hr_array *arrays[ARRAYS];
    float data[ARRAYS][N], want[ARRAYS][N];
} bed;

static bool profiled; /* whether launches are timed */

static hr_status create(bed *b)
{
    static const hri_backend *list[2];
    hr_context_options options = HR_CONTEXT_OPTIONS_INIT;
    list[0] = fault_backend_wrap(&hri_backend_host);
    options.accelerators = "2xhost";
    options.memory_limit = 1 << 20;
    for (int i = 0; i < ARRAYS * N; i++) {
        b->data[i / N][i % N] = b->want[i / N][i % N] = (float)(i % 7);
    }
    hr_status status = hri_context_create_from(list, &options, &b->context);
    for (uint32_t i = 0; i < QUEUES && status == HR_OK; i++) {
        status = hr_queue_create(b->context, i % 2, &b->queues[i]);
    }
    if (status == HR_OK && profiled) {
        status = hr_profile_kernel(b->context, &axpy, 2.0);
    }
    for (int i = 0; i < ARRAYS && status == HR_OK; i++) {
        status = hr_array_wrap(b->context, b->data[i], sizeof(float),
                               hr_extent1(N), 0, &b->arrays[i]);
    }
    return status;
}

/* y += 2 x + 1, there and in what is wanted. */
static hr_status launch(bed *b, int queue, int x, int y)
{
    static const float a = 2.0f;
    static const point p = {0.5f, 2};
    const hr_argument arguments[] = {
        hr_in(hr_view_of(b->arrays[x])), hr_inout(hr_view_of(b->arrays[y])),
        hr_value(&a, sizeof a), hr_value(&p, sizeof p)};
    for (int i = 0; i < N; i++) {
        b->want[y][i] += 2.0f * b->want[x][i] + 1.0f;
    }
    return hr_launch(b->queues[queue], &axpy, hr_extent1(N), NULL, arguments,
                     4);
}

static hr_status launch_all(bed *b)
{
    static const int each[][3] = {{0, 0, 1}, {0, 0, 2}, {2, 1, 2}, {1, 2, 1}};
    hr_status status = HR_OK;
    for (size_t i = 0; i < sizeof each / sizeof each[0] && status == HR_OK;
         i++) {
        status = launch(b, each[i][0], each[i][1], each[i][2]);
    }
    return status;
}

static void destroy_queues(bed *b)
{
    for (int i = 0; i < QUEUES; i++) {
        hr_queue_destroy(b->queues[i]);
        b->queues[i] = NULL;
    }
}

/* How many arrays could not be brought home; those that could are right. */
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

/* Every call in turn fails, besides the operation (0: none). A queue that goes
 * may have a pending fence, which cannot be recorded then. */
static void fail_each(uint64_t operation, bool early)
{
    int failed = 0;
    bool more = true;
    for (uint64_t n = 1; more && test_state.failures == 0; n++) {
        bed b = {0};
        fault_backend_reset();
        fault_backend_fail_call(n, HR_ERROR_OUT_OF_MEMORY);
        fault_backend_fail_operation(operation, HR_ERROR_BACKEND);
        hr_status status = create(&b);
        if (status == HR_OK) {
            status = launch_all(&b);
        }
        if (early) {
            destroy_queues(&b);
        }
        failed += status == HR_OK ? read_all(&b) : 1;
        more = fault_backend_calls() >= n;
        for (int i = 0; i < ARRAYS; i++) {
            hr_array_destroy(b.arrays[i]);
        }
        destroy_queues(&b);
        hr_context_destroy(b.context);
        CHECK(fault_backend_objects() == 0 && fault_backend_breaches() == 0);
    }
    CHECK(failed > 0);
}

/* A launch fails later, and its fence cannot be recorded any more. */
static void forgotten(void)
{
    TEST_CASE("the error of a queue that went is told");
    bed b = {0};
    fault_backend_reset();
    fault_backend_fail_operation(3, HR_ERROR_BACKEND); /* behind two copies */
    CHECK(create(&b) == HR_OK && launch(&b, 0, 0, 1) == HR_OK);
    CHECK(fault_backend_operations() == 3);
    fault_backend_fail_call(fault_backend_calls() + 1, HR_ERROR_OUT_OF_MEMORY);
    destroy_queues(&b);
    CHECK(hr_synchronize(hr_view_of(b.arrays[1])) == HR_ERROR_BACKEND);
    CHECK(hr_synchronize(hr_view_of(b.arrays[0])) == HR_OK);
    for (int i = 0; i < ARRAYS; i++) {
        hr_array_destroy(b.arrays[i]);
    }
    hr_context_destroy(b.context);
    CHECK(fault_backend_objects() == 0 && fault_backend_breaches() == 0);
}

int main(void)
{
    TEST(forgotten());
    for (uint64_t i = 0; i <= 2 * (uint64_t)OPERATIONS + 1; i++) {
        const uint64_t operation = i / 2;
        profiled = i % 2 == 1;
        TEST_CASE("a call fails while queues live");
        TEST(fail_each(operation, false));
        TEST_CASE("a call fails, and queues go before arrays are read");
        TEST(fail_each(operation, true));
    }
    return test_end();
}
