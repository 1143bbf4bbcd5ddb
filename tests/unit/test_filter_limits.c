/* SPDX-License-Identifier: MIT */
/* Filters near the limits of numbers, memory and tables. */
#include <float.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <headrace/headrace.h>

#include "filter/cost.h"
#include "model/tuning.h"
#include "support/random.h"
#include "test.h"

static hr_window *window_of(int64_t reach, const double *values)
{
    hr_window *window = NULL;
    CHECK(hr_window_create(reach, values, &window) == HR_OK);
    return window;
}

static hr_filter_options clamped(hr_filter_method method)
{
    hr_filter_options options = HR_FILTER_OPTIONS_INIT;
    options.edges = HR_EDGES_CLAMPED;
    options.method = method;
    return options;
}

/* Filter zeros directly by a box. */
static hr_filter_report filter_zeros(hr_context *context, int64_t rows,
                                     int64_t cols, int64_t reach)
{
    float *in = calloc((size_t)(rows * cols), sizeof *in);
    float *out = calloc((size_t)(rows * cols), sizeof *out);
    hr_filter_report report = HR_FILTER_REPORT_INIT;
    hr_filter_options options = clamped(HR_FILTER_DIRECT);
    options.report = &report;
    hr_window *window = NULL;
    CHECK(hr_window_box(reach, &window) == HR_OK);
    CHECK(hr_filter(context, window, 1.0,
                    hr_matrix_row_major(in, HR_F32, rows, cols, 0),
                    hr_matrix_row_major(out, HR_F32, rows, cols, 0),
                    &options) == HR_OK);
    hr_window_destroy(window);
    free(in);
    free(out);
    return report;
}

/* ---- numbers */

enum { EDGE = 5, NINE = 9 };

/* A picture, and what becomes of it. */
typedef double pictures[2][EDGE * EDGE];

/* Filter by 3 x 3 weights. */
static void filter_small(hr_context *context, const double *weights,
                         double scale, hr_filter_method method, pictures p)
{
    hr_window *window = window_of(1, weights);
    const hr_filter_options options = clamped(method);
    CHECK(hr_filter(context, window, scale,
                    hr_matrix_row_major(p[0], HR_F64, EDGE, EDGE, 0),
                    hr_matrix_row_major(p[1], HR_F64, EDGE, EDGE, 0),
                    &options) == HR_OK);
    hr_window_destroy(window);
}

/* Ones, filtered by weights of one size: nine times scale and size. */
static double filter_ones(hr_context *context, double size, double scale,
                          hr_filter_method method)
{
    double weights[NINE];
    pictures p;
    for (int i = 0; i < NINE; i++) {
        weights[i] = size;
    }
    for (int i = 0; i < EDGE * EDGE; i++) {
        p[0][i] = 1.0;
        p[1][i] = NAN;
    }
    filter_small(context, weights, scale, method, p);
    return p[1][12];
}

static void filter_by_any_size(hr_context *context)
{
    static const double sizes[] = {1e-300, 1e-200, 1e-80, 1.0,
                                   1e80,   1e200,  1e300};
    TEST_CASE("weights of any size");
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        for (int m = HR_FILTER_AUTO; m <= HR_FILTER_SEPARABLE; m++) {
            double got = filter_ones(context, sizes[i], 1.0 / sizes[i],
                                     (hr_filter_method)m);
            CHECK(fabs(got - 9.0) < 1e-13);
        }
    }
}

static void refuse_large_weights(hr_context *context)
{
    TEST_CASE("weights that the type cannot hold");
    double weights[NINE] = {0};
    float in[EDGE * EDGE] = {0}, out[EDGE * EDGE];
    weights[5] = 1e30;
    hr_window *window = window_of(1, weights);
    const hr_matrix a = hr_matrix_row_major(in, HR_F32, EDGE, EDGE, 0);
    const hr_matrix b = hr_matrix_row_major(out, HR_F32, EDGE, EDGE, 0);
    CHECK_FAILS(hr_filter(context, window, 1e9, a, b, NULL), HR_ERROR_INVALID,
                "w(0, 1)");
    CHECK(hr_filter(context, window, 1e-9, a, b, NULL) == HR_OK);
    hr_window_destroy(window);
    weights[5] = 1e200;
    window = window_of(1, weights);
    CHECK_FAILS(hr_filter(context, window, 1e200,
                          hr_matrix_row_major(NULL, HR_F64, 0, 0, 0),
                          hr_matrix_row_major(NULL, HR_F64, 0, 0, 0), NULL),
                HR_ERROR_INVALID, "f64");
    hr_window_destroy(window);
}

static void rank_with_tolerance(void)
{
    TEST_CASE("a tolerance that lets everything be left out");
    hr_window *window = NULL;
    int64_t rank = 0;
    double error = 1.0;
    CHECK(hr_window_box(3, &window) == HR_OK);
    CHECK(hr_window_rank(window, 1.0, &rank, &error) == HR_OK);
    CHECK(rank == 1 && error < 1e-14);
    CHECK(hr_window_rank(window, 5.0, &rank, &error) == HR_OK);
    CHECK(rank == 1 && error < 1e-14);
    hr_window_destroy(window);
}

static void filter_unsymmetric(hr_context *context)
{
    TEST_CASE("rows of weights that are not quite symmetric");
    double weights[NINE];
    pictures p = {{0}};
    for (int i = 0; i < NINE; i++) {
        weights[i] = i % 3 == 2 ? 1.0 + 9e-14 : 1.0;
    }
    p[0][13] = 1.0; /* right of the middle */
    filter_small(context, weights, 1.0, HR_FILTER_SEPARABLE, p);
    CHECK(fabs(p[1][12] - weights[5]) < 4e-15);
    CHECK(fabs(p[1][14] - weights[3]) < 4e-15);
}

/* ---- memory */

static void plan_much_scratch(hr_context *context)
{
    TEST_CASE("more filters than strips have memory for");
    enum { N = 2 * HR_MAX_REACH + 1 };
    hr_window *window = NULL;
    hri_filter_band band;
    hri_filter_plan plan = {.bands = &band};
    hri_accelerator *accelerator = &context->accelerators[0];
    CHECK(hr_window_box(HR_MAX_REACH, &window) == HR_OK);
    hri_filter_job job = {.context = context,
                          .scale = 1.0,
                          .in = hr_matrix_row_major(NULL, HR_F64, 8, 8, 0),
                          .out = hr_matrix_row_major(NULL, HR_F64, 8, 8, 0),
                          .window = window,
                          .method = HR_FILTER_SEPARABLE,
                          .factors = {.extent = N, .rank = N}};
    CHECK_FAILS(hri_filter_plan_make(&job, &accelerator, 1, &plan),
                HR_ERROR_UNSUPPORTED, "2049 separable");
    job.method = HR_FILTER_DIRECT;
    CHECK(hri_filter_plan_make(&job, &accelerator, 1, &plan) == HR_OK);
    CHECK(plan.count == 1);
    hr_window_destroy(window);
}

static void transform_largest(hr_context *context)
{
    TEST_CASE("transforms for the largest window");
    enum { SMALL = 8 };
    double in[SMALL * SMALL] = {0}, out[SMALL * SMALL];
    hr_window *window = NULL;
    hr_filter_options options = clamped(HR_FILTER_FFT);
    CHECK(hr_window_box(HR_MAX_REACH, &window) == HR_OK);
    in[0] = 1.0; /* windows hold its clamped neighbours many times */
    const hr_status status = hr_filter(
        context, window, 1.0, hr_matrix_row_major(in, HR_F64, SMALL, SMALL, 0),
        hr_matrix_row_major(out, HR_F64, SMALL, SMALL, 0), &options);
    if (status == HR_ERROR_UNSUPPORTED) {
        printf("not tested here: %s\n", hr_last_error());
    } else if (CHECK(status == HR_OK)) {
        const double rows = HR_MAX_REACH + 1.0;
        CHECK(fabs(out[0] - rows * rows) < 1e-9 * rows * rows);
    }
    hr_window_destroy(window);
}

static void filter_where_room(void)
{
    TEST_CASE("accelerators without room leave the work to others");
    hr_context *context = test_context("host,2xhost", 40000);
    const hr_filter_report report = filter_zeros(context, 200, 1000, 3);
    CHECK(report.accelerators == 1 && report.host_to_device == 0);
    hr_context_destroy(context);
}

/* ---- several at once */

enum { THREADS = 3, HEIGHT = 600, WIDTH = 1024, REACH = 20 };

static const uint64_t tight = 1 << 20; /* for one, in pieces */

typedef struct work {
    hr_context *context;
    const hr_window *window;
    float *in, *out;
    hr_status status;
} work;

static void *filter_picture(void *data)
{
    work *w = data;
    hr_filter_options options = clamped(HR_FILTER_SEPARABLE);
    w->status = hr_filter(w->context, w->window, 1.0,
                          hr_matrix_row_major(w->in, HR_F32, HEIGHT, WIDTH, 0),
                          hr_matrix_row_major(w->out, HR_F32, HEIGHT, WIDTH, 0),
                          &options);
    return NULL;
}

static void filter_at_once(void)
{
    TEST_CASE("threads whose filters fit one by one");
    hr_context *context = test_context("2xhost", tight);
    hr_window *window = NULL;
    float *in = malloc(HEIGHT * WIDTH * sizeof *in);
    random_source source = {5};
    pthread_t threads[THREADS];
    work works[THREADS];
    CHECK(hr_window_radial(REACH, &window) == HR_OK);
    for (int i = 0; i < HEIGHT * WIDTH; i++) {
        in[i] = (float)random_between(&source, 0, 1000);
    }
    for (int i = 0; i < THREADS; i++) {
        works[i] = (work){.context = context,
                          .window = window,
                          .in = in,
                          .out = calloc(HEIGHT * WIDTH, sizeof *in)};
    }
    for (int i = 0; i < THREADS; i++) {
        if (pthread_create(&threads[i], NULL, filter_picture, &works[i]) != 0) {
            abort();
        }
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    const int last = HEIGHT * WIDTH - 1;
    for (int i = 0; i < THREADS; i++) {
        CHECK(works[i].status == HR_OK);
        CHECK(works[i].out[0] > 0.0f &&
              works[i].out[last] == works[0].out[last]);
    }
    for (int i = 0; i < THREADS; i++) {
        free(works[i].out);
    }
    free(in);
    hr_window_destroy(window);
    hr_context_destroy(context);
}

/* ---- what is kept for later */

/* The bytes of a call, and whether a rate was kept. */
static uint64_t bytes_up(hr_context *context, bool *kept)
{
    double rate = 0.0;
    const hr_filter_report report = filter_zeros(context, 64, 1200, 60);
    *kept = hri_tuning_find("filter-direct-f32", context->accelerators[0].key,
                            &rate);
    return report.host_to_device;
}

static void keep_rates(void)
{
    TEST_CASE("what was guessed for want of memory is not kept");
    char folder[] = "/tmp/headrace-filter-XXXXXX", file[64];
    bool kept = true;
    CHECK(mkdtemp(folder) != NULL);
    snprintf(file, sizeof file, "%s/rates", folder);
    CHECK(setenv("HEADRACE_CACHE", folder, 1) == 0);
    hr_context *context = test_context("2xhost", 2200000);
    (void)bytes_up(context, &kept);
    CHECK(!kept);
    hr_context_destroy(context);

    TEST_CASE("what was measured is; measuring does not count as moved");
    context = test_context("2xhost", 0);
    const uint64_t first = bytes_up(context, &kept);
    CHECK(kept);
    CHECK(bytes_up(context, &kept) == first);
    hr_context_destroy(context);
    CHECK(unlink(file) == 0 && rmdir(folder) == 0);
    CHECK(setenv("HEADRACE_CACHE", "", 1) == 0);
}

int main(void)
{
    CHECK(setenv("HEADRACE_CACHE", "", 1) == 0);
    hr_context *context = test_context("host", 0);
    TEST(filter_by_any_size(context));
    TEST(refuse_large_weights(context));
    TEST(rank_with_tolerance());
    TEST(filter_unsymmetric(context));
    TEST(plan_much_scratch(context));
    TEST(transform_largest(context));
    hr_context_destroy(context);
    TEST(filter_where_room());
    TEST(filter_at_once());
    TEST(keep_rates());
    return test_end();
}
