/* SPDX-License-Identifier: MIT */
/* One copy by a crew. */
#include <stdlib.h>

#include "hal/backend.h"
#include "runtime/stage.h"

typedef struct staged {
    hri_crew crew;
    pthread_mutex_t lock; /* around calls on the queue; guards error */
    hri_error error;
    hri_job *jobs; /* one for each slice */
} staged;

static void fail(void *data, hr_status status)
{
    staged *s = data;
    pthread_mutex_lock(&s->lock);
    hri_error_keep(&s->error, status);
    pthread_mutex_unlock(&s->lock);
    hri_crew_stop(&s->crew);
}

static void put_slices(staged *s, hri_queue *queue, hri_copy slice)
{
    const size_t count = slice.depth;
    slice.depth = 1;
    for (size_t i = 0; i < count; i++) {
        s->jobs[i] = (hri_job){.copy = slice, .queue = queue};
        hri_crew_put(&s->crew, &s->jobs[i], false);
        slice.to.offset += slice.to_slice;
        slice.from.offset += slice.from_slice;
    }
}

static void run_crew(staged *s, hri_queue *queue, const hri_copy *box)
{
    hr_status status = hri_crew_init(&s->crew);
    if (status == HR_OK) {
        status = hri_crew_start(&s->crew);
    }
    if (status == HR_OK) {
        put_slices(s, queue, *box);
    } else {
        fail(s, status);
    }
    hri_crew_join(&s->crew);
    /* the pinned memory is another's next */
    hri_error_keep(&s->error, queue->ops->finish(queue));
    hri_crew_finish(&s->crew);
}

hr_status hri_stage_copy(hri_accelerator *accelerator, hri_queue *queue,
                         const hri_copy *copy)
{
    const hri_copy box = hri_copy_flatten(copy); /* crews like few boxes */
    staged s = {.crew = {.accelerator = accelerator,
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
    /* the crew is for other queues, too: what comes before may take long */
    hr_status status = queue->ops->finish(queue);
    if (status == HR_OK) {
        pthread_mutex_init(&s.lock, NULL);
        run_crew(&s, queue, &box);
        pthread_mutex_destroy(&s.lock);
        status = hri_error_raise(&s.error);
    }
    free(s.jobs);
    return status;
}
