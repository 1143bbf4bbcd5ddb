/* SPDX-License-Identifier: MIT */
/* Commands of a stream, as its queue runs them, and what the queue then waits
 * for. */
#include "runtime/stream.h"

static hr_status run_launch(hri_stream *s, const hri_launch *launch)
{
    hri_deferral *deferral = &s->accelerator->deferral;
    if (!s->defers) { /* then the context's lock is held */
        return s->queue->ops->launch(s->queue, launch);
    }
    pthread_mutex_lock(&deferral->launches);
    hr_status status = s->queue->ops->launch(s->queue, launch);
    pthread_mutex_unlock(&deferral->launches);
    return status;
}

void hri_stream_forget_waits(hri_stream *s)
{
    for (int i = 0; i < HRI_FENCES_BEFORE; i++) {
        hri_fence_drop(s->before[i]);
        s->before[i] = NULL;
    }
}

void hri_stream_set_busy(hri_stream *s)
{
    s->busy = true;
    hri_stream_forget_waits(s);
}

/* The queue waits for the fence. */
static void note_wait(hri_stream *s, hri_fence *fence)
{
    bool done = false;
    int i = 0;
    if (!s->defers || s->busy ||
        (fence->event->ops->query(fence->event, &done) == HR_OK && done)) {
        return;
    }
    while (i < HRI_FENCES_BEFORE && s->before[i] != NULL) {
        i++;
    }
    if (i == HRI_FENCES_BEFORE) {
        hri_stream_set_busy(s);
        return;
    }
    hri_fence_hold(fence);
    s->before[i] = fence;
}

hr_status hri_stream_await_link(hri_stream *s)
{
    if (s->busy) {
        HRI_TRY(s->queue->ops->finish(s->queue));
    }
    for (int i = 0; i < HRI_FENCES_BEFORE && s->before[i] != NULL; i++) {
        HRI_TRY(s->before[i]->event->ops->wait(s->before[i]->event));
    }
    hri_stream_forget_waits(s);
    s->busy = false;
    return HR_OK;
}

/* An error that the driver does not know is kept and told later. */
static hr_status run_wait(hri_stream *s, hri_fence *fence)
{
    hri_fence_await_record(fence);
    if (fence->error.status != HR_OK) {
        hri_error_keep(&s->error, hri_error_raise(&fence->error));
        return HR_OK;
    }
    if (fence->event == NULL) {
        return HR_OK;
    }
    note_wait(s, fence);
    return s->queue->ops->wait(s->queue, fence->event);
}

hr_status hri_command_run(hri_stream *s, const hri_command *c)
{
    if (s->error.status != HR_OK && c->kind < HRI_COMMAND_RECORD) {
        return HR_OK;
    }
    switch (c->kind) {
    case HRI_COMMAND_COPY:
        hri_stream_set_busy(s);
        return s->queue->ops->copy(s->queue, c->copy);
    case HRI_COMMAND_STAGED_COPY:
        break;
    case HRI_COMMAND_LAUNCH:
        hri_stream_set_busy(s);
        return run_launch(s, c->launch);
    case HRI_COMMAND_RECORD:
        return s->queue->ops->record(s->queue, c->fence->event);
    case HRI_COMMAND_WAIT:
        return run_wait(s, c->fence);
    }
    return HR_OK;
}
