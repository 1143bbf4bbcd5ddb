/* SPDX-License-Identifier: MIT */
/* Fences. There are three layers: a public hr_event holds each hri_fence that
 * it stands for, and a fence holds an hri_event of the HAL. A fence is recorded
 * once (stream.c), knows the error of its queue, and outlives it. The last
 * hri_fence_drop frees it. Launches on the same arrays record nothing
 * (stream.h). */
#include <stdlib.h>

#include "runtime/stream.h"
#include "trace/traced.h"

/* Give the event back. The fence then has none. */
static void give_event(hri_fence *fence)
{
    hri_events_give(fence->accelerator, fence->event);
    fence->event = NULL;
}

void hri_fence_hold(hri_fence *fence)
{
    atomic_fetch_add(&fence->holders, 1);
}

/* The event goes back to the pool at once: it may be recorded again before it
 * is done. */
void hri_fence_drop(hri_fence *fence)
{
    if (fence == NULL || atomic_fetch_sub(&fence->holders, 1) > 1) {
        return;
    }
    if (fence->pending != NULL) {
        fence->pending->pending = NULL;
    }
    give_event(fence);
    free(fence);
}

/* The threads of CPUs that compute do not wait awake for each other. */
hr_status hri_fence_wait(hri_fence *fence)
{
    const hri_device_info *info = &fence->accelerator->device->info;
    hri_fence_await_record(fence);
    hri_event *event = fence->event;
    if (event != NULL) {
        HRI_TRY(info->host || info->emulated
                    ? event->ops->wait(event)
                    : hri_event_wait_awake(event, hri_moment));
    }
    return hri_error_raise(&fence->error);
}

hr_status hri_fence_query(const hri_fence *fence, bool *done)
{
    bool passed = true;
    if (fence->pending != NULL || hri_fence_is_deferred(fence)) {
        *done = false;
        return HR_OK;
    }
    if (fence->event != NULL) {
        HRI_TRY(fence->event->ops->query(fence->event, &passed));
    }
    if (passed) {
        HRI_TRY(hri_error_raise(&fence->error));
    }
    *done = passed;
    return HR_OK;
}

hr_status hri_fence_elapsed(const hri_fence *from, const hri_fence *to,
                            uint64_t *ns)
{
    if (from->event == NULL || to->event == NULL) {
        return hri_fail(HR_ERROR_INVALID, "%s: a fence was never recorded",
                        from->accelerator->path);
    }
    return hri_event_elapsed(from->event, to->event, ns);
}

void hri_fence_await_record(hri_fence *fence)
{
    hri_deferral *deferral = &fence->accelerator->deferral;
    if (!hri_fence_is_deferred(fence)) {
        return;
    }
    pthread_mutex_lock(&deferral->lock);
    while (hri_fence_is_deferred(fence)) {
        pthread_cond_wait(&deferral->changed, &deferral->lock);
    }
    pthread_mutex_unlock(&deferral->lock);
}

void hri_fence_recorded(hri_fence *fence, const hri_error *error, bool failed)
{
    hri_deferral *deferral = &fence->accelerator->deferral;
    if (error->status != HR_OK) {
        fence->error = *error;
    }
    if (failed) {
        give_event(fence);
    }
    pthread_mutex_lock(&deferral->lock);
    atomic_store(&fence->deferred, false);
    pthread_cond_broadcast(&deferral->changed);
    pthread_mutex_unlock(&deferral->lock);
}
