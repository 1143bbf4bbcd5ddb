/* SPDX-License-Identifier: MIT */
#include "trace/traced.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/format.h"
#include "base/matrix.h"
#include "hal/backend.h"
#include "trace/track.h"

enum { READY = 8192 /* timestamps that a device's driver makes at once */ };

/* All traced devices. The lock is taken before those of devices. */
static pthread_mutex_t devices_lock = PTHREAD_MUTEX_INITIALIZER;
static hri_traced *devices;

/* ---- events. Drivers take time for each event, and links stand still for a
 * moment. So where the program records an event directly behind a command, the
 * event takes the timestamp that the timeline has set there. */

/* An event of a traced device, and the timestamp that it holds. */
typedef struct stamped_event {
    hri_event base;
    hri_timestamps *timestamps;
    bool timed;           /* the program measures with the event */
    pthread_mutex_t lock; /* guards timestamp: threads poll events */
    hri_timestamp *timestamp;
} stamped_event;

static void stamped_destroy(hri_event *event)
{
    stamped_event *e = (stamped_event *)event;
    if (e != NULL) {
        hri_timestamp_drop(e->timestamps, e->timestamp);
        pthread_mutex_destroy(&e->lock);
        free(e);
    }
}

/* The event with its timestamp. NULL: it has none, as it was created before its
 * device was traced. */
static stamped_event *stamped_of(hri_event *event)
{
    return event->ops->destroy == stamped_destroy ? (stamped_event *)event
                                                  : NULL;
}

/* The timestamp of an event, which the caller drops. */
static hri_timestamp *keep_timestamp(stamped_event *e)
{
    pthread_mutex_lock(&e->lock);
    hri_timestamp *timestamp = hri_timestamp_keep(e->timestamp);
    pthread_mutex_unlock(&e->lock);
    return timestamp;
}

static hr_status stamped_query(hri_event *event, bool *done)
{
    stamped_event *e = (stamped_event *)event;
    hri_timestamp *timestamp = keep_timestamp(e);
    const hr_status status =
        timestamp->event->ops->query(timestamp->event, done);
    hri_timestamp_drop(e->timestamps, timestamp);
    return status;
}

/* Write bars until there is none to write, or the event is done. */
static hr_status write_until_done(hri_event *event, hri_traced *traced,
                                  bool *done)
{
    HRI_TRY(event->ops->query(event, done));
    while (!*done && hri_traced_write_one(traced)) {
        HRI_TRY(event->ops->query(event, done));
    }
    return HR_OK;
}

/* Bars are made while the thread waits anyway: drivers take a microsecond or
 * two to tell when a command ended. If asking fails, what runs may still use
 * memory of the caller: so it waits, which tells of errors too. */
static hr_status stamped_wait(hri_event *event)
{
    stamped_event *e = (stamped_event *)event;
    hri_timestamp *timestamp = keep_timestamp(e);
    hri_event *own = timestamp->event;
    bool done = false;
    hr_status status = write_until_done(own, event->device->traced, &done);
    if (status != HR_OK || !done) {
        status = own->ops->wait(own);
    }
    hri_timestamp_drop(e->timestamps, timestamp);
    return status;
}

hr_status hri_event_elapsed(hri_event *from, hri_event *to, uint64_t *ns)
{
    hri_event *own[] = {from, to};
    stamped_event *const stamped[] = {stamped_of(from), stamped_of(to)};
    hri_timestamp *timestamps[2] = {NULL, NULL};
    for (int i = 0; i < 2; i++) {
        if (stamped[i] != NULL) {
            timestamps[i] = keep_timestamp(stamped[i]);
            own[i] = timestamps[i]->event;
        }
    }
    const hr_status status = own[0]->ops->elapsed(own[0], own[1], ns);
    for (int i = 0; i < 2; i++) {
        if (stamped[i] != NULL) {
            hri_timestamp_drop(stamped[i]->timestamps, timestamps[i]);
        }
    }
    return status;
}

static const hri_event_ops event_ops = {.destroy = stamped_destroy,
                                        .query = stamped_query,
                                        .wait = stamped_wait,
                                        .elapsed = hri_event_elapsed};

static hr_status traced_create_event(hri_device *device, bool timed,
                                     hri_event **event)
{
    hri_timestamps *timestamps = &device->traced->timestamps;
    stamped_event *e = calloc(1, sizeof *e);
    if (e == NULL) {
        return hri_no_memory_for(device->info.path, "an event");
    }
    e->base = (hri_event){.ops = &event_ops, .device = device};
    e->timestamps = timestamps;
    e->timed = timed;
    const hr_status status = hri_timestamp_make(timestamps, &e->timestamp);
    if (status != HR_OK) {
        free(e);
        return status;
    }
    pthread_mutex_init(&e->lock, NULL);
    *event = &e->base;
    return HR_OK;
}

/* ---- commands */

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
    hri_track *track = queue->track;
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
    hri_track_begin(track, &c);
    return hri_track_end(track, &c, track->ops->copy(queue, copy));
}

static hr_status traced_fill(hri_queue *queue, hri_buffer *buffer,
                             size_t offset, size_t bytes, uint8_t value)
{
    hri_track *track = queue->track;
    hri_traced_command c = {
        .span = {.kind = HRI_TRACE_INSIDE, .name = "fill", .bytes = bytes}};
    hri_track_begin(track, &c);
    return hri_track_end(track, &c,
                         track->ops->fill(queue, buffer, offset, bytes, value));
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
    hri_track *track = queue->track;
    hri_traced_command c = {.span = span_of_gemm(gemm)};
    hri_track_begin(track, &c);
    return hri_track_end(track, &c, track->ops->gemm(queue, gemm));
}

static hr_status traced_pack(hri_queue *queue, const hri_pack *pack)
{
    hri_track *track = queue->track;
    hri_traced_command c = {
        .span = {.kind = HRI_TRACE_COMPUTE,
                 .name = "pack",
                 .bytes = (uint64_t)(pack->rows * pack->cols) *
                          hr_type_size(pack->type)}};
    hri_track_begin(track, &c);
    return hri_track_end(track, &c, track->ops->pack(queue, pack));
}

static hr_status traced_launch(hri_queue *queue, const hri_launch *launch)
{
    hri_track *track = queue->track;
    hri_traced_command c = {.span = {.kind = HRI_TRACE_COMPUTE}};
    hri_format(c.span.name, sizeof c.span.name, "%.60s", launch->kernel->name);
    hri_track_begin(track, &c);
    return hri_track_end(track, &c, track->ops->launch(queue, launch));
}

static hr_status traced_wait(hri_queue *queue, hri_event *event)
{
    hri_track *track = queue->track;
    hri_traced_command c = {.span = {.kind = HRI_TRACE_WAIT, .name = "wait"}};
    stamped_event *stamped = stamped_of(event);
    hri_timestamp *timestamp = NULL;
    if (stamped != NULL) {
        timestamp = keep_timestamp(stamped);
        if (event->device == queue->device) { /* of the same clock */
            c.source = hri_timestamp_keep(timestamp);
        }
        event = timestamp->event;
    }
    hri_track_begin(track, &c);
    const hr_status status =
        hri_track_end(track, &c, track->ops->wait(queue, event));
    if (stamped != NULL) {
        hri_timestamp_drop(stamped->timestamps, timestamp);
    }
    return status;
}

static hr_status traced_run_graph(hri_queue *queue, hri_graph *graph)
{
    hri_track *track = queue->track;
    hri_traced_command c = {
        .span = {.kind = HRI_TRACE_COMPUTE, .name = "graph"}};
    hri_track_begin(track, &c);
    return hri_track_end(track, &c, track->ops->run_graph(queue, graph));
}

static hr_status traced_begin_graph(hri_queue *queue)
{
    hri_track *track = queue->track;
    hri_track_leave(track);
    const hr_status status = track->ops->begin_graph(queue);
    track->graph = status == HR_OK;
    return status;
}

static hr_status traced_end_graph(hri_queue *queue, hri_graph **graph)
{
    hri_track *track = queue->track;
    track->graph = false;
    return track->ops->end_graph(queue, graph);
}

static hr_status traced_record(hri_queue *queue, hri_event *event)
{
    hri_track *track = queue->track;
    stamped_event *stamped = stamped_of(event);
    if (stamped == NULL) {
        return track->ops->record(queue, event);
    }
    hri_timestamp *timestamp = NULL;
    HRI_TRY(hri_track_stamp(track, stamped->timed, &timestamp));
    pthread_mutex_lock(&stamped->lock);
    hri_timestamp *before = stamped->timestamp;
    stamped->timestamp = timestamp;
    pthread_mutex_unlock(&stamped->lock);
    hri_timestamp_drop(stamped->timestamps, before);
    return HR_OK;
}

static hr_status traced_finish(hri_queue *queue)
{
    HRI_TRY(queue->track->ops->finish(queue));
    hri_track_is_over(queue->track);
    return HR_OK;
}

/* ---- queues */

static void finish_track(void *data)
{
    hri_track *track = data;
    (void)track->ops->finish(track->queue);
    hri_track_write(track, HRI_TRACK_CAPACITY, true);
}

/* Give the queue its own table back. */
static void leave_queue(hri_track *track)
{
    hri_traced *t = track->of;
    hri_keep_message(finish_track, track);
    pthread_mutex_lock(&t->lock);
    hri_track **place = &t->tracks;
    while (*place != track) {
        place = &(*place)->next;
    }
    *place = track->next;
    pthread_mutex_unlock(&t->lock);
    track->queue->ops = track->ops;
    track->queue->track = NULL;
    hri_track_free(track);
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
    if (queue->track != NULL) {
        return HR_OK;
    }
    hri_track *track = hri_track_create(t, queue);
    if (track == NULL) {
        return hri_no_memory_for(queue->device->info.path, "a timeline");
    }
    const hr_status status = hri_track_set_base(track);
    if (status != HR_OK) {
        hri_track_free(track);
        return status;
    }
    pthread_mutex_lock(&t->lock);
    track->next = t->tracks;
    t->tracks = track;
    pthread_mutex_unlock(&t->lock);
    queue->track = track;
    queue->ops = &queue_ops;
    return HR_OK;
}

/* ---- devices */

static hr_status traced_create_queue(hri_device *device, bool urgent,
                                     hri_queue **queue)
{
    hri_queue *made = NULL;
    HRI_TRY(device->traced->ops->create_queue(device, urgent, &made));
    const hr_status status = hri_traced_queue(made);
    if (status != HR_OK) {
        made->ops->destroy(made);
        return status;
    }
    *queue = made;
    return HR_OK;
}

static hr_status traced_gemm_now(hri_device *device, const hri_gemm *gemm)
{
    const hri_traced *t = device->traced;
    hri_span span = span_of_gemm(gemm);
    span.kind = hri_traced_kind(t, span.kind);
    span.begin_ns = hri_trace_now(t->trace != NULL);
    const hr_status status = t->ops->gemm_now(device, gemm);
    if (t->trace != NULL) {
        hri_trace_write_here(t->trace, &span);
    }
    return status;
}

/* Write what the queues of all traced devices have done so far, when the
 * process ends. Their drivers are there: this was registered after they were
 * loaded. It comes before the files are completed, which was registered
 * earlier (hri_trace_hold). */
static void write_all(void)
{
    pthread_mutex_lock(&devices_lock);
    for (hri_traced *t = devices; t != NULL; t = t->next) {
        pthread_mutex_lock(&t->lock);
        for (hri_track *track = t->tracks; track != NULL; track = track->next) {
            hri_track_write(track, HRI_TRACK_CAPACITY, false);
        }
        pthread_mutex_unlock(&t->lock);
    }
    pthread_mutex_unlock(&devices_lock);
}

/* Replace the device's functions. */
static hr_status wrap_device(hri_device *device)
{
    static bool registered;
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
    registered = registered || atexit(write_all) == 0;
    t->next = devices;
    devices = t;
    pthread_mutex_unlock(&devices_lock);
    return device->info.host ? HR_OK
                             : hri_timestamps_prepare(&t->timestamps, READY);
}

hr_status hri_traced_begin(hri_device *device, hri_trace *trace,
                           const char *path)
{
    if (device->traced == NULL) {
        HRI_TRY(wrap_device(device));
    }
    char name[256];
    hri_format(name, sizeof name, "%s: %s", path, device->info.name);
    hri_traced *t = device->traced;
    t->trace = trace;
    t->process = hri_trace_process(trace, name);
    atomic_store(&t->made, 0);
    for (hri_track *track = t->tracks; track != NULL; track = track->next) {
        track->thread = 0; /* of the trace before */
        HRI_TRY(hri_track_set_base(track));
    }
    return HR_OK;
}

void hri_traced_end(hri_device *device)
{
    hri_traced *t = device->traced;
    if (t == NULL || t->trace == NULL) {
        return;
    }
    for (hri_track *track = t->tracks; track != NULL; track = track->next) {
        finish_track(track);
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

bool hri_is_traced(const hri_device *device)
{
    return device->traced != NULL && device->traced->trace != NULL;
}

void hri_traced_write_here(const hri_device *device, hri_trace_kind kind,
                           const char *what, uint64_t begin_ns, uint64_t bytes)
{
    if (!hri_is_traced(device)) {
        return;
    }
    hri_span span = {.kind = hri_traced_kind(device->traced, kind),
                     .begin_ns = begin_ns,
                     .bytes = bytes};
    hri_format(span.name, sizeof span.name, "%.60s", what);
    hri_trace_write_here(device->traced->trace, &span);
}

void hri_traced_begin_measuring(const hri_device *device)
{
    if (device->traced != NULL) {
        atomic_fetch_add(&device->traced->measuring, 1);
    }
}

void hri_traced_end_measuring(const hri_device *device)
{
    if (device->traced != NULL) {
        atomic_fetch_sub(&device->traced->measuring, 1);
    }
}
