/* SPDX-License-Identifier: MIT */
/* Queues and events of the caller's. */
#ifndef HRI_ARRAYS_EVENT_H
#define HRI_ARRAYS_EVENT_H

#include <headrace/queue.h>

#include "runtime/mark.h"

struct hr_queue {
    hr_context *context;
    hri_accelerator *accelerator;
    hri_queue *queue;
};

/* hr_queue_create, and its queue may be urgent: kernels there start before
 * those of others, where the device knows priorities. */
hr_status hri_queue_open(hr_context *context, uint32_t index, bool urgent,
                         hr_queue **queue);

/* Marks, each held once. {0} has none. The context's lock is held for all of
 * these but hri_marks_wait. */
typedef struct hri_marks {
    hri_mark **of;
    size_t count, capacity;
} hri_marks;

hr_status hri_marks_add(hri_marks *marks, hri_mark *mark);
void hri_marks_finish(hri_marks *marks);
/* Wait for all; the first error. */
hr_status hri_marks_wait(const hri_marks *marks);

/* An event for these marks, which it takes over; on failure they
 * are dropped. */
hr_status hri_event_create(hr_context *context, hri_marks *marks,
                           hr_event **event);

/* Let queue wait for event. Takes the context's lock. */
hr_status hri_event_order(hr_queue *queue, const hr_event *event);

#endif
