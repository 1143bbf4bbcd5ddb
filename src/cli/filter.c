/* SPDX-License-Identifier: MIT */
/* headrace filter: weighted sums over windows, from a file to a file. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "console/context.h"
#include "console/filter_check.h"
#include "console/json.h"
#include "console/loop.h"
#include "console/output.h"
#include "console/signals.h"
#include "console/standard.h"
#include "console/text.h"
#include "console/values.h"

typedef struct options {
    const char *input, *output, *weights;
    int64_t reach; /* of the window; negative: not given */
    cli_scalar sigma, scale, constant, tolerance;
    hr_edges edges;
    hr_filter_method method;
    cli_machine machine;
    cli_shapes shape; /* of IN without a header */
    hr_type type;
    bool verify, json, quiet;
} options;

#define EDGES   "left clamped mirrored periodic constant"
#define METHODS "auto direct separable fft"

static const cli_kind edges_kind = {
    .wants = "one of " EDGES, .names = EDGES, .first = HR_EDGES_LEFT};
static const cli_kind method_kind = {
    .wants = "one of " METHODS, .names = METHODS, .first = HR_FILTER_AUTO};

#define FIELD(name) offsetof(options, name)

static const cli_option table[] = {
    {"-o", "OUT.npy", &cli_file, FIELD(output),
     "the file to write, whole or not at all; -: standard\n"
     "output; OUT.raw, OUT.bin, -.raw: without a header"},
    {"--shape", "RxC", &cli_raw_shape, FIELD(shape),
     "rows and columns of IN, if it has no header"},
    {"--type", "f32|f64", &cli_type, FIELD(type),
     "type of IN, if it has no header"},
    {"--window", "S", &cli_window, FIELD(reach),
     "how far windows reach; they have 2S + 1 rows and\n"
     "columns"},
    {"--weights", "NAME|FILE.npy", &cli_file, FIELD(weights),
     "radial, box, gaussian, or a square matrix (radial)"},
    {"--sigma", "X", &cli_finite, FIELD(sigma),
     "sigma of gaussian weights (S / 3)"},
    {"--scale", "X", &cli_finite, FIELD(scale),
     "the factor of sums (radial and box 1 / (2S + 1)^2,\n"
     "gaussian 1 / the sum of weights, a file's 1)"},
    {"--edges", "KIND", &edges_kind, FIELD(edges),
     "what lies beyond the edges: clamped, mirrored,\n"
     "periodic or constant; left: nothing, so a border of S\n"
     "rows and columns stays as it is (left)"},
    {"--constant", "X", &cli_finite, FIELD(constant),
     "the value beyond the edges, for --edges constant (0)"},
    {"--method", "METHOD", &method_kind, FIELD(method),
     "direct, separable, fft, or auto, the fastest of them\n"
     "(auto)"},
    {"--tolerance", "X", &cli_finite, FIELD(tolerance),
     "how much of the weights separable filters may leave\n"
     "out, over the sum of all; for --method separable or\n"
     "auto (f32 1e-6, f64 1e-14)"},
    {"--accelerators", "LIST", &cli_list, FIELD(machine.accelerators),
     "use these, such as host,opencl:0:0 or 4xhost\n"
     "(HEADRACE_ACCELERATORS, else all but emulated ones)"},
    {"--memory-limit", "SIZE", &cli_bytes, FIELD(machine.memory_limit),
     "limit of each accelerator, such as 512MiB\n"
     "(HEADRACE_MEMORY_LIMIT, else most of what is free)"},
    {"--threads", "N", &cli_threads, FIELD(machine.threads), CLI_THREADS_HELP},
    {"--trace", "FILE", &cli_file, FIELD(machine.trace), CLI_TRACE_HELP},
    {"--verify", NULL, &cli_flag, FIELD(verify),
     "compare elements with sums in double before OUT.npy\n"
     "appears"},
    {"--json", NULL, &cli_flag, FIELD(json),
     "print one JSON object instead of a table"},
    {"--quiet", NULL, &cli_flag, FIELD(quiet), "print nothing"},
    {NULL, NULL, NULL, 0, NULL},
};

typedef struct work {
    options o;
    hr_context *context;
    hr_window *window;
    cli_files files;
    cli_progress progress;
    cli_filtered filtered;
    hr_filter_report report;
    cli_filter_error check;
    double seconds; /* with the files */
} work;

/* ---- reports */

/* Whether something was verified and nothing is wrong. */
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
    printf(" element%s%s: error %.1e\n", e->samples == 1 ? "" : "s",
           e->compared < e->samples ? ", others are not finite" : "", e->error);
}

static int report_json(const work *w)
{
    const options *o = &w->o;
    const hr_filter_report *r = &w->report;
    const hr_matrix *in = &w->filtered.in;
    cli_json json = {.out = stdout};
    cli_json_begin(&json, NULL, '{');
    cli_json_text(&json, "type", hr_type_name(in->type));
    cli_json_count(&json, "rows", (uint64_t)in->rows);
    cli_json_count(&json, "cols", (uint64_t)in->cols);
    cli_json_count(&json, "reach", (uint64_t)hr_window_reach(w->window));
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
        cli_json_bool(&json, "verified", is_verified(&w->check));
        cli_json_count(&json, "compared", (uint64_t)w->check.compared);
        cli_json_number(&json, "error", w->check.error);
    } else {
        cli_json_null(&json, "verified");
    }
    cli_json_line(&json);
    return cli_flush();
}

static int report_table(const work *w)
{
    const options *o = &w->o;
    const hr_filter_report *r = &w->report;
    const hr_matrix *in = &w->filtered.in;
    const int64_t n = 2 * hr_window_reach(w->window) + 1;
    printf("%s = %s of %s\n", cli_path_text(o->output).text,
           cli_path_text(o->weights).text, cli_path_text(o->input).text);
    printf("%-11s %" PRId64 "x%" PRId64 " of %s, windows of %" PRId64
           "x%" PRId64 ", edges %s\n",
           "shape", in->rows, in->cols, hr_type_name(in->type), n, n,
           hr_edges_name(o->edges));
    printf("%-11s %s", "method", hr_filter_method_name(r->method));
    if (r->rank > 0) {
        printf(", rank %" PRId64 ", %.1e of the weights left out", r->rank,
               r->window_error);
    }
    printf("\n%-11s %s (%s with its files; %s were expected)\n", "time",
           hri_seconds_text(r->seconds).text, hri_seconds_text(w->seconds).text,
           hri_seconds_text(r->predicted).text);
    printf(
        "%-11s %s, bound by %s\n", "rate",
        hri_rate_text(r->seconds > 0.0 ? 2.0 * r->products / r->seconds : 0.0)
            .text,
        hr_bound_name(r->bound));
    printf("%-11s up %s, down %s; %u accelerator%s\n", "host links",
           hri_bytes_text(r->host_to_device).text,
           hri_bytes_text(r->device_to_host).text, r->accelerators,
           r->accelerators == 1 ? "" : "s");
    if (o->verify) {
        print_check(&w->check);
    }
    return cli_flush();
}

/* ---- work */

/* Plan first: the plan finds all errors before a byte is written. A filter that
 * would change nothing is an error, too, as it is surely not meant. */
static int plan(work *w, const hr_filter_options *wish)
{
    const cli_filtered *f = &w->filtered;
    const int64_t n = 2 * hr_window_reach(w->window) + 1;
    if (f->edges == HR_EDGES_LEFT && f->in.rows > 0 && f->in.cols > 0 &&
        (f->in.rows < n || f->in.cols < n)) {
        return cli_wrong(&cli_filter,
                         "a picture of %" PRId64 "x%" PRId64
                         " is too small for a window of %" PRId64 "x%" PRId64
                         "; choose --edges other than left",
                         f->in.rows, f->in.cols, n, n);
    }
    hr_matrix none =
        hr_matrix_row_major(NULL, f->in.type, f->in.rows, f->in.cols, 0);
    return cli_called(hr_filter_plan(w->context, w->window, f->scale, f->in,
                                     none, wish, &w->report));
}

static int filter_into(work *w, hr_filter_options *wish)
{
    cli_filtered *f = &w->filtered;
    hr_file_array like = w->files.in[0].array;
    const bool quiet = w->o.quiet;
    like.order = HR_ROW_MAJOR;
    HRI_TRY(cli_output_create(&w->files.out, w->o.output, like));
    f->out = cli_matrix(&w->files.out.array);
    if (f->edges == HR_EDGES_LEFT) {
        cli_progress_start(&w->progress, quiet, "copying", hri_link_text);
        HRI_TRY(cli_copy(f->in, f->out, &w->progress));
    }
    cli_progress_start(&w->progress, quiet, "filtering", hri_elements_text);
    wish->progress = cli_progress_told;
    wish->progress_data = &w->progress;
    const hr_status filtered =
        hr_filter(w->context, w->window, f->scale, f->in, f->out, wish);
    cli_progress_end(&w->progress);
    return cli_called(filtered);
}

static int verify(work *w)
{
    cli_signals_phase(CLI_AT_ONCE); /* it cannot be interrupted */
    HRI_TRY(cli_check_cancelled());
    return cli_filter_check(&w->filtered, &w->report, &w->check);
}

static int open_input(work *w)
{
    const options *o = &w->o;
    cli_array *in = &w->files.in[0];
    hr_file_array raw;
    HRI_TRY(cli_input_open(in, o->input, cli_raw(&o->shape, 0, o->type, &raw)));
    if (in->array.rank < 1 || in->array.rank > 2) {
        return cli_fail(
            "%s is %s: a picture has one or two dimensions", o->input,
            cli_extents_text(in->array.extents, in->array.rank).text);
    }
    if (o->shape.count > 0 && strcmp(hr_file_form(in->file), "raw") != 0) {
        return cli_wrong(
            &cli_filter,
            "--shape is for files without a header, but %s has one", o->input);
    }
    w->filtered.in = cli_matrix(&in->array);
    return CLI_OK;
}

static int filter_files(work *w, hr_filter_options *wish)
{
    HRI_TRY(open_input(w));
    HRI_TRY(plan(w, wish));
    HRI_TRY(filter_into(w, wish));
    if (w->o.verify) {
        HRI_TRY(verify(w));
    }
    return cli_files_commit(&w->files);
}

static int run_work(work *w)
{
    const double start = cli_clock();
    hr_filter_options wish = {.size = sizeof wish,
                              .edges = w->o.edges,
                              .constant = w->o.constant.value.re,
                              .method = w->o.method,
                              .tolerance = w->o.tolerance.value.re,
                              .report = &w->report};
    const int status = filter_files(w, &wish);
    if (status != CLI_OK) { /* accelerators may still copy from the files */
        hr_context_destroy(w->context);
        w->context = NULL;
    }
    cli_files_close(&w->files);
    w->seconds = cli_clock() - start;
    return status;
}

/* ---- the window */

typedef enum weights { FROM_FILE = -1, RADIAL, BOX, GAUSSIAN } weights;

/* What --weights names: a built-in kind of window, else a file. */
static weights find_weights(const options *o)
{
    return (weights)cli_find_name(o->weights, "radial box gaussian");
}

/* Make a window of the elements of a square matrix with an odd side. */
static int make_window(work *w, const hr_matrix *m)
{
    const int64_t reach = w->o.reach;
    const int64_t n = m->rows;
    if (n != m->cols || n % 2 == 0 || n / 2 > HR_MAX_REACH ||
        (m->type != HR_F32 && m->type != HR_F64) ||
        (reach >= 0 && reach != n / 2)) {
        return cli_fail(
            "%s is %" PRId64 "x%" PRId64 " of %s, not %s", w->o.weights,
            m->rows, m->cols, hr_type_name(m->type),
            reach >= 0
                ? "a window of that reach in f32 or f64"
                : "a square window of odd size up to 2049 in f32 or f64");
    }
    double *values = malloc((size_t)(n * n) * sizeof *values);
    if (values == NULL) {
        return cli_fail("out of memory");
    }
    for (int64_t i = 0; i < n * n; i++) {
        values[i] = cli_filter_element(m, i / n, i % n);
    }
    hr_status status = hr_window_create(n / 2, values, &w->window);
    free(values);
    return cli_called(status);
}

static int read_window(work *w)
{
    hr_file *file = NULL;
    hr_file_array array = {0};
    int status = cli_open(w->o.weights, NULL, &file, &array);
    if (status == CLI_OK && array.rank != 2) {
        status = cli_fail("%s is %s, not a square window", w->o.weights,
                          cli_extents_text(array.extents, array.rank).text);
    }
    if (status == CLI_OK) {
        const hr_matrix m = cli_matrix(&array);
        status = make_window(w, &m);
    }
    hr_file_close(file);
    return status;
}

/* The factor of the sums when --scale is not given. */
static double usual_scale(weights kind, const hr_window *window)
{
    const int64_t n = 2 * hr_window_reach(window) + 1;
    const double *w = hr_window_values(window);
    double sum = 0.0;
    if (kind == FROM_FILE) {
        return 1.0;
    }
    for (int64_t i = 0; i < n * n; i++) {
        sum += w[i];
    }
    return 1.0 / (kind == GAUSSIAN ? sum : (double)(n * n));
}

static int create_window(work *w)
{
    const options *o = &w->o;
    const int64_t reach = o->reach;
    const double sigma =
        o->sigma.given ? o->sigma.value.re : fmax((double)reach / 3.0, 0.5);
    const weights kind = find_weights(o);
    if (kind != FROM_FILE && reach < 0) {
        return cli_wrong(&cli_filter, "--window is missing");
    }
    if (o->sigma.given && kind != GAUSSIAN) {
        return cli_wrong(&cli_filter, "--sigma is for gaussian windows");
    }
    if (o->sigma.given && sigma <= 0.0) {
        return cli_wrong(&cli_filter, "--sigma: it must be above 0");
    }
    switch (kind) {
    case RADIAL:
        return cli_called(hr_window_radial(reach, &w->window));
    case BOX:
        return cli_called(hr_window_box(reach, &w->window));
    case GAUSSIAN:
        return cli_called(hr_window_gaussian(reach, sigma, &w->window));
    default:
        return read_window(w);
    }
}

/* ---- the command */

static int check_options(const options *o)
{
    const char *const files[] = {
        o->input, find_weights(o) == FROM_FILE ? o->weights : NULL, o->output};
    if (o->output == NULL) {
        return cli_wrong(&cli_filter, "-o is missing");
    }
    if ((o->shape.count > 0) != (o->type != 0)) {
        return cli_wrong(&cli_filter, "--shape and --type belong together");
    }
    if (o->constant.given && o->edges != HR_EDGES_CONSTANT) {
        return cli_wrong(&cli_filter, "--constant needs --edges constant");
    }
    if (o->tolerance.given &&
        !(o->tolerance.value.re > 0.0 && o->tolerance.value.re < 1.0)) {
        return cli_wrong(&cli_filter,
                         "--tolerance: it must be above 0 and below 1");
    }
    if (o->tolerance.given && o->method != HR_FILTER_AUTO &&
        o->method != HR_FILTER_SEPARABLE) {
        return cli_wrong(&cli_filter,
                         "--tolerance needs --method separable or auto");
    }
    HRI_TRY(cli_output_check(&cli_filter, "-o", o->output, files, 2));
    return cli_timeline_check(&cli_filter, o->machine.trace, files, 3);
}

static int filter_and_report(work *w)
{
    const options *o = &w->o;
    HRI_TRY(create_window(w));
    w->filtered = (cli_filtered){
        .window = w->window,
        .scale = o->scale.given ? o->scale.value.re
                                : usual_scale(find_weights(o), w->window),
        .edges = o->edges,
        .constant = o->constant.value.re};
    HRI_TRY(cli_context(&cli_filter, &o->machine, false, &w->context));
    HRI_TRY(run_work(w));
    return o->quiet ? CLI_OK : o->json ? report_json(w) : report_table(w);
}

static int run(int argc, char **argv)
{
    work w = {.o = {.weights = "radial", .reach = -1},
              .report = HR_FILTER_REPORT_INIT};
    const options *o = &w.o;
    HRI_TRY(cli_parse(&cli_filter, argc, argv, &w.o, &w.o.input));
    HRI_TRY(check_options(o));
    int status = filter_and_report(&w);
    status = cli_context_end(&o->machine, w.context, status);
    hr_window_destroy(w.window);
    return status;
}

const cli_command cli_filter = {
    .name = "filter",
    .usage = "IN.npy -o OUT.npy --window S [options]",
    .summary = "filter a picture in a file: weighted sums over windows",
    .details =
        "Replaces each element by a weighted sum of the elements around it,\n"
        "S rows and columns each way. A window has the weights. All\n"
        "accelerators chosen work on bands of rows. Methods: product by\n"
        "product (direct), as a sum of separable filters (separable), and by\n"
        "Fourier transforms (fft). Files are of f32 or f64:\n"
        ".npy, .npz or safetensors, or elements alone with --shape and --type.",
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
