/* SPDX-License-Identifier: MIT */
/* Queues and their events, see host.h. */
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "backends/host/arithmetic.h"
#include "backends/host/host.h"
#include "base/clock.h"
#include "base/threads.h"

typedef struct host_queue host_queue;
typedef struct host_event host_event;

/* A record of an event: record `number` of a queue, from 1 on. */
typedef struct host_record {
    host_queue *of;
    uint64_t number;
} host_record;

struct host_event {
    hri_event base;           /* first: see hri_event */
    _Atomic uint32_t holders; /* its owner, and commands that record it */
    pthread_mutex_t lock;     /* guards what follows */
    host_record last;         /* its queue is held; number 0: never recorded */
    uint64_t time_ns;         /* when the last record was passed */
};

typedef enum command_kind {
    COMMAND_COPY,
    COMMAND_FILL,
    COMMAND_GEMM,
    COMMAND_PACK,
    COMMAND_LAUNCH,
    COMMAND_RECORD,
    COMMAND_WAIT
} command_kind;

typedef struct host_command {
    command_kind kind;
    union {
        hri_copy copy;
        struct {
            unsigned char *start;
            size_t bytes;
            uint8_t value;
        } fill;
        hri_gemm gemm;
        hri_pack pack;
        host_launch *launch;
        host_record wait; /* its queue is held */
        struct {
            host_event *event; /* held */
            host_record record;
        } record;
    } as;
} host_command;

struct host_queue {
    hri_queue base;           /* first: see hri_queue */
    _Atomic uint32_t holders; /* its owner, and events recorded on it */
    host_runnable runnable;
    host_place place;     /* in the line */
    bool is_served;       /* it has a place, and its turn when it goes on; only
                             what runs the queue looks */
    host_queue *next;     /* of those that wait for records of the same queue,
                             whose lock guards it */
    uint64_t awaited;     /* the record that it waits for; guarded like next */
    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t idle, progress;
    host_queue *waiting; /* the queues that wait for records of this one */
    host_command *ring;  /* count commands from head on; the rest is free. The
                            first stays until it has run */
    size_t capacity, head, count;
    bool active;       /* a thread runs it or will */
    uint64_t recorded; /* how many records it has been given */
    uint64_t passed;   /* the number of the last record that has run */
    uint64_t wanted;   /* the least record that is waited for; UINT64_MAX:
                          none */
    uint64_t failed;   /* the first record behind the error; 0: there is none */
    hri_error error;   /* of the first operation that failed; only the
                          thread that runs the queue writes it, and reads it
                          without the lock */
};

enum { FIRST_CAPACITY = 32 };

/* Hold a queue while its records are looked at. NULL is accepted, also by
 * release_queue. */
static void hold_queue(host_queue *queue)
{
    if (queue != NULL) {
        atomic_fetch_add(&queue->holders, 1);
    }
}

static void release_queue(host_queue *queue)
{
    if (queue == NULL || atomic_fetch_sub(&queue->holders, 1) > 1) {
        return;
    }
    pthread_cond_destroy(&queue->progress);
    pthread_cond_destroy(&queue->idle);
    pthread_mutex_destroy(&queue->lock);
    free(queue->ring);
    free(queue);
}

/* ---- records of events */

/* Make this the event's last record. The event is held until the record has
 * run. */
static void set_record(host_event *event, host_record record)
{
    hold_queue(record.of);
    atomic_fetch_add(&event->holders, 1);
    pthread_mutex_lock(&event->lock);
    host_queue *old = event->last.of;
    event->last = record;
    pthread_mutex_unlock(&event->lock);
    release_queue(old);
}

/* The event's last record, with its queue held for the caller. number 0: never
 * recorded. */
static host_record get_record(host_event *event)
{
    pthread_mutex_lock(&event->lock);
    const host_record record = event->last;
    hold_queue(record.of);
    pthread_mutex_unlock(&event->lock);
    return record;
}

static void release_event(host_event *event)
{
    if (atomic_fetch_sub(&event->holders, 1) == 1) {
        release_queue(event->last.of);
        pthread_mutex_destroy(&event->lock);
        free(event);
    }
}

/* The queue has passed that record of the event. */
static void pass_record(host_event *event, host_record record)
{
    pthread_mutex_lock(&event->lock);
    if (event->last.of == record.of && event->last.number == record.number) {
        event->time_ns = hri_clock_ns();
    }
    pthread_mutex_unlock(&event->lock);
    release_event(event);
}

/* ---- records that have been passed */

/* Let queues go on that wait for the record, or for earlier ones. The lock is
 * held. */
static void resume_waiting(host_queue *queue, uint64_t number)
{
    for (host_queue **at = &queue->waiting; *at != NULL;) {
        host_queue *one = *at;
        if (one->awaited > number) {
            at = &one->next;
        } else {
            *at = one->next;
            hri_host_run_soon(&one->runnable, false);
        }
    }
}

/* Note that a record has been passed. Threads that wait for later records are
 * not woken. The lock is held. */
static void pass(host_queue *queue, uint64_t number)
{
    queue->passed = number;
    if (queue->error.status != HR_OK && queue->failed == 0) {
        queue->failed = number;
    }
    if (number >= queue->wanted) {
        queue->wanted = UINT64_MAX;
        pthread_cond_broadcast(&queue->progress);
    }
    resume_waiting(queue, number);
}

/* Let the queue wait for the record. False: it has been passed. Else another
 * thread may run the queue from now on. */
static bool wait_for_record(host_queue *queue, host_record record)
{
    host_queue *of = record.of;
    pthread_mutex_lock(&of->lock);
    const bool waits = of->passed < record.number;
    if (waits) {
        queue->awaited = record.number;
        queue->next = of->waiting;
        of->waiting = queue;
    }
    pthread_mutex_unlock(&of->lock);
    return waits;
}

/* ---- running commands */

/* The error of a queue that failed before this record, which has been passed.
 * The queue's lock is held. */
static hr_status error_before(host_queue *queue, uint64_t number)
{
    return queue->failed != 0 && number >= queue->failed
               ? hri_error_raise(&queue->error)
               : HR_OK;
}

/* The error of the queue that was waited for becomes that of the one that
 * waited: later work would read what never arrived. Releases the record's
 * queue. */
static hr_status take_over_error(host_record record)
{
    pthread_mutex_lock(&record.of->lock);
    const hr_status status = error_before(record.of, record.number);
    pthread_mutex_unlock(&record.of->lock);
    release_queue(record.of);
    return status;
}

static hr_status run_command(host_queue *queue, const host_command *command)
{
    switch (command->kind) {
    case COMMAND_COPY:
        hri_host_copy(hri_host_pool(queue->base.device), &command->as.copy);
        break;
    case COMMAND_FILL:
        memset(command->as.fill.start, command->as.fill.value,
               command->as.fill.bytes);
        break;
    case COMMAND_GEMM:
        return hri_host_gemm(hri_host_pool(queue->base.device),
                             &command->as.gemm);
    case COMMAND_PACK:
        hri_host_gemm_pack(hri_host_pool(queue->base.device),
                           &command->as.pack);
        break;
    case COMMAND_LAUNCH:
        hri_host_launch_run(command->as.launch);
        break;
    case COMMAND_RECORD:
        pass_record(command->as.record.event, command->as.record.record);
        break;
    case COMMAND_WAIT:
        return take_over_error(command->as.wait);
    }
    return HR_OK;
}

/* Tell whether a command takes a turn in the line. */
static bool is_exclusive(const host_command *command)
{
    return command->kind == COMMAND_GEMM ||
           (command->kind == COMMAND_COPY &&
            hri_host_copy_is_long(&command->as.copy));
}

/* Whether the queue has to wait before this command. Then another thread may
 * run it from now on. */
static bool must_wait(host_queue *queue, const host_command *command)
{
    switch (command->kind) {
    case COMMAND_WAIT:
        return wait_for_record(queue, command->as.wait);
    default:
        if (!queue->is_served && is_exclusive(command)) {
            queue->is_served = true; /* when it goes on */
            return !hri_host_line_enter(&queue->place);
        }
        return false;
    }
}

/* It is the queue's turn. */
static void serve_queue(host_place *place)
{
    host_queue *queue =
        (host_queue *)((char *)place - offsetof(host_queue, place));
    hri_host_run_soon(&queue->runnable, true);
}

/* Run the first command. The lock is not held. */
static void run_first(host_queue *queue, host_command *command, bool skip)
{
    hr_status status = skip ? HR_OK : run_command(queue, command);
    if (queue->is_served) {
        queue->is_served = false;
        hri_host_line_leave();
    }
    if (command->kind == COMMAND_LAUNCH) {
        hri_host_launch_destroy(command->as.launch);
    }
    pthread_mutex_lock(&queue->lock);
    hri_error_keep(&queue->error, status);
    if (command->kind == COMMAND_RECORD) {
        pass(queue, command->as.record.record.number);
    }
    queue->head = (queue->head + 1) % queue->capacity;
    queue->count--;
    pthread_mutex_unlock(&queue->lock);
}

/* The queue's next command. False when there is none: the queue is not active
 * any more, and may be gone. */
static bool get_first(host_queue *queue, host_command *command)
{
    pthread_mutex_lock(&queue->lock);
    const bool any = queue->count > 0;
    if (any) {
        *command = queue->ring[queue->head];
    } else {
        queue->active = false;
        pthread_cond_broadcast(&queue->idle);
    }
    pthread_mutex_unlock(&queue->lock);
    return any;
}

/* Run commands until the queue is empty or has to wait. A thread of the backend
 * (`last` is 0) leaves it when another queue should have the thread. Another
 * one leaves it after the record `last`. */
static void run_commands(host_queue *queue, uint64_t last)
{
    host_command command;
    bool stays = true;
    while (stays && get_first(queue, &command)) {
        /* after an error memory is not touched any more */
        const bool work = command.kind < COMMAND_RECORD;
        const bool skip = work && queue->error.status != HR_OK;
        if (!skip && must_wait(queue, &command)) {
            return;
        }
        run_first(queue, &command, skip);
        if (last == 0) {
            stays = !(work && hri_host_give_way(&queue->runnable));
        } else if (command.kind == COMMAND_RECORD &&
                   command.as.record.record.number >= last) {
            stays = false;
            if (get_first(queue, &command)) {
                hri_host_run_soon(&queue->runnable, false);
            }
        }
    }
}

static void run_queue(host_runnable *r)
{
    run_commands((host_queue *)((char *)r - offsetof(host_queue, runnable)), 0);
}

/* ---- waiting */

/* Whether this thread may run commands. A CBLAS whose number of threads is a
 * setting of each thread leaves those of the program alone. */
static bool may_run(void)
{
    return hri_thread_has_kernel_stack() && !hri_host_gemm_sets_thread();
}

/* Waking a thread takes longer than many a command. So a thread that waits for
 * a record runs the queue itself, as long as no other one does. The queue's
 * lock is held, and released meanwhile. False: another thread does. */
static bool run_here(host_queue *queue, uint64_t record)
{
    if (!hri_host_take_runnable(&queue->runnable)) {
        return false;
    }
    pthread_mutex_unlock(&queue->lock);
    const hri_thread_was was = hri_thread_set_own();
    run_commands(queue, record);
    hri_thread_restore(&was);
    pthread_mutex_lock(&queue->lock);
    return true;
}

/* Whether the record has been passed, waiting for it if `wait`. Returns the
 * queue's error if the queue failed before the record. */
static hr_status look_at_record(host_record record, bool wait, bool *done)
{
    host_queue *queue = record.of;
    const bool runs = wait && may_run();
    pthread_mutex_lock(&queue->lock);
    while (wait && queue->passed < record.number) {
        if (runs && run_here(queue, record.number)) {
            continue;
        }
        queue->wanted =
            record.number < queue->wanted ? record.number : queue->wanted;
        pthread_cond_wait(&queue->progress, &queue->lock);
    }
    const bool passed = queue->passed >= record.number;
    const hr_status status =
        passed ? error_before(queue, record.number) : HR_OK;
    pthread_mutex_unlock(&queue->lock);
    HRI_TRY(status);
    *done = passed;
    return HR_OK;
}

/* ---- events */

static void event_destroy(hri_event *base)
{
    if (base != NULL) {
        release_event((host_event *)base);
    }
}

/* Whether the event is done, waiting for it if `wait`. */
static hr_status look_at_event(hri_event *base, bool wait, bool *done)
{
    const host_record record = get_record((host_event *)base);
    if (record.number == 0) {
        *done = true;
        return HR_OK;
    }
    hr_status status = look_at_record(record, wait, done);
    release_queue(record.of);
    return status;
}

static hr_status event_query(hri_event *base, bool *done)
{
    return look_at_event(base, false, done);
}

static hr_status event_wait(hri_event *base)
{
    bool done;
    return look_at_event(base, true, &done);
}

static hr_status time_of(hri_event *base, uint64_t *ns)
{
    host_event *event = (host_event *)base;
    pthread_mutex_lock(&event->lock);
    const bool recorded = event->last.number != 0;
    *ns = event->time_ns;
    pthread_mutex_unlock(&event->lock);
    return recorded
               ? HR_OK
               : hri_fail(HR_ERROR_INVALID,
                          "host: the event has no time: it was never recorded");
}

static hr_status event_elapsed(hri_event *from, hri_event *to, uint64_t *ns)
{
    return hri_elapsed(time_of, from, to, ns);
}

static const hri_event_ops event_ops = {
    .destroy = event_destroy,
    .query = event_query,
    .wait = event_wait,
    .elapsed = event_elapsed,
};

hr_status hri_host_event_create(hri_device *device, bool timed, hri_event **out)
{
    (void)timed; /* all are */
    host_event *event = calloc(1, sizeof *event);
    if (event == NULL) {
        return hri_fail(HR_ERROR_OUT_OF_MEMORY, "host event: out of memory");
    }
    event->base = (hri_event){.ops = &event_ops, .device = device};
    atomic_init(&event->holders, 1);
    pthread_mutex_init(&event->lock, NULL);
    *out = &event->base;
    return HR_OK;
}

/* ---- commands that come */

/* Double the number of places. The lock is held. */
static hr_status grow(host_queue *queue)
{
    size_t capacity = queue->capacity * 2;
    host_command *ring = malloc(capacity * sizeof *ring);
    if (ring == NULL) {
        return hri_fail(HR_ERROR_OUT_OF_MEMORY,
                        "host queue: out of memory for %zu commands", capacity);
    }
    for (size_t i = 0; i < queue->count; i++) {
        ring[i] = queue->ring[(queue->head + i) % queue->capacity];
    }
    free(queue->ring);
    queue->ring = ring;
    queue->capacity = capacity;
    queue->head = 0;
    return HR_OK;
}

/* The lock is held. */
static hr_status append_command(host_queue *queue, const host_command *command)
{
    if (queue->count == queue->capacity) {
        HRI_TRY(grow(queue));
    }
    size_t place = (queue->head + queue->count++) % queue->capacity;
    host_command *next = &queue->ring[place];
    *next = *command;
    if (next->kind == COMMAND_RECORD) {
        next->as.record.record = (host_record){queue, ++queue->recorded};
        set_record(next->as.record.event, next->as.record.record);
    }
    if (!queue->active) {
        queue->active = true;
        hri_host_run_soon(&queue->runnable, false);
    }
    return HR_OK;
}

static hr_status enqueue(hri_queue *base, const host_command *command)
{
    host_queue *queue = (host_queue *)base;
    pthread_mutex_lock(&queue->lock);
    hr_status status = append_command(queue, command);
    pthread_mutex_unlock(&queue->lock);
    return status;
}

static hr_status queue_copy(hri_queue *queue, const hri_copy *copy)
{
    host_command next = {.kind = COMMAND_COPY, .as.copy = *copy};
    return enqueue(queue, &next);
}

static hr_status queue_fill(hri_queue *queue, hri_buffer *buffer, size_t offset,
                            size_t bytes, uint8_t value)
{
    hri_place place = hri_at(buffer, offset);
    host_command next = {.kind = COMMAND_FILL,
                         .as.fill = {hri_host_address(&place), bytes, value}};
    return enqueue(queue, &next);
}

static hr_status queue_gemm(hri_queue *queue, const hri_gemm *gemm)
{
    host_command next = {.kind = COMMAND_GEMM, .as.gemm = *gemm};
    return enqueue(queue, &next);
}

static hr_status queue_pack(hri_queue *queue, const hri_pack *pack)
{
    host_command next = {.kind = COMMAND_PACK, .as.pack = *pack};
    return enqueue(queue, &next);
}

static hr_status queue_launch(hri_queue *queue, const hri_launch *launch)
{
    host_command next = {.kind = COMMAND_LAUNCH};
    HRI_TRY(hri_host_launch_create(hri_host_pool(queue->device), launch,
                                   &next.as.launch));
    hr_status status = enqueue(queue, &next);
    if (status != HR_OK) {
        hri_host_launch_destroy(next.as.launch);
    }
    return status;
}

static hr_status queue_record(hri_queue *queue, hri_event *event)
{
    const host_command next = {.kind = COMMAND_RECORD,
                               .as.record.event = (host_event *)event};
    return enqueue(queue, &next);
}

static hr_status queue_wait(hri_queue *queue, hri_event *event)
{
    const host_command next = {.kind = COMMAND_WAIT,
                               .as.wait = get_record((host_event *)event)};
    if (next.as.wait.number == 0) {
        return HR_OK;
    }
    hr_status status = enqueue(queue, &next);
    if (status != HR_OK) {
        release_queue(next.as.wait.of);
    }
    return status;
}

static hr_status queue_finish(hri_queue *base)
{
    host_queue *queue = (host_queue *)base;
    const bool runs = may_run();
    pthread_mutex_lock(&queue->lock);
    while (queue->active) {
        if (!runs || !run_here(queue, UINT64_MAX)) {
            pthread_cond_wait(&queue->idle, &queue->lock);
        }
    }
    hr_status status = hri_error_raise(&queue->error);
    pthread_mutex_unlock(&queue->lock);
    return status;
}

/* All commands run first. */
static void queue_destroy(hri_queue *base)
{
    host_queue *queue = (host_queue *)base;
    if (queue == NULL) {
        return;
    }
    (void)queue_finish(base);
    hri_host_threads_drop();
    free(queue->ring);
    queue->ring = NULL; /* events may hold the rest for long */
    release_queue(queue);
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

/* There are no priorities: the first that can go on gets the next thread. */
hr_status hri_host_queue_create(hri_device *device, bool urgent,
                                hri_queue **out)
{
    (void)urgent;
    host_queue *queue = calloc(1, sizeof *queue);
    if (queue == NULL) {
        return hri_fail(HR_ERROR_OUT_OF_MEMORY, "host queue: out of memory");
    }
    queue->base = (hri_queue){.ops = &queue_ops, .device = device};
    pthread_mutex_init(&queue->lock, NULL);
    pthread_cond_init(&queue->idle, NULL);
    pthread_cond_init(&queue->progress, NULL);
    atomic_init(&queue->holders, 1);
    queue->runnable.run = run_queue;
    queue->place.serve = serve_queue;
    queue->wanted = UINT64_MAX;
    queue->capacity = FIRST_CAPACITY;
    queue->ring = malloc(queue->capacity * sizeof *queue->ring);
    hr_status status =
        queue->ring != NULL
            ? hri_host_threads_hold()
            : hri_fail(HR_ERROR_OUT_OF_MEMORY, "host queue: out of memory");
    if (status != HR_OK) {
        release_queue(queue);
        return status;
    }
    *out = &queue->base;
    return HR_OK;
}
