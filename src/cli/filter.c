/* SPDX-License-Identifier: MIT */
/* headrace filter: weighted sums over windows, from a file into a file. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "commands.h"
#include "console/context.h"
#include "console/filter_check.h"
#include "console/json.h"
#include "console/output.h"
#include "console/signals.h"
#include "console/text.h"
#include "console/values.h"
#include "filter_values.h"

typedef struct options {
    const char *input, *output, *weights, *accelerators;
    cli_reach reach;
    cli_number_wish sigma, scale, constant, tolerance;
    hr_edges edges;
    hr_filter_method method;
    uint64_t memory_limit;
    bool verify, json, quiet;
} options;

#define FIELD(name) offsetof(options, name)

static const cli_option table[] = {
    {"-o", "OUT.npy", &cli_file, FIELD(output),
     "the file to write; it appears when complete"},
    {"--window", "S", &cli_window, FIELD(reach),
     "how far windows reach: they are 2S + 1 rows high and wide"},
    {"--weights", "NAME|FILE.npy", &cli_file, FIELD(weights),
     "radial, box, gaussian, or a square matrix (radial)"},
    {"--sigma", "X", &cli_finite, FIELD(sigma), "of gaussian weights (S / 3)"},
    {"--scale", "X", &cli_finite, FIELD(scale),
     "the factor of sums (radial and box 1 / (2S + 1)^2,\n"
     "gaussian 1 / the sum of weights, a file's 1)"},
    {"--edges", "KIND", &cli_edges, FIELD(edges),
     "what lies beyond: left (a border of S rows and columns\n"
     "stays as it is), clamped, mirrored, periodic or\n"
     "constant (left)"},
    {"--constant", "X", &cli_finite, FIELD(constant),
     "what --edges constant finds there (0)"},
    {"--method", "METHOD", &cli_filter_method, FIELD(method),
     "direct, separable, fft, or whichever is the fastest (auto)"},
    {"--tolerance", "X", &cli_finite, FIELD(tolerance),
     "of sums of separable filters, over the sum of all\n"
     "weights; for --method separable or auto (f32 1e-6,\n"
     "f64 1e-14)"},
    {"--accelerators", "LIST", &cli_list, FIELD(accelerators),
     "such as host,opencl:0:0 or 4xhost\n"
     "(HEADRACE_ACCELERATORS, else all that are not emulated)"},
    {"--memory-limit", "SIZE", &cli_bytes, FIELD(memory_limit),
     "for each accelerator, such as 512MiB\n"
     "(HEADRACE_MEMORY_LIMIT, else what is free)"},
    {"--verify", NULL, &cli_flag, FIELD(verify),
     "compare elements with sums in double before OUT.npy\n"
     "appears"},
    {"--json", NULL, &cli_flag, FIELD(json),
     "print one JSON object instead of a table"},
    {"--quiet", NULL, &cli_flag, FIELD(quiet), "print nothing"},
    {NULL, NULL, NULL, 0, NULL},
};

/* What a run made. */
typedef struct outcome {
    hr_filter_report report;
    cli_filter_error check;
    int64_t rows, cols, reach;
    hr_type type;
    double seconds; /* with the files */
} outcome;

typedef struct work {
    const options *o;
    hr_context *context;
    hr_npy *file;
    cli_output output;
    cli_filtered filtered;
} work;

/* ---- reports */

/* Nothing is wrong; and there was something that could have been. */
static bool is_verified(const cli_filter_error *e)
{
    return e->compared > 0 || e->samples == 0;
}

static void print_check(const cli_filter_error *e)
{
    printf("%-11s %s, on %" PRId64, "verified", is_verified(e) ? "yes" : "no",
           e->compared);
    if (e->compared < e->samples) {
        printf(" of %" PRId64, e->samples);
    }
    printf(" elements%s: error %.1e\n",
           e->compared < e->samples ? ", others are not finite" : "", e->error);
}

static int report_json(const options *o, const outcome *x)
{
    const hr_filter_report *r = &x->report;
    cli_json json = {.out = stdout};
    cli_json_begin(&json, NULL, '{');
    cli_json_text(&json, "type", hr_type_name(x->type));
    cli_json_count(&json, "rows", (uint64_t)x->rows);
    cli_json_count(&json, "cols", (uint64_t)x->cols);
    cli_json_count(&json, "reach", (uint64_t)x->reach);
    cli_json_text(&json, "edges", hr_edges_name(o->edges));
    cli_json_text(&json, "method", hr_filter_method_name(r->method));
    cli_json_count(&json, "rank", (uint64_t)r->rank);
    cli_json_number(&json, "window_error", r->window_error);
    cli_json_number(&json, "seconds", r->seconds);
    cli_json_number(&json, "predicted_seconds", r->predicted);
    cli_json_number(&json, "products", r->products);
    cli_json_text(&json, "bound", hr_bound_name(r->bound));
    cli_json_begin(&json, "bytes", '{');
    cli_json_count(&json, "host_to_device", r->host_to_device);
    cli_json_count(&json, "device_to_host", r->device_to_host);
    cli_json_end(&json, '}');
    cli_json_count(&json, "accelerators", r->accelerators);
    cli_json_count(&json, "pieces", (uint64_t)r->pieces);
    if (o->verify) {
        cli_json_bool(&json, "verified", is_verified(&x->check));
        cli_json_count(&json, "compared", (uint64_t)x->check.compared);
        cli_json_number(&json, "error", x->check.error);
    } else {
        cli_json_null(&json, "verified");
    }
    cli_json_end(&json, '}');
    printf("\n");
    return cli_flush();
}

static int report_table(const options *o, const outcome *x)
{
    const hr_filter_report *r = &x->report;
    printf("%s = %s of %s\n", o->output,
           o->weights != NULL ? o->weights : "radial", o->input);
    printf("%-11s %" PRId64 "x%" PRId64 " of %s, windows of %" PRId64
           "x%" PRId64 ", edges %s\n",
           "shape", x->rows, x->cols, hr_type_name(x->type), 2 * x->reach + 1,
           2 * x->reach + 1, hr_edges_name(o->edges));
    printf("%-11s %s", "method", hr_filter_method_name(r->method));
    if (r->rank > 0) {
        printf(", rank %" PRId64 ", %.1e of the weights left out", r->rank,
               r->window_error);
    }
    printf("\n%-11s %s (%s with its files; %s were expected)\n", "time",
           cli_seconds_text(r->seconds).text, cli_seconds_text(x->seconds).text,
           cli_seconds_text(r->predicted).text);
    printf(
        "%-11s %s, bound by %s\n", "rate",
        cli_rate_text(r->seconds > 0.0 ? 2.0 * r->products / r->seconds : 0.0)
            .text,
        hr_bound_name(r->bound));
    printf("%-11s up %s, down %s; %u accelerators\n", "host links",
           cli_bytes_text(r->host_to_device).text,
           cli_bytes_text(r->device_to_host).text, r->accelerators);
    if (o->verify) {
        print_check(&x->check);
    }
    return cli_flush();
}

/* ---- work */

static hr_filter_options filter_options(const work *w, outcome *x)
{
    const options *o = w->o;
    return (hr_filter_options){.size = sizeof(hr_filter_options),
                               .edges = o->edges,
                               .constant = o->constant.value,
                               .method = o->method,
                               .tolerance = o->tolerance.value,
                               .report = &x->report};
}

/* The plan finds all that is wrong before a byte is written; that nothing would
 * change is surely not what was meant. */
static int filter_into(work *w, outcome *x)
{
    cli_filtered *f = &w->filtered;
    const long long n = 2 * (long long)hr_window_reach(f->window) + 1;
    if (f->edges == HR_EDGES_LEFT && f->in.rows > 0 && f->in.cols > 0 &&
        (f->in.rows < n || f->in.cols < n)) {
        return cli_wrong(&cli_filter,
                         "a picture of %" PRId64 "x%" PRId64
                         " holds no window of %lldx%lld; there are other "
                         "--edges than left",
                         f->in.rows, f->in.cols, n, n);
    }
    const hr_filter_options wish = filter_options(w, x);
    hr_matrix none =
        hr_matrix_row_major(NULL, f->in.type, f->in.rows, f->in.cols, 0);
    if (hr_filter_plan(w->context, f->window, f->scale, f->in, none, &wish,
                       &x->report) != HR_OK) {
        return cli_failed_call();
    }
    int status = cli_output_create(&w->output, w->o->output, f->in.type,
                                   f->in.rows, f->in.cols, HR_ROW_MAJOR);
    if (status != CLI_OK) {
        return status;
    }
    f->out = w->output.matrix;
    if (f->edges == HR_EDGES_LEFT && !cli_copy(f->in, f->out, NULL)) {
        return cli_fail_cancelled();
    }
    cli_signals_phase(CLI_AT_ONCE); /* it cannot be asked to stop */
    if (cli_cancelled()) {
        return cli_fail_cancelled();
    }
    return hr_filter(w->context, f->window, f->scale, f->in, f->out, &wish) ==
                   HR_OK
               ? CLI_OK
               : cli_failed_call();
}

static int verify(const work *w, outcome *x)
{
    if (!w->o->verify) {
        return CLI_OK;
    }
    x->check = cli_filter_check(&w->filtered, &x->report);
    return x->check.row < 0 ? CLI_OK : cli_filter_wrong(&x->check, &x->report);
}

static int run_work(work *w, outcome *x)
{
    const double start = cli_clock();
    int status = cli_input_open(w->o->input, &w->file, &w->filtered.in);
    status = status == CLI_OK ? filter_into(w, x) : status;
    status = status == CLI_OK ? verify(w, x) : status;
    if (status == CLI_OK && hr_npy_unchanged(w->file) != HR_OK) {
        status = cli_failed_call();
    }
    status = status == CLI_OK ? cli_output_commit(&w->output) : status;
    x->rows = w->filtered.in.rows;
    x->cols = w->filtered.in.cols;
    x->type = w->filtered.in.type;
    x->reach = hr_window_reach(w->filtered.window);
    cli_unguard();
    cli_output_close(&w->output);
    hr_npy_close(w->file);
    x->seconds = cli_clock() - start;
    return status;
}

/* ---- the command */

static int check(const options *o)
{
    const bool has_file = o->weights != NULL && !cli_window_made(o->weights);
    const char *const inputs[] = {o->input, has_file ? o->weights : NULL};
    if (o->output == NULL) {
        return cli_wrong(&cli_filter, "-o is missing");
    }
    if (o->constant.given && o->edges != HR_EDGES_CONSTANT) {
        return cli_wrong(&cli_filter, "--constant needs --edges constant");
    }
    if (o->tolerance.given && o->tolerance.value <= 0.0) {
        return cli_wrong(&cli_filter, "--tolerance: it must be above 0");
    }
    if (o->tolerance.given && o->method != HR_FILTER_AUTO &&
        o->method != HR_FILTER_SEPARABLE) {
        return cli_wrong(&cli_filter,
                         "--tolerance needs --method separable or auto");
    }
    return cli_output_check(&cli_filter, o->output, inputs, 2);
}

static int run(int argc, char **argv)
{
    options o;
    memset(&o, 0, sizeof o);
    int status = cli_parse(&cli_filter, argc, argv, &o, &o.input);
    status = status == CLI_OK ? check(&o) : status;
    work w = {.o = &o,
              .filtered = {.edges = o.edges, .constant = o.constant.value}};
    outcome x = {.report = HR_FILTER_REPORT_INIT};
    hr_window *window = NULL;
    if (status == CLI_OK) {
        status = cli_window_create(
            &cli_filter, o.weights != NULL ? o.weights : "radial", o.reach,
            o.sigma, &window, &w.filtered.scale);
    }
    if (status == CLI_OK) {
        w.filtered.window = window;
        w.filtered.scale = o.scale.given ? o.scale.value : w.filtered.scale;
        status = cli_context(&cli_filter, o.accelerators, o.memory_limit,
                             &w.context);
    }
    status = status == CLI_OK ? run_work(&w, &x) : status;
    if (status == CLI_OK && !o.quiet) {
        status = o.json ? report_json(&o, &x) : report_table(&o, &x);
    }
    hr_context_destroy(w.context);
    hr_window_destroy(window);
    return status;
}

const cli_command cli_filter = {
    .name = "filter",
    .usage = "IN.npy -o OUT.npy --window S [options]",
    .summary = "weighted sums over windows, from a .npy file into another",
    .details =
        "Makes of each element the sum of those around it, S rows and columns\n"
        "each way, times the weights of a window, over every accelerator "
        "chosen,\n"
        "in bands of rows: product by product, as a sum of separable filters "
        "of\n"
        "the window's numerical rank, or by Fourier transforms. Matrices are "
        "of\n"
        "f32 or f64.",
    .examples =
        "  headrace filter IN.npy -o OUT.npy --window 60\n"
        "  headrace filter IN.npy -o OUT.npy --window 9 --weights gaussian \\\n"
        "      --sigma 2.5 --edges mirrored --verify\n"
        "  headrace filter IN.npy -o OUT.npy --weights W.npy --method direct\n",
    .options = table,
    .operands = 1,
    .operand_names = "1 file, IN.npy",
    .run = run,
};
