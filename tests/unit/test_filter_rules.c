/* SPDX-License-Identifier: MIT */
/* Windows and their ranks; what hr_filter refuses, with a word that its message
 * must have; and what its result must not depend on. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "support/random.h"
#include "support/refused.h"

/* ---- windows */

static void make_windows(void)
{
    TEST_CASE("windows");
    hr_window *w = NULL;
    const double one = 1.0, bad = INFINITY;
    CHECK_FAILS(hr_window_create(0, NULL, &w), HR_ERROR_INVALID, "NULL");
    CHECK_FAILS(hr_window_create(0, &one, NULL), HR_ERROR_INVALID,
                "window: the result is NULL");
    CHECK_FAILS(hr_window_create(-1, &one, &w), HR_ERROR_INVALID, "-1");
    CHECK_FAILS(hr_window_box(HR_MAX_REACH + 1, &w), HR_ERROR_INVALID, "1025");
    CHECK_FAILS(hr_window_create(0, &bad, &w), HR_ERROR_INVALID, "w(0, 0)");
    CHECK_FAILS(hr_window_gaussian(1, 0.0, &w), HR_ERROR_INVALID, "sigma");
    CHECK(w == NULL && hr_window_reach(NULL) == -1 &&
          hr_window_values(NULL) == NULL);
    hr_window_destroy(NULL);
    CHECK(hr_window_radial(2, &w) == HR_OK && hr_window_reach(w) == 2);
    const double *x = hr_window_values(w);
    CHECK(x[12] == 1.0 && fabs(x[0]) < 1e-15 && fabs(x[14] - x[10]) == 0.0);
    CHECK(fabs(x[13] - (1.0 - 1.0 / sqrt(8.0))) < 1e-15);
    hr_window_destroy(w);
    CHECK(hr_window_gaussian(1, 1e-200, &w) == HR_OK);
    CHECK(hr_window_values(w)[4] == 1.0 && hr_window_values(w)[3] == 0.0);
    hr_window_destroy(w);
}

static int64_t rank_of(hr_window *window, double tolerance)
{
    int64_t rank = -1;
    double error = 2.0;
    CHECK(hr_window_rank(window, tolerance, &rank, &error) == HR_OK);
    CHECK(error <= tolerance);
    hr_window_destroy(window);
    return rank;
}

/* What a window keeps of one question is not the answer to another. */
static void find_ranks_again(void)
{
    TEST_CASE("ranks, again");
    static const double tolerances[] = {1e-6, 1e-3, 1e-6, 1e-6, 1e-12};
    int64_t seen[5] = {0};
    double errors[5] = {0};
    hr_window *w = NULL;
    CHECK(hr_window_radial(60, &w) == HR_OK);
    for (int i = 0; i < 5; i++) {
        CHECK(hr_window_rank(w, tolerances[i], &seen[i], &errors[i]) == HR_OK);
        CHECK(errors[i] <= tolerances[i]);
    }
    CHECK(seen[0] == 10 && seen[1] < 10 && seen[4] > 10);
    CHECK(seen[2] == seen[0] && seen[3] == seen[0]);
    CHECK(errors[2] == errors[0] && errors[3] == errors[0]);
    hr_window_destroy(w);
}

/* A single weight, with any tolerance. */
static void filter_by_one(void)
{
    TEST_CASE("one weight");
    static const float in[] = {1, 2, 3, 4};
    static const double three = 3.0;
    for (int m = HR_FILTER_AUTO; m <= HR_FILTER_SEPARABLE; m++) {
        float out[4] = {0};
        hr_window *w = NULL;
        hr_context *context = test_context("host", 0);
        hr_filter_options options = HR_FILTER_OPTIONS_INIT;
        options.method = (hr_filter_method)m;
        options.tolerance = 1.0;
        CHECK(hr_window_create(0, &three, &w) == HR_OK);
        CHECK(hr_filter(context, w, 1.0,
                        hr_matrix_row_major(in, HR_F32, 2, 2, 0),
                        hr_matrix_row_major(out, HR_F32, 2, 2, 0),
                        &options) == HR_OK);
        CHECK(out[0] == 3.0f && out[3] == 12.0f);
        hr_window_destroy(w);
        hr_context_destroy(context);
    }
}

static void find_ranks(void)
{
    TEST_CASE("ranks");
    enum { S = 60, N = 2 * S + 1 };
    hr_window *w = NULL;
    int64_t rank;
    CHECK_FAILS(hr_window_rank(NULL, 0.0, &rank, NULL), HR_ERROR_INVALID,
                "window");
    CHECK(hr_window_box(S, &w) == HR_OK && rank_of(w, 1e-14) == 1);
    CHECK(hr_window_gaussian(S, 20.0, &w) == HR_OK && rank_of(w, 1e-14) == 1);
    CHECK(hr_window_radial(S, &w) == HR_OK && rank_of(w, 1e-6) == 10);
    CHECK(hr_window_radial(S, &w) == HR_OK);
    CHECK_FAILS(hr_window_rank(w, -1.0, &rank, NULL), HR_ERROR_INVALID, "-1");
    CHECK(rank_of(w, 1e-13) < 30);
    static double table[N * N];
    CHECK(hr_window_create(S, table, &w) == HR_OK && rank_of(w, 0.0) == 1);
    for (int i = 0; i < N * N; i++) { /* of rank 3 */
        const double y = i / N - S, x = i % N - S;
        table[i] = 1.0 + 0.3 * x * y - 0.01 * x * x * y * y;
    }
    CHECK(hr_window_create(S, table, &w) == HR_OK && rank_of(w, 1e-13) == 3);
    memset(table, 0, sizeof table);
    for (int i = 0; i < N; i++) {
        table[i * N + i] = 1.0;
    }
    CHECK(hr_window_create(S, table, &w) == HR_OK && rank_of(w, 1e-13) == N);
}

/* ---- rules */

enum { ROWS = 6, COLS = 8 };

static float in[ROWS * COLS], out[ROWS * COLS];

static hr_context *hosts;
static hr_window *box;

typedef struct request {
    hr_context *context;
    hr_window *window;
    double scale;
    hr_matrix a, b;
    hr_filter_report report;
    hr_filter_options options;
} request;

static request good(void)
{
    for (int i = 0; i < ROWS * COLS; i++) {
        out[i] = 7.0f;
    }
    return (request){.context = hosts,
                     .window = box,
                     .scale = 1.0,
                     .a = hr_matrix_row_major(in, HR_F32, ROWS, COLS, 0),
                     .b = hr_matrix_row_major(out, HR_F32, ROWS, COLS, 0),
                     .report = HR_FILTER_REPORT_INIT,
                     .options = HR_FILTER_OPTIONS_INIT};
}

static hr_status call(request *r)
{
    r->options.report = &r->report;
    return hr_filter(r->context, r->window, r->scale, r->a, r->b, &r->options);
}

static bool untouched(const request *r)
{
    bool same = r->report.seconds == 0;
    for (int i = 0; i < ROWS * COLS; i++) {
        same = same && out[i] == 7.0f;
    }
    return same;
}

static void refuse_matrices(void)
{
    REFUSED(r.context = NULL, HR_ERROR_INVALID, "context");
    REFUSED(r.window = NULL, HR_ERROR_INVALID, "window");
    REFUSED(r.scale = NAN, HR_ERROR_INVALID, "scale");
    REFUSED(r.b.type = HR_F64, HR_ERROR_UNSUPPORTED,
            "in is of f32 and out of f64");
    REFUSED(r.a.type = (hr_type)0, HR_ERROR_UNSUPPORTED,
            "filter: unknown type 0 of in");
    REFUSED(r.b.type = (hr_type)99, HR_ERROR_UNSUPPORTED,
            "filter: unknown type 99 of out");
    REFUSED(r.b.rows--, HR_ERROR_INVALID, "5x8");
    REFUSED(r.b.row_stride = COLS - 1, HR_ERROR_INVALID, "strides");
    REFUSED(r.b.data = NULL, HR_ERROR_INVALID, "out is NULL");
    REFUSED(r.b = r.a, HR_ERROR_INVALID, "overlaps");
}

static void set_list(request *r, const uint32_t *accelerators, uint32_t count)
{
    r->options.accelerators = accelerators;
    r->options.accelerator_count = count;
}

static void refuse_options(void)
{
    static const uint32_t twice[] = {1, 1}, none[] = {2};
    REFUSED(r.options.edges = (hr_edges)5, HR_ERROR_INVALID, "edges 5");
    REFUSED(r.options.method = (hr_filter_method)4, HR_ERROR_INVALID,
            "method 4");
    REFUSED(r.options.tolerance = -1.0, HR_ERROR_INVALID, "tolerance");
    REFUSED(r.options.constant = 1e300, HR_ERROR_INVALID, "constant");
    REFUSED(set_list(&r, NULL, 1), HR_ERROR_INVALID, "NULL");
    REFUSED(set_list(&r, none, 1), HR_ERROR_INVALID,
            "accelerator index 2 is not below");
    REFUSED(set_list(&r, twice, 2), HR_ERROR_INVALID, "twice");
    REFUSED(set_list(&r, twice, 3), HR_ERROR_INVALID, "3 accelerators");
    REFUSED(r.options.size = 8, HR_ERROR_INVALID, "size");
    REFUSED(r.report.size = 7, HR_ERROR_INVALID, "report");
}

static void plan_filters(void)
{
    TEST_CASE("plans");
    request r = good();
    hr_matrix p = r.a, q = r.b;
    p.data = q.data = NULL; /* a plan needs no data */
    CHECK(hr_filter_plan(hosts, box, 1.0, p, q, NULL, &r.report) == HR_OK);
    CHECK(r.report.method != HR_FILTER_AUTO && r.report.seconds > 0.0);
    r.report.size = 7;
    CHECK_FAILS(hr_filter_plan(hosts, box, 1.0, p, q, NULL, &r.report),
                HR_ERROR_INVALID, "report");
    CHECK_FAILS(hr_filter_plan(hosts, box, 1.0, p, q, NULL, NULL),
                HR_ERROR_INVALID, "NULL");
}

static void filter_nothing(void)
{
    TEST_CASE("nothing to do");
    request r = good();
    r.a.rows = r.b.rows = 0;
    CHECK(call(&r) == HR_OK);
    CHECK(r.report.products == 0.0 && r.report.accelerators == 0);
    r = good();
    CHECK(hr_window_box(3, &r.window) == HR_OK); /* larger than the picture */
    CHECK(call(&r) == HR_OK);
    CHECK(r.report.products == 0.0 && out[0] == 7.0f);
    hr_window_destroy(r.window);
}

/* ---- any number of accelerators, threads and pieces */

enum { EDGE = 151, REACH = 7 };

static float picture[EDGE * EDGE], want[EDGE * EDGE], got[EDGE * EDGE];

static hr_status filter_picture(hr_context *context, hr_filter_options *options,
                                float *to)
{
    hr_window *w = NULL;
    HRI_TRY(hr_window_radial(REACH, &w));
    const hr_status status = hr_filter(
        context, w, 0.01, hr_matrix_row_major(picture, HR_F32, EDGE, EDGE, 0),
        hr_matrix_row_major(to, HR_F32, EDGE, EDGE, 0), options);
    hr_window_destroy(w);
    return status;
}

static void compare_bits(void)
{
    static const struct {
        const char *list;
        uint64_t limit;
    } sets[] = {{"1xhost", 0},      {"2xhost", 0},      {"3xhost", 0},
                {"5xhost", 0},      {"7xhost", 0},      {"1xhost", 140000},
                {"3xhost", 140000}, {"7xhost", 150000}, {"host", 0}};
    TEST_CASE("the same bits");
    hr_context *host = test_context("host", 0);
    for (int i = 0; i < 15; i++) {
        hr_filter_options options = HR_FILTER_OPTIONS_INIT;
        hr_filter_report report = HR_FILTER_REPORT_INIT;
        options.edges = (hr_edges)(i % 5);
        options.method = i % 2 > 0 ? HR_FILTER_DIRECT : HR_FILTER_SEPARABLE;
        if (i % 3 == 2) {
            options.method = HR_FILTER_FFT;
        }
        memset(want, 0, sizeof want);
        hr_status status = filter_picture(host, &options, want);
        if (status == HR_ERROR_UNSUPPORTED) { /* no FFTW here */
            continue;
        }
        CHECK(status == HR_OK);
        options.report = &report;
        for (size_t k = 0; k < sizeof sets / sizeof sets[0]; k++) {
            if (options.method == HR_FILTER_FFT && sets[k].limit > 0) {
                continue; /* whole blocks have no room */
            }
            hr_context *context = test_context(sets[k].list, sets[k].limit);
            options.one_thread = (i + (int)k) % 2 > 0;
            memset(got, 0, sizeof got);
            CHECK(filter_picture(context, &options, got) == HR_OK);
            CHECK(memcmp(got, want, sizeof got) == 0);
            CHECK(sets[k].limit == 0 || report.pieces > 1);
            hr_context_destroy(context);
        }
    }
    hr_context_destroy(host);
}

static void refuse_little_memory(void)
{
    TEST_CASE("too little memory");
    hr_context *context = test_context("1xhost", 20000);
    hr_filter_options options = HR_FILTER_OPTIONS_INIT;
    memset(got, 0, sizeof got);
    CHECK_FAILS(filter_picture(context, &options, got), HR_ERROR_OUT_OF_MEMORY,
                "20000 bytes");
    CHECK(got[EDGE * EDGE / 2] == 0.0f);
    hr_context_destroy(context);
}

static void name_methods(void)
{
    static const char *const edges[] = {"left",     "clamped",  "mirrored",
                                        "periodic", "constant", "?"};
    static const char *const methods[] = {"auto", "direct", "separable", "fft",
                                          "?"};
    TEST_CASE("names of edges and of methods");
    for (int i = 0; i < 6; i++) {
        CHECK(strcmp(hr_edges_name((hr_edges)i), edges[i]) == 0);
    }
    for (int i = 0; i < 5; i++) {
        CHECK(strcmp(hr_filter_method_name((hr_filter_method)i), methods[i]) ==
              0);
    }
    CHECK(strcmp(hr_edges_name((hr_edges)-1), "?") == 0 &&
          strcmp(hr_filter_method_name((hr_filter_method)-1), "?") == 0);
}

int main(void)
{
    TEST(name_methods());
    random_source random = {60};
    for (int i = 0; i < EDGE * EDGE; i++) {
        picture[i] = (float)random_unit(&random);
    }
    TEST(make_windows());
    TEST(find_ranks());
    TEST(find_ranks_again());
    TEST(filter_by_one());
    hosts = test_context("2xhost", 0);
    CHECK(hr_window_box(1, &box) == HR_OK);
    TEST(refuse_matrices());
    TEST(refuse_options());
    TEST(plan_filters());
    TEST(filter_nothing());
    hr_window_destroy(box);
    hr_context_destroy(hosts);
    TEST(compare_bits());
    TEST(refuse_little_memory());
    return test_end();
}
