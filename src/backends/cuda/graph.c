/* SPDX-License-Identifier: MIT */
/* Graphs: what the driver captures of a stream. Errors are the graph's until it
 * ends, so that the queue stays as it was. */
#include <stdlib.h>

#include "backends/cuda/cuda.h"

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

/* The capture is a relaxed one. Any other mode refuses calls such as cuMemAlloc
 * or cuEventQuery while it lasts, and spoils the capture with them: the global
 * mode to every thread of the process, also to those that know nothing of us;
 * the thread-local one to this thread, which then has to end the capture too,
 * where we are called from any. What they guard against does not come up: calls
 * on other streams are no part of the capture, since no event is recorded on
 * this one, and none of our streams waits for the default one. */
hr_status hri_cuda_graph_begin(hri_queue *base)
{
    hri_cuda_queue *queue = (hri_cuda_queue *)base;
    if (!offered()) {
        return hri_no_begin_graph(base);
    }
    hr_status status = hri_cuda_queue_error_outside(queue, "a graph is begun");
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

/* What the first run would wait for is done now. The unit's context is
 * current. */
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
    hri_cuda_queue_keep(
        queue, hri_cuda_check(queue->unit->path, error, "cuStreamEndCapture"));
    /* a call that was refused need not have told the driver's capture */
    hr_status status = hri_cuda_queue_error(queue);
    if (status == HR_OK) {
        status = instantiate(queue, captured, out);
    }
    if (captured != NULL) {
        hri_cuda.cuGraphDestroy(captured);
    }
    return status;
}

hr_status hri_cuda_graph_end(hri_queue *base, hri_graph **out)
{
    hri_cuda_queue *queue = (hri_cuda_queue *)base;
    if (!queue->capturing) {
        return hri_fail(HR_ERROR_INVALID,
                        "%s: a graph is ended that was not begun",
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

hr_status hri_cuda_graph_run(hri_queue *queue, hri_graph *graph)
{
    return hri_cuda_queue_enqueue(queue, "a graph is run", run, graph);
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
