/* SPDX-License-Identifier: MIT */
/* Queues and events of the caller. A wait goes down these layers:
 *
 *                     the caller waits         the device waits
 *     here            hr_event_wait            hr_queue_wait
 *     src/runtime     hri_fence_wait           hri_stream_wait, hri_command_run
 *     HAL             wait of hri_event_ops    wait of hri_queue_ops
 *
 * While the record of a fence is deferred, hri_fence_wait sleeps in
 * hri_fence_await_record. The caller's thread waits in the place of a device
 * that cannot wait for the other one. */
#include "arrays/array.h"
#include "base/arithmetic.h"

#include <stdlib.h>

/* A function to call when the event has been passed. */
typedef struct sequel {
    struct sequel *next;
    hr_event *event;
    hr_event_function function;
    void *data;
    hri_thread *thread;
} sequel;

struct hr_event {
    hr_context *context;
    sequel *sequels; /* guarded by the context's lock */
    hri_fences fences;
};

static hr_status is_null(const char *function, const char *what)
{
    return hri_fail(HR_ERROR_INVALID, "%s: %s is NULL", function, what);
}

/* ---- fences */

/* A later fence of a stream stands for its earlier ones, and has their error:
 * that of a stream is sticky. */
static bool stands_for(hri_fences *fences, hri_fence *fence)
{
    for (size_t i = 0; i < fences->count; i++) {
        hri_fence **of = &fences->of[i];
        if ((*of)->serial == fence->serial) {
            if ((*of)->number < fence->number) {
                hri_fence_hold(fence);
                hri_fence_drop(*of);
                *of = fence;
            }
            return true;
        }
    }
    return false;
}

hr_status hri_fences_add(hri_fences *fences, hri_fence *fence)
{
    hr_status status = hri_fence_record(fence);
    if (status != HR_OK || stands_for(fences, fence)) {
        return status;
    }
    if (fences->count == fences->capacity) {
        size_t capacity = fences->capacity * 2 + 8;
        hri_fence **of = realloc(fences->of, capacity * sizeof(hri_fence *));
        if (of == NULL) {
            return hri_fail(HR_ERROR_OUT_OF_MEMORY,
                            "arrays: no memory for %zu fences", capacity);
        }
        fences->of = of;
        fences->capacity = capacity;
    }
    hri_fence_hold(fence);
    fences->of[fences->count++] = fence;
    return HR_OK;
}

void hri_fences_finish(hri_fences *fences)
{
    for (size_t i = 0; i < fences->count; i++) {
        hri_fence_drop(fences->of[i]);
    }
    free(fences->of);
    *fences = (hri_fences){0};
}

hr_status hri_fences_wait(const hri_fences *fences)
{
    hri_error error = {0};
    for (size_t i = 0; i < fences->count; i++) {
        hri_error_keep(&error, hri_fence_wait(fences->of[i]));
    }
    return hri_error_raise(&error);
}

/* ---- events */

hr_status hri_fences_to_event(hr_context *context, hri_fences *fences,
                              hr_event **event)
{
    hr_event *e = malloc(sizeof *e);
    if (e == NULL) {
        hri_fences_finish(fences);
        return hri_fail(HR_ERROR_OUT_OF_MEMORY, "event: out of memory");
    }
    *e = (hr_event){.context = context, .fences = *fences};
    *fences = (hri_fences){0};
    *event = e;
    return HR_OK;
}

void hr_event_destroy(hr_event *event)
{
    if (event == NULL) {
        return;
    }
    pthread_mutex_lock(&event->context->lock);
    while (event->sequels != NULL) { /* the functions may add others
                                        meanwhile */
        sequel *s = event->sequels;
        event->sequels = s->next;
        pthread_mutex_unlock(&event->context->lock);
        hri_thread_join(s->thread);
        free(s);
        pthread_mutex_lock(&event->context->lock);
    }
    pthread_mutex_unlock(&event->context->lock);
    hri_fences_finish(&event->fences);
    free(event);
}

hr_status hr_event_query(hr_event *event, bool *done)
{
    if (event == NULL || done == NULL) {
        return is_null("event query", event == NULL ? "the event" : "done");
    }
    bool all = true;
    for (size_t i = 0; i < event->fences.count; i++) {
        bool passed = false;
        HRI_TRY(hri_fence_query(event->fences.of[i], &passed));
        all = all && passed;
    }
    *done = all;
    return HR_OK;
}

hr_status hr_event_wait(hr_event *event)
{
    HRI_USUAL_ARITHMETIC;
    return event == NULL ? is_null("event wait", "the event")
                         : hri_fences_wait(&event->fences);
}

hr_status hr_event_elapsed(hr_event *from, hr_event *to, double *seconds)
{
    HRI_USUAL_ARITHMETIC;
    bool passed[2] = {false, false};
    hr_event *both[2] = {from, to};
    uint64_t ns = 0;
    if (from == NULL || to == NULL || seconds == NULL) {
        return is_null("event elapsed", from == NULL ? "from"
                                        : to == NULL ? "to"
                                                     : "seconds");
    }
    for (int i = 0; i < 2; i++) {
        HRI_TRY(hr_event_query(both[i], &passed[i]));
        if (both[i]->fences.count != 1 || !passed[i]) {
            return hri_fail(HR_ERROR_INVALID, "event elapsed: %s %s",
                            i == 0 ? "from" : "to",
                            passed[i] ? "does not belong to one queue"
                                      : "has not been passed");
        }
    }
    const hri_fence *a = from->fences.of[0], *b = to->fences.of[0];
    if (from->context != to->context) {
        return hri_fail(HR_ERROR_INVALID,
                        "event elapsed: from and to belong to two contexts");
    }
    if (a->accelerator != b->accelerator) {
        return hri_fail(
            HR_ERROR_INVALID,
            "event elapsed: from belongs to %s, but to belongs to %s",
            a->accelerator->path, b->accelerator->path);
    }
    HRI_TRY(hri_fence_elapsed(a, b, &ns));
    *seconds = (double)ns * 1e-9;
    return HR_OK;
}

static void *sequel_main(void *argument)
{
    sequel *s = argument;
    s->function(s->data, hri_fences_wait(&s->event->fences));
    return NULL;
}

hr_status hr_event_then(hr_event *event, hr_event_function function, void *data)
{
    if (event == NULL || function == NULL) {
        return is_null("event then",
                       event == NULL ? "the event" : "the function");
    }
    hr_context *context = event->context;
    if (context->accelerator_count == 0) {
        return hri_fail(HR_ERROR_UNSUPPORTED,
                        "event then: the context has no accelerator, so no "
                        "thread can call");
    }
    sequel *s = calloc(1, sizeof *s);
    if (s == NULL) {
        return hri_fail(HR_ERROR_OUT_OF_MEMORY, "event then: out of memory");
    }
    *s = (sequel){.event = event, .function = function, .data = data};
    pthread_mutex_lock(&context->lock);
    s->thread =
        hri_threads_start(&context->accelerators[0].threads, sequel_main, s);
    if (s->thread != NULL) {
        s->next = event->sequels;
        event->sequels = s;
    }
    pthread_mutex_unlock(&context->lock);
    if (s->thread == NULL) {
        free(s);
        return hri_fail(HR_ERROR_OUT_OF_MEMORY,
                        "event then: the system refused a thread");
    }
    return HR_OK;
}

/* ---- queues */

static hr_status check_queue(const hr_context *context, uint32_t index,
                             hr_queue *const *queue)
{
    if (context == NULL || queue == NULL) {
        return is_null("queue", context == NULL ? "the context" : "queue");
    }
    if (index >= context->accelerator_count) {
        return hri_fail(HR_ERROR_INVALID,
                        "queue: accelerator index %u is not below %u", index,
                        context->accelerator_count);
    }
    return HR_OK;
}

hr_status hri_queue_open(hr_context *context, uint32_t index, bool urgent,
                         const char *name, hr_queue **queue)
{
    HRI_TRY(check_queue(context, index, queue));
    hr_queue *q = calloc(1, sizeof *q);
    if (q == NULL) {
        return hri_fail(HR_ERROR_OUT_OF_MEMORY, "queue: out of memory");
    }
    *q = (hr_queue){.context = context,
                    .accelerator = &context->accelerators[index]};
    const hr_status status =
        hri_stream_create(q->accelerator, urgent, &q->stream);
    if (status != HR_OK) {
        free(q);
        return status;
    }
    q->stream->queue->name = name;
    pthread_mutex_lock(&context->lock);
    q->next = context->queues;
    q->self = &context->queues;
    if (q->next != NULL) {
        q->next->self = &q->next;
    }
    context->queues = q;
    pthread_mutex_unlock(&context->lock);
    *queue = q;
    return HR_OK;
}

hr_status hr_queue_create(hr_context *context, uint32_t index, hr_queue **queue)
{
    return hri_queue_open(context, index, false, NULL, queue);
}

hr_status hr_queue_default(hr_context *context, uint32_t index,
                           hr_queue **queue)
{
    hr_status status;
    HRI_TRY(check_queue(context, index, queue));
    pthread_mutex_lock(&context->lock);
    if (context->default_queues == NULL) {
        context->default_queues =
            calloc(context->accelerator_count, sizeof(hr_queue));
    }
    hr_queue *all = context->default_queues;
    if (all == NULL) {
        status = hri_fail(HR_ERROR_OUT_OF_MEMORY, "queue: out of memory");
    } else {
        all[index].context = context;
        all[index].accelerator = &context->accelerators[index];
        all[index].is_default = true;
        status = hri_queue_enter(&all[index], false);
    }
    pthread_mutex_unlock(&context->lock);
    if (status == HR_OK) {
        *queue = &all[index];
    }
    return status;
}

hr_status hri_queue_enter(hr_queue *queue, bool enqueues)
{
    hri_default_queue *d = &queue->accelerator->default_queue;
    hr_status status = HR_OK;
    if (!queue->is_default) {
        return HR_OK;
    }
    if (enqueues || d->stream == NULL) {
        status = hri_accelerator_default_queue(queue->accelerator, &d->stream);
    }
    queue->stream = d->stream;
    return status;
}

static void close_queue(hr_queue *queue)
{
    pthread_mutex_lock(&queue->context->lock);
    *queue->self = queue->next;
    if (queue->next != NULL) {
        queue->next->self = queue->self;
    }
    hri_stream_end_pending(queue->stream);
    pthread_mutex_unlock(&queue->context->lock);
    hri_stream_destroy(queue->stream);
    queue->context = NULL;
}

void hr_queue_destroy(hr_queue *queue)
{
    if (queue == NULL || queue->is_default) {
        return;
    }
    if (queue->context != NULL) {
        close_queue(queue);
    }
    free(queue);
}

void hri_queues_close(hr_context *context)
{
    while (context->queues != NULL) {
        close_queue(context->queues);
    }
    free(context->default_queues); /* the accelerators close their streams */
    context->default_queues = NULL;
}

uint32_t hr_queue_accelerator(const hr_queue *queue)
{
    return (uint32_t)(queue->accelerator - queue->context->accelerators);
}

/* Start the work so far with a fence behind it, and wait for it if wanted. The
 * context's lock makes calls on one queue come one at a time. */
static hr_status start_work(hr_queue *queue, bool wait)
{
    hri_fence *fence = NULL;
    pthread_mutex_lock(&queue->context->lock);
    hr_status status = hri_queue_enter(queue, false);
    if (status == HR_OK) {
        status = hri_fence_create_end(queue->stream, &fence);
    }
    pthread_mutex_unlock(&queue->context->lock);
    if (status != HR_OK) {
        return status;
    }
    if (wait) { /* other threads may use the context meanwhile */
        status = hri_fence_wait(fence);
    }
    hri_fence_drop(fence);
    return status;
}

hr_status hr_queue_flush(hr_queue *queue)
{
    return queue == NULL ? is_null("queue flush", "the queue")
                         : start_work(queue, false);
}

hr_status hr_queue_finish(hr_queue *queue)
{
    HRI_USUAL_ARITHMETIC;
    return queue == NULL ? is_null("queue finish", "the queue")
                         : start_work(queue, true);
}

/* The context's lock is held. */
static hr_status record_event(hr_queue *queue, hr_event **event)
{
    hri_fences fences = {0};
    hri_fence *fence = NULL;
    HRI_TRY(hri_queue_enter(queue, false));
    HRI_TRY(hri_fence_create_recorded(queue->stream, &fence));
    const hr_status status = hri_fences_add(&fences, fence);
    hri_fence_drop(fence);
    return status == HR_OK ? hri_fences_to_event(queue->context, &fences, event)
                           : status;
}

hr_status hr_queue_record(hr_queue *queue, hr_event **event)
{
    if (queue == NULL || event == NULL) {
        return is_null("queue record", queue == NULL ? "the queue" : "event");
    }
    pthread_mutex_lock(&queue->context->lock);
    const hr_status status = record_event(queue, event);
    pthread_mutex_unlock(&queue->context->lock);
    return status;
}

/* The context's lock is held. */
static hr_status wait_for_event(hr_queue *queue, const hr_event *event)
{
    HRI_TRY(hri_queue_enter(queue, true));
    for (size_t i = 0; i < event->fences.count; i++) {
        HRI_TRY(hri_stream_wait(queue->stream, event->fences.of[i]));
    }
    return HR_OK;
}

hr_status hr_queue_wait(hr_queue *queue, hr_event *event)
{
    if (queue == NULL || event == NULL) {
        return is_null("queue wait", queue == NULL ? "the queue" : "the event");
    }
    if (queue->context != event->context) {
        return hri_fail(HR_ERROR_INVALID,
                        "queue wait: the event belongs to another context");
    }
    pthread_mutex_lock(&queue->context->lock);
    const hr_status status = wait_for_event(queue, event);
    pthread_mutex_unlock(&queue->context->lock);
    return status;
}
