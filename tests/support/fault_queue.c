/* SPDX-License-Identifier: MIT */
/* The wrapper's queues, graphs and events. */
#include <stdlib.h>

#include "support/fault_internal.h"

typedef struct fault_event {
    hri_event base; /* first: see hri_event */
    hri_event *inner;
    hri_error error; /* the queue's at the last record; under fault_lock */
} fault_event;

static void unwrap(hri_place *place)
{
    if (place->buffer != NULL) {
        place->buffer = ((fault_buffer *)place->buffer)->inner;
    }
}

/* Whether the operation is to be passed on; it fails later or is skipped
 * otherwise. */
static bool begin_operation(fault_queue *queue)
{
    hri_error error;
    if (fault_operation(&error) && queue->error.status == HR_OK) {
        queue->error = error;
    }
    return queue->error.status == HR_OK;
}

/* The error of a call, which is that of a graph too. */
static hr_status refuse(fault_queue *queue, hr_status status)
{
    if (status != HR_OK && queue->graph) {
        hri_error_keep(&queue->error, status);
    }
    return status;
}

/* Note whether it is of ordinary memory. */
static void count_ordinary(fault_device *device, const hri_copy *copy)
{
    const bool up = copy->from.buffer == NULL;
    const hri_place *host = up ? &copy->from : &copy->to;
    if (host->buffer == NULL && device->base.info.staged &&
        !device->base.ops->is_pinned(
            &device->base, (const char *)host->host + host->offset, 1)) {
        fault_count_ordinary((uint64_t)copy->width * copy->height *
                             copy->depth);
    }
}

static void count_copy(fault_device *device, const hri_copy *copy)
{
    const hri_buffer *to = copy->to.buffer;
    const hri_buffer *from = copy->from.buffer;
    fault_direction direction = from == NULL                 ? FAULT_UP
                                : to == NULL                 ? FAULT_DOWN
                                : to->device == from->device ? FAULT_LOCAL
                                                             : FAULT_PEER;
    fault_count_bytes(direction,
                      (uint64_t)copy->width * copy->height * copy->depth);
    count_ordinary(device, copy);
}

static hr_status queue_copy(hri_queue *base, const hri_copy *copy)
{
    fault_queue *queue = (fault_queue *)base;
    hri_copy inner = *copy;
    fault_pass_copy((fault_device *)base->device);
    hr_status status = fault_enter(base->device, FAULT_COPY);
    if (status == HR_OK) {
        status = fault_check_copy(base->device, copy);
    }
    if (status != HR_OK) {
        return refuse(queue, status);
    }
    count_copy((fault_device *)base->device, copy);
    unwrap(&inner.to);
    unwrap(&inner.from);
    return begin_operation(queue)
               ? queue->inner->ops->copy(queue->inner, &inner)
               : HR_OK;
}

static hr_status queue_fill(hri_queue *base, hri_buffer *buffer, size_t offset,
                            size_t bytes, uint8_t value)
{
    fault_queue *queue = (fault_queue *)base;
    hri_place place = hri_at(buffer, offset);
    hr_status status = fault_enter(base->device, FAULT_FILL);
    if (status == HR_OK) {
        status = fault_check_fill(base->device, &place, bytes);
    }
    if (status != HR_OK) {
        return refuse(queue, status);
    }
    unwrap(&place);
    return begin_operation(queue)
               ? queue->inner->ops->fill(queue->inner, place.buffer, offset,
                                         bytes, value)
               : HR_OK;
}

static hr_status queue_gemm(hri_queue *base, const hri_gemm *gemm)
{
    fault_queue *queue = (fault_queue *)base;
    hri_gemm inner = *gemm;
    hr_status status = fault_enter(base->device, FAULT_GEMM);
    if (status == HR_OK) {
        status = fault_check_gemm(base->device, gemm);
    }
    if (status != HR_OK) {
        return status;
    }
    fault_product((fault_device *)base->device, gemm);
    unwrap(&inner.a.place);
    unwrap(&inner.b.place);
    unwrap(&inner.c.place);
    return begin_operation(queue)
               ? queue->inner->ops->gemm(queue->inner, &inner)
               : HR_OK;
}

static hr_status queue_pack(hri_queue *base, const hri_pack *pack)
{
    fault_queue *queue = (fault_queue *)base;
    hri_pack inner = *pack;
    hr_status status = fault_enter(base->device, FAULT_PACK);
    if (status == HR_OK) {
        status = fault_check_pack(base->device, pack);
    }
    if (status != HR_OK) {
        return status;
    }
    unwrap(&inner.to);
    unwrap(&inner.from);
    return begin_operation(queue)
               ? queue->inner->ops->pack(queue->inner, &inner)
               : HR_OK;
}

static hr_status queue_launch(hri_queue *base, const hri_launch *launch)
{
    fault_queue *queue = (fault_queue *)base;
    hri_launch inner = *launch;
    hri_kernel_argument arguments[HR_MAX_PARAMETERS];
    const hr_parameter *p = launch->kernel->parameters(launch->kernel);
    hr_status status = fault_enter(base->device, FAULT_LAUNCH);
    if (status != HR_OK) {
        return refuse(queue, status);
    }
    for (uint32_t i = 0; i < launch->kernel->parameter_count; i++) {
        arguments[i] = launch->arguments[i];
        if (p[i].kind == HR_PARAMETER_VIEW) {
            unwrap(&arguments[i].place);
        }
    }
    inner.arguments = arguments;
    inner.module = fault_inner_module(launch->module);
    return begin_operation(queue)
               ? queue->inner->ops->launch(queue->inner, &inner)
               : HR_OK;
}

static hr_status queue_record(hri_queue *base, hri_event *event_base)
{
    fault_queue *queue = (fault_queue *)base;
    fault_event *event = (fault_event *)event_base;
    hr_status status = fault_enter(base->device, FAULT_RECORD);
    if (status == HR_OK && event_base->device != base->device) {
        status = fault_breach("a record of another device's event");
    }
    if (status == HR_OK) {
        status = queue->inner->ops->record(queue->inner, event->inner);
    }
    if (status == HR_OK) {
        pthread_mutex_lock(&fault_lock);
        event->error = queue->error;
        pthread_mutex_unlock(&fault_lock);
    }
    return status;
}

static hr_status queue_wait(hri_queue *base, hri_event *event_base)
{
    fault_queue *queue = (fault_queue *)base;
    fault_event *event = (fault_event *)event_base;
    hr_status status = fault_enter(base->device, FAULT_WAIT);
    if (status == HR_OK && !fault_may_use(base->device, event_base->device)) {
        status = fault_breach("a wait for an event of no peer");
    }
    if (status == HR_OK) {
        status = queue->inner->ops->wait(queue->inner, event->inner);
    }
    if (status == HR_OK && queue->error.status == HR_OK) {
        pthread_mutex_lock(&fault_lock);
        queue->error = event->error; /* it would read what never arrived */
        pthread_mutex_unlock(&fault_lock);
    }
    return status;
}

/* This waits even when it is to fail: a caller that gets a failure here may
 * rely on nothing running any more. */
static hr_status queue_finish(hri_queue *base)
{
    fault_queue *queue = (fault_queue *)base;
    hr_status inner = queue->inner->ops->finish(queue->inner);
    hr_status status = fault_enter(base->device, FAULT_FINISH);
    if (status == HR_OK) {
        status = hri_error_raise(&queue->error);
    }
    return status != HR_OK ? status : inner;
}

static void queue_destroy(hri_queue *base)
{
    fault_queue *queue = (fault_queue *)base;
    fault_note(FAULT_DESTROY_QUEUE);
    if (queue != NULL) {
        if (queue->graph) {
            (void)fault_breach("a queue is destroyed before its graph ended");
        }
        queue->inner->ops->destroy(queue->inner);
        fault_count_object((fault_device *)base->device, -1);
        free(queue);
    }
}

typedef struct fault_graph {
    hri_graph base; /* first: see hri_graph */
    hri_graph *inner;
} fault_graph;

static hr_status queue_begin_graph(hri_queue *base)
{
    fault_queue *queue = (fault_queue *)base;
    hr_status status = fault_enter(base->device, FAULT_BEGIN_GRAPH);
    if (status == HR_OK && queue->graph) {
        status = fault_breach("a graph is begun in a graph");
    }
    if (status == HR_OK) {
        status = hri_error_raise(&queue->error);
    }
    if (status == HR_OK) {
        status = queue->inner->ops->begin_graph(queue->inner);
        queue->graph = status == HR_OK;
    }
    return status;
}

/* This ends the graph even when it is to fail. Failures on request happened in
 * the graph, so the queue goes on. */
static hr_status queue_end_graph(hri_queue *base, hri_graph **out)
{
    fault_queue *queue = (fault_queue *)base;
    hri_device *inner = fault_inner_device(base->device);
    if (!queue->graph) {
        return fault_breach("a graph is ended, but none was begun");
    }
    fault_graph *graph = calloc(1, sizeof *graph);
    hri_graph *inner_graph = NULL;
    hr_status ended = queue->inner->ops->end_graph(queue->inner, &inner_graph);
    hr_status status = fault_enter(base->device, FAULT_END_GRAPH);
    queue->graph = false;
    status = status != HR_OK ? status : hri_error_raise(&queue->error);
    status = status != HR_OK ? status : ended;
    queue->error = (hri_error){0};
    if (status == HR_OK && graph == NULL) {
        status = hri_fail(HR_ERROR_OUT_OF_MEMORY, "fault: out of memory");
    }
    if (status != HR_OK) {
        inner->ops->destroy_graph(inner_graph);
        free(graph);
        return status;
    }
    graph->base.device = base->device;
    graph->inner = inner_graph;
    fault_count_object((fault_device *)base->device, 1);
    *out = &graph->base;
    return HR_OK;
}

static hr_status queue_run_graph(hri_queue *base, hri_graph *graph)
{
    fault_queue *queue = (fault_queue *)base;
    hr_status status = fault_enter(base->device, FAULT_RUN_GRAPH);
    if (status == HR_OK && queue->graph) {
        status = fault_breach("a graph is run in a graph");
    }
    if (status == HR_OK && graph->device != base->device) {
        status = fault_breach("a graph of another device is run");
    }
    if (status != HR_OK) {
        return status;
    }
    return begin_operation(queue)
               ? queue->inner->ops->run_graph(queue->inner,
                                              ((fault_graph *)graph)->inner)
               : HR_OK;
}

void fault_destroy_graph(hri_graph *base)
{
    fault_note(FAULT_DESTROY_GRAPH);
    if (base != NULL) {
        hri_device *inner = fault_inner_device(base->device);
        inner->ops->destroy_graph(((fault_graph *)base)->inner);
        fault_count_object((fault_device *)base->device, -1);
        free(base);
    }
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
    .begin_graph = queue_begin_graph,
    .end_graph = queue_end_graph,
    .run_graph = queue_run_graph,
};

hr_status fault_create_queue(hri_device *device, bool urgent, hri_queue **out)
{
    hri_device *inner = fault_inner_device(device);
    hr_status status = fault_enter(device, FAULT_CREATE_QUEUE);
    if (status != HR_OK) {
        return status;
    }
    fault_queue *queue = calloc(1, sizeof *queue);
    if (queue == NULL) {
        return hri_fail(HR_ERROR_OUT_OF_MEMORY, "fault backend: out of memory");
    }
    status = inner->ops->create_queue(inner, urgent, &queue->inner);
    if (status != HR_OK) {
        free(queue);
        return status;
    }
    queue->base = (hri_queue){.ops = &queue_ops, .device = device};
    fault_count_object((fault_device *)device, 1);
    *out = &queue->base;
    return HR_OK;
}

static hr_status raise_event(fault_event *event)
{
    pthread_mutex_lock(&fault_lock);
    hr_status status = hri_error_raise(&event->error);
    pthread_mutex_unlock(&fault_lock);
    return status;
}

static hr_status event_query(hri_event *base, bool *done)
{
    fault_event *event = (fault_event *)base;
    bool is_done = false;
    hr_status status = fault_enter(base->device, FAULT_EVENT_QUERY);
    if (status == HR_OK) {
        status = event->inner->ops->query(event->inner, &is_done);
    }
    if (status == HR_OK && is_done) {
        status = raise_event(event);
    }
    if (status == HR_OK) {
        *done = is_done;
    }
    return status;
}

static hr_status event_wait(hri_event *base)
{
    fault_event *event = (fault_event *)base;
    hr_status inner = event->inner->ops->wait(event->inner);
    hr_status status = fault_enter(base->device, FAULT_EVENT_WAIT);
    if (status == HR_OK) {
        status = raise_event(event);
    }
    return status != HR_OK ? status : inner;
}

static hr_status event_elapsed(hri_event *from_base, hri_event *to_base,
                               uint64_t *ns)
{
    hri_event *from = ((fault_event *)from_base)->inner;
    hri_event *to = ((fault_event *)to_base)->inner;
    hr_status status = fault_enter(from_base->device, FAULT_EVENT_ELAPSED);
    if (status == HR_OK && from_base->device != to_base->device) {
        status = fault_breach("a time between events of two devices");
    }
    if (status == HR_OK) {
        status = from->ops->elapsed(from, to, ns);
    }
    const uint64_t time = fault_time((fault_device *)from_base->device);
    if (status == HR_OK && time > 0) {
        *ns = time;
    }
    return status;
}

static void event_destroy(hri_event *base)
{
    fault_event *event = (fault_event *)base;
    fault_note(FAULT_DESTROY_EVENT);
    if (event != NULL) {
        bool done = true;
        if (event->inner->ops->query(event->inner, &done) == HR_OK && !done) {
            (void)fault_breach("an event is destroyed before it is complete");
        }
        event->inner->ops->destroy(event->inner);
        fault_count_object((fault_device *)base->device, -1);
        free(event);
    }
}

static const hri_event_ops event_ops = {
    .destroy = event_destroy,
    .query = event_query,
    .wait = event_wait,
    .elapsed = event_elapsed,
};

hr_status fault_create_event(hri_device *device, bool timed, hri_event **out)
{
    hri_device *inner = fault_inner_device(device);
    hr_status status = fault_enter(device, FAULT_CREATE_EVENT);
    if (status != HR_OK) {
        return status;
    }
    fault_event *event = calloc(1, sizeof *event);
    if (event == NULL) {
        return hri_fail(HR_ERROR_OUT_OF_MEMORY, "fault backend: out of memory");
    }
    status = inner->ops->create_event(inner, timed, &event->inner);
    if (status != HR_OK) {
        free(event);
        return status;
    }
    event->base = (hri_event){.ops = &event_ops, .device = device};
    fault_count_object((fault_device *)device, 1);
    *out = &event->base;
    return HR_OK;
}
