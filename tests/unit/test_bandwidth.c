/* SPDX-License-Identifier: MIT */
/* The speed of memory is measured once for all accelerators of a device, and
 * kept between processes unless it is a guess. Linked so that the library's
 * calls of malloc arrive here (tests/CMakeLists.txt). */
#include "test.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "model/model.h"
#include "model/tuning.h"
#include "support/files.h"

/* What the linker's --wrap calls malloc. */
void *real_malloc(size_t bytes) __asm__("__real_malloc");
void *wrap_malloc(size_t bytes) __asm__("__wrap_malloc");

static atomic_bool refuse; /* refuse everything large */

void *wrap_malloc(size_t bytes)
{
    return atomic_load(&refuse) && bytes > 1 << 20 ? NULL : real_malloc(bytes);
}

/* The bandwidth of the second accelerator after that of the first is known. */
static double know_bandwidth(hr_context *context)
{
    double rate[2] = {0};
    for (int i = 0; i < 2; i++) {
        CHECK(hri_bandwidth_know(context, &context->accelerators[i],
                                 &rate[i]) == HR_OK);
    }
    CHECK(rate[0] == rate[1]);
    return rate[1];
}

static void guess_then_measure(void)
{
    double kept = 7.0;
    TEST_CASE("a guess, where there is no memory to measure with: not kept");
    hr_context *context = test_context("2xhost", 0);
    const char *key = context->accelerators[0].key;
    atomic_store(&refuse, true);
    CHECK(know_bandwidth(context) == 2e10);
    atomic_store(&refuse, false);
    CHECK(!hri_tuning_find("memory", key, &kept) && kept == 7.0);
    hr_context_destroy(context);

    TEST_CASE("what was measured is kept");
    context = test_context("2xhost", 0);
    key = context->accelerators[0].key;
    const double rate = know_bandwidth(context);
    CHECK(hri_tuning_find("memory", key, &kept) && kept > 0.99 * rate &&
          kept < 1.01 * rate);

    TEST_CASE("and taken by others");
    hri_tuning_keep("memory", key, 3e9);
    CHECK(know_bandwidth(context) == rate);
    hr_context_destroy(context);
    context = test_context("2xhost", 0);
    CHECK(know_bandwidth(context) == 3e9);
    hr_context_destroy(context);
}

int main(void)
{
    char folder[64];
    files_make_cache(folder, sizeof folder);
    TEST(guess_then_measure());
    files_remove_folder(folder);
    return test_end();
}
