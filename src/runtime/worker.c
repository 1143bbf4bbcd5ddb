/* SPDX-License-Identifier: MIT */
#include "runtime/worker.h"

#include <math.h>
#include <stdlib.h>

#include "runtime/relay.h"

void hri_accelerator_drop_worker(hri_accelerator *accelerator)
{
    hri_worker *w = accelerator->worker;
    if (w == NULL) {
        return;
    }
    hri_mark_drop(w->last);
    if (w->queue != NULL) {
        hri_queue_forget(w->queue);
        w->queue->ops->destroy(w->queue);
    }
    if (w->start != NULL) {
        w->start->ops->destroy(w->start);
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
    hr_status status = hri_queue_create(accelerator, false, &w->queue);
    if (status == HR_OK) {
        status = hri_relay_event_create(accelerator, &w->start);
    }
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
        hri_mark_query(w->last, &done) != HR_OK) {
        hri_accelerator_drop_worker(accelerator);
    }
    return accelerator->worker == NULL ? create(accelerator) : HR_OK;
}

hr_status hri_worker_mark(hri_accelerator *accelerator)
{
    hri_worker *w = accelerator->worker;
    hri_mark *mark = NULL;
    hr_status status = hri_mark_record(accelerator, w->queue, &mark);
    if (status != HR_OK) {
        hri_queue_settle(w->queue);
        return status;
    }
    hri_mark_drop(w->last);
    w->last = mark;
    return HR_OK;
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
    if (w->timed == NULL || w->last == NULL ||
        hri_mark_query(w->last, &done) != HR_OK || !done) {
        return;
    }
    hri_event *end = w->last->event;
    if (w->start->ops->elapsed(w->start, end, &ns) == HR_OK && ns > 0) {
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
                          int64_t points, double rows, hri_event **start)
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
    *start = w->start;
    return HR_OK;
}
