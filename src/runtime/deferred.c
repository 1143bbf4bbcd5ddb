/* SPDX-License-Identifier: MIT */
/* Deferred commands, and the thread that gives them to the accelerator's
 * queue.
 *
 * From 1 MiB on, a copy pool stages a deferred copy through pinned memory.
 * Uploads behind one another share a copy pool: during one, threads
 * bring the next to pinned memory, if only records and waits that are passed
 * stand between them. Before a staged copy the thread waits for whatever else
 * may hold up the queue. A wait for a fence whose record is deferred is
 * deferred too. It holds that fence, so what the queue does later does not
 * change it. One caller can thus have operands travel to all accelerators at
 * once. */
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "hal/backend.h"
#include "runtime/staging.h"
#include "runtime/stream.h"

/* A command with its own copy of what it points to. */
struct hri_node {
    hri_node *next;
    hri_command command;
    hri_copy copy;
    hri_launch launch; /* its arguments, their values and the epilogue's data
                          follow the node */
    hri_epilogue epilogue;
};

/* ---- copies by a copy pool */

static void fail_stager(void *data, hr_status status)
{
    hri_stager *s = data;
    pthread_mutex_lock(&s->lock);
    hri_error_keep(&s->error, status);
    pthread_mutex_unlock(&s->lock);
    hri_copy_pool_stop(&s->copy_pool);
}

void hri_stager_begin(hri_stager *s, hri_accelerator *accelerator,
                      uint64_t stream, hri_queue *queue, bool up)
{
    *s = (hri_stager){.queue = queue,
                      .copy_pool = {.accelerator = accelerator,
                                    .up = up,
                                    .stream = stream,
                                    .queues = &s->lock,
                                    .fail = fail_stager,
                                    .fail_data = s}};
    pthread_mutex_init(&s->lock, NULL);
    hr_status status = hri_copy_pool_init(&s->copy_pool);
    if (status == HR_OK) {
        status = hri_copy_pool_start(&s->copy_pool);
    }
    if (status != HR_OK) {
        fail_stager(s, status);
    }
}

hr_status hri_stager_put(hri_stager *s, const hri_copy *copy, bool held,
                         hri_slices *slices)
{
    hri_copy slice = hri_copy_flatten(copy); /* fewer boxes are better for a
                                                copy pool */
    const size_t count = slice.depth;
    *slices =
        (hri_slices){.jobs = calloc(count, sizeof(hri_job)), .count = count};
    if (slices->jobs == NULL) {
        *slices = (hri_slices){0};
        return hri_fail(HR_ERROR_OUT_OF_MEMORY,
                        "%s: no memory for a copy of %zu slices",
                        s->copy_pool.accelerator->path, count);
    }
    slice.depth = 1;
    for (size_t i = 0; i < count; i++) {
        slices->jobs[i] =
            (hri_job){.copy = slice, .queue = s->queue, .held = held};
        hri_copy_pool_put(&s->copy_pool, &slices->jobs[i], false);
        slice.to.offset += slice.to_slice;
        slice.from.offset += slice.from_slice;
    }
    return HR_OK;
}

void hri_stager_release(hri_stager *s, const hri_slices *slices)
{
    for (size_t i = 0; i < slices->count; i++) {
        hri_copy_pool_release(&s->copy_pool, &slices->jobs[i]);
    }
}

bool hri_stager_wait(hri_stager *s, const hri_slices *slices)
{
    bool done = true;
    for (size_t i = 0; i < slices->count && done; i++) {
        done = hri_copy_pool_wait(&s->copy_pool, &slices->jobs[i]);
    }
    return done;
}

hr_status hri_stager_end(hri_stager *s, bool drop)
{
    if (drop) {
        hri_copy_pool_stop(&s->copy_pool);
    }
    hri_copy_pool_join(&s->copy_pool);
    if (!s->copy_pool.up || s->error.status != HR_OK) {
        /* wait, since another copy gets the pinned memory next */
        hri_error_keep(&s->error, s->queue->ops->finish(s->queue));
    }
    hri_copy_pool_finish(&s->copy_pool);
    pthread_mutex_destroy(&s->lock);
    return hri_error_raise(&s->error);
}

/* ---- the deferral of an accelerator */

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

void hri_deferred_drain(hri_stream *s)
{
    hri_deferral *deferral = &s->accelerator->deferral;
    if (hri_deferred_is_empty(s)) {
        return;
    }
    pthread_mutex_lock(&deferral->lock);
    while (!hri_deferred_is_empty(s)) {
        pthread_cond_wait(&deferral->changed, &deferral->lock);
    }
    pthread_mutex_unlock(&deferral->lock);
}

/* ---- the thread */

/* When recording a fence fails, wait for the queue: no work may go on that no
 * fence guards. */
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

/* The first command has run. */
static void drop_first(hri_stream *s, hri_node *n)
{
    hri_deferral *deferral = &s->accelerator->deferral;
    pthread_mutex_lock(&deferral->lock);
    atomic_store(&s->deferred, n->next);
    pthread_cond_broadcast(&deferral->changed);
    pthread_mutex_unlock(&deferral->lock);
    free(n);
}

static hri_node *node_after(hri_stream *s, const hri_node *n)
{
    hri_deferral *deferral = &s->accelerator->deferral;
    pthread_mutex_lock(&deferral->lock);
    hri_node *next = n->next;
    pthread_mutex_unlock(&deferral->lock);
    return next;
}

static bool is_upload(const hri_command *c)
{
    return c->kind == HRI_COMMAND_STAGED_COPY && c->copy->from.buffer == NULL;
}

/* Whether the command holds up none behind it. */
static bool is_passed(const hri_command *c)
{
    bool done = c->kind == HRI_COMMAND_RECORD;
    return done || (c->kind == HRI_COMMAND_WAIT &&
                    hri_fence_query(c->fence, &done) == HR_OK && done);
}

/* A staged copy. node is NULL where there is none. */
typedef struct upload {
    hri_node *node;
    hri_slices slices;
} upload;

/* Begin to bring the next upload to pinned memory, if nothing holds it up and
 * no other copy waits for that memory. */
static upload look_ahead(hri_stream *s, hri_stager *stager, const hri_node *n)
{
    upload next = {.node = node_after(s, n)};
    while (next.node != NULL && is_passed(&next.node->command)) {
        next.node = node_after(s, next.node);
    }
    if (next.node == NULL || !is_upload(&next.node->command) ||
        hri_copy_pool_is_wanted(&stager->copy_pool) ||
        hri_stager_put(stager, next.node->command.copy, true, &next.slices) !=
            HR_OK) {
        next.node = NULL;
    }
    return next;
}

/* Wait for a copy, and meanwhile look for the next one. False after an
 * error. */
static bool wait_and_look(hri_stream *s, hri_stager *stager, const upload *now,
                          upload *next)
{
    const bool up = is_upload(&now->node->command);
    if (up) {
        *next = look_ahead(s, stager, now->node);
    }
    const bool done = hri_stager_wait(stager, &now->slices);
    if (up && done && next->node == NULL) { /* more may be passed by now */
        *next = look_ahead(s, stager, now->node);
    }
    return done;
}

/* Wait for a copy. Uploads behind it, with all between them, follow in the same
 * way. The next upload comes to pinned memory during the one before, so that
 * the link need not wait for it, but enters the queue in its turn. *now and
 * *next are what is left in the end. */
static void run_copies(hri_stream *s, hri_stager *stager, upload *now,
                       upload *next)
{
    while (wait_and_look(s, stager, now, next) && next->node != NULL) {
        drop_first(s, now->node);
        free(now->slices.jobs);
        *now = (upload){0};
        for (hri_node *n; (n = atomic_load(&s->deferred)) != next->node;) {
            hand_on(s, &n->command);
            drop_first(s, n);
        }
        if (s->error.status != HR_OK) {
            return;
        }
        hri_stager_release(stager, &next->slices);
        *now = *next;
        *next = (upload){0};
    }
}

/* Run the first command, a staged copy, and uploads behind it. */
static void run_staged(hri_stream *s, hri_node *n)
{
    upload now = {.node = n}, next = {0};
    hri_stager stager;
    hr_status status = hri_stream_await_link(s);
    if (status != HR_OK) {
        hri_error_keep(&s->error, status);
        drop_first(s, n);
        return;
    }
    hri_stager_begin(&stager, s->accelerator, s->serial, s->queue,
                     is_upload(&n->command));
    status = hri_stager_put(&stager, n->command.copy, false, &now.slices);
    if (status == HR_OK) {
        run_copies(s, &stager, &now, &next);
    }
    hri_error_keep(&s->error, status);
    hri_error_keep(&s->error, hri_stager_end(&stager, next.node != NULL));
    if (now.node != NULL) {
        drop_first(s, now.node);
    }
    free(now.slices.jobs);
    free(next.slices.jobs);
}

static void run_first(hri_stream *s, hri_node *n)
{
    if (n->command.kind == HRI_COMMAND_STAGED_COPY &&
        s->error.status == HR_OK) {
        run_staged(s, n);
        return;
    }
    hand_on(s, &n->command);
    drop_first(s, n);
}

static hri_node *wait_for_node(hri_stream *s)
{
    hri_deferral *deferral = &s->accelerator->deferral;
    pthread_mutex_lock(&deferral->lock);
    while (hri_deferred_is_empty(s) && !s->closed) {
        pthread_cond_wait(&deferral->changed, &deferral->lock);
    }
    hri_node *n = atomic_load(&s->deferred);
    pthread_mutex_unlock(&deferral->lock);
    return n;
}

static void *deferred_main(void *argument)
{
    hri_stream *s = argument;
    hri_node *n;
    while ((n = wait_for_node(s)) != NULL) {
        run_first(s, n);
    }
    return NULL;
}

/* ---- adding commands */

static size_t room_for(size_t bytes)
{
    return hri_round_up_bytes(bytes, 16); /* so that a value of any type is
                                             aligned */
}

/* The bytes of a launch's arguments, their values and its epilogue's data. */
static size_t room_for_arguments(const hri_launch *launch)
{
    const uint32_t count = launch->kernel->parameter_count;
    size_t bytes = room_for(count * sizeof(hri_kernel_argument));
    bytes += launch->epilogue != NULL ? launch->epilogue->data_bytes : 0;
    for (uint32_t i = 0; i < count; i++) {
        const hri_kernel_argument *a = &launch->arguments[i];
        bytes += a->value != NULL ? room_for(a->bytes) : 0;
    }
    return bytes;
}

static void keep_launch(hri_node *n, const hri_launch *launch)
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
    if (launch->epilogue != NULL) {
        n->epilogue = *launch->epilogue;
        memcpy(values, n->epilogue.data, n->epilogue.data_bytes);
        n->epilogue.data = values;
        n->launch.epilogue = &n->epilogue;
    }
}

/* NULL: there is no memory. */
static hri_node *make_node(const hri_command *c)
{
    size_t bytes = sizeof(hri_node);
    bytes += c->launch != NULL ? room_for_arguments(c->launch) : 0;
    hri_node *n = calloc(1, bytes);
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

/* If the system refuses a thread, the calling thread runs the command. */
hr_status hri_deferred_add(hri_stream *s, const hri_command *command)
{
    hri_deferral *deferral = &s->accelerator->deferral;
    hri_node *n = make_node(command);
    if (n == NULL) {
        return hri_fail(HR_ERROR_OUT_OF_MEMORY,
                        "%s: no memory to enqueue anything",
                        s->accelerator->path);
    }
    pthread_mutex_lock(&deferral->lock);
    if (hri_deferred_is_empty(s)) {
        atomic_store(&s->deferred, n);
    } else {
        s->last_deferred->next = n;
    }
    s->last_deferred = n;
    pthread_cond_broadcast(&deferral->changed);
    if (s->thread == NULL) {
        s->thread =
            hri_threads_start(&s->accelerator->threads, deferred_main, s);
    }
    bool alone = s->thread == NULL;
    pthread_mutex_unlock(&deferral->lock);
    if (alone) {
        run_first(s, n);
    }
    return HR_OK;
}

void hri_deferred_close(hri_stream *s)
{
    hri_deferral *deferral = &s->accelerator->deferral;
    if (s->thread == NULL) {
        return;
    }
    pthread_mutex_lock(&deferral->lock);
    s->closed = true;
    pthread_cond_broadcast(&deferral->changed);
    pthread_mutex_unlock(&deferral->lock);
    hri_thread_join(s->thread);
}
