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

static cu_result keep_work(cu_graph graph, fake_work work,
                           const void *arguments, size_t bytes)
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
        return keep_work(stream->capture, work, arguments, bytes);
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
    HRI_TRY(fake_enter_stream("cuStreamBeginCapture", stream));
    if (stream->capture != NULL || mode != CU_CAPTURE_RELAXED) {
        return CU_INVALID_VALUE;
    }
    stream->capture = calloc(1, sizeof *stream->capture);
    stream->capture->users = 1;
    fake_cuda_get()->objects++;
    return CU_SUCCESS;
}

static void drop_graph(cu_graph graph)
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
    cu_graph captured = stream->capture;
    const cu_result error = fake_enter_context("cuStreamEndCapture");
    *graph = NULL;
    stream->capture = NULL;
    if (captured == NULL) {
        return error != CU_SUCCESS ? error : CU_INVALID_VALUE;
    }
    if (error != CU_SUCCESS || captured->invalid) {
        drop_graph(captured);
        return error != CU_SUCCESS ? error : INVALIDATED;
    }
    *graph = captured;
    return CU_SUCCESS;
}

cu_result cuGraphInstantiateWithFlags(cu_graph_exec *exec, cu_graph graph,
                                      unsigned long long flags)
{
    HRI_TRY(fake_enter_context("cuGraphInstantiateWithFlags"));
    if (flags != 0) {
        return CU_INVALID_VALUE;
    }
    *exec = malloc(sizeof **exec);
    (*exec)->graph = graph;
    graph->users++;
    fake_cuda_get()->objects++;
    return CU_SUCCESS;
}

cu_result cuGraphUpload(cu_graph_exec exec, cu_stream stream)
{
    (void)exec;
    HRI_TRY(fake_enter_stream("cuGraphUpload", stream));
    return fake_refuse(stream);
}

cu_result cuGraphLaunch(cu_graph_exec exec, cu_stream stream)
{
    HRI_TRY(fake_enter_stream("cuGraphLaunch", stream));
    HRI_TRY(fake_refuse(stream)); /* a graph in a graph: not here */
    for (const node *n = exec->graph->first; n != NULL; n = n->next) {
        n->work(n->arguments);
    }
    return CU_SUCCESS;
}

cu_result cuGraphExecDestroy(cu_graph_exec exec)
{
    drop_graph(exec->graph);
    free(exec);
    return CU_SUCCESS;
}

cu_result cuGraphDestroy(cu_graph graph)
{
    drop_graph(graph);
    return CU_SUCCESS;
}
