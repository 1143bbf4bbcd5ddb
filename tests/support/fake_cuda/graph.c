/* SPDX-License-Identifier: MIT */
/* Streams that are captured. Work is kept in the order of its calls, which is
 * one that every order of the streams allows; what the streams know of each
 * other serves to refuse what the real driver refuses: waiting for events from
 * outside, and streams that are not joined in the end. */
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "driver.h"

enum {
    UNSUPPORTED = 900,
    INVALIDATED = 901,
    MERGE = 902,
    UNMATCHED = 903,
    UNJOINED = 904,
    ISOLATION = 905,
    CAPTURED_EVENT = 907
};
enum { CAPTURES = 8, OLDEST_NODE_PRIORITIES = 11070 };

typedef struct node {
    struct node *next;
    fake_work work;
    _Alignas(max_align_t) unsigned char arguments[];
} node;

/* Shared by what was captured and what was instantiated from it. */
struct cu_graph_object {
    int users;
    node *first, *last;
};

struct cu_graph_exec_object {
    cu_graph graph;
};

/* Streams by number: who began it is 0. */
typedef struct capture {
    int number; /* from 1; 0: free */
    bool invalid;
    int members;
    cu_stream streams[FAKE_MEMBERS];
    unsigned seen[FAKE_MEMBERS][FAKE_MEMBERS]; /* by whom, of whom */
    cu_graph graph;
} capture;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of captures */
static capture captures[CAPTURES];
static int last_number;

/* NULL: it has ended, or there was none. */
static capture *find(int number)
{
    for (int i = 0; number != 0 && i < CAPTURES; i++) {
        if (captures[i].number == number) {
            return &captures[i];
        }
    }
    return NULL;
}

static cu_result invalidate(capture *c, cu_result error)
{
    c->invalid = true;
    return error;
}

static cu_result keep(capture *c, int member, fake_work work,
                      const void *arguments, size_t bytes)
{
    if (c->invalid) {
        return INVALIDATED;
    }
    node *n = malloc(sizeof *n + bytes);
    if (n == NULL) {
        return invalidate(c, CU_OUT_OF_MEMORY);
    }
    n->next = NULL;
    n->work = work;
    memcpy(n->arguments, arguments, bytes);
    *(c->graph->last != NULL ? &c->graph->last->next : &c->graph->first) = n;
    c->graph->last = n;
    c->seen[member][member]++;
    return CU_SUCCESS;
}

cu_result fake_do(cu_stream stream, fake_work work, const void *arguments,
                  size_t bytes)
{
    pthread_mutex_lock(&lock);
    capture *c = find(stream->capture);
    cu_result error = c == NULL
                          ? CU_SUCCESS
                          : keep(c, stream->member, work, arguments, bytes);
    pthread_mutex_unlock(&lock);
    if (c == NULL) {
        work(arguments);
    }
    return error;
}

cu_result fake_refuse(cu_stream stream)
{
    pthread_mutex_lock(&lock);
    capture *c = find(stream->capture);
    cu_result error = c == NULL ? CU_SUCCESS : invalidate(c, UNSUPPORTED);
    pthread_mutex_unlock(&lock);
    return error;
}

cu_result fake_record(cu_stream stream, cu_event event)
{
    cu_result error = CU_SUCCESS;
    pthread_mutex_lock(&lock);
    const capture *c = find(stream->capture);
    event->point.capture = 0;
    if (c != NULL && c->invalid) {
        error = INVALIDATED;
    } else if (c != NULL) {
        event->point.capture = c->number;
        memcpy(event->point.seen, c->seen[stream->member],
               sizeof event->point.seen);
    }
    pthread_mutex_unlock(&lock);
    return error;
}

/* The stream is of c, or of nothing and becomes a part of it. */
static cu_result await(capture *c, cu_stream stream, const fake_point *point)
{
    if (stream->capture == 0) {
        if (c->members == FAKE_MEMBERS) {
            return invalidate(c, UNSUPPORTED);
        }
        stream->capture = c->number;
        stream->member = c->members++;
        c->streams[stream->member] = stream;
    }
    for (int i = 0; i < FAKE_MEMBERS; i++) {
        unsigned *seen = &c->seen[stream->member][i];
        *seen = point->seen[i] > *seen ? point->seen[i] : *seen;
    }
    return CU_SUCCESS;
}

cu_result fake_await(cu_stream stream, cu_event event)
{
    cu_result error = CU_SUCCESS;
    pthread_mutex_lock(&lock);
    capture *ours = find(stream->capture);
    capture *its = find(event->point.capture);
    if (ours != NULL && ours->invalid) {
        error = INVALIDATED;
    } else if (ours != NULL && its != ours) {
        error = invalidate(ours, its != NULL ? MERGE : ISOLATION);
    } else if (its != NULL) {
        error = its->invalid ? INVALIDATED : await(its, stream, &event->point);
    } else if (event->point.capture != 0) {
        error = CAPTURED_EVENT;
    }
    pthread_mutex_unlock(&lock);
    return error;
}

cu_result cuStreamBeginCapture_v2(cu_stream stream, int mode)
{
    cu_result error = fake_enter_stream("cuStreamBeginCapture", stream);
    if (error != CU_SUCCESS) {
        return error;
    }
    pthread_mutex_lock(&lock);
    capture *c = captures;
    while (c < captures + CAPTURES && c->number != 0) {
        c++;
    }
    cu_graph graph = calloc(1, sizeof *graph);
    if (c == captures + CAPTURES || graph == NULL || stream->capture != 0 ||
        mode != CU_CAPTURE_RELAXED) {
        free(graph);
        error = CU_INVALID_VALUE;
    } else {
        graph->users = 1;
        *c = (capture){.number = ++last_number, .members = 1, .graph = graph};
        c->streams[0] = stream;
        stream->capture = c->number;
        stream->member = 0;
        fake_cuda_get()->objects++;
    }
    pthread_mutex_unlock(&lock);
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

/* Its streams are captured no more. */
static cu_result end(capture *c, cu_graph *graph)
{
    cu_result error = c->invalid ? INVALIDATED : CU_SUCCESS;
    for (int i = 0; i < c->members; i++) {
        if (error == CU_SUCCESS && c->seen[0][i] < c->seen[i][i]) {
            error = UNJOINED;
        }
        c->streams[i]->capture = 0;
    }
    *graph = error == CU_SUCCESS ? c->graph : NULL;
    if (error != CU_SUCCESS) {
        drop(c->graph);
    }
    c->number = 0;
    return error;
}

cu_result cuStreamEndCapture(cu_stream stream, cu_graph *graph)
{
    cu_result error = fake_enter_context("cuStreamEndCapture");
    pthread_mutex_lock(&lock);
    capture *c = find(stream->capture);
    if (c == NULL) {
        error = error != CU_SUCCESS ? error : CU_INVALID_VALUE;
    } else if (stream->member != 0) {
        error = invalidate(c, UNMATCHED);
    } else {
        c->invalid = c->invalid || error != CU_SUCCESS;
        cu_result ended = end(c, graph);
        error = error != CU_SUCCESS ? error : ended;
    }
    pthread_mutex_unlock(&lock);
    return error;
}

cu_result cuGraphInstantiateWithFlags(cu_graph_exec *exec, cu_graph graph,
                                      unsigned long long flags)
{
    cu_result error = fake_enter_context("cuGraphInstantiateWithFlags");
    bool known =
        flags == 0 || (flags == CU_GRAPH_NODE_PRIORITIES &&
                       fake_cuda_get()->version >= OLDEST_NODE_PRIORITIES);
    if (error == CU_SUCCESS && !known) {
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
