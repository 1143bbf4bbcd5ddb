/* SPDX-License-Identifier: MIT */
#include <headrace/trace.h>

#include "arrays/array.h"
#include "base/arithmetic.h"
#include "flow/flow.h"
#include "runtime/stream.h"
#include "trace/traced.h"

/* Trace the queue of a stream that was there before. NULL is accepted. */
static hr_status trace_stream(const hri_stream *stream)
{
    return stream == NULL ? HR_OK : hri_traced_queue(stream->queue);
}

static hr_status trace_accelerator(const hri_accelerator *a, hri_trace *trace)
{
    HRI_TRY(hri_traced_begin(a->device, trace, a->path));
    for (int i = 0; i < HRI_QUEUES; i++) {
        if (a->queues[i] != NULL) {
            HRI_TRY(hri_traced_queue(a->queues[i]));
        }
    }
    HRI_TRY(trace_stream(a->copy_queue));
    return trace_stream(a->default_queue.stream);
}

static hr_status begin_trace(hr_context *context, const char *path)
{
    HRI_TRY(hri_trace_hold(path, &context->trace));
    for (uint32_t i = 0; i < context->accelerator_count; i++) {
        HRI_TRY(trace_accelerator(&context->accelerators[i], context->trace));
    }
    for (struct hr_queue *q = context->queues; q != NULL; q = q->next) {
        HRI_TRY(trace_stream(q->stream));
    }
    return HR_OK;
}

static hr_status end_trace(hr_context *context)
{
    for (uint32_t i = 0; i < context->accelerator_count; i++) {
        hri_traced_end(context->accelerators[i].device);
    }
    hri_trace *trace = context->trace;
    context->trace = NULL;
    return hri_trace_drop(trace);
}

static void undo_trace(void *context)
{
    (void)end_trace(context);
}

/* End the trace, and begin another one unless path is NULL. The context's lock
 * is held. */
static hr_status change_trace(hr_context *context, const char *path)
{
    const bool first = context->accelerator_count > 0 &&
                       context->accelerators[0].device->traced == NULL;
    HRI_TRY(hri_runs_settle(context, "trace",
                            HRI_RUNS_PATIENCE * context->patience));
    HRI_TRY(end_trace(context));
    const hr_status status = path != NULL ? begin_trace(context, path) : HR_OK;
    if (status != HR_OK) {
        hri_keep_message(undo_trace, context);
        for (uint32_t i = 0; i < context->accelerator_count && first; i++) {
            hri_traced_close(context->accelerators[i].device);
        }
    }
    return status;
}

hr_status hr_context_trace(hr_context *context, const char *path)
{
    HRI_USUAL_ARITHMETIC;
    if (context == NULL || (path != NULL && path[0] == '\0')) {
        return hri_fail(HR_ERROR_INVALID, "trace: the %s",
                        context == NULL ? "context is NULL" : "path is empty");
    }
    pthread_mutex_lock(&context->lock);
    const hr_status status = change_trace(context, path);
    pthread_mutex_unlock(&context->lock);
    return status;
}
