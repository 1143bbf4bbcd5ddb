/* SPDX-License-Identifier: MIT */
/* headrace bench filter: the weighted average of a window's radial weights, by
 * each method and by the one that the library chooses, on one accelerator of a
 * list, on all of them from one thread, and with a thread for each; all in
 * turns; then with the picture on the accelerators already. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"
#include "console/context.h"
#include "console/filter_check.h"
#include "console/json.h"
#include "console/random.h"
#include "console/signals.h"
#include "console/text.h"

typedef enum form { ONE, FROM_ONE_THREAD, THREAD_EACH, THERE, FORMS } form;

/* Published for a picture of 2000 x 2000 and a reach of 60, on one GPU, and on
 * two [C++ AMP, multiple accelerators]. */
static const struct {
    const char *name;
    double published; /* seconds */
} forms[FORMS] = {{"one", 1.19891},
                  {"all, one thread", 0.65204},
                  {"all, a thread each", 0.64992},
                  {"all, data there", 0.0}};

/* In this order, so that the others have the direct one beside them. */
static const hr_filter_method methods[] = {
    HR_FILTER_DIRECT, HR_FILTER_SEPARABLE, HR_FILTER_FFT, HR_FILTER_AUTO};
enum { METHODS = sizeof methods / sizeof methods[0] };

typedef struct row {
    bool absent;             /* there is no such method */
    bool done;               /* all runs, and the result is right */
    hr_filter_report report; /* of the last run */
    double first, best;      /* seconds */
    double error;
} row;

typedef struct contest {
    benchmark *bench;
    const bench_setting *setting;
    hr_context *context;
    cli_filtered filtered;
    hr_array *arrays[2]; /* over in and out; for THERE */
    row rows[METHODS][FORMS];
    cli_table table;
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

/* How much faster than the direct one in the same form. */
static double over_direct(const contest *c, form how, const row *r)
{
    return c->rows[0][how].best / r->best;
}

static void write_json(const contest *c, int method, form how)
{
    const row *r = &c->rows[method][how];
    cli_json json = bench_json_begin("filter");
    cli_json_text(&json, "name", c->setting->name);
    bench_setting_json(&json, c->setting);
    cli_json_text(&json, "form", forms[how].name);
    cli_json_text(&json, "wanted", hr_filter_method_name(methods[method]));
    cli_json_text(&json, "method", hr_filter_method_name(r->report.method));
    cli_json_text(&json, "type", hr_type_name(c->filtered.in.type));
    cli_json_count(&json, "rows", (uint64_t)c->filtered.in.rows);
    cli_json_count(&json, "cols", (uint64_t)c->filtered.in.cols);
    cli_json_count(&json, "reach",
                   (uint64_t)hr_window_reach(c->filtered.window));
    cli_json_count(&json, "rank", (uint64_t)r->report.rank);
    cli_json_count(&json, "used", r->report.accelerators);
    cli_json_count(&json, "pieces", (uint64_t)r->report.pieces);
    cli_json_number(&json, "first_seconds", r->first);
    cli_json_number(&json, "min_seconds", r->best);
    cli_json_number(&json, "predicted_seconds", r->report.predicted);
    cli_json_number(&json, "gflops", 2e-9 * r->report.products / r->best);
    cli_json_text(&json, "bound", hr_bound_name(r->report.bound));
    cli_json_count(&json, "host_to_device", r->report.host_to_device);
    cli_json_count(&json, "device_to_host", r->report.device_to_host);
    cli_json_number(&json, "error", r->error);
    cli_json_number(&json, "over_direct", over_direct(c, how, r));
    cli_json_maybe(&json, "published_seconds", published(c, how) > 0.0,
                   published(c, how));
    cli_json_line(&json);
}

static void add_row(contest *c, int method, form how)
{
    const row *r = &c->rows[method][how];
    cli_table *t = &c->table;
    if (t->count == 0) {
        cli_table_head(t, "method|accelerators|used|first|best|plan|rate|speed|"
                          "error|published");
    }
    cli_table_add(t, methods[method] == HR_FILTER_AUTO ? "auto: %s" : "%s",
                  hr_filter_method_name(r->report.method));
    cli_table_add(t, "%s", forms[how].name);
    cli_table_add(t, "%u", r->report.accelerators);
    cli_table_add(t, "%s", cli_seconds_text(r->first).text);
    cli_table_add(t, "%s", cli_seconds_text(r->best).text);
    cli_table_add(t, "%s", cli_seconds_text(r->report.predicted).text);
    cli_table_add(t, "%s",
                  cli_rate_text(2.0 * r->report.products / r->best).text);
    cli_table_add(t, "%.2f", over_direct(c, how, r));
    cli_table_add(t, "%.1e", r->error);
    cli_table_add(t, "%s",
                  published(c, how) > 0.0
                      ? cli_seconds_text(published(c, how)).text
                      : "-");
}

/* One run of one row: the first one, or one of those after it. After the last
 * the result is looked at. */
static int run_turn(contest *c, int method, form how, int64_t turn)
{
    row *r = &c->rows[method][how];
    hr_status status = r->absent ? HR_OK : run_once(c, methods[method], how, r);
    r->absent = r->absent || status == HR_ERROR_UNSUPPORTED;
    if (r->absent) {
        return CLI_OK;
    }
    if (status != HR_OK) {
        return cli_failed_call();
    }
    bench_note(turn, fmax(r->report.seconds, 1e-9), &r->first, &r->best);
    if (turn == c->bench->o.repeat && how == THERE &&
        hr_synchronize(hr_view_of(c->arrays[1])) != HR_OK) {
        return cli_failed_call();
    }
    if (turn == c->bench->o.repeat) {
        const cli_filter_error e = cli_filter_check(&c->filtered, &r->report);
        r->error = e.error;
        if (e.row >= 0) {
            return cli_filter_wrong(&e, &r->report);
        }
        r->done = true;
    }
    return CLI_OK;
}

/* Forms [first, end), in turns. */
static int run_forms(contest *c, int first, int end)
{
    int status = CLI_OK;
    for (int64_t turn = 0; turn <= c->bench->o.repeat; turn++) {
        for (int m = 0; m < METHODS; m++) {
            for (int f = first; f < end && status == CLI_OK; f++) {
                status = run_turn(c, m, (form)f, turn);
            }
        }
    }
    return status;
}

static hr_status wrap(contest *c, const hr_matrix *m, hr_array **array)
{
    return hr_array_wrap(c->context, m->data, hr_type_size(m->type),
                         hr_extent2(m->rows, m->cols), 0, array);
}

/* Where all work in place, the data is there in any case. */
static bool is_in_place(const hr_context *context)
{
    bool all = true;
    for (uint32_t i = 0; i < hr_accelerator_count(context); i++) {
        hr_accelerator_info info = HR_ACCELERATOR_INFO_INIT;
        all = all && hr_accelerator_describe(context, i, &info) == HR_OK &&
              info.in_place;
    }
    return all;
}

static int run_there(contest *c)
{
    int status = CLI_OK;
    if (wrap(c, &c->filtered.in, &c->arrays[0]) != HR_OK ||
        wrap(c, &c->filtered.out, &c->arrays[1]) != HR_OK) {
        status = cli_failed_call();
    } else {
        status = run_forms(c, THERE, THERE + 1);
    }
    hr_array_destroy(c->arrays[0]);
    hr_array_destroy(c->arrays[1]);
    c->arrays[0] = c->arrays[1] = NULL;
    return status;
}

static int run_all(contest *c)
{
    memset(c->rows, 0, sizeof c->rows);
    int status = run_forms(
        c, ONE, hr_accelerator_count(c->context) > 1 ? THERE : ONE + 1);
    return status == CLI_OK && !is_in_place(c->context) ? run_there(c) : status;
}

/* Rows that are done: all of them, unless the list has failed. */
static int print_rows(contest *c)
{
    c->table = (cli_table){.align = "llrrrrrrrr"};
    for (int i = 0; i < METHODS * FORMS; i++) {
        const int method = i / FORMS, how = i % FORMS;
        if (c->rows[method][how].done && c->bench->o.json) {
            write_json(c, method, (form)how);
        } else if (c->rows[method][how].done) {
            add_row(c, method, (form)how);
        }
    }
    return cli_table_print(&c->table);
}

static int measure_list(contest *c)
{
    int status = bench_context(c->setting, &c->context);
    if (status != CLI_OK) {
        return status;
    }
    const long long n = 2 * (long long)hr_window_reach(c->filtered.window) + 1;
    if (!c->bench->o.json) {
        printf("%s, %s: %s, %lldx%lld, window %lldx%lld\n", c->setting->name,
               c->setting->device, hr_type_name(c->filtered.in.type),
               (long long)c->filtered.in.rows, (long long)c->filtered.in.cols,
               n, n);
    }
    status = run_all(c);
    const int printed = print_rows(c);
    hr_context_destroy(c->context);
    return status == CLI_OK ? printed : status;
}

/* Numbers in [0, 1], as a picture has. */
static bool fill(hr_matrix m)
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

/* A list that fails is no reason to give up the others. */
static int measure_picture(benchmark *bench, hr_window *window, hr_type type,
                           int64_t rows, int64_t cols)
{
    const size_t bytes = (size_t)rows * (size_t)cols * hr_type_size(type);
    const double n = 2.0 * (double)hr_window_reach(window) + 1.0;
    void *in = malloc(bytes), *out = calloc(1, bytes);
    int status = in != NULL && out != NULL ? CLI_OK : cli_fail("out of memory");
    contest c = {
        .bench = bench,
        .filtered = {.window = window,
                     .scale = 1.0 / (n * n),
                     .in = hr_matrix_row_major(in, type, rows, cols, 0),
                     .out = hr_matrix_row_major(out, type, rows, cols, 0)}};
    if (status == CLI_OK && !fill(c.filtered.in)) {
        status = cli_fail("cancelled");
    }
    for (int i = 0; i < bench->setting_count && status == CLI_OK; i++) {
        c.setting = &bench->settings[i];
        if (measure_list(&c) != CLI_OK) {
            bench->failed = true;
        }
        status = cli_cancelled() ? CLI_FAILED : cli_flush();
    }
    free(in);
    free(out);
    return status;
}

/* Where no window lies inside a picture there is nothing to measure. */
static int check_sizes(const benchmark *bench, int64_t reach)
{
    const int64_t n = 2 * reach + 1;
    for (int p = 0; p < bench->problems.count; p++) {
        const int64_t *extents = bench->problems.list[p].extents;
        if (extents[0] < n || extents[2] < n) {
            return cli_wrong(&bench_command,
                             "a picture of %lldx%lld holds no window of "
                             "%lldx%lld",
                             (long long)extents[0], (long long)extents[2],
                             (long long)n, (long long)n);
        }
    }
    return CLI_OK;
}

int bench_filter(benchmark *bench)
{
    hr_window *window = NULL;
    const int64_t reach = bench->o.reach.given ? bench->o.reach.value : 60;
    int status = check_sizes(bench, reach);
    if (status != CLI_OK) {
        return status;
    }
    if (hr_window_radial(reach, &window) != HR_OK) {
        return cli_failed_call();
    }
    for (int p = 0; p < bench->problems.count; p++) {
        const int64_t *extents = bench->problems.list[p].extents;
        for (int t = 0; t < bench->o.numbers.count && status == CLI_OK; t++) {
            status =
                measure_picture(bench, window, bench->o.numbers.list[t].type,
                                extents[0], extents[2]);
        }
    }
    hr_window_destroy(window);
    return status;
}
