/* SPDX-License-Identifier: MIT */
/* Queues and events of the caller's. */
#ifndef HRI_ARRAYS_EVENT_H
#define HRI_ARRAYS_EVENT_H

#include <headrace/queue.h>

#include "runtime/stream.h"

struct hr_queue {
    hr_context *context;
    hri_accelerator *accelerator;
    hri_stream *stream;
};

/* hr_queue_create, and its queue may be urgent: kernels there start before
 * those of others, where the device knows priorities. */
hr_status hri_queue_open(hr_context *context, uint32_t index, bool urgent,
                         hr_queue **queue);

/* Fences, each held once. {0} has none. Adding one and creating an event want
 * the context's lock. */
typedef struct hri_fences {
    hri_fence **of;
    size_t count, capacity;
} hri_fences;

/* The fence is recorded: it may be waited for, any time. */
hr_status hri_fences_add(hri_fences *fences, hri_fence *fence);
void hri_fences_finish(hri_fences *fences);
/* Wait for all; the first error. */
hr_status hri_fences_wait(const hri_fences *fences);

/* An event for these fences, which it takes over; on failure they are dropped.
 */
hr_status hri_event_create(hr_context *context, hri_fences *fences,
                           hr_event **event);

#endif
