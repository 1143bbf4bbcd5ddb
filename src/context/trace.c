/* SPDX-License-Identifier: MIT */
#include <headrace/trace.h>

#include "arrays/array.h"
#include "base/arithmetic.h"
#include "flow/flow.h"
#include "runtime/stream.h"
#include "runtime/trace.h"

/* Trace a queue that was there before. */
static hr_status add(hri_queue *queue)
{
    return queue->track != NULL ? HR_OK : hri_traced_queue(queue);
}

static hr_status add_stream(hri_stream *stream)
{
    return stream == NULL ? HR_OK : add(stream->queue);
}

static hr_status begin(hri_accelerator *a, hri_trace *trace)
{
    hr_status status = hri_traced_begin(a->device, trace, a->path);
    for (int i = 0; i < HRI_QUEUES && status == HR_OK; i++) {
        if (a->queues[i] != NULL) {
            status = add(a->queues[i]);
        }
    }
    if (status == HR_OK) {
        status = add_stream(a->copy_queue);
    }
    return status == HR_OK ? add_stream(a->default_queue.stream) : status;
}

static hr_status end(hr_context *context)
{
    for (uint32_t i = 0; i < context->accelerator_count; i++) {
        hri_traced_end(context->accelerators[i].device);
    }
    hri_trace *trace = context->trace;
    context->trace = NULL;
    return hri_trace_drop(trace);
}

hr_status hr_context_trace(hr_context *context, const char *path)
{
    HRI_USUAL_ARITHMETIC;
    if (context == NULL || (path != NULL && path[0] == '\0')) {
        return hri_fail(HR_ERROR_INVALID, "trace: the %s",
                        context == NULL ? "context is NULL" : "path is empty");
    }
    pthread_mutex_lock(&context->lock);
    const bool first = context->accelerator_count > 0 &&
                       context->accelerators[0].device->traced == NULL;
    hr_status status = hri_runs_settle(context, "trace",
                                       HRI_RUNS_PATIENCE * context->patience);
    if (status != HR_OK) {
        pthread_mutex_unlock(&context->lock);
        return status;
    }
    status = end(context);
    if (status == HR_OK && path != NULL) {
        status = hri_trace_hold(path, &context->trace);
    }
    for (uint32_t i = 0; i < context->accelerator_count && status == HR_OK &&
                         context->trace != NULL;
         i++) {
        status = begin(&context->accelerators[i], context->trace);
    }
    for (struct hr_queue *q = context->queues;
         q != NULL && status == HR_OK && context->trace != NULL; q = q->next) {
        status = add_stream(q->stream);
    }
    if (status != HR_OK) {
        hri_error kept = {0};
        hri_error_keep(&kept, status);
        (void)end(context);
        for (uint32_t i = 0; i < context->accelerator_count && first; i++) {
            hri_traced_close(context->accelerators[i].device);
        }
        status = hri_error_raise(&kept);
    }
    pthread_mutex_unlock(&context->lock);
    return status;
}
