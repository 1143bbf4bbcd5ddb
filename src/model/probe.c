/* SPDX-License-Identifier: MIT */
#include "model/probe.h"

#include <math.h>

#include "base/clock.h"
#include "runtime/trace.h"

uint64_t hri_measure_begin(hri_accelerator *const *accelerators, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        hri_traced_measure(accelerators[i]->device);
    }
    return hri_clock_ns();
}

void hri_measure_end(hri_accelerator *const *accelerators, uint32_t count,
                     uint64_t begin_ns)
{
    for (uint32_t i = 0; i < count; i++) {
        hri_traced_measured(accelerators[i]->device);
    }
    hri_traced_here(accelerators[0]->device, HRI_TRACE_MEASURE, "measuring",
                    begin_ns, 0);
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
    hri_measure_end(&w->accelerator, 1, w->begin_ns);
}

hr_status hri_stopwatch_open(hri_accelerator *accelerator, hri_stopwatch *w)
{
    hri_device *device = accelerator->device;
    *w = (hri_stopwatch){.accelerator = accelerator,
                         .begin_ns = hri_measure_begin(&accelerator, 1)};
    /* memory that kept queues hold for multiplying would be counted twice */
    hri_accelerator_forget(accelerator);
    hr_status status = device->ops->create_queue(device, false, &w->queue);
    if (status == HR_OK) {
        w->queue->name = hri_measure_name;
        status = device->ops->create_event(device, true, &w->start);
    }
    if (status == HR_OK) {
        status = device->ops->create_event(device, true, &w->end);
    }
    if (status != HR_OK) {
        hri_stopwatch_close(w);
    }
    return status;
}

hr_status hri_stopwatch_take(hri_stopwatch *w, int place, uint64_t bytes,
                             bool host)
{
    hri_place *p = &w->places[place];
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
    hr_status status = ops->record(w->queue, w->start);
    if (status == HR_OK) {
        status = gemm != NULL ? ops->gemm(w->queue, gemm)
                              : ops->copy(w->queue, copy);
    }
    if (status == HR_OK) {
        status = ops->record(w->queue, w->end);
    }
    if (status == HR_OK) {
        status = w->end->ops->wait(w->end);
    }
    if (status == HR_OK) {
        status = w->start->ops->elapsed(w->start, w->end, &ns);
    }
    *seconds = (double)ns * 1e-9;
    return status;
}

/* ---- the loop */

/* Run one try, timed by the job's clock or else by ours. */
static hr_status try_once(const hri_trial *trial, void *data, double *seconds)
{
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
        hr_status status = try_once(trial, data, &seconds);
        if (status != HR_OK) {
            return status;
        }
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

hr_status hri_probe(const hri_trial *trial, void *data, hri_probed *found)
{
    hr_status status = HR_OK;
    growth g = {.spent = 0.0};
    *found = (hri_probed){0};
    for (int64_t size = trial->first;
         size <= trial->most && status == HR_OK && wants_more(trial, data, &g);
         size *= trial->growth) {
        hri_probed one = {.size = size};
        status = trial->prepare != NULL ? trial->prepare(data, size) : HR_OK;
        if (status == HR_OK) {
            status = try_size(trial, data, &one.seconds, &g.spent);
        }
        const hr_status finished =
            trial->finish != NULL ? trial->finish(data) : HR_OK;
        status = status == HR_OK ? finished : status;
        if (status == HR_OK) {
            note(trial, data, &g, &one, found);
        }
    }
    found->settled = status == HR_OK && found->size > 0;
    return status == HR_ERROR_OUT_OF_MEMORY ? HR_OK : status;
}
