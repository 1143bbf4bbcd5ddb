/* SPDX-License-Identifier: MIT */
/* Queues: streams that do not wait for the default one. The first error of a
 * queue is sticky: what comes later is skipped, finish and the events report
 * it. */
#include <stdlib.h>

#include "backends/cuda/cuda.h"

hr_status hri_cuda_queue_error(hri_cuda_queue *queue)
{
    return queue->capturing ? hri_error_raise(&queue->graph_error)
                            : hri_sticky_raise(queue->sticky);
}

hr_status hri_cuda_queue_keep(hri_cuda_queue *queue, hr_status status)
{
    if (!queue->capturing) {
        return hri_sticky_keep(queue->sticky, status);
    }
    if (status != HR_OK) {
        hri_error_keep(&queue->graph_error, status);
    }
    return status;
}

/* The driver is not asked: its capture would be spoilt, or take more than can
 * be run again. */
hr_status hri_cuda_queue_error_outside(hri_cuda_queue *queue, const char *what)
{
    if (!queue->capturing) {
        return hri_sticky_raise(queue->sticky);
    }
    return hri_cuda_queue_keep(
        queue,
        hri_fail(HR_ERROR_INVALID, "%s: %s between begin and end of a graph",
                 queue->unit->path, what));
}

static void queue_destroy(hri_queue *base)
{
    hri_cuda_queue *queue = (hri_cuda_queue *)base;
    if (queue == NULL) {
        return;
    }
    if (queue->stream != NULL && hri_cuda_enter(queue->unit) == CU_SUCCESS) {
        hri_cuda.cuStreamSynchronize(queue->stream);
        hri_cuda.cuStreamDestroy_v2(queue->stream);
        hri_cuda_leave();
    }
    hri_cublas_give_back(queue);
    hri_sticky_drop(queue->sticky);
    free(queue);
}

static hr_status queue_copy(hri_queue *base, const hri_copy *copy)
{
    hri_cuda_queue *queue = (hri_cuda_queue *)base;
    const hri_buffer *to = copy->to.buffer, *from = copy->from.buffer;
    const bool local = to != NULL && to->device == base->device &&
                       from != NULL && from->device == base->device;
    hr_status status =
        local ? hri_cuda_queue_error(queue)
              : hri_cuda_queue_error_outside(
                    queue, "a copy from or to memory not of the device");
    return status == HR_OK
               ? hri_cuda_queue_keep(queue, hri_cuda_copy(queue, copy))
               : status;
}

static hr_status queue_fill(hri_queue *base, hri_buffer *buffer, size_t offset,
                            size_t bytes, uint8_t value)
{
    hri_cuda_queue *queue = (hri_cuda_queue *)base;
    const hri_place place = hri_at(buffer, offset);
    hr_status status = hri_cuda_queue_error(queue);
    if (status != HR_OK || bytes == 0) {
        return status;
    }
    cu_result error = hri_cuda_enter(queue->unit);
    if (error == CU_SUCCESS) {
        error = hri_cuda.cuMemsetD8Async(hri_cuda_address(&place), value, bytes,
                                         queue->stream);
        hri_cuda_leave();
    }
    return hri_cuda_queue_keep(
        queue, hri_cuda_check(queue->unit->path, error, "cuMemsetD8Async"));
}

static hr_status queue_gemm(hri_queue *base, const hri_gemm *gemm)
{
    hri_cuda_queue *queue = (hri_cuda_queue *)base;
    hr_status status = hri_cuda_queue_error_outside(queue, "a product");
    return status == HR_OK
               ? hri_cuda_queue_keep(queue, hri_cuda_gemm(queue, gemm))
               : status;
}

static hr_status queue_turn(hri_queue *base, const hri_turn *turn)
{
    hri_cuda_queue *queue = (hri_cuda_queue *)base;
    hr_status status =
        hri_cuda_queue_error_outside(queue, "a matrix is turned about");
    if (status != HR_OK) {
        return status;
    }
    cu_result error = hri_cuda_enter(queue->unit);
    status = hri_cuda_check(queue->unit->path, error, "cuCtxPushCurrent");
    if (status == HR_OK) {
        status = hri_cublas_turn(queue, turn);
        hri_cuda_leave();
    }
    return hri_cuda_queue_keep(queue, status);
}

static hr_status queue_launch(hri_queue *base, const hri_launch *launch)
{
    hri_cuda_queue *queue = (hri_cuda_queue *)base;
    hr_status status = hri_cuda_queue_error(queue);
    if (status == HR_OK) {
        status = hri_cuda_launch(queue, launch);
    }
    /* what is refused has not been enqueued: the queue goes on, but a graph
     * would lack it */
    return queue->capturing ? hri_cuda_queue_keep(queue, status) : status;
}

static hr_status queue_record(hri_queue *base, hri_event *event)
{
    hri_cuda_queue *queue = (hri_cuda_queue *)base;
    if (queue->capturing) {
        return hri_cuda_queue_error_outside(queue, "an event is recorded");
    }
    return hri_cuda_event_record((hri_cuda_event *)event, queue);
}

static hr_status queue_wait(hri_queue *base, hri_event *event)
{
    hri_cuda_queue *queue = (hri_cuda_queue *)base;
    if (queue->capturing) {
        return hri_cuda_queue_error_outside(queue, "an event is waited for");
    }
    return hri_cuda_event_await((hri_cuda_event *)event, queue);
}

static hr_status queue_finish(hri_queue *base)
{
    hri_cuda_queue *queue = (hri_cuda_queue *)base;
    if (queue->capturing) {
        return hri_cuda_queue_error_outside(queue, "the queue is finished");
    }
    cu_result error = hri_cuda_enter(queue->unit);
    if (error == CU_SUCCESS) {
        error = hri_cuda.cuStreamSynchronize(queue->stream);
        hri_cuda_leave();
    }
    hri_sticky_keep(queue->sticky, hri_cuda_check(queue->unit->path, error,
                                                  "cuStreamSynchronize"));
    return hri_sticky_raise(queue->sticky);
}

static const hri_queue_ops queue_ops = {
    .destroy = queue_destroy,
    .copy = queue_copy,
    .fill = queue_fill,
    .gemm = queue_gemm,
    .turn = queue_turn,
    .launch = queue_launch,
    .record = queue_record,
    .wait = queue_wait,
    .finish = queue_finish,
    .begin_graph = hri_cuda_graph_begin,
    .end_graph = hri_cuda_graph_end,
    .run_graph = hri_cuda_graph_run,
};

/* The unit's context is current. */
static cu_result create_stream(bool urgent, cu_stream *stream)
{
    int least, greatest;
    if (urgent && hri_cuda.cuStreamCreateWithPriority != NULL &&
        hri_cuda.cuCtxGetStreamPriorityRange != NULL &&
        hri_cuda.cuCtxGetStreamPriorityRange(&least, &greatest) == CU_SUCCESS) {
        return hri_cuda.cuStreamCreateWithPriority(
            stream, CU_STREAM_NON_BLOCKING, greatest);
    }
    return hri_cuda.cuStreamCreate(stream, CU_STREAM_NON_BLOCKING);
}

hr_status hri_cuda_queue_create(hri_device *device, bool urgent,
                                hri_queue **out)
{
    hri_cuda_unit *unit = ((hri_cuda_device *)device)->unit;
    hri_cuda_queue *queue = calloc(1, sizeof *queue);
    if (queue == NULL) {
        return hri_no_memory(unit->path);
    }
    queue->base = (hri_queue){.ops = &queue_ops, .device = device};
    queue->unit = unit;
    hr_status status = hri_sticky_create(unit->path, &queue->sticky);
    if (status == HR_OK) {
        cu_result error = hri_cuda_enter(unit);
        if (error == CU_SUCCESS) {
            error = create_stream(urgent, &queue->stream);
            hri_cuda_leave();
        }
        status = hri_cuda_check(unit->path, error, "cuStreamCreate");
    }
    if (status != HR_OK) {
        queue_destroy(&queue->base);
        return status;
    }
    *out = &queue->base;
    return HR_OK;
}
