/* SPDX-License-Identifier: MIT */
#include "runtime/stream.h"

#include <stdlib.h>

enum {
    MIN_STAGED_BYTES = 1 << 20, /* fewer bytes are not worth waking threads */
    MAX_TAKEN_BYTES = 64 << 10  /* of ordinary memory that drivers copy without
                                   blocking the caller */
};

/* ---- commands */

static hr_status run_launch(hri_stream *s, const hri_launch *launch)
{
    hri_deferral *deferral = &s->accelerator->deferral;
    if (!s->defers) { /* then the context's lock is held */
        return s->queue->ops->launch(s->queue, launch);
    }
    pthread_mutex_lock(&deferral->launches);
    hr_status status = s->queue->ops->launch(s->queue, launch);
    pthread_mutex_unlock(&deferral->launches);
    return status;
}

static void forget_before(hri_stream *s)
{
    for (int i = 0; i < HRI_FENCES_BEFORE; i++) {
        hri_fence_drop(s->before[i]);
        s->before[i] = NULL;
    }
}

/* The queue may have to wait for more than fences. */
static void set_busy(hri_stream *s)
{
    s->busy = true;
    forget_before(s);
}

/* The queue waits for the fence. */
static void note_wait(hri_stream *s, hri_fence *fence)
{
    bool done = false;
    int i = 0;
    if (!s->defers || s->busy ||
        (fence->event->ops->query(fence->event, &done) == HR_OK && done)) {
        return;
    }
    while (i < HRI_FENCES_BEFORE && s->before[i] != NULL) {
        i++;
    }
    if (i == HRI_FENCES_BEFORE) {
        set_busy(s);
        return;
    }
    hri_fence_hold(fence);
    s->before[i] = fence;
}

hr_status hri_stream_await_link(hri_stream *s)
{
    hr_status status = s->busy ? s->queue->ops->finish(s->queue) : HR_OK;
    for (int i = 0; i < HRI_FENCES_BEFORE && status == HR_OK; i++) {
        if (s->before[i] != NULL) {
            status = s->before[i]->event->ops->wait(s->before[i]->event);
        }
    }
    if (status == HR_OK) {
        forget_before(s);
        s->busy = false;
    }
    return status;
}

/* An error that the driver does not know is kept and told later. */
static hr_status run_wait(hri_stream *s, hri_fence *fence)
{
    hri_fence_await_record(fence);
    if (fence->error.status != HR_OK) {
        hri_error_keep(&s->error, hri_error_raise(&fence->error));
        return HR_OK;
    }
    if (fence->event == NULL) {
        return HR_OK;
    }
    note_wait(s, fence);
    return s->queue->ops->wait(s->queue, fence->event);
}

hr_status hri_command_run(hri_stream *s, const hri_command *c)
{
    if (s->error.status != HR_OK && c->kind < HRI_COMMAND_RECORD) {
        return HR_OK;
    }
    switch (c->kind) {
    case HRI_COMMAND_COPY:
        set_busy(s);
        return s->queue->ops->copy(s->queue, c->copy);
    case HRI_COMMAND_STAGED_COPY:
        break;
    case HRI_COMMAND_LAUNCH:
        set_busy(s);
        return run_launch(s, c->launch);
    case HRI_COMMAND_RECORD:
        return s->queue->ops->record(s->queue, c->fence->event);
    case HRI_COMMAND_WAIT:
        return run_wait(s, c->fence);
    }
    return HR_OK;
}

static hr_status defer(hri_stream *s, const hri_command *c)
{
    s->grown = true;
    return hri_deferred_add(s, c);
}

/* Run the command now, unless deferred ones come before it. */
static hr_status enqueue(hri_stream *s, const hri_command *c)
{
    s->grown = true;
    return hri_deferred_is_empty(s) ? hri_command_run(s, c) : defer(s, c);
}

/* ---- copies */

static size_t bytes_of(const hri_copy *copy)
{
    return copy->width * copy->height * copy->depth;
}

/* Buffers of an emulated device lie in host memory, so pinned memory would be a
 * detour. */
bool hri_stream_defers(const hri_stream *s, const hri_copy *c)
{
    hri_device *device = s->accelerator->device;
    const bool up = c->from.buffer == NULL;
    if (!s->defers || (!up && c->to.buffer != NULL) || device->info.emulated ||
        bytes_of(c) == 0 || (up && bytes_of(c) <= MAX_TAKEN_BYTES)) {
        return false;
    }
    const hri_place *host = up ? &c->from : &c->to;
    size_t bytes = (c->height - 1) * (up ? c->from_pitch : c->to_pitch) +
                   (c->depth - 1) * (up ? c->from_slice : c->to_slice) +
                   c->width;
    return !device->ops->is_pinned(device, (char *)host->host + host->offset,
                                   bytes);
}

hr_status hri_stream_copy_now(hri_stream *s, const hri_copy *copy)
{
    const hri_command c = {.kind = HRI_COMMAND_COPY, .copy = copy};
    return enqueue(s, &c);
}

hr_status hri_stream_copy(hri_stream *s, const hri_copy *copy)
{
    hri_command c = {.kind = HRI_COMMAND_COPY, .copy = copy};
    if (!hri_stream_defers(s, copy)) {
        return hri_stream_copy_now(s, copy);
    }
    if (bytes_of(copy) >= MIN_STAGED_BYTES &&
        s->accelerator->copy_threads > 0) {
        c.kind = HRI_COMMAND_STAGED_COPY;
    }
    return defer(s, &c);
}

hr_status hri_stream_launch(hri_stream *s, const hri_launch *launch)
{
    const hri_command c = {.kind = HRI_COMMAND_LAUNCH, .launch = launch};
    return enqueue(s, &c);
}

/* ---- fences */

hr_status hri_stream_record(hri_stream *s, hri_fence *fence)
{
    const hri_command c = {.kind = HRI_COMMAND_RECORD, .fence = fence};
    hr_status status = HR_OK;
    if (hri_deferred_is_empty(s)) {
        status = hri_command_run(s, &c);
        if (status == HR_OK && s->error.status != HR_OK) {
            fence->error = s->error;
        }
        return status;
    }
    atomic_store(&fence->deferred, true);
    status = hri_deferred_add(s, &c);
    if (status != HR_OK) {
        atomic_store(&fence->deferred, false);
    }
    return status;
}

hr_status hri_stream_record_pending(hri_stream *s)
{
    return s->pending != NULL ? hri_fence_record(s->pending) : HR_OK;
}

/* Whether the stream can wait instead of the calling thread. There is no event
 * where recording failed. */
static bool can_wait(const hri_stream *s, const hri_fence *fence)
{
    hri_device *device = s->accelerator->device;
    hri_device *other = fence->accelerator->device;
    return (hri_fence_is_deferred(fence) || fence->event != NULL) &&
           (device == other || device->ops->is_peer(device, other));
}

hr_status hri_stream_wait(hri_stream *s, hri_fence *fence)
{
    const hri_command c = {.kind = HRI_COMMAND_WAIT, .fence = fence};
    if (fence->serial == s->serial) {
        return HR_OK;
    }
    hr_status status = hri_fence_record(fence);
    if (status == HR_OK) { /* so its holders do not wait for `fence` */
        status = hri_stream_record_pending(s);
    }
    if (status != HR_OK) {
        return status;
    }
    if (!can_wait(s, fence)) {
        return hri_fence_wait(fence);
    }
    if (hri_fence_is_deferred(fence) && s->defers) {
        return defer(s, &c);
    }
    return enqueue(s, &c); /* there is an event, or the command waits for the
                              record */
}

/* ---- the end of a stream */

hr_status hri_stream_finish(hri_stream *s)
{
    hri_deferred_drain(s);
    hr_status status = s->queue->ops->finish(s->queue);
    return s->error.status != HR_OK ? hri_error_raise(&s->error) : status;
}

static void finish_stream(void *stream)
{
    (void)hri_stream_finish(stream);
}

void hri_stream_settle(hri_stream *s)
{
    hri_keep_message(finish_stream, s);
}

bool hri_stream_has_failed(const hri_stream *s)
{
    bool done;
    return s->last != NULL && hri_fence_query(s->last, &done) != HR_OK;
}

/* ---- graphs */

hr_status hri_stream_begin_graph(hri_stream *s)
{
    hri_deferred_drain(s);
    return s->queue->ops->begin_graph(s->queue);
}

hr_status hri_stream_end_graph(hri_stream *s, hri_graph **graph)
{
    return s->queue->ops->end_graph(s->queue, graph);
}

hr_status hri_stream_run_graph(hri_stream *s, hri_graph *graph)
{
    hri_deferred_drain(s);
    set_busy(s);
    s->grown = true;
    return s->error.status == HR_OK ? s->queue->ops->run_graph(s->queue, graph)
                                    : HR_OK;
}

/* ---- making streams */

hr_status hri_stream_create(hri_accelerator *accelerator, bool urgent,
                            hri_stream **out)
{
    static atomic_uint_fast64_t last;
    hri_device *device = accelerator->device;
    hri_stream *s = calloc(1, sizeof *s);
    if (s == NULL) {
        return hri_fail(HR_ERROR_OUT_OF_MEMORY, "%s: no memory for a queue",
                        accelerator->path);
    }
    s->accelerator = accelerator;
    s->serial = atomic_fetch_add(&last, 1) + 1;
    s->defers = device->info.staged;
    atomic_init(&s->deferred, NULL);
    hr_status status = device->ops->create_queue(device, urgent, &s->queue);
    if (status != HR_OK) {
        hri_stream_destroy(s);
        return status;
    }
    *out = s;
    return HR_OK;
}

void hri_stream_forget(hri_stream *s)
{
    hri_fence *fence = s->pending;
    if (hri_stream_record_pending(s) != HR_OK) {
        hri_error_keep(&fence->error, hri_stream_finish(s));
        fence->pending = NULL;
        s->pending = NULL;
    }
}

void hri_stream_destroy(hri_stream *s)
{
    if (s == NULL) {
        return;
    }
    hri_deferred_close(s);
    if (s->queue != NULL) {
        s->queue->ops->destroy(s->queue);
    }
    forget_before(s);
    hri_fence_drop(s->last);
    free(s);
}

/* ---- copy queues */

hr_status hri_accelerator_copy_queue(hri_accelerator *accelerator,
                                     hri_stream **stream)
{
    hr_status status = HR_OK;
    if (accelerator->copy_queue != NULL &&
        hri_stream_has_failed(accelerator->copy_queue)) {
        hri_accelerator_drop_copy_queue(accelerator);
    }
    if (accelerator->copy_queue == NULL) {
        status =
            hri_stream_create(accelerator, false, &accelerator->copy_queue);
        if (status == HR_OK) {
            accelerator->copy_queue->queue->name = "copies";
        }
    }
    if (status == HR_OK) {
        *stream = accelerator->copy_queue;
    }
    return status;
}

void hri_accelerator_drop_copy_queue(hri_accelerator *accelerator)
{
    hri_stream_destroy(accelerator->copy_queue);
    accelerator->copy_queue = NULL;
}

/* ---- default queues */

hr_status hri_accelerator_default_queue(hri_accelerator *accelerator,
                                        hri_stream **stream)
{
    hri_default_queue *queue = &accelerator->default_queue;
    hr_status status = HR_OK;
    if (queue->stream != NULL && hri_stream_has_failed(queue->stream)) {
        hri_accelerator_drop_default_queue(accelerator);
    }
    if (queue->stream == NULL) {
        status = hri_stream_create(accelerator, false, &queue->stream);
        if (status == HR_OK) {
            queue->stream->queue->name = "default";
        }
    }
    if (status == HR_OK) {
        *stream = queue->stream;
    }
    return status;
}

void hri_accelerator_drop_default_queue(hri_accelerator *accelerator)
{
    hri_default_queue *queue = &accelerator->default_queue;
    hri_fence_drop(queue->start);
    hri_fence_drop(queue->end);
    if (queue->stream != NULL) {
        hri_stream_forget(queue->stream);
        hri_stream_destroy(queue->stream);
    }
    *queue = (hri_default_queue){0};
}
