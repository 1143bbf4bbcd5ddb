/* SPDX-License-Identifier: MIT */
/* hr_gemm_sum: C stays on accelerators from the first term to the last, or,
 * where it cannot, each term is a product of its own. */
#include <headrace/gemm.h>

#include <stdlib.h>

#include "base/arithmetic.h"
#include "base/clock.h"
#include "base/matrix.h"
#include "base/progress.h"
#include "gemm/call.h"
#include "trace/nvtx.h"

/* The arguments. */
typedef struct sum {
    hr_context *context;
    hr_scalar alpha, beta;
    const hr_matrix *a, *b; /* [terms.count] */
    hr_matrix c;
    hr_gemm_options options;
    hri_terms terms;
} sum;

/* ---- arguments */

static hr_status check_term(const sum *s, int64_t t)
{
    const hr_matrix a = hri_matrix_tidy(s->a[t]), b = hri_matrix_tidy(s->b[t]);
    HRI_TRY(hri_gemm_check(s->alpha, &a, &b, s->beta, &s->c));
    HRI_TRY(hri_gemm_check_data(s->alpha, &a, &b, &s->c));
    return a.type == s->a[0].type && b.type == s->b[0].type
               ? HR_OK
               : hri_fail(HR_ERROR_INVALID,
                          "gemm: term %lld is of %s and %s, but the first of "
                          "%s and %s",
                          (long long)t, hr_type_name(a.type),
                          hr_type_name(b.type), hr_type_name(s->a[0].type),
                          hr_type_name(s->b[0].type));
}

static hr_status check_sum(const sum *s)
{
    if (s->terms.come.count < 1 || s->a == NULL || s->b == NULL) {
        return hri_fail(HR_ERROR_INVALID,
                        "gemm: a sum of %lld products; it needs at least one "
                        "A and B",
                        (long long)s->terms.come.count);
    }
    if (s->options.report != NULL) {
        return hri_fail(HR_ERROR_INVALID, "gemm: a sum fills no report");
    }
    for (int64_t t = 0; t < s->terms.come.count; t++) {
        HRI_TRY(check_term(s, t));
    }
    return HR_OK;
}

/* ---- terms, one after another */

typedef struct share_of_progress {
    const hr_gemm_options *options;
    double before, all;
} share_of_progress;

static bool note_progress(void *data, double done, double total)
{
    const share_of_progress *p = data;
    (void)total;
    return p->options->progress(p->options->progress_data, p->before + done,
                                p->all);
}

static double flops_of(const sum *s, int64_t t)
{
    return hri_product_flops(s->a[t].type, s->a[t].rows, s->b[t].cols,
                             s->a[t].cols);
}

static hr_status multiply_each(const sum *s)
{
    const hri_terms *terms = &s->terms;
    share_of_progress p = {.options = &s->options};
    hr_gemm_options options = s->options;
    for (int64_t t = 0; t < terms->come.count; t++) {
        p.all += flops_of(s, t);
    }
    options.progress = options.progress != NULL ? note_progress : NULL;
    options.progress_data = &p;
    for (int64_t t = 0; t < terms->come.count; t++) {
        HRI_TRY(hri_terms_await(&terms->come, "gemm", t));
        HRI_TRY(hr_gemm(s->context, s->alpha, s->a[t], s->b[t],
                        t == 0 ? s->beta : hr_real(1), s->c, &options));
        p.before += flops_of(s, t);
        if (terms->come.release != NULL) {
            terms->come.release(terms->come.data, t + 1);
        }
    }
    return HR_OK;
}

/* ---- C stays */

static bool is_like(const hr_matrix *m, const hr_matrix *first)
{
    return (m->col_stride == 1) == (first->col_stride == 1) &&
           m->conjugate == first->conjugate;
}

/* Bring the terms into normal form. False where C cannot stay with them. */
static bool read_terms(sum *s, hr_compute compute)
{
    hri_terms *terms = &s->terms;
    bool may = terms->come.count > 1;
    terms->bounds[0] = 0;
    for (int64_t t = 0; t < terms->come.count; t++) {
        const hri_product p = hri_product_normal(
            s->alpha, hri_matrix_tidy(s->a[t]), hri_matrix_tidy(s->b[t]),
            s->beta, s->c, compute);
        terms->a[t] = p.a;
        terms->b[t] = p.b;
        may = may && p.k <= INT64_MAX - terms->bounds[t];
        terms->bounds[t + 1] = terms->bounds[t] + (may ? p.k : 0);
        may = may && p.k > 0 && is_like(&p.a, &terms->a[0]) &&
              is_like(&p.b, &terms->b[0]);
    }
    return may;
}

/* Whether accelerators with memory of their own would multiply a term. */
static bool leaves_host(const hri_gemm_call *c)
{
    for (uint32_t i = 0; c->plan != NULL && i < c->plan->flow.share_count;
         i++) {
        if (!c->plan->flow.shares[i].in_place) {
            return true;
        }
    }
    return false;
}

/* Plan the first term, and then, if it leaves the host, the sum. *stays: there
 * is such a plan. The context is locked. */
static hr_status plan_sum(sum *s, hri_gemm_call *c, bool *stays)
{
    const hr_type type = s->c.type;
    *stays = false;
    HRI_TRY(hri_call_open(c, s->context, s->alpha, hri_matrix_tidy(s->a[0]),
                          hri_matrix_tidy(s->b[0]), s->beta, s->c));
    if (type == HR_F16 || type == HR_BF16 ||
        !read_terms(s, c->product.compute)) {
        return HR_OK;
    }
    hr_status status = hri_call_plan(c);
    const bool leaves = status == HR_OK && leaves_host(c);
    hri_call_close(c);
    if (status != HR_OK || !leaves) {
        return HR_OK; /* the terms will say what is wrong */
    }
    c->terms = &s->terms;
    c->product.k = s->terms.bounds[s->terms.come.count];
    c->flops = hri_flops_of(&c->product);
    status = hri_call_plan(c);
    *stays = status == HR_OK && c->plan != NULL;
    return status == HR_ERROR_OUT_OF_MEMORY ? HR_OK : status;
}

/* Compute the sum if there is a plan for it. The context is locked. */
static hr_status run_sum(sum *s, hri_gemm_call *c, hr_gemm_report *report,
                         bool *stays)
{
    HRI_TRY(plan_sum(s, c, stays));
    return *stays ? hri_call_run(c, report) : HR_OK;
}

/* *done: C is complete, or an error ends the call. */
static hr_status multiply_all(sum *s, bool *done)
{
    hri_progress progress;
    hri_gemm_call c = {.start_ns = hri_clock_ns(),
                       .progress = &progress,
                       .options = s->options};
    hr_gemm_report report = HR_GEMM_REPORT_INIT;
    bool stays;
    pthread_mutex_lock(&s->context->lock);
    hri_runs_collect(s->context);
    const hr_status status = run_sum(s, &c, &report, &stays);
    pthread_mutex_unlock(&s->context->lock);
    if (status == HR_OK && stays) {
        hri_report_trace(&c, &report, "hr_gemm_sum");
    }
    hri_call_close(&c);
    *done = stays || status != HR_OK;
    return status;
}

static hr_status multiply_sum(sum *s)
{
    hri_terms *t = &s->terms;
    const size_t count = (size_t)t->come.count;
    bool done = true;
    t->a = calloc(count, sizeof *t->a);
    t->b = calloc(count, sizeof *t->b);
    t->bounds = calloc(count + 1, sizeof *t->bounds);
    hr_status status =
        t->a != NULL && t->b != NULL && t->bounds != NULL
            ? multiply_all(s, &done)
            : hri_fail(HR_ERROR_OUT_OF_MEMORY, "gemm: no memory for %lld terms",
                       (long long)t->come.count);
    if (!done) {
        status = multiply_each(s);
    }
    free(t->a);
    free(t->b);
    free(t->bounds);
    return status;
}

hr_status hr_gemm_sum(hr_context *context, hr_scalar alpha, int64_t count,
                      const hr_matrix *a, const hr_matrix *b, hr_scalar beta,
                      hr_matrix c, const hr_gemm_options *options)
{
    HRI_USUAL_ARITHMETIC;
    hri_gemm_call call = {0};
    HRI_TRY(hri_context_check(context, "gemm"));
    HRI_TRY(hri_call_options(&call, options));
    sum s = {.context = context,
             .alpha = alpha,
             .beta = beta,
             .a = a,
             .b = b,
             .c = hri_matrix_tidy(c),
             .options = call.options,
             .terms.come = {.count = count,
                            .await = call.options.await,
                            .release = call.options.release,
                            .data = call.options.terms_data}};
    hri_range_begin("hr_gemm_sum");
    hr_status status = check_sum(&s);
    if (status == HR_OK) {
        status = multiply_sum(&s);
    }
    if (status != HR_OK && s.terms.come.release != NULL && count > 0) {
        s.terms.come.release(s.terms.come.data, count);
    }
    hri_range_end();
    return status;
}
