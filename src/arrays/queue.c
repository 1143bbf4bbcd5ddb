/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "arrays/event.h"

static hr_status is_null(const char *function, const char *what)
{
    return hri_fail(HR_ERROR_INVALID, "%s: %s is NULL", function, what);
}

hr_status hri_queue_open(hr_context *context, uint32_t index, bool urgent,
                         hr_queue **queue)
{
    if (context == NULL || queue == NULL) {
        return is_null("queue", context == NULL ? "the context" : "queue");
    }
    if (index >= context->accelerator_count) {
        return hri_fail(HR_ERROR_INVALID,
                        "queue: accelerator %u, but there are %u", index,
                        context->accelerator_count);
    }
    hr_queue *q = calloc(1, sizeof *q);
    if (q == NULL) {
        return hri_fail(HR_ERROR_OUT_OF_MEMORY, "queue: out of memory");
    }
    *q = (hr_queue){.context = context,
                    .accelerator = &context->accelerators[index]};
    hr_status status = hri_stream_create(q->accelerator, urgent, &q->stream);
    if (status != HR_OK) {
        free(q);
        return status;
    }
    *queue = q;
    return HR_OK;
}

hr_status hr_queue_create(hr_context *context, uint32_t index, hr_queue **queue)
{
    return hri_queue_open(context, index, false, queue);
}

void hr_queue_destroy(hr_queue *queue)
{
    if (queue != NULL) {
        pthread_mutex_lock(&queue->context->lock);
        hri_stream_forget(queue->stream);
        pthread_mutex_unlock(&queue->context->lock);
        hri_stream_destroy(queue->stream);
        free(queue);
    }
}

uint32_t hr_queue_accelerator(const hr_queue *queue)
{
    return (uint32_t)(queue->accelerator - queue->context->accelerators);
}

/* Calls on one queue come one at a time: the context's lock sees to it. */
static hr_status fence_now(hr_queue *queue, hri_fence **fence)
{
    pthread_mutex_lock(&queue->context->lock);
    hr_status status = hri_fence_create_recorded(queue->stream, fence);
    pthread_mutex_unlock(&queue->context->lock);
    return status;
}

hr_status hr_queue_flush(hr_queue *queue)
{
    hri_fence *fence = NULL;
    if (queue == NULL) {
        return is_null("queue flush", "the queue");
    }
    hr_status status = fence_now(queue, &fence); /* recording starts the work */
    if (status == HR_OK) {
        hri_fence_drop(fence);
    }
    return status;
}

hr_status hr_queue_finish(hr_queue *queue)
{
    hri_fence *fence = NULL;
    if (queue == NULL) {
        return is_null("queue finish", "the queue");
    }
    hr_status status = fence_now(queue, &fence);
    if (status == HR_OK) { /* others may use the context meanwhile */
        status = hri_fence_wait(fence);
        hri_fence_drop(fence);
    }
    return status;
}

hr_status hr_queue_mark(hr_queue *queue, hr_event **event)
{
    if (queue == NULL || event == NULL) {
        return is_null("queue mark", queue == NULL ? "the queue" : "event");
    }
    hri_fences fences = {0};
    hri_fence *fence = NULL;
    pthread_mutex_lock(&queue->context->lock);
    hr_status status = hri_fence_create_recorded(queue->stream, &fence);
    if (status == HR_OK) {
        status = hri_fences_add(&fences, fence);
        hri_fence_drop(fence);
    }
    if (status == HR_OK) {
        status = hri_event_create(queue->context, &fences, event);
    }
    pthread_mutex_unlock(&queue->context->lock);
    return status;
}

hr_status hr_queue_wait(hr_queue *queue, hr_event *event)
{
    if (queue == NULL || event == NULL) {
        return is_null("queue wait", queue == NULL ? "the queue" : "the event");
    }
    return hri_event_order(queue, event);
}
