/* SPDX-License-Identifier: MIT */
/* The end of a checked context (HEADRACE_CHECK=1) takes mapped memory away only
 * after all copies have ended, also those of arrays that the program forgot to
 * destroy. The machine is a simulated one, so that a copy is certainly under
 * way when the context ends. */
#include <stdlib.h>
#include <string.h>

#include <headrace/headrace.h>

#include "runtime/runtime.h"
#include "support/simulate.h"
#include "test.h"

enum { BYTES = 1 << 20 };

static hr_array *forgotten[2]; /* the ends of the copy */

static void end_during_copy(hr_context *context)
{
    const hr_extent extent = hr_extent1(BYTES);
    hr_array *array = NULL;
    hr_queue *queue = NULL;
    hr_mapping m = {0};
    TEST_CASE("a copy from mapped memory is under way");
    CHECK(hr_queue_create(context, 0, &queue) == HR_OK);
    CHECK(hr_array_create_anywhere(context, 1, extent, &array) == HR_OK);
    CHECK(hr_map(hr_view_of(array), HR_INOUT, &m) == HR_OK);
    CHECK((hr_array_wrap)(context, m.data, 1, extent, 0, &forgotten[0]) ==
          HR_OK);
    CHECK(hr_array_create(queue, 1, extent, &forgotten[1]) == HR_OK);
    CHECK(hr_copy_async(hr_view_of(forgotten[0]), hr_view_of(forgotten[1]),
                        NULL) == HR_OK);
    hr_array_destroy(array);
    const uint64_t start_ns = sim_now_ns();
    hr_context_destroy(context);
    CHECK(sim_now_ns() > start_ns); /* it waited for the copy */
    hr_queue_destroy(queue);
}

int main(void)
{
    const hri_backend *list[] = {&sim_backend, NULL};
    const hr_context_options options = HR_CONTEXT_OPTIONS_INIT;
    hr_context *context = NULL;
    sim_seed(1);
    sim.count = 1;
    sim.devices[0] =
        (sim_device_state){.memory_bytes = 64 << 20, .flops = 1e9, .link = 1e6};
    CHECK(setenv("HEADRACE_CHECK", "1", 1) == 0);
    CHECK(hri_context_create_from(list, &options, &context) == HR_OK);
    TEST(end_during_copy(context));
    return test_end();
}
