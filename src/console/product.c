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

enum { A, B, C0 }; /* the indices of inputs */

typedef struct work {
    hr_context *context;
    const cli_product *product;
    cli_files files;
    hr_matrix a, b; /* as they are multiplied */
    hr_matrix c;    /* first type and shape, then the output itself */
    hr_gemm_options options;
    cli_progress progress;
    double planning; /* seconds */
} work;

static hr_matrix operand(hr_matrix m, bool transpose, bool conjugate)
{
    m = transpose ? hr_matrix_transpose(m) : m;
    return conjugate ? hr_matrix_conjugate(m) : m;
}

static int open_inputs(work *w)
{
    const cli_product *p = w->product;
    cli_npy *in = w->files.in;
    int status = cli_input_open(&in[A], p->a);
    status = status == CLI_OK ? cli_input_open(&in[B], p->b) : status;
    status = status == CLI_OK ? cli_input_open(&in[C0], p->add) : status;
    w->a = operand(in[A].matrix, p->transpose_a, p->conjugate_a);
    w->b = operand(in[B].matrix, p->transpose_b, p->conjugate_b);
    return status;
}

/* Plan the product. The plan finds every error of the operands before a byte is
 * written, and is all that a dry run needs. */
static int plan(work *w, cli_outcome *outcome)
{
    const cli_product *p = w->product;
    hr_type usual = w->a.type == HR_I8 ? HR_I32 : w->a.type;
    w->c = hr_matrix_row_major(NULL, p->type != 0 ? p->type : usual, w->a.rows,
                               w->b.cols, 0);
    outcome->m = w->c.rows;
    outcome->n = w->c.cols;
    outcome->k = w->a.cols;
    outcome->type = w->a.type;
    outcome->c_type = w->c.type;
    const double start = cli_clock();
    const hr_status status =
        hr_gemm_plan(w->context, p->alpha, w->a, w->b, p->beta, w->c,
                     &w->options, &outcome->report);
    w->planning = cli_clock() - start;
    return cli_called(status);
}

static int check_c0(const work *w)
{
    const cli_npy *c0 = &w->files.in[C0];
    const hr_matrix *m = &c0->matrix, *c = &w->c;
    if (c0->file != NULL &&
        (m->rows != c->rows || m->cols != c->cols || m->type != c->type)) {
        return cli_fail("%s is %" PRId64 "x%" PRId64 " of %s, but the product "
                        "is %" PRId64 "x%" PRId64 " of %s",
                        c0->path, m->rows, m->cols, hr_type_name(m->type),
                        c->rows, c->cols, hr_type_name(c->type));
    }
    return CLI_OK;
}

/* C := C0. hr_gemm then scales C and adds to it. */
static int fill_output(work *w)
{
    const cli_product *p = w->product;
    if (p->add == NULL || (p->beta.re == 0.0 && p->beta.im == 0.0)) {
        return CLI_OK;
    }
    cli_progress_start(&w->progress, p->quiet, "copying C0", cli_link_text);
    return cli_copy(w->files.in[C0].matrix, w->c, &w->progress);
}

static int multiply(work *w, cli_outcome *outcome)
{
    const cli_product *p = w->product;
    cli_progress_start(&w->progress, p->quiet, "multiplying", cli_rate_text);
    w->options.progress = cli_progress_told;
    w->options.progress_data = &w->progress;
    w->options.report = &outcome->report;
    hr_status status =
        hr_gemm(w->context, p->alpha, w->a, w->b, p->beta, w->c, &w->options);
    cli_progress_end(&w->progress);
    return cli_called(status);
}

static int verify(work *w, cli_outcome *outcome)
{
    const cli_product *p = w->product;
    hr_matrix c0 = p->add != NULL ? w->files.in[C0].matrix : w->c;
    if (!p->verify) {
        return CLI_OK;
    }
    cli_progress_start(&w->progress, p->quiet, "verifying", cli_elements_text);
    outcome->check = (hr_verify_report)HR_VERIFY_REPORT_INIT;
    outcome->check.progress = cli_progress_told;
    outcome->check.progress_data = &w->progress;
    const hr_status status = hr_gemm_verify(w->context, p->alpha, w->a, w->b,
                                            p->beta, c0, w->c, &outcome->check);
    cli_progress_end(&w->progress);
    return cli_called(status);
}

static int run(work *w, cli_outcome *outcome)
{
    int status = cli_output_create(&w->files.out, w->product->output, w->c,
                                   HR_ROW_MAJOR);
    w->c = w->files.out.matrix;
    status = status == CLI_OK ? fill_output(w) : status;
    status = status == CLI_OK ? multiply(w, outcome) : status;
    status = status == CLI_OK ? verify(w, outcome) : status;
    return status == CLI_OK ? cli_files_commit(&w->files) : status;
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
static void explain(const work *w, cli_left_out *left)
{
    static const char prefix[] = "gemm: ";
    const cli_product *p = w->product;
    hr_gemm_report alone = HR_GEMM_REPORT_INIT;
    hr_gemm_options options = HR_GEMM_OPTIONS_INIT;
    options.compute = p->compute;
    options.accelerators = &left->accelerator;
    options.accelerator_count = 1;
    hr_status status = hr_gemm_plan(w->context, p->alpha, w->a, w->b, p->beta,
                                    w->c, &options, &alone);
    if (status == HR_OK) {
        snprintf(left->reason, sizeof left->reason,
                 "not predicted to be clearly faster with it; alone %s",
                 cli_seconds_text(alone.seconds).text);
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
static void explain_all(const work *w, cli_outcome *outcome)
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
    work w = {.context = *context,
              .product = product,
              .options = HR_GEMM_OPTIONS_INIT};
    w.options.compute = product->compute;
    int status = open_inputs(&w);
    status = status == CLI_OK ? plan(&w, outcome) : status;
    status = status == CLI_OK ? check_c0(&w) : status;
    if (status == CLI_OK && !product->dry_run) {
        status = run(&w, outcome);
    }
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
