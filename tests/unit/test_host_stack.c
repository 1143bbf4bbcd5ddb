/* SPDX-License-Identifier: MIT */
/* Kernels with much memory of a tile, which lies on a stack. A thread that
 * waits for one runs it, unless its own stack is too small. */
#include "test.h"

#include <pthread.h>

#include <headrace/headrace.h>

#include "base/threads.h"

extern const hr_kernel deep;

enum { COUNT = 1000, TIMES = 50, SMALL = 512 << 10, LARGE = 4 << 20 };

static bool launch_deep(hr_context *context, double *y)
{
    bool right = true;
    for (int i = 0; i < COUNT; i++) {
        y[i] = -1;
    }
    if (hr_run(context, &deep, hr_extent1(COUNT),
               HR_ARGUMENTS(hr_out(y, COUNT)), NULL) != HR_OK) {
        return false;
    }
    for (int i = 0; i < COUNT; i++) {
        right = right && y[i] == 99999 - i;
    }
    return right;
}

typedef struct caller {
    hr_context *context;
    bool has_stack, right;
    double y[COUNT];
} caller;

static void *launch_often(void *data)
{
    caller *c = data;
    c->has_stack = hri_thread_has_kernel_stack();
    c->right = true;
    for (int i = 0; i < TIMES && c->right; i++) {
        c->right = launch_deep(c->context, c->y);
    }
    return NULL;
}

static void launch_with(hr_context *context, size_t stack, bool enough)
{
    static caller c;
    pthread_attr_t attributes;
    pthread_t thread;
    c = (caller){.context = context};
    CHECK(pthread_attr_init(&attributes) == 0);
    CHECK(pthread_attr_setstacksize(&attributes, stack) == 0);
    CHECK(pthread_create(&thread, &attributes, launch_often, &c) == 0);
    pthread_join(thread, NULL);
    pthread_attr_destroy(&attributes);
    CHECK(c.right && c.has_stack == enough);
}

int main(void)
{
    hr_context *context = test_context("host", 0);
    TEST_CASE("a thread with a small stack");
    TEST(launch_with(context, SMALL, false));
    TEST_CASE("a thread with a large stack");
    TEST(launch_with(context, LARGE, true));
    hr_context_destroy(context);
    return test_end();
}
