/* SPDX-License-Identifier: MIT */
/* headrace bench run: nine small kernels, each called by hr_run from ordinary
 * host memory, beside plain loops with OpenMP and beside NumPy. */
#include "bench/workloads/run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench/peers/peer.h"
#include "console/context.h"
#include "console/output.h"

extern const hr_kernel run_saxpy, run_stencil, run_transpose, run_row_sums,
    run_mandelbrot, run_nbody, run_blur, run_gather, run_histogram;

/* ---- the calls, as a program would make them */

static hr_status saxpy(hr_context *context, const run_data *d)
{
    return hr_run(
        context, &run_saxpy, hr_extent1(d->n),
        HR_ARGUMENTS(hr_value(2.0f), hr_in(d->x, d->n), hr_inout(d->y, d->n)),
        NULL);
}

static hr_status stencil(hr_context *context, const run_data *d)
{
    return hr_run(
        context, &run_stencil, hr_extent1(d->n),
        HR_ARGUMENTS(hr_near(hr_in(d->x, d->n), 1, 1), hr_out(d->y, d->n)),
        NULL);
}

static hr_status transpose(hr_context *context, const run_data *d)
{
    const int64_t n = d->edge;
    const hr_extent tile = {2, {16, 16}};
    const hr_split_options o = {.size = sizeof o, .tile = &tile};
    return hr_run(context, &run_transpose, hr_extent2(n, n),
                  HR_ARGUMENTS(hr_in(d->x, n, n), hr_out(d->y, n, n)), &o);
}

static hr_status row_sums(hr_context *context, const run_data *d)
{
    return hr_run(
        context, &run_row_sums, hr_extent1(d->edge),
        HR_ARGUMENTS(hr_in(d->x, d->edge, d->edge), hr_out(d->y, d->edge)),
        NULL);
}

typedef struct window {
    float left, top, width;
} window;

static hr_status mandelbrot(hr_context *context, const run_data *d)
{
    const window w = {-2.2f, 1.5f, 3.0f};
    return hr_run(
        context, &run_mandelbrot, hr_extent2(d->pixels, d->pixels),
        HR_ARGUMENTS(hr_value(w), hr_out(d->counts, d->pixels, d->pixels)),
        NULL);
}

static hr_status nbody(hr_context *context, const run_data *d)
{
    return hr_run(context, &run_nbody, hr_extent1(d->edge),
                  HR_ARGUMENTS(hr_value(BENCH_SOFTENING),
                               hr_in(d->bodies, d->edge),
                               hr_out(d->forces, d->edge)),
                  NULL);
}

static hr_status blur(hr_context *context, const run_data *d)
{
    return hr_run(context, &run_blur, hr_extent2(d->edge, d->edge),
                  HR_ARGUMENTS(hr_in(d->x, d->edge + 4, d->edge + 4),
                               hr_out(d->y, d->edge, d->edge)),
                  NULL);
}

static hr_status gather(hr_context *context, const run_data *d)
{
    return hr_run(context, &run_gather, hr_extent1(d->n),
                  HR_ARGUMENTS(hr_in(d->x, d->n), hr_in(d->indices, d->n),
                               hr_out(d->y, d->n)),
                  NULL);
}

/* 16 items share a row. */
static hr_status histogram(hr_context *context, const run_data *d)
{
    const hr_argument bins = hr_inout(d->counts, BENCH_BINS);
    return hr_run(context, &run_histogram, hr_extent2(d->edge, 16),
                  HR_ARGUMENTS(hr_near(hr_in(d->bytes, d->edge, d->edge), 0, 0),
                               hr_combined(bins, HR_COMBINE_SUM)),
                  NULL);
}

/* ---- kernels */

typedef enum run_shape {
    ELEMENTS,
    SQUARE,
    ROWS,
    PIXELS,
    BODIES,
    COUNTS
} run_shape;

typedef struct subject {
    const char *name;
    const hr_kernel *kernel;
    hr_status (*call)(hr_context *context, const run_data *d);
    run_shape shape; /* of the results */
    run_kind kind;
} subject;

static const subject subjects[] = {
    {"saxpy", &run_saxpy, saxpy, ELEMENTS, RUN_UPDATED},
    {"stencil", &run_stencil, stencil, ELEMENTS, RUN_EXACT},
    {"transpose", &run_transpose, transpose, SQUARE, RUN_EXACT},
    {"row sums", &run_row_sums, row_sums, ROWS, RUN_SUMS},
    {"Mandelbrot", &run_mandelbrot, mandelbrot, PIXELS, RUN_PICTURE},
    {"n-body", &run_nbody, nbody, BODIES, RUN_FORCES},
    {"blur 5x5", &run_blur, blur, SQUARE, RUN_EXACT},
    {"gather", &run_gather, gather, ELEMENTS, RUN_EXACT},
    {"histogram", &run_histogram, histogram, COUNTS, RUN_COUNTS},
};

enum { SUBJECTS = sizeof subjects / sizeof subjects[0] };

static int64_t result_count(const run_data *d, run_shape shape)
{
    return shape == ELEMENTS ? d->n
           : shape == SQUARE ? d->edge * d->edge
           : shape == ROWS   ? d->edge
           : shape == PIXELS ? d->pixels * d->pixels
           : shape == BODIES ? 3 * d->edge
                             : BENCH_BINS;
}

/* "4096 x 4096" */
static void size_text(const run_data *d, run_shape shape, char *text,
                      size_t size)
{
    const int64_t edge = shape == PIXELS ? d->pixels : d->edge;
    if (shape == ELEMENTS || shape == BODIES) {
        snprintf(text, size, "%lld",
                 (long long)(shape == BODIES ? edge : d->n));
    } else {
        snprintf(text, size, "%lld x %lld", (long long)edge, (long long)edge);
    }
}

/* ---- measuring */

/* Times of one contestant, in seconds. */
typedef struct times {
    double first, best;
} times;

typedef struct running {
    benchmark *bench;
    const bench_setting *setting;
    hr_context *context;
    run_data data;
    bench_peer numpy; /* zeroed: there is none */
} running;

static bool run_ours(const running *r, const subject *s, double *seconds)
{
    bench_rest(BENCH_LOOP_REST);
    const double start = cli_clock();
    const hr_status status = s->call(r->context, &r->data);
    *seconds = cli_clock() - start;
    return status == HR_OK;
}

static double run_loop(const running *r, const subject *s)
{
    const run_data *d = &r->data;
    bench_loops_data loop = {.count = d->n,
                             .edge = d->edge,
                             .pixels = d->pixels,
                             .x = d->x,
                             .out = d->expected,
                             .keys = d->indices,
                             .bytes = d->bytes};
    const bench_loop function = bench_loop_find(s->kernel->name);
    bench_rest(BENCH_LOOP_REST);
    const double start = cli_clock();
    function(&loop);
    return cli_clock() - start;
}

/* False when there is no NumPy, or no longer. */
static bool run_numpy(running *r, const subject *s, double *seconds,
                      double *checksum)
{
    char line[128];
    snprintf(line, sizeof line, "%s %lld %lld %lld", s->kernel->name,
             (long long)r->data.n, (long long)r->data.edge,
             (long long)r->data.pixels);
    const bool done = bench_peer_ask(&r->numpy, line, line, sizeof line) &&
                      sscanf(line, "%lf %lf", seconds, checksum) == 2;
    if (!done) {
        bench_peer_stop(&r->numpy);
    }
    return done;
}

/* What a checksum may differ from NumPy's, of all of it. The real axis may be a
 * row of the picture. Its points leave the Mandelbrot set where a product and
 * a sum are rounded once instead of twice. */
static double blunder(run_kind kind)
{
    return kind == RUN_PICTURE ? 1e-2 : 1e-3;
}

/* The first runs, whose results are compared. */
static int compare(running *r, const subject *s, times all[3])
{
    const run_data *d = &r->data;
    const int64_t count = result_count(d, s->shape);
    double checksum = 0;
    run_data_prepare(d, d->out, s->kind);
    run_data_prepare(d, d->expected, s->kind);
    if (!run_ours(r, s, &all[0].first)) {
        return cli_failed_call();
    }
    all[1].first = run_loop(r, s);
    const int64_t at = run_data_differs(d, s->kind, count);
    if (at >= 0) {
        return cli_fail("%s on %s: element %lld is %g, but %g with OpenMP",
                        s->name, r->setting->name, (long long)at,
                        run_element(d->out, s->kind, at),
                        run_element(d->expected, s->kind, at));
    }
    const double sum = run_checksum(d, s->kind, count);
    if (run_numpy(r, s, &all[2].first, &checksum) &&
        !(fabs(sum - checksum) <= blunder(s->kind) * sum)) {
        return cli_fail("%s: the checksum is %g, but %g with NumPy", s->name,
                        sum, checksum);
    }
    return CLI_OK;
}

static void add_row(running *r, const subject *s, const times all[3])
{
    bench_rows *rows = &r->bench->rows;
    char size[64];
    size_text(&r->data, s->shape, size, sizeof size);
    bench_row_begin(rows, "run");
    bench_list(rows, r->setting);
    bench_text(rows, "kernel", "kernel", s->name);
    bench_text(rows, "size", "size", size);
    bench_value(rows, "elements", NULL, BENCH_COUNT, (double)r->data.n);
    bench_value(rows, "first_seconds", "first", BENCH_SECONDS, all[0].first);
    bench_value(rows, "min_seconds", "best", BENCH_SECONDS, all[0].best);
    bench_value(rows, "openmp_seconds", "OpenMP", BENCH_SECONDS, all[1].best);
    bench_value(rows, "numpy_seconds", "NumPy", BENCH_SECONDS, all[2].best);
    bench_value(rows, "over_openmp", "OpenMP over ours", BENCH_RATIO,
                all[1].best / all[0].best);
    bench_value(rows, "over_numpy", "NumPy over ours", BENCH_RATIO,
                all[2].best / all[0].best);
    bench_row_end(rows);
}

/* All in turns. */
static int measure(running *r, const subject *s)
{
    times all[3] = {{NAN, NAN}, {NAN, NAN}, {NAN, NAN}};
    double seconds, checksum;
    int status = compare(r, s, all);
    for (int64_t i = 1; i <= r->bench->o.repeat && status == CLI_OK; i++) {
        if (!run_ours(r, s, &seconds)) {
            return cli_failed_call();
        }
        bench_note(i, seconds, &all[0].first, &all[0].best);
        bench_note(i, run_loop(r, s), &all[1].first, &all[1].best);
        if (run_numpy(r, s, &seconds, &checksum)) {
            bench_note(i, seconds, &all[2].first, &all[2].best);
        }
    }
    if (status == CLI_OK) {
        add_row(r, s, all);
    }
    return status;
}

static int measure_list(running *r)
{
    int status = bench_context(r->setting, &r->context);
    for (int i = 0; i < SUBJECTS && status == CLI_OK; i++) {
        status = measure(r, &subjects[i]);
    }
    if (status == CLI_OK && !r->bench->o.json) {
        printf("%s, %s:\n", r->setting->name, r->setting->device);
        status = bench_rows_print(&r->bench->rows);
    }
    hr_context_destroy(r->context);
    r->context = NULL;
    return status == CLI_OK ? cli_flush() : status;
}

int bench_run(benchmark *bench)
{
    running r = {.bench = bench};
    const int64_t n =
        bench->o.elements > 0 ? bench->o.elements : (int64_t)1 << 24;
    if (!run_data_make(&r.data, n)) {
        return cli_fail("no memory for views of %lld elements", (long long)n);
    }
    (void)bench_numpy_start(&r.numpy);
    int status = CLI_OK;
    for (int i = 0; i < bench->setting_count && status == CLI_OK; i++) {
        r.setting = &bench->settings[i];
        status = measure_list(&r);
    }
    bench_peer_stop(&r.numpy);
    run_data_free(&r.data);
    return status;
}
