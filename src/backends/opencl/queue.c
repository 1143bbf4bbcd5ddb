/* SPDX-License-Identifier: MIT */
/* Queues, which are in order and have profiling, and events. The first error of
 * a queue is sticky: later work is skipped, and finish and the events report
 * the error. */
#include <stdlib.h>

#include "backends/opencl/opencl.h"

enum { FILL_WINDOW = 1 << 30 };

/* ---- events: a marker in a queue, and its sticky error */

/* The state that a record left. It is held, so the event may be recorded again
 * meanwhile. */
typedef struct snapshot {
    cl_event marker;          /* NULL: never recorded, or recording failed */
    hri_sticky_error *sticky; /* of the queue that it was recorded on; NULL:
                                 none */
} snapshot;

typedef struct hri_cl_event {
    hri_event base;
    pthread_mutex_t lock; /* guards what follows */
    snapshot last;
} hri_cl_event;

static snapshot take_snapshot(hri_cl_event *event)
{
    pthread_mutex_lock(&event->lock);
    snapshot s = event->last;
    if (s.marker != NULL) {
        hri_cl.clRetainEvent(s.marker);
    }
    hri_sticky_hold(s.sticky);
    pthread_mutex_unlock(&event->lock);
    return s;
}

static void drop_snapshot(snapshot s)
{
    if (s.marker != NULL) {
        hri_cl.clReleaseEvent(s.marker);
    }
    hri_sticky_drop(s.sticky);
}

/* The marker's execution status. It is CL_COMPLETE, or higher while work is
 * left before it, or lower after an error, which the queue keeps. */
static cl_int state_of(snapshot s)
{
    cl_int state = CL_COMPLETE;
    if (s.marker == NULL) {
        return CL_COMPLETE;
    }
    cl_int error =
        hri_cl.clGetEventInfo(s.marker, CL_EVENT_COMMAND_EXECUTION_STATUS,
                              sizeof state, &state, NULL);
    state = error != CL_SUCCESS ? error : state;
    if (state < CL_COMPLETE) {
        hri_sticky_keep(s.sticky, hri_cl_check(state, "a command in a queue"));
    }
    return state;
}

static hr_status event_query(hri_event *base, bool *done)
{
    snapshot s = take_snapshot((hri_cl_event *)base);
    bool complete = state_of(s) <= CL_COMPLETE;
    hr_status status = complete ? hri_sticky_raise(s.sticky) : HR_OK;
    drop_snapshot(s);
    HRI_TRY(status);
    *done = complete;
    return HR_OK;
}

/* Wait, and release the snapshot. */
static hr_status wait_for(snapshot s)
{
    if (s.marker != NULL) {
        cl_int error = hri_cl.clWaitForEvents(1, &s.marker);
        if (state_of(s) >= CL_COMPLETE && error != CL_SUCCESS) {
            hri_sticky_keep(s.sticky, hri_cl_check(error, "clWaitForEvents"));
        }
    }
    hr_status status = hri_sticky_raise(s.sticky);
    drop_snapshot(s);
    return status;
}

static hr_status event_wait(hri_event *base)
{
    return wait_for(take_snapshot((hri_cl_event *)base));
}

static hr_status time_of(hri_event *base, uint64_t *ns)
{
    cl_ulong end = 0;
    snapshot s = take_snapshot((hri_cl_event *)base);
    hr_status status =
        s.marker == NULL
            ? hri_fail(HR_ERROR_INVALID,
                       "the event has no time: it was never recorded")
            : hri_cl_check(hri_cl.clGetEventProfilingInfo(
                               s.marker, CL_PROFILING_COMMAND_END, sizeof end,
                               &end, NULL),
                           "clGetEventProfilingInfo");
    drop_snapshot(s);
    HRI_TRY(status);
    *ns = end;
    return HR_OK;
}

static hr_status event_elapsed(hri_event *from, hri_event *to, uint64_t *ns)
{
    return hri_elapsed(time_of, from, to, ns);
}

static void event_destroy(hri_event *base)
{
    hri_cl_event *event = (hri_cl_event *)base;
    if (event == NULL) {
        return;
    }
    drop_snapshot(event->last);
    pthread_mutex_destroy(&event->lock);
    free(event);
}

static const hri_event_ops event_ops = {
    .destroy = event_destroy,
    .query = event_query,
    .wait = event_wait,
    .elapsed = event_elapsed,
};

hr_status hri_cl_event_create(hri_device *device, bool timed, hri_event **out)
{
    (void)timed; /* all are */
    hri_cl_event *event = calloc(1, sizeof *event);
    if (event == NULL) {
        return hri_no_memory(device->info.path);
    }
    event->base = (hri_event){.ops = &event_ops, .device = device};
    pthread_mutex_init(&event->lock, NULL);
    *out = &event->base;
    return HR_OK;
}

/* Record this point of the queue. After an error the record is complete at once
 * and has the queue's error. */
static hr_status put_marker(hri_cl_queue *queue, snapshot *s)
{
    *s = (snapshot){.sticky = queue->sticky};
    hri_sticky_hold(s->sticky);
    cl_int error =
        hri_cl.clEnqueueMarkerWithWaitList(queue->queue, 0, NULL, &s->marker);
    if (error != CL_SUCCESS) {
        s->marker = NULL;
    } else {
        error = hri_cl.clFlush(queue->queue);
    }
    return hri_sticky_keep(queue->sticky,
                           hri_cl_check(error, "recording an event"));
}

static hr_status queue_record(hri_queue *queue, hri_event *base)
{
    hri_cl_event *event = (hri_cl_event *)base;
    snapshot s;
    hr_status status = put_marker((hri_cl_queue *)queue, &s);
    pthread_mutex_lock(&event->lock);
    snapshot old = event->last;
    event->last = s;
    pthread_mutex_unlock(&event->lock);
    drop_snapshot(old);
    return status;
}

static hr_status queue_wait(hri_queue *base, hri_event *event)
{
    hri_cl_queue *queue = (hri_cl_queue *)base;
    const snapshot s = take_snapshot((hri_cl_event *)event);
    cl_int error = CL_SUCCESS;
    if (s.marker != NULL) {
        error = hri_cl.clEnqueueBarrierWithWaitList(queue->queue, 1, &s.marker,
                                                    NULL);
    }
    drop_snapshot(s);
    return hri_sticky_keep(queue->sticky,
                           hri_cl_check(error, "clEnqueueBarrierWithWaitList"));
}

/* ---- copies */

/* Whether OpenCL takes the copy: within one buffer, CopyBufferRect wants equal
 * pitches. */
static bool takes(const void *queue, const hri_copy *c)
{
    (void)queue;
    return c->to.buffer == NULL || c->to.buffer != c->from.buffer ||
           (c->to_pitch == c->from_pitch &&
            (c->depth == 1 || c->to_slice == c->from_slice));
}

static cl_int submit_row(void *queue, const hri_copy *c)
{
    if (c->to.buffer == NULL) {
        return hri_cl.clEnqueueReadBuffer(
            queue, hri_cl_memory(c->from.buffer), CL_FALSE, c->from.offset,
            c->width, (char *)c->to.host + c->to.offset, 0, NULL, NULL);
    }
    if (c->from.buffer == NULL) {
        return hri_cl.clEnqueueWriteBuffer(
            queue, hri_cl_memory(c->to.buffer), CL_FALSE, c->to.offset,
            c->width, (const char *)c->from.host + c->from.offset, 0, NULL,
            NULL);
    }
    return hri_cl.clEnqueueCopyBuffer(
        queue, hri_cl_memory(c->from.buffer), hri_cl_memory(c->to.buffer),
        c->from.offset, c->to.offset, c->width, 0, NULL, NULL);
}

static cl_int submit_box(void *queue, const hri_copy *c)
{
    const size_t region[3] = {c->width, c->height, c->depth};
    const size_t to[3] = {c->to.offset, 0, 0};
    const size_t from[3] = {c->from.offset, 0, 0};
    size_t to_slice = c->depth > 1 ? c->to_slice : 0;
    size_t from_slice = c->depth > 1 ? c->from_slice : 0;
    if (c->to.buffer == NULL) {
        return hri_cl.clEnqueueReadBufferRect(
            queue, hri_cl_memory(c->from.buffer), CL_FALSE, from, to, region,
            c->from_pitch, from_slice, c->to_pitch, to_slice, c->to.host, 0,
            NULL, NULL);
    }
    if (c->from.buffer == NULL) {
        return hri_cl.clEnqueueWriteBufferRect(
            queue, hri_cl_memory(c->to.buffer), CL_FALSE, to, from, region,
            c->to_pitch, to_slice, c->from_pitch, from_slice, c->from.host, 0,
            NULL, NULL);
    }
    return hri_cl.clEnqueueCopyBufferRect(queue, hri_cl_memory(c->from.buffer),
                                          hri_cl_memory(c->to.buffer), from, to,
                                          region, c->from_pitch, from_slice,
                                          c->to_pitch, to_slice, 0, NULL, NULL);
}

static const hri_copy_commands copies = {
    .takes = takes, .row = submit_row, .box = submit_box};

/* ---- the queue */

static void queue_destroy(hri_queue *base)
{
    hri_cl_queue *queue = (hri_cl_queue *)base;
    if (queue == NULL) {
        return;
    }
    if (queue->queue != NULL) {
        hri_cl.clFinish(queue->queue);
        hri_cl.clReleaseCommandQueue(queue->queue);
    }
    for (int type = 0; type < HRI_CL_TYPES; type++) {
        for (int i = 0; i < HRI_CL_PURPOSES; i++) {
            if (queue->kernels[type][i].kernel != NULL) {
                hri_cl.clReleaseKernel(queue->kernels[type][i].kernel);
            }
        }
    }
    hri_cl_precise_release(queue);
    hri_sticky_drop(queue->sticky);
    free(queue);
}

static hr_status queue_copy(hri_queue *base, const hri_copy *copy)
{
    hri_cl_queue *queue = (hri_cl_queue *)base;
    HRI_TRY(hri_sticky_raise(queue->sticky));
    if (hri_copy_is_empty(copy)) {
        return HR_OK;
    }
    return hri_sticky_keep(
        queue->sticky,
        hri_cl_check(hri_copy_enqueue(&copies, queue->queue, copy),
                     "enqueueing a copy"));
}

/* Fill inside a window of a buffer. It begins at origin, which has the
 * alignment that sub-buffers need on any device. */
static cl_int fill_window(hri_cl_queue *queue, hri_buffer *buffer,
                          cl_buffer_region fill, uint8_t value)
{
    size_t start = fill.origin / FILL_WINDOW * FILL_WINDOW;
    size_t left = buffer->bytes - start;
    const cl_buffer_region window = {
        .origin = start, .size = left < FILL_WINDOW ? left : FILL_WINDOW};
    cl_int error;
    cl_mem sub_buffer =
        hri_cl.clCreateSubBuffer(hri_cl_memory(buffer), CL_MEM_READ_WRITE,
                                 CL_BUFFER_CREATE_TYPE_REGION, &window, &error);
    if (error != CL_SUCCESS) {
        return error;
    }
    error = hri_cl.clEnqueueFillBuffer(queue->queue, sub_buffer, &value, 1,
                                       fill.origin - start, fill.size, 0, NULL,
                                       NULL);
    hri_cl.clReleaseMemObject(sub_buffer); /* it lives until the fill has run */
    return error;
}

/* NVIDIA's driver 580 fills the wrong bytes, without an error, where a one-byte
 * pattern goes to more than 2 GiB or beyond them (measured on an H200). So
 * large buffers are filled window by window. */
static cl_int fill_all(hri_cl_queue *queue, hri_buffer *buffer,
                       cl_buffer_region all, uint8_t value)
{
    if (all.origin + all.size <= FILL_WINDOW) {
        return hri_cl.clEnqueueFillBuffer(queue->queue, hri_cl_memory(buffer),
                                          &value, 1, all.origin, all.size, 0,
                                          NULL, NULL);
    }
    for (size_t done = 0; done < all.size;) {
        size_t at = all.origin + done, left = all.size - done;
        size_t room = FILL_WINDOW - at % FILL_WINDOW;
        cl_buffer_region chunk = {.origin = at,
                                  .size = left < room ? left : room};
        cl_int error = fill_window(queue, buffer, chunk, value);
        if (error != CL_SUCCESS) {
            return error;
        }
        done += chunk.size;
    }
    return CL_SUCCESS;
}

static hr_status queue_fill(hri_queue *base, hri_buffer *buffer, size_t offset,
                            size_t bytes, uint8_t value)
{
    hri_cl_queue *queue = (hri_cl_queue *)base;
    HRI_TRY(hri_sticky_raise(queue->sticky));
    if (bytes == 0) {
        return HR_OK;
    }
    const cl_buffer_region all = {.origin = offset, .size = bytes};
    return hri_sticky_keep(
        queue->sticky,
        hri_cl_check(fill_all(queue, buffer, all, value), "enqueueing a fill"));
}

static hr_status queue_gemm(hri_queue *base, const hri_gemm *gemm)
{
    hri_cl_queue *queue = (hri_cl_queue *)base;
    HRI_TRY(hri_sticky_raise(queue->sticky));
    return hri_sticky_keep(queue->sticky, hri_cl_gemm(queue, gemm));
}

static hr_status queue_pack(hri_queue *base, const hri_pack *pack)
{
    hri_cl_queue *queue = (hri_cl_queue *)base;
    HRI_TRY(hri_sticky_raise(queue->sticky));
    return pack->compute == HR_COMPUTE_PRECISE
               ? hri_sticky_keep(queue->sticky,
                                 hri_cl_pack_precise(queue, pack))
               : hri_no_pack(base, pack);
}

static hr_status queue_launch(hri_queue *base, const hri_launch *launch)
{
    hri_cl_queue *queue = (hri_cl_queue *)base;
    HRI_TRY(hri_sticky_raise(queue->sticky));
    /* a refused launch has not been enqueued, so the queue goes on */
    return hri_cl_launch(queue, launch);
}

/* clFinish need not report commands that failed, but a last record does. */
static hr_status queue_finish(hri_queue *base)
{
    hri_cl_queue *queue = (hri_cl_queue *)base;
    snapshot last;
    (void)put_marker(queue, &last);
    (void)wait_for(last);
    cl_int error = hri_cl.clFinish(queue->queue);
    hri_sticky_keep(queue->sticky, hri_cl_check(error, "clFinish"));
    return hri_sticky_raise(queue->sticky);
}

static const hri_queue_ops queue_ops = {
    .destroy = queue_destroy,
    .copy = queue_copy,
    .fill = queue_fill,
    .gemm = queue_gemm,
    .pack = queue_pack,
    .launch = queue_launch,
    .record = queue_record,
    .wait = queue_wait,
    .finish = queue_finish,
    .begin_graph = hri_no_begin_graph,
};

/* OpenCL 1.2 has no priorities. */
hr_status hri_cl_queue_create(hri_device *base, bool urgent, hri_queue **out)
{
    (void)urgent;
    const hri_cl_unit *unit = ((hri_cl_device *)base)->unit;
    cl_int error;
    hri_cl_queue *queue = calloc(1, sizeof *queue);
    if (queue == NULL) {
        return hri_no_memory(base->info.path);
    }
    queue->base = (hri_queue){.ops = &queue_ops, .device = base};
    hr_status status = hri_sticky_create(base->info.path, &queue->sticky);
    if (status != HR_OK) {
        goto fail;
    }
    queue->queue = hri_cl.clCreateCommandQueue(
        unit->context, unit->id, CL_QUEUE_PROFILING_ENABLE, &error);
    status = hri_cl_check(error, "clCreateCommandQueue");
    if (status != HR_OK) {
        goto fail;
    }
    *out = &queue->base;
    return HR_OK;
fail:
    queue_destroy(&queue->base);
    return status;
}
