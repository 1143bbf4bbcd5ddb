/* SPDX-License-Identifier: MIT */
/* headrace bench run: nine small kernels, each called by hr_run from ordinary
 * host memory, beside plain loops with OpenMP and beside NumPy. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "bench/bench.h"
#include "bench/peers/openmp.h"
#include "bench/peers/peer.h"
#include "console/context.h"
#include "console/output.h"

extern const char bench_numpy_text[]; /* run_numpy.py, by the build */

extern const hr_kernel run_saxpy, run_stencil, run_transpose, run_row_sums,
    run_mandelbrot, run_nbody, run_blur, run_gather, run_histogram;

/* ---- data */

/* Data of the kernels, in ordinary memory. */
typedef struct run_data {
    int64_t n;            /* elements */
    int64_t edge;         /* rows and columns of squares, and bodies */
    int64_t pixels;       /* rows and columns of the picture */
    float *x;             /* n, or a square and a margin for the blur */
    bench_body *bodies;   /* edge: the same memory */
    int *indices;         /* n of them, from 0 to n - 1 */
    unsigned char *bytes; /* n */
    void *out, *expected; /* n elements of 4 bytes, or edge forces */
    float *y;             /* out, as what kernels write */
    int *counts;
    bench_force *forces;
} run_data;

/* What a kernel's results are. */
typedef enum run_kind {
    RUN_EXACT,   /* floats, which no order of operations rounds */
    RUN_UPDATED, /* the same, which the kernel also reads */
    RUN_SUMS,    /* floats: sums of edge elements that are not negative */
    RUN_FORCES,  /* on bodies */
    RUN_PICTURE, /* steps of points, which rounding changes at borders */
    RUN_COUNTS   /* which begin with 0 */
} run_kind;

enum {
    RUN_STEPS = 200, /* of a point of the picture */
    MARGIN = 256     /* for bodies and bins, where n is small */
};

/* A number of 32 bits from another [github.com/skeeto/hash-prospector]. */
static uint32_t mixed(uint32_t x)
{
    x ^= x >> 16;
    x *= 0x7FEB352DU;
    x ^= x >> 15;
    x *= 0x846CA68BU;
    return x ^ (x >> 16);
}

/* 12 bits from 0 to 1: sums and averages of a few of them are exact. */
static float fraction(uint32_t x)
{
    return (float)(mixed(x) >> 20) / 4096.0f;
}

static int64_t floor_root(int64_t n)
{
    int64_t r = (int64_t)sqrt((double)n);
    while (r * r > n) {
        r--;
    }
    return r;
}

static int64_t x_count(const run_data *d)
{
    const int64_t wide = d->edge + 2 * BENCH_REACH;
    return wide * wide > d->n + MARGIN ? wide * wide : d->n + MARGIN;
}

static bool allocate_data(run_data *d)
{
    const size_t count = (size_t)d->n + MARGIN;
    d->x = bench_allocate(NULL, (size_t)x_count(d) * sizeof *d->x);
    d->bodies = (bench_body *)d->x;
    d->indices = bench_allocate(NULL, count * sizeof *d->indices);
    d->bytes = bench_allocate(NULL, count);
    d->out = bench_allocate(NULL, count * sizeof(float));
    d->expected = bench_allocate(NULL, count * sizeof(float));
    d->y = d->out;
    d->counts = d->out;
    d->forces = d->out;
    return d->x != NULL && d->indices != NULL && d->bytes != NULL &&
           d->out != NULL && d->expected != NULL;
}

/* Make the data of n elements. False when out of memory. */
static bool make_data(run_data *d, int64_t n)
{
    d->n = n;
    d->edge = floor_root(n);
    d->pixels = d->edge / 4 > 0 ? d->edge / 4 : 1;
    if (!allocate_data(d)) {
        return false;
    }
    for (int64_t i = 0; i < x_count(d); i++) {
        d->x[i] = fraction((uint32_t)i);
    }
    for (int64_t i = 0; i < n; i++) {
        const uint64_t random = mixed((uint32_t)i);
        d->indices[i] = (int)(random * (uint64_t)n >> 32);
        d->bytes[i] = (unsigned char)(random >> 24);
    }
    return true;
}

static void free_data(run_data *d)
{
    bench_release(NULL, d->x);
    bench_release(NULL, d->indices);
    bench_release(NULL, d->bytes);
    bench_release(NULL, d->out);
    bench_release(NULL, d->expected);
}

/* Prepare memory for results: what the kernel reads, else nothing right. */
static void prepare_results(const run_data *d, void *out, run_kind kind)
{
    float *y = out;
    memset(out, kind == RUN_COUNTS ? 0 : 0xFF, /* NaN, or -1 */
           ((size_t)d->n + MARGIN) * sizeof *y);
    for (int64_t i = 0; i < d->n && kind == RUN_UPDATED; i++) {
        y[i] = fraction((uint32_t)i ^ 0x80000000U);
    }
}

/* ---- the calls, as a program would make them */

static hr_status call_saxpy(hr_context *context, const run_data *d)
{
    return hr_run(
        context, &run_saxpy, hr_extent1(d->n),
        HR_ARGUMENTS(hr_value(2.0f), hr_in(d->x, d->n), hr_inout(d->y, d->n)),
        NULL);
}

static hr_status call_stencil(hr_context *context, const run_data *d)
{
    return hr_run(
        context, &run_stencil, hr_extent1(d->n),
        HR_ARGUMENTS(hr_near(hr_in(d->x, d->n), 1, 1), hr_out(d->y, d->n)),
        NULL);
}

static hr_status call_transpose(hr_context *context, const run_data *d)
{
    const int64_t n = d->edge;
    const hr_extent tile = {2, {16, 16}};
    const hr_split_options o = {.size = sizeof o, .tile = &tile};
    return hr_run(context, &run_transpose, hr_extent2(n, n),
                  HR_ARGUMENTS(hr_in(d->x, n, n), hr_out(d->y, n, n)), &o);
}

static hr_status call_row_sums(hr_context *context, const run_data *d)
{
    return hr_run(
        context, &run_row_sums, hr_extent1(d->edge),
        HR_ARGUMENTS(hr_in(d->x, d->edge, d->edge), hr_out(d->y, d->edge)),
        NULL);
}

typedef struct window {
    float left, top, width;
} window;

static hr_status call_mandelbrot(hr_context *context, const run_data *d)
{
    const window w = {-2.2f, 1.5f, 3.0f};
    return hr_run(
        context, &run_mandelbrot, hr_extent2(d->pixels, d->pixels),
        HR_ARGUMENTS(hr_value(w), hr_out(d->counts, d->pixels, d->pixels)),
        NULL);
}

static hr_status call_nbody(hr_context *context, const run_data *d)
{
    return hr_run(context, &run_nbody, hr_extent1(d->edge),
                  HR_ARGUMENTS(hr_value(BENCH_SOFTENING),
                               hr_in(d->bodies, d->edge),
                               hr_out(d->forces, d->edge)),
                  NULL);
}

static hr_status call_blur(hr_context *context, const run_data *d)
{
    return hr_run(context, &run_blur, hr_extent2(d->edge, d->edge),
                  HR_ARGUMENTS(hr_in(d->x, d->edge + 4, d->edge + 4),
                               hr_out(d->y, d->edge, d->edge)),
                  NULL);
}

static hr_status call_gather(hr_context *context, const run_data *d)
{
    return hr_run(context, &run_gather, hr_extent1(d->n),
                  HR_ARGUMENTS(hr_in(d->x, d->n), hr_in(d->indices, d->n),
                               hr_out(d->y, d->n)),
                  NULL);
}

/* 16 items share a row. */
static hr_status call_histogram(hr_context *context, const run_data *d)
{
    const hr_argument bins = hr_inout(d->counts, BENCH_BINS);
    return hr_run(context, &run_histogram, hr_extent2(d->edge, 16),
                  HR_ARGUMENTS(hr_near(hr_in(d->bytes, d->edge, d->edge), 0, 0),
                               hr_combined(bins, HR_COMBINE_SUM)),
                  NULL);
}

/* ---- results */

/* An element of out or expected. */
static double element_of(const void *out, run_kind kind, int64_t index)
{
    return kind == RUN_PICTURE || kind == RUN_COUNTS
               ? (double)((const int *)out)[index]
               : (double)((const float *)out)[index];
}

/* The sum of the sizes of all forces on a body. */
static double force_size(const run_data *d, int64_t index)
{
    const bench_body b = d->bodies[index];
    double sum = 0;
    for (int64_t j = 0; j < d->edge; j++) {
        const double x = (double)d->bodies[j].x - (double)b.x;
        const double y = (double)d->bodies[j].y - (double)b.y;
        const double z = (double)d->bodies[j].z - (double)b.z;
        const double r2 = x * x + y * y + z * z + (double)BENCH_SOFTENING;
        sum += (double)d->bodies[j].mass / r2;
    }
    return sum;
}

/* Whether a point of the picture has a neighbour with another number of steps:
 * rounding moves only such borders. */
static bool is_at_border(const run_data *d, int64_t index)
{
    const int *steps = d->expected;
    const int64_t n = d->pixels, row = index / n, col = index % n;
    for (int64_t r = row - 1; r <= row + 1; r++) {
        for (int64_t c = col - 1; c <= col + 1; c++) {
            if (r >= 0 && r < n && c >= 0 && c < n &&
                steps[r * n + c] != steps[index]) {
                return true;
            }
        }
    }
    return false;
}

/* How far two right results may be apart. A sum of k numbers is off by k
 * roundings of their sizes at most [Higham2002], a force by 32 more. */
static double tolerance(const run_data *d, run_kind kind, int64_t index)
{
    const double edge = (double)d->edge, unit = 0x1p-24;
    switch (kind) {
    case RUN_SUMS:
        return 2 * edge * unit * element_of(d->expected, kind, index);
    case RUN_FORCES:
        return 2 * (edge + 32) * unit * force_size(d, index / 3);
    case RUN_PICTURE:
        return is_at_border(d, index) ? RUN_STEPS : 0;
    default:
        return 0;
    }
}

/* The element of `out` that is not as in `expected`, of count; -1: none. */
static int64_t find_difference(const run_data *d, run_kind kind, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        const double ours = element_of(d->out, kind, i);
        const double theirs = element_of(d->expected, kind, i);
        const double apart = fabs(ours - theirs);
        if (ours != theirs && !(apart <= tolerance(d, kind, i))) {
            return i;
        }
    }
    return -1;
}

/* The checksum of `expected`, as run_numpy.py makes it. */
static double checksum_of(const run_data *d, run_kind kind, int64_t count)
{
    double sum = 0;
    for (int64_t i = 0; i < count; i++) {
        sum += fabs(element_of(d->expected, kind, i)) * (double)(1 + i % 97);
    }
    return sum;
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
    {"saxpy", &run_saxpy, call_saxpy, ELEMENTS, RUN_UPDATED},
    {"stencil", &run_stencil, call_stencil, ELEMENTS, RUN_EXACT},
    {"transpose", &run_transpose, call_transpose, SQUARE, RUN_EXACT},
    {"row sums", &run_row_sums, call_row_sums, ROWS, RUN_SUMS},
    {"Mandelbrot", &run_mandelbrot, call_mandelbrot, PIXELS, RUN_PICTURE},
    {"n-body", &run_nbody, call_nbody, BODIES, RUN_FORCES},
    {"blur 5x5", &run_blur, call_blur, SQUARE, RUN_EXACT},
    {"gather", &run_gather, call_gather, ELEMENTS, RUN_EXACT},
    {"histogram", &run_histogram, call_histogram, COUNTS, RUN_COUNTS},
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
static double checksum_tolerance(run_kind kind)
{
    return kind == RUN_PICTURE ? 1e-2 : 1e-3;
}

/* The first runs, whose results are compared. */
static int compare_first(running *r, const subject *s, times all[3])
{
    const run_data *d = &r->data;
    const int64_t count = result_count(d, s->shape);
    double checksum = 0;
    prepare_results(d, d->out, s->kind);
    prepare_results(d, d->expected, s->kind);
    if (!run_ours(r, s, &all[0].first)) {
        return cli_failed_call();
    }
    all[1].first = run_loop(r, s);
    const int64_t at = find_difference(d, s->kind, count);
    if (at >= 0) {
        return cli_fail("%s on %s: element %lld is %g, but %g with OpenMP",
                        s->name, r->setting->name, (long long)at,
                        element_of(d->out, s->kind, at),
                        element_of(d->expected, s->kind, at));
    }
    const double sum = checksum_of(d, s->kind, count);
    if (run_numpy(r, s, &all[2].first, &checksum) &&
        !(fabs(sum - checksum) <= checksum_tolerance(s->kind) * sum)) {
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
static int measure_subject(running *r, const subject *s)
{
    times all[3] = {{NAN, NAN}, {NAN, NAN}, {NAN, NAN}};
    double seconds, checksum;
    HRI_TRY(compare_first(r, s, all));
    for (int64_t i = 1; i <= r->bench->o.repeat; i++) {
        if (!run_ours(r, s, &seconds)) {
            return cli_failed_call();
        }
        bench_note(i, seconds, &all[0].first, &all[0].best);
        bench_note(i, run_loop(r, s), &all[1].first, &all[1].best);
        if (run_numpy(r, s, &seconds, &checksum)) {
            bench_note(i, seconds, &all[2].first, &all[2].best);
        }
    }
    add_row(r, s, all);
    return CLI_OK;
}

static int measure_subjects(running *r)
{
    for (int i = 0; i < SUBJECTS; i++) {
        HRI_TRY(measure_subject(r, &subjects[i]));
    }
    if (!r->bench->o.json) {
        printf("%s, %s:\n", r->setting->name, r->setting->device);
        HRI_TRY(bench_rows_print(&r->bench->rows));
    }
    return cli_flush();
}

static int measure_lists(running *r)
{
    (void)bench_python_start(&r->numpy, bench_numpy_text, NULL);
    for (int i = 0; i < r->bench->setting_count; i++) {
        r->setting = &r->bench->settings[i];
        HRI_TRY(bench_context(r->setting, &r->context));
        const int status = measure_subjects(r);
        hr_context_destroy(r->context);
        HRI_TRY(status);
    }
    return CLI_OK;
}

int bench_run(benchmark *bench)
{
    running r = {.bench = bench};
    const int64_t n =
        bench->o.elements > 0 ? bench->o.elements : (int64_t)1 << 24;
    const int status =
        make_data(&r.data, n)
            ? measure_lists(&r)
            : cli_fail("no memory for views of %lld elements", (long long)n);
    bench_peer_stop(&r.numpy);
    free_data(&r.data);
    return status;
}
