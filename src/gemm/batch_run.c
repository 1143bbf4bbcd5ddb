/* SPDX-License-Identifier: MIT */
/* The accelerators of a batch at work. Each has a range of products and a
 * thread. In place, a group of products is one command. Elsewhere groups travel
 * through slots: while one is multiplied, the next is on its way there, and the
 * one before on its way home. */
#include <stdlib.h>

#include "base/clock.h"
#include "base/progress.h"
#include "base/size.h"
#include "gemm/batch.h"

enum { SIDES = HRI_C + 1 };
enum {
    UP = HRI_QUEUE_UP,
    COMPUTE = HRI_QUEUE_COMPUTE,
    DOWN = HRI_QUEUE_DOWN,
    QUEUES
};

/* Events at the end of the steps of a group. */
enum { LOADED, STARTED, MULTIPLIED, HOME, EVENTS };

typedef struct slot {
    hri_buffer *buffer;
    void *pinned; /* what threads pack and unpack; NULL: all is direct */
    hri_event *events[EVENTS];
    int64_t first, count; /* the group that is in it; 0 products: none */
} slot;

typedef struct run {
    hri_batch_call *call;
    pthread_mutex_t lock; /* guards what follows */
    double flops_done;
    hri_error error; /* ends the call */
    hri_error lost;  /* why the first accelerator was lost */
    bool stopped;
} run;

typedef struct executor {
    run *run;
    hri_batch_part *part;
    hri_accelerator *accelerator;
    hri_thread *thread;
    hr_status failed;
    hri_batch_side sides[SIDES];
    size_t offsets[SIDES]; /* in a slot */
    bool reads;            /* old C */
    hri_queue *queues[QUEUES];
    hri_buffer *shared[SIDES]; /* A and B that all products share */
    void *shared_pinned[SIDES];
    slot slots[HRI_BATCH_SLOTS];
} executor;

/* ---- errors and progress */

static bool is_stopped(run *r)
{
    pthread_mutex_lock(&r->lock);
    const bool stopped = r->stopped;
    pthread_mutex_unlock(&r->lock);
    return stopped;
}

static void stop(run *r, hr_status status)
{
    pthread_mutex_lock(&r->lock);
    hri_error_keep(&r->error, status);
    r->stopped = true;
    pthread_mutex_unlock(&r->lock);
}

/* A lost accelerator ends the call only if some C is neither old nor new. */
static void note_failure(executor *e, hr_status status, bool torn)
{
    run *r = e->run;
    e->failed = hri_accelerator_saw(e->accelerator, status);
    if (status == HR_ERROR_LOST && !torn) {
        e->part->share.lost = true;
        pthread_mutex_lock(&r->lock);
        hri_error_keep(&r->lost, status);
        pthread_mutex_unlock(&r->lock);
    } else {
        stop(r, status);
    }
}

/* So many more products are complete in the caller's memory. */
static void note_done(executor *e, int64_t products)
{
    run *r = e->run;
    const double flops = hri_flops_of(&r->call->one.product) * (double)products;
    e->part->done += products;
    e->part->share.tiles += (uint64_t)products;
    e->part->share.flops += flops;
    pthread_mutex_lock(&r->lock);
    r->flops_done += flops;
    pthread_mutex_unlock(&r->lock);
}

/* ---- in place */

hri_gemm hri_batch_in_place(const hri_batch_call *call, int64_t first,
                            int64_t count)
{
    hri_product p = call->one.product;
    hr_matrix *const of[] = {&p.a, &p.b, &p.c};
    hri_batch batch = {.count = count};
    for (int i = 0; i < SIDES; i++) {
        const hri_matrices *m = &call->operands[i];
        *of[i] = hri_matrices_at(m, first);
        batch.steps[i] = m->step;
        batch.lists[i] = m->list != NULL ? m->list + first : NULL;
    }
    hri_gemm g = hri_gemm_in_place(&p);
    if (count > 1) {
        g.batch = batch;
    }
    return g;
}

/* On this thread, or where its settings would change, by a queue. */
static hr_status multiply_in_place(executor *e, const hri_gemm *gemm)
{
    hri_device *device = e->accelerator->device;
    if (device->ops->gemm_now != NULL) {
        return device->ops->gemm_now(device, gemm);
    }
    hri_queue **queue = &e->queues[COMPUTE];
    hr_status status =
        *queue == NULL ? hri_accelerator_take_queue(e->accelerator,
                                                    HRI_QUEUE_COMPUTE, queue)
                       : HR_OK;
    if (status == HR_OK) {
        status = (*queue)->ops->gemm(*queue, gemm);
    }
    return status == HR_OK ? (*queue)->ops->finish(*queue) : status;
}

/* A last group of one product would run on all threads: it joins the one
 * before. */
static int64_t next_group(const hri_batch_part *part, int64_t left)
{
    return left - part->group <= part->group / 2 ? left : part->group;
}

static void run_in_place(executor *e)
{
    hri_batch_part *part = e->part;
    const uint64_t start_ns = hri_clock_ns();
    const hr_scalar beta = e->run->call->one.product.beta;
    hr_status status = HR_OK;
    while (part->done < part->count && status == HR_OK && !is_stopped(e->run)) {
        const int64_t count = next_group(part, part->count - part->done);
        const hri_gemm gemm =
            hri_batch_in_place(e->run->call, part->first + part->done, count);
        status = multiply_in_place(e, &gemm);
        if (status == HR_OK) {
            note_done(e, count);
        }
    }
    part->share.seconds_busy = hri_seconds_since(start_ns);
    if (status != HR_OK) {
        note_failure(e, status, beta.re != 0.0 || beta.im != 0.0);
    }
}

/* ---- a group on its way */

/* Let threads pack a group, or unpack it where it is home. */
static hr_status pack(executor *e, const slot *s, bool home)
{
    const hri_batch_packing packing = {.call = e->run->call,
                                       .accelerator = e->accelerator,
                                       .sides = e->sides,
                                       .offsets = e->offsets,
                                       .pinned = s->pinned,
                                       .first = s->first,
                                       .count = s->count,
                                       .home = home};
    return hri_batch_pack(&packing);
}

/* The box of an operand of a group, between slot and host memory. */
static hri_copy box_of(const executor *e, int side, const slot *s)
{
    const hri_batch_side *x = &e->sides[side];
    const hri_matrices *m = &e->run->call->operands[side];
    const hri_place there = hri_at(s->buffer, e->offsets[side]);
    const hr_matrix first = hri_matrices_at(m, s->first);
    hri_copy box = {.to = there,
                    .from = hri_at_host(s->pinned, e->offsets[side]),
                    .width = x->bytes * (size_t)s->count,
                    .height = 1,
                    .depth = 1};
    if (x->direct) {
        box = (hri_copy){.to = there,
                         .from = hri_at_host(first.data, 0),
                         .to_pitch = x->width,
                         .to_slice = x->bytes,
                         .from_pitch = x->pitch,
                         .from_slice = (size_t)m->step,
                         .width = x->width,
                         .height = x->lines,
                         .depth = (size_t)s->count};
    }
    return box;
}

static hri_copy reversed(const hri_copy *box)
{
    hri_copy home = *box;
    home.to = box->from;
    home.from = box->to;
    home.to_pitch = box->from_pitch;
    home.to_slice = box->from_slice;
    home.from_pitch = box->to_pitch;
    home.from_slice = box->to_slice;
    return home;
}

static hr_status copy(const executor *e, int queue, const hri_copy *box)
{
    return e->queues[queue]->ops->copy(e->queues[queue], box);
}

static hr_status record(const executor *e, int queue, hri_event *event)
{
    return e->queues[queue]->ops->record(e->queues[queue], event);
}

static hr_status await(const executor *e, int queue, hri_event *event)
{
    return e->queues[queue]->ops->wait(e->queues[queue], event);
}

static hr_status load(executor *e, slot *s)
{
    hr_status status = pack(e, s, false);
    for (int side = HRI_A; side < SIDES && status == HR_OK; side++) {
        if (!e->sides[side].shared && (side != HRI_C || e->reads)) {
            const hri_copy box = box_of(e, side, s);
            status = copy(e, UP, &box);
            e->part->share.up += e->sides[side].bytes * (uint64_t)s->count;
        }
    }
    return status == HR_OK ? record(e, UP, s->events[LOADED]) : status;
}

/* The operand of a matrix that lies without gaps. */
static hri_operand packed_operand(const hr_matrix *m, hri_place place)
{
    const bool row_major = m->col_stride == 1;
    return (hri_operand){.place = place,
                         .row_stride = row_major ? m->cols : 1,
                         .col_stride = row_major ? 1 : m->rows,
                         .conjugate = m->conjugate};
}

static hr_status multiply(const executor *e, const slot *s)
{
    const hri_batch_call *call = e->run->call;
    hri_gemm g = hri_batch_in_place(call, s->first, s->count);
    hri_operand *const to[] = {&g.a, &g.b, &g.c};
    g.batch = (hri_batch){.count = s->count};
    for (int side = HRI_A; side < SIDES; side++) {
        const bool shared = e->sides[side].shared;
        const hri_place place = shared ? hri_at(e->shared[side], 0)
                                       : hri_at(s->buffer, e->offsets[side]);
        *to[side] = packed_operand(&call->operands[side].first, place);
        g.batch.steps[side] = shared ? 0 : (int64_t)e->sides[side].bytes;
    }
    hri_queue *queue = e->queues[COMPUTE];
    hr_status status = await(e, COMPUTE, s->events[LOADED]);
    if (status == HR_OK) {
        status = record(e, COMPUTE, s->events[STARTED]);
    }
    if (status == HR_OK) {
        status = queue->ops->gemm(queue, &g);
    }
    return status == HR_OK ? record(e, COMPUTE, s->events[MULTIPLIED]) : status;
}

static hr_status send_home(executor *e, const slot *s)
{
    const hri_copy box = box_of(e, HRI_C, s);
    const hri_copy home = reversed(&box);
    hr_status status = await(e, DOWN, s->events[MULTIPLIED]);
    if (status == HR_OK) {
        status = copy(e, DOWN, &home);
    }
    e->part->share.down += e->sides[HRI_C].bytes * (uint64_t)s->count;
    return status == HR_OK ? record(e, DOWN, s->events[HOME]) : status;
}

/* Wait until the group in the slot is home, and unpack it. */
static hr_status receive(executor *e, slot *s)
{
    uint64_t ns = 0;
    if (s->count == 0) {
        return HR_OK;
    }
    hr_status status = s->events[HOME]->ops->wait(s->events[HOME]);
    if (status == HR_OK) {
        status = s->events[STARTED]->ops->elapsed(s->events[STARTED],
                                                  s->events[MULTIPLIED], &ns);
    }
    if (status == HR_OK) {
        status = pack(e, s, true);
    }
    if (status == HR_OK) {
        e->part->share.seconds_busy += (double)ns * 1e-9;
        note_done(e, s->count);
        s->count = 0;
    }
    return status;
}

/* ---- memory, queues and events */

static size_t aligned(size_t bytes)
{
    return hri_round_up_bytes(bytes, HRI_BATCH_ALIGNMENT);
}

static hr_status open_slot(executor *e, slot *s, size_t bytes, bool pinned)
{
    hri_accelerator *a = e->accelerator;
    hr_status status = hri_accelerator_allocate(a, bytes, &s->buffer);
    e->part->memory += bytes;
    if (status == HR_OK && pinned) {
        status = hri_accelerator_allocate_pinned(a, bytes, &s->pinned);
    }
    for (int i = 0; i < EVENTS && status == HR_OK; i++) {
        status = hri_accelerator_take_event(a, &s->events[i]);
    }
    return status;
}

/* Load an A or B that all products share. The first product waits for it as for
 * its own operands. */
static hr_status load_shared(executor *e, int side)
{
    hri_accelerator *a = e->accelerator;
    const size_t bytes = e->sides[side].bytes;
    hr_status status = hri_accelerator_allocate(a, bytes, &e->shared[side]);
    if (status == HR_OK) {
        status =
            hri_accelerator_allocate_pinned(a, bytes, &e->shared_pinned[side]);
    }
    if (status != HR_OK) {
        return status;
    }
    hri_batch_pack_one(&e->sides[side], &e->run->call->operands[side].first,
                       e->shared_pinned[side]);
    e->part->memory += bytes;
    e->part->share.up += bytes;
    const hri_copy box = {.to = hri_at(e->shared[side], 0),
                          .from = hri_at_host(e->shared_pinned[side], 0),
                          .width = bytes,
                          .height = 1,
                          .depth = 1};
    return copy(e, UP, &box);
}

static hr_status set_up(executor *e)
{
    size_t bytes = 0;
    hr_status status = HR_OK;
    hri_batch_sides(e->run->call, e->accelerator->device, e->part->first,
                    e->part->count, e->sides);
    for (int side = HRI_A; side < SIDES; side++) {
        e->offsets[side] = bytes;
        bytes += e->sides[side].shared
                     ? 0
                     : aligned(e->sides[side].bytes * (size_t)e->part->group);
    }
    const hri_batch_call *call = e->run->call;
    const bool pinned = hri_batch_packed_bytes(call, e->sides, false) > 0 ||
                        hri_batch_packed_bytes(call, e->sides, true) > 0;
    for (int i = 0; i < QUEUES && status == HR_OK; i++) {
        status = hri_accelerator_take_queue(e->accelerator, (hri_queue_use)i,
                                            &e->queues[i]);
    }
    for (uint32_t i = 0; i < e->part->slots && status == HR_OK; i++) {
        status = open_slot(e, &e->slots[i], bytes, pinned);
    }
    for (int side = HRI_A; side < HRI_C && status == HR_OK; side++) {
        status = e->sides[side].shared ? load_shared(e, side) : HR_OK;
    }
    return status;
}

/* Wait for all that was enqueued. */
static hr_status settle(executor *e, hr_status status)
{
    for (int i = 0; i < QUEUES; i++) {
        hri_queue *queue = e->queues[i];
        const hr_status end = queue != NULL ? queue->ops->finish(queue) : HR_OK;
        status = status == HR_OK ? end : status;
    }
    return status;
}

/* Give everything back. Nothing is under way. */
static void finish(executor *e)
{
    hri_accelerator *a = e->accelerator;
    if (e->failed == HR_OK) {
        hri_accelerator_recall(a);
    } else {
        hri_accelerator_forget(a);
    }
    for (int i = 0; i < HRI_BATCH_SLOTS; i++) {
        hri_accelerator_release(a, e->slots[i].buffer);
        hri_accelerator_release_pinned(a, e->slots[i].pinned);
    }
    for (int i = HRI_A; i < HRI_C; i++) {
        hri_accelerator_release(a, e->shared[i]);
        hri_accelerator_release_pinned(a, e->shared_pinned[i]);
    }
}

/* ---- executors */

static void run_slots(executor *e)
{
    hri_batch_part *part = e->part;
    hr_status status = set_up(e);
    int64_t sent = 0, round = 0;
    for (; sent < part->count && status == HR_OK && !is_stopped(e->run);
         round++) {
        slot *s = &e->slots[round % part->slots];
        status = receive(e, s);
        if (status == HR_OK) {
            s->first = part->first + sent;
            s->count = hri_min(part->group, part->count - sent);
            sent += s->count;
            status = load(e, s);
        }
        if (status == HR_OK) {
            status = multiply(e, s);
        }
        if (status == HR_OK) {
            status = send_home(e, s);
        }
    }
    for (uint32_t i = 0; i < part->slots && status == HR_OK; i++, round++) {
        status = receive(e, &e->slots[round % part->slots]);
    }
    hri_error error = {0};
    hri_error_keep(&error, status);
    (void)settle(e, status);
    if (error.status != HR_OK) {
        note_failure(e, hri_error_raise(&error), false);
    }
}

static void *executor_main(void *argument)
{
    executor *e = argument;
    if (e->accelerator->in_place) {
        run_in_place(e);
    } else {
        run_slots(e);
    }
    return NULL;
}

/* ---- the caller's thread */

/* Tell the program how far the call is. */
static void tell(run *r)
{
    const hri_gemm_call *one = &r->call->one;
    hri_progress *progress = one->progress;
    pthread_mutex_lock(&r->lock);
    const double done = one->flops_done + r->flops_done;
    const bool stopped = r->stopped;
    pthread_mutex_unlock(&r->lock);
    if (!stopped && !hri_progress_tell(progress, done)) {
        stop(r, hri_error_raise(&progress->error));
    }
}

/* One executor alone, of which no progress is wanted, works on this thread. */
static void start(run *r, executor *executors, uint32_t count)
{
    const bool here =
        count == 1 && !hri_progress_is_told(r->call->one.progress);
    tell(r);
    for (uint32_t i = 0; i < count && !is_stopped(r); i++) {
        executor *e = &executors[i];
        if (!here) {
            e->thread =
                hri_threads_start(&e->accelerator->threads, executor_main, e);
        }
        if (e->thread == NULL) { /* or the system refused a thread */
            executor_main(e);
        }
    }
}

/* Wait for the executors that have threads, and tell the program meanwhile. */
static void watch(run *r, executor *executors, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        hri_thread *thread = executors[i].thread;
        while (thread != NULL && hri_progress_is_told(r->call->one.progress) &&
               !hri_thread_await(thread, hri_progress_ms)) {
            tell(r);
        }
        if (thread != NULL) {
            hri_thread_join(thread);
        }
    }
}

hr_status hri_batch_run(hri_batch_call *call, const hri_gemm_call *planned,
                        hri_batch_plan *plan, hri_error *lost)
{
    const hr_scalar beta = call->one.product.beta;
    run r = {.call = call, .lock = PTHREAD_MUTEX_INITIALIZER};
    executor *executors = calloc(plan->count, sizeof *executors);
    if (executors == NULL) {
        return hri_fail(HR_ERROR_OUT_OF_MEMORY, "gemm batch: out of memory");
    }
    for (uint32_t i = 0; i < plan->count; i++) {
        hri_batch_part *part = &plan->parts[i];
        executors[i] =
            (executor){.run = &r,
                       .part = part,
                       .accelerator = planned->accelerators[part->accelerator],
                       .reads = beta.re != 0.0 || beta.im != 0.0};
    }
    start(&r, executors, plan->count);
    watch(&r, executors, plan->count);
    for (uint32_t i = 0; i < plan->count; i++) {
        finish(&executors[i]);
    }
    call->one.flops_done += r.flops_done;
    hri_error_keep(lost, hri_error_raise(&r.lost));
    free(executors);
    pthread_mutex_destroy(&r.lock);
    return hri_error_raise(&r.error);
}
