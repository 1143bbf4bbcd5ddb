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
    hr_status status = hri_queue_create(q->accelerator, urgent, &q->queue);
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
        hri_queue_forget(queue->queue);
        pthread_mutex_unlock(&queue->context->lock);
        queue->queue->ops->destroy(queue->queue);
        free(queue);
    }
}

uint32_t hr_queue_accelerator(const hr_queue *queue)
{
    return (uint32_t)(queue->accelerator - queue->context->accelerators);
}

/* Calls on one queue come one at a time: the context's lock sees to it. */
static hr_status mark_now(hr_queue *queue, hri_mark **mark)
{
    pthread_mutex_lock(&queue->context->lock);
    hr_status status = hri_mark_record(queue->accelerator, queue->queue, mark);
    pthread_mutex_unlock(&queue->context->lock);
    return status;
}

static void drop_now(hr_queue *queue, hri_mark *mark)
{
    pthread_mutex_lock(&queue->context->lock);
    hri_mark_drop(mark);
    pthread_mutex_unlock(&queue->context->lock);
}

hr_status hr_queue_flush(hr_queue *queue)
{
    hri_mark *mark = NULL;
    if (queue == NULL) {
        return is_null("queue flush", "the queue");
    }
    hr_status status = mark_now(queue, &mark); /* recording starts the work */
    if (status == HR_OK) {
        drop_now(queue, mark);
    }
    return status;
}

hr_status hr_queue_finish(hr_queue *queue)
{
    hri_mark *mark = NULL;
    if (queue == NULL) {
        return is_null("queue finish", "the queue");
    }
    hr_status status = mark_now(queue, &mark);
    if (status == HR_OK) { /* others may use the context meanwhile */
        status = hri_mark_wait(mark);
        drop_now(queue, mark);
    }
    return status;
}

hr_status hr_queue_mark(hr_queue *queue, hr_event **event)
{
    if (queue == NULL || event == NULL) {
        return is_null("queue mark", queue == NULL ? "the queue" : "event");
    }
    hri_marks marks = {0};
    hri_mark *mark = NULL;
    pthread_mutex_lock(&queue->context->lock);
    hr_status status = hri_mark_record(queue->accelerator, queue->queue, &mark);
    if (status == HR_OK) {
        status = hri_marks_add(&marks, mark);
        hri_mark_drop(mark);
    }
    if (status == HR_OK) {
        status = hri_event_create(queue->context, &marks, event);
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
