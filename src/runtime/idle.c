/* SPDX-License-Identifier: MIT */
/* Queues and events of accelerators: kept between calls, because creating them
 * takes longer than many a copy. */
#include <stdlib.h>

#include "runtime/memory.h"

hr_status hri_accelerator_take_queue(hri_accelerator *accelerator, bool urgent,
                                     hri_queue **queue)
{
    hri_device *device = accelerator->device;
    uint32_t *taken = &accelerator->queues_taken[urgent];
    if (*taken == HRI_MOST_QUEUES) {
        return hri_fail(HR_ERROR_UNSUPPORTED, "%s: more than %d queues",
                        accelerator->path, HRI_MOST_QUEUES);
    }
    hri_queue **place = &accelerator->queues[urgent][*taken];
    if (*place == NULL) {
        hr_status status = device->ops->create_queue(device, urgent, place);
        if (status != HR_OK) {
            return status;
        }
        accelerator->allocations++;
    }
    ++*taken;
    *queue = *place;
    return HR_OK;
}

/* Room for one more event in both lists. */
static hr_status grow_events(hri_accelerator *a)
{
    if (a->event_count < a->event_capacity) {
        return HR_OK;
    }
    size_t capacity = (size_t)a->event_capacity * 2 + 64;
    hri_event **all = realloc(a->events, capacity * sizeof(hri_event *));
    if (all != NULL) {
        a->events = all;
    }
    hri_event **idle = realloc(a->idle_events, capacity * sizeof(hri_event *));
    if (idle != NULL) {
        a->idle_events = idle;
    }
    if (all == NULL || idle == NULL) {
        return hri_fail(HR_ERROR_OUT_OF_MEMORY, "%s: no memory for %zu events",
                        a->path, capacity);
    }
    a->event_capacity = (uint32_t)capacity;
    return HR_OK;
}

hr_status hri_accelerator_take_event(hri_accelerator *a, hri_event **event)
{
    if (a->idle_count > 0) {
        *event = a->idle_events[--a->idle_count];
        return HR_OK;
    }
    hr_status status = grow_events(a);
    if (status == HR_OK) {
        status = a->device->ops->create_event(a->device, event);
    }
    if (status == HR_OK) {
        a->events[a->event_count++] = *event;
        a->allocations++;
    }
    return status;
}

void hri_accelerator_recycle_event(hri_accelerator *a, hri_event *event)
{
    if (event != NULL) {
        a->idle_events[a->idle_count++] = event;
    }
}

void hri_accelerator_recall(hri_accelerator *a)
{
    a->queues_taken[false] = a->queues_taken[true] = 0;
    for (a->idle_count = 0; a->idle_count < a->event_count; a->idle_count++) {
        a->idle_events[a->idle_count] = a->events[a->idle_count];
    }
}

static void destroy_queues(hri_queue *queues[HRI_MOST_QUEUES])
{
    for (int i = 0; i < HRI_MOST_QUEUES; i++) {
        if (queues[i] != NULL) {
            queues[i]->ops->destroy(queues[i]);
            queues[i] = NULL;
        }
    }
}

void hri_accelerator_forget(hri_accelerator *a)
{
    destroy_queues(a->queues[false]);
    destroy_queues(a->queues[true]);
    for (uint32_t i = 0; i < a->event_count; i++) {
        a->events[i]->ops->destroy(a->events[i]);
    }
    free(a->events);
    free(a->idle_events);
    a->events = a->idle_events = NULL;
    a->queues_taken[false] = a->queues_taken[true] = 0;
    a->event_count = a->event_capacity = a->idle_count = 0;
}
