/* SPDX-License-Identifier: MIT */
/* The accelerators that a test was given, beside the host alone: calls over
 * views, whose bits are the same. Names clash with those of bed.h. */
#ifndef ALONE_H
#define ALONE_H

#include "support/random.h"
#include "test.h"

enum { MAX_BANDS = 8 };

typedef struct bed {
    hr_context *context, *host; /* host: another context, of the host alone */
    random_source random;
} bed;

static inline int64_t any(bed *b, int64_t low, int64_t high)
{
    return random_between(&b->random, low, high);
}

/* Options with these weights, which are random: some are 0, but not all. */
static inline hr_split_options random_weights(bed *b, double weights[MAX_BANDS])
{
    const uint32_t count = hr_accelerator_count(b->context);
    hr_split_options options = HR_SPLIT_OPTIONS_INIT;
    for (uint32_t i = 0; i < count; i++) {
        weights[i] = any(b, 0, 3) == 0 ? 0.0 : (double)any(b, 1, 9);
    }
    weights[any(b, 0, count - 1)] = 5;
    options.weights = weights;
    return options;
}

/* What main returns. argv[1]: the accelerators. argv[2]: how many random cases
 * there are, each with a seed of its own. */
static inline int alone_main(int argc, char **argv, int usual,
                             void (*random_case)(bed *b),
                             void (*other_cases)(bed *b))
{
    hr_context_options options = HR_CONTEXT_OPTIONS_INIT;
    bed b = {0};
    options.accelerators = argc > 1 ? argv[1] : "3xhost";
    options.reproducible = true;
    if (!test_open(&options, &b.context)) {
        return test_end();
    }
    b.host = test_context("host", 0);
    uint64_t seed = 1;
    const int count = argc > 2 ? atoi(argv[2]) : usual;
    const int cases = test_seed(&seed) ? 1 : count;
    TEST_CASE("random cases");
    for (int i = 0; i < cases; i++) {
        b.random.state = seed + (uint64_t)i;
        TEST(random_case(&b));
    }
    other_cases(&b);
    hr_context_destroy(b.context);
    hr_context_destroy(b.host);
    return test_end();
}

#endif
