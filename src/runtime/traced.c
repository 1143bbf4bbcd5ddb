/* SPDX-License-Identifier: MIT */
/* Devices and queues that are traced: their tables of functions are replaced by
 * the ones here, which call the old ones. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/format.h"
#include "base/matrix.h"
#include "hal/backend.h"
#include "runtime/trace.h"

enum {
    READY = 512,    /* events that a track makes at once: drivers take long */
    CAPACITY = 8192 /* commands that it keeps at most before it waits */
};

struct hri_traced {
    hri_traced *next;
    hri_trace *trace;
    uint32_t process;
    const hri_device_ops *ops; /* the device's own */
    hri_device_ops replaced;
    pthread_mutex_t lock; /* guards the list of tracks */
    hri_track *tracks;
    uint32_t made; /* tracks so far */
};

/* All traced devices. The lock is taken before those of devices. */
static pthread_mutex_t devices_lock = PTHREAD_MUTEX_INITIALIZER;
static hri_traced *devices;

/* A command of a queue, between two events. */
typedef struct command {
    hri_span span;
    hri_event *begin, *end;
    bool follows; /* begin is the end of the command before, whose it is */
} command;

/* A queue. Its calls come one at a time. */
struct hri_track {
    hri_track *next;
    hri_queue *queue;
    const hri_queue_ops *ops; /* the queue's own */
    uint32_t thread;
    bool graph;           /* commands are kept for a graph, and do not run */
    pthread_mutex_t lock; /* guards what follows, and blocks */
    hri_event *base;      /* has been passed */
    uint64_t base_ns;     /* then, by hri_clock_ns */
    uint64_t end_ns;      /* of the last bar */
    command *commands;    /* [CAPACITY] a ring */
    uint32_t first, count;
    hri_event **events; /* [2 CAPACITY + 2] idle ones */
    uint32_t idle;
};

/* ---- events */

static hr_status take_event(hri_track *l, hri_event **event)
{
    *event = NULL;
    pthread_mutex_lock(&l->lock);
    if (l->idle > 0) {
        *event = l->events[--l->idle];
    }
    pthread_mutex_unlock(&l->lock);
    hri_device *device = l->queue->device;
    return *event != NULL ? HR_OK
                          : device->ops->create_event(device, true, event);
}

/* The lock is held. */
static void give_event(hri_track *l, hri_event *event)
{
    if (event != NULL) {
        l->events[l->idle++] = event;
    }
}

static void give_events(hri_track *l, const command *c)
{
    pthread_mutex_lock(&l->lock);
    give_event(l, c->follows ? NULL : c->begin);
    give_event(l, c->end);
    pthread_mutex_unlock(&l->lock);
}

/* ---- commands that have run */

static bool has_run(const command *c, bool patient)
{
    bool done = false;
    if (patient) {
        (void)c->end->ops->wait(c->end);
    }
    (void)c->end->ops->query(c->end, &done);
    return done || patient;
}

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* Write the first command, whose events have been passed. */
static void write_first(hri_track *l)
{
    enum { BRIEF_NS = 2000, LONG_NS = 500000000 };
    command *c = &l->commands[l->first];
    const hri_traced *t = l->queue->device->traced;
    uint64_t before = 0, after = 0;
    if (c->begin->ops->elapsed(l->base, c->begin, &before) == HR_OK &&
        c->end->ops->elapsed(l->base, c->end, &after) == HR_OK) {
        /* a queue does one command after the other, but clocks are rounded */
        c->span.begin_ns = later(l->base_ns + before, l->end_ns);
        c->span.end_ns = later(l->base_ns + after, c->span.begin_ns);
        l->end_ns = c->span.end_ns;
        if (c->span.kind != HRI_TRACE_WAIT ||
            c->span.end_ns - c->span.begin_ns > BRIEF_NS) {
            hri_trace_write(t->trace, t->process, l->thread, &c->span);
        }
        if (before > LONG_NS) { /* drivers count with few digits */
            hri_event *base = l->base;
            l->base = c->begin;
            l->base_ns += before;
            c->begin = base;
        }
    }
    give_event(l, c->begin);
    l->first = (l->first + 1) % CAPACITY;
    l->count--;
    command *next = &l->commands[l->first];
    if (l->count > 0 && next->follows) {
        next->follows = false; /* the event is its own now */
    } else {
        give_event(l, c->end);
    }
}

/* Write the commands that have run; with `all` wait for the others. Errors
 * belong to whoever waits for the queue: this thread's message stays. */
static void write_commands(hri_track *l, bool all)
{
    hri_error kept = {0};
    hri_error_keep(&kept, HR_ERROR_BACKEND);
    pthread_mutex_lock(&l->lock);
    while (l->count > 0 &&
           has_run(&l->commands[l->first], all || l->count == CAPACITY)) {
        write_first(l);
    }
    pthread_mutex_unlock(&l->lock);
    (void)hri_error_raise(&kept);
}

/* ---- commands that are enqueued */

/* The end of the last command, if that has not been passed yet: then the next
 * one begins there. Events between copies cost a link some of its rate. */
static hri_event *last_end(hri_track *l)
{
    hri_event *event = NULL;
    bool done = true;
    pthread_mutex_lock(&l->lock);
    if (l->count > 0) {
        event = l->commands[(l->first + l->count - 1) % CAPACITY].end;
        if (event->ops->query(event, &done) != HR_OK) {
            done = true;
        }
    }
    pthread_mutex_unlock(&l->lock);
    return done ? NULL : event;
}

/* Make sure that an event is before a command. False: the command is not
 * traced. */
static bool begin(hri_track *l, command *c)
{
    if (l->idle < 2 || l->count == CAPACITY) {
        write_commands(l, false); /* which gives events back */
    }
    c->end = NULL;
    c->begin = l->graph ? NULL : last_end(l);
    c->follows = c->begin != NULL;
    if (l->graph || (!c->follows && take_event(l, &c->begin) != HR_OK)) {
        return false;
    }
    if (take_event(l, &c->end) != HR_OK ||
        (!c->follows && l->ops->record(l->queue, c->begin) != HR_OK)) {
        give_events(l, c);
        return false;
    }
    return true;
}

/* Record the event behind it, if the command was enqueued. */
static hr_status end(hri_track *l, command *c, bool began, hr_status status)
{
    if (!began) {
        return status;
    }
    if (status != HR_OK || l->ops->record(l->queue, c->end) != HR_OK) {
        hri_error kept = {0};
        hri_error_keep(&kept, HR_ERROR_BACKEND);
        (void)c->begin->ops->wait(c->begin);
        (void)hri_error_raise(&kept);
        give_events(l, c);
        return status;
    }
    pthread_mutex_lock(&l->lock);
    l->commands[(l->first + l->count++) % CAPACITY] = *c;
    pthread_mutex_unlock(&l->lock);
    return status;
}

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
    command c = {.span = {.kind = kind_of(copy),
                          .bytes = copy->width * copy->height * copy->depth}};
    hri_format(c.span.name, sizeof c.span.name,
               copy->height > 1 || copy->depth > 1 ? "copy %zu x %zu B"
                                                   : "copy",
               copy->height * copy->depth, copy->width);
    const bool began = begin(l, &c);
    return end(l, &c, began, l->ops->copy(queue, copy));
}

static hr_status traced_fill(hri_queue *queue, hri_buffer *buffer,
                             size_t offset, size_t bytes, uint8_t value)
{
    hri_track *l = queue->track;
    command c = {
        .span = {.kind = HRI_TRACE_INSIDE, .name = "fill", .bytes = bytes}};
    const bool began = begin(l, &c);
    return end(l, &c, began, l->ops->fill(queue, buffer, offset, bytes, value));
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
    command c = {.span = span_of_gemm(gemm)};
    const bool began = begin(l, &c);
    return end(l, &c, began, l->ops->gemm(queue, gemm));
}

static hr_status traced_pack(hri_queue *queue, const hri_pack *pack)
{
    hri_track *l = queue->track;
    command c = {.span = {.kind = HRI_TRACE_COMPUTE,
                          .name = "pack",
                          .bytes = (uint64_t)(pack->rows * pack->cols) *
                                   hr_type_size(pack->type)}};
    const bool began = begin(l, &c);
    return end(l, &c, began, l->ops->pack(queue, pack));
}

static hr_status traced_launch(hri_queue *queue, const hri_launch *launch)
{
    hri_track *l = queue->track;
    command c = {.span = {.kind = HRI_TRACE_COMPUTE}};
    hri_format(c.span.name, sizeof c.span.name, "%.60s", launch->kernel->name);
    const bool began = begin(l, &c);
    return end(l, &c, began, l->ops->launch(queue, launch));
}

static hr_status traced_wait(hri_queue *queue, hri_event *event)
{
    hri_track *l = queue->track;
    command c = {.span = {.kind = HRI_TRACE_WAIT, .name = "wait"}};
    const bool began = begin(l, &c);
    return end(l, &c, began, l->ops->wait(queue, event));
}

static hr_status traced_run_graph(hri_queue *queue, hri_graph *graph)
{
    hri_track *l = queue->track;
    command c = {.span = {.kind = HRI_TRACE_COMPUTE, .name = "graph"}};
    const bool began = begin(l, &c);
    return end(l, &c, began, l->ops->run_graph(queue, graph));
}

static hr_status traced_begin_graph(hri_queue *queue)
{
    hri_track *l = queue->track;
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
    return queue->track->ops->record(queue, event);
}

static hr_status traced_finish(hri_queue *queue)
{
    return queue->track->ops->finish(queue);
}

/* ---- tracks */

/* All commands have run. */
static void free_track(hri_track *l)
{
    if (l->base != NULL) {
        l->base->ops->destroy(l->base);
    }
    for (uint32_t i = 0; i < l->idle; i++) {
        l->events[i]->ops->destroy(l->events[i]);
    }
    pthread_mutex_destroy(&l->lock);
    free(l->commands);
    free(l->events);
    free(l);
}

static void forget_track(hri_traced *t, const hri_track *l)
{
    pthread_mutex_lock(&t->lock);
    hri_track **place = &t->tracks;
    while (*place != l) {
        place = &(*place)->next;
    }
    *place = l->next;
    pthread_mutex_unlock(&t->lock);
}

static void traced_destroy(hri_queue *queue)
{
    if (queue == NULL) {
        return;
    }
    hri_track *l = queue->track;
    (void)l->ops->finish(queue);
    write_commands(l, true);
    forget_track(queue->device->traced, l);
    queue->ops = l->ops;
    queue->track = NULL;
    free_track(l);
    queue->ops->destroy(queue);
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

/* Note when an event is passed by the host's clock, and make others. */
static hr_status prepare(hri_track *l)
{
    hr_status status = take_event(l, &l->base);
    for (int i = 0; i < 2 && status == HR_OK; i++) { /* the first may be slow */
        status = l->ops->record(l->queue, l->base);
        if (status == HR_OK) {
            status = l->base->ops->wait(l->base);
        }
        l->base_ns = hri_clock_ns();
    }
    hri_device *device = l->queue->device;
    while (status == HR_OK && l->idle < READY) {
        status = device->ops->create_event(device, true, &l->events[l->idle]);
        l->idle += status == HR_OK;
    }
    return status;
}

hr_status hri_traced_queue(hri_queue *queue)
{
    hri_traced *t = queue->device->traced;
    hri_track *l = calloc(1, sizeof *l);
    if (l == NULL) {
        return hri_no_memory_for(queue->device->info.path, "a timeline");
    }
    l->queue = queue;
    l->ops = queue->ops;
    pthread_mutex_init(&l->lock, NULL);
    l->commands = calloc(CAPACITY, sizeof *l->commands);
    l->events = calloc(2 * CAPACITY + 2, sizeof *l->events);
    hr_status status =
        l->commands != NULL && l->events != NULL
            ? prepare(l)
            : hri_no_memory_for(queue->device->info.path, "a timeline");
    if (status != HR_OK) {
        free_track(l);
        return status;
    }
    char name[32];
    pthread_mutex_lock(&t->lock);
    hri_format(name, sizeof name, "queue %u", ++t->made);
    l->next = t->tracks;
    t->tracks = l;
    pthread_mutex_unlock(&t->lock);
    l->thread = hri_trace_thread(t->trace, t->process, name);
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

static hr_status traced_gemm_now(hri_device *device, const hri_gemm *gemm)
{
    hri_span span = span_of_gemm(gemm);
    span.begin_ns = hri_clock_ns();
    const hr_status status = device->traced->ops->gemm_now(device, gemm);
    hri_trace_here(device->traced->trace, &span);
    return status;
}

hr_status hri_traced_begin(hri_device *device, hri_trace *trace,
                           const char *path)
{
    hri_traced *t = calloc(1, sizeof *t);
    if (t == NULL) {
        return hri_no_memory_for(path, "a timeline");
    }
    char name[256];
    hri_format(name, sizeof name, "%s: %s", path, device->info.name);
    t->trace = trace;
    t->process = hri_trace_process(trace, name);
    t->ops = device->ops;
    t->replaced = *device->ops;
    t->replaced.create_queue = traced_create_queue;
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
    return HR_OK;
}

void hri_traced_end(hri_device *device)
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
        hri_track *l = t->tracks;
        (void)l->ops->finish(l->queue);
        write_commands(l, true);
        t->tracks = l->next;
        l->queue->ops = l->ops;
        l->queue->track = NULL;
        free_track(l);
    }
    device->ops = t->ops;
    device->traced = NULL;
    pthread_mutex_destroy(&t->lock);
    free(t);
}

void hri_traced_write_all(void)
{
    pthread_mutex_lock(&devices_lock);
    for (hri_traced *t = devices; t != NULL; t = t->next) {
        pthread_mutex_lock(&t->lock);
        for (hri_track *l = t->tracks; l != NULL; l = l->next) {
            write_commands(l, false);
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

void hri_traced_here(const hri_device *device, hri_trace_kind kind,
                     const char *what, uint64_t begin_ns, uint64_t bytes)
{
    if (device->traced == NULL) {
        return;
    }
    hri_span span = {.kind = kind, .begin_ns = begin_ns, .bytes = bytes};
    hri_format(span.name, sizeof span.name, "%.60s", what);
    hri_trace_here(device->traced->trace, &span);
}
