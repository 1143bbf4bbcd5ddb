/* SPDX-License-Identifier: MIT */
/* Filters on the accelerators of argv[1] compared with sums in double: all
 * edges, types, methods and layouts, within bounds of rounding [Higham2002] and
 * the tolerance; and everything that breaks a rule. argv[2]: how many small
 * pictures, with a tenth as many large ones. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <headrace/headrace.h>

#include "base/size.h"
#include "support/random.h"
#include "test.h"

/* A thread sanitizer makes arithmetic slow, and what it tests does not depend
 * on the picture. */
enum { SMALL = TEST_TSAN ? 40 : 200, SMALL_FAR = TEST_TSAN ? 30 : 80 };

typedef struct trial {
    hr_type type;
    int64_t rows, cols, reach;
    hr_edges edges;
    hr_filter_method method;
    hr_window *window;
    double scale, constant, tolerance;
    hr_matrix in, out;
} trial;

static double get_element(const hr_matrix *m, int64_t row, int64_t col)
{
    const int64_t at = row * m->row_stride + col * m->col_stride;
    return m->type == HR_F32 ? (double)((const float *)m->data)[at]
                             : ((const double *)m->data)[at];
}

static void put_element(const hr_matrix *m, int64_t row, int64_t col, double x)
{
    const int64_t at = row * m->row_stride + col * m->col_stride;
    if (m->type == HR_F32) {
        ((float *)m->data)[at] = (float)x;
    } else {
        ((double *)m->data)[at] = x;
    }
}

/* Which element stands for i, by walking there; -1: none. */
static int64_t stand_in(int64_t i, int64_t count, hr_edges edges)
{
    while (i < 0 || i >= count) {
        if (edges == HR_EDGES_CLAMPED) {
            i += i < 0 ? 1 : -1;
        } else if (edges == HR_EDGES_PERIODIC) {
            i += i < 0 ? count : -count;
        } else if (edges == HR_EDGES_MIRRORED) {
            i = i < 0 ? -1 - i : 2 * count - 1 - i;
        } else {
            return -1;
        }
    }
    return i;
}

/* The element of out at (row, col), and the sum of the products' sizes; false
 * when it is to be left. */
static bool sum_window(const trial *t, int64_t row, int64_t col, double *sum,
                       double *size)
{
    const double *w = hr_window_values(t->window);
    const int64_t s = t->reach;
    *sum = *size = 0.0;
    if (t->edges == HR_EDGES_LEFT &&
        (row < s || col < s || row + s >= t->rows || col + s >= t->cols)) {
        return false;
    }
    for (int64_t i = -s; i <= s; i++) {
        const int64_t r = stand_in(row + i, t->rows, t->edges);
        for (int64_t j = -s; j <= s; j++) {
            const int64_t c = stand_in(col + j, t->cols, t->edges);
            const double x =
                r < 0 || c < 0 ? t->constant : get_element(&t->in, r, c);
            *sum += t->scale * *w * x;
            *size += fabs(t->scale * *w * x);
            w++;
        }
    }
    return true;
}

/* What a sum of separable filters is off by, for each 1 of max |in|: its
 * tolerance, and rounding of sums of |u v|, which are no more than n sqrt(rank)
 * |w|_F [Cauchy and Schwarz, the columns of u and v being orthogonal]. */
static double separable_bound(const trial *t, int64_t rank, double error)
{
    const double u = (t->type == HR_F32 ? FLT_EPSILON : DBL_EPSILON) / 2;
    const double *w = hr_window_values(t->window);
    const double n = 2.0 * (double)t->reach + 1.0;
    double sum = 0.0, squares = 0.0;
    for (int64_t i = 0; i < (int64_t)(n * n); i++) {
        sum += fabs(w[i]);
        squares += w[i] * w[i];
    }
    const double terms = n * (double)rank + n + 4.0;
    const double gamma = terms * u / (1.0 - terms * u);
    return fabs(t->scale) *
           (error * sum + gamma * n * sqrt((double)rank * squares) + 1e-300);
}

/* Transforms of edge x edge elements [Higham2002, 24.1], three of them, each
 * off by at most 8 u log2(edge^2) of its norm. */
static double fft_bound(const trial *t)
{
    const double u = (t->type == HR_F32 ? FLT_EPSILON : DBL_EPSILON) / 2;
    const double *w = hr_window_values(t->window);
    const int64_t n = 2 * t->reach + 1;
    const double edge =
        64.0 + 3.0 * (double)(hri_max(t->rows, t->cols) + 2 * t->reach);
    double squares = 0.0;
    for (int64_t i = 0; i < n * n; i++) {
        squares += w[i] * w[i];
    }
    return 3.0 * 16.0 * u * log2(edge) * edge * fabs(t->scale) * sqrt(squares);
}

static void check_result(const trial *t, const hr_filter_report *report)
{
    const double u = (t->type == HR_F32 ? FLT_EPSILON : DBL_EPSILON) / 2;
    const double n = 2.0 * (double)t->reach + 1.0, terms = n * n + 3.0;
    const double gamma = terms * u / (1.0 - terms * u);
    double most = fabs(t->constant), off = 0.0;
    for (int64_t i = 0; i < t->rows * t->cols; i++) {
        most = fmax(most, fabs(get_element(&t->in, i / t->cols, i % t->cols)));
    }
    if (report->method == HR_FILTER_SEPARABLE) {
        off = most * separable_bound(t, report->rank, report->window_error);
    }
    if (report->method == HR_FILTER_FFT) {
        off = most * fft_bound(t);
    }
    long wrong = 0;
    for (int64_t i = 0; i < t->rows * t->cols; i++) {
        double sum, size;
        const double x = get_element(&t->out, i / t->cols, i % t->cols);
        if (!sum_window(t, i / t->cols, i % t->cols, &sum, &size)) {
            wrong += x != 77.0;
        } else {
            wrong += !(fabs(x - sum) <= gamma * size + off + DBL_MIN);
        }
    }
    if (!CHECK(wrong == 0)) {
        fprintf(stderr,
                "  %ld wrong: %s %lldx%lld reach %lld, %s, %s (%s), rank "
                "%lld, strides %lld %lld\n",
                wrong, hr_type_name(t->type), (long long)t->rows,
                (long long)t->cols, (long long)t->reach,
                hr_edges_name(t->edges), hr_filter_method_name(t->method),
                hr_filter_method_name(report->method), (long long)report->rank,
                (long long)t->in.row_stride, (long long)t->in.col_stride);
    }
}

/* A matrix with room around it, by rows or by columns. */
static hr_matrix make_matrix(random_source *random, hr_type type, int64_t rows,
                             int64_t cols)
{
    const int64_t spare = random_between(random, 0, 3);
    const bool by_rows = random_between(random, 0, 3) > 0;
    const int64_t stride = (by_rows ? cols : rows) + spare;
    const int64_t lines = by_rows ? rows : cols;
    void *data = calloc((size_t)(stride * lines + 1), hr_type_size(type));
    return by_rows ? hr_matrix_row_major(data, type, rows, cols, stride)
                   : hr_matrix_column_major(data, type, rows, cols, stride);
}

static hr_window *make_window(random_source *random, int64_t reach)
{
    hr_window *window = NULL;
    const int64_t n = 2 * reach + 1, kind = random_between(random, 0, 3);
    if (kind == 0) {
        double *w = calloc((size_t)(n * n), sizeof *w);
        for (int64_t i = 0; i < n * n; i++) {
            w[i] = random_unit(random);
        }
        CHECK(hr_window_create(reach, w, &window) == HR_OK);
        free(w);
    } else if (kind == 1) {
        CHECK(hr_window_box(reach, &window) == HR_OK);
    } else if (kind == 2) {
        const double sigma = 0.5 + 3.0 * fabs(random_unit(random));
        CHECK(hr_window_gaussian(reach, sigma, &window) == HR_OK);
    } else {
        CHECK(hr_window_radial(reach, &window) == HR_OK);
    }
    return window;
}

static bool transforms; /* FFTW is here, and the host */

/* By views of arrays over the matrices. Their rows may be longer. */
static hr_status filter_views(hr_context *context, const trial *t,
                              const hr_filter_options *options)
{
    const hr_matrix *matrices[] = {&t->in, &t->out};
    const int64_t origin[] = {0, 0};
    hr_array *arrays[2] = {NULL, NULL};
    hr_view views[2];
    for (int i = 0; i < 2; i++) {
        const hr_matrix *m = matrices[i];
        CHECK(hr_array_wrap(context, m->data, hr_type_size(m->type),
                            hr_extent2(m->rows, m->row_stride), 0,
                            &arrays[i]) == HR_OK);
        CHECK(hr_view_section(hr_view_of(arrays[i]), origin,
                              hr_extent2(m->rows, m->cols),
                              &views[i]) == HR_OK);
    }
    hr_status status = hr_filter_views(context, t->window, t->scale, t->type,
                                       views[0], views[1], options);
    if (status == HR_OK) {
        status = hr_synchronize(views[1]);
    }
    hr_array_destroy(arrays[0]);
    hr_array_destroy(arrays[1]);
    return status;
}

static void try_picture(hr_context *context, random_source *random,
                        int64_t most, int64_t reach)
{
    trial t = {.type = random_between(random, 0, 2) > 0 ? HR_F32 : HR_F64,
               .rows = random_between(random, 1, most),
               .cols = random_between(random, 1, most),
               .reach = random_between(random, 0, reach),
               .edges = (hr_edges)random_between(random, 0, 4),
               .method = (hr_filter_method)random_between(random, 0,
                                                          transforms ? 3 : 2),
               .scale = random_unit(random),
               .constant = random_unit(random),
               .tolerance = random_between(random, 0, 1) > 0 ? 1e-3 : 0.0};
    t.window = make_window(random, t.reach);
    t.in = make_matrix(random, t.type, t.rows, t.cols);
    t.out = make_matrix(random, t.type, t.rows, t.cols);
    random_fill_matrix(random, &t.in);
    for (int64_t i = 0; i < t.rows * t.cols; i++) {
        put_element(&t.out, i / t.cols, i % t.cols, 77.0);
    }
    hr_filter_report report = HR_FILTER_REPORT_INIT;
    const hr_filter_options options = {.size = sizeof options,
                                       .edges = t.edges,
                                       .constant = t.constant,
                                       .method = t.method,
                                       .tolerance = t.tolerance,
                                       .one_thread =
                                           random_between(random, 0, 1) > 0,
                                       .report = &report};
    const bool by_views = t.in.col_stride == 1 && t.out.col_stride == 1 &&
                          random_between(random, 0, 1) > 0;
    CHECK((by_views ? filter_views(context, &t, &options)
                    : hr_filter(context, t.window, t.scale, t.in, t.out,
                                &options)) == HR_OK);
    CHECK(report.method != HR_FILTER_AUTO &&
          (t.method == HR_FILTER_AUTO || report.method == t.method));
    check_result(&t, &report);
    hr_window_destroy(t.window);
    free(t.in.data);
    free(t.out.data);
}

/* NaN reaches what its windows cover and nothing else. */
static void try_nan(hr_context *context, hr_filter_method method)
{
    enum { ROWS = 61, COLS = 150, S = 5, ROW = 17, COL = 66 };
    float in[ROWS * COLS], out[ROWS * COLS];
    hr_window *window = NULL;
    for (int i = 0; i < ROWS * COLS; i++) {
        in[i] = (float)(i % 7);
    }
    in[ROW * COLS + COL] = NAN;
    CHECK(hr_window_radial(S, &window) == HR_OK);
    const hr_filter_options options = {
        .size = sizeof options, .edges = HR_EDGES_CLAMPED, .method = method};
    CHECK(hr_filter(context, window, 1.0,
                    hr_matrix_row_major(in, HR_F32, ROWS, COLS, 0),
                    hr_matrix_row_major(out, HR_F32, ROWS, COLS, 0),
                    &options) == HR_OK);
    long wrong = 0;
    for (int i = 0; i < ROWS * COLS; i++) {
        const bool near = abs(i / COLS - ROW) <= S && abs(i % COLS - COL) <= S;
        wrong += near != (isnan(out[i]) != 0);
    }
    CHECK(wrong == 0);
    hr_window_destroy(window);
}

static void look_for_transforms(hr_context *context)
{
    hr_filter_report report = HR_FILTER_REPORT_INIT;
    const hr_filter_options options = {.size = sizeof options,
                                       .method = HR_FILTER_FFT};
    hr_window *window = NULL;
    CHECK(hr_window_box(1, &window) == HR_OK);
    transforms = true;
    for (int i = 0; i < 2; i++) {
        const hr_matrix m =
            hr_matrix_row_major(NULL, i > 0 ? HR_F32 : HR_F64, 9, 9, 0);
        const hr_status status =
            hr_filter_plan(context, window, 1.0, m, m, &options, &report);
        CHECK(status == HR_OK || status == HR_ERROR_UNSUPPORTED);
        transforms = transforms && status == HR_OK;
    }
    if (!transforms) {
        printf("without transforms: %s\n", hr_last_error());
    }
    hr_window_destroy(window);
}

int main(int count, char **arguments)
{
    hr_context_options options = HR_CONTEXT_OPTIONS_INIT;
    hr_context *context = NULL;
    random_source random = {2014};
    options.accelerators = count > 1 ? arguments[1] : "host";
    if (!test_open(&options, &context)) {
        return test_end();
    }
    const bool host = strstr(options.accelerators, "host") != NULL;
    const int usual = host ? SMALL : SMALL_FAR;
    const int small = count > 2 ? atoi(arguments[2]) : usual;
    look_for_transforms(context);
    TEST_CASE("small pictures, random windows");
    for (int i = 0; i < small; i++) {
        TEST(try_picture(context, &random, 40, 9));
    }
    TEST_CASE("more than a strip, a tile and a block");
    for (int i = 0; i < small / 10; i++) {
        TEST(try_picture(context, &random, 200, 40));
    }
    TEST_CASE("NaN reaches its window");
    TEST(try_nan(context, HR_FILTER_DIRECT));
    TEST(try_nan(context, HR_FILTER_SEPARABLE));
    hr_context_destroy(context);
    return test_end();
}
