/* SPDX-License-Identifier: MIT */
#include "product.h"

#include <inttypes.h>
#include <stdlib.h>

#include "context.h"
#include "loop.h"
#include "output.h"
#include "signals.h"

/* An operand: a file, and the window over it that is multiplied. */
typedef struct input {
    const char *path;
    hr_npy *file;
    hr_matrix matrix;
} input;

typedef struct work {
    hr_context *context;
    const cli_product *product;
    input a, b, c0;
    cli_output c;
    hr_gemm_options options;
    cli_progress progress;
} work;

hr_type cli_default_type(hr_type type)
{
    return type == HR_I8 ? HR_I32 : type;
}

static int open_input(input *in, const char *path, bool transpose,
                      bool conjugate)
{
    in->path = path;
    int status = cli_input_open(path, &in->file, &in->matrix);
    if (status != CLI_OK) {
        return status;
    }
    if (transpose) {
        in->matrix = hr_matrix_transpose(in->matrix);
    }
    if (conjugate) {
        in->matrix = hr_matrix_conjugate(in->matrix);
    }
    return CLI_OK;
}

static int open_inputs(work *w)
{
    const cli_product *p = w->product;
    int status = open_input(&w->a, p->a, p->transpose_a, p->conjugate_a);
    if (status == CLI_OK) {
        status = open_input(&w->b, p->b, p->transpose_b, p->conjugate_b);
    }
    if (status == CLI_OK && p->add != NULL) {
        status = open_input(&w->c0, p->add, false, false);
    }
    return status;
}

/* Ask for the plan. It finds everything that is wrong with the operands, before
 * a byte is written, and is all that a dry run wants. */
static int plan(work *w, cli_outcome *outcome)
{
    hr_type c_type = w->product->type != 0 ? w->product->type
                                           : cli_default_type(w->a.matrix.type);
    hr_matrix c = hr_matrix_row_major(NULL, c_type, w->a.matrix.rows,
                                      w->b.matrix.cols, 0);
    outcome->m = c.rows;
    outcome->n = c.cols;
    outcome->k = w->a.matrix.cols;
    outcome->type = w->a.matrix.type;
    outcome->c_type = c_type;
    if (hr_gemm_plan(w->context, w->product->alpha, w->a.matrix, w->b.matrix,
                     w->product->beta, c, &w->options,
                     &outcome->report) != HR_OK) {
        return cli_failed_call();
    }
    return CLI_OK;
}

static int check_c0(const work *w, const cli_outcome *outcome)
{
    const hr_matrix *m = &w->c0.matrix;
    if (w->c0.file != NULL && (m->rows != outcome->m || m->cols != outcome->n ||
                               m->type != outcome->c_type)) {
        return cli_fail("%s is %" PRId64 "x%" PRId64 " of %s, but the product "
                        "is %" PRId64 "x%" PRId64 " of %s",
                        w->c0.path, m->rows, m->cols, hr_type_name(m->type),
                        outcome->m, outcome->n, hr_type_name(outcome->c_type));
    }
    return CLI_OK;
}

/* C := C0, which hr_gemm then scales and adds to. */
static int fill_output(work *w)
{
    if (w->c0.file == NULL ||
        (w->product->beta.re == 0.0 && w->product->beta.im == 0.0)) {
        return CLI_OK;
    }
    cli_progress_start(&w->progress, w->product->quiet, "copying C0",
                       cli_link_text);
    bool done = cli_copy(w->c0.matrix, w->c.matrix, &w->progress);
    cli_progress_end(&w->progress);
    return done ? CLI_OK : cli_fail_cancelled();
}

static bool on_progress(void *data, double done, double total)
{
    cli_progress_update(data, done, total);
    return !cli_cancelled();
}

static int multiply(work *w, cli_outcome *outcome)
{
    cli_progress_start(&w->progress, w->product->quiet, "multiplying",
                       cli_rate_text);
    w->options.progress = on_progress;
    w->options.progress_data = &w->progress;
    w->options.report = &outcome->report;
    hr_status status =
        hr_gemm(w->context, w->product->alpha, w->a.matrix, w->b.matrix,
                w->product->beta, w->c.matrix, &w->options);
    cli_progress_end(&w->progress);
    return status == HR_OK ? CLI_OK : cli_failed_call();
}

/* The result stands for the files as they are named only if nobody has changed
 * them in the meantime. */
static int check_inputs(const work *w)
{
    const input *inputs[] = {&w->a, &w->b, &w->c0};
    for (int i = 0; i < 3; i++) {
        if (inputs[i]->file != NULL &&
            hr_npy_unchanged(inputs[i]->file) != HR_OK) {
            return cli_failed_call();
        }
    }
    return CLI_OK;
}

static int verify(work *w, cli_outcome *outcome)
{
    if (!w->product->verify) {
        return CLI_OK;
    }
    cli_signals_phase(CLI_AT_ONCE); /* it cannot be asked to stop */
    if (cli_cancelled()) {
        return cli_fail_cancelled();
    }
    outcome->check = (hr_verify_report)HR_VERIFY_REPORT_INIT;
    hr_matrix c0 = w->c0.file != NULL ? w->c0.matrix : w->c.matrix;
    if (hr_gemm_verify(w->context, w->product->alpha, w->a.matrix, w->b.matrix,
                       w->product->beta, c0, w->c.matrix,
                       &outcome->check) != HR_OK) {
        return cli_failed_call();
    }
    return CLI_OK;
}

static int run(work *w, cli_outcome *outcome)
{
    int status = cli_output_create(&w->c, w->product->output, outcome->c_type,
                                   outcome->m, outcome->n, HR_ROW_MAJOR);
    status = status == CLI_OK ? fill_output(w) : status;
    status = status == CLI_OK ? multiply(w, outcome) : status;
    status = status == CLI_OK ? verify(w, outcome) : status;
    status = status == CLI_OK ? check_inputs(w) : status;
    return status == CLI_OK ? cli_output_commit(&w->c) : status;
}

static void close_all(work *w, bool committed)
{
    cli_unguard();
    cli_output_close(&w->c);
    hr_npy_close(w->a.file);
    hr_npy_close(w->b.file);
    hr_npy_close(w->c0.file);
    if (!committed) { /* else it is too late to stop */
        cli_signals_phase(CLI_AT_ONCE);
    }
}

int cli_multiply(hr_context *context, const cli_product *product,
                 cli_outcome *outcome)
{
    double start = cli_clock();
    uint32_t count = hr_accelerator_count(context);
    *outcome = (cli_outcome){.report = HR_GEMM_REPORT_INIT};
    outcome->report.shares = calloc(count, sizeof *outcome->report.shares);
    if (outcome->report.shares == NULL) {
        return cli_fail("out of memory");
    }
    outcome->report.share_capacity = count;
    work w = {.context = context,
              .product = product,
              .options = HR_GEMM_OPTIONS_INIT};
    w.options.compute = product->compute;
    int status = open_inputs(&w);
    status = status == CLI_OK ? plan(&w, outcome) : status;
    status = status == CLI_OK ? check_c0(&w, outcome) : status;
    if (status == CLI_OK && !product->dry_run) {
        status = run(&w, outcome);
    }
    close_all(&w, status == CLI_OK && !product->dry_run);
    outcome->seconds = cli_clock() - start;
    return status;
}

void cli_outcome_free(cli_outcome *outcome)
{
    free(outcome->report.shares);
    outcome->report.shares = NULL;
}
