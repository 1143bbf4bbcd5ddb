/* SPDX-License-Identifier: MIT */
/* The default queues of the accelerators of argv[1]. */
#include "support/bed.h"

extern const hr_kernel run1;

static void default_queues(bed *b)
{
    float x[8] = {1, 2, 3, 4, 5, 6, 7, 8}, y[8] = {0};
    hr_array *arrays[2] = {NULL};
    hr_queue *queue = NULL, *again = NULL;
    hr_event *event = NULL;
    TEST_CASE("default queues");
    CHECK(hr_array_wrap(b->context, x, 4, hr_extent1(8), 0, &arrays[0]) ==
          HR_OK);
    CHECK(hr_array_wrap(b->context, y, 4, hr_extent1(8), 0, &arrays[1]) ==
          HR_OK);
    const hr_argument arguments[] = {hr_value(1.0F),
                                     hr_in(hr_view_of(arrays[0])),
                                     hr_inout(hr_view_of(arrays[1]))};
    for (uint32_t i = 0; i < b->count; i++) {
        CHECK(hr_queue_default(b->context, i, &queue) == HR_OK);
        CHECK(hr_queue_accelerator(queue) == i);
        CHECK(hr_prefetch(hr_view_of(arrays[0]), queue) == HR_OK);
        CHECK(hr_launch(queue, &run1, hr_extent1(8), NULL, arguments, 3) ==
              HR_OK);
        hr_queue_destroy(queue);
        CHECK(hr_queue_default(b->context, i, &again) == HR_OK);
        CHECK(again == queue);
        CHECK(hr_launch_split(b->context, &run1, hr_extent1(8), arguments, 3,
                              NULL) == HR_OK);
        CHECK(hr_queue_record(queue, &event) == HR_OK);
        CHECK(hr_queue_wait(queue, event) == HR_OK);
        CHECK(hr_queue_flush(queue) == HR_OK);
        CHECK(hr_queue_finish(queue) == HR_OK);
        hr_event_destroy(event);
    }
    CHECK(hr_synchronize(hr_view_of(arrays[1])) == HR_OK);
    CHECK(y[0] == 2 * (float)b->count && y[7] == 16 * (float)b->count);
    CHECK_FAILS(hr_queue_default(b->context, b->count, &again),
                HR_ERROR_INVALID, "is not below");
    CHECK_FAILS(hr_queue_default(NULL, 0, &again), HR_ERROR_INVALID,
                "the context is NULL");
    CHECK_FAILS(hr_queue_default(b->context, 0, NULL), HR_ERROR_INVALID,
                "queue is NULL");
    CHECK(again == queue);
    hr_array_destroy(arrays[0]);
    hr_array_destroy(arrays[1]);
}

static void all(bed *b)
{
    TEST(default_queues(b));
}

int main(int count, char **arguments)
{
    return bed_main(count > 1 ? arguments[1] : "3xhost", all);
}
