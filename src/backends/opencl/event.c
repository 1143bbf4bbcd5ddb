/* SPDX-License-Identifier: MIT */
/* Events: a marker in a queue, and the sticky error of that queue. */
#include <stdlib.h>

#include "backends/opencl/opencl.h"

/* What the last record left, held so that it may be recorded again meanwhile.
 * Both may be NULL. */
typedef struct snapshot {
    cl_event marker;
    hri_sticky_error *sticky;
} snapshot;

static snapshot take(hri_cl_event *event)
{
    pthread_mutex_lock(&event->lock);
    snapshot s = {event->marker, event->sticky};
    if (s.marker != NULL) {
        hri_cl.clRetainEvent(s.marker);
    }
    hri_sticky_hold(s.sticky);
    pthread_mutex_unlock(&event->lock);
    return s;
}

static void give_back(snapshot s)
{
    if (s.marker != NULL) {
        hri_cl.clReleaseEvent(s.marker);
    }
    hri_sticky_drop(s.sticky);
}

/* The marker's execution status: CL_COMPLETE, above it while there is work
 * before it, below it after an error, which is kept as the queue's. */
static cl_int progress(snapshot s)
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
    snapshot s = take((hri_cl_event *)base);
    bool complete = progress(s) <= CL_COMPLETE;
    hr_status status = complete ? hri_sticky_raise(s.sticky) : HR_OK;
    give_back(s);
    if (status == HR_OK) {
        *done = complete;
    }
    return status;
}

static hr_status event_wait(hri_event *base)
{
    snapshot s = take((hri_cl_event *)base);
    if (s.marker != NULL) {
        cl_int error = hri_cl.clWaitForEvents(1, &s.marker);
        if (progress(s) >= CL_COMPLETE && error != CL_SUCCESS) {
            hri_sticky_keep(s.sticky, hri_cl_check(error, "clWaitForEvents"));
        }
    }
    hr_status status = hri_sticky_raise(s.sticky);
    give_back(s);
    return status;
}

static hr_status time_of(hri_event *base, uint64_t *ns)
{
    cl_ulong end = 0;
    snapshot s = take((hri_cl_event *)base);
    hr_status status =
        s.marker == NULL
            ? hri_fail(HR_ERROR_INVALID, "the time of an event that was never "
                                         "recorded")
            : hri_cl_check(hri_cl.clGetEventProfilingInfo(
                               s.marker, CL_PROFILING_COMMAND_END, sizeof end,
                               &end, NULL),
                           "clGetEventProfilingInfo");
    give_back(s);
    if (status == HR_OK) {
        *ns = end;
    }
    return status;
}

static hr_status event_elapsed(hri_event *from, hri_event *to, uint64_t *ns)
{
    uint64_t start = 0, end = 0;
    hr_status status = time_of(from, &start);
    if (status == HR_OK) {
        status = time_of(to, &end);
    }
    if (status == HR_OK) {
        *ns = end > start ? end - start : 0;
    }
    return status;
}

static void event_destroy(hri_event *base)
{
    hri_cl_event *event = (hri_cl_event *)base;
    if (event == NULL) {
        return;
    }
    give_back((snapshot){event->marker, event->sticky});
    pthread_mutex_destroy(&event->lock);
    free(event);
}

static const hri_event_ops event_ops = {
    .destroy = event_destroy,
    .query = event_query,
    .wait = event_wait,
    .elapsed = event_elapsed,
};

hr_status hri_cl_event_create(hri_device *device, hri_event **out)
{
    hri_cl_event *event = calloc(1, sizeof *event);
    if (event == NULL) {
        return hri_no_memory(device->info.path);
    }
    event->base = (hri_event){.ops = &event_ops, .device = device};
    pthread_mutex_init(&event->lock, NULL);
    *out = &event->base;
    return HR_OK;
}

hr_status hri_cl_event_record(hri_queue *queue_base, hri_event *event_base)
{
    hri_cl_queue *queue = (hri_cl_queue *)queue_base;
    hri_cl_event *event = (hri_cl_event *)event_base;
    snapshot s = {.sticky = queue->sticky};
    cl_int error =
        hri_cl.clEnqueueMarkerWithWaitList(queue->queue, 0, NULL, &s.marker);
    if (error != CL_SUCCESS) {
        s.marker = NULL; /* complete at once, with the queue's error */
    } else {
        error = hri_cl.clFlush(queue->queue);
    }
    hr_status status = hri_sticky_keep(
        queue->sticky, hri_cl_check(error, "recording an event"));
    hri_sticky_hold(s.sticky);
    pthread_mutex_lock(&event->lock);
    snapshot old = {event->marker, event->sticky};
    event->marker = s.marker;
    event->sticky = s.sticky;
    pthread_mutex_unlock(&event->lock);
    give_back(old);
    return status;
}

hr_status hri_cl_event_await(hri_queue *base, hri_event *event)
{
    hri_cl_queue *queue = (hri_cl_queue *)base;
    const snapshot s = take((hri_cl_event *)event);
    cl_int error = CL_SUCCESS;
    if (s.marker != NULL) {
        error = hri_cl.clEnqueueBarrierWithWaitList(queue->queue, 1, &s.marker,
                                                    NULL);
    }
    give_back(s);
    return hri_sticky_keep(queue->sticky,
                           hri_cl_check(error, "clEnqueueBarrierWithWaitList"));
}
