/* SPDX-License-Identifier: MIT */
/* Queues: streams that do not wait for the default one. The first error of a
 * queue is sticky: later work is skipped, and finish and the events report the
 * error. */
#include <stdlib.h>

#include "backends/cuda/cuda.h"

static hr_status keep(hri_cuda_queue *queue, hr_status status)
{
    if (!queue->capturing) {
        return hri_sticky_keep(queue->sticky, status);
    }
    if (status != HR_OK) {
        hri_error_keep(&queue->graph_error, status);
    }
    return status;
}

/* A call that no graph can contain is not passed to the driver. Its capture
 * would be spoilt, or take up something that cannot be run again. */
hr_status hri_cuda_queue_error(hri_cuda_queue *queue, const char *outside)
{
    if (!queue->capturing) {
        return hri_sticky_raise(queue->sticky);
    }
    if (outside == NULL) {
        return hri_error_raise(&queue->graph_error);
    }
    return keep(queue, hri_fail(HR_ERROR_INVALID,
                                "%s: %s between begin and end of a graph",
                                queue->unit->path, outside));
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

/* A function that enqueues something. The unit's context is current. */
typedef hr_status command(hri_cuda_queue *queue, const void *data);

/* Call it unless the queue has failed, and keep its error. `outside` is as in
 * hri_cuda_queue_error. */
static hr_status enqueue(hri_queue *base, const char *outside, command *call,
                         const void *data)
{
    hri_cuda_queue *queue = (hri_cuda_queue *)base;
    hr_status status = hri_cuda_queue_error(queue, outside);
    if (status != HR_OK) {
        return status;
    }
    status = hri_cuda_check(queue->unit->path, hri_cuda_enter(queue->unit),
                            "cuCtxPushCurrent");
    if (status == HR_OK) {
        status = call(queue, data);
        hri_cuda_leave();
    }
    return keep(queue, status);
}

/* ---- copies */

/* Whether the driver takes the copy: it limits the pitch of 2-D and 3-D
 * copies. */
static bool takes(const void *queue, const hri_copy *c)
{
    const size_t most = ((const hri_cuda_queue *)queue)->unit->most_pitch;
    return c->to_pitch <= most && c->from_pitch <= most;
}

static cu_context context_of(const hri_place *place)
{
    return ((const hri_cuda_device *)place->buffer->device)->unit->context;
}

/* Whether the copy goes from one GPU to another. */
static bool crosses(const hri_copy *c)
{
    return c->to.buffer != NULL && c->from.buffer != NULL &&
           context_of(&c->to) != context_of(&c->from);
}

static cu_result submit_row(void *queue, const hri_copy *c)
{
    cu_stream stream = ((hri_cuda_queue *)queue)->stream;
    if (c->to.buffer == NULL) {
        return hri_cuda.cuMemcpyDtoHAsync_v2((char *)c->to.host + c->to.offset,
                                             hri_cuda_address(&c->from),
                                             c->width, stream);
    }
    if (c->from.buffer == NULL) {
        return hri_cuda.cuMemcpyHtoDAsync_v2(
            hri_cuda_address(&c->to),
            (const char *)c->from.host + c->from.offset, c->width, stream);
    }
    if (crosses(c)) {
        return hri_cuda.cuMemcpyPeerAsync(
            hri_cuda_address(&c->to), context_of(&c->to),
            hri_cuda_address(&c->from), context_of(&c->from), c->width, stream);
    }
    return hri_cuda.cuMemcpyDtoDAsync_v2(
        hri_cuda_address(&c->to), hri_cuda_address(&c->from), c->width, stream);
}

static cu_end_2d end_of_rows(const hri_place *place, size_t pitch)
{
    cu_end_2d end = {.pitch = pitch};
    if (place->buffer == NULL) {
        end.memory = CU_MEMORY_HOST;
        end.host = (char *)place->host + place->offset;
    } else {
        end.memory = CU_MEMORY_DEVICE;
        end.device = hri_cuda_address(place);
    }
    return end;
}

static cu_end_3d end_of_box(const hri_place *place, size_t pitch, size_t slice)
{
    cu_end_2d rows = end_of_rows(place, pitch);
    return (cu_end_3d){.memory = rows.memory,
                       .host = rows.host,
                       .device = rows.device,
                       .pitch = pitch,
                       .height = slice / pitch};
}

static cu_result submit_box(void *queue, const hri_copy *c)
{
    cu_stream stream = ((hri_cuda_queue *)queue)->stream;
    bool peers = crosses(c), slices = c->depth > 1;
    if (!peers && !slices) {
        const cu_copy_2d rows = {.from = end_of_rows(&c->from, c->from_pitch),
                                 .to = end_of_rows(&c->to, c->to_pitch),
                                 .width = c->width,
                                 .height = c->height};
        return hri_cuda.cuMemcpy2DAsync_v2(&rows, stream);
    }
    size_t from_slice = slices ? c->from_slice : c->from_pitch * c->height;
    size_t to_slice = slices ? c->to_slice : c->to_pitch * c->height;
    cu_copy_3d box = {.from = end_of_box(&c->from, c->from_pitch, from_slice),
                      .to = end_of_box(&c->to, c->to_pitch, to_slice),
                      .width = c->width,
                      .height = c->height,
                      .depth = c->depth};
    if (!peers) {
        return hri_cuda.cuMemcpy3DAsync_v2(&box, stream);
    }
    box.from.context = context_of(&c->from);
    box.to.context = context_of(&c->to);
    return hri_cuda.cuMemcpy3DPeerAsync(&box, stream);
}

static hr_status enqueue_copy(hri_cuda_queue *queue, const void *data)
{
    const hri_copy *copy = data;
    static const hri_copy_commands commands = {
        .takes = takes, .row = submit_row, .box = submit_box};
    if (hri_copy_is_empty(copy)) {
        return HR_OK;
    }
    return hri_cuda_check(queue->unit->path,
                          hri_copy_enqueue(&commands, queue, copy),
                          "enqueueing a copy");
}

static hr_status queue_copy(hri_queue *base, const hri_copy *copy)
{
    const hri_buffer *to = copy->to.buffer, *from = copy->from.buffer;
    const bool local = to != NULL && to->device == base->device &&
                       from != NULL && from->device == base->device;
    return enqueue(base,
                   local ? NULL : "a copy from or to memory not of the device",
                   enqueue_copy, copy);
}

/* ---- the functions of hri_queue_ops */

static hr_status queue_fill(hri_queue *base, hri_buffer *buffer, size_t offset,
                            size_t bytes, uint8_t value)
{
    hri_cuda_queue *queue = (hri_cuda_queue *)base;
    const hri_place place = hri_at(buffer, offset);
    hr_status status = hri_cuda_queue_error(queue, NULL);
    if (status != HR_OK || bytes == 0) {
        return status;
    }
    cu_result error = hri_cuda_enter(queue->unit);
    if (error == CU_SUCCESS) {
        error = hri_cuda.cuMemsetD8Async(hri_cuda_address(&place), value, bytes,
                                         queue->stream);
        hri_cuda_leave();
    }
    return keep(queue,
                hri_cuda_check(queue->unit->path, error, "cuMemsetD8Async"));
}

static hr_status queue_gemm(hri_queue *queue, const hri_gemm *gemm)
{
    return enqueue(queue, "a product", hri_cuda_gemm, gemm);
}

static hr_status queue_pack(hri_queue *queue, const hri_pack *pack)
{
    return enqueue(queue, "a matrix is packed", hri_cublas_pack, pack);
}

static hr_status queue_launch(hri_queue *base, const hri_launch *launch)
{
    hri_cuda_queue *queue = (hri_cuda_queue *)base;
    hr_status status = hri_cuda_queue_error(queue, NULL);
    if (status == HR_OK) {
        status = hri_cuda_launch(queue, launch);
    }
    /* a refused launch has not been enqueued, so the queue goes on; but a graph
     * would lack it, so the graph keeps the error */
    return queue->capturing ? keep(queue, status) : status;
}

static hr_status queue_finish(hri_queue *base)
{
    hri_cuda_queue *queue = (hri_cuda_queue *)base;
    if (queue->capturing) {
        return hri_cuda_queue_error(queue, "the queue is finished");
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

/* ---- graphs, which the driver captures from a stream */

typedef struct hri_cuda_graph {
    hri_graph base;
    cu_graph_exec exec;
} hri_cuda_graph;

static bool offered(void)
{
    return hri_cuda.cuStreamBeginCapture_v2 != NULL &&
           hri_cuda.cuStreamEndCapture != NULL &&
           hri_cuda.cuGraphInstantiateWithFlags != NULL &&
           hri_cuda.cuGraphUpload != NULL && hri_cuda.cuGraphLaunch != NULL &&
           hri_cuda.cuGraphExecDestroy != NULL &&
           hri_cuda.cuGraphDestroy != NULL;
}

void hri_cuda_graph_destroy(hri_graph *base)
{
    hri_cuda_graph *graph = (hri_cuda_graph *)base;
    if (graph == NULL) {
        return;
    }
    const hri_cuda_unit *unit = ((hri_cuda_device *)base->device)->unit;
    if (graph->exec != NULL && hri_cuda_enter(unit) == CU_SUCCESS) {
        hri_cuda.cuGraphExecDestroy(graph->exec);
        hri_cuda_leave();
    }
    free(graph);
}

/* The capture is a relaxed one. During any other, calls such as cuMemAlloc or
 * cuEventQuery fail and spoil the capture. In the global mode this holds for
 * every thread of the process, also for threads that know nothing of us. In the
 * thread-local mode it holds for this thread, which then also has to end the
 * capture, but any thread may call us. Nothing that these modes prevent can
 * happen here. Calls on other streams are no part of the capture, since no
 * event is recorded on this one. None of our streams waits for the default
 * stream. */
static hr_status begin_graph(hri_queue *base)
{
    hri_cuda_queue *queue = (hri_cuda_queue *)base;
    if (!offered()) {
        return hri_no_begin_graph(base);
    }
    hr_status status = hri_cuda_queue_error(queue, "a graph is begun");
    if (status != HR_OK) {
        return status;
    }
    cu_result error = hri_cuda_enter(queue->unit);
    if (error == CU_SUCCESS) {
        error =
            hri_cuda.cuStreamBeginCapture_v2(queue->stream, CU_CAPTURE_RELAXED);
        hri_cuda_leave();
    }
    queue->capturing = error == CU_SUCCESS;
    queue->graph_error = (hri_error){.status = HR_OK};
    return hri_cuda_check(queue->unit->path, error, "cuStreamBeginCapture");
}

/* Make a graph that can run, and upload it now, so that its first run does not
 * wait for this. The unit's context is current. */
static hr_status instantiate(hri_cuda_queue *queue, cu_graph captured,
                             hri_graph **out)
{
    const char *path = queue->unit->path;
    hri_cuda_graph *graph = calloc(1, sizeof *graph);
    if (graph == NULL) {
        return hri_no_memory(path);
    }
    graph->base.device = queue->base.device;
    cu_result error =
        hri_cuda.cuGraphInstantiateWithFlags(&graph->exec, captured, 0);
    if (error == CU_SUCCESS) {
        error = hri_cuda.cuGraphUpload(graph->exec, queue->stream);
    }
    if (error != CU_SUCCESS) {
        hri_cuda_graph_destroy(&graph->base);
        return hri_cuda_check(path, error, "instantiating a graph");
    }
    *out = &graph->base;
    return HR_OK;
}

/* The unit's context is current. */
static hr_status end(hri_cuda_queue *queue, hri_graph **out)
{
    cu_graph captured = NULL;
    cu_result error = hri_cuda.cuStreamEndCapture(queue->stream, &captured);
    keep(queue, hri_cuda_check(queue->unit->path, error, "cuStreamEndCapture"));
    /* the graph may have failed in a call that the driver never saw */
    hr_status status = hri_cuda_queue_error(queue, NULL);
    if (status == HR_OK) {
        status = instantiate(queue, captured, out);
    }
    if (captured != NULL) {
        hri_cuda.cuGraphDestroy(captured);
    }
    return status;
}

static hr_status end_graph(hri_queue *base, hri_graph **out)
{
    hri_cuda_queue *queue = (hri_cuda_queue *)base;
    if (!queue->capturing) {
        return hri_fail(HR_ERROR_INVALID,
                        "%s: a graph is ended, but none was begun",
                        queue->unit->path);
    }
    hr_status status = hri_cuda_check(
        queue->unit->path, hri_cuda_enter(queue->unit), "cuCtxPushCurrent");
    if (status == HR_OK) {
        status = end(queue, out);
        hri_cuda_leave();
    }
    queue->capturing = false;
    return status;
}

static hr_status run(hri_cuda_queue *queue, const void *graph)
{
    return hri_cuda_check(
        queue->unit->path,
        hri_cuda.cuGraphLaunch(((const hri_cuda_graph *)graph)->exec,
                               queue->stream),
        "cuGraphLaunch");
}

static hr_status run_graph(hri_queue *queue, hri_graph *graph)
{
    return enqueue(queue, "a graph is run", run, graph);
}

static const hri_queue_ops queue_ops = {
    .destroy = queue_destroy,
    .copy = queue_copy,
    .fill = queue_fill,
    .gemm = queue_gemm,
    .pack = queue_pack,
    .launch = queue_launch,
    .record = hri_cuda_queue_record,
    .wait = hri_cuda_queue_wait,
    .finish = queue_finish,
    .begin_graph = begin_graph,
    .end_graph = end_graph,
    .run_graph = run_graph,
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
