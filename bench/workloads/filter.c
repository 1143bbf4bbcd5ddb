/* SPDX-License-Identifier: MIT */
/* headrace bench filter: the weighted average of a window's radial weights. It
 * is measured by each method and by the one that the library chooses: on one
 * accelerator of a list, on all of them from one thread, and on all with a
 * thread for each, by turns. Then the same with the picture on the accelerators
 * already. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "bench/bench.h"
#include "console/context.h"
#include "console/filter_check.h"
#include "console/random.h"
#include "console/signals.h"

typedef enum form { ONE, FROM_ONE_THREAD, THREAD_EACH, THERE, FORMS } form;

/* Times published for a picture of 2000 x 2000 and a reach of 60, on one GPU
 * and on two [C++ AMP, multiple accelerators]. */
static const struct {
    const char *name;
    double published; /* seconds */
} forms[FORMS] = {{"one", 1.19891},
                  {"all, one thread", 0.65204},
                  {"all, a thread each", 0.64992},
                  {"all, data there", 0.0}};

/* The direct method comes first, so that the others can be compared with it. */
static const hr_filter_method methods[] = {
    HR_FILTER_DIRECT, HR_FILTER_SEPARABLE, HR_FILTER_FFT, HR_FILTER_AUTO};
enum { METHODS = sizeof methods / sizeof methods[0] };

typedef struct row {
    bool absent;             /* the method does not exist here */
    bool done;               /* all runs are done, and the result is right */
    hr_filter_report report; /* of the last run */
    double first, best;      /* seconds */
    double error;
} row;

typedef struct contest {
    benchmark *bench;
    const bench_setting *setting;
    hr_context *context;
    cli_filtered filtered;
    hr_array *arrays[2]; /* over in and out; for form THERE */
    row rows[METHODS][FORMS];
} contest;

static hr_status run_once(contest *c, hr_filter_method method, form how, row *r)
{
    static const uint32_t first = 0;
    hr_filter_options options = HR_FILTER_OPTIONS_INIT;
    r->report = (hr_filter_report)HR_FILTER_REPORT_INIT;
    options.method = method;
    options.report = &r->report;
    options.one_thread = how == FROM_ONE_THREAD;
    if (how == ONE) {
        options.accelerators = &first;
        options.accelerator_count = 1;
    }
    const cli_filtered *f = &c->filtered;
    return how == THERE ? hr_filter_views(c->context, f->window, f->scale,
                                          f->in.type, hr_view_of(c->arrays[0]),
                                          hr_view_of(c->arrays[1]), &options)
                        : hr_filter(c->context, f->window, f->scale, f->in,
                                    f->out, &options);
}

static double published(const contest *c, form how)
{
    const hr_matrix *in = &c->filtered.in;
    return in->rows == 2000 && in->cols == 2000 && in->type == HR_F32 &&
                   hr_window_reach(c->filtered.window) == 60
               ? forms[how].published
               : 0.0;
}

/* How much faster than the direct method in the same form. */
static double over_direct(const contest *c, form how, const row *r)
{
    return c->rows[0][how].best / r->best;
}

static void add_row(const contest *c, int method, form how)
{
    bench_rows *rows = &c->bench->rows;
    const row *r = &c->rows[method][how];
    const hr_filter_report *report = &r->report;
    const char *name = hr_filter_method_name(report->method);
    const hr_matrix *in = &c->filtered.in;
    const double known = published(c, how);
    char cell[32];
    snprintf(cell, sizeof cell,
             methods[method] == HR_FILTER_AUTO ? "auto: %s" : "%s", name);
    bench_row_begin(rows, "filter");
    bench_text(rows, "name", NULL, c->setting->name);
    bench_list(rows, c->setting);
    bench_cell(rows, "method", 'l', cell);
    bench_text(rows, "form", "accelerators", forms[how].name);
    bench_text(rows, "wanted", NULL, hr_filter_method_name(methods[method]));
    bench_text(rows, "method", NULL, name);
    bench_text(rows, "type", NULL, hr_type_name(in->type));
    bench_value(rows, "rows", NULL, BENCH_COUNT, (double)in->rows);
    bench_value(rows, "cols", NULL, BENCH_COUNT, (double)in->cols);
    bench_value(rows, "reach", NULL, BENCH_COUNT,
                (double)hr_window_reach(c->filtered.window));
    bench_value(rows, "rank", NULL, BENCH_COUNT, (double)report->rank);
    bench_value(rows, "used", "used", BENCH_COUNT, report->accelerators);
    bench_value(rows, "pieces", NULL, BENCH_COUNT, (double)report->pieces);
    bench_value(rows, "first_seconds", "first", BENCH_SECONDS, r->first);
    bench_value(rows, "min_seconds", "best", BENCH_SECONDS, r->best);
    bench_value(rows, "predicted_seconds", "plan", BENCH_SECONDS,
                report->predicted);
    bench_value(rows, "gflops", "rate", BENCH_GFLOPS,
                2.0 * report->products / r->best);
    bench_text(rows, "bound", NULL, hr_bound_name(report->bound));
    bench_value(rows, "host_to_device", NULL, BENCH_COUNT,
                (double)report->host_to_device);
    bench_value(rows, "device_to_host", NULL, BENCH_COUNT,
                (double)report->device_to_host);
    bench_value(rows, NULL, "speed", BENCH_RATIO, over_direct(c, how, r));
    bench_value(rows, "error", "error", BENCH_ERROR, r->error);
    bench_value(rows, "over_direct", NULL, BENCH_RATIO, over_direct(c, how, r));
    bench_value(rows, "published_seconds", "published", BENCH_SECONDS,
                known > 0.0 ? known : NAN);
    bench_row_end(rows);
}

/* Run one row once. Round 0 is the first run. After the last run the result is
 * checked. */
static int run_row(contest *c, int method, form how, int64_t round)
{
    row *r = &c->rows[method][how];
    if (r->absent) {
        return CLI_OK;
    }
    const hr_status status = run_once(c, methods[method], how, r);
    r->absent = status == HR_ERROR_UNSUPPORTED;
    if (r->absent) {
        return CLI_OK;
    }
    HRI_TRY(cli_called(status));
    bench_note(round, fmax(r->report.seconds, 1e-9), &r->first, &r->best);
    if (round < c->bench->o.repeat) {
        return CLI_OK;
    }
    if (how == THERE) {
        HRI_TRY(cli_called(hr_synchronize(hr_view_of(c->arrays[1]))));
    }
    cli_filter_error e;
    HRI_TRY(cli_filter_check(&c->filtered, &r->report, &e));
    r->error = e.error;
    r->done = true;
    return CLI_OK;
}

/* Run forms [first, end), by turns. */
static int run_forms(contest *c, int first, int end)
{
    for (int64_t round = 0; round <= c->bench->o.repeat; round++) {
        for (int m = 0; m < METHODS; m++) {
            for (int f = first; f < end; f++) {
                HRI_TRY(run_row(c, m, (form)f, round));
            }
        }
    }
    return CLI_OK;
}

static hr_status wrap_matrix(contest *c, const hr_matrix *m, hr_array **array)
{
    return hr_array_wrap(c->context, m->data, hr_type_size(m->type),
                         hr_extent2(m->rows, m->cols), 0, array);
}

/* Where all accelerators work in place, the data is always there. */
static bool is_in_place(const hr_context *context)
{
    for (uint32_t i = 0; i < hr_accelerator_count(context); i++) {
        hr_accelerator_info info = HR_ACCELERATOR_INFO_INIT;
        if (hr_accelerator_describe(context, i, &info) != HR_OK ||
            !info.in_place) {
            return false;
        }
    }
    return true;
}

static int run_all_forms(contest *c)
{
    memset(c->rows, 0, sizeof c->rows);
    HRI_TRY(run_forms(c, ONE,
                      hr_accelerator_count(c->context) > 1 ? THERE : ONE + 1));
    if (is_in_place(c->context)) {
        return CLI_OK;
    }
    HRI_TRY(cli_called(wrap_matrix(c, &c->filtered.in, &c->arrays[0])));
    HRI_TRY(cli_called(wrap_matrix(c, &c->filtered.out, &c->arrays[1])));
    return run_forms(c, THERE, THERE + 1);
}

/* Print the rows, unless the list has failed. */
static int print_rows(contest *c)
{
    for (int i = 0; i < METHODS * FORMS; i++) {
        if (c->rows[i / FORMS][i % FORMS].done) {
            add_row(c, i / FORMS, (form)(i % FORMS));
        }
    }
    return bench_rows_print(&c->bench->rows);
}

static int measure_list(contest *c)
{
    const hr_matrix *in = &c->filtered.in;
    const long long n = 2 * (long long)hr_window_reach(c->filtered.window) + 1;
    HRI_TRY(bench_context(c->setting, &c->context));
    if (!c->bench->o.json) {
        printf("%s, %s: %s, %lldx%lld, window %lldx%lld\n", c->setting->name,
               c->setting->device, hr_type_name(in->type), (long long)in->rows,
               (long long)in->cols, n, n);
    }
    const int status = run_all_forms(c);
    const int printed = print_rows(c);
    hr_array_destroy(c->arrays[0]);
    hr_array_destroy(c->arrays[1]);
    c->arrays[0] = c->arrays[1] = NULL;
    hr_context_destroy(c->context);
    return status == CLI_OK ? printed : status;
}

/* Numbers in [0, 1], as a picture has. */
static bool fill_picture(hr_matrix m)
{
    if (!cli_random_fill(m, 1, NULL)) {
        return false;
    }
    for (int64_t i = 0; i < m.rows * m.cols; i++) {
        if (m.type == HR_F32) {
            ((float *)m.data)[i] = fabsf(((float *)m.data)[i]);
        } else {
            ((double *)m.data)[i] = fabs(((double *)m.data)[i]);
        }
    }
    return true;
}

/* Measure all lists. If one fails, the others are still measured. */
static int measure_lists(contest *c)
{
    if (!fill_picture(c->filtered.in)) {
        return cli_fail("cancelled");
    }
    for (int i = 0; i < c->bench->setting_count; i++) {
        c->setting = &c->bench->settings[i];
        if (measure_list(c) != CLI_OK) {
            c->bench->failed = true;
        }
        HRI_TRY(cli_cancelled() ? CLI_FAILED : cli_flush());
    }
    return CLI_OK;
}

static int measure_picture(benchmark *bench, hr_window *window, hr_type type,
                           int64_t rows, int64_t cols)
{
    const size_t bytes = (size_t)rows * (size_t)cols * hr_type_size(type);
    const double n = 2.0 * (double)hr_window_reach(window) + 1.0;
    void *in = malloc(bytes), *out = calloc(1, bytes);
    contest c = {
        .bench = bench,
        .filtered = {.window = window,
                     .scale = 1.0 / (n * n),
                     .in = hr_matrix_row_major(in, type, rows, cols, 0),
                     .out = hr_matrix_row_major(out, type, rows, cols, 0)}};
    const int status = in != NULL && out != NULL ? measure_lists(&c)
                                                 : cli_fail("out of memory");
    free(in);
    free(out);
    return status;
}

/* Check that a window fits into a picture. Otherwise there is nothing to
 * measure. */
static int check_sizes(const benchmark *bench, int64_t reach)
{
    const int64_t n = 2 * reach + 1;
    for (int p = 0; p < bench->problems.count; p++) {
        const int64_t *extents = bench->problems.list[p].extents;
        if (extents[0] < n || extents[2] < n) {
            return cli_wrong(
                &bench_command,
                "a picture of %lldx%lld is too small for a window of %lldx%lld",
                (long long)extents[0], (long long)extents[2], (long long)n,
                (long long)n);
        }
    }
    return CLI_OK;
}

static int measure_pictures(benchmark *bench, hr_window *window)
{
    for (int p = 0; p < bench->problems.count; p++) {
        const int64_t *extents = bench->problems.list[p].extents;
        for (int t = 0; t < bench->o.numbers.count; t++) {
            HRI_TRY(measure_picture(bench, window,
                                    bench->o.numbers.list[t].type, extents[0],
                                    extents[2]));
        }
    }
    return CLI_OK;
}

int bench_filter(benchmark *bench)
{
    hr_window *window = NULL;
    const int64_t reach = bench->o.reach >= 0 ? bench->o.reach : 60;
    HRI_TRY(check_sizes(bench, reach));
    HRI_TRY(cli_called(hr_window_radial(reach, &window)));
    const int status = measure_pictures(bench, window);
    hr_window_destroy(window);
    return status;
}
