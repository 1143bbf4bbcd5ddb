/* SPDX-License-Identifier: MIT */
/* The engine of a batch of products. A task is a group of them. Its operands
 * are panels with the group's number, or panel 0 where all products share one.
 * What does not lie as one box in the caller's memory is gathered by threads.
 * So are results that depend on old ones: C is written when all of the group's
 * are in pinned memory. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/size.h"
#include "gemm/batch.h"

/* What the run keeps of the batch. Threads that the call has left behind look
 * at no list of the caller's. */
typedef struct groups {
    hri_batch_call call;
    hri_batch_side sides[HRI_SIDES];
    int64_t first, count; /* products of the run */
    hri_flow flow;
    int64_t starts[]; /* of each group in the batch, and of one more */
} groups;

static hr_status no_memory(void)
{
    return hri_fail(HR_ERROR_OUT_OF_MEMORY, "gemm batch: out of memory");
}

static int64_t products_of_group(const groups *g, int64_t group)
{
    return g->starts[group + 1] - g->starts[group];
}

static int64_t products_of_task(const void *data, const hri_task *task)
{
    return products_of_group(data, task->unit);
}

static double flops_of_task(const void *data, const hri_task *task)
{
    const groups *g = data;
    return hri_flops_of(&g->call.one.product) *
           (double)products_of_group(g, task->unit);
}

/* ---- in the caller's memory */

hri_gemm hri_batch_in_place(const hri_batch_call *call, int64_t first,
                            int64_t count)
{
    hri_product p = call->one.product;
    hr_matrix *const of[] = {&p.a, &p.b, &p.c};
    hri_batch batch = {.count = count};
    for (int i = 0; i < HRI_SIDES; i++) {
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

/* Whether the matrices of an operand lie behind each other as in slots. */
static bool is_dense(const groups *g, int side)
{
    const hri_batch_side *x = &g->sides[side];
    const hri_matrices *m = &g->call.operands[side];
    return x->pitch == x->width &&
           (x->shared || (m->list == NULL && m->step == (int64_t)x->bytes));
}

static hri_copy box_of(const void *data, int side, const hri_task *task,
                       hri_place slot)
{
    const groups *g = data;
    const hri_batch_side *x = &g->sides[side];
    const hri_matrices *m = &g->call.operands[side];
    const int64_t group = hri_task_index(task, side);
    const size_t products = x->shared ? 1 : (size_t)products_of_group(g, group);
    const size_t before = (size_t)(g->starts[group] * m->step);
    hri_copy copy = {.to = slot,
                     .from = m->list != NULL
                                 ? hri_at_host(NULL, 0)
                                 : hri_at_host(m->first.data, before),
                     .to_pitch = x->width,
                     .to_slice = x->bytes,
                     .from_pitch = x->pitch,
                     .from_slice = (size_t)m->step,
                     .width = x->width,
                     .height = x->lines,
                     .depth = products};
    if (is_dense(g, side)) {
        copy.width = copy.to_pitch = copy.from_pitch = x->bytes * products;
        copy.height = copy.depth = 1;
    }
    return copy;
}

/* Copy bytes of matrices, from product `item` on, which lie without gaps in
 * pinned memory. */
static void gather_bytes(const void *data, int side, int64_t item, void *pinned,
                         size_t first, size_t bytes, bool home)
{
    const groups *g = data;
    const hri_batch_side *x = &g->sides[side];
    const size_t width = x->pitch == x->width ? x->bytes : x->width;
    char *packed = pinned;
    while (bytes > 0) {
        const int64_t product = item + (int64_t)(first / x->bytes);
        const hr_matrix m = hri_matrices_at(&g->call.operands[side], product);
        size_t at = first % x->bytes;
        for (size_t length; bytes > 0 && at < x->bytes; at += length) {
            const size_t start = at % width, line = width - start;
            char *const matrix = (char *)m.data + at / width * x->pitch + start;
            length = line < bytes ? line : bytes;
            memcpy(home ? matrix : packed, home ? packed : matrix, length);
            packed += length;
            first += length;
            bytes -= length;
        }
    }
}

static hri_gather gather_of(const void *data, int side, const hri_task *task)
{
    const groups *g = data;
    return (hri_gather){.copy = gather_bytes,
                        .data = g,
                        .side = side,
                        .item = g->starts[hri_task_index(task, side)]};
}

/* ---- in slots */

/* The operand of a matrix that lies without gaps. */
static hri_operand packed_operand(const hr_matrix *m, hri_place place)
{
    const bool row_major = m->col_stride == 1;
    return (hri_operand){.place = place,
                         .row_stride = row_major ? m->cols : 1,
                         .col_stride = row_major ? 1 : m->rows,
                         .conjugate = m->conjugate};
}

static hri_gemm in_slots(const groups *g, const hri_flow_task *f)
{
    hri_gemm gemm = hri_gemm_in_place(&g->call.one.product);
    hri_operand *const to[] = {&gemm.a, &gemm.b, &gemm.c};
    gemm.batch = (hri_batch){.count = products_of_task(g, f->task)};
    for (int side = HRI_A; side < HRI_SIDES; side++) {
        const hri_batch_side *x = &g->sides[side];
        *to[side] =
            packed_operand(&g->call.operands[side].first, *f->places[side]);
        gemm.batch.steps[side] = x->shared ? 0 : (int64_t)x->bytes;
    }
    return gemm;
}

static hr_status run_task(const void *data, const hri_flow_task *f)
{
    const groups *g = data;
    const hri_gemm gemm =
        f->places[HRI_C] == NULL
            ? hri_batch_in_place(&g->call, g->starts[f->task->unit],
                                 products_of_task(g, f->task))
            : in_slots(g, f);
    return f->queue->ops->gemm(f->queue, &gemm);
}

static void drop_groups(void *data)
{
    groups *g = data;
    hri_flow_finish(&g->flow);
    free(g);
}

/* ---- the flow */

/* In place a last group of one product would run on all threads: it joins the
 * one before. */
static int64_t next_group(const hri_batch_share *share, bool in_place,
                          int64_t left)
{
    const int64_t joins = in_place ? share->group / 2 : 0;
    return left - share->group <= joins ? left : share->group;
}

static int64_t count_groups(const hri_batch_share *share, bool in_place)
{
    const int64_t joins = in_place ? share->group / 2 : 0;
    const int64_t whole = share->count / share->group;
    return whole + (share->count % share->group > joins || whole == 0);
}

/* The groups of a share, from number `group` on. */
static hr_status add_tasks(hri_flow_share *share, const hri_batch_share *from,
                           groups *g, int64_t group)
{
    const bool shared[] = {g->sides[HRI_A].shared, g->sides[HRI_B].shared};
    const int64_t count = count_groups(from, share->in_place);
    int64_t done = 0;
    for (int64_t i = group; i < group + count; i++) {
        g->starts[i] = from->first + done;
        done += next_group(from, share->in_place, from->count - done);
        g->starts[i + 1] = from->first + done;
    }
    return hri_flow_add_units(share, "gemm", group, count, shared);
}

/* Slots for a share on a device, and how operands travel. Threads stage what is
 * ordinary memory where such copies are slow. Elsewhere, and where old C must
 * stay until all of a group has come, they gather it at once. */
static void add_slots(hri_flow_share *share, const hri_batch_share *from,
                      const hri_gemm_call *planned, const groups *g,
                      hri_staged *staged)
{
    const hri_plan_accelerator *f = &planned->inputs[from->accelerator];
    hri_device *device = planned->accelerators[from->accelerator]->device;
    const uint64_t *bytes = g->flow.slot_bytes;
    hri_batch_side sides[HRI_SIDES];
    const int64_t slots = hri_min(from->slots, count_groups(from, false));
    const bool alone =
        g->flow.share_count == 1; /* else it may take any group */
    hri_batch_sides(&g->call, device, alone ? from->first : g->first,
                    alone ? from->count : g->count, sides);
    for (int side = HRI_A; side < HRI_SIDES; side++) {
        share->slots[side] = sides[side].shared ? 1 : (int32_t)slots;
        staged->of[side] = device->info.staged && !sides[side].direct &&
                           !(side == HRI_C && g->flow.reads_result);
        share->gathered[side] = !sides[side].direct && !staged->of[side];
    }
    const uint64_t spare = bytes[HRI_A] + bytes[HRI_B];
    share->memory = hri_flow_memory(&g->flow, share);
    share->can_steal = !alone && share->memory + spare + f->own <= f->memory;
    share->memory = hri_flow_memory(&g->flow, share);
    hri_batch_traffic(&g->call, from, planned->accelerators[from->accelerator],
                      &share->up, &share->down);
}

static hr_status fill_shares(groups *g, const hri_batch_plan *batch,
                             const hri_gemm_call *planned, hri_staged *staged)
{
    const double each = hri_flops_of(&g->call.one.product);
    hri_flow *flow = &g->flow;
    flow->shares = calloc(batch->count, sizeof *flow->shares);
    if (flow->shares == NULL) {
        return no_memory();
    }
    flow->share_count = batch->count;
    for (uint32_t i = 0; i < batch->count; i++) {
        const hri_batch_share *from = &batch->shares[i];
        hri_flow_share *share = &flow->shares[i];
        share->accelerator = from->accelerator;
        share->in_place = planned->accelerators[from->accelerator]->in_place;
        share->can_steal = share->in_place && batch->count > 1;
        share->flops = each * (double)from->count;
        share->seconds = from->seconds;
        if (!share->in_place) {
            add_slots(share, from, planned, g, &staged[from->accelerator]);
        }
    }
    return HR_OK;
}

static hr_status add_all_tasks(groups *g, const hri_batch_plan *batch)
{
    int64_t group = 0;
    for (uint32_t i = 0; i < batch->count; i++) {
        hri_flow_share *share = &g->flow.shares[i];
        HRI_TRY(add_tasks(share, &batch->shares[i], g, group));
        group += share->task_count;
    }
    return HR_OK;
}

static int64_t count_groups_of_all(const hri_batch_plan *batch,
                                   const hri_gemm_call *planned)
{
    int64_t sum = 0;
    for (uint32_t i = 0; i < batch->count; i++) {
        const hri_batch_share *share = &batch->shares[i];
        sum += count_groups(
            share, planned->accelerators[share->accelerator]->in_place);
    }
    return sum;
}

/* The flow without deliveries and tasks. */
static hr_status make_flow(groups *g, const hri_batch_plan *batch,
                           const hri_gemm_call *planned, int64_t count_of_all,
                           hri_staged *staged)
{
    uint64_t bytes[HRI_SIDES];
    if (count_of_all > INT32_MAX) {
        return no_memory();
    }
    for (int side = HRI_A; side < HRI_SIDES; side++) {
        const int64_t products = g->sides[side].shared ? 1 : batch->group;
        bytes[side] = hri_round_up_bytes(
            g->sides[side].bytes * (size_t)products, HRI_BATCH_ALIGNMENT);
    }
    const uint64_t all = bytes[HRI_A] + bytes[HRI_B] + 2 * bytes[HRI_C];
    g->flow =
        (hri_flow){.slot_bytes = {bytes[HRI_A], bytes[HRI_B], bytes[HRI_C]},
                   .unit_count = count_of_all,
                   .chunks = 1,
                   .reads_result = hri_reads_result(&g->call.one.product),
                   .few = (double)all <= hri_cost_few,
                   .seconds = batch->seconds};
    return fill_shares(g, batch, planned, staged);
}

/* ---- the run */

static hri_engine engine_of(groups *g)
{
    return (hri_engine){.call = "gemm",
                        .data = g,
                        .box = box_of,
                        .gather = gather_of,
                        .run = run_task,
                        .flops = flops_of_task,
                        .count = products_of_task,
                        .drop = drop_groups};
}

/* Count what is complete in the caller's memory. */
static void note_home(hri_batch_call *call, const hri_batch_done *done)
{
    for (int64_t i = 0; i < done->count; i++) {
        const double products = (double)(done->starts[i + 1] - done->starts[i]);
        call->one.flops_done +=
            done->home[i] ? hri_flops_of(&call->one.product) * products : 0.0;
    }
}

/* The groups of a run before it begins, without deliveries and tasks, but with
 * room for the starts of so many. *made: the caller's, also after an error. */
static hr_status make_groups(const hri_batch_call *call,
                             const hri_gemm_call *planned,
                             const hri_batch_plan *batch, int64_t count_of_all,
                             hri_staged *staged, groups **made)
{
    groups *g =
        calloc(1, sizeof *g + (size_t)(count_of_all + 1) * sizeof g->starts[0]);
    *made = g;
    if (g == NULL || staged == NULL) {
        return no_memory();
    }
    g->call.one.product = call->one.product;
    memcpy(g->call.operands, call->operands, sizeof call->operands);
    g->first = batch->shares[0].first;
    for (uint32_t i = 0; i < batch->count; i++) {
        g->count += batch->shares[i].count;
    }
    hri_batch_sides(call, planned->accelerators[0]->device, g->first, g->count,
                    g->sides);
    return make_flow(g, batch, planned, count_of_all, staged);
}

static void note_memory(const groups *g, hri_batch_plan *batch)
{
    for (uint32_t i = 0; i < batch->count; i++) {
        batch->shares[i].memory = g->flow.shares[i].memory;
    }
}

hr_status hri_batch_memory(const hri_batch_call *call,
                           const hri_gemm_call *planned, hri_batch_plan *batch)
{
    groups *g = NULL;
    hri_staged *staged = calloc(planned->count, sizeof *staged);
    const hr_status status = make_groups(call, planned, batch, 0, staged, &g);
    if (status == HR_OK) {
        note_memory(g, batch);
    }
    if (g != NULL) {
        drop_groups(g);
    }
    free(staged);
    return status;
}

/* Run groups that are ready. They are dropped. */
static hr_status run_groups(hri_batch_call *call, const hri_gemm_call *planned,
                            hri_batch_plan *batch, const hri_staged *staged,
                            groups *g, hri_batch_done *done)
{
    hri_run_outcome outcome = {
        .reports = calloc(batch->count, sizeof *outcome.reports),
        .home = done->home};
    if (outcome.reports == NULL) {
        drop_groups(g);
        return no_memory();
    }
    memcpy(done->starts, g->starts,
           (size_t)(done->count + 1) * sizeof done->starts[0]);
    note_memory(g, batch);
    const hri_engine engine = engine_of(g);
    const hri_run_call wanted = {.progress = call->one.progress,
                                 .staged = staged,
                                 .timed = call->one.options.report != NULL,
                                 .flops_before = call->one.flops_done};
    const hr_status status =
        hri_flow_run(call->one.context, &g->flow, &engine,
                     planned->accelerators, &wanted, &outcome);
    for (uint32_t i = 0; i < batch->count; i++) {
        batch->shares[i].report = outcome.reports[i];
    }
    done->lost = outcome.lost;
    free(outcome.reports);
    return status;
}

static hr_status run_flow(hri_batch_call *call, const hri_gemm_call *planned,
                          hri_batch_plan *batch, hri_batch_done *done)
{
    groups *g = NULL;
    hri_staged *staged = calloc(planned->count, sizeof *staged);
    hr_status status =
        make_groups(call, planned, batch, done->count, staged, &g);
    if (status == HR_OK) {
        status = add_all_tasks(g, batch);
    }
    if (status == HR_OK) {
        status = run_groups(call, planned, batch, staged, g, done);
    } else if (g != NULL) {
        drop_groups(g);
    }
    free(staged);
    return status;
}

/* One accelerator in place, of which no progress is wanted, works on this
 * thread. */
static bool is_direct(const hri_batch_call *call, const hri_gemm_call *planned,
                      const hri_batch_plan *batch)
{
    const hri_accelerator *a =
        planned->accelerators[batch->shares[0].accelerator];
    return batch->count == 1 && a->in_place &&
           a->device->ops->gemm_now != NULL &&
           !hri_progress_is_told(call->one.progress);
}

static hr_status run_directly(hri_batch_call *call,
                              const hri_gemm_call *planned,
                              hri_batch_share *share, hri_batch_done *done)
{
    hri_device *device = planned->accelerators[share->accelerator]->device;
    const uint64_t start_ns = hri_clock_ns();
    const hri_gemm gemm = hri_batch_in_place(call, share->first, share->count);
    const hr_status status = device->ops->gemm_now(device, &gemm);
    done->starts[0] = share->first;
    done->starts[1] = share->first + share->count;
    done->home[0] = status == HR_OK;
    if (status == HR_OK) {
        share->report.seconds_busy = hri_seconds_since(start_ns);
        share->report.flops =
            hri_flops_of(&call->one.product) * (double)share->count;
        share->report.tiles = (uint64_t)share->count;
    }
    return status;
}

hr_status hri_batch_run(hri_batch_call *call, const hri_gemm_call *planned,
                        hri_batch_plan *batch, hri_batch_done *done)
{
    const bool direct = is_direct(call, planned, batch);
    const int64_t rows = direct ? 1 : count_groups_of_all(batch, planned);
    *done = (hri_batch_done){.count = rows,
                             .starts =
                                 calloc((size_t)rows + 1, sizeof *done->starts),
                             .home = calloc((size_t)rows, 1)};
    hr_status status;
    if (done->starts == NULL || done->home == NULL) {
        done->count = 0;
        return no_memory();
    }
    if (!hri_progress_tell(call->one.progress, call->one.flops_done)) {
        status = hri_error_raise(&call->one.progress->error);
    } else if (direct) {
        status = run_directly(call, planned, &batch->shares[0], done);
    } else {
        status = run_flow(call, planned, batch, done);
    }
    note_home(call, done);
    return status;
}
