/* SPDX-License-Identifier: MIT */
/* Copies of a stream by a copy pool. */
#include <stdlib.h>

#include "hal/backend.h"
#include "runtime/staging.h"

static void fail(void *data, hr_status status)
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
                                    .fail = fail,
                                    .fail_data = s}};
    pthread_mutex_init(&s->lock, NULL);
    hr_status status = hri_copy_pool_init(&s->copy_pool);
    if (status == HR_OK) {
        status = hri_copy_pool_start(&s->copy_pool);
    }
    if (status != HR_OK) {
        fail(s, status);
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

void hri_stager_let(hri_stager *s, const hri_slices *slices)
{
    for (size_t i = 0; i < slices->count; i++) {
        hri_copy_pool_let(&s->copy_pool, &slices->jobs[i]);
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
