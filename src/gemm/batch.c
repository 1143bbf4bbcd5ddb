/* SPDX-License-Identifier: MIT */
/* hr_gemm_batch: arguments, who does which products, and a report.
 *
 * There are three ways. Small batches in place are one command of the host on
 * this thread (hri_direct_device). Together: src/distribute gives each
 * accelerator of a set a range (batch_plan.c), whose groups are tasks of a plan
 * (batch_run.c). One after the other: by the plan of one product, where that is
 * predicted to be faster, or where a product would keep one thread busy for
 * long. A lost accelerator has brought whole groups home; the rest is planned
 * again without it. Old C is read through pinned memory of ours, so it is still
 * there. */
#include <math.h>
#include <stdlib.h>

#include "base/arithmetic.h"
#include "base/clock.h"
#include "base/size.h"
#include "base/structs.h"
#include "gemm/batch.h"
#include "trace/nvtx.h"

hr_matrices hr_matrices_strided(hr_matrix first, int64_t stride)
{
    return (hr_matrices){.matrix = first, .stride = stride};
}

hr_matrices hr_matrices_listed(hr_matrix shape, void *const *list)
{
    return (hr_matrices){.matrix = shape, .list = list};
}

/* ---- arguments */

static hri_matrices normal_operand(const hr_matrices *m, const hr_matrix *first)
{
    return (hri_matrices){
        .first = *first,
        .step = m->list == NULL
                    ? m->stride * (int64_t)hr_type_size(m->matrix.type)
                    : 0,
        .list = m->list};
}

/* Set the operands of the normal form: where C was by columns, A and B have
 * changed places. */
static void set_operands(hri_batch_call *b, const hr_matrices operands[3])
{
    const hri_product *p = &b->one.product;
    b->operands[0] = normal_operand(&operands[p->transposed], &p->a);
    b->operands[1] = normal_operand(&operands[!p->transposed], &p->b);
    b->operands[2] = normal_operand(&operands[2], &p->c);
}

static hr_status open_call(hri_batch_call *b, hr_context *context,
                           hr_scalar alpha, hr_scalar beta,
                           hr_matrices operands[3], bool data)
{
    for (int i = 0; i < 3; i++) {
        operands[i].matrix = hri_matrix_tidy(operands[i].matrix);
        if (operands[i].list != NULL) {
            operands[i].matrix.data = b->count > 0 ? operands[i].list[0] : NULL;
        }
    }
    HRI_TRY(hri_call_open(&b->one, context, alpha, operands[0].matrix,
                          operands[1].matrix, beta, operands[2].matrix));
    HRI_TRY(hri_batch_check(b->count, operands));
    if (data) {
        HRI_TRY(hri_batch_check_data(b->count, alpha, operands));
    }
    set_operands(b, operands);
    b->one.flops *= (double)b->count;
    return HR_OK;
}

static hr_status allocate_shares(hri_batch_call *b)
{
    const uint32_t accelerators = b->one.context->accelerator_count;
    b->reports = calloc(accelerators, sizeof *b->reports);
    b->memory = calloc(accelerators, sizeof *b->memory);
    return b->reports != NULL && b->memory != NULL
               ? HR_OK
               : hri_fail(HR_ERROR_OUT_OF_MEMORY, "gemm batch: out of memory");
}

static void free_shares(const hri_batch_call *b)
{
    free(b->reports);
    free(b->memory);
}

/* ---- products without arithmetic */

static void scale_one(void *data, int64_t index)
{
    const hri_batch_call *b = data;
    const hr_matrix c = hri_matrices_at(&b->operands[2], index);
    hri_matrix_scale(NULL, b->one.product.beta, &c);
}

static void scale_all(hri_batch_call *b)
{
    const hri_product *p = &b->one.product;
    if (p->m > 0 && p->n > 0) {
        hri_pool_run(b->one.context->pool, b->count, scale_one, b);
    }
}

/* ---- runs */

static hr_status multiply_products(hri_batch_call *b, int64_t first,
                                   int64_t count);

/* Add what a share did to the report's figures. */
static void add_share(hri_batch_call *b, const hri_gemm_call *planned,
                      const hri_batch_share *share)
{
    const hri_accelerator *a = planned->accelerators[share->accelerator];
    const size_t index = (size_t)(a - b->one.context->accelerators);
    const hri_run_report *s = &share->report;
    hri_run_report_add(&b->reports[index], s);
    if (s->tiles > 0) { /* what it did had to travel once */
        hri_batch_share own = *share;
        uint64_t up, down;
        own.count = (int64_t)s->tiles;
        hri_batch_traffic(b, &own, a, &up, &down);
        b->compulsory += up + down;
    }
    if (!a->in_place) {
        const uint64_t bytes = share->memory + a->device->info.gemm_bytes;
        b->memory[index] = bytes > b->memory[index] ? bytes : b->memory[index];
    }
}

/* Do what lost accelerators left. */
static hr_status do_rest(hri_batch_call *b, const hri_batch_done *done)
{
    for (int64_t i = 0; i < done->count; i++) {
        const int64_t first = done->starts[i];
        if (done->home[i]) {
            continue;
        }
        while (i + 1 < done->count && !done->home[i + 1]) {
            i++;
        }
        const int64_t count = done->starts[i + 1] - first;
        hri_log(b->one.context, "%s; others compute its products",
                done->lost.message);
        b->recomputed += (uint64_t)count;
        const hr_status status = multiply_products(b, first, count);
        if (status == HR_ERROR_OUT_OF_MEMORY && done->lost.status != HR_OK) {
            return hri_error_raise(&done->lost);
        }
        HRI_TRY(status);
    }
    return HR_OK;
}

static hr_status do_together(hri_batch_call *b, const hri_gemm_call *planned,
                             hri_batch_plan *plan)
{
    hri_batch_done done;
    const uint64_t start_ns = hri_clock_ns();
    hri_call_limit(planned);
    hr_status status = hri_batch_run(b, planned, plan, &done);
    hri_call_unlimit(planned);
    for (uint32_t i = 0; i < plan->count; i++) {
        add_share(b, planned, &plan->shares[i]);
    }
    hri_error_keep(&b->one.lost, hri_error_raise(&done.lost));
    if (status == HR_OK) {
        if (done.lost.status == HR_OK) {
            hri_model_saw(b->one.context->model, HR_ENGINE_GEMM, plan->seconds,
                          hri_seconds_since(start_ns));
        }
        status = do_rest(b, &done);
    }
    free(done.starts);
    free(done.home);
    return status;
}

static uint64_t moved_by(const hri_gemm_call *c)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < c->count; i++) {
        const hri_run_report *s = hri_call_report(c, i);
        bytes += s->up + s->down;
    }
    return bytes;
}

/* Multiply product i by the plan of one. */
static hr_status do_one(hri_batch_call *b, hri_gemm_call *planned, int64_t i)
{
    const uint64_t before = moved_by(planned);
    planned->product.a = hri_matrices_at(&b->operands[0], i);
    planned->product.b = hri_matrices_at(&b->operands[1], i);
    planned->product.c = hri_matrices_at(&b->operands[2], i);
    const hr_status status = hri_call_multiply(planned);
    b->compulsory += hri_compulsory_of(planned, moved_by(planned) - before);
    for (uint32_t p = 0; p < planned->plan->flow.share_count; p++) {
        const hri_flow_share *share = &planned->plan->flow.shares[p];
        const hri_accelerator *a = planned->accelerators[share->accelerator];
        if (!a->in_place) {
            b->memory[a - planned->context->accelerators] =
                share->memory + planned->inputs[share->accelerator].own;
        }
    }
    return status;
}

/* One product after the other, each on all accelerators that its plan has. */
static hr_status do_products(hri_batch_call *b, hri_gemm_call *planned,
                             int64_t first, int64_t count)
{
    for (int64_t i = first; i < first + count; i++) {
        const bool lost = planned->lost.status != HR_OK;
        HRI_TRY(do_one(b, planned, i));
        if (!lost && planned->lost.status != HR_OK && i + 1 < first + count) {
            hri_call_close(planned);
            HRI_TRY(hri_call_plan(planned)); /* without the lost one */
        }
    }
    return HR_OK;
}

static hr_status do_each(hri_batch_call *b, hri_gemm_call *planned,
                         int64_t first, int64_t count)
{
    planned->reports = b->reports;
    const hr_status status = do_products(b, planned, first, count);
    b->recomputed += planned->recomputed;
    b->one.lost = planned->lost;
    b->one.flops_done = planned->flops_done;
    return status;
}

/* Plan one product, and the range. */
static hr_status plan_products(hri_batch_call *b, hri_gemm_call *planned,
                               int64_t first, int64_t count,
                               hri_batch_plan *plan)
{
    HRI_TRY(hri_call_plan(planned));
    /* residues are made for the plan of one product */
    if (b->one.product.compute == HR_COMPUTE_PRECISE) {
        plan->seconds = planned->plan != NULL
                            ? (double)count * planned->plan->flow.seconds
                            : 0.0;
        return HR_OK;
    }
    return hri_batch_plan_make(b, planned, first, count, plan);
}

static hr_status multiply_products(hri_batch_call *b, int64_t first,
                                   int64_t count)
{
    hri_gemm_call planned = b->one;
    hri_batch_plan plan = {0};
    planned.reports = b->reports; /* tells which accelerators were lost */
    hr_status status = plan_products(b, &planned, first, count, &plan);
    if (status == HR_OK) {
        b->seconds = b->seconds > 0.0 ? b->seconds : plan.seconds;
        status = plan.count > 0 ? do_together(b, &planned, &plan)
                                : do_each(b, &planned, first, count);
    }
    free(plan.shares);
    hri_call_close(&planned);
    return status;
}

/* ---- what would be done */

/* Note the plan of one product as if it had been carried out for each. */
static void note_each(hri_batch_call *b, const hri_gemm_call *planned)
{
    const hri_plan *plan = planned->plan;
    const uint64_t count = (uint64_t)b->count;
    b->compulsory = plan->compulsory * count;
    for (uint32_t i = 0; i < plan->flow.share_count; i++) {
        const hri_flow_share *share = &plan->flow.shares[i];
        const hri_accelerator *a = planned->accelerators[share->accelerator];
        const size_t index = (size_t)(a - b->one.context->accelerators);
        hri_run_report *s = &b->reports[index];
        b->memory[index] =
            a->in_place
                ? 0
                : share->memory + planned->inputs[share->accelerator].own;
        s->seconds_busy = share->seconds * (double)count;
        s->tiles =
            (uint64_t)(share->task_count / plan->blocking.chunks) * count;
        s->flops = share->flops * (double)count;
        s->up = share->up * count;
        s->down = share->down * count;
        s->peer = share->peer * count;
    }
}

/* Note a plan as if it had been carried out. */
static hr_status note_plan(hri_batch_call *b, const hri_gemm_call *planned,
                           hri_batch_plan *plan)
{
    const double flops = hri_flops_of(&b->one.product);
    if (plan->count == 0) {
        note_each(b, planned);
        return HR_OK;
    }
    HRI_TRY(hri_batch_memory(b, planned, plan));
    for (uint32_t i = 0; i < plan->count; i++) {
        hri_batch_share *share = &plan->shares[i];
        const hri_accelerator *a = planned->accelerators[share->accelerator];
        share->report.seconds_busy = share->seconds;
        share->report.tiles = (uint64_t)share->count;
        share->report.flops = flops * (double)share->count;
        hri_batch_traffic(b, share, a, &share->report.up, &share->report.down);
        add_share(b, planned, share);
    }
    return HR_OK;
}

static hr_status make_plan(hri_batch_call *b)
{
    HRI_TRY(allocate_shares(b));
    hri_gemm_call planned = b->one;
    hri_batch_plan plan = {0};
    hr_status status = plan_products(b, &planned, 0, b->count, &plan);
    if (status == HR_OK) {
        b->seconds = plan.seconds;
        status = note_plan(b, &planned, &plan);
    }
    free(plan.shares);
    hri_call_close(&planned);
    return status;
}

/* ---- the report */

static void report_share(const hri_batch_call *b, uint32_t index,
                         hr_gemm_report *report)
{
    const hri_run_report *s = &b->reports[index];
    const hri_accelerator *a = &b->one.context->accelerators[index];
    const uint64_t limit = b->one.options.memory_limit;
    report->lost += s->lost;
    report->late += s->late;
    if (s->tiles == 0 && s->up == 0) {
        return;
    }
    const hr_gemm_share entry = {.accelerator = index,
                                 .seconds_busy = s->seconds_busy,
                                 .flops = s->flops,
                                 .tiles = s->tiles,
                                 .tiles_stolen = s->tiles_stolen,
                                 .host_to_device = s->up,
                                 .device_to_host = s->down,
                                 .peer = s->peer,
                                 .memory_bytes = b->memory[index],
                                 .memory_limit =
                                     a->in_place ? 0
                                     : limit > 0 && limit < a->memory_limit
                                         ? limit
                                         : a->memory_limit};
    hri_report_add(report, &entry);
    report->host_to_device += s->up;
    report->device_to_host += s->down;
    report->peer += s->peer;
    report->stolen += s->stolen;
    report->pinned_bytes += a->pinned_used;
}

static void fill_report(const hri_batch_call *b, hr_gemm_report *report)
{
    const hri_product *p = &b->one.product;
    double busy = 0.0;
    *report = (hr_gemm_report){.size = report->size,
                               .share_capacity = report->share_capacity,
                               .shares = report->shares,
                               .ratio = 1.0,
                               .seconds = hri_seconds_since(b->one.start_ns)};
    if (b->reports == NULL) {
        return;
    }
    for (uint32_t i = 0; i < b->one.context->accelerator_count; i++) {
        report_share(b, i, report);
        busy = fmax(busy, b->reports[i].seconds_busy);
    }
    const uint64_t moved = report->host_to_device + report->device_to_host;
    report->flops = b->one.flops;
    report->recomputed = b->recomputed;
    report->compulsory = b->compulsory;
    report->ratio =
        b->compulsory > 0 ? (double)moved / (double)b->compulsory : 1.0;
    report->bound = moved > 0 && busy < 0.5 * report->seconds
                        ? HR_BOUND_LINK
                        : HR_BOUND_COMPUTE;
    const int64_t whole[] = {p->m, p->n};
    hri_report_sizes(p, whole, whole, p->k, report);
}

/* ---- the call */

static hr_status run_batch(hri_batch_call *b)
{
    hri_device *device = hri_direct_device(&b->one);
    if (b->count == 0 || !hri_has_product(&b->one.product)) {
        scale_all(b);
        return HR_OK;
    }
    if (device != NULL) {
        const hri_gemm gemm = hri_batch_in_place(b, 0, b->count);
        return device->ops->gemm_now(device, &gemm);
    }
    HRI_TRY(allocate_shares(b));
    hri_progress_init(b->one.progress, "gemm batch", b->one.options.progress,
                      b->one.options.progress_data, b->one.flops);
    return hri_progress_end(b->one.progress, multiply_products(b, 0, b->count));
}

/* Read and check all arguments; the data, too, unless only a plan is wanted. */
static hr_status begin_call(hri_batch_call *call, hr_context *context,
                            hr_scalar alpha, hr_scalar beta,
                            hr_matrices operands[3], bool data,
                            const hr_gemm_options *options,
                            hr_gemm_report *report)
{
    HRI_TRY(hri_context_check(context, "gemm batch"));
    HRI_TRY(hri_call_options(&call->one, options));
    HRI_TRY(hri_report_read(call->one.options.report, report));
    return open_call(call, context, alpha, beta, operands, data);
}

hr_status hr_gemm_batch(hr_context *context, int64_t count, hr_scalar alpha,
                        hr_matrices a, hr_matrices b, hr_scalar beta,
                        hr_matrices c, const hr_gemm_options *options)
{
    HRI_USUAL_ARITHMETIC;
    hri_progress progress;
    hri_batch_call call = {
        .count = count,
        .one = {.start_ns = hri_clock_ns(), .progress = &progress}};
    hr_matrices operands[3] = {a, b, c};
    hr_gemm_report filled = HR_GEMM_REPORT_INIT;
    HRI_TRY(begin_call(&call, context, alpha, beta, operands, true, options,
                       &filled));
    hri_range_begin("hr_gemm_batch");
    pthread_mutex_lock(&context->lock);
    hri_runs_collect(context);
    const hr_status status = run_batch(&call);
    pthread_mutex_unlock(&context->lock);
    if (status == HR_OK) {
        fill_report(&call, &filled);
        hri_report_trace(&call.one, &filled, "hr_gemm_batch");
        hri_report_write(&filled, call.one.options.report);
    }
    free_shares(&call);
    hri_range_end();
    return status;
}

hr_status hr_gemm_batch_plan(hr_context *context, int64_t count,
                             hr_scalar alpha, hr_matrices a, hr_matrices b,
                             hr_scalar beta, hr_matrices c,
                             const hr_gemm_options *options)
{
    HRI_USUAL_ARITHMETIC;
    hri_batch_call call = {.count = count, .one.start_ns = hri_clock_ns()};
    hr_matrices operands[3] = {a, b, c};
    hr_gemm_report filled = HR_GEMM_REPORT_INIT;
    hr_status status = HR_OK;
    HRI_TRY(begin_call(&call, context, alpha, beta, operands, false, options,
                       &filled));
    if (call.one.options.report == NULL) {
        return hri_fail(HR_ERROR_INVALID, "gemm batch: the report is NULL");
    }
    if (count > 0 && hri_has_product(&call.one.product)) {
        pthread_mutex_lock(&context->lock);
        status = make_plan(&call);
        pthread_mutex_unlock(&context->lock);
    }
    if (status == HR_OK) {
        fill_report(&call, &filled);
        filled.seconds = call.seconds;
        hri_report_write(&filled, call.one.options.report);
    }
    free_shares(&call);
    return status;
}
