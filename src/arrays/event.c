/* SPDX-License-Identifier: MIT */
#include "arrays/event.h"

#include <stdlib.h>
#include <string.h>

/* A function that is called when the event has been passed. */
typedef struct sequel {
    struct sequel *next;
    hr_event *event;
    hr_event_function function;
    void *data;
    hri_thread *thread;
} sequel;

/* The fences are held. */
struct hr_event {
    hr_context *context;
    sequel *sequels; /* guarded by the context's lock */
    size_t count;
    hri_fence *fences[];
};

/* ---- fences */

hr_status hri_fences_add(hri_fences *fences, hri_fence *fence)
{
    for (size_t i = 0; i < fences->count; i++) {
        if (fences->of[i] == fence) {
            return HR_OK;
        }
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
    hr_status status = hri_fence_record(fence);
    if (status == HR_OK) {
        hri_fence_hold(fence);
        fences->of[fences->count++] = fence;
    }
    return status;
}

void hri_fences_finish(hri_fences *fences)
{
    for (size_t i = 0; i < fences->count; i++) {
        hri_fence_drop(fences->of[i]);
    }
    free(fences->of);
    *fences = (hri_fences){0};
}

static hr_status wait_for(hri_fence *const *fences, size_t count)
{
    hri_error error = {0};
    for (size_t i = 0; i < count; i++) {
        hri_error_keep(&error, hri_fence_wait(fences[i]));
    }
    return hri_error_raise(&error);
}

hr_status hri_fences_wait(const hri_fences *fences)
{
    return wait_for(fences->of, fences->count);
}

/* ---- events */

hr_status hri_event_create(hr_context *context, hri_fences *fences,
                           hr_event **event)
{
    const size_t bytes = fences->count * sizeof(hri_fence *);
    hr_event *e = malloc(sizeof *e + bytes);
    if (e == NULL) {
        hri_fences_finish(fences);
        return hri_fail(HR_ERROR_OUT_OF_MEMORY, "event: out of memory");
    }
    *e = (hr_event){.context = context, .count = fences->count};
    if (bytes > 0) {
        memcpy(e->fences, fences->of, bytes);
    }
    free(fences->of);
    *fences = (hri_fences){0};
    *event = e;
    return HR_OK;
}

hr_status hri_event_order(hr_queue *queue, const hr_event *event)
{
    if (queue->context != event->context) {
        return hri_fail(HR_ERROR_INVALID,
                        "queue wait: the event is of another context");
    }
    hr_status status = HR_OK;
    pthread_mutex_lock(&queue->context->lock);
    for (size_t i = 0; i < event->count && status == HR_OK; i++) {
        status = hri_stream_wait(queue->stream, event->fences[i]);
    }
    pthread_mutex_unlock(&queue->context->lock);
    return status;
}

void hr_event_destroy(hr_event *event)
{
    if (event == NULL) {
        return;
    }
    pthread_mutex_lock(&event->context->lock);
    while (event->sequels != NULL) { /* functions may add others meanwhile */
        sequel *s = event->sequels;
        event->sequels = s->next;
        pthread_mutex_unlock(&event->context->lock);
        hri_thread_join(s->thread);
        free(s);
        pthread_mutex_lock(&event->context->lock);
    }
    pthread_mutex_unlock(&event->context->lock);
    for (size_t i = 0; i < event->count; i++) {
        hri_fence_drop(event->fences[i]);
    }
    free(event);
}

static hr_status no_event(const char *what)
{
    return hri_fail(HR_ERROR_INVALID, "%s: the event is NULL", what);
}

hr_status hr_event_query(hr_event *event, bool *done)
{
    if (event == NULL || done == NULL) {
        return event == NULL
                   ? no_event("event query")
                   : hri_fail(HR_ERROR_INVALID, "event query: done is NULL");
    }
    bool all = true;
    for (size_t i = 0; i < event->count; i++) {
        bool passed = false;
        hr_status status = hri_fence_query(event->fences[i], &passed);
        if (status != HR_OK) {
            return status;
        }
        all = all && passed;
    }
    *done = all;
    return HR_OK;
}

hr_status hr_event_wait(hr_event *event)
{
    return event == NULL ? no_event("event wait")
                         : wait_for(event->fences, event->count);
}

hr_status hr_event_elapsed(hr_event *from, hr_event *to, double *seconds)
{
    bool passed[2] = {false, false};
    hr_event *both[2] = {from, to};
    uint64_t ns = 0;
    if (from == NULL || to == NULL || seconds == NULL) {
        return hri_fail(HR_ERROR_INVALID, "event elapsed: %s is NULL",
                        from == NULL ? "from"
                        : to == NULL ? "to"
                                     : "seconds");
    }
    for (int i = 0; i < 2; i++) {
        hr_status status = hr_event_query(both[i], &passed[i]);
        if (status != HR_OK) {
            return status;
        }
        if (both[i]->count != 1 || !passed[i]) {
            return hri_fail(HR_ERROR_INVALID, "event elapsed: %s %s",
                            i == 0 ? "from" : "to",
                            passed[i] ? "is not of one queue"
                                      : "has not been passed");
        }
    }
    const hri_fence *a = from->fences[0], *b = to->fences[0];
    if (a->accelerator != b->accelerator) {
        return hri_fail(HR_ERROR_INVALID,
                        "event elapsed: one is of %s, the other of %s",
                        a->accelerator->path, b->accelerator->path);
    }
    hr_status status = hri_fence_elapsed(a, b, &ns);
    if (status == HR_OK) {
        *seconds = (double)ns * 1e-9;
    }
    return status;
}

static void *sequel_main(void *argument)
{
    sequel *s = argument;
    s->function(s->data, wait_for(s->event->fences, s->event->count));
    return NULL;
}

hr_status hr_event_then(hr_event *event, hr_event_function function, void *data)
{
    if (event == NULL || function == NULL) {
        return event == NULL
                   ? no_event("event then")
                   : hri_fail(HR_ERROR_INVALID, "event then: no function");
    }
    hr_context *context = event->context;
    if (context->accelerator_count == 0) {
        return hri_fail(HR_ERROR_UNSUPPORTED,
                        "event then: the context has no accelerator, whose "
                        "threads would call");
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
