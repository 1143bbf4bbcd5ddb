/* SPDX-License-Identifier: MIT */
/* Fences: everything that was enqueued on a stream before now. There are three
 * layers: a public hr_event holds each hri_fence that it stands for, and a
 * fence holds an hri_event of the HAL. A fence is pending at first and has no
 * event. It is recorded when something waits for it, or before its queue goes
 * on with work that its holders need not wait for. So launches on the same
 * arrays record nothing. It is recorded once, knows the error of its queue, and
 * outlives it. */
#include <stdlib.h>

#include "runtime/stream.h"
#include "trace/traced.h"

/* Make the stream's pending fence. NULL: there is no memory for it. */
static hri_fence *make(hri_stream *stream)
{
    hri_fence *f = calloc(1, sizeof *f);
    if (f == NULL) {
        return NULL;
    }
    f->accelerator = stream->accelerator;
    f->serial = stream->serial;
    f->pending = stream;
    atomic_init(&f->deferred, false);
    atomic_init(&f->holders, 0);
    stream->pending = f;
    return f;
}

hr_status hri_fence_create(hri_stream *stream, hri_fence **fence)
{
    hri_fence *f = stream->pending != NULL ? stream->pending : make(stream);
    if (f == NULL) {
        (void)hri_stream_finish(stream);
        return hri_fail(HR_ERROR_OUT_OF_MEMORY, "%s: no memory for a fence",
                        stream->accelerator->path);
    }
    hri_fence_hold(f);
    *fence = f;
    return HR_OK;
}

hr_status hri_fence_create_recorded(hri_stream *stream, hri_fence **fence)
{
    hri_fence *f = NULL;
    hr_status status = hri_fence_create(stream, &f);
    if (status == HR_OK) {
        status = hri_fence_record(f);
    }
    if (status == HR_OK) {
        *fence = f;
    } else {
        hri_fence_drop(f);
    }
    return status;
}

hr_status hri_fence_create_end(hri_stream *stream, hri_fence **fence)
{
    if (stream->last == NULL || stream->grown) {
        return hri_fence_create_recorded(stream, fence);
    }
    hri_fence_hold(stream->last);
    *fence = stream->last;
    return HR_OK;
}

/* Give the event back. The fence then has none. */
static void give_event(hri_fence *fence)
{
    hri_events_give(fence->accelerator, fence->event);
    fence->event = NULL;
}

hr_status hri_fence_record(hri_fence *fence)
{
    hri_stream *stream = fence->pending;
    if (stream == NULL) {
        return HR_OK;
    }
    hr_status status = hri_events_take(fence->accelerator, &fence->event);
    if (status == HR_OK) {
        status = hri_stream_record(stream, fence);
    }
    if (status != HR_OK) {
        give_event(fence);
        hri_stream_settle(stream);
        return status;
    }
    fence->number = stream->records++;
    fence->pending = NULL;
    stream->pending = NULL;
    stream->grown = false;
    hri_fence_hold(fence);
    hri_fence_drop(stream->last);
    stream->last = fence;
    return HR_OK;
}

void hri_fence_hold(hri_fence *fence)
{
    atomic_fetch_add(&fence->holders, 1);
}

/* The event goes back to the pool at once: it may be recorded again before it
 * is done. */
void hri_fence_drop(hri_fence *fence)
{
    if (fence == NULL || atomic_fetch_sub(&fence->holders, 1) > 1) {
        return;
    }
    if (fence->pending != NULL) {
        fence->pending->pending = NULL;
    }
    give_event(fence);
    free(fence);
}

/* The threads of CPUs that compute do not wait awake for each other. */
static hr_status wait_for(const hri_fence *fence)
{
    const hri_device_info *info = &fence->accelerator->device->info;
    return info->host || info->emulated
               ? fence->event->ops->wait(fence->event)
               : hri_event_wait_awake(fence->event, hri_moment);
}

hr_status hri_fence_wait(hri_fence *fence)
{
    hri_fence_await_record(fence);
    hr_status status = fence->event != NULL ? wait_for(fence) : HR_OK;
    return status == HR_OK ? hri_error_raise(&fence->error) : status;
}

hr_status hri_fence_query(const hri_fence *fence, bool *done)
{
    bool passed = fence->pending == NULL && !hri_fence_is_deferred(fence);
    hr_status status = HR_OK;
    if (passed && fence->event != NULL) {
        status = fence->event->ops->query(fence->event, &passed);
    }
    if (status == HR_OK && passed) {
        status = hri_error_raise(&fence->error);
    }
    if (status == HR_OK) {
        *done = passed;
    }
    return status;
}

hr_status hri_fence_elapsed(const hri_fence *from, const hri_fence *to,
                            uint64_t *ns)
{
    if (from->event == NULL || to->event == NULL) {
        return hri_fail(HR_ERROR_INVALID, "%s: a fence was never recorded",
                        from->accelerator->path);
    }
    return hri_event_elapsed(from->event, to->event, ns);
}

void hri_fence_await_record(hri_fence *fence)
{
    hri_deferral *deferral = &fence->accelerator->deferral;
    if (!hri_fence_is_deferred(fence)) {
        return;
    }
    pthread_mutex_lock(&deferral->lock);
    while (hri_fence_is_deferred(fence)) {
        pthread_cond_wait(&deferral->changed, &deferral->lock);
    }
    pthread_mutex_unlock(&deferral->lock);
}

void hri_fence_recorded(hri_fence *fence, const hri_error *error, bool failed)
{
    hri_deferral *deferral = &fence->accelerator->deferral;
    if (error->status != HR_OK) {
        fence->error = *error;
    }
    if (failed) {
        give_event(fence);
    }
    pthread_mutex_lock(&deferral->lock);
    atomic_store(&fence->deferred, false);
    pthread_cond_broadcast(&deferral->changed);
    pthread_mutex_unlock(&deferral->lock);
}
