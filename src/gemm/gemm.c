/* SPDX-License-Identifier: MIT */
/* hr_gemm and hr_gemm_plan: from arguments to a plan, and to a report. */
#include <headrace/gemm.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/matrix.h"
#include "base/size.h"
#include "base/structs.h"
#include "gemm/plan.h"
#include "gemm/run.h"
#include "model/model.h"

/* A call: its checked arguments, its accelerators, and its plan. */
typedef struct call {
    uint64_t start_ns;
    hr_context *context;
    hr_gemm_options options;
    hri_product product;
    uint32_t count;                 /* accelerators that take part */
    hri_accelerator **accelerators; /* [count] */
    hri_plan_accelerator *inputs;   /* [count] for the planner */
    hri_flow *flows;                /* [count] */
    hri_plan *plan;                 /* NULL: nothing to multiply */
    hri_run_share *done; /* [accelerators of the context] what they did; NULL
                            before the first run */
    hri_error lost;      /* why the first accelerator was lost */
    double flops, flops_done; /* of the whole product, and of what is home */
    uint64_t recomputed;      /* tiles that were computed by others */
} call;

const char *hr_bound_name(hr_bound bound)
{
    static const char *const names[] = {"compute", "link", "host memory",
                                        "disk"};
    return bound >= HR_BOUND_COMPUTE && bound <= HR_BOUND_DISK ? names[bound]
                                                               : "?";
}

/* ---- arguments */

static const hri_struct options_struct = HRI_STRUCT(
    hr_gemm_options, "gemm options", "HR_GEMM_OPTIONS_INIT", memory_limit);
static const hri_struct report_struct =
    HRI_STRUCT(hr_gemm_report, "gemm report", "HR_GEMM_REPORT_INIT", seconds);

static hr_status take_options(call *c, const hr_gemm_options *options)
{
    c->options = (hr_gemm_options)HR_GEMM_OPTIONS_INIT;
    hr_status status = hri_struct_read(&options_struct, options, &c->options);
    if (status != HR_OK) {
        return status;
    }
    if ((unsigned)c->options.compute > HR_COMPUTE_REPRODUCIBLE) {
        return hri_fail(HR_ERROR_INVALID, "gemm: unknown compute mode %d",
                        (int)c->options.compute);
    }
    return hri_struct_check(&report_struct, c->options.report);
}

static hri_product_kind kind_of(const hri_product *p)
{
    return (hri_product_kind){p->a.type, p->c.type, p->compute};
}

/* In messages, by hr_compute. */
static const char *const manners[] = {"", " by tf32", " reproducibly"};

/* Whether the call can use an accelerator. Not when it is lost, or this product
 * went on without it, or an earlier one still waits for it; then *error says
 * so. */
static bool can_use(const call *c, hri_accelerator *a, hri_error *error)
{
    const uint32_t index = (uint32_t)(a - c->context->accelerators);
    hr_status status = HR_OK;
    if (c->done != NULL && c->done[index].lost) {
        status = hri_error_raise(&c->lost);
    } else if (a->abandoned) {
        status = hri_fail(HR_ERROR_LOST,
                          "gemm: %s has not answered since an earlier product",
                          a->path);
    } else {
        status = hri_accelerator_check(a);
    }
    hri_error_keep(error, status);
    return status == HR_OK;
}

/* Choose the accelerators that the caller wants, that offer this product, and
 * that can be used. They stay in the order of the context, whatever the order
 * of the list. */
static hr_status choose_accelerators(call *c)
{
    hri_indices wanted;
    hr_status status =
        hri_indices_read(c->context, "gemm", c->options.accelerators,
                         c->options.accelerator_count, &wanted);
    if (status != HR_OK) {
        return status;
    }
    c->accelerators = calloc(wanted.count, sizeof(hri_accelerator *));
    c->inputs = calloc(wanted.count, sizeof *c->inputs);
    c->flows = calloc(wanted.count, sizeof *c->flows);
    if (c->accelerators == NULL || c->inputs == NULL || c->flows == NULL) {
        return hri_fail(HR_ERROR_OUT_OF_MEMORY, "gemm: out of memory");
    }
    hri_error unusable = {0};
    for (uint32_t i = 0; i < c->context->accelerator_count; i++) {
        hri_accelerator *a = &c->context->accelerators[i];
        if (hri_indices_have(&wanted, i) &&
            hri_accelerator_multiplies(a, kind_of(&c->product)) &&
            can_use(c, a, &unusable)) {
            c->accelerators[c->count++] = a;
        }
    }
    if (c->count == 0 && unusable.status != HR_OK) {
        return hri_error_raise(&unusable);
    }
    if (c->count == 0) {
        return hri_fail(
            HR_ERROR_UNSUPPORTED,
            "gemm: none of %u accelerator%s multiplies %s into %s%s",
            wanted.count, hri_plural(wanted.count),
            hr_type_name(c->product.a.type), hr_type_name(c->product.c.type),
            manners[c->product.compute]);
    }
    return status;
}

/* Whether accelerators are left after those that turned out to be lost are
 * taken out, and some were. */
static bool leave_out_lost(call *c)
{
    const uint32_t before = c->count;
    c->count = 0;
    for (uint32_t i = 0; i < before; i++) {
        if (!hri_accelerator_is_lost(c->accelerators[i])) {
            c->accelerators[c->count++] = c->accelerators[i];
        }
    }
    return c->count > 0 && c->count < before;
}

/* ---- what the plan is made from */

/* Whether the device multiplies faster when panels of A are packed. */
static bool wants_packing(const hri_product *p, hri_device *device)
{
    return (device->info.packed >> p->a.type & 1) != 0 &&
           p->compute == HR_COMPUTE_NATIVE && p->a.col_stride == 1 &&
           p->b.col_stride == 1 && !p->a.conjugate && p->k <= INT32_MAX;
}

static double flops_of(const hri_product *p)
{
    return hri_product_flops(p->a.type, p->m, p->n, p->k);
}

/* Measure what planning needs to know of accelerator i, or look it up. */
static hr_status measure_one(call *c, uint32_t i, hri_overheads *overheads)
{
    hri_accelerator *a = c->accelerators[i];
    hri_plan_accelerator *f = &c->inputs[i];
    const hri_product_kind kind = kind_of(&c->product);
    const bool small = hri_model_is_small(flops_of(&c->product));
    hr_status status = hri_accelerator_rate(a, kind, &f->rate);
    if (status == HR_OK && !small) {
        status = hri_accelerator_tile_rates(a, kind, f->tile_rates);
    }
    if (status == HR_OK && !small) {
        status = hri_model_overheads(a, true, overheads);
    }
    if (status == HR_OK) {
        status = hri_model_know_link(c->context, a);
        if (status == HR_ERROR_OUT_OF_MEMORY) {
            status = HR_OK; /* it is out of memory for others: plan without
                               links */
        }
    }
    return status;
}

static hr_status gather_one(call *c, uint32_t i, uint64_t least)
{
    hri_accelerator *a = c->accelerators[i];
    hri_plan_accelerator *f = &c->inputs[i];
    const hri_product *p = &c->product;
    double sharing = hri_accelerators_sharing(c->accelerators, c->count, a);
    double known = hri_accelerator_known_rate(a, kind_of(p));
    const uint64_t held = hri_accelerator_held(a); /* by arrays */
    hri_overheads overheads;
    *f = (hri_plan_accelerator){
        .memory = a->memory_limit > held ? a->memory_limit - held : 0,
        .own = a->device->info.gemm_bytes,
        .buffer = a->device->info.allocation_bytes,
        .rate = known > 0.0 ? known : hri_guess(HRI_GUESS_PRODUCT),
        .peers = i,
        .device = i,
        .in_place = a->in_place};
    if (c->options.memory_limit > 0 && c->options.memory_limit < f->memory) {
        f->memory = c->options.memory_limit;
    }
    f->packed = wants_packing(p, a->device);
    hr_status status = hri_model_overheads(a, false, &overheads);
    /* speeds matter when they differ, or when the work takes long; and an
     * accelerator that cannot take part may have no memory to measure in */
    if (status == HR_OK &&
        (!hri_model_is_small(flops_of(p)) || sharing < c->count) &&
        hri_plan_fits(f, least)) {
        status = measure_one(c, i, &overheads);
    }
    f->task = overheads.task;
    f->start = hri_model_executor(f->tile_rates[0] == 0.0);
    f->up.start = f->down.start = overheads.carried;
    f->rate /= sharing;
    for (int j = 0; j < HRI_TILE_RATES; j++) {
        f->tile_rates[j] /= sharing;
    }
    return status;
}

/* Set the links to their rates beside each other. */
static void gather_links(call *c)
{
    const hri_product *p = &c->product;
    for (uint32_t i = 0; i < c->count; i++) {
        hri_device *device = c->accelerators[i]->device;
        c->flows[i] = hri_model_flow(c->accelerators[i],
                                     hri_is_staged(device, &p->a) ||
                                         hri_is_staged(device, &p->b),
                                     hri_is_staged(device, &p->c));
    }
    hri_model_flows(c->context, c->flows, c->count);
    for (uint32_t i = 0; i < c->count; i++) {
        const hri_flow *flow = &c->flows[i];
        hri_plan_accelerator *f = &c->inputs[i];
        f->up.rate = flow->beside.up;
        f->down.rate = flow->beside.down;
        f->both.rate = flow->beside.both;
        if (f->both.rate > 0.0) { /* copy pools pack rows into pieces */
            const double copy_pools = hri_model_staged_copy;
            f->up.start = flow->staged_up ? copy_pools : f->up.start;
            f->down.start = flow->staged_down ? copy_pools : f->down.start;
            f->up.alone = flow->staged_up ? 0.0 : flow->alone.up;
            f->down.alone = flow->staged_down ? 0.0 : flow->alone.down;
            f->both.alone =
                f->up.alone > 0 && f->down.alone > 0 ? flow->alone.both : 0.0;
        } else {
            f->up.start = f->down.start = 0.0;
        }
    }
}

/* Find which accelerators share a device, and which copy from each other. */
static void gather_groups(call *c)
{
    for (uint32_t i = 0; i < c->count; i++) {
        const hri_accelerator *a = c->accelerators[i];
        for (uint32_t j = 0; j < i; j++) {
            const hri_accelerator *other = c->accelerators[j];
            if (hri_accelerators_same_kind(a, other)) {
                c->inputs[i].device = c->inputs[j].device;
            }
            if (!a->in_place && !other->in_place &&
                a->device->ops->is_peer(a->device, other->device)) {
                c->inputs[i].peers = c->inputs[j].peers;
            }
        }
    }
}

static hr_status make_plan(call *c)
{
    const hri_product *p = &c->product;
    hr_type type = p->a.type, c_type = p->c.type;
    hri_plan_shape shape = {
        .m = p->m,
        .n = p->n,
        .k = p->k,
        .size = (uint32_t)hr_type_size(type),
        .c_size = (uint32_t)hr_type_size(c_type),
        .flops = hri_product_flops(type, 1, 1, 1),
        .read_c = p->beta.re != 0.0 || p->beta.im != 0.0,
        .whole_k = c_type == HR_F16 || c_type == HR_BF16,
        .grain = p->compute == HR_COMPUTE_REPRODUCIBLE ? HRI_ORDERED_DEPTH : 0,
    };
    uint64_t least = hri_plan_min_memory(&shape);
    for (uint32_t i = 0; i < c->count; i++) {
        hr_status status = gather_one(c, i, least);
        if (status != HR_OK) {
            return status;
        }
    }
    gather_links(c);
    gather_groups(c);
    return hri_plan_create(&shape, c->inputs, c->count, &c->plan);
}

/* Whether there is anything to multiply. */
static bool has_product(const hri_product *p)
{
    return p->m > 0 && p->n > 0 && p->k > 0 &&
           (p->alpha.re != 0.0 || p->alpha.im != 0.0);
}

static void call_close(call *c)
{
    hri_plan_destroy(c->plan);
    free(c->accelerators);
    free(c->inputs);
    free(c->flows);
}

/* ---- reports */

static void report_part(const call *c, const hri_plan_part *part,
                        hr_gemm_report *report)
{
    if (report->shares != NULL &&
        report->share_count < report->share_capacity) {
        const hri_accelerator *a = c->accelerators[part->accelerator];
        int64_t chunks = c->plan->blocking.chunks;
        report->shares[report->share_count] = (hr_gemm_share){
            .accelerator = (uint32_t)(a - c->context->accelerators),
            .seconds_busy = part->seconds,
            .flops = part->flops,
            .tiles = (uint64_t)(part->task_count / chunks),
            .host_to_device = part->up,
            .device_to_host = part->down,
            .peer = part->peer,
            .memory_bytes =
                part->memory +
                (a->in_place ? 0 : c->inputs[part->accelerator].own),
            .memory_limit =
                a->in_place ? 0 : c->inputs[part->accelerator].memory,
        };
    }
    report->share_count++;
    report->pinned_bytes += c->accelerators[part->accelerator]->pinned_used;
}

static double ratio(const hr_gemm_report *r)
{
    return r->compulsory > 0 ? (double)(r->host_to_device + r->device_to_host) /
                                   (double)r->compulsory
                             : 1.0;
}

/* Write the plan into the report. The caller's array of shares stays. */
static void report_plan(const call *c, hr_gemm_report *report)
{
    const hri_product *p = &c->product;
    *report = (hr_gemm_report){.size = report->size,
                               .share_capacity = report->share_capacity,
                               .shares = report->shares,
                               .ratio = 1.0};
    if (c->plan == NULL) {
        return;
    }
    const hri_plan *plan = c->plan;
    report->seconds = plan->seconds;
    report->flops = flops_of(p);
    report->bound = plan->link_bound ? HR_BOUND_LINK : HR_BOUND_COMPUTE;
    report->compulsory = plan->compulsory;
    report->host_to_device = plan->up;
    report->device_to_host = plan->down;
    report->peer = plan->peer;
    report->ratio = ratio(report);
    report->tile_rows = hri_plan_row(plan, 1);
    report->tile_cols = hri_plan_col(plan, 1);
    report->tile_depth = hri_deepest(&plan->blocking, p->k);
    report->block_rows = hri_plan_row(plan, plan->blocking.rows);
    report->block_cols = hri_plan_col(plan, plan->blocking.cols);
    for (uint32_t i = 0; i < plan->part_count; i++) {
        report_part(c, &plan->parts[i], report);
    }
}

/* Correct the rate of an accelerator in place after a run that had the device
 * to itself. A rate measured while others were busy would stay too low. */
static void learn_rate(const call *c, uint32_t index, const hri_run_share *done)
{
    hri_accelerator *a = c->accelerators[index];
    if (a->in_place &&
        hri_accelerators_sharing(c->accelerators, c->count, a) == 1) {
        hri_accelerator_learn_rate(a, kind_of(&c->product), done->flops,
                                   done->seconds_busy);
    }
}

/* What an accelerator of the call did. */
static hri_run_share *done_by(const call *c, uint32_t index)
{
    return &c->done[c->accelerators[index] - c->context->accelerators];
}

/* Whether the plan has a part for an accelerator. */
static bool is_planned(const call *c, uint32_t index)
{
    for (uint32_t i = 0; i < c->plan->part_count; i++) {
        if (c->plan->parts[i].accelerator == index) {
            return true;
        }
    }
    return false;
}

/* Add an entry for an accelerator that only took over tiles of a lost one. */
static void report_helper(const call *c, uint32_t index, hr_gemm_report *report)
{
    const hri_accelerator *a = c->accelerators[index];
    if (report->shares != NULL &&
        report->share_count < report->share_capacity) {
        report->shares[report->share_count] = (hr_gemm_share){
            .accelerator = (uint32_t)(a - c->context->accelerators),
            .memory_limit = a->in_place ? 0 : c->inputs[index].memory};
    }
    report->share_count++;
}

/* Replace what was planned for an accelerator by what it did. */
static void report_done(const call *c, uint32_t index, uint32_t share,
                        hr_gemm_report *report)
{
    const hri_run_share *s = done_by(c, index);
    report->host_to_device += s->up;
    report->device_to_host += s->down;
    report->peer += s->peer;
    report->stolen += s->stolen;
    if (report->shares != NULL && share < report->share_capacity) {
        hr_gemm_share *out = &report->shares[share];
        out->seconds_busy = s->seconds_busy;
        out->flops = s->flops;
        out->tiles = s->tiles;
        out->tiles_stolen = s->tiles_stolen;
        out->host_to_device = s->up;
        out->device_to_host = s->down;
        out->peer = s->peer;
    }
}

/* Replace what was planned by what was measured. */
static void report_run(const call *c, double seconds, hr_gemm_report *report)
{
    double compute = 0.0, link = 0.0;
    uint32_t share = 0;
    report->seconds = seconds;
    report->recomputed = c->recomputed;
    report->host_to_device = report->device_to_host = report->peer = 0;
    for (uint32_t i = 0; i < c->count; i++) {
        const hri_run_share *s = done_by(c, i);
        const hri_plan_accelerator *f = &c->inputs[i];
        report->lost += s->lost;
        compute = fmax(compute, s->seconds_busy);
        link = fmax(link, hri_cost_bytes((double)s->up, f->up.rate));
        link = fmax(link, hri_cost_bytes((double)s->down, f->down.rate));
        if (is_planned(c, i)) {
            learn_rate(c, i, s);
            report_done(c, i, share++, report);
        }
    }
    for (uint32_t i = 0; i < c->count; i++) {
        if (!is_planned(c, i) && done_by(c, i)->tiles > 0) {
            report_helper(c, i, report);
            report_done(c, i, share++, report);
        }
    }
    report->ratio = ratio(report);
    report->bound = link > compute ? HR_BOUND_LINK : HR_BOUND_COMPUTE;
}

/* ---- the calls */

static hr_status choose_and_plan(call *c)
{
    hr_status status = choose_accelerators(c);
    if (status == HR_OK && has_product(&c->product)) {
        do { /* measuring may find out that one is lost */
            status = make_plan(c);
        } while (status == HR_ERROR_LOST && leave_out_lost(c));
    }
    return status;
}

static hr_status call_open(call *c, hr_context *context, hr_scalar alpha,
                           hr_matrix a, hr_matrix b, hr_scalar beta,
                           hr_matrix result)
{
    hr_status status = hri_gemm_check(alpha, &a, &b, beta, &result);
    if (status != HR_OK) {
        return status;
    }
    hr_compute compute = c->options.compute;
    if (context->reproducible && compute == HR_COMPUTE_TF32) {
        return hri_fail(HR_ERROR_UNSUPPORTED,
                        "gemm: a reproducible context offers no tf32");
    }
    if (a.type == HR_I8) {
        compute = HR_COMPUTE_NATIVE; /* integers are exact in any order */
    } else if (context->reproducible) {
        compute = HR_COMPUTE_REPRODUCIBLE;
    }
    c->context = context;
    c->product = hri_product_normal(alpha, a, b, beta, result, compute);
    return choose_and_plan(c);
}

/* Use this call's limits for what accelerators hold. The cache of earlier calls
 * counts. Afterwards the context's limits apply again. */
static void limit_memory(const call *c)
{
    for (uint32_t i = 0; i < c->count; i++) {
        hri_accelerator *a = c->accelerators[i];
        hri_accelerator_limit(a, c->inputs[i].memory + hri_accelerator_held(a));
    }
}

static void restore_memory(const call *c)
{
    for (uint32_t i = 0; i < c->count; i++) {
        hri_accelerator_limit(c->accelerators[i], 0);
    }
}

/* Add what the run of a plan did to the call. */
static void add_done(call *c, const hri_run_outcome *outcome)
{
    for (uint32_t i = 0; i < c->plan->part_count; i++) {
        const hri_run_share *s = &outcome->shares[i];
        hri_run_share *sum = done_by(c, c->plan->parts[i].accelerator);
        sum->seconds_busy += s->seconds_busy;
        sum->flops += s->flops;
        sum->tiles += s->tiles;
        sum->tiles_stolen += s->tiles_stolen;
        sum->up += s->up;
        sum->down += s->down;
        sum->peer += s->peer;
        sum->stolen += s->stolen;
        sum->lost = sum->lost || s->lost;
    }
    if (c->lost.status == HR_OK) {
        c->lost = outcome->lost;
    }
}

static hr_status multiply(call *c);

/* A part of C, in tiles of the plan. */
typedef struct region {
    int64_t row, col, rows, cols;
} region;

/* Multiply that part with the accelerators that are left. */
static hr_status multiply_region(call *c, const region *r)
{
    const int64_t row = hri_plan_row(c->plan, r->row);
    const int64_t col = hri_plan_col(c->plan, r->col);
    call part = *c;
    part.accelerators = NULL;
    part.inputs = NULL;
    part.flows = NULL;
    part.plan = NULL;
    part.count = 0;
    hri_product *p = &part.product;
    p->m = hri_plan_row(c->plan, r->row + r->rows) - row;
    p->n = hri_plan_col(c->plan, r->col + r->cols) - col;
    p->a = hri_matrix_part(p->a, row, 0, p->m, p->k);
    p->b = hri_matrix_part(p->b, 0, col, p->k, p->n);
    p->c = hri_matrix_part(p->c, row, col, p->m, p->n);
    hr_status status = choose_and_plan(&part);
    if (status == HR_OK) {
        status = multiply(&part);
    }
    c->lost = part.lost;
    c->flops_done = part.flops_done;
    c->recomputed = part.recomputed;
    call_close(&part);
    if (status == HR_ERROR_OUT_OF_MEMORY) { /* lost accelerators keep memory */
        return hri_error_raise(&c->lost);
    }
    return status;
}

/* The largest region from a missing tile on: along its row, then down. It is
 * marked as complete. */
static region take_region(const hri_plan *plan, uint8_t *home, int64_t tile)
{
    const int64_t cols = plan->tile_cols;
    region r = {tile / cols, tile % cols, 1, 1};
    while (r.col + r.cols < cols && !home[tile + r.cols]) {
        r.cols++;
    }
    while (r.row + r.rows < plan->tile_rows &&
           memchr(&home[tile + r.rows * cols], 1, (size_t)r.cols) == NULL) {
        r.rows++;
    }
    for (int64_t i = 0; i < r.rows; i++) {
        memset(&home[tile + i * cols], 1, (size_t)r.cols);
    }
    return r;
}

/* Compute the tiles that are missing. In C they are as they were. */
static hr_status multiply_rest(call *c, uint8_t *home)
{
    const int64_t tiles = c->plan->tile_rows * c->plan->tile_cols;
    hr_status status = HR_OK;
    for (int64_t i = 0; i < tiles && status == HR_OK; i++) {
        if (!home[i]) {
            const region r = take_region(c->plan, home, i);
            c->recomputed += (uint64_t)(r.rows * r.cols);
            status = multiply_region(c, &r);
        }
    }
    return status;
}

static double flops_of_home(const call *c, const uint8_t *home)
{
    const hri_plan *plan = c->plan;
    double elements = 0.0;
    for (int64_t i = 0; i < plan->tile_rows; i++) {
        for (int64_t j = 0; j < plan->tile_cols; j++) {
            elements += home[i * plan->tile_cols + j]
                            ? (double)hri_plan_length(plan, hri_plan_row, i) *
                                  (double)hri_plan_length(plan, hri_plan_col, j)
                            : 0.0;
        }
    }
    return flops_of(&c->product) * elements /
           ((double)c->product.m * (double)c->product.n);
}

/* Carry out the call's plan. When an accelerator is lost, others complete C. */
static hr_status multiply(call *c)
{
    const size_t tiles =
        (size_t)c->plan->tile_rows * (size_t)c->plan->tile_cols;
    hri_run_outcome outcome = {
        .shares = calloc(c->plan->part_count, sizeof *outcome.shares),
        .home = calloc(tiles, 1)};
    hr_status status =
        outcome.shares != NULL && outcome.home != NULL
            ? HR_OK
            : hri_fail(HR_ERROR_OUT_OF_MEMORY, "gemm: out of memory");
    if (status == HR_OK) {
        const hri_run_call wanted = {.progress = c->options.progress,
                                     .progress_data = c->options.progress_data,
                                     .flops_before = c->flops_done,
                                     .flops = c->flops,
                                     .patience = c->context->patience};
        limit_memory(c);
        status = hri_run(c->context, &c->product, c->plan, c->accelerators,
                         &wanted, &outcome);
        restore_memory(c);
    }
    if (status == HR_OK) {
        add_done(c, &outcome);
        c->flops_done += outcome.unfinished ? flops_of_home(c, outcome.home)
                                            : flops_of(&c->product);
    }
    if (status == HR_OK && outcome.unfinished) {
        hri_log(c->context, "%s; others compute its tiles", c->lost.message);
        status = multiply_rest(c, outcome.home);
    }
    free(outcome.shares);
    free(outcome.home);
    return status;
}

static hr_status run(call *c, hr_gemm_report *report)
{
    if (c->plan == NULL) {
        if (c->product.m > 0 && c->product.n > 0) {
            hri_matrix_scale(c->context->pool, c->product.beta, &c->product.c);
        }
        report_plan(c, report);
        report->seconds = hri_seconds_since(c->start_ns);
        return HR_OK;
    }
    c->done = calloc(c->context->accelerator_count, sizeof *c->done);
    if (c->done == NULL) {
        return hri_fail(HR_ERROR_OUT_OF_MEMORY, "gemm: out of memory");
    }
    c->flops = flops_of(&c->product);
    const uint64_t run_ns = hri_clock_ns();
    hr_status status = multiply(c);
    if (status == HR_OK) {
        if (c->lost.status == HR_OK) {
            hri_model_saw(c->context->model, HR_ENGINE_GEMM, c->plan->seconds,
                          hri_seconds_since(run_ns));
        }
        report_plan(c, report);
        report_run(c, hri_seconds_since(c->start_ns), report);
    }
    free(c->done);
    return status;
}

static hr_status check_context(const hr_context *context)
{
    return context != NULL
               ? HR_OK
               : hri_fail(HR_ERROR_INVALID, "gemm: the context is NULL");
}

hr_status hr_gemm(hr_context *context, hr_scalar alpha, hr_matrix a,
                  hr_matrix b, hr_scalar beta, hr_matrix c,
                  const hr_gemm_options *options)
{
    call this = {.start_ns = hri_clock_ns()};
    a = hri_matrix_tidy(a);
    b = hri_matrix_tidy(b);
    c = hri_matrix_tidy(c);
    hr_gemm_report filled = HR_GEMM_REPORT_INIT;
    hr_status status = check_context(context);
    if (status == HR_OK) {
        status = take_options(&this, options);
    }
    if (status == HR_OK) {
        status = hri_struct_read(&report_struct, this.options.report, &filled);
    }
    if (status != HR_OK) {
        return status;
    }
    pthread_mutex_lock(&context->lock);
    hri_runs_collect(context);
    status = call_open(&this, context, alpha, a, b, beta, c);
    if (status == HR_OK) {
        status = hri_gemm_check_data(alpha, &a, &b, &c);
    }
    if (status == HR_OK) {
        status = run(&this, &filled);
    }
    pthread_mutex_unlock(&context->lock);
    call_close(&this);
    if (status == HR_OK) {
        hri_struct_write(&report_struct, &filled, this.options.report);
    }
    return status;
}

hr_status hr_gemm_plan(hr_context *context, hr_scalar alpha, hr_matrix a,
                       hr_matrix b, hr_scalar beta, hr_matrix c,
                       const hr_gemm_options *options, hr_gemm_report *report)
{
    call this = {0};
    a = hri_matrix_tidy(a);
    b = hri_matrix_tidy(b);
    c = hri_matrix_tidy(c);
    hr_gemm_report filled;
    hr_status status = check_context(context);
    if (status == HR_OK && report == NULL) {
        status = hri_fail(HR_ERROR_INVALID, "gemm: the report is NULL");
    }
    if (status == HR_OK) {
        status = hri_struct_read(&report_struct, report, &filled);
    }
    if (status == HR_OK) {
        status = take_options(&this, options);
    }
    if (status != HR_OK) {
        return status;
    }
    pthread_mutex_lock(&context->lock);
    status = call_open(&this, context, alpha, a, b, beta, c);
    pthread_mutex_unlock(&context->lock);
    if (status == HR_OK) {
        report_plan(&this, &filled);
        hri_struct_write(&report_struct, &filled, report);
    }
    call_close(&this);
    return status;
}
