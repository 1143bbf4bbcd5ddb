/* SPDX-License-Identifier: MIT */
/* Queues: streams that do not wait for the default one. The first error of a
 * queue is sticky: later work is skipped, and finish and the events report the
 * error. An event is the driver's, with its queue's sticky error. */
#include <math.h>
#include <stdlib.h>
#include <sys/prctl.h>

#include "backends/cuda/cuda.h"
#include "base/clock.h"

static hr_status keep_error(hri_cuda_queue *queue, hr_status status)
{
    if (!queue->capturing) {
        return hri_sticky_keep(queue->sticky, status);
    }
    if (status != HR_OK) {
        hri_error_keep(&queue->graph_error, status);
    }
    return status;
}

/* The error of earlier work on the queue. While a graph is made, this is the
 * graph's error: it is separate from the queue's until the graph ends.
 * `outside` names a call that graphs cannot contain. Such a call fails with
 * HR_ERROR_INVALID while a graph is made, and the graph keeps the error. The
 * driver never sees it: its capture would be spoilt, or take up something that
 * cannot be run again. NULL: graphs can contain it. */
static hr_status queue_error(hri_cuda_queue *queue, const char *outside)
{
    if (!queue->capturing) {
        return hri_sticky_raise(queue->sticky);
    }
    if (outside == NULL) {
        return hri_error_raise(&queue->graph_error);
    }
    return keep_error(queue, hri_fail(HR_ERROR_INVALID,
                                      "%s: %s between begin and end of a graph",
                                      queue->unit->path, outside));
}

/* ---- events */

/* Seconds for which a thread asks for its event before it goes to sleep. A
 * short kernel with its result takes less, and waking up takes as long as that.
 */
static const double awake = 5e-5;

/* Seconds of the shortest sleep between questions, of the longest in the first
 * second, and their part of the time waited so far. The driver can wake a
 * thread itself, but then each event that is recorded interrupts a CPU. On an
 * H200's machine with 16 CPUs the one that had these interrupts took 125
 * microseconds for a product of 256 cubed in double, and the others 68
 * (November 2026). */
static const double min_sleep = 1e-5, max_sleep = 1e-3, sleep_fraction = 0.05;

/* The state that the last record left. */
typedef struct snapshot {
    uint64_t records;         /* number of records so far */
    bool recorded;            /* in a stream; false: the last record failed */
    bool passed;              /* the stream is known to have passed it */
    hri_sticky_error *sticky; /* of the record's queue, held; NULL: never
                                 recorded */
} snapshot;

typedef struct hri_cuda_event {
    hri_event base;
    hri_cuda_unit *unit;
    cu_event event;
    pthread_mutex_t lock; /* guards what follows */
    snapshot last;
} hri_cuda_event;

static snapshot take_snapshot(hri_cuda_event *event)
{
    pthread_mutex_lock(&event->lock);
    snapshot s = event->last;
    hri_sticky_hold(s.sticky);
    pthread_mutex_unlock(&event->lock);
    return s;
}

/* Sleep for a part of the time since then. A thread sleeps 50 microseconds
 * longer than it asks for, unless it wants to be exact. */
static void doze(uint64_t since_ns)
{
    enum { EXACT_NS = 1000 };
    const double waited = fmin(hri_seconds_since(since_ns), 100.0);
    const double most = max_sleep * fmax(waited, 1.0);
    const double seconds = fmax(fmin(waited * sleep_fraction, most), min_sleep);
    const int slack_ns = prctl(PR_GET_TIMERSLACK);
    (void)prctl(PR_SET_TIMERSLACK, (unsigned long)EXACT_NS);
    hri_sleep_ns((uint64_t)(seconds * 1e9));
    if (slack_ns > 0) {
        (void)prctl(PR_SET_TIMERSLACK, (unsigned long)slack_ns);
    }
}

/* Ask the driver whether a recorded event is done, or wait for it. */
static cu_result ask_event(const hri_cuda_event *event, bool wait)
{
    enum { QUESTIONS = 8 }; /* so often without asking the clock */
    const uint64_t since_ns = wait ? hri_clock_ns() : 0;
    cu_result error = hri_cuda_enter(event->unit);
    if (error != CU_SUCCESS) {
        return error;
    }
    bool tired = false;
    error = hri_cuda.cuEventQuery(event->event);
    for (uint64_t i = 1; wait && error == CU_NOT_READY; i++) {
        tired = tired ||
                (i % QUESTIONS == 0 && hri_seconds_since(since_ns) > awake);
        if (tired) {
            doze(since_ns);
        }
        error = hri_cuda.cuEventQuery(event->event);
    }
    hri_cuda_leave();
    return error;
}

/* Remember that an event is done. The driver takes longer to say that it is
 * (1.2 us on an H200, 2026-11) than that it is not (0.1 us). */
static void keep_passed(hri_cuda_event *event, const snapshot *s)
{
    pthread_mutex_lock(&event->lock);
    event->last.passed |= event->last.records == s->records;
    pthread_mutex_unlock(&event->lock);
}

/* Whether the event is done, waiting for it if `wait`. Returns the queue's
 * error if the queue failed, also when that failure is only found here. */
static hr_status look_at_event(hri_event *base, bool wait, bool *done)
{
    hri_cuda_event *event = (hri_cuda_event *)base;
    snapshot s = take_snapshot(event);
    const bool open = s.recorded && !s.passed;
    cu_result error = open ? ask_event(event, wait) : CU_SUCCESS;
    if (open && error == CU_SUCCESS) {
        keep_passed(event, &s);
    }
    if (error != CU_SUCCESS && error != CU_NOT_READY) {
        hri_sticky_keep(
            s.sticky, hri_cuda_check(event->unit->path, error, "cuEventQuery"));
    }
    hr_status status =
        error == CU_NOT_READY ? HR_OK : hri_sticky_raise(s.sticky);
    hri_sticky_drop(s.sticky);
    HRI_TRY(status);
    *done = error != CU_NOT_READY;
    return HR_OK;
}

static hr_status event_query(hri_event *base, bool *done)
{
    return look_at_event(base, false, done);
}

static hr_status event_wait(hri_event *base)
{
    bool done;
    return look_at_event(base, true, &done);
}

/* Check that the event was recorded. Returns the queue's error if the queue
 * failed. */
static hr_status check_recorded(hri_cuda_event *event)
{
    snapshot s = take_snapshot(event);
    hr_status status = hri_sticky_raise(s.sticky);
    hri_sticky_drop(s.sticky);
    HRI_TRY(status);
    return s.recorded
               ? HR_OK
               : hri_fail(HR_ERROR_INVALID,
                          "%s: the event has no time: it was never recorded",
                          event->unit->path);
}

static hr_status event_elapsed(hri_event *from_base, hri_event *to_base,
                               uint64_t *ns)
{
    hri_cuda_event *from = (hri_cuda_event *)from_base;
    hri_cuda_event *to = (hri_cuda_event *)to_base;
    float ms = 0.0f;
    HRI_TRY(check_recorded(from));
    HRI_TRY(check_recorded(to));
    cu_result error = hri_cuda_enter(from->unit);
    if (error == CU_SUCCESS) {
        error = hri_cuda.cuEventElapsedTime(&ms, from->event, to->event);
        hri_cuda_leave();
    }
    HRI_TRY(hri_cuda_check(from->unit->path, error, "cuEventElapsedTime"));
    *ns = ms > 0.0f ? (uint64_t)((double)ms * 1e6) : 0;
    return HR_OK;
}

static void event_destroy(hri_event *base)
{
    hri_cuda_event *event = (hri_cuda_event *)base;
    if (event == NULL) {
        return;
    }
    if (event->event != NULL && hri_cuda_enter(event->unit) == CU_SUCCESS) {
        hri_cuda.cuEventDestroy_v2(event->event);
        hri_cuda_leave();
    }
    hri_sticky_drop(event->last.sticky);
    pthread_mutex_destroy(&event->lock);
    free(event);
}

static const hri_event_ops event_ops = {
    .destroy = event_destroy,
    .query = event_query,
    .wait = event_wait,
    .elapsed = event_elapsed,
};

/* An H100 records events without times in 0.3 microseconds, and others in 1.2
 * (November 2026). */
hr_status hri_cuda_event_create(hri_device *device, bool timed, hri_event **out)
{
    hri_cuda_unit *unit = ((hri_cuda_device *)device)->unit;
    hri_cuda_event *event = calloc(1, sizeof *event);
    if (event == NULL) {
        return hri_no_memory(unit->path);
    }
    event->base = (hri_event){.ops = &event_ops, .device = device};
    event->unit = unit;
    pthread_mutex_init(&event->lock, NULL);
    cu_result error = hri_cuda_enter(unit);
    if (error == CU_SUCCESS) {
        error = hri_cuda.cuEventCreate(&event->event, timed ? CU_EVENT_DEFAULT
                                                            : CU_EVENT_NO_TIME);
        hri_cuda_leave();
    }
    if (error != CU_SUCCESS) {
        event_destroy(&event->base);
        return hri_cuda_check(unit->path, error, "cuEventCreate");
    }
    *out = &event->base;
    return HR_OK;
}

static hr_status queue_record(hri_queue *queue_base, hri_event *event_base)
{
    hri_cuda_queue *queue = (hri_cuda_queue *)queue_base;
    hri_cuda_event *event = (hri_cuda_event *)event_base;
    if (queue->capturing) {
        return queue_error(queue, "an event is recorded");
    }
    hri_sticky_hold(queue->sticky);
    pthread_mutex_lock(&event->lock);
    cu_result error = hri_cuda_enter(queue->unit);
    if (error == CU_SUCCESS) {
        error = hri_cuda.cuEventRecord(event->event, queue->stream);
        hri_cuda_leave();
    }
    const snapshot old = event->last;
    event->last = (snapshot){
        .records = old.records + 1,
        .recorded = error == CU_SUCCESS, /* else passed, with the error */
        .sticky = queue->sticky};
    pthread_mutex_unlock(&event->lock);
    hri_sticky_drop(old.sticky);
    return hri_sticky_keep(
        queue->sticky,
        hri_cuda_check(queue->unit->path, error, "cuEventRecord"));
}

static hr_status queue_wait(hri_queue *queue_base, hri_event *event_base)
{
    hri_cuda_queue *queue = (hri_cuda_queue *)queue_base;
    hri_cuda_event *event = (hri_cuda_event *)event_base;
    cu_result error = CU_SUCCESS;
    if (queue->capturing) {
        return queue_error(queue, "an event is waited for");
    }
    snapshot s = take_snapshot(event);
    if (s.recorded && !s.passed) {
        error = hri_cuda_enter(queue->unit);
        if (error == CU_SUCCESS) {
            error = hri_cuda.cuStreamWaitEvent(queue->stream, event->event, 0);
            hri_cuda_leave();
        }
    }
    /* Later work would read what never arrived, so the error of the queue that
     * was waited for becomes this one's. */
    hr_status status = hri_sticky_raise(s.sticky);
    hri_sticky_drop(s.sticky);
    if (status != HR_OK) {
        hri_sticky_keep(queue->sticky, status);
        return HR_OK;
    }
    return hri_sticky_keep(
        queue->sticky,
        hri_cuda_check(queue->unit->path, error, "cuStreamWaitEvent"));
}

/* ---- what commands have in common */

/* A function that enqueues something. The unit's context is current. */
typedef hr_status command(hri_cuda_queue *queue, const void *data);

/* Call it unless the queue has failed, and keep its error. `outside` is as in
 * queue_error. */
static hr_status enqueue(hri_queue *base, const char *outside, command *call,
                         const void *data)
{
    hri_cuda_queue *queue = (hri_cuda_queue *)base;
    HRI_TRY(queue_error(queue, outside));
    hr_status status = hri_cuda_check(
        queue->unit->path, hri_cuda_enter(queue->unit), "cuCtxPushCurrent");
    if (status != HR_OK) {
        return keep_error(queue, status);
    }
    status = call(queue, data);
    hri_cuda_leave();
    return keep_error(queue, status);
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
    HRI_TRY(queue_error(queue, NULL));
    if (bytes == 0) {
        return HR_OK;
    }
    cu_result error = hri_cuda_enter(queue->unit);
    if (error == CU_SUCCESS) {
        error = hri_cuda.cuMemsetD8Async(hri_cuda_address(&place), value, bytes,
                                         queue->stream);
        hri_cuda_leave();
    }
    return keep_error(
        queue, hri_cuda_check(queue->unit->path, error, "cuMemsetD8Async"));
}

static hr_status queue_gemm(hri_queue *queue, const hri_gemm *gemm)
{
    return enqueue(queue, "a product", hri_cuda_gemm, gemm);
}

static hr_status pack_panel(hri_cuda_queue *queue, const void *data)
{
    const hri_pack *pack = data;
    return pack->compute == HR_COMPUTE_PRECISE
               ? hri_cuda_pack_precise(queue, pack)
               : hri_cublas_pack(queue, pack);
}

static hr_status queue_pack(hri_queue *queue, const hri_pack *pack)
{
    return enqueue(queue, "a matrix is packed", pack_panel, pack);
}

static hr_status queue_launch(hri_queue *base, const hri_launch *launch)
{
    hri_cuda_queue *queue = (hri_cuda_queue *)base;
    HRI_TRY(queue_error(queue, NULL));
    hr_status status = hri_cuda_launch(queue, launch);
    /* a refused launch has not been enqueued, so the queue goes on; but a graph
     * would lack it, so the graph keeps the error */
    return queue->capturing ? keep_error(queue, status) : status;
}

static hr_status queue_finish(hri_queue *base)
{
    hri_cuda_queue *queue = (hri_cuda_queue *)base;
    if (queue->capturing) {
        return queue_error(queue, "the queue is finished");
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

static bool graphs_are_offered(void)
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
    if (!graphs_are_offered()) {
        return hri_no_begin_graph(base);
    }
    HRI_TRY(queue_error(queue, "a graph is begun"));
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
static hr_status end_capture(hri_cuda_queue *queue, hri_graph **out)
{
    cu_graph captured = NULL;
    cu_result error = hri_cuda.cuStreamEndCapture(queue->stream, &captured);
    keep_error(queue,
               hri_cuda_check(queue->unit->path, error, "cuStreamEndCapture"));
    /* the graph may have failed in a call that the driver never saw */
    hr_status status = queue_error(queue, NULL);
    if (status != HR_OK) {
        goto done;
    }
    status = instantiate(queue, captured, out);
done:
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
    if (status != HR_OK) {
        goto done;
    }
    status = end_capture(queue, out);
    hri_cuda_leave();
done:
    queue->capturing = false;
    return status;
}

static hr_status launch_graph(hri_cuda_queue *queue, const void *graph)
{
    return hri_cuda_check(
        queue->unit->path,
        hri_cuda.cuGraphLaunch(((const hri_cuda_graph *)graph)->exec,
                               queue->stream),
        "cuGraphLaunch");
}

static hr_status run_graph(hri_queue *queue, hri_graph *graph)
{
    return enqueue(queue, "a graph is run", launch_graph, graph);
}

/* ---- the queue */

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

static const hri_queue_ops queue_ops = {
    .destroy = queue_destroy,
    .copy = queue_copy,
    .fill = queue_fill,
    .gemm = queue_gemm,
    .pack = queue_pack,
    .launch = queue_launch,
    .record = queue_record,
    .wait = queue_wait,
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
    if (status != HR_OK) {
        goto fail;
    }
    cu_result error = hri_cuda_enter(unit);
    if (error == CU_SUCCESS) {
        error = create_stream(urgent, &queue->stream);
        hri_cuda_leave();
    }
    status = hri_cuda_check(unit->path, error, "cuStreamCreate");
    if (status != HR_OK) {
        goto fail;
    }
    *out = &queue->base;
    return HR_OK;
fail:
    queue_destroy(&queue->base);
    return status;
}
