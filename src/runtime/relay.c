/* SPDX-License-Identifier: MIT */
/* Queues of relays. */
#include "runtime/relay.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/stage.h"

enum {
    LEAST_STAGED_BYTES = 1 << 20, /* fewer are not worth waking a crew */
    MOST_TAKEN_BYTES = 64 << 10   /* of ordinary memory, that drivers take along
                                     without holding the caller */
};

typedef struct note note;

/* As long as there are notes, inner and error belong to the thread, else to the
 * caller. */
typedef struct relay_queue {
    hri_queue base; /* first: see hri_queue */
    hri_accelerator *accelerator;
    hri_queue *inner;
    hri_error error;    /* of what was noted */
    hri_thread *thread; /* NULL: nothing has been noted yet */
    note *first, *last; /* guarded by relay.lock */
    bool closed;        /* likewise: no more is noted */
} relay_queue;

/* What has yet to be handed on. */
struct note {
    note *next;
    hr_status (*run)(relay_queue *queue, const note *note);
    void (*finish)(const note *note); /* NULL: there is nothing to give back */
    hri_copy copy;
    bool staged; /* the copy wants a crew */
    hri_launch launch;
    hri_point *point; /* held */
};

static hri_relay *relay_of(const relay_queue *queue)
{
    return &queue->accelerator->relay;
}

static bool is_idle(const relay_queue *queue)
{
    pthread_mutex_lock(&relay_of(queue)->lock);
    bool idle = queue->first == NULL;
    pthread_mutex_unlock(&relay_of(queue)->lock);
    return idle;
}

/* ---- the thread */

/* What comes after a failure would work on what never came. */
static void run_first(relay_queue *queue, note *n)
{
    hri_error_keep(&queue->error, n->run(queue, n));
    pthread_mutex_lock(&relay_of(queue)->lock);
    queue->first = n->next;
    pthread_cond_broadcast(&relay_of(queue)->changed);
    pthread_mutex_unlock(&relay_of(queue)->lock);
    if (n->finish != NULL) {
        n->finish(n);
    }
    free(n);
}

static note *wait_for_note(relay_queue *queue)
{
    hri_relay *relay = relay_of(queue);
    pthread_mutex_lock(&relay->lock);
    while (queue->first == NULL && !queue->closed) {
        pthread_cond_wait(&relay->changed, &relay->lock);
    }
    note *n = queue->first;
    pthread_mutex_unlock(&relay->lock);
    return n;
}

static void *queue_main(void *argument)
{
    relay_queue *queue = argument;
    note *n;
    while ((n = wait_for_note(queue)) != NULL) {
        run_first(queue, n);
    }
    return NULL;
}

/* Where the system refuses a thread the caller does the work. */
static void add(relay_queue *queue, note *n)
{
    hri_relay *relay = relay_of(queue);
    pthread_mutex_lock(&relay->lock);
    if (queue->first == NULL) {
        queue->first = n;
    } else {
        queue->last->next = n;
    }
    queue->last = n;
    pthread_cond_broadcast(&relay->changed);
    if (queue->thread == NULL) {
        queue->thread =
            hri_threads_start(&queue->accelerator->threads, queue_main, queue);
    }
    bool alone = queue->thread == NULL;
    pthread_mutex_unlock(&relay->lock);
    if (alone) {
        run_first(queue, n);
    }
}

static void drain(relay_queue *queue)
{
    hri_relay *relay = relay_of(queue);
    pthread_mutex_lock(&relay->lock);
    while (queue->first != NULL) {
        pthread_cond_wait(&relay->changed, &relay->lock);
    }
    pthread_mutex_unlock(&relay->lock);
}

/* A note with room for so many bytes behind it; NULL: *status says why. */
static note *make_note(const relay_queue *queue, size_t bytes,
                       hr_status (*run)(relay_queue *queue, const note *note),
                       hr_status *status)
{
    note *n = calloc(1, sizeof *n + bytes);
    *status = n != NULL ? HR_OK
                        : hri_fail(HR_ERROR_OUT_OF_MEMORY,
                                   "%s: no memory to enqueue anything",
                                   queue->accelerator->path);
    if (n != NULL) {
        n->run = run;
    }
    return n;
}

/* ---- copies */

static size_t bytes_of(const hri_copy *copy)
{
    return copy->width * copy->height * copy->depth;
}

/* Whether the driver may hold up who enqueues the copy. Buffers of an emulated
 * device lie in host memory: pinned memory would be a detour. */
static bool holds(const relay_queue *queue, const hri_copy *c)
{
    hri_device *device = queue->base.device;
    const bool up = c->from.buffer == NULL;
    if ((!up && c->to.buffer != NULL) || !device->info.staged ||
        device->info.emulated || bytes_of(c) == 0 ||
        (up && bytes_of(c) <= MOST_TAKEN_BYTES)) {
        return false;
    }
    const hri_place *host = up ? &c->from : &c->to;
    size_t bytes = (c->height - 1) * (up ? c->from_pitch : c->to_pitch) +
                   (c->depth - 1) * (up ? c->from_slice : c->to_slice) +
                   c->width;
    return !device->ops->is_pinned(device, (char *)host->host + host->offset,
                                   bytes);
}

static hr_status run_copy(relay_queue *queue, const note *n)
{
    if (queue->error.status != HR_OK) {
        return HR_OK;
    }
    return n->staged
               ? hri_stage_copy(queue->accelerator, queue->inner, &n->copy)
               : queue->inner->ops->copy(queue->inner, &n->copy);
}

static hr_status queue_copy(hri_queue *base, const hri_copy *copy)
{
    relay_queue *queue = (relay_queue *)base;
    const note now = {.copy = *copy};
    hr_status status;
    bool slow = holds(queue, copy);
    if (!slow && is_idle(queue)) {
        return run_copy(queue, &now);
    }
    note *n = make_note(queue, 0, run_copy, &status);
    if (n != NULL) {
        n->copy = *copy;
        n->staged = slow && bytes_of(copy) >= LEAST_STAGED_BYTES &&
                    queue->accelerator->staging[HRI_UP] != NULL;
        add(queue, n);
    }
    return status;
}

/* ---- launches */

static hr_status run_launch(relay_queue *queue, const note *n)
{
    if (queue->error.status != HR_OK) {
        return HR_OK;
    }
    pthread_mutex_lock(&relay_of(queue)->launches);
    hr_status status = queue->inner->ops->launch(queue->inner, &n->launch);
    pthread_mutex_unlock(&relay_of(queue)->launches);
    return status;
}

static size_t room_for(size_t bytes)
{
    const size_t grain = 16; /* of any value's alignment */
    return (bytes + grain - 1) / grain * grain;
}

/* The launch, its arguments and their values behind a note. */
static void keep_launch(note *n, const hri_launch *launch)
{
    const uint32_t count = launch->kernel->parameter_count;
    hri_kernel_argument *arguments = (hri_kernel_argument *)(void *)(n + 1);
    char *values =
        (char *)(n + 1) + room_for(count * sizeof(hri_kernel_argument));
    n->launch = *launch;
    n->launch.arguments = arguments;
    for (uint32_t i = 0; i < count; i++) {
        arguments[i] = launch->arguments[i];
        if (arguments[i].value != NULL) {
            memcpy(values, arguments[i].value, arguments[i].bytes);
            arguments[i].value = values;
            values += room_for(arguments[i].bytes);
        }
    }
}

static hr_status queue_launch(hri_queue *base, const hri_launch *launch)
{
    relay_queue *queue = (relay_queue *)base;
    const note now = {.launch = *launch};
    const uint32_t count = launch->kernel->parameter_count;
    size_t bytes = room_for(count * sizeof(hri_kernel_argument));
    hr_status status;
    if (is_idle(queue)) {
        return run_launch(queue, &now);
    }
    for (uint32_t i = 0; i < count; i++) {
        const hri_kernel_argument *a = &launch->arguments[i];
        bytes += a->value != NULL ? room_for(a->bytes) : 0;
    }
    note *n = make_note(queue, bytes, run_launch, &status);
    if (n != NULL) {
        keep_launch(n, launch);
        add(queue, n);
    }
    return status;
}

/* ---- events */

static void drop_point(const note *n)
{
    hri_point_drop(n->point);
}

static hr_status record(relay_queue *queue, hri_point *point)
{
    return queue->inner->ops->record(queue->inner, point->inner);
}

static hr_status run_record(relay_queue *queue, const note *n)
{
    hr_status status = record(queue, n->point);
    hri_error_keep(&queue->error, status);
    if (status != HR_OK) { /* nothing goes on that nobody knows of */
        (void)queue->inner->ops->finish(queue->inner);
    }
    hri_point_recorded(n->point, &queue->error);
    return HR_OK;
}

static hr_status queue_record(hri_queue *base, hri_event *event)
{
    relay_queue *queue = (relay_queue *)base;
    hri_relay_event *e = (hri_relay_event *)event;
    bool idle = is_idle(queue);
    hr_status status = HR_OK;
    note *n = idle ? NULL : make_note(queue, 0, run_record, &status);
    if (status == HR_OK) {
        status = hri_point_renew(e, !idle);
    }
    if (status != HR_OK) {
        free(n);
    } else if (idle) {
        status = record(queue, e->point);
        if (queue->error.status != HR_OK) {
            hri_point_recorded(e->point, &queue->error);
        }
    } else {
        n->point = hri_point_of(e);
        n->finish = drop_point;
        add(queue, n);
    }
    return status;
}

/* What comes next would work on what never arrived: the error of the queue
 * waited for becomes this one's. */
static hr_status run_wait(relay_queue *queue, const note *n)
{
    hri_point_await(n->point);
    hr_status status = hri_point_raise(n->point);
    return status == HR_OK
               ? queue->inner->ops->wait(queue->inner, n->point->inner)
               : status;
}

static hr_status queue_wait(hri_queue *base, hri_event *event)
{
    relay_queue *queue = (relay_queue *)base;
    hri_point *point = hri_point_of((hri_relay_event *)event);
    hr_status status;
    if (is_idle(queue) && !hri_point_is_noted(point)) {
        status = hri_point_raise(point);
        if (status == HR_OK) {
            status = queue->inner->ops->wait(queue->inner, point->inner);
        } else { /* later */
            hri_error_keep(&queue->error, status);
            status = HR_OK;
        }
        hri_point_drop(point);
        return status;
    }
    note *n = make_note(queue, 0, run_wait, &status);
    if (n != NULL) {
        n->point = point;
        n->finish = drop_point;
        add(queue, n);
    } else {
        hri_point_drop(point);
    }
    return status;
}

/* ---- what no array asks for */

static hr_status decline(const hri_queue *queue, const char *what)
{
    return hri_fail(HR_ERROR_UNSUPPORTED, "%s: queues of arrays do not %s",
                    queue->device->info.path, what);
}

static hr_status no_fill(hri_queue *queue, hri_buffer *buffer, size_t offset,
                         size_t bytes, uint8_t value)
{
    (void)buffer, (void)offset, (void)bytes, (void)value;
    return decline(queue, "fill");
}

static hr_status no_gemm(hri_queue *queue, const hri_gemm *gemm)
{
    (void)gemm;
    return decline(queue, "multiply");
}

static hr_status no_turn(hri_queue *queue, const hri_turn *turn)
{
    (void)turn;
    return decline(queue, "turn");
}

/* ---- the queue */

static hr_status queue_finish(hri_queue *base)
{
    relay_queue *queue = (relay_queue *)base;
    drain(queue);
    hr_status status = queue->inner->ops->finish(queue->inner);
    return queue->error.status != HR_OK ? hri_error_raise(&queue->error)
                                        : status;
}

static void queue_destroy(hri_queue *base)
{
    relay_queue *queue = (relay_queue *)base;
    if (queue == NULL) {
        return;
    }
    pthread_mutex_lock(&relay_of(queue)->lock);
    queue->closed = true;
    pthread_cond_broadcast(&relay_of(queue)->changed);
    pthread_mutex_unlock(&relay_of(queue)->lock);
    if (queue->thread != NULL) {
        hri_thread_join(queue->thread);
    }
    queue->inner->ops->destroy(queue->inner);
    free(queue);
}

/* ---- graphs, which come behind all that has been noted */

static hr_status queue_begin_graph(hri_queue *base)
{
    relay_queue *queue = (relay_queue *)base;
    drain(queue);
    return queue->inner->ops->begin_graph(queue->inner);
}

static hr_status queue_end_graph(hri_queue *base, hri_graph **graph)
{
    relay_queue *queue = (relay_queue *)base;
    return queue->inner->ops->end_graph(queue->inner, graph);
}

static hr_status queue_run_graph(hri_queue *base, hri_graph *graph)
{
    relay_queue *queue = (relay_queue *)base;
    drain(queue);
    return queue->error.status == HR_OK
               ? queue->inner->ops->run_graph(queue->inner, graph)
               : HR_OK;
}

static const hri_queue_ops queue_ops = {
    .destroy = queue_destroy,
    .copy = queue_copy,
    .fill = no_fill,
    .gemm = no_gemm,
    .turn = no_turn,
    .launch = queue_launch,
    .begin_graph = queue_begin_graph,
    .end_graph = queue_end_graph,
    .run_graph = queue_run_graph,
    .record = queue_record,
    .wait = queue_wait,
    .finish = queue_finish,
};

hr_status hri_relay_queue_create(hri_accelerator *accelerator, bool urgent,
                                 hri_queue **out)
{
    hri_device *device = accelerator->device;
    relay_queue *queue = calloc(1, sizeof *queue);
    if (queue == NULL) {
        return hri_fail(HR_ERROR_OUT_OF_MEMORY, "%s: no memory for a queue",
                        accelerator->path);
    }
    hr_status status = device->ops->create_queue(device, urgent, &queue->inner);
    if (status != HR_OK) {
        free(queue);
        return status;
    }
    queue->base = (hri_queue){.ops = &queue_ops, .device = device};
    queue->accelerator = accelerator;
    *out = &queue->base;
    return HR_OK;
}
