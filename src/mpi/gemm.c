/* SPDX-License-Identifier: MIT */
/* Products. While a thread multiplies panels, this one exchanges the messages
 * of later ones. All processes stop behind the same panel. */
#include <math.h>

#include "base/arithmetic.h"
#include "base/hash.h"
#include "base/matrix.h"
#include "base/size.h"
#include "base/structs.h"
#include "mpi/run.h"

hr_matrix hri_mpi_part_view(const hri_mpi_operand *o, hri_mpi_place at,
                            int64_t rows, int64_t cols)
{
    const hr_matrix stored = {.data = at.data,
                              .type = o->m.type,
                              .conjugate = o->m.conjugate,
                              .rows = rows,
                              .cols = cols,
                              .row_stride = at.row_stride,
                              .col_stride = at.col_stride};
    return o->m.transposed ? hr_matrix_transpose(stored) : stored;
}

/* ---- panels */

/* Bring panel after panel, each to where an earlier one was that has been read.
 * The first one comes alone: products wait for it. */
static hr_status exchange(hri_mpi_run *r, bool *stopped)
{
    const hri_mpi_plan *plan = r->plan;
    const int64_t ahead = plan->buffers > 2 ? 2 : 1;
    int64_t posted = 0, complete = 0;
    hr_status status = HR_OK;
    while (complete < (*stopped ? posted : plan->panels) && status == HR_OK) {
        const int64_t last =
            hri_min(plan->panels, complete > 0 ? complete + ahead : 1);
        for (; posted < last && status == HR_OK && !*stopped; posted++) {
            status = hri_multiply_await(r, posted + 1 - plan->buffers);
            if (status == HR_OK) {
                status = hri_mpi_panel_post(r, posted);
            }
        }
        if (status == HR_OK) {
            status = hri_mpi_panel_complete(r, complete, stopped);
            complete++;
        }
        if (status == HR_OK && !*stopped) {
            hri_multiply_come(r, complete);
            hri_progress_add(&r->progress, 0); /* tells the program */
        }
    }
    return status == HR_OK ? hri_mpi_panels_end(r) : status;
}

static hr_status multiply_panels(hri_mpi_run *r, bool *stopped)
{
    (void)hri_progress_tell(&r->progress, 0.0);
    hri_multiply_begin(r);
    const hr_status status = exchange(r, stopped);
    const hr_status end = hri_multiply_end(r, *stopped || status != HR_OK);
    return status == HR_OK ? end : status;
}

static hr_status prepare(hri_mpi_run *r)
{
    hr_status status =
        hri_mpi_is_empty(r->product) ? HR_OK : hri_mpi_panels_prepare(r);
    if (status == HR_OK) {
        status = hri_strips_prepare(r);
    }
    return status == HR_OK ? hri_multiply_prepare(r) : status;
}

static hr_status execute(hri_mpi_run *r)
{
    bool stopped = false;
    const bool empty = hri_mpi_is_empty(r->product);
    hr_status status = empty ? HR_OK : multiply_panels(r, &stopped);
    if (status == HR_OK && !stopped && (empty || !r->plan->in_place)) {
        status = hri_strips_bring(r, !empty);
    }
    if (status == HR_OK) {
        status = hr_mpi_agree(
            r->context,
            hri_progress_status(&r->progress, hri_error_raise(&r->error)));
    }
    return hri_progress_end(&r->progress, status);
}

/* ---- arguments */

static hr_status check_shapes(hr_mpi_matrix a, hr_mpi_matrix b, hr_mpi_matrix c)
{
    if (a.cols != b.rows) {
        return hri_fail(HR_ERROR_INVALID,
                        "mpi: A is %lld x %lld but B is %lld x %lld: A has "
                        "%lld columns and B %lld rows",
                        (long long)a.rows, (long long)a.cols, (long long)b.rows,
                        (long long)b.cols, (long long)a.cols,
                        (long long)b.rows);
    }
    if (a.rows != c.rows || b.cols != c.cols) {
        return hri_fail(
            HR_ERROR_INVALID,
            "mpi: A is %lld x %lld, B %lld x %lld and C %lld x %lld",
            (long long)a.rows, (long long)a.cols, (long long)b.rows,
            (long long)b.cols, (long long)c.rows, (long long)c.cols);
    }
    return c.conjugate ? hri_fail(HR_ERROR_INVALID,
                                  "mpi: C counts as its conjugate, which "
                                  "only A and B may")
                       : HR_OK;
}

/* Types, scalars and options, as a product of one process has them. */
static hr_status check_types(hr_context *local, const hri_mpi_product *x,
                             hr_compute compute)
{
    hr_gemm_options options = HR_GEMM_OPTIONS_INIT;
    hr_gemm_report report = HR_GEMM_REPORT_INIT;
    options.compute = compute;
    const hr_matrix a = hr_matrix_row_major(NULL, x->a.m.type, 1, 1, 0);
    const hr_matrix b = hr_matrix_row_major(NULL, x->b.m.type, 1, 1, 0);
    const hr_matrix c = hr_matrix_row_major(NULL, x->c.m.type, 1, 1, 0);
    return hr_gemm_plan(local, x->alpha, a, b, x->beta, c, &options, &report);
}

static const hri_struct options_struct = HRI_STRUCT(
    hr_mpi_gemm_options, "gemm options", "HR_MPI_GEMM_OPTIONS_INIT", rows);
static const hri_struct report_struct = HRI_STRUCT(
    hr_mpi_gemm_report, "gemm report", "HR_MPI_GEMM_REPORT_INIT", panel);

static uint64_t hash_options(const hri_mpi_product *x,
                             const hr_mpi_gemm_options *o, uint64_t hash)
{
    const double scalars[] = {x->alpha.re, x->alpha.im, x->beta.re, x->beta.im};
    hash = hri_hash(hash, scalars, sizeof scalars);
    const int64_t all[] = {o->compute, o->rows, o->cols, o->depth,
                           (int64_t)o->memory_limit};
    hash = hri_hash(hash, all, sizeof all);
    return hash;
}

/* Check all. `read`: elements must be there. *hash is of what must be the same
 * in all processes. */
static hr_status open_product(hr_mpi_context *context, hri_mpi_product *x,
                              const hr_mpi_matrix m[3],
                              const hr_mpi_gemm_options *o, bool read,
                              uint64_t *hash)
{
    hr_status status = check_shapes(m[0], m[1], m[2]);
    const bool operands = read && !(x->alpha.re == 0.0 && x->alpha.im == 0.0);
    if (status == HR_OK) {
        status =
            hri_mpi_operand_init(&x->a, context, "A", m[0], operands, hash);
    }
    if (status == HR_OK) {
        status =
            hri_mpi_operand_init(&x->b, context, "B", m[1], operands, hash);
    }
    if (status == HR_OK) {
        status = hri_mpi_operand_init(&x->c, context, "C", m[2], read, hash);
    }
    if (status == HR_OK && x->c.everywhere > 0.0) {
        status = hri_fail(HR_ERROR_INVALID,
                          "mpi: C: every process has a block, so that none "
                          "could write it");
    }
    if (status == HR_OK) {
        status = check_types(context->local, x, o->compute);
        *hash = hash_options(x, o, *hash);
    }
    x->m = m[2].rows;
    x->n = m[2].cols;
    x->k = m[0].cols;
    x->sum_type =
        m[2].type == HR_F16 || m[2].type == HR_BF16 ? HR_F32 : m[2].type;
    return status;
}

static void close_product(hri_mpi_product *x)
{
    hri_mpi_operand_finish(&x->a);
    hri_mpi_operand_finish(&x->b);
    hri_mpi_operand_finish(&x->c);
}

/* Fill the caller's report, whose size has been checked. */
static void describe(const hri_mpi_plan *plan, hr_mpi_gemm_report *report,
                     int64_t k, double seconds)
{
    const hr_mpi_gemm_report known = {
        .rows = plan->rows,
        .cols = plan->cols,
        .depth = plan->depth,
        .panel = hri_ceil_div(hri_ceil_div(k, plan->depth), plan->panels),
        .panels = plan->panels,
        .seconds = seconds,
        .compute_seconds = plan->compute_seconds,
        .message_seconds = plan->message_seconds,
        .sent = plan->sent,
        .bound = plan->bound,
        .ratio = plan->bound > 0  ? (double)plan->sent / (double)plan->bound
                 : plan->sent > 0 ? HUGE_VAL
                                  : 1.0,
        .messages = plan->messages,
        .memory_bytes = plan->memory_bytes};
    hri_struct_write(&report_struct, &known, report);
}

hr_status hr_mpi_gemm(hr_mpi_context *context, hr_scalar alpha, hr_mpi_matrix a,
                      hr_mpi_matrix b, hr_scalar beta, hr_mpi_matrix c,
                      const hr_mpi_gemm_options *options)
{
    HRI_USUAL_ARITHMETIC;
    const hr_mpi_matrix m[3] = {a, b, c};
    hr_status status = hri_mpi_context_check(context);
    if (status != HR_OK) {
        return status;
    }
    const double begin = MPI_Wtime();
    hri_mpi_product x = {.alpha = alpha, .beta = beta};
    hri_mpi_plan plan = {0};
    hr_mpi_gemm_options o = HR_MPI_GEMM_OPTIONS_INIT;
    uint64_t hash = HRI_HASH_INIT;
    hri_mpi_run r = {.context = context,
                     .product = &x,
                     .plan = &plan,
                     .options = &o,
                     .place = -1};
    status = hri_struct_read(&options_struct, options, &o);
    if (status == HR_OK) {
        status = hri_struct_check(&report_struct, o.report);
    }
    if (status == HR_OK) {
        status = open_product(context, &x, m, &o, true, &hash);
    }
    if (status == HR_OK) {
        status = hri_mpi_plan_init(&plan, context, &x, &o);
    }
    if (status == HR_OK) {
        r.place = plan.place[context->rank];
        status = prepare(&r);
    }
    status = hri_mpi_agree_on(context, status, hash);
    if (status == HR_OK) {
        hri_progress_init(&r.progress, "gemm", o.progress, o.progress_data,
                          hri_product_flops(c.type, x.m, x.n, x.k));
        status = execute(&r);
    }
    hri_multiply_finish(&r);
    hri_mpi_panels_finish(&r);
    hri_strips_finish(&r);
    if (status == HR_OK) {
        describe(&plan, o.report, x.k, MPI_Wtime() - begin);
    }
    hri_mpi_plan_finish(&plan);
    close_product(&x);
    return status;
}

hr_status hr_mpi_gemm_plan(hr_mpi_context *context, hr_scalar alpha,
                           hr_mpi_matrix a, hr_mpi_matrix b, hr_scalar beta,
                           hr_mpi_matrix c, const hr_mpi_gemm_options *options,
                           hr_mpi_gemm_report *report)
{
    HRI_USUAL_ARITHMETIC;
    const hr_mpi_matrix m[3] = {a, b, c};
    hr_status status = context != NULL && context->model
                           ? HR_OK
                           : hri_mpi_context_check(context);
    if (status != HR_OK) {
        return status;
    }
    hri_mpi_product x = {.alpha = alpha, .beta = beta};
    hri_mpi_plan plan = {0};
    hr_mpi_gemm_options o = HR_MPI_GEMM_OPTIONS_INIT;
    uint64_t hash = HRI_HASH_INIT;
    status = hri_struct_read(&options_struct, options, &o);
    if (status == HR_OK) {
        status = hri_struct_check(&report_struct, report);
    }
    if (status == HR_OK) {
        status = open_product(context, &x, m, &o, false, &hash);
    }
    if (status == HR_OK) {
        status = hri_mpi_plan_init(&plan, context, &x, &o);
    }
    status = hri_mpi_agree_on(context, status, hash);
    if (status == HR_OK) {
        describe(&plan, report, x.k, plan.seconds);
    }
    hri_mpi_plan_finish(&plan);
    close_product(&x);
    return status;
}
