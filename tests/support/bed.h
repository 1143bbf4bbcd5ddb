/* SPDX-License-Identifier: MIT */
/* A context of the accelerators that a test was given, with a queue on each. */
#ifndef BED_H
#define BED_H

#include "runtime/runtime.h"
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

/* Whether all accelerators compute in double. */
static inline bool bed_has_double(const bed *b)
{
    bool all = true;
    for (uint32_t i = 0; i < b->count; i++) {
        all = all && hri_accelerator_check_double(
                         &b->context->accelerators[i]) == HR_OK;
    }
    return all;
}

/* Let each accelerator have so many bytes beside those that it holds, and note
 * the most that it uses from now on. */
static inline void bed_give_room(const bed *b, uint64_t bytes)
{
    for (uint32_t i = 0; i < b->count; i++) {
        hri_accelerator *a = &b->context->accelerators[i];
        hri_accelerator_trim(a);
        a->memory_limit =
            a->device->info.gemm_bytes + hri_accelerator_held(a) + bytes;
        a->memory_peak = a->memory_used;
    }
}

/* Whether none of them used more, but for those that work in host memory. */
static inline bool bed_kept_to_limits(const bed *b)
{
    bool kept = true;
    for (uint32_t i = 0; i < b->count; i++) {
        const hri_accelerator *a = &b->context->accelerators[i];
        kept = kept && (a->in_place || a->memory_peak <= a->memory_limit);
    }
    return kept;
}

/* Random options of a launch over all accelerators. They may point to `weights`
 * and to `tile`, of this rank, which are filled. */
static inline void bed_random_options(bed *b, uint32_t rank, double weights[8],
                                      hr_extent *tile,
                                      hr_split_options *options)
{
    random_source *random = &b->random;
    *options = (hr_split_options)HR_SPLIT_OPTIONS_INIT;
    *tile = (hr_extent){rank, {random_between(random, 1, 5), 2, 2}};
    for (uint32_t i = 0; i < b->count; i++) {
        weights[i] = (double)random_between(random, 0, 3);
    }
    weights[random_between(random, 0, b->count - 1)] = 2;
    options->weights = random_between(random, 0, 3) > 0 ? weights : NULL;
    options->tile = random_between(random, 0, 1) == 0 ? tile : NULL;
    options->threads = random_between(random, 0, 3) == 0;
}

/* What main returns: the cases are run, unless this machine lacks the
 * accelerators of the list. */
static inline int bed_main(const char *list, void (*cases)(bed *b))
{
    hr_context_options options = HR_CONTEXT_OPTIONS_INIT;
    bed b = {.random = {4}};
    options.accelerators = list;
    if (!test_open(&options, &b.context)) {
        return test_end();
    }
    told_patience(b.context);
    b.count = hr_accelerator_count(b.context);
    CHECK(b.count <= 8);
    for (uint32_t i = 0; i < b.count; i++) {
        CHECK(hr_queue_create(b.context, i, &b.queues[i]) == HR_OK);
    }
    cases(&b);
    for (uint32_t i = 0; i < b.count; i++) {
        hr_queue_destroy(b.queues[i]);
    }
    hr_context_destroy(b.context);
    return test_end();
}

#endif
