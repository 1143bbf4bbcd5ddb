/* SPDX-License-Identifier: MIT */
/* One copy by a copy pool. */
#include <stdlib.h>

#include "hal/backend.h"
#include "runtime/staging.h"

typedef struct staged {
    hri_copy_pool copy_pool;
    pthread_mutex_t lock; /* held around calls on the queue; guards error */
    hri_error error;
    hri_job *jobs; /* one for each slice */
} staged;

static void fail(void *data, hr_status status)
{
    staged *s = data;
    pthread_mutex_lock(&s->lock);
    hri_error_keep(&s->error, status);
    pthread_mutex_unlock(&s->lock);
    hri_copy_pool_stop(&s->copy_pool);
}

static void put_slices(staged *s, hri_queue *queue, hri_copy slice)
{
    const size_t count = slice.depth;
    slice.depth = 1;
    for (size_t i = 0; i < count; i++) {
        s->jobs[i] = (hri_job){.copy = slice, .queue = queue};
        hri_copy_pool_put(&s->copy_pool, &s->jobs[i], false);
        slice.to.offset += slice.to_slice;
        slice.from.offset += slice.from_slice;
    }
}

static void run_copy_pool(staged *s, hri_queue *queue, const hri_copy *box)
{
    hr_status status = hri_copy_pool_init(&s->copy_pool);
    if (status == HR_OK) {
        status = hri_copy_pool_start(&s->copy_pool);
    }
    if (status == HR_OK) {
        put_slices(s, queue, *box);
    } else {
        fail(s, status);
    }
    hri_copy_pool_join(&s->copy_pool);
    /* wait, since another copy gets the pinned memory next */
    hri_error_keep(&s->error, queue->ops->finish(queue));
    hri_copy_pool_finish(&s->copy_pool);
}

hr_status hri_staging_copy(hri_accelerator *accelerator, hri_queue *queue,
                           const hri_copy *copy)
{
    const hri_copy box = hri_copy_flatten(copy); /* fewer boxes are better for a
                                                    copy pool */
    staged s = {.copy_pool = {.accelerator = accelerator,
                              .up = copy->from.buffer == NULL,
                              .queues = &s.lock,
                              .fail = fail,
                              .fail_data = &s},
                .jobs = calloc(box.depth, sizeof *s.jobs)};
    if (s.jobs == NULL) {
        return hri_fail(HR_ERROR_OUT_OF_MEMORY,
                        "%s: no memory for a copy of %zu slices",
                        accelerator->path, box.depth);
    }
    /* wait here and not in the copy pool: other queues use the pool, too, and
     * earlier work may take long */
    hr_status status = queue->ops->finish(queue);
    if (status == HR_OK) {
        pthread_mutex_init(&s.lock, NULL);
        run_copy_pool(&s, queue, &box);
        pthread_mutex_destroy(&s.lock);
        status = hri_error_raise(&s.error);
    }
    free(s.jobs);
    return status;
}
