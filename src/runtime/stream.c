/* SPDX-License-Identifier: MIT */
#include "runtime/stream.h"

#include <stdlib.h>

#include "trace/traced.h"

enum {
    MIN_STAGED_BYTES = 1 << 20, /* fewer bytes are not worth waking threads */
    MAX_TAKEN_BYTES = 64 << 10  /* of ordinary memory that drivers copy without
                                   blocking the caller */
};

/* ---- commands */

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

/* ---- fences (fence.c) */

/* Make the stream's pending fence. NULL: there is no memory for it. */
static hri_fence *make_fence(hri_stream *stream)
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
    hri_fence *f =
        stream->pending != NULL ? stream->pending : make_fence(stream);
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
    HRI_TRY(hri_fence_create(stream, &f));
    const hr_status status = hri_fence_record(f);
    if (status != HR_OK) {
        hri_fence_drop(f);
        return status;
    }
    *fence = f;
    return HR_OK;
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

/* Enqueue the record of a fence that has an event. */
static hr_status enqueue_record(hri_stream *s, hri_fence *fence)
{
    const hri_command c = {.kind = HRI_COMMAND_RECORD, .fence = fence};
    if (hri_deferred_is_empty(s)) {
        HRI_TRY(hri_command_run(s, &c));
        if (s->error.status != HR_OK) {
            fence->error = s->error;
        }
        return HR_OK;
    }
    atomic_store(&fence->deferred, true);
    const hr_status status = hri_deferred_add(s, &c);
    if (status != HR_OK) {
        atomic_store(&fence->deferred, false);
    }
    return status;
}

static void finish_stream(void *stream)
{
    (void)hri_stream_finish(stream);
}

void hri_stream_settle(hri_stream *s)
{
    hri_keep_message(finish_stream, s);
}

hr_status hri_fence_record(hri_fence *fence)
{
    hri_stream *stream = fence->pending;
    if (stream == NULL) {
        return HR_OK;
    }
    hr_status status = hri_events_take(fence->accelerator, &fence->event);
    if (status == HR_OK) {
        status = enqueue_record(stream, fence);
    }
    if (status != HR_OK) {
        hri_events_give(fence->accelerator, fence->event);
        fence->event = NULL;
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

hr_status hri_stream_record_pending(hri_stream *s)
{
    return s->pending != NULL ? hri_fence_record(s->pending) : HR_OK;
}

/* ---- waits */

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
    HRI_TRY(hri_fence_record(fence));
    HRI_TRY(hri_stream_record_pending(s)); /* its holders need not wait for
                                              `fence` */
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
    hri_stream_set_busy(s);
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

void hri_stream_end_pending(hri_stream *s)
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
    hri_stream_forget_waits(s);
    hri_fence_drop(s->last);
    free(s);
}

/* ---- queues of an accelerator */

/* Make the stream unless it is there. */
static hr_status use_stream(hri_accelerator *accelerator, const char *name,
                            hri_stream **place, hri_stream **stream)
{
    if (*place == NULL) {
        HRI_TRY(hri_stream_create(accelerator, false, place));
        (*place)->queue->name = name;
    }
    *stream = *place;
    return HR_OK;
}

hr_status hri_accelerator_copy_queue(hri_accelerator *accelerator,
                                     hri_stream **stream)
{
    if (accelerator->copy_queue != NULL &&
        hri_stream_has_failed(accelerator->copy_queue)) {
        hri_accelerator_drop_copy_queue(accelerator);
    }
    return use_stream(accelerator, "copies", &accelerator->copy_queue, stream);
}

void hri_accelerator_drop_copy_queue(hri_accelerator *accelerator)
{
    hri_stream_destroy(accelerator->copy_queue);
    accelerator->copy_queue = NULL;
}

hr_status hri_accelerator_default_queue(hri_accelerator *accelerator,
                                        hri_stream **stream)
{
    hri_default_queue *queue = &accelerator->default_queue;
    if (queue->stream != NULL && hri_stream_has_failed(queue->stream)) {
        hri_accelerator_drop_default_queue(accelerator);
    }
    return use_stream(accelerator, "default", &queue->stream, stream);
}

void hri_accelerator_drop_default_queue(hri_accelerator *accelerator)
{
    hri_default_queue *queue = &accelerator->default_queue;
    hri_fence_drop(queue->start);
    hri_fence_drop(queue->end);
    if (queue->stream != NULL) {
        hri_stream_end_pending(queue->stream);
        hri_stream_destroy(queue->stream);
    }
    *queue = (hri_default_queue){0};
}
