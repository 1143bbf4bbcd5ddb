/* SPDX-License-Identifier: MIT */
/* Streams that are captured: work is kept in the order of its calls. The real
 * driver also captures records of events and waits for them, by which other
 * streams join the capture. Here these are refused, since Headrace does not use
 * them. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "driver.h"

enum { UNSUPPORTED = 900, INVALIDATED = 901 };

typedef struct node {
    struct node *next;
    fake_work work;
    _Alignas(max_align_t) unsigned char arguments[];
} node;

/* Shared by what was captured and what was instantiated from it. */
struct cu_graph_object {
    int users;
    bool invalid; /* its capture has been spoilt */
    node *first, *last;
};

struct cu_graph_exec_object {
    cu_graph graph;
};

static cu_result keep(cu_graph graph, fake_work work, const void *arguments,
                      size_t bytes)
{
    if (graph->invalid) {
        return INVALIDATED;
    }
    node *n = malloc(sizeof *n + bytes);
    if (n == NULL) {
        graph->invalid = true;
        return CU_OUT_OF_MEMORY;
    }
    n->next = NULL;
    n->work = work;
    memcpy(n->arguments, arguments, bytes);
    *(graph->last != NULL ? &graph->last->next : &graph->first) = n;
    graph->last = n;
    return CU_SUCCESS;
}

cu_result fake_do(cu_stream stream, fake_work work, const void *arguments,
                  size_t bytes)
{
    if (stream->capture != NULL) {
        return keep(stream->capture, work, arguments, bytes);
    }
    work(arguments);
    return CU_SUCCESS;
}

cu_result fake_refuse(cu_stream stream)
{
    if (stream->capture == NULL) {
        return CU_SUCCESS;
    }
    stream->capture->invalid = true;
    return UNSUPPORTED;
}

cu_result cuStreamBeginCapture_v2(cu_stream stream, int mode)
{
    cu_result error = fake_enter_stream("cuStreamBeginCapture", stream);
    if (error == CU_SUCCESS &&
        (stream->capture != NULL || mode != CU_CAPTURE_RELAXED)) {
        error = CU_INVALID_VALUE;
    }
    if (error == CU_SUCCESS) {
        stream->capture = calloc(1, sizeof *stream->capture);
        stream->capture->users = 1;
        fake_cuda_get()->objects++;
    }
    return error;
}

static void drop(cu_graph graph)
{
    fake_cuda_get()->objects--;
    if (--graph->users > 0) {
        return;
    }
    for (node *n = graph->first; n != NULL;) {
        node *next = n->next;
        free(n);
        n = next;
    }
    free(graph);
}

/* The capture has ended even when this fails. */
cu_result cuStreamEndCapture(cu_stream stream, cu_graph *graph)
{
    cu_result error = fake_enter_context("cuStreamEndCapture");
    cu_graph captured = stream->capture;
    if (captured == NULL) {
        return error != CU_SUCCESS ? error : CU_INVALID_VALUE;
    }
    stream->capture = NULL;
    if (error == CU_SUCCESS && captured->invalid) {
        error = INVALIDATED;
    }
    if (error != CU_SUCCESS) {
        drop(captured);
        captured = NULL;
    }
    *graph = captured;
    return error;
}

cu_result cuGraphInstantiateWithFlags(cu_graph_exec *exec, cu_graph graph,
                                      unsigned long long flags)
{
    cu_result error = fake_enter_context("cuGraphInstantiateWithFlags");
    if (error == CU_SUCCESS && flags != 0) {
        error = CU_INVALID_VALUE;
    }
    if (error == CU_SUCCESS) {
        *exec = malloc(sizeof **exec);
        (*exec)->graph = graph;
        graph->users++;
        fake_cuda_get()->objects++;
    }
    return error;
}

cu_result cuGraphUpload(cu_graph_exec exec, cu_stream stream)
{
    (void)exec;
    cu_result error = fake_enter_stream("cuGraphUpload", stream);
    return error == CU_SUCCESS ? fake_refuse(stream) : error;
}

cu_result cuGraphLaunch(cu_graph_exec exec, cu_stream stream)
{
    cu_result error = fake_enter_stream("cuGraphLaunch", stream);
    if (error == CU_SUCCESS) {
        error = fake_refuse(stream); /* a graph in a graph: not here */
    }
    for (const node *n = exec->graph->first; error == CU_SUCCESS && n != NULL;
         n = n->next) {
        n->work(n->arguments);
    }
    return error;
}

cu_result cuGraphExecDestroy(cu_graph_exec exec)
{
    drop(exec->graph);
    free(exec);
    return CU_SUCCESS;
}

cu_result cuGraphDestroy(cu_graph graph)
{
    drop(graph);
    return CU_SUCCESS;
}
