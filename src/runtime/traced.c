/* SPDX-License-Identifier: MIT */
/* Devices and queues that are traced: their tables of functions are replaced by
 * the ones here, which call the old ones. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/format.h"
#include "base/matrix.h"
#include "hal/backend.h"
#include "runtime/stamped.h"
#include "runtime/trace.h"
#include "runtime/track.h"

enum { READY = 8192 /* timestamps that a device's driver makes at once */ };

/* All traced devices. The lock is taken before those of devices. */
static pthread_mutex_t devices_lock = PTHREAD_MUTEX_INITIALIZER;
static hri_traced *devices;

static hri_trace_kind kind_of(const hri_copy *copy)
{
    const hri_buffer *to = copy->to.buffer, *from = copy->from.buffer;
    return from == NULL                 ? HRI_TRACE_UP
           : to == NULL                 ? HRI_TRACE_DOWN
           : to->device == from->device ? HRI_TRACE_INSIDE
                                        : HRI_TRACE_PEER;
}

static hr_status traced_copy(hri_queue *queue, const hri_copy *copy)
{
    hri_track *l = queue->track;
    hri_traced_command c = {
        .span = {.kind = kind_of(copy),
                 .bytes = copy->width * copy->height * copy->depth}};
    hri_format(c.span.name, sizeof c.span.name,
               copy->height > 1 || copy->depth > 1 ? "copy %zu x %zu B"
                                                   : "copy",
               copy->height * copy->depth, copy->width);
    if (c.span.kind == HRI_TRACE_PEER &&
        copy->to.buffer->device->traced != NULL) {
        c.span.to = copy->to.buffer->device->traced->process;
    }
    const bool began = hri_track_begin(l, &c);
    return hri_track_end(l, &c, began, l->ops->copy(queue, copy));
}

static hr_status traced_fill(hri_queue *queue, hri_buffer *buffer,
                             size_t offset, size_t bytes, uint8_t value)
{
    hri_track *l = queue->track;
    hri_traced_command c = {
        .span = {.kind = HRI_TRACE_INSIDE, .name = "fill", .bytes = bytes}};
    const bool began = hri_track_begin(l, &c);
    return hri_track_end(l, &c, began,
                         l->ops->fill(queue, buffer, offset, bytes, value));
}

static hri_span span_of_gemm(const hri_gemm *g)
{
    const int64_t count = g->batch.count > 0 ? g->batch.count : 1;
    hri_span s = {.kind = HRI_TRACE_COMPUTE,
                  .flops = hri_product_flops(g->type, g->m, g->n, g->k) *
                           (double)count};
    const int length = hri_format(
        s.name, sizeof s.name, "gemm %s %lldx%lldx%lld", hr_type_name(g->type),
        (long long)g->m, (long long)g->n, (long long)g->k);
    if (count > 1 && length > 0 && (size_t)length < sizeof s.name) {
        hri_format(s.name + length, sizeof s.name - (size_t)length, " %lld of",
                   (long long)count);
    }
    return s;
}

static hr_status traced_gemm(hri_queue *queue, const hri_gemm *gemm)
{
    hri_track *l = queue->track;
    hri_traced_command c = {.span = span_of_gemm(gemm)};
    const bool began = hri_track_begin(l, &c);
    return hri_track_end(l, &c, began, l->ops->gemm(queue, gemm));
}

static hr_status traced_pack(hri_queue *queue, const hri_pack *pack)
{
    hri_track *l = queue->track;
    hri_traced_command c = {
        .span = {.kind = HRI_TRACE_COMPUTE,
                 .name = "pack",
                 .bytes = (uint64_t)(pack->rows * pack->cols) *
                          hr_type_size(pack->type)}};
    const bool began = hri_track_begin(l, &c);
    return hri_track_end(l, &c, began, l->ops->pack(queue, pack));
}

static hr_status traced_launch(hri_queue *queue, const hri_launch *launch)
{
    hri_track *l = queue->track;
    hri_traced_command c = {.span = {.kind = HRI_TRACE_COMPUTE}};
    hri_format(c.span.name, sizeof c.span.name, "%.60s", launch->kernel->name);
    const bool began = hri_track_begin(l, &c);
    return hri_track_end(l, &c, began, l->ops->launch(queue, launch));
}

static hr_status traced_wait(hri_queue *queue, hri_event *event)
{
    hri_track *l = queue->track;
    hri_traced_command c = {.span = {.kind = HRI_TRACE_WAIT, .name = "wait"}};
    const bool stamped = hri_is_stamped(event);
    hri_timestamp *timestamp = stamped ? hri_stamped_keep(event) : NULL;
    if (stamped && event->device == queue->device) { /* of the same clock */
        c.source = hri_timestamp_keep(timestamp);
    }
    const bool began = hri_track_begin(l, &c);
    const hr_status status = hri_track_end(
        l, &c, began, l->ops->wait(queue, stamped ? timestamp->event : event));
    if (stamped) {
        hri_timestamp_drop(&event->device->traced->timestamps, timestamp);
    }
    return status;
}

static hr_status traced_run_graph(hri_queue *queue, hri_graph *graph)
{
    hri_track *l = queue->track;
    hri_traced_command c = {
        .span = {.kind = HRI_TRACE_COMPUTE, .name = "graph"}};
    const bool began = hri_track_begin(l, &c);
    return hri_track_end(l, &c, began, l->ops->run_graph(queue, graph));
}

static hr_status traced_begin_graph(hri_queue *queue)
{
    hri_track *l = queue->track;
    hri_track_leave(l);
    const hr_status status = l->ops->begin_graph(queue);
    l->graph = status == HR_OK;
    return status;
}

static hr_status traced_end_graph(hri_queue *queue, hri_graph **graph)
{
    hri_track *l = queue->track;
    l->graph = false;
    return l->ops->end_graph(queue, graph);
}

static hr_status traced_record(hri_queue *queue, hri_event *event)
{
    hri_track *l = queue->track;
    if (!hri_is_stamped(event)) {
        return l->ops->record(queue, event);
    }
    hri_timestamp *timestamp = NULL;
    const hr_status status =
        hri_track_stamp(l, hri_stamped_is_timed(event), &timestamp);
    if (status == HR_OK) {
        hri_stamped_set(event, timestamp);
        hri_timestamp_drop(&l->of->timestamps, timestamp);
    }
    return status;
}

static hr_status traced_finish(hri_queue *queue)
{
    const hr_status status = queue->track->ops->finish(queue);
    if (status == HR_OK) {
        hri_track_is_over(queue->track);
    }
    return status;
}

/* ---- queues */

/* Give the queue its own table back. */
static void leave_queue(hri_track *l)
{
    hri_traced *t = l->of;
    (void)l->ops->finish(l->queue);
    hri_track_write(l, HRI_TRACK_CAPACITY, true);
    pthread_mutex_lock(&t->lock);
    hri_track **place = &t->tracks;
    while (*place != l) {
        place = &(*place)->next;
    }
    *place = l->next;
    pthread_mutex_unlock(&t->lock);
    l->queue->ops = l->ops;
    l->queue->track = NULL;
    hri_track_free(l);
}

static void traced_destroy(hri_queue *queue)
{
    if (queue != NULL) {
        leave_queue(queue->track);
        queue->ops->destroy(queue);
    }
}

static const hri_queue_ops queue_ops = {.destroy = traced_destroy,
                                        .copy = traced_copy,
                                        .fill = traced_fill,
                                        .gemm = traced_gemm,
                                        .pack = traced_pack,
                                        .launch = traced_launch,
                                        .record = traced_record,
                                        .wait = traced_wait,
                                        .finish = traced_finish,
                                        .begin_graph = traced_begin_graph,
                                        .end_graph = traced_end_graph,
                                        .run_graph = traced_run_graph};

hr_status hri_traced_queue(hri_queue *queue)
{
    hri_traced *t = queue->device->traced;
    hri_track *l = calloc(1, sizeof *l);
    if (l == NULL) {
        return hri_no_memory_for(queue->device->info.path, "a timeline");
    }
    l->queue = queue;
    l->of = t;
    l->ops = queue->ops;
    pthread_mutex_init(&l->lock, NULL);
    l->commands = calloc(HRI_TRACK_CAPACITY, sizeof *l->commands);
    hr_status status =
        l->commands != NULL
            ? hri_track_set_base(l)
            : hri_no_memory_for(queue->device->info.path, "a timeline");
    if (status != HR_OK) {
        hri_track_free(l);
        return status;
    }
    pthread_mutex_lock(&t->lock);
    l->next = t->tracks;
    t->tracks = l;
    pthread_mutex_unlock(&t->lock);
    queue->track = l;
    queue->ops = &queue_ops;
    return HR_OK;
}

/* ---- devices */

static hr_status traced_create_queue(hri_device *device, bool urgent,
                                     hri_queue **queue)
{
    hri_queue *made = NULL;
    hr_status status = device->traced->ops->create_queue(device, urgent, &made);
    if (status == HR_OK) {
        status = hri_traced_queue(made);
        if (status != HR_OK) {
            made->ops->destroy(made);
        }
    }
    if (status == HR_OK) {
        *queue = made;
    }
    return status;
}

static hr_status traced_create_event(hri_device *device, bool timing,
                                     hri_event **event)
{
    return hri_stamped_create(&device->traced->timestamps, timing, event);
}

static hr_status traced_gemm_now(hri_device *device, const hri_gemm *gemm)
{
    const hri_traced *t = device->traced;
    hri_span span = span_of_gemm(gemm);
    span.kind = hri_traced_kind(t, span.kind);
    span.begin_ns = hri_trace_now(t->trace != NULL);
    const hr_status status = t->ops->gemm_now(device, gemm);
    if (t->trace != NULL) {
        hri_trace_here(t->trace, &span);
    }
    return status;
}

/* Replace the device's functions. */
static hr_status wrap(hri_device *device)
{
    hri_traced *t = calloc(1, sizeof *t);
    if (t == NULL) {
        return hri_no_memory_for(device->info.path, "a timeline");
    }
    hri_timestamps_open(&t->timestamps, device);
    t->ops = device->ops;
    t->replaced = *device->ops;
    t->replaced.create_queue = traced_create_queue;
    t->replaced.create_event = traced_create_event;
    if (t->ops->gemm_now != NULL) {
        t->replaced.gemm_now = traced_gemm_now;
    }
    pthread_mutex_init(&t->lock, NULL);
    device->traced = t;
    device->ops = &t->replaced;
    pthread_mutex_lock(&devices_lock);
    t->next = devices;
    devices = t;
    pthread_mutex_unlock(&devices_lock);
    return device->info.host ? HR_OK
                             : hri_timestamps_prepare(&t->timestamps, READY);
}

hr_status hri_traced_begin(hri_device *device, hri_trace *trace,
                           const char *path)
{
    hr_status status = device->traced == NULL ? wrap(device) : HR_OK;
    if (status != HR_OK) {
        return status;
    }
    char name[256];
    hri_format(name, sizeof name, "%s: %s", path, device->info.name);
    hri_traced *t = device->traced;
    t->trace = trace;
    t->process = hri_trace_process(trace, name);
    atomic_store(&t->made, 0);
    for (hri_track *l = t->tracks; l != NULL && status == HR_OK; l = l->next) {
        l->thread = 0; /* of the trace before */
        status = hri_track_set_base(l);
    }
    return status;
}

void hri_traced_end(hri_device *device)
{
    hri_traced *t = device->traced;
    if (t == NULL || t->trace == NULL) {
        return;
    }
    for (hri_track *l = t->tracks; l != NULL; l = l->next) {
        (void)l->ops->finish(l->queue);
        hri_track_write(l, HRI_TRACK_CAPACITY, true);
    }
    t->trace = NULL;
}

void hri_traced_close(hri_device *device)
{
    hri_traced *t = device->traced;
    if (t == NULL) {
        return;
    }
    pthread_mutex_lock(&devices_lock);
    hri_traced **place = &devices;
    while (*place != t) {
        place = &(*place)->next;
    }
    *place = t->next;
    pthread_mutex_unlock(&devices_lock);
    while (t->tracks != NULL) {
        leave_queue(t->tracks);
    }
    device->ops = t->ops;
    device->traced = NULL;
    hri_timestamps_close(&t->timestamps);
    pthread_mutex_destroy(&t->lock);
    free(t);
}

bool hri_traced_write_one(hri_device *device)
{
    hri_traced *t = device->traced;
    bool wrote = false;
    if (pthread_mutex_trylock(&t->lock) == 0) {
        for (hri_track *l = t->tracks; l != NULL && !wrote; l = l->next) {
            wrote = hri_track_write_one(l);
        }
        pthread_mutex_unlock(&t->lock);
    }
    return wrote;
}

void hri_traced_write_all(void)
{
    pthread_mutex_lock(&devices_lock);
    for (hri_traced *t = devices; t != NULL; t = t->next) {
        pthread_mutex_lock(&t->lock);
        for (hri_track *l = t->tracks; l != NULL; l = l->next) {
            hri_track_write(l, HRI_TRACK_CAPACITY, false);
        }
        pthread_mutex_unlock(&t->lock);
    }
    pthread_mutex_unlock(&devices_lock);
}

void hri_traced_call(hr_context *context, const char *name, uint64_t begin_ns,
                     double flops, const char *more)
{
    hri_span span = {.kind = HRI_TRACE_CALL,
                     .begin_ns = begin_ns,
                     .flops = flops,
                     .more = more};
    if (context->trace == NULL) {
        return;
    }
    hri_format(span.name, sizeof span.name, "%.60s", name);
    hri_trace_here(context->trace, &span);
}

bool hri_is_traced(const hri_device *device)
{
    return device->traced != NULL && device->traced->trace != NULL;
}

void hri_traced_here(const hri_device *device, hri_trace_kind kind,
                     const char *what, uint64_t begin_ns, uint64_t bytes)
{
    if (!hri_is_traced(device)) {
        return;
    }
    hri_span span = {.kind = hri_traced_kind(device->traced, kind),
                     .begin_ns = begin_ns,
                     .bytes = bytes};
    hri_format(span.name, sizeof span.name, "%.60s", what);
    hri_trace_here(device->traced->trace, &span);
}

void hri_traced_measure(const hri_device *device)
{
    if (device->traced != NULL) {
        atomic_fetch_add(&device->traced->measuring, 1);
    }
}

void hri_traced_measured(const hri_device *device)
{
    if (device->traced != NULL) {
        atomic_fetch_sub(&device->traced->measuring, 1);
    }
}
