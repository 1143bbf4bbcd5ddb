/* SPDX-License-Identifier: MIT */
/* Scans of several threads, and what those of one launch share in a context, on
 * the accelerators of argv[1]: memory that grows, and a number for each launch,
 * which comes to an end. */
#include <pthread.h>
#include <stdlib.h>

#include <headrace/headrace.h>

#include "calls/scan.h"
#include "test.h"

enum { TIMES = 6, THREADS = 3 };

/* Scan so many ones. */
static bool scan_ones(hr_context *context, int64_t n)
{
    int *x = malloc((size_t)n * sizeof *x);
    hr_array *array = NULL;
    for (int64_t i = 0; i < n; i++) {
        x[i] = 1;
    }
    bool right =
        hr_array_wrap(context, x, 4, hr_extent1(n), 0, &array) == HR_OK &&
        hr_scan(context, HR_REDUCE_SUM, HR_SCAN_INCLUSIVE, HR_I32,
                hr_view_of(array), hr_view_of(array), NULL) == HR_OK &&
        hr_synchronize(hr_view_of(array)) == HR_OK;
    for (int64_t i = 0; i < n && right; i++) {
        right = x[i] == i + 1;
    }
    hr_array_destroy(array);
    free(x);
    return right;
}

typedef struct scanner {
    hr_context *context;
    int64_t count;
    bool right;
} scanner;

/* Scan again and again, more each time. */
static void *scan_more(void *argument)
{
    scanner *s = argument;
    for (int time = 1; time <= TIMES; time++) {
        s->right = scan_ones(s->context, s->count * time) && s->right;
    }
    return NULL;
}

static void several_threads(hr_context *context)
{
    static const int64_t counts[THREADS] = {4097, 70000, 9000};
    scanner scanners[THREADS];
    pthread_t threads[THREADS];
    TEST_CASE("several threads");
    for (int i = 0; i < THREADS; i++) {
        scanners[i] = (scanner){context, counts[i], true};
        CHECK(pthread_create(&threads[i], NULL, scan_more, &scanners[i]) == 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        CHECK(scanners[i].right);
    }
}

/* Two more launches have numbers, and the others begin anew. Where scans take
 * two launches, they have none. */
static void last_numbers(hr_context *context)
{
    TEST_CASE("the last numbers of launches");
    CHECK(scan_ones(context, 5000));
    hri_scan_words *words = hri_state_find(context, HRI_STATE_SCAN);
    const bool numbered = words != NULL;
    CHECK(numbered == (context->accelerator_count == 1 &&
                       context->accelerators[0].device->info.proceeds));
    if (numbered) {
        words->scans = UINT32_MAX - 2;
    }
    for (int time = 0; time < TIMES; time++) {
        CHECK(scan_ones(context, 5000));
    }
    CHECK(!numbered || words->scans == TIMES - 2);
}

int main(int argc, char **argv)
{
    hr_context_options options = HR_CONTEXT_OPTIONS_INIT;
    hr_context *context = NULL;
    options.accelerators = argc > 1 ? argv[1] : "3xhost";
    if (!test_open(&options, &context)) {
        return test_end();
    }
    TEST(several_threads(context));
    TEST(last_numbers(context));
    hr_context_destroy(context);
    return test_end();
}
