/* SPDX-License-Identifier: MIT */
#include "model/probe.h"

#include <math.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/threads.h"
#include "trace/traced.h"

/* ---- measuring on a thread that is watched */

/* Seconds without a sign of work after which an accelerator hangs: where the
 * process was idle, and where it was at work, as it is when kernels are
 * compiled. On a busy machine it may get a small part of a CPU. */
static const double longest_silence = 30.0, longest_work = 300.0;
static const double idle = 0.02; /* of the time on a CPU, at most */

typedef struct measurement {
    hr_status (*function)(void *job);
    pthread_mutex_t lock; /* guards the next two lines */
    bool ended, left;     /* left: nobody waits for the end */
    hri_error error;
    pthread_cond_t changed;
    atomic_ullong signs; /* of work */
    _Alignas(max_align_t) unsigned char job[];
} measurement;

/* What this thread measures. */
static _Thread_local measurement *own;

void hri_measure_sign(void)
{
    if (own != NULL) {
        atomic_fetch_add(&own->signs, 1);
    }
}

static void measurement_free(measurement *m)
{
    pthread_mutex_destroy(&m->lock);
    pthread_cond_destroy(&m->changed);
    free(m);
}

static void *measurement_main(void *argument)
{
    measurement *m = argument;
    own = m;
    hr_status status = m->function(m->job);
    own = NULL;
    pthread_mutex_lock(&m->lock);
    hri_error_keep(&m->error, status);
    m->ended = true;
    const bool left = m->left;
    pthread_cond_signal(&m->changed);
    pthread_mutex_unlock(&m->lock);
    if (left) {
        measurement_free(m);
    }
    return NULL;
}

/* Wait for the end. Returns 0, or the seconds in which there was no sign of
 * work, when they are too many. A time in which this thread had no CPU, or the
 * process was stopped, hardly counts. */
static double await(measurement *m)
{
    enum { LOOK_MS = 1000 };
    const uint64_t most_ns = 2 * LOOK_MS * UINT64_C(1000000);
    uint64_t silent_ns = 0, signs = 0;
    uint64_t last_ns = hri_clock_ns(), cpu_ns = hri_clock_cpu_ns();
    bool hangs = false;
    pthread_mutex_lock(&m->lock);
    while (!m->ended && !hangs) {
        if (hri_wait_until(&m->changed, &m->lock, hri_in_ms(LOOK_MS))) {
            continue;
        }
        const uint64_t now_ns = hri_clock_ns(), passed_ns = now_ns - last_ns;
        last_ns = now_ns;
        if (m->signs != signs) {
            signs = m->signs;
            silent_ns = 0;
            cpu_ns = hri_clock_cpu_ns();
        }
        silent_ns += passed_ns < most_ns ? passed_ns : most_ns;
        const bool works =
            (double)(hri_clock_cpu_ns() - cpu_ns) > idle * (double)silent_ns;
        hangs =
            (double)silent_ns * 1e-9 > (works ? longest_work : longest_silence);
    }
    m->left = !m->ended;
    const double silent = m->ended ? 0.0 : (double)silent_ns * 1e-9;
    pthread_mutex_unlock(&m->lock);
    return silent;
}

static hr_status lose(hri_accelerator *const *accelerators, uint32_t count,
                      double silent)
{
    hr_status status = HR_OK;
    for (uint32_t i = 0; i < count; i++) {
        status = hri_accelerator_note_status(
            accelerators[i],
            hri_fail(HR_ERROR_LOST,
                     "measuring: %s has not answered for %.0f seconds",
                     accelerators[i]->path, silent));
    }
    return status;
}

/* Measure on a thread, or on this one where the system has none. */
static hr_status measure(hri_accelerator *const *accelerators, uint32_t count,
                         measurement *m, void *job, size_t bytes)
{
    hri_thread *thread =
        hri_threads_start(&accelerators[0]->threads, measurement_main, m);
    const double silent = thread != NULL ? await(m) : 0.0;
    if (silent > 0.0) {
        hri_thread_leave(thread);
        return lose(accelerators, count, silent);
    }
    if (thread != NULL) {
        hri_thread_join(thread);
    } else {
        (void)measurement_main(m);
    }
    const hri_error error = m->error;
    memcpy(job, m->job, bytes);
    measurement_free(m);
    return hri_error_raise(&error);
}

hr_status hri_measure(hri_accelerator *const *accelerators, uint32_t count,
                      hr_status (*function)(void *job), void *job, size_t bytes)
{
    if (own != NULL) {
        return function(job);
    }
    for (uint32_t i = 0; i < count; i++) {
        HRI_TRY(hri_accelerator_check(accelerators[i]));
    }
    measurement *m = calloc(1, sizeof *m + bytes);
    if (m == NULL) {
        return hri_fail(HR_ERROR_OUT_OF_MEMORY, "measuring: out of memory");
    }
    m->function = function;
    memcpy(m->job, job, bytes);
    pthread_mutex_init(&m->lock, NULL);
    pthread_cond_init(&m->changed, NULL);
    const uint64_t begin_ns = hri_clock_ns();
    for (uint32_t i = 0; i < count; i++) {
        hri_traced_begin_measuring(accelerators[i]->device);
    }
    const hr_status status = measure(accelerators, count, m, job, bytes);
    for (uint32_t i = 0; i < count; i++) {
        hri_traced_end_measuring(accelerators[i]->device);
    }
    hri_traced_write_here(accelerators[0]->device, HRI_TRACE_MEASURE,
                          "measuring", begin_ns, 0);
    return status;
}

/* ---- single jobs */

void hri_stopwatch_close(hri_stopwatch *w)
{
    if (w->queue != NULL) {
        w->queue->ops->destroy(w->queue);
    }
    if (w->start != NULL) {
        w->start->ops->destroy(w->start);
    }
    if (w->end != NULL) {
        w->end->ops->destroy(w->end);
    }
    hri_accelerator_trim(w->accelerator);
}

static hr_status open_queue(hri_stopwatch *w)
{
    hri_device *device = w->accelerator->device;
    HRI_TRY(device->ops->create_queue(device, false, &w->queue));
    w->queue->name = hri_measure_name;
    HRI_TRY(device->ops->create_event(device, true, &w->start));
    return device->ops->create_event(device, true, &w->end);
}

hr_status hri_stopwatch_open(hri_accelerator *accelerator, hri_stopwatch *w)
{
    *w = (hri_stopwatch){.accelerator = accelerator};
    /* memory that kept queues hold for multiplying would be counted twice */
    hri_accelerator_discard(accelerator);
    const hr_status status = open_queue(w);
    if (status != HR_OK) {
        hri_stopwatch_close(w);
    }
    return status;
}

hr_status hri_stopwatch_take(hri_stopwatch *w, int place, uint64_t bytes,
                             bool host)
{
    hri_place *p = &w->places[place];
    hri_measure_sign();
    return host ? hri_accelerator_allocate_pinned(w->accelerator, bytes,
                                                  &p->host)
                : hri_accelerator_allocate(w->accelerator, bytes, &p->buffer);
}

hr_status hri_stopwatch_clear(hri_stopwatch *w)
{
    hr_status status = w->queue->ops->finish(w->queue);
    for (int i = 0; i < 3; i++) {
        hri_accelerator_release(w->accelerator, w->places[i].buffer);
        hri_accelerator_release_pinned(w->accelerator, w->places[i].host);
        w->places[i] = (hri_place){0};
    }
    return status;
}

hr_status hri_stopwatch_time(const hri_stopwatch *w, const hri_gemm *gemm,
                             const hri_copy *copy, double *seconds)
{
    const hri_queue_ops *ops = w->queue->ops;
    uint64_t ns = 0;
    *seconds = 0.0;
    HRI_TRY(ops->record(w->queue, w->start));
    HRI_TRY(gemm != NULL ? ops->gemm(w->queue, gemm)
                         : ops->copy(w->queue, copy));
    HRI_TRY(ops->record(w->queue, w->end));
    HRI_TRY(w->end->ops->wait(w->end));
    HRI_TRY(w->start->ops->elapsed(w->start, w->end, &ns));
    *seconds = (double)ns * 1e-9;
    return HR_OK;
}

/* ---- the loop */

/* Run one try, timed by the job's clock or else by ours. */
static hr_status try_once(const hri_trial *trial, void *data, double *seconds)
{
    hri_measure_sign();
    const uint64_t start = hri_clock_ns();
    *seconds = 0.0;
    hr_status status = trial->run(data, seconds);
    if (*seconds <= 0.0) {
        *seconds = (double)(hri_clock_ns() - start + 1) * 1e-9;
    }
    return status;
}

enum { MIN_TRIES = 3, MAX_TRIES = 10, FEW_TRIES = 2 };

/* Run a few tries and take the shortest. Short jobs are tried more often. Adds
 * the seconds of all to *spent. */
static hr_status try_size(const hri_trial *trial, void *data, double *best,
                          double *spent)
{
    const double enough = 10e-3;
    double sum = 0.0;
    for (int i = 0; i < MAX_TRIES && (i < MIN_TRIES || sum < enough); i++) {
        if (i == FEW_TRIES && trial->work != NULL &&
            *spent + *best > trial->most_seconds) {
            break;
        }
        double seconds;
        HRI_TRY(try_once(trial, data, &seconds));
        *best = i == 0 || seconds < *best ? seconds : *best;
        sum += seconds;
        *spent += seconds;
    }
    return HR_OK;
}

/* What is known while sizes grow. */
typedef struct growth {
    hri_probed last; /* the last size; 0: none */
    double rate;     /* of its work */
    double before;   /* of the size before; 0: that did not take long enough */
    double spent;    /* the seconds of all tries */
} growth;

static double rate_of(const hri_trial *trial, const void *data,
                      const hri_probed *p)
{
    return trial->work != NULL && p->size > 0
               ? trial->work(data, p->size) / p->seconds
               : 0.0;
}

/* Whether the rate has not settled and there is time for the next size. What
 * that takes is not known while threads only begin to work, so at first sizes
 * grow in any case. */
static bool is_rising(const hri_trial *trial, const void *data, const growth *g)
{
    const double same = 0.05, begin = trial->most_seconds / 4;
    if (trial->work == NULL || fabs(g->rate - g->before) <= same * g->rate) {
        return false;
    }
    const double next = trial->work(data, g->last.size * trial->growth);
    return g->spent <= begin ||
           g->spent + FEW_TRIES * next / g->rate <= trial->most_seconds;
}

static bool wants_more(const hri_trial *trial, const void *data,
                       const growth *g)
{
    return g->last.size == 0 || g->last.seconds < trial->enough ||
           is_rising(trial, data, g);
}

static void note(const hri_trial *trial, const void *data, growth *g,
                 const hri_probed *one, hri_probed *found)
{
    g->before = g->last.seconds >= trial->enough ? g->rate : 0.0;
    g->last = *one;
    g->rate = rate_of(trial, data, one);
    if (trial->work == NULL || g->rate > rate_of(trial, data, found)) {
        *found = *one;
    }
}

static hr_status probe_size(const hri_trial *trial, void *data, hri_probed *one,
                            double *spent)
{
    if (trial->prepare != NULL) {
        HRI_TRY(trial->prepare(data, one->size));
    }
    return try_size(trial, data, &one->seconds, spent);
}

static hr_status probe_sizes(const hri_trial *trial, void *data,
                             hri_probed *found)
{
    growth g = {.spent = 0.0};
    for (int64_t size = trial->first;
         size <= trial->most && wants_more(trial, data, &g);
         size *= trial->growth) {
        hri_probed one = {.size = size};
        const hr_status status = probe_size(trial, data, &one, &g.spent);
        const hr_status finished =
            trial->finish != NULL ? trial->finish(data) : HR_OK;
        HRI_TRY(status);
        HRI_TRY(finished);
        note(trial, data, &g, &one, found);
    }
    return HR_OK;
}

hr_status hri_probe(const hri_trial *trial, void *data, hri_probed *found)
{
    *found = (hri_probed){0};
    const hr_status status = probe_sizes(trial, data, found);
    found->settled = status == HR_OK && found->size > 0;
    return status == HR_ERROR_OUT_OF_MEMORY ? HR_OK : status;
}
