/* SPDX-License-Identifier: MIT */
#include "runtime/worker.h"

#include <math.h>
#include <stdlib.h>

void hri_accelerator_drop_worker(hri_accelerator *accelerator)
{
    hri_worker *w = accelerator->worker;
    if (w == NULL) {
        return;
    }
    hri_fence_drop(w->last);
    hri_fence_drop(w->start);
    if (w->stream != NULL) {
        hri_stream_forget(w->stream);
        hri_stream_destroy(w->stream);
    }
    while (w->paces != NULL) {
        hri_pace *pace = w->paces;
        w->paces = pace->next;
        free(pace);
    }
    free(w);
    accelerator->worker = NULL;
}

static hr_status create(hri_accelerator *accelerator)
{
    hri_worker *w = calloc(1, sizeof *w);
    if (w == NULL) {
        return hri_fail(HR_ERROR_OUT_OF_MEMORY, "%s: no memory for a worker",
                        accelerator->path);
    }
    accelerator->worker = w;
    hr_status status = hri_stream_create(accelerator, false, &w->stream);
    if (status != HR_OK) {
        hri_accelerator_drop_worker(accelerator);
    }
    return status;
}

hr_status hri_accelerator_worker(hri_accelerator *accelerator)
{
    bool done;
    const hri_worker *w = accelerator->worker;
    if (w != NULL && w->last != NULL &&
        hri_fence_query(w->last, &done) != HR_OK) {
        hri_accelerator_drop_worker(accelerator);
    }
    return accelerator->worker == NULL ? create(accelerator) : HR_OK;
}

hr_status hri_worker_fence(hri_accelerator *accelerator)
{
    hri_worker *w = accelerator->worker;
    hri_fence *fence = NULL;
    hr_status status = hri_fence_create_recorded(w->stream, &fence);
    if (status == HR_OK) {
        hri_fence_drop(w->last);
        w->last = fence;
    }
    return status;
}

/* ---- paces */

static hri_pace *find(const hri_worker *w, const hr_kernel *kernel,
                      int64_t points)
{
    hri_pace *pace = w->paces;
    while (pace != NULL && (pace->kernel != kernel || pace->points != points)) {
        pace = pace->next;
    }
    return pace;
}

/* One launch may meet new pages, cold caches or other programs, so two count.
 * Small differences are none: with every other pace bands would move, and their
 * rows with them. */
static void note(hri_pace *pace, double seconds)
{
    const double least_difference = 0.1;
    const double lesser = fmin(seconds, pace->last);
    if (pace->last > 0 &&
        fabs(lesser - pace->seconds) > least_difference * pace->seconds) {
        pace->seconds = lesser;
    }
    pace->last = seconds;
}

/* Take note of the launch that is timed, if it is done. */
static void learn(hri_worker *w)
{
    uint64_t ns = 0;
    bool done = false;
    if (w->timed == NULL || w->start == NULL || w->last == NULL ||
        hri_fence_query(w->last, &done) != HR_OK || !done) {
        return;
    }
    if (hri_fence_elapsed(w->start, w->last, &ns) == HR_OK && ns > 0) {
        note(w->timed, (double)ns * 1e-9 / w->rows);
    }
    w->timed = NULL;
}

double hri_accelerator_pace(hri_accelerator *accelerator,
                            const hr_kernel *kernel, int64_t points)
{
    hri_worker *w = accelerator->worker;
    if (w == NULL) {
        return 0;
    }
    learn(w);
    const hri_pace *pace = find(w, kernel, points);
    return pace != NULL ? pace->seconds : 0;
}

hr_status hri_worker_time(hri_accelerator *accelerator, const hr_kernel *kernel,
                          int64_t points, double rows, hri_fence ***start)
{
    hri_worker *w = accelerator->worker;
    learn(w);
    hri_pace *pace = find(w, kernel, points);
    if (pace == NULL) {
        pace = malloc(sizeof *pace);
        if (pace == NULL) {
            return hri_fail(HR_ERROR_OUT_OF_MEMORY, "%s: no memory for a pace",
                            accelerator->path);
        }
        *pace = (hri_pace){kernel, points, 0, 0, w->paces};
        w->paces = pace;
    }
    w->timed = pace;
    w->rows = rows;
    hri_fence_drop(w->start);
    w->start = NULL;
    *start = &w->start;
    return HR_OK;
}
