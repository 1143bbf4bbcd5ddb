/* SPDX-License-Identifier: MIT */
/* A context of the accelerators that a test was given, with a queue on each. */
#ifndef BED_H
#define BED_H

#include <headrace/headrace.h>

#include "support/random.h"
#include "support/told.h"
#include "test.h"

typedef struct bed {
    hr_context *context;
    hr_queue *queues[8];
    uint32_t count;
    random_source random;
} bed;

/* An array that is the caller's memory. */
static inline hr_array *bed_wrap(const bed *b, const void *data, size_t bytes,
                                 hr_extent extent)
{
    hr_array *array = NULL;
    CHECK(hr_array_wrap(b->context, data, bytes, extent, 0, &array) == HR_OK);
    return array;
}

static inline void bed_run(bed *b, void (*cases)(bed *b))
{
    told_patience(b->context);
    b->count = hr_accelerator_count(b->context);
    CHECK(b->count <= 8);
    for (uint32_t i = 0; i < b->count; i++) {
        CHECK(hr_queue_create(b->context, i, &b->queues[i]) == HR_OK);
    }
    cases(b);
    for (uint32_t i = 0; i < b->count; i++) {
        hr_queue_destroy(b->queues[i]);
    }
    hr_context_destroy(b->context);
}

/* What main returns: the cases are run, unless this machine lacks the
 * accelerators of the list. */
static inline int bed_main(const char *list, void (*cases)(bed *b))
{
    hr_context_options options = HR_CONTEXT_OPTIONS_INIT;
    bed b = {.random = {4}};
    options.accelerators = list;
    if (test_open(&options, &b.context)) {
        bed_run(&b, cases);
    }
    return test_end();
}

#endif
