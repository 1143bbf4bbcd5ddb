/* SPDX-License-Identifier: MIT */
/* The wrapper's queues, graphs and events, and whether their callers keep to
 * the contract of hal/hal.h. */
#include <stdlib.h>

#include "base/size.h"
#include "hal/backend.h"
#include "hal/precise.h"
#include "support/fault_internal.h"

/* ---- the contract */

/* The bytes from the start of a place that a box of rows and slices reaches;
 * UINT64_MAX when that overflows. */
static uint64_t box_reach(const hri_copy *box, size_t pitch, size_t slice)
{
    uint64_t rows, slices, reach;
    if (box->width == 0 || box->height == 0 || box->depth == 0) {
        return 0;
    }
    if (!hri_mul(box->height - 1, box->height > 1 ? pitch : 0, &rows) ||
        !hri_mul(box->depth - 1, box->depth > 1 ? slice : 0, &slices) ||
        !hri_add(rows, slices, &reach) || !hri_add(reach, box->width, &reach)) {
        return UINT64_MAX;
    }
    return reach;
}

/* The bytes that an operand of rows x cols elements reaches. */
static uint64_t operand_reach(const hri_operand *operand, hr_type type,
                              int64_t rows, int64_t cols)
{
    uint64_t down, across, elements, reach;
    if (rows == 0 || cols == 0) {
        return 0;
    }
    if (!hri_mul((uint64_t)rows - 1, (uint64_t)operand->row_stride, &down) ||
        !hri_mul((uint64_t)cols - 1, (uint64_t)operand->col_stride, &across) ||
        !hri_add(down, across, &elements) || !hri_add(elements, 1, &elements) ||
        !hri_mul(elements, hr_type_size(type), &reach)) {
        return UINT64_MAX;
    }
    return reach;
}

static bool is_inside(const hri_place *place, uint64_t reach)
{
    return reach == 0 || place->buffer == NULL ||
           (place->offset <= place->buffer->bytes &&
            reach <= place->buffer->bytes - place->offset);
}

/* Whether device may use objects of other. */
static bool may_use(hri_device *device, hri_device *other)
{
    if (device == other) {
        return true;
    }
    hri_device *inner = fault_inner_device(device);
    return other->ops == device->ops &&
           inner->ops->is_peer(inner, fault_inner_device(other));
}

static hr_status check_copy(hri_device *device, const hri_copy *copy)
{
    const hri_buffer *to = copy->to.buffer;
    const hri_buffer *from = copy->from.buffer;
    if ((to == NULL || to->device != device) &&
        (from == NULL || from->device != device)) {
        return fault_breach("a copy with no buffer of the queue's device");
    }
    if ((to != NULL && !may_use(device, to->device)) ||
        (from != NULL && !may_use(device, from->device))) {
        return fault_breach("a copy with a buffer of no peer");
    }
    if (!is_inside(&copy->to,
                   box_reach(copy, copy->to_pitch, copy->to_slice)) ||
        !is_inside(&copy->from,
                   box_reach(copy, copy->from_pitch, copy->from_slice))) {
        return fault_breach("a copy reaches past the end of a buffer");
    }
    return HR_OK;
}

static hr_status check_fill(hri_device *device, const hri_place *place,
                            size_t bytes)
{
    if (place->buffer->device != device) {
        return fault_breach("a fill of another device's buffer");
    }
    if (!is_inside(place, bytes)) {
        return fault_breach("a fill reaches past the end of the buffer");
    }
    return HR_OK;
}

/* Whether the device's products write to this memory of the host. */
static bool product_reaches(hri_device *device, const hri_place *place,
                            uint64_t bytes)
{
    return device->info.reaches &&
           device->ops->is_pinned(device, (char *)place->host + place->offset,
                                  (size_t)bytes);
}

/* out: it is C, which is not read. */
static hr_status check_operand(hri_device *device, const hri_operand *operand,
                               uint64_t reach, bool out)
{
    const hri_buffer *buffer = operand->place.buffer;
    if (buffer == NULL && reach > 0 && !device->info.host &&
        !(out && product_reaches(device, &operand->place, reach))) {
        return fault_breach("a product of host memory on a device");
    }
    if (buffer != NULL && buffer->device != device) {
        return fault_breach("a product of another device's buffer");
    }
    if (!is_inside(&operand->place, reach)) {
        return fault_breach("a product reaches past the end of a buffer");
    }
    if (reach > 0 && operand->row_stride != 1 && operand->col_stride != 1) {
        return fault_breach("a product of an operand without a stride of 1");
    }
    return HR_OK;
}

static hr_status check_pack(hri_device *device, const hri_pack *pack)
{
    const uint64_t size = hr_type_size(pack->type);
    const hri_operand *from = &pack->from;
    const bool precise = pack->compute == HR_COMPUTE_PRECISE;
    if (pack->to.buffer == NULL || from->place.buffer == NULL ||
        pack->to.buffer->device != device ||
        from->place.buffer->device != device) {
        return fault_breach("packing in another device's buffer");
    }
    if (pack->rows < 1 || pack->cols < 1 ||
        (!precise &&
         (pack->to_stride < pack->rows || from->row_stride < pack->cols))) {
        return fault_breach("packing lines that overlap");
    }
    const uint64_t to =
        precise
            ? hri_precise_bytes(pack->type, pack->side, pack->rows, pack->cols)
            : (uint64_t)((pack->cols - 1) * pack->to_stride + pack->rows) *
                  size;
    const uint64_t read = (uint64_t)((pack->rows - 1) * from->row_stride +
                                     (pack->cols - 1) * from->col_stride + 1);
    if (!is_inside(&pack->to, to) || !is_inside(&from->place, read * size)) {
        return fault_breach("packing past the end of a buffer");
    }
    return HR_OK;
}

/* The operands of a batch's last product; lists are for host memory alone. */
static hr_status check_batch(hri_device *device, const hri_gemm *g,
                             const hri_operand *const operands[3],
                             const uint64_t reach[3], bool out)
{
    const int64_t last = g->batch.count - 1;
    for (int i = 0; i < 3 && last > 0; i++) {
        const bool listed = g->batch.lists[i] != NULL;
        hri_operand at = *operands[i];
        at.place.offset += (size_t)(last * g->batch.steps[i]);
        HRI_TRY(check_operand(device, &at, reach[i], out && i == 2));
        if (listed && !device->info.host) {
            return fault_breach("a list of operands on a device");
        }
        if (!listed && i == 2 && g->batch.steps[i] < (int64_t)reach[i]) {
            return fault_breach("products of a batch that overlap");
        }
    }
    return HR_OK;
}

/* What a precise product has beside its operands. */
static hr_status check_packed(hri_device *device, const hri_gemm *g)
{
    if (g->compute != HR_COMPUTE_PRECISE || !hri_gemm_is_packed(g)) {
        return device->info.packs_precise && g->compute == HR_COMPUTE_PRECISE &&
                       g->k > 0
                   ? fault_breach("a precise product that is not packed")
                   : HR_OK;
    }
    const hri_place *const places[3] = {&g->packed[0], &g->packed[1],
                                        &g->scratch};
    const uint64_t bytes[3] = {hri_precise_bytes(g->type, 0, g->m, g->k),
                               hri_precise_bytes(g->type, 1, g->n, g->k),
                               hri_precise_scratch(g->type, g->m, g->n)};
    for (int i = 0; i < 3; i++) {
        if (places[i]->buffer == NULL || places[i]->buffer->device != device ||
            !is_inside(places[i], bytes[i])) {
            return fault_breach("a packed panel past the end of a buffer");
        }
    }
    return HR_OK;
}

hr_status fault_check_gemm(hri_device *device, const hri_gemm *g)
{
    hri_device *inner = fault_inner_device(device);
    if (!inner->ops->gemm_offered(inner, g->type, g->c_type, g->compute)) {
        return fault_breach("a product that is not offered");
    }
    if (g->m == 0 || g->n == 0) {
        return HR_OK;
    }
    const hri_operand *const operands[3] = {&g->a, &g->b, &g->c};
    const uint64_t reach[3] = {operand_reach(&g->a, g->type, g->m, g->k),
                               operand_reach(&g->b, g->type, g->k, g->n),
                               operand_reach(&g->c, g->c_type, g->m, g->n)};
    const bool out = g->beta.re == 0 && g->beta.im == 0;
    HRI_TRY(check_batch(device, g, operands, reach, out));
    for (int i = 0; i < 3; i++) {
        HRI_TRY(check_operand(device, operands[i], reach[i], out && i == 2));
    }
    HRI_TRY(check_packed(device, g));
    return g->c.col_stride == 1
               ? HR_OK
               : fault_breach("a product with a C of other than unit stride");
}

/* ---- queues */

typedef struct fault_queue {
    hri_queue base; /* first: see hri_queue */
    hri_queue *inner;
    hri_error error; /* of an operation that failed on request */
    bool graph;      /* one has been begun here */
} fault_queue;

typedef struct fault_event {
    hri_event base; /* first: see hri_event */
    hri_event *inner;
    hri_error error; /* the queue's at the last record; under fault_lock */
} fault_event;

static void unwrap_place(hri_place *place)
{
    if (place->buffer != NULL) {
        place->buffer = ((fault_buffer *)place->buffer)->inner;
    }
}

/* Whether the operation is to be passed on; it fails later or is skipped
 * otherwise. */
static bool begin_operation(fault_queue *queue)
{
    hri_error error;
    if (fault_operation(&error) && queue->error.status == HR_OK) {
        queue->error = error;
    }
    return queue->error.status == HR_OK;
}

/* The error of a call, which is that of a graph too. */
static hr_status keep_error(fault_queue *queue, hr_status status)
{
    if (status != HR_OK && queue->graph) {
        hri_error_keep(&queue->error, status);
    }
    return status;
}

/* Whether the device stages the copy, since its host memory is ordinary. */
static bool is_ordinary(fault_device *device, const hri_copy *copy)
{
    const hri_place *host = copy->from.buffer == NULL ? &copy->from : &copy->to;
    return host->buffer == NULL && device->base.info.staged &&
           !device->base.ops->is_pinned(
               &device->base, (const char *)host->host + host->offset, 1);
}

static void count_copy(fault_device *device, const hri_copy *copy)
{
    const hri_buffer *to = copy->to.buffer;
    const hri_buffer *from = copy->from.buffer;
    const fault_direction direction = from == NULL                 ? FAULT_UP
                                      : to == NULL                 ? FAULT_DOWN
                                      : to->device == from->device ? FAULT_LOCAL
                                                                   : FAULT_PEER;
    fault_count_copy(direction,
                     (uint64_t)copy->width * copy->height * copy->depth,
                     is_ordinary(device, copy));
}

static hr_status queue_copy(hri_queue *base, const hri_copy *copy)
{
    fault_queue *queue = (fault_queue *)base;
    hri_copy inner = *copy;
    fault_pass_copy((fault_device *)base->device);
    HRI_TRY(keep_error(queue, fault_enter(base->device, FAULT_COPY)));
    HRI_TRY(keep_error(queue, check_copy(base->device, copy)));
    count_copy((fault_device *)base->device, copy);
    unwrap_place(&inner.to);
    unwrap_place(&inner.from);
    return begin_operation(queue)
               ? queue->inner->ops->copy(queue->inner, &inner)
               : HR_OK;
}

static hr_status queue_fill(hri_queue *base, hri_buffer *buffer, size_t offset,
                            size_t bytes, uint8_t value)
{
    fault_queue *queue = (fault_queue *)base;
    hri_place place = hri_at(buffer, offset);
    HRI_TRY(keep_error(queue, fault_enter(base->device, FAULT_FILL)));
    HRI_TRY(keep_error(queue, check_fill(base->device, &place, bytes)));
    unwrap_place(&place);
    return begin_operation(queue)
               ? queue->inner->ops->fill(queue->inner, place.buffer, offset,
                                         bytes, value)
               : HR_OK;
}

static hr_status queue_gemm(hri_queue *base, const hri_gemm *gemm)
{
    fault_queue *queue = (fault_queue *)base;
    hri_gemm inner = *gemm;
    HRI_TRY(fault_enter(base->device, FAULT_GEMM));
    HRI_TRY(fault_check_gemm(base->device, gemm));
    fault_product((fault_device *)base->device, gemm);
    unwrap_place(&inner.a.place);
    unwrap_place(&inner.b.place);
    unwrap_place(&inner.c.place);
    unwrap_place(&inner.packed[0]);
    unwrap_place(&inner.packed[1]);
    unwrap_place(&inner.scratch);
    return begin_operation(queue)
               ? queue->inner->ops->gemm(queue->inner, &inner)
               : HR_OK;
}

static hr_status queue_pack(hri_queue *base, const hri_pack *pack)
{
    fault_queue *queue = (fault_queue *)base;
    hri_pack inner = *pack;
    HRI_TRY(fault_enter(base->device, FAULT_PACK));
    HRI_TRY(check_pack(base->device, pack));
    unwrap_place(&inner.to);
    unwrap_place(&inner.from.place);
    return begin_operation(queue)
               ? queue->inner->ops->pack(queue->inner, &inner)
               : HR_OK;
}

static hr_status queue_launch(hri_queue *base, const hri_launch *launch)
{
    fault_queue *queue = (fault_queue *)base;
    hri_launch inner = *launch;
    hri_kernel_argument arguments[HR_MAX_PARAMETERS];
    const hr_parameter *p = launch->kernel->parameters(launch->kernel);
    HRI_TRY(keep_error(queue, fault_enter(base->device, FAULT_LAUNCH)));
    for (uint32_t i = 0; i < launch->kernel->parameter_count; i++) {
        arguments[i] = launch->arguments[i];
        if (p[i].kind == HR_PARAMETER_VIEW) {
            unwrap_place(&arguments[i].place);
        }
    }
    inner.arguments = arguments;
    inner.module = fault_inner_module(launch->module);
    return begin_operation(queue)
               ? queue->inner->ops->launch(queue->inner, &inner)
               : HR_OK;
}

static hr_status queue_record(hri_queue *base, hri_event *event_base)
{
    fault_queue *queue = (fault_queue *)base;
    fault_event *event = (fault_event *)event_base;
    HRI_TRY(fault_enter(base->device, FAULT_RECORD));
    if (event_base->device != base->device) {
        return fault_breach("a record of another device's event");
    }
    HRI_TRY(queue->inner->ops->record(queue->inner, event->inner));
    pthread_mutex_lock(&fault_lock);
    event->error = queue->error;
    pthread_mutex_unlock(&fault_lock);
    return HR_OK;
}

static hr_status queue_wait(hri_queue *base, hri_event *event_base)
{
    fault_queue *queue = (fault_queue *)base;
    fault_event *event = (fault_event *)event_base;
    HRI_TRY(fault_enter(base->device, FAULT_WAIT));
    if (!may_use(base->device, event_base->device)) {
        return fault_breach("a wait for an event of no peer");
    }
    HRI_TRY(queue->inner->ops->wait(queue->inner, event->inner));
    if (queue->error.status == HR_OK) {
        pthread_mutex_lock(&fault_lock);
        queue->error = event->error; /* it would read what never arrived */
        pthread_mutex_unlock(&fault_lock);
    }
    return HR_OK;
}

/* This waits even when it is to fail: a caller that gets a failure here may
 * rely on nothing running any more. */
static hr_status queue_finish(hri_queue *base)
{
    fault_queue *queue = (fault_queue *)base;
    const hr_status finished = queue->inner->ops->finish(queue->inner);
    HRI_TRY(fault_enter(base->device, FAULT_FINISH));
    HRI_TRY(hri_error_raise(&queue->error));
    return finished;
}

static void queue_destroy(hri_queue *base)
{
    fault_queue *queue = (fault_queue *)base;
    fault_note(FAULT_DESTROY_QUEUE);
    if (queue != NULL) {
        if (queue->graph) {
            (void)fault_breach("a queue is destroyed before its graph ended");
        }
        queue->inner->ops->destroy(queue->inner);
        fault_count_object((fault_device *)base->device, -1);
        free(queue);
    }
}

typedef struct fault_graph {
    hri_graph base; /* first: see hri_graph */
    hri_graph *inner;
} fault_graph;

static hr_status queue_begin_graph(hri_queue *base)
{
    fault_queue *queue = (fault_queue *)base;
    HRI_TRY(fault_enter(base->device, FAULT_BEGIN_GRAPH));
    if (queue->graph) {
        return fault_breach("a graph is begun in a graph");
    }
    HRI_TRY(hri_error_raise(&queue->error));
    HRI_TRY(queue->inner->ops->begin_graph(queue->inner));
    queue->graph = true;
    return HR_OK;
}

/* The status of an end that the inner queue has made with status ended.
 * Failures on request happened in the graph, so the queue goes on. */
static hr_status leave_graph(fault_queue *queue, hr_status ended)
{
    const hri_error error = queue->error;
    queue->graph = false;
    queue->error = (hri_error){0};
    HRI_TRY(fault_enter(queue->base.device, FAULT_END_GRAPH));
    HRI_TRY(hri_error_raise(&error));
    return ended;
}

/* This ends the graph even when it is to fail. */
static hr_status queue_end_graph(hri_queue *base, hri_graph **out)
{
    fault_queue *queue = (fault_queue *)base;
    hri_device *inner = fault_inner_device(base->device);
    hri_graph *inner_graph = NULL;
    if (!queue->graph) {
        return fault_breach("a graph is ended, but none was begun");
    }
    hr_status status = leave_graph(
        queue, queue->inner->ops->end_graph(queue->inner, &inner_graph));
    fault_graph *graph = status == HR_OK ? fault_object(sizeof *graph) : NULL;
    if (graph == NULL) {
        inner->ops->destroy_graph(inner_graph);
        return status != HR_OK ? status : HR_ERROR_OUT_OF_MEMORY;
    }
    graph->base.device = base->device;
    graph->inner = inner_graph;
    fault_count_object((fault_device *)base->device, 1);
    *out = &graph->base;
    return HR_OK;
}

static hr_status queue_run_graph(hri_queue *base, hri_graph *graph)
{
    fault_queue *queue = (fault_queue *)base;
    HRI_TRY(fault_enter(base->device, FAULT_RUN_GRAPH));
    if (queue->graph) {
        return fault_breach("a graph is run in a graph");
    }
    if (graph->device != base->device) {
        return fault_breach("a graph of another device is run");
    }
    return begin_operation(queue)
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
    .begin_graph = queue_begin_graph,
    .end_graph = queue_end_graph,
    .run_graph = queue_run_graph,
};

hr_status fault_create_queue(hri_device *device, bool urgent, hri_queue **out)
{
    hri_device *inner = fault_inner_device(device);
    HRI_TRY(fault_enter(device, FAULT_CREATE_QUEUE));
    fault_queue *queue = fault_object(sizeof *queue);
    if (queue == NULL) {
        return HR_ERROR_OUT_OF_MEMORY;
    }
    const hr_status status =
        inner->ops->create_queue(inner, urgent, &queue->inner);
    if (status != HR_OK) {
        free(queue);
        return status;
    }
    queue->base = (hri_queue){.ops = &queue_ops, .device = device};
    fault_count_object((fault_device *)device, 1);
    *out = &queue->base;
    return HR_OK;
}

static hr_status raise_event(fault_event *event)
{
    pthread_mutex_lock(&fault_lock);
    hr_status status = hri_error_raise(&event->error);
    pthread_mutex_unlock(&fault_lock);
    return status;
}

static hr_status event_query(hri_event *base, bool *done)
{
    fault_event *event = (fault_event *)base;
    bool is_done = false;
    HRI_TRY(fault_enter(base->device, FAULT_EVENT_QUERY));
    HRI_TRY(event->inner->ops->query(event->inner, &is_done));
    if (is_done) {
        HRI_TRY(raise_event(event));
    }
    *done = is_done;
    return HR_OK;
}

static hr_status event_wait(hri_event *base)
{
    fault_event *event = (fault_event *)base;
    const hr_status waited = event->inner->ops->wait(event->inner);
    HRI_TRY(fault_enter(base->device, FAULT_EVENT_WAIT));
    HRI_TRY(raise_event(event));
    return waited;
}

static hr_status event_elapsed(hri_event *from_base, hri_event *to_base,
                               uint64_t *ns)
{
    hri_event *from = ((fault_event *)from_base)->inner;
    hri_event *to = ((fault_event *)to_base)->inner;
    HRI_TRY(fault_enter(from_base->device, FAULT_EVENT_ELAPSED));
    if (from_base->device != to_base->device) {
        return fault_breach("a time between events of two devices");
    }
    HRI_TRY(from->ops->elapsed(from, to, ns));
    const uint64_t time_ns = fault_time((fault_device *)from_base->device);
    *ns = time_ns > 0 ? time_ns : *ns;
    return HR_OK;
}

static void event_destroy(hri_event *base)
{
    fault_event *event = (fault_event *)base;
    fault_note(FAULT_DESTROY_EVENT);
    if (event != NULL) {
        bool done = true;
        if (event->inner->ops->query(event->inner, &done) == HR_OK && !done) {
            (void)fault_breach("an event is destroyed before it is complete");
        }
        event->inner->ops->destroy(event->inner);
        fault_count_object((fault_device *)base->device, -1);
        free(event);
    }
}

static const hri_event_ops event_ops = {
    .destroy = event_destroy,
    .query = event_query,
    .wait = event_wait,
    .elapsed = event_elapsed,
};

hr_status fault_create_event(hri_device *device, bool timed, hri_event **out)
{
    hri_device *inner = fault_inner_device(device);
    HRI_TRY(fault_enter(device, FAULT_CREATE_EVENT));
    fault_event *event = fault_object(sizeof *event);
    if (event == NULL) {
        return HR_ERROR_OUT_OF_MEMORY;
    }
    const hr_status status =
        inner->ops->create_event(inner, timed, &event->inner);
    if (status != HR_OK) {
        free(event);
        return status;
    }
    event->base = (hri_event){.ops = &event_ops, .device = device};
    fault_count_object((fault_device *)device, 1);
    *out = &event->base;
    return HR_OK;
}
