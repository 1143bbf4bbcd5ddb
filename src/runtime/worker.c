/* SPDX-License-Identifier: MIT */
#include "runtime/worker.h"

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
