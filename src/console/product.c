/* SPDX-License-Identifier: MIT */
#include "product.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "context.h"
#include "loop.h"
#include "output.h"
#include "signals.h"
#include "text.h"
#include "work.h"

static bool has_header(const cli_array *input)
{
    return strcmp(hr_file_form(input->file), "raw") != 0;
}

static int open_factors(cli_work *w)
{
    const cli_product *p = w->product;
    const hr_type type = p->input_type != 0 ? p->input_type : p->type;
    cli_array *in = w->files.in;
    hr_file_array raw;
    HRI_TRY(cli_input_open(&in[A], p->a, cli_raw(&p->shapes, A, type, &raw)));
    HRI_TRY(cli_input_open(&in[B], p->b, cli_raw(&p->shapes, B, type, &raw)));
    if (p->shapes.count > 0 && has_header(&in[A]) && has_header(&in[B])) {
        return cli_fail("--shape is for files without a header, but %s and %s "
                        "have one",
                        p->a, p->b);
    }
    return CLI_OK;
}

static int match_factors(cli_work *w, cli_outcome *outcome)
{
    const cli_product *p = w->product;
    const cli_array *in = w->files.in;
    const hr_type a = in[A].array.type, usual = a == HR_I8 ? HR_I32 : a;
    HRI_TRY(cli_batch_init(&w->batch, &in[A],
                           (cli_use){p->transpose_a, p->conjugate_a}, &in[B],
                           (cli_use){p->transpose_b, p->conjugate_b},
                           p->type != 0 ? p->type : usual));
    const hr_matrix *c = &w->batch.c;
    w->c = w->batch.shape;
    outcome->m = c->rows;
    outcome->n = c->cols;
    outcome->k = w->batch.a.matrix.cols;
    outcome->shape = w->batch.shape;
    memcpy(outcome->factors, w->batch.factors, sizeof outcome->factors);
    outcome->type = a;
    outcome->c_type = c->type;
    return CLI_OK;
}

int cli_work_open(cli_work *w, cli_outcome *outcome)
{
    HRI_TRY(open_factors(w));
    return match_factors(w, outcome);
}

static hr_status plan_with(const cli_work *w, hr_gemm_options *options,
                           hr_gemm_report *report)
{
    const cli_batch *x = &w->batch;
    const cli_product *p = w->product;
    const hr_matrix c = cli_batch_result(x, &w->c, 0);
    if (x->single) {
        return hr_gemm_plan(w->context, p->alpha, x->a.matrix, x->b.matrix,
                            p->beta, c, options, report);
    }
    options->report = report;
    return hr_gemm_batch_plan(w->context, x->count, p->alpha, x->a, x->b,
                              p->beta, hr_matrices_strided(c, c.rows * c.cols),
                              options);
}

/* Plan the product. The plan finds every error of the factors before a byte is
 * written, and is all that a dry run needs. */
static int plan(cli_work *w, cli_outcome *outcome)
{
    hr_gemm_options options = w->options;
    const double start = cli_clock();
    const hr_status status = plan_with(w, &options, &outcome->report);
    w->planning = cli_clock() - start;
    return cli_called(status);
}

int cli_work_open_c0(cli_work *w)
{
    cli_array *c0 = &w->files.in[C0];
    const hr_file_array *array = &c0->array, *c = &w->c;
    const int status = cli_input_open(c0, w->product->add,
                                      w->product->shapes.count > 0 ? c : NULL);
    if (status != CLI_OK || c0->file == NULL) {
        return status;
    }
    if (array->rank != c->rank || array->type != c->type ||
        memcmp(array->extents, c->extents,
               (size_t)c->rank * sizeof *c->extents) != 0) {
        return cli_fail("%s is %s of %s, but the product is %s of %s", c0->path,
                        cli_extents_text(array->extents, array->rank).text,
                        hr_type_name(array->type),
                        cli_extents_text(c->extents, c->rank).text,
                        hr_type_name(c->type));
    }
    const bool matrices = w->files.in[A].array.rank == 2 && c->rank == 2;
    return matrices ? CLI_OK : cli_input_in_rows(c0);
}

/* C := C0. hr_gemm then scales C and adds to it. */
static int fill_output(cli_work *w)
{
    const cli_product *p = w->product;
    if (p->add == NULL || (p->beta.re == 0.0 && p->beta.im == 0.0)) {
        return CLI_OK;
    }
    cli_progress_start(&w->progress, p->quiet, "copying C0", hri_link_text);
    return cli_copy(cli_matrix(&w->files.in[C0].array), cli_matrix(&w->c),
                    &w->progress);
}

static hr_status multiply_with(const cli_work *w)
{
    const cli_batch *x = &w->batch;
    const cli_product *p = w->product;
    const hr_matrix c = cli_batch_result(x, &w->c, 0);
    return x->single
               ? hr_gemm(w->context, p->alpha, x->a.matrix, x->b.matrix,
                         p->beta, c, &w->options)
               : hr_gemm_batch(w->context, x->count, p->alpha, x->a, x->b,
                               p->beta, hr_matrices_strided(c, c.rows * c.cols),
                               &w->options);
}

static int multiply_factors(cli_work *w, cli_outcome *outcome)
{
    cli_progress_start(&w->progress, w->product->quiet, "multiplying",
                       hri_rate_text);
    w->options.progress = cli_progress_told;
    w->options.progress_data = &w->progress;
    w->options.report = &outcome->report;
    const hr_status status = multiply_with(w);
    cli_progress_end(&w->progress);
    return cli_called(status);
}

/* Each of several products of one size tells of itself. */
typedef struct verifying {
    cli_progress *progress;
    double before, count; /* products that are done, and all */
} verifying;

static bool told_of_one(void *data, double done, double total)
{
    const verifying *v = data;
    return cli_progress_told(v->progress, v->before * total + done,
                             v->count * total);
}

/* Adds to *seconds. */
static hr_status verify_each(const cli_work *w, verifying *v,
                             hr_verify_report *check, double *seconds)
{
    const cli_product *p = w->product;
    const cli_batch *x = &w->batch;
    for (int64_t i = 0; i < x->count; i++) {
        const hr_matrix c = cli_batch_result(x, &w->c, i);
        const hr_matrix c0 =
            p->add != NULL ? cli_batch_result(x, &w->files.in[C0].array, i) : c;
        v->before = (double)i;
        HRI_TRY(hr_gemm_verify(w->context, p->alpha, cli_batch_factor(&x->a, i),
                               cli_batch_factor(&x->b, i), p->beta, c0, c,
                               check));
        *seconds += check->seconds;
    }
    return HR_OK;
}

/* Verify each product. outcome->check has the time of all. */
static int verify(cli_work *w, cli_outcome *outcome)
{
    const cli_product *p = w->product;
    double seconds = 0.0;
    if (!p->verify) {
        return CLI_OK;
    }
    cli_progress_start(&w->progress, p->quiet, "verifying", hri_elements_text);
    outcome->check = (hr_verify_report)HR_VERIFY_REPORT_INIT;
    verifying v = {.progress = &w->progress, .count = (double)w->batch.count};
    outcome->check.progress = told_of_one;
    outcome->check.progress_data = &v;
    const hr_status status = verify_each(w, &v, &outcome->check, &seconds);
    outcome->check.seconds = seconds;
    outcome->check.progress = NULL; /* v ends here */
    outcome->check.progress_data = NULL;
    cli_progress_end(&w->progress);
    return cli_called(status);
}

static int run_product(cli_work *w, cli_outcome *outcome)
{
    HRI_TRY(cli_work_open(w, outcome));
    HRI_TRY(plan(w, outcome));
    HRI_TRY(cli_work_open_c0(w));
    if (w->product->dry_run) {
        return CLI_OK;
    }
    HRI_TRY(cli_output_create(&w->files.out, w->product->output, w->c));
    w->c = w->files.out.array;
    HRI_TRY(fill_output(w));
    HRI_TRY(multiply_factors(w, outcome));
    HRI_TRY(verify(w, outcome));
    return cli_files_commit(&w->files);
}

static bool is_used(const hr_gemm_report *report, uint32_t accelerator)
{
    bool used = report->share_count == 0; /* nothing to multiply */
    for (uint32_t i = 0; i < report->share_count; i++) {
        used = used || report->shares[i].accelerator == accelerator;
    }
    return used;
}

/* Why the plan does without this accelerator: plan the product for it alone. */
static void explain(const cli_work *w, cli_left_out *left)
{
    static const char prefix[] = "gemm: ";
    hr_gemm_report alone = HR_GEMM_REPORT_INIT;
    hr_gemm_options options = HR_GEMM_OPTIONS_INIT;
    options.compute = w->product->compute;
    options.accelerators = &left->accelerator;
    options.accelerator_count = 1;
    const hr_status status = plan_with(w, &options, &alone);
    if (status == HR_OK) {
        snprintf(left->reason, sizeof left->reason,
                 "not predicted to be clearly faster with it; alone %s",
                 hri_seconds_text(alone.seconds).text);
    } else if (status == HR_ERROR_UNSUPPORTED) {
        snprintf(left->reason, sizeof left->reason,
                 "it does not offer this product");
    } else {
        const char *sentence = hr_last_error();
        const size_t skip = strlen(prefix);
        const bool ours = strncmp(sentence, prefix, skip) == 0;
        snprintf(left->reason, sizeof left->reason, "%s",
                 sentence + (ours ? skip : 0));
    }
}

/* Each of these plans may take as long as the plan of the product. All together
 * take as long as that and one more, or half a second. Nor does a signal wait
 * for them all. */
static void explain_all(const cli_work *w, cli_outcome *outcome)
{
    const double least = 0.5, start = cli_clock();
    const double enough = w->planning > least ? w->planning : least;
    for (uint32_t i = 0; i < outcome->report.share_capacity; i++) {
        if (!is_used(&outcome->report, i)) {
            cli_left_out *left = &outcome->left_out[outcome->left_out_count++];
            left->accelerator = i;
            if (cli_cancelled() || cli_clock() - start > enough) {
                snprintf(left->reason, sizeof left->reason,
                         "not looked into, to save time; --accelerators with "
                         "it alone tells why");
            } else {
                explain(w, left);
            }
        }
    }
}

static int outcome_init(cli_outcome *outcome, uint32_t accelerators)
{
    *outcome = (cli_outcome){.report = HR_GEMM_REPORT_INIT};
    outcome->report.shares =
        calloc(accelerators, sizeof *outcome->report.shares);
    outcome->report.share_capacity = accelerators;
    outcome->left_out = calloc(accelerators, sizeof *outcome->left_out);
    return outcome->report.shares != NULL && outcome->left_out != NULL
               ? CLI_OK
               : cli_fail("out of memory");
}

int cli_multiply(hr_context **context, const cli_product *product,
                 cli_outcome *outcome)
{
    double start = cli_clock();
    if (outcome_init(outcome, hr_accelerator_count(*context)) != CLI_OK) {
        return CLI_FAILED;
    }
    cli_work w = {.context = *context,
                  .product = product,
                  .options = HR_GEMM_OPTIONS_INIT};
    w.options.compute = product->compute;
    const int status = run_product(&w, outcome);
    if (status == CLI_OK && product->explain) {
        const double explaining = cli_clock();
        explain_all(&w, outcome);
        start += cli_clock() - explaining; /* no part of the work */
    }
    if (status != CLI_OK) {
        hr_context_destroy(*context);
        *context = NULL;
    }
    cli_files_close(&w.files);
    cli_batch_free(&w.batch);
    if (status != CLI_OK) { /* else it is too late to stop */
        cli_signals_phase(CLI_AT_ONCE);
    }
    outcome->seconds = cli_clock() - start;
    return status;
}

void cli_outcome_free(cli_outcome *outcome)
{
    free(outcome->report.shares);
    free(outcome->left_out);
    outcome->report.shares = NULL;
    outcome->left_out = NULL;
}
