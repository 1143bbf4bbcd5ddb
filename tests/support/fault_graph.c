/* SPDX-License-Identifier: MIT */
/* The wrapper's graphs. */
#include <stdlib.h>

#include "support/fault_internal.h"

typedef struct fault_graph {
    hri_graph base; /* first: see hri_graph */
    hri_graph *inner;
} fault_graph;

hr_status fault_begin_graph(hri_queue *base)
{
    fault_queue *queue = (fault_queue *)base;
    hr_status status = fault_enter(base->device, FAULT_BEGIN_GRAPH);
    if (status == HR_OK && queue->graph) {
        status = fault_breach("a graph is begun in a graph");
    }
    if (status == HR_OK) {
        status = hri_error_raise(&queue->error);
    }
    if (status == HR_OK) {
        status = queue->inner->ops->begin_graph(queue->inner);
        queue->graph = status == HR_OK;
    }
    return status;
}

/* This ends the graph even when it is to fail. Failures on request happened in
 * the graph, so the queue goes on. */
hr_status fault_end_graph(hri_queue *base, hri_graph **out)
{
    fault_queue *queue = (fault_queue *)base;
    hri_device *inner = fault_inner_device(base->device);
    if (!queue->graph) {
        return fault_breach("a graph is ended, but none was begun");
    }
    fault_graph *graph = calloc(1, sizeof *graph);
    hri_graph *inner_graph = NULL;
    hr_status ended = queue->inner->ops->end_graph(queue->inner, &inner_graph);
    hr_status status = fault_enter(base->device, FAULT_END_GRAPH);
    queue->graph = false;
    status = status != HR_OK ? status : hri_error_raise(&queue->error);
    status = status != HR_OK ? status : ended;
    queue->error = (hri_error){0};
    if (status == HR_OK && graph == NULL) {
        status = hri_fail(HR_ERROR_OUT_OF_MEMORY, "fault: out of memory");
    }
    if (status != HR_OK) {
        inner->ops->destroy_graph(inner_graph);
        free(graph);
        return status;
    }
    graph->base.device = base->device;
    graph->inner = inner_graph;
    fault_count_object((fault_device *)base->device, 1);
    *out = &graph->base;
    return HR_OK;
}

hr_status fault_run_graph(hri_queue *base, hri_graph *graph)
{
    fault_queue *queue = (fault_queue *)base;
    hr_status status = fault_enter(base->device, FAULT_RUN_GRAPH);
    if (status == HR_OK && queue->graph) {
        status = fault_breach("a graph is run in a graph");
    }
    if (status == HR_OK && graph->device != base->device) {
        status = fault_breach("a graph of another device is run");
    }
    if (status != HR_OK) {
        return status;
    }
    return fault_begin_operation(queue)
               ? queue->inner->ops->run_graph(queue->inner,
                                              ((fault_graph *)graph)->inner)
               : HR_OK;
}

void fault_destroy_graph(hri_graph *base)
{
    fault_note(FAULT_DESTROY_GRAPH);
    if (base != NULL) {
        hri_device *inner = fault_inner_device(base->device);
        inner->ops->destroy_graph(((fault_graph *)base)->inner);
        fault_count_object((fault_device *)base->device, -1);
        free(base);
    }
}
