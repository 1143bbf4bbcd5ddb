/* SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "backends/host/host.h"
#include "base/threads.h"

typedef enum command_kind {
    COMMAND_COPY,
    COMMAND_FILL,
    COMMAND_GEMM,
    COMMAND_TURN,
    COMMAND_LAUNCH,
    COMMAND_RECORD,
    COMMAND_WAIT
} command_kind;

typedef struct fill_command {
    unsigned char *start;
    size_t bytes;
    uint8_t value;
} fill_command;

typedef struct record_command {
    hri_event *event; /* held */
    hri_host_record record;
} record_command;

typedef struct host_command {
    command_kind kind;
    union {
        hri_copy copy;
        fill_command fill;
        hri_gemm gemm;
        hri_turn turn;
        host_launch *launch;
        hri_host_record wait; /* held */
        record_command record;
    } as;
} host_command;

struct host_queue {
    hri_queue base;           /* first: see hri_queue */
    _Atomic uint32_t holders; /* its owner, and events that it recorded */
    pthread_t thread;
    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t work, idle, progress;
    host_command *ring; /* count commands from head on, then free places */
    size_t capacity, head, count;
    bool busy, stop;
    uint64_t recorded; /* how many records it has been given */
    uint64_t passed;   /* the number of the last that has run */
    uint64_t wanted;   /* the least that is waited for; UINT64_MAX: none is */
    uint64_t failed;   /* the first behind the error; 0: there is none */
    hri_error error;   /* of the first operation that failed; written by the
                          queue's thread alone, which reads it without the lock */
};

enum { FIRST_CAPACITY = 32 };

static hr_status run_command(host_queue *queue, const host_command *command)
{
    bool failed = queue->error.status != HR_OK;
    hr_status status = HR_OK;
    bool done;
    switch (command->kind) {
    case COMMAND_COPY:
        if (!failed) {
            hri_host_copy(&command->as.copy);
        }
        break;
    case COMMAND_FILL:
        if (!failed && command->as.fill.bytes > 0) {
            memset(command->as.fill.start, command->as.fill.value,
                   command->as.fill.bytes);
        }
        break;
    case COMMAND_GEMM:
        if (!failed) {
            status = hri_host_multiply(queue->base.device, &command->as.gemm);
        }
        break;
    case COMMAND_TURN:
        if (!failed) {
            hri_host_turn(&command->as.turn);
        }
        break;
    case COMMAND_LAUNCH:
        if (!failed) {
            hri_host_launch_run(command->as.launch);
        }
        hri_host_launch_destroy(command->as.launch);
        break;
    case COMMAND_RECORD:
        hri_host_event_pass(command->as.record.event,
                            command->as.record.record);
        break;
    case COMMAND_WAIT:
        /* What comes next would work on what never arrived: the error of the
         * queue waited for becomes ours. */
        status = hri_host_record_look(command->as.wait, true, &done);
        hri_host_queue_release(command->as.wait.of);
        break;
    }
    return status;
}

/* Those who wait for later records sleep on. The lock is held. */
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
}

hr_status hri_host_record_look(hri_host_record record, bool wait, bool *done)
{
    host_queue *queue = record.of;
    hr_status status = HR_OK;
    pthread_mutex_lock(&queue->lock);
    while (wait && queue->passed < record.number) {
        queue->wanted =
            record.number < queue->wanted ? record.number : queue->wanted;
        pthread_cond_wait(&queue->progress, &queue->lock);
    }
    const bool passed = queue->passed >= record.number;
    if (passed && queue->failed != 0 && record.number >= queue->failed) {
        status = hri_error_raise(&queue->error);
    }
    pthread_mutex_unlock(&queue->lock);
    if (status == HR_OK) {
        *done = passed;
    }
    return status;
}

static void *queue_main(void *argument)
{
    host_queue *queue = argument;
    hri_thread_set_own();
    pthread_mutex_lock(&queue->lock);
    for (;;) {
        while (queue->count == 0 && !queue->stop) {
            pthread_cond_wait(&queue->work, &queue->lock);
        }
        if (queue->count == 0) {
            break;
        }
        host_command next = queue->ring[queue->head];
        queue->head = (queue->head + 1) % queue->capacity;
        queue->count--;
        queue->busy = true;
        pthread_mutex_unlock(&queue->lock);
        hr_status status = run_command(queue, &next);
        pthread_mutex_lock(&queue->lock);
        hri_error_keep(&queue->error, status);
        if (next.kind == COMMAND_RECORD) {
            pass(queue, next.as.record.record.number);
        }
        queue->busy = false;
        if (queue->count == 0) {
            pthread_cond_broadcast(&queue->idle);
        }
    }
    pthread_mutex_unlock(&queue->lock);
    return NULL;
}

/* Twice the places. The lock is held. */
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

/* Lock the queue, and find the place of a new command; end_command unlocks it.
 */
static hr_status begin_command(host_queue *queue, host_command **command)
{
    pthread_mutex_lock(&queue->lock);
    hr_status status = queue->count == queue->capacity ? grow(queue) : HR_OK;
    if (status == HR_OK) {
        *command = &queue->ring[(queue->head + queue->count) % queue->capacity];
    } else {
        pthread_mutex_unlock(&queue->lock);
    }
    return status;
}

static void end_command(host_queue *queue)
{
    queue->count++;
    pthread_cond_signal(&queue->work);
    pthread_mutex_unlock(&queue->lock);
}

static hr_status enqueue(hri_queue *base, const host_command *command)
{
    host_queue *queue = (host_queue *)base;
    host_command *next = NULL;
    hr_status status = begin_command(queue, &next);
    if (status == HR_OK) {
        *next = *command;
        end_command(queue);
    }
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
    hri_operand *operands[] = {&next.as.gemm.a, &next.as.gemm.b,
                               &next.as.gemm.c};
    for (size_t i = 0; i < sizeof operands / sizeof operands[0]; i++) {
        hri_place *place = &operands[i]->place;
        *place = hri_at_host(hri_host_address(place), 0);
    }
    return enqueue(queue, &next);
}

static hr_status queue_turn(hri_queue *queue, const hri_turn *turn)
{
    host_command next = {.kind = COMMAND_TURN, .as.turn = *turn};
    return enqueue(queue, &next);
}

static hr_status queue_launch(hri_queue *queue, const hri_launch *launch)
{
    host_command next = {.kind = COMMAND_LAUNCH};
    hr_status status = hri_host_launch_create(hri_host_pool(queue->device),
                                              launch, &next.as.launch);
    if (status != HR_OK) {
        return status;
    }
    status = enqueue(queue, &next);
    if (status != HR_OK) {
        hri_host_launch_destroy(next.as.launch);
    }
    return status;
}

static hr_status queue_record(hri_queue *base, hri_event *event)
{
    host_queue *queue = (host_queue *)base;
    host_command *next = NULL;
    hr_status status = begin_command(queue, &next);
    if (status == HR_OK) {
        const hri_host_record record = {queue, ++queue->recorded};
        *next = (host_command){.kind = COMMAND_RECORD,
                               .as.record = {event, record}};
        hri_host_event_set(event, record);
        end_command(queue);
    }
    return status;
}

static hr_status queue_wait(hri_queue *queue, hri_event *event)
{
    const host_command next = {.kind = COMMAND_WAIT,
                               .as.wait = hri_host_event_get(event)};
    if (next.as.wait.number == 0) {
        return HR_OK;
    }
    hr_status status = enqueue(queue, &next);
    if (status != HR_OK) {
        hri_host_queue_release(next.as.wait.of);
    }
    return status;
}

static hr_status queue_finish(hri_queue *base)
{
    host_queue *queue = (host_queue *)base;
    pthread_mutex_lock(&queue->lock);
    while (queue->count > 0 || queue->busy) {
        pthread_cond_wait(&queue->idle, &queue->lock);
    }
    hr_status status = hri_error_raise(&queue->error);
    pthread_mutex_unlock(&queue->lock);
    return status;
}

void hri_host_queue_hold(host_queue *queue)
{
    if (queue != NULL) {
        atomic_fetch_add(&queue->holders, 1);
    }
}

void hri_host_queue_release(host_queue *queue)
{
    if (queue == NULL || atomic_fetch_sub(&queue->holders, 1) > 1) {
        return;
    }
    pthread_cond_destroy(&queue->progress);
    pthread_cond_destroy(&queue->idle);
    pthread_cond_destroy(&queue->work);
    pthread_mutex_destroy(&queue->lock);
    free(queue->ring);
    free(queue);
}

/* The thread leaves only when its list is empty. */
static void queue_destroy(hri_queue *base)
{
    host_queue *queue = (host_queue *)base;
    if (queue == NULL) {
        return;
    }
    pthread_mutex_lock(&queue->lock);
    queue->stop = true;
    pthread_cond_signal(&queue->work);
    pthread_mutex_unlock(&queue->lock);
    pthread_join(queue->thread, NULL);
    free(queue->ring);
    queue->ring = NULL; /* events may keep the rest for long */
    hri_host_queue_release(queue);
}

static const hri_queue_ops queue_ops = {
    .destroy = queue_destroy,
    .copy = queue_copy,
    .fill = queue_fill,
    .gemm = queue_gemm,
    .turn = queue_turn,
    .launch = queue_launch,
    .record = queue_record,
    .wait = queue_wait,
    .finish = queue_finish,
    .begin_graph = hri_no_begin_graph,
    .end_graph = hri_no_end_graph,
    .run_graph = hri_no_run_graph,
};

/* The system schedules the threads: there is no urgency among them. */
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
    pthread_cond_init(&queue->work, NULL);
    pthread_cond_init(&queue->idle, NULL);
    pthread_cond_init(&queue->progress, NULL);
    atomic_init(&queue->holders, 1);
    queue->wanted = UINT64_MAX;
    queue->capacity = FIRST_CAPACITY;
    queue->ring = malloc(queue->capacity * sizeof *queue->ring);
    if (queue->ring == NULL ||
        pthread_create(&queue->thread, NULL, queue_main, queue) != 0) {
        hri_host_queue_release(queue);
        return hri_fail(HR_ERROR_OUT_OF_MEMORY,
                        "host queue: the system refused a thread");
    }
    *out = &queue->base;
    return HR_OK;
}
