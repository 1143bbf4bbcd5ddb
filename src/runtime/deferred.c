/* SPDX-License-Identifier: MIT */
#include "runtime/deferred.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/stream.h"

/* A command with its own copy of what it points to. */
typedef struct node {
    struct node *next;
    hri_command command;
    hri_copy copy;
    hri_launch launch; /* its arguments, then their values, are behind it */
} node;

/* The lists are guarded by the lock of the accelerator's deferral. */
struct hri_deferred {
    hri_stream *stream;
    hri_thread *thread; /* NULL: nothing has been deferred yet */
    node *first, *last;
    atomic_size_t count; /* of the list */
    bool closed;         /* no more is deferred */
};

void hri_deferral_init(hri_deferral *deferral)
{
    pthread_mutex_init(&deferral->lock, NULL);
    pthread_mutex_init(&deferral->launches, NULL);
    pthread_cond_init(&deferral->changed, NULL);
}

void hri_deferral_finish(hri_deferral *deferral)
{
    pthread_mutex_destroy(&deferral->lock);
    pthread_mutex_destroy(&deferral->launches);
    pthread_cond_destroy(&deferral->changed);
}

static hri_deferral *deferral_of(const hri_deferred *d)
{
    return &d->stream->accelerator->deferral;
}

bool hri_deferred_is_empty(const hri_deferred *d)
{
    return d == NULL || atomic_load(&d->count) == 0;
}

void hri_deferred_drain(hri_deferred *d)
{
    if (hri_deferred_is_empty(d)) {
        return;
    }
    pthread_mutex_lock(&deferral_of(d)->lock);
    while (!hri_deferred_is_empty(d)) {
        pthread_cond_wait(&deferral_of(d)->changed, &deferral_of(d)->lock);
    }
    pthread_mutex_unlock(&deferral_of(d)->lock);
}

/* ---- the thread */

/* Where a record fails, nothing goes on that nobody knows of. */
static void hand_on(hri_stream *stream, const hri_command *c)
{
    hr_status status = hri_command_run(stream, c);
    hri_error_keep(&stream->error, status);
    if (c->kind == HRI_COMMAND_RECORD) {
        if (status != HR_OK) {
            (void)stream->queue->ops->finish(stream->queue);
        }
        hri_fence_recorded(c->fence, &stream->error, status != HR_OK);
    }
    hri_fence_drop(c->fence);
}

static void run_first(hri_deferred *d, node *n)
{
    hand_on(d->stream, &n->command);
    pthread_mutex_lock(&deferral_of(d)->lock);
    d->first = n->next;
    atomic_fetch_sub(&d->count, 1);
    pthread_cond_broadcast(&deferral_of(d)->changed);
    pthread_mutex_unlock(&deferral_of(d)->lock);
    free(n);
}

static node *wait_for_node(hri_deferred *d)
{
    pthread_mutex_lock(&deferral_of(d)->lock);
    while (d->first == NULL && !d->closed) {
        pthread_cond_wait(&deferral_of(d)->changed, &deferral_of(d)->lock);
    }
    node *n = d->first;
    pthread_mutex_unlock(&deferral_of(d)->lock);
    return n;
}

static void *deferred_main(void *argument)
{
    hri_deferred *d = argument;
    node *n;
    while ((n = wait_for_node(d)) != NULL) {
        run_first(d, n);
    }
    return NULL;
}

/* ---- adding commands */

static size_t room_for(size_t bytes)
{
    const size_t grain = 16; /* of any value's alignment */
    return (bytes + grain - 1) / grain * grain;
}

/* The bytes of a launch's arguments and their values. */
static size_t room_for_arguments(const hri_launch *launch)
{
    const uint32_t count = launch->kernel->parameter_count;
    size_t bytes = room_for(count * sizeof(hri_kernel_argument));
    for (uint32_t i = 0; i < count; i++) {
        const hri_kernel_argument *a = &launch->arguments[i];
        bytes += a->value != NULL ? room_for(a->bytes) : 0;
    }
    return bytes;
}

static void keep_launch(node *n, const hri_launch *launch)
{
    const uint32_t count = launch->kernel->parameter_count;
    hri_kernel_argument *arguments = (hri_kernel_argument *)(void *)(n + 1);
    char *values =
        (char *)(n + 1) + room_for(count * sizeof(hri_kernel_argument));
    n->launch = *launch;
    n->launch.arguments = arguments;
    n->command.launch = &n->launch;
    for (uint32_t i = 0; i < count; i++) {
        arguments[i] = launch->arguments[i];
        if (arguments[i].value != NULL) {
            memcpy(values, arguments[i].value, arguments[i].bytes);
            arguments[i].value = values;
            values += room_for(arguments[i].bytes);
        }
    }
}

/* NULL: there is no memory. */
static node *make_node(const hri_command *c)
{
    size_t bytes = sizeof(node);
    bytes += c->launch != NULL ? room_for_arguments(c->launch) : 0;
    node *n = calloc(1, bytes);
    if (n == NULL) {
        return NULL;
    }
    n->command = *c;
    if (c->copy != NULL) {
        n->copy = *c->copy;
        n->command.copy = &n->copy;
    }
    if (c->launch != NULL) {
        keep_launch(n, c->launch);
    }
    if (c->fence != NULL) {
        hri_fence_hold(c->fence);
    }
    return n;
}

/* Where the system refuses a thread the caller does the work. */
hr_status hri_deferred_add(hri_stream *stream, const hri_command *command)
{
    hri_deferred *d = stream->deferred;
    node *n = make_node(command);
    if (n == NULL) {
        return hri_fail(HR_ERROR_OUT_OF_MEMORY,
                        "%s: no memory to enqueue anything",
                        stream->accelerator->path);
    }
    pthread_mutex_lock(&deferral_of(d)->lock);
    if (d->first == NULL) {
        d->first = n;
    } else {
        d->last->next = n;
    }
    d->last = n;
    atomic_fetch_add(&d->count, 1);
    pthread_cond_broadcast(&deferral_of(d)->changed);
    if (d->thread == NULL) {
        d->thread =
            hri_threads_start(&stream->accelerator->threads, deferred_main, d);
    }
    bool alone = d->thread == NULL;
    pthread_mutex_unlock(&deferral_of(d)->lock);
    if (alone) {
        run_first(d, n);
    }
    return HR_OK;
}

/* ---- the queue */

hr_status hri_deferred_create(hri_stream *stream, hri_deferred **out)
{
    hri_deferred *d = calloc(1, sizeof *d);
    if (d == NULL) {
        return hri_fail(HR_ERROR_OUT_OF_MEMORY, "%s: no memory for a queue",
                        stream->accelerator->path);
    }
    d->stream = stream;
    atomic_init(&d->count, 0);
    *out = d;
    return HR_OK;
}

void hri_deferred_destroy(hri_deferred *d)
{
    if (d == NULL) {
        return;
    }
    pthread_mutex_lock(&deferral_of(d)->lock);
    d->closed = true;
    pthread_cond_broadcast(&deferral_of(d)->changed);
    pthread_mutex_unlock(&deferral_of(d)->lock);
    if (d->thread != NULL) {
        hri_thread_join(d->thread);
    }
    free(d);
}
