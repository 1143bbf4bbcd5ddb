/* SPDX-License-Identifier: MIT */
#include <pthread.h>
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

typedef struct host_command {
    command_kind kind;
    union {
        hri_copy copy;
        fill_command fill;
        hri_gemm gemm;
        hri_turn turn;
        host_launch *launch;
        host_mark *mark; /* of record and wait; held */
    } as;
} host_command;

typedef struct host_queue {
    hri_queue base; /* first: see hri_queue */
    pthread_t thread;
    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t work, idle;
    host_command *ring; /* count commands from head on, then free places */
    size_t capacity, head, count;
    bool busy, stop;
    hri_error error; /* of the first operation that failed; written by the
                        queue's thread alone, which reads it without the lock */
} host_queue;

enum { FIRST_CAPACITY = 32 };

static hr_status run_command(host_queue *queue, const host_command *command)
{
    bool failed = queue->error.status != HR_OK;
    hr_status status = HR_OK;
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
        hri_host_mark_complete(command->as.mark, &queue->error);
        hri_host_mark_release(command->as.mark);
        break;
    case COMMAND_WAIT:
        /* What comes next would work on what never arrived: the error of the
         * queue waited for becomes ours. */
        status = hri_host_mark_wait(command->as.mark);
        hri_host_mark_release(command->as.mark);
        break;
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

static hr_status enqueue(hri_queue *base, const host_command *command)
{
    host_queue *queue = (host_queue *)base;
    hr_status status = HR_OK;
    pthread_mutex_lock(&queue->lock);
    if (queue->count == queue->capacity) {
        status = grow(queue);
    }
    if (status == HR_OK) {
        size_t place = (queue->head + queue->count) % queue->capacity;
        queue->ring[place] = *command;
        queue->count++;
        pthread_cond_signal(&queue->work);
    }
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

static hr_status queue_record(hri_queue *queue, hri_event *event)
{
    host_command next = {.kind = COMMAND_RECORD};
    hr_status status = hri_host_mark_create(&next.as.mark);
    if (status != HR_OK) {
        return status;
    }
    hri_host_mark_hold(next.as.mark); /* once for the event */
    status = enqueue(queue, &next);
    if (status != HR_OK) {
        hri_host_mark_release(next.as.mark);
        hri_host_mark_release(next.as.mark);
        return status;
    }
    hri_host_event_set(event, next.as.mark);
    return HR_OK;
}

static hr_status queue_wait(hri_queue *queue, hri_event *event)
{
    host_command next = {.kind = COMMAND_WAIT,
                         .as.mark = hri_host_event_get(event)};
    if (next.as.mark == NULL) {
        return HR_OK;
    }
    hr_status status = enqueue(queue, &next);
    if (status != HR_OK) {
        hri_host_mark_release(next.as.mark);
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

static void free_queue(host_queue *queue)
{
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
    free_queue(queue);
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
    queue->capacity = FIRST_CAPACITY;
    queue->ring = malloc(queue->capacity * sizeof *queue->ring);
    if (queue->ring == NULL ||
        pthread_create(&queue->thread, NULL, queue_main, queue) != 0) {
        free_queue(queue);
        return hri_fail(HR_ERROR_OUT_OF_MEMORY,
                        "host queue: the system refused a thread");
    }
    *out = &queue->base;
    return HR_OK;
}
