/* SPDX-License-Identifier: MIT */
#include "model/probe.h"

#include "base/clock.h"

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

hr_status hri_stopwatch_open(hri_accelerator *accelerator, hri_stopwatch *w)
{
    hri_device *device = accelerator->device;
    *w = (hri_stopwatch){.accelerator = accelerator};
    /* memory that kept queues hold for multiplying would be counted twice */
    hri_accelerator_forget(accelerator);
    hr_status status = device->ops->create_queue(device, false, &w->queue);
    if (status == HR_OK) {
        status = device->ops->create_event(device, &w->start);
    }
    if (status == HR_OK) {
        status = device->ops->create_event(device, &w->end);
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

/* Run a few tries and take the shortest. Short jobs are tried more often. */
static hr_status try_size(const hri_trial *trial, void *data, double *best)
{
    enum { MIN_TRIES = 3, MAX_TRIES = 10 };
    const double enough = 10e-3;
    double sum = 0.0;
    for (int i = 0; i < MAX_TRIES && (i < MIN_TRIES || sum < enough); i++) {
        double seconds;
        hr_status status = try_once(trial, data, &seconds);
        if (status != HR_OK) {
            return status;
        }
        *best = i == 0 || seconds < *best ? seconds : *best;
        sum += seconds;
    }
    return HR_OK;
}

hr_status hri_probe(const hri_trial *trial, void *data, hri_probed *found)
{
    hr_status status = HR_OK;
    *found = (hri_probed){0};
    for (int64_t size = trial->first;
         size <= trial->most &&
         (found->size == 0 || found->seconds < trial->enough) &&
         status == HR_OK;
         size *= trial->growth) {
        double best = 0.0;
        status = trial->prepare != NULL ? trial->prepare(data, size) : HR_OK;
        if (status == HR_OK) {
            status = try_size(trial, data, &best);
        }
        const hr_status finished =
            trial->finish != NULL ? trial->finish(data) : HR_OK;
        status = status == HR_OK ? finished : status;
        if (status == HR_OK) {
            found->size = size;
            found->seconds = best;
        }
    }
    found->settled = status == HR_OK && found->size > 0;
    return status == HR_ERROR_OUT_OF_MEMORY ? HR_OK : status;
}
