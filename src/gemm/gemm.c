/* SPDX-License-Identifier: MIT */
/* hr_gemm and hr_gemm_plan: arguments, the run of a plan, and further runs for
 * tiles of accelerators that were lost. */
#include <headrace/gemm.h>

#include <stdlib.h>
#include <string.h>

#include "base/arithmetic.h"
#include "base/clock.h"
#include "base/matrix.h"
#include "base/size.h"
#include "base/structs.h"
#include "gemm/call.h"
#include "hal/precise.h"
#include "trace/nvtx.h"

/* ---- arguments */

static const hri_struct options_struct = HRI_STRUCT(
    hr_gemm_options, "gemm options", "HR_GEMM_OPTIONS_INIT", memory_limit);

hr_status hri_call_options(hri_gemm_call *c, const hr_gemm_options *options)
{
    c->options = (hr_gemm_options)HR_GEMM_OPTIONS_INIT;
    HRI_TRY(hri_struct_read(&options_struct, options, &c->options));
    if ((unsigned)c->options.compute > HR_COMPUTE_PRECISE) {
        return hri_fail(HR_ERROR_INVALID, "gemm: unknown compute mode %d",
                        (int)c->options.compute);
    }
    return hri_report_check(c->options.report);
}

hr_status hri_call_open(hri_gemm_call *c, hr_context *context, hr_scalar alpha,
                        hr_matrix a, hr_matrix b, hr_scalar beta,
                        hr_matrix result)
{
    HRI_TRY(hri_gemm_check(alpha, &a, &b, beta, &result));
    hr_compute compute = c->options.compute;
    if (context->reproducible && compute == HR_COMPUTE_TF32) {
        return hri_fail(HR_ERROR_UNSUPPORTED,
                        "gemm: a reproducible context offers no tf32");
    }
    if (a.type == HR_I8) {
        compute = HR_COMPUTE_NATIVE; /* integers are exact in any order */
    } else if (context->reproducible && compute != HR_COMPUTE_PRECISE) {
        compute = HR_COMPUTE_REPRODUCIBLE;
    } else if (context->precise && compute == HR_COMPUTE_NATIVE &&
               hri_is_precise_type(a.type)) {
        compute = HR_COMPUTE_PRECISE;
    }
    c->context = context;
    c->product = hri_product_normal(alpha, a, b, beta, result, compute);
    c->flops = hri_flops_of(&c->product);
    return HR_OK;
}

/* ---- runs */

void hri_call_limit(const hri_gemm_call *c)
{
    for (uint32_t i = 0; i < c->count; i++) {
        hri_accelerator *a = c->accelerators[i];
        hri_accelerator_limit(a, c->inputs[i].memory + hri_accelerator_held(a));
    }
}

void hri_call_unlimit(const hri_gemm_call *c)
{
    for (uint32_t i = 0; i < c->count; i++) {
        hri_accelerator_limit(c->accelerators[i], 0);
    }
}

void hri_run_report_add(hri_run_report *sum, const hri_run_report *s)
{
    sum->seconds_busy += s->seconds_busy;
    sum->flops += s->flops;
    sum->tiles += s->tiles;
    sum->tiles_stolen += s->tiles_stolen;
    sum->up += s->up;
    sum->down += s->down;
    sum->peer += s->peer;
    sum->stolen += s->stolen;
    sum->lost = sum->lost || s->lost;
    sum->late = sum->late || s->late;
}

/* Add what the run of a plan did to the call. */
static void add_reports(hri_gemm_call *c, const hri_run_outcome *outcome)
{
    for (uint32_t i = 0; i < c->plan->flow.share_count; i++) {
        const uint32_t index = c->plan->flow.shares[i].accelerator;
        hri_run_report_add(hri_call_report(c, index), &outcome->reports[i]);
    }
    if (c->lost.status == HR_OK) {
        c->lost = outcome->lost;
    }
}

/* A box of the plan's tiles that are missing. */
typedef struct missing_box {
    int64_t row, col, rows, cols;
} missing_box;

/* Multiply the box with the accelerators that are left. */
static hr_status multiply_box(hri_gemm_call *c, const missing_box *box)
{
    const int64_t row = hri_plan_row(c->plan, box->row);
    const int64_t col = hri_plan_col(c->plan, box->col);
    hri_gemm_call call = *c;
    call.accelerators = NULL;
    call.inputs = NULL;
    call.links = NULL;
    call.staged = NULL;
    call.plan = NULL;
    call.count = 0;
    hri_product *p = &call.product;
    p->m = hri_plan_row(c->plan, box->row + box->rows) - row;
    p->n = hri_plan_col(c->plan, box->col + box->cols) - col;
    p->a = hri_matrix_section(p->a, row, 0, p->m, p->k);
    p->b = hri_matrix_section(p->b, 0, col, p->k, p->n);
    p->c = hri_matrix_section(p->c, row, col, p->m, p->n);
    hr_status status = hri_call_plan(&call);
    if (status == HR_OK) {
        status = hri_call_multiply(&call);
    }
    c->lost = call.lost;
    c->flops_done = call.flops_done;
    c->recomputed = call.recomputed;
    hri_call_close(&call);
    if (status == HR_ERROR_OUT_OF_MEMORY) { /* lost accelerators keep memory */
        return hri_error_raise(&c->lost);
    }
    return status;
}

/* The largest box from a missing tile on: along its row, then down. It is
 * marked as complete. */
static missing_box take_box(const hri_plan *plan, uint8_t *home, int64_t tile)
{
    const int64_t cols = plan->tile_cols;
    missing_box box = {tile / cols, tile % cols, 1, 1};
    while (box.col + box.cols < cols && !home[tile + box.cols]) {
        box.cols++;
    }
    while (box.row + box.rows < plan->tile_rows &&
           memchr(&home[tile + box.rows * cols], 1, (size_t)box.cols) == NULL) {
        box.rows++;
    }
    for (int64_t i = 0; i < box.rows; i++) {
        memset(&home[tile + i * cols], 1, (size_t)box.cols);
    }
    return box;
}

/* Compute the tiles that are missing. In C they are as they were. */
static hr_status multiply_rest(hri_gemm_call *c, uint8_t *home)
{
    const int64_t tiles = c->plan->tile_rows * c->plan->tile_cols;
    for (int64_t i = 0; i < tiles; i++) {
        if (!home[i]) {
            const missing_box box = take_box(c->plan, home, i);
            c->recomputed += (uint64_t)(box.rows * box.cols);
            HRI_TRY(multiply_box(c, &box));
        }
    }
    return HR_OK;
}

static double flops_of_home(const hri_gemm_call *c, const uint8_t *home)
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
    return hri_flops_of(&c->product) * elements /
           ((double)c->product.m * (double)c->product.n);
}

/* A thread that is alone lets the driver copy the larger operands of those that
 * are staged. */
static void choose_staged(hri_gemm_call *c)
{
    const hri_flow *flow = &c->plan->flow;
    hri_staged *staged = &c->staged[flow->shares[0].accelerator];
    const bool alone = hri_flow_is_brief(flow) && flow->few;
    for (int side = HRI_A; side < HRI_SIDES && alone; side++) {
        staged->of[side] =
            staged->of[side] &&
            hri_operand_bytes(&c->plan->shape, side) < hri_cost_pageable;
    }
}

static hr_status run_plan(hri_gemm_call *c, hri_run_outcome *outcome)
{
    hri_engine engine;
    const hri_run_call wanted = {.progress = c->progress,
                                 .staged = c->staged,
                                 .timed = c->options.report != NULL,
                                 .flops_before = c->flops_done,
                                 .terms =
                                     c->terms != NULL ? &c->terms->come : NULL};
    choose_staged(c);
    HRI_TRY(hri_tiles_engine(&c->product, c->plan, c->terms, &engine));
    hri_call_limit(c);
    const hr_status status = hri_flow_run(c->context, &c->plan->flow, &engine,
                                          c->accelerators, &wanted, outcome);
    hri_call_unlimit(c);
    return status;
}

/* Carry out the plan, and complete C without accelerators that are lost. The
 * outcome has room for shares and tiles. */
static hr_status multiply_all(hri_gemm_call *c, hri_run_outcome *outcome)
{
    if (outcome->reports == NULL || outcome->home == NULL) {
        return hri_fail(HR_ERROR_OUT_OF_MEMORY, "gemm: out of memory");
    }
    if (hri_plan_is_direct(c)) {
        HRI_TRY(hri_plan_directly(c, outcome));
    } else if (!hri_progress_tell(c->progress, c->flops_done)) {
        return hri_error_raise(&c->progress->error);
    } else {
        HRI_TRY(run_plan(c, outcome));
    }
    add_reports(c, outcome);
    c->flops_done += outcome->unfinished ? flops_of_home(c, outcome->home)
                                         : hri_flops_of(&c->product);
    if (!outcome->unfinished) {
        return HR_OK;
    }
    if (c->terms != NULL) { /* they may be gone */
        return hri_error_raise(&c->lost);
    }
    hri_log(c->context, "%s; others compute its tiles", c->lost.message);
    return multiply_rest(c, outcome->home);
}

hr_status hri_call_multiply(hri_gemm_call *c)
{
    const size_t tiles =
        (size_t)c->plan->tile_rows * (size_t)c->plan->tile_cols;
    hri_run_outcome outcome = {
        .reports = calloc(c->plan->flow.share_count, sizeof *outcome.reports),
        .home = calloc(tiles, 1)};
    const hr_status status = multiply_all(c, &outcome);
    free(outcome.reports);
    free(outcome.home);
    return status;
}

hr_status hri_call_run(hri_gemm_call *c, hr_gemm_report *report)
{
    if (c->plan == NULL) {
        if (c->product.m > 0 && c->product.n > 0) {
            hri_matrix_scale(c->context->pool, c->product.beta, &c->product.c);
        }
        hri_report_plan(c, report);
        report->seconds = hri_seconds_since(c->start_ns);
        return HR_OK;
    }
    c->reports = calloc(c->context->accelerator_count, sizeof *c->reports);
    if (c->reports == NULL) {
        return hri_fail(HR_ERROR_OUT_OF_MEMORY, "gemm: out of memory");
    }
    const uint64_t run_ns = hri_clock_ns();
    hri_progress_init(c->progress, "gemm", c->options.progress,
                      c->options.progress_data, c->flops);
    hr_status status = hri_progress_end(c->progress, hri_call_multiply(c));
    if (status == HR_OK) {
        if (c->lost.status == HR_OK && c->terms == NULL) {
            hri_model_saw(c->context->model, HR_ENGINE_GEMM,
                          c->plan->flow.seconds, hri_seconds_since(run_ns));
        }
        hri_report_plan(c, report);
        hri_report_run(c, hri_seconds_since(c->start_ns), report);
    }
    free(c->reports);
    return status;
}

/* ---- the calls */

/* The call of hr_gemm with the context's lock. */
static hr_status multiply_call(hri_gemm_call *this, hr_context *context,
                               hr_scalar alpha, hr_matrix a, hr_matrix b,
                               hr_scalar beta, hr_matrix c,
                               hr_gemm_report *report)
{
    hr_status status;
    hri_runs_collect(context);
    HRI_TRY(hri_call_open(this, context, alpha, a, b, beta, c));
    HRI_TRY(hri_gemm_check_data(alpha, &a, &b, &c));
    if (hri_gemm_directly(this, &status)) {
        return status;
    }
    HRI_TRY(hri_call_plan(this));
    return hri_call_run(this, report);
}

hr_status hr_gemm(hr_context *context, hr_scalar alpha, hr_matrix a,
                  hr_matrix b, hr_scalar beta, hr_matrix c,
                  const hr_gemm_options *options)
{
    HRI_USUAL_ARITHMETIC;
    hri_progress progress;
    hri_gemm_call this = {.start_ns = hri_clock_ns(), .progress = &progress};
    a = hri_matrix_tidy(a);
    b = hri_matrix_tidy(b);
    c = hri_matrix_tidy(c);
    hr_gemm_report filled = HR_GEMM_REPORT_INIT;
    HRI_TRY(hri_context_check(context, "gemm"));
    HRI_TRY(hri_call_options(&this, options));
    HRI_TRY(hri_report_read(this.options.report, &filled));
    hri_range_begin("hr_gemm");
    pthread_mutex_lock(&context->lock);
    const hr_status status =
        multiply_call(&this, context, alpha, a, b, beta, c, &filled);
    pthread_mutex_unlock(&context->lock);
    if (status == HR_OK) {
        hri_report_trace(&this, &filled, "hr_gemm");
        hri_report_write(&filled, this.options.report);
    }
    hri_call_close(&this);
    hri_range_end();
    return status;
}

static hr_status plan_call(hri_gemm_call *this, hr_context *context,
                           hr_scalar alpha, hr_matrix a, hr_matrix b,
                           hr_scalar beta, hr_matrix c)
{
    HRI_TRY(hri_call_open(this, context, alpha, a, b, beta, c));
    return hri_call_plan(this);
}

hr_status hr_gemm_plan(hr_context *context, hr_scalar alpha, hr_matrix a,
                       hr_matrix b, hr_scalar beta, hr_matrix c,
                       const hr_gemm_options *options, hr_gemm_report *report)
{
    HRI_USUAL_ARITHMETIC;
    hri_gemm_call this = {0};
    a = hri_matrix_tidy(a);
    b = hri_matrix_tidy(b);
    c = hri_matrix_tidy(c);
    hr_gemm_report filled;
    HRI_TRY(hri_context_check(context, "gemm"));
    if (report == NULL) {
        return hri_fail(HR_ERROR_INVALID, "gemm: the report is NULL");
    }
    HRI_TRY(hri_report_read(report, &filled));
    HRI_TRY(hri_call_options(&this, options));
    pthread_mutex_lock(&context->lock);
    const hr_status status = plan_call(&this, context, alpha, a, b, beta, c);
    pthread_mutex_unlock(&context->lock);
    if (status == HR_OK) {
        hri_report_plan(&this, &filled);
        hri_report_write(&filled, report);
    }
    hri_call_close(&this);
    return status;
}
