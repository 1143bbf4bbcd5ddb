/* SPDX-License-Identifier: MIT */
#include "runtime/worker.h"

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
