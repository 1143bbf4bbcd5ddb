/* SPDX-License-Identifier: MIT */
/* Measuring the memory of accelerators, which limits kernels that compute
 * little, and the overheads of enqueueing. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/figures.h"
#include "model/model.h"

enum {
    MAX_BYTES = 32 << 20, /* more than caches hold, mostly */
    CHUNK_BYTES = 1 << 20 /* of the host's copy, for each thread of the pool */
};

/* ---- copies within the host's memory */

typedef struct copies {
    hri_pool *pool; /* of the host, with all its threads */
    char *host[2];
    hri_probed found;
} copies;

static void copy_chunk(void *data, int64_t index)
{
    const copies *c = data;
    const size_t at = (size_t)index * CHUNK_BYTES;
    memcpy(c->host[0] + at, c->host[1] + at, CHUNK_BYTES);
}

static hr_status run_host(void *data, double *seconds)
{
    const copies *c = data;
    (void)seconds;
    hri_pool_run(c->pool, MAX_BYTES / CHUNK_BYTES, copy_chunk, data);
    return HR_OK;
}

/* Too little memory is not an error: the rate stays guessed. */
static hr_status measure_host(void *job)
{
    static const hri_trial trial = {
        .run = run_host, .first = MAX_BYTES, .most = MAX_BYTES, .growth = 2};
    copies *c = job;
    hr_status status = HR_OK;
    c->host[0] = malloc(MAX_BYTES);
    c->host[1] = malloc(MAX_BYTES);
    if (c->host[0] != NULL && c->host[1] != NULL) {
        memset(c->host[1], 1, MAX_BYTES);
        status = hri_probe(&trial, c, &c->found);
    }
    free(c->host[0]);
    free(c->host[1]);
    return status;
}

hr_status hri_bandwidth_know(hr_context *context, hri_accelerator *a,
                             double *rate)
{
    static const hri_kind kind = {.name = "memory"};
    const hri_subject of = hri_subject_of(a);
    hri_probed found = {0};
    *rate = hri_figure_find(of, kind);
    if (*rate > 0.0) {
        return HR_OK;
    }
    hr_status status = HR_OK;
    if (a->device->info.host) {
        copies job = {.pool = context->pool};
        status = hri_measure(&a, 1, measure_host, &job, sizeof job);
        found = job.found;
    } else {
        status = hri_memory_measure(a, MAX_BYTES, &found);
    }
    if (status != HR_OK) {
        return status;
    }
    *rate = found.size > 0 ? 2.0 * (double)found.size / found.seconds
                           : hri_guess(HRI_GUESS_MEMORY);
    hri_figure_note(of, kind, found.settled && found.size == MAX_BYTES, *rate);
    return HR_OK;
}

double hri_host_memory_seconds(const hri_host_load *load)
{
    const double copy_pools =
        3.0; /* read and written, and read again by the device */
    return hri_cost_bytes(
        load->in_place + load->copied + copy_pools * load->staged, load->rate);
}

/* ---- the overheads of launches and copies */

/* Long sequences of tiny fills or copies. */
typedef struct tiny {
    hri_accelerator *accelerator;
    hri_queue *queue;
    hri_buffer *buffer;
    void *host; /* of a copy; NULL: do fills */
    int64_t count;
} tiny;

enum { TINY_BYTES = 64 };

/* The seconds assumed until measured. Launches on H200s take 5 to 10
 * microseconds and copies 5. Waiting for a launch takes 4 through CUDA and 40
 * through PoCL (November 2026). */
static const double usual_launch = 1e-5, usual_copy = 5e-6, usual_wait = 2e-5,
                    usual_task = 1e-5, usual_switch = 5e-6;

static hr_status prepare_tiny(void *data, int64_t count)
{
    tiny *t = data;
    t->count = count;
    return HR_OK;
}

static hr_status enqueue_tiny(const tiny *t)
{
    const hri_queue_ops *ops = t->queue->ops;
    const hri_copy copy = hri_flat_copy(hri_at(t->buffer, 0),
                                        hri_at_host(t->host, 0), TINY_BYTES);
    for (int64_t i = 0; i < t->count; i++) {
        HRI_TRY(t->host != NULL
                    ? ops->copy(t->queue, &copy)
                    : ops->fill(t->queue, t->buffer, 0, TINY_BYTES, 1));
    }
    return HR_OK;
}

static hr_status run_tiny(void *data, double *seconds)
{
    const tiny *t = data;
    const hr_status status = enqueue_tiny(t);
    const hr_status finished = t->queue->ops->finish(t->queue);
    (void)seconds; /* the time of enqueueing is what counts */
    HRI_TRY(status);
    return finished;
}

/* In place an accelerator may not hold buffers, so the few bytes are not
 * counted as its own. */
static hr_status open_tiny(hri_accelerator *a, tiny *t)
{
    hri_device *device = a->device;
    *t = (tiny){.accelerator = a};
    HRI_TRY(device->ops->create_queue(device, false, &t->queue));
    t->queue->name = hri_measure_name;
    return a->in_place ? device->ops->allocate(device, TINY_BYTES, &t->buffer)
                       : hri_accelerator_allocate(a, TINY_BYTES, &t->buffer);
}

static void close_tiny(tiny *t)
{
    hri_accelerator *a = t->accelerator;
    if (t->queue != NULL) {
        t->queue->ops->destroy(t->queue);
    }
    if (a->in_place) {
        a->device->ops->release(t->buffer);
    } else {
        hri_accelerator_release(a, t->buffer);
        hri_accelerator_trim(a);
    }
}

static const hri_kind launches = {.name = "launches"},
                      small_copies = {.name = "copies"},
                      waits = {.name = "waits"};

static hr_status count_tiny(tiny *t, hri_kind kind, int64_t first, int64_t most)
{
    const hri_trial trial = {.prepare = prepare_tiny,
                             .run = run_tiny,
                             .first = first,
                             .most = most,
                             .growth = 4,
                             .enough = 2.5e-4};
    hri_probed found;
    HRI_TRY(hri_probe(&trial, t, &found));
    if (found.size > 0) {
        hri_figure_keep(hri_subject_of(t->accelerator), kind,
                        (double)found.size / found.seconds);
    }
    return HR_OK;
}

static hr_status count_commands(hri_accelerator *a, tiny *t)
{
    enum { FIRST = 64, MAX_COMMANDS = 4096 };
    HRI_TRY(open_tiny(a, t));
    HRI_TRY(count_tiny(t, launches, FIRST, MAX_COMMANDS));
    HRI_TRY(count_tiny(t, waits, 1, 1));
    HRI_TRY(hri_accelerator_allocate_pinned(a, TINY_BYTES, &t->host));
    memset(t->host, 1, TINY_BYTES);
    return count_tiny(t, small_copies, FIRST, MAX_COMMANDS);
}

/* Too little memory is not an error: the overheads stay guessed. */
static hr_status measure_overheads(void *job)
{
    hri_accelerator *a = *(hri_accelerator **)job;
    tiny t;
    hr_status status = count_commands(a, &t);
    hri_accelerator_release_pinned(a, t.host);
    close_tiny(&t);
    if (status == HR_ERROR_OUT_OF_MEMORY) {
        hri_figure_set(hri_subject_of(a), small_copies, 1.0 / usual_copy);
        status = HR_OK;
    }
    return status;
}

/* The seconds for one, from a figure for a second. They stay near the guess: a
 * measurement that others disturbed, or a clock that stands still, must not
 * rule plans. */
static double seconds_of(const hri_accelerator *a, hri_kind kind, double guess)
{
    const double least = guess / 50.0, most = guess * 20.0;
    const double count = hri_figure_find(hri_subject_of(a), kind);
    const double seconds = count > 0.0 ? 1.0 / count : guess;
    return seconds < least ? least : seconds > most ? most : seconds;
}

hr_status hri_model_overheads(hri_accelerator *a, bool measure,
                              hri_overheads *overheads)
{
    hr_status status = HR_OK;
    if (measure && hri_figure_find(hri_subject_of(a), small_copies) <= 0.0) {
        status = hri_measure(&a, 1, measure_overheads, &a, sizeof a);
    }
    *overheads =
        (hri_overheads){.launch = seconds_of(a, launches, usual_launch),
                        .copy = seconds_of(a, small_copies, usual_copy),
                        .wait = seconds_of(a, waits, usual_wait)};
    const bool known = hri_figure_find(hri_subject_of(a), small_copies) > 0.0;
    overheads->task =
        known ? 4.0 * overheads->launch + overheads->wait : usual_task;
    overheads->busy =
        fmin(overheads->task, 4.0 * overheads->launch + usual_switch);
    overheads->carried =
        known ? overheads->copy + 2.0 * overheads->launch : usual_copy;
    return status;
}
