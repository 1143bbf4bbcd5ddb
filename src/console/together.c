/* SPDX-License-Identifier: MIT */
#include "together.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/matrix.h"
#include "base/size.h"
#include "processes.h"
#include "signals.h"
#include "standard.h"
#include "text.h"
#include "work.h"

typedef struct together {
    cli_processes p;
    hr_mpi_context *context;
    cli_work work;
    hr_mpi_file *file;
    hr_mpi_gemm_report report; /* of all products */
    double seconds;            /* of these */
    cli_outcome outcome;
    bool first;      /* this is process 0 */
    bool remembered; /* the file, to be removed after a signal */
} together;

/* The status of the first process that failed, in all. Its sentence is the
 * library's last error. */
static int agree(together *t, int status)
{
    const hr_status known = status == CLI_OK ? HR_OK : HR_ERROR_IO;
    return t->p.agree(t->context, known) == HR_OK ? CLI_OK : CLI_FAILED;
}

/* What every process has: a matrix in a file. */
static hr_mpi_matrix everywhere(const together *t, hr_matrix m,
                                hr_mpi_block *block)
{
    *block = (hr_mpi_block){.rows = m.rows,
                            .cols = m.cols,
                            .owner = HR_MPI_EVERYWHERE,
                            .data = m.data,
                            .row_stride = m.row_stride,
                            .col_stride = m.col_stride};
    const hr_mpi_matrix all = t->p.blocks(m.type, m.rows, m.cols, block, 1);
    return m.conjugate ? t->p.conjugate(all) : all;
}

/* Whether results are columns that lie in rows of the file: those of a matrix
 * and a vector. */
static bool is_column(const together *t, hr_mpi_matrix all)
{
    return t->work.batch.c.cols != all.cols;
}

/* Products are formed one after another. Where a single one makes a column that
 * is several rows of the file, each of them is one. */
static int64_t count_products(const together *t)
{
    const hr_mpi_matrix all = t->p.file_matrix(t->file);
    return is_column(t, all) && t->work.batch.count > 0 ? all.rows
                                                        : t->work.batch.count;
}

/* Rows of a matrix that lie in it. */
static hr_matrix rows_of(hr_matrix m, int64_t row, int64_t rows)
{
    hr_matrix section = m;
    return hr_matrix_section(m, row, 0, rows, m.cols, &section) == HR_OK
               ? section
               : m;
}

/* A, or C0, of product `index`. */
static hr_matrix section_of(const together *t, int64_t index, hr_matrix whole)
{
    const hr_mpi_matrix all = t->p.file_matrix(t->file);
    return is_column(t, all) && t->work.batch.single
               ? rows_of(whole, index * all.cols, all.cols)
               : whole;
}

static hr_matrix factor_a(const together *t, int64_t index)
{
    const cli_batch *x = &t->work.batch;
    return section_of(t, index, cli_batch_factor(&x->a, x->single ? 0 : index));
}

static hr_matrix factor_b(const together *t, int64_t index)
{
    const cli_batch *x = &t->work.batch;
    return cli_batch_factor(&x->b, x->single ? 0 : index);
}

static hr_matrix added(const together *t, int64_t index)
{
    const cli_work *w = &t->work;
    return section_of(t, index,
                      cli_batch_result(&w->batch, &w->files.in[C0].array,
                                       w->batch.single ? 0 : index));
}

/* C of the only product. */
static hr_mpi_matrix result(const together *t)
{
    const hr_mpi_matrix all = t->p.file_matrix(t->file);
    return is_column(t, all) ? t->p.transpose(all) : all;
}

/* The rows of that product which this process writes: *row is where they begin.
 * False: none. */
static bool own_rows(const together *t, int64_t index, hr_matrix *c,
                     int64_t *row)
{
    const hr_mpi_matrix all = t->p.file_matrix(t->file);
    const hr_mpi_block *b = &all.blocks[t->p.rank(t->context)];
    const hr_matrix *one = &t->work.batch.c;
    const bool column = is_column(t, all);
    const int64_t rows = column ? 1 : one->rows; /* of the file */
    const int64_t from = hri_max(b->row, index * rows);
    const int64_t to = hri_min(b->row + b->rows, (index + 1) * rows);
    if (from >= to) {
        return false;
    }
    char *data = (char *)b->data +
                 (size_t)((from - b->row) * all.cols) * hr_type_size(all.type);
    *row = column ? 0 : from - index * rows;
    *c = hr_matrix_row_major(data, all.type, column ? all.cols : to - from,
                             one->cols, 0);
    return true;
}

/* As if all products were one, whose rows go to processes as those of the file
 * will. */
static int plan(together *t)
{
    const cli_work *w = &t->work;
    const cli_product *p = w->product;
    const int count = t->p.count(t->context);
    const int64_t all = w->batch.c.rows * w->batch.count;
    hr_mpi_block a, b;
    hr_mpi_block *rows = calloc((size_t)count, sizeof *rows);
    hr_mpi_gemm_options options = HR_MPI_GEMM_OPTIONS_INIT;
    options.compute = p->compute;
    if (agree(t, rows != NULL ? CLI_OK : cli_fail("out of memory")) != CLI_OK) {
        free(rows);
        return CLI_FAILED;
    }
    for (int rank = 0; rank < count; rank++) {
        const int64_t begin = hri_even(all, count, rank);
        rows[rank] =
            (hr_mpi_block){.row = begin,
                           .rows = hri_even(all, count, rank + 1) - begin,
                           .cols = w->batch.c.cols,
                           .owner = rank,
                           .row_stride = w->batch.c.cols,
                           .col_stride = 1};
    }
    hr_matrix stacked = cli_batch_factor(&w->batch.a, 0);
    stacked.rows = all;
    options.rows = w->batch.count > 1 ? count : 0;
    const hr_status status = t->p.plan(
        t->context, p->alpha, everywhere(t, stacked, &a),
        everywhere(t, cli_batch_factor(&w->batch.b, 0), &b), p->beta,
        t->p.blocks(w->batch.c.type, all, w->batch.c.cols, rows, count),
        &options, &t->report);
    free(rows);
    t->seconds = t->report.seconds;
    return status == HR_OK ? CLI_OK : CLI_FAILED;
}

/* C := C0, each process its rows. */
static int fill(together *t)
{
    cli_work *w = &t->work;
    const cli_product *p = w->product;
    if (p->add == NULL || (p->beta.re == 0.0 && p->beta.im == 0.0)) {
        return CLI_OK;
    }
    for (int64_t i = 0; i < count_products(t); i++) {
        hr_matrix c;
        int64_t row;
        if (own_rows(t, i, &c, &row)) {
            HRI_TRY(cli_copy(rows_of(added(t, i), row, c.rows), c, NULL));
        }
    }
    return CLI_OK;
}

static int multiply_one(together *t)
{
    cli_work *w = &t->work;
    const cli_product *p = w->product;
    hr_mpi_block a, b;
    hr_mpi_gemm_options options = HR_MPI_GEMM_OPTIONS_INIT;
    options.compute = p->compute;
    options.report = &t->report;
    options.progress = cli_progress_told;
    options.progress_data = &w->progress;
    const hr_status status = t->p.gemm(
        t->context, p->alpha, everywhere(t, factor_a(t, 0), &a),
        everywhere(t, factor_b(t, 0), &b), p->beta, result(t), &options);
    t->seconds = t->report.seconds;
    return status == HR_OK ? CLI_OK : CLI_FAILED;
}

/* Of many products, each process forms the rows that it writes: hr_mpi_gemm for
 * each of them takes 45 times as long at 64^3 (docs/experiments.md). */
static int multiply_own(together *t)
{
    cli_work *w = &t->work;
    const cli_product *p = w->product;
    const int64_t count = count_products(t);
    hr_gemm_options options = HR_GEMM_OPTIONS_INIT;
    options.compute = p->compute;
    t->report.rows = t->p.count(t->context);
    t->report.cols = t->report.depth = 1;
    for (int64_t i = 0; i < count; i++) {
        hr_matrix c;
        int64_t row;
        if (own_rows(t, i, &c, &row) &&
            hr_gemm(w->context, p->alpha, rows_of(factor_a(t, i), row, c.rows),
                    factor_b(t, i), p->beta, c, &options) != HR_OK) {
            return CLI_FAILED;
        }
        cli_progress_update(&w->progress, (double)i, (double)count);
    }
    return CLI_OK;
}

static int multiply_all(together *t)
{
    cli_work *w = &t->work;
    const double start = cli_clock();
    int status = CLI_OK;
    cli_progress_start(&w->progress, w->product->quiet || !t->first,
                       "multiplying", hri_rate_text);
    if (count_products(t) == 1) {
        status = multiply_one(t);
    } else {
        status = agree(t, multiply_own(t));
        t->seconds = cli_clock() - start;
    }
    cli_progress_end(&w->progress);
    return status;
}

/* Each process verifies its rows, with its accelerators. */
static int verify(together *t)
{
    cli_work *w = &t->work;
    const cli_product *p = w->product;
    if (!p->verify) {
        return CLI_OK;
    }
    t->outcome.check = (hr_verify_report)HR_VERIFY_REPORT_INIT;
    for (int64_t i = 0; i < count_products(t); i++) {
        hr_matrix c;
        int64_t row;
        if (own_rows(t, i, &c, &row)) {
            HRI_TRY(cli_called(hr_gemm_verify(
                w->context, p->alpha, rows_of(factor_a(t, i), row, c.rows),
                factor_b(t, i), p->beta,
                p->add != NULL ? rows_of(added(t, i), row, c.rows) : c, c,
                &t->outcome.check)));
        }
    }
    return CLI_OK;
}

static int create(together *t)
{
    cli_signals_phase(CLI_HELD);
    hr_file_array like = t->work.batch.shape;
    const hr_status created =
        t->p.file_create(t->context, t->work.product->output, like, &t->file);
    const char *name = t->p.file_temporary(t->file);
    int status = created == HR_OK ? CLI_OK : CLI_FAILED;
    t->remembered = name != NULL && cli_remember(name);
    if (name != NULL && !t->remembered) {
        status =
            cli_fail("the name of %s is too long", t->work.product->output);
    }
    if (created == HR_OK) {
        const hr_mpi_matrix all = t->p.file_matrix(t->file);
        const hr_mpi_block *b = &all.blocks[t->p.rank(t->context)];
        cli_guard(t->work.product->output, b->data,
                  (size_t)(b->rows * b->cols) * hr_type_size(all.type), true);
    }
    cli_signals_phase(CLI_AT_ONCE); /* mpirun does not wait for long */
    status = status == CLI_OK ? cli_check_cancelled() : status;
    return created == HR_OK ? agree(t, status) : status;
}

static int check_inputs(const together *t)
{
    for (int i = 0; i < CLI_MAX_INPUTS; i++) {
        const hr_file *input = t->work.files.in[i].file;
        if (input != NULL) {
            HRI_TRY(cli_called(hr_file_unchanged(input)));
        }
    }
    return CLI_OK;
}

static int commit(together *t)
{
    const int status = agree(t, check_inputs(t));
    cli_signals_phase(CLI_COMMITTING);
    HRI_TRY(status);
    return t->p.file_commit(t->file) == HR_OK ? CLI_OK : CLI_FAILED;
}

static int run_together(together *t)
{
    const cli_product *p = t->work.product;
    t->report = (hr_mpi_gemm_report)HR_MPI_GEMM_REPORT_INIT;
    HRI_TRY(agree(t, cli_work_open(&t->work, &t->outcome)));
    HRI_TRY(agree(t, cli_work_open_c0(&t->work)));
    if (p->dry_run) {
        return plan(t);
    }
    HRI_TRY(create(t));
    HRI_TRY(agree(t, fill(t)));
    HRI_TRY(multiply_all(t));
    HRI_TRY(agree(t, verify(t)));
    return commit(t);
}

/* ---- reports */

static double flops(const together *t)
{
    const cli_outcome *o = &t->outcome;
    return hri_product_flops(o->c_type, o->m, o->n, o->k) *
           (double)t->work.batch.count;
}

static double rate(const together *t)
{
    return t->seconds > 0.0 ? flops(t) / t->seconds : 0.0;
}

static int print_table(const together *t)
{
    const cli_product *p = t->work.product;
    const hr_mpi_gemm_report *r = &t->report;
    cli_report_head(p, &t->outcome);
    printf("%-11s %s", "time", hri_seconds_text(t->seconds).text);
    if (p->dry_run) {
        printf(" (predicted; nothing was done)\n");
    } else {
        printf(" (%s with its files)\n",
               hri_seconds_text(t->outcome.seconds).text);
    }
    printf("%-11s %s\n", "rate", hri_rate_text(rate(t)).text);
    printf("%-11s %d, of which %d x %d x %d multiply (rows, columns, depth)\n",
           "processes", t->p.count(t->context), r->rows, r->cols, r->depth);
    printf("%-11s %s in %" PRIu64 " messages; at least %s\n", "sent",
           hri_bytes_text(r->sent).text, r->messages,
           hri_bytes_text(r->bound).text);
    if (p->verify) {
        printf("%-11s yes: by each process the rows that it wrote\n",
               "verified");
    }
    return CLI_OK;
}

static int print_json(const together *t)
{
    const hr_mpi_gemm_report *r = &t->report;
    const cli_outcome *o = &t->outcome;
    cli_json json = {.out = stdout};
    cli_json_begin(&json, NULL, '{');
    cli_json_bool(&json, "dry_run", t->work.product->dry_run);
    cli_json_count(&json, "m", (uint64_t)o->m);
    cli_json_count(&json, "n", (uint64_t)o->n);
    cli_json_count(&json, "k", (uint64_t)o->k);
    cli_json_count(&json, "products", (uint64_t)t->work.batch.count);
    cli_json_number(&json, "seconds", t->seconds);
    cli_json_number(&json, "flops", flops(t));
    cli_json_begin(&json, "processes", '{');
    cli_json_count(&json, "count", (uint64_t)t->p.count(t->context));
    cli_json_count(&json, "rows", (uint64_t)r->rows);
    cli_json_count(&json, "cols", (uint64_t)r->cols);
    cli_json_count(&json, "depth", (uint64_t)r->depth);
    cli_json_end(&json, '}');
    cli_json_begin(&json, "bytes", '{');
    cli_json_count(&json, "sent", r->sent);
    cli_json_count(&json, "bound", r->bound);
    cli_json_end(&json, '}');
    cli_json_count(&json, "messages", r->messages);
    cli_json_line(&json);
    return CLI_OK;
}

/* ---- all */

static int open_together(together *t, const cli_machine *machine)
{
    const hr_mpi_cluster *model = t->work.product->cluster;
    HRI_TRY(cli_processes_open(&t->p));
    HRI_TRY(model != NULL ? cli_called(t->p.create_model(model, &t->context))
                          : cli_processes_create(&t->p, machine, &t->context));
    t->first = t->p.rank(t->context) == 0;
    t->work.context = t->p.local(t->context);
    cli_loop_threads(hr_thread_count(t->work.context));
    return CLI_OK;
}

/* Whether a file is one that all processes can open. */
static int check_files(const cli_command *command, const cli_machine *machine,
                       const cli_product *p)
{
    const char *const paths[] = {p->a, p->b, p->add, p->output};
    for (int i = 0; i < 4; i++) {
        if (cli_reads_standard(paths[i])) {
            return cli_wrong(command, "-: several processes cannot share "
                                      "standard input and output");
        }
    }
    return machine->trace == NULL
               ? CLI_OK
               : cli_wrong(command, "--trace: several processes cannot write "
                                    "one timeline");
}

int cli_multiply_together(const cli_command *command,
                          const cli_machine *machine,
                          const cli_product *product, bool json)
{
    together t = {.work = {.product = product}};
    const double start = cli_clock();
    HRI_TRY(check_files(command, machine, product));
    cli_fail_silently(false); /* it may fail here alone */
    int status = open_together(&t, machine);
    if (status != CLI_OK) {
        if (t.context != NULL) {
            t.p.destroy(t.context);
        }
        return status;
    }
    cli_fail_silently(true); /* until all know which process failed first */
    cli_signals_phase(CLI_AT_ONCE);
    status = run_together(&t);
    t.outcome.seconds = cli_clock() - start;
    cli_signals_phase(CLI_HELD); /* launchers end the others when one failed */
    cli_fail_silently(!t.first);
    if (status != CLI_OK) {
        status = cli_failed_call();
    } else if (t.first) {
        status = json             ? print_json(&t)
                 : product->quiet ? CLI_OK
                                  : print_table(&t);
    }
    const char *name = t.p.file_temporary(t.file);
    if (name != NULL) { /* not committed; the context may end the program */
        (void)unlink(name);
    }
    t.p.destroy(t.context); /* accelerators may still use the files */
    t.p.file_close(t.file);
    if (t.remembered) {
        cli_forget();
    }
    cli_files_close(&t.work.files);
    cli_batch_free(&t.work.batch);
    return status;
}
