/* SPDX-License-Identifier: MIT */
/* Calls have the usual arithmetic, whatever the program has: the same bits, no
 * trap, and the program's arithmetic and exceptions are as they were. Nor does
 * it matter what it had when it created the context: threads of a BLAS start
 * then. */
#define _GNU_SOURCE /* feenableexcept */
#include <fenv.h>
#include <float.h>
#include <string.h>
#if defined(__SSE__)
#include <xmmintrin.h>
#endif

#include "support/bed.h"

extern const hr_kernel run1;

enum { N = 96, BYTES = N * N * 8 };

/* Elements, and what a call has made. */
static float first[N * N], second[N * N];
static double first_wide[N * N], second_wide[N * N];
static unsigned char made[BYTES];

/* Products are subnormal, or overflow, or are inexact. */
static void fill_elements(void)
{
    for (int i = 0; i < N * N; i++) {
        const float size = i % 3 == 0 ? 1e-30F : i % 3 == 1 ? 1e25F : 0.7F;
        first[i] = size * (float)(1 + i % 7);
        second[i] = i % (N + 1) == 0 ? 1e-9F : i % 11 == 0 ? 1e14F : 0;
        first_wide[i] = (double)(i % 13) / 7;
        second_wide[i] = i % (N + 1) == 0 ? 1e-310 : (double)(i % 5) / 3;
    }
}

/* ---- calls */

static hr_status multiply_matrices(const bed *b)
{
    return hr_gemm(b->context, hr_real(1),
                   hr_matrix_row_major(first, HR_F32, N, N, 0),
                   hr_matrix_row_major(second, HR_F32, N, N, 0), hr_real(0),
                   hr_matrix_row_major(made, HR_F32, N, N, 0), NULL);
}

static hr_status plan_product(const bed *b)
{
    hr_gemm_report report = HR_GEMM_REPORT_INIT;
    return hr_gemm_plan(
        b->context, hr_real(1),
        hr_matrix_row_major(first, HR_F32, 1000, 1000, 0),
        hr_matrix_row_major(first, HR_F32, 1000, 1000, 0), hr_real(0),
        hr_matrix_row_major(made, HR_F32, 1000, 1000, 0), NULL, &report);
}

/* Of a right product of subnormal numbers, and of one that is 0 instead. */
static hr_status verify_products(const bed *b)
{
    static double x[N * N], y[N * N], right[N * N], zeros[N * N];
    const hr_matrix mx = hr_matrix_row_major(x, HR_F64, N, N, 0);
    const hr_matrix my = hr_matrix_row_major(y, HR_F64, N, N, 0);
    const hr_matrix found[2] = {hr_matrix_row_major(right, HR_F64, N, N, 0),
                                hr_matrix_row_major(zeros, HR_F64, N, N, 0)};
    hr_status verdicts[2] = {HR_OK, HR_OK};
    for (int i = 0; i < N * N; i++) {
        x[i] = 1e-200;
        y[i] = i % (N + 1) == 0 ? 1e-115 : 0;
    }
    const hr_status status =
        hr_gemm(b->context, hr_real(1), mx, my, hr_real(0), found[0], NULL);
    for (int i = 0; i < 2; i++) {
        verdicts[i] = hr_gemm_verify(b->context, hr_real(1), mx, my, hr_real(0),
                                     found[i], found[i], NULL);
    }
    CHECK(verdicts[0] == HR_OK && verdicts[1] == HR_ERROR_MISMATCH);
    return status;
}

/* The elements of a window, and its rank. */
static hr_status keep_window(hr_window *window, unsigned char *to)
{
    int64_t rank = 0;
    double error = 0;
    memcpy(to, hr_window_values(window), sizeof(double) * 11 * 11);
    const hr_status status = hr_window_rank(window, 1e-6, &rank, &error);
    memcpy(to + 1024, &rank, sizeof rank);
    memcpy(to + 1032, &error, sizeof error);
    hr_window_destroy(window);
    return status;
}

static hr_status make_windows(const bed *b)
{
    hr_window *window = NULL;
    (void)b;
    HRI_TRY(hr_window_gaussian(5, 1.7, &window));
    HRI_TRY(keep_window(window, made));
    HRI_TRY(hr_window_radial(5, &window));
    return keep_window(window, made + 2048);
}

static hr_status filter_by(const bed *b, hr_filter_method method, void *to)
{
    hr_window *window = NULL;
    hr_filter_options options = HR_FILTER_OPTIONS_INIT;
    options.method = method;
    HRI_TRY(hr_window_gaussian(3, 1.7, &window));
    const hr_status status = hr_filter(
        b->context, window, 0.3, hr_matrix_row_major(first, HR_F32, N, N, 0),
        hr_matrix_row_major(to, HR_F32, N, N, 0), &options);
    hr_window_destroy(window);
    return status;
}

static hr_status filter_matrix(const bed *b)
{
    HRI_TRY(filter_by(b, HR_FILTER_DIRECT, made));
    return filter_by(b, HR_FILTER_SEPARABLE, made + (size_t)N * N * 4);
}

/* A call on one array, or two. */
typedef hr_status on_arrays(hr_context *context, hr_view from, hr_view to);

static hr_status call_with_arrays(const bed *b, on_arrays *call)
{
    hr_array *from = bed_wrap(b, first, sizeof *first, hr_extent1(N * N));
    hr_array *to = bed_wrap(b, made, sizeof(float), hr_extent1(N * N));
    hr_status status = call(b->context, hr_view_of(from), hr_view_of(to));
    if (status == HR_OK) {
        status = hr_synchronize(hr_view_of(to));
    }
    hr_array_destroy(from);
    hr_array_destroy(to);
    return status;
}

static hr_status reduce_array(hr_context *context, hr_view from, hr_view to)
{
    static const hr_reduction kinds[] = {HR_REDUCE_NORM, HR_REDUCE_SUM,
                                         HR_REDUCE_SUM_ABS, HR_REDUCE_PRODUCT};
    double values[4];
    (void)to;
    for (int i = 0; i < 4; i++) {
        hr_reduced result = {.value = 0};
        HRI_TRY(
            hr_reduce(context, kinds[i], HR_F32, from, NULL, NULL, &result));
        values[i] = result.value;
    }
    memcpy(made, values, sizeof values);
    return HR_OK;
}

static hr_status fill_at_random(hr_context *context, hr_view from, hr_view to)
{
    const hr_random random = {.distribution = HR_RANDOM_NORMAL, .seed = 1};
    (void)from;
    return hr_random_fill(context, to, HR_F32, random, NULL);
}

static hr_status scan_array(hr_context *context, hr_view from, hr_view to)
{
    return hr_scan(context, HR_REDUCE_SUM, HR_SCAN_INCLUSIVE, HR_F32, from, to,
                   NULL);
}

static hr_status sort_array(hr_context *context, hr_view from, hr_view to)
{
    return hr_sort(context, HR_SORT_ASCENDING, HR_F32, from, to, NULL);
}

static hr_status launch_split(hr_context *context, hr_view from, hr_view to)
{
    return hr_launch_split(
        context, &run1, hr_extent1(N * N),
        HR_ARGUMENTS(hr_value(0.3F), hr_in(from), hr_inout(to)), NULL);
}

static hr_status count_histogram(const bed *b)
{
    enum { BINS = 37 };
    hr_array *from = bed_wrap(b, first_wide, sizeof(double), hr_extent1(N * N));
    hr_array *counts = bed_wrap(b, made, sizeof(int64_t), hr_extent1(BINS));
    hr_status status = hr_histogram(b->context, HR_F64, hr_view_of(from), 0.1,
                                    1.7, hr_view_of(counts), NULL);
    if (status == HR_OK) {
        status = hr_synchronize(hr_view_of(counts));
    }
    hr_array_destroy(from);
    hr_array_destroy(counts);
    return status;
}

/* Whether accelerators multiply subnormal numbers. The context was created
 * under another arithmetic, and threads of libraries may have started under it.
 */
static void multiply_subnormals(const bed *b)
{
    enum { EDGE = 256 };
    static float x[EDGE * EDGE], y[EDGE * EDGE], z[EDGE * EDGE];
    int wrong = 0;
    TEST_CASE("subnormal numbers, in a context of another arithmetic");
    for (uint32_t i = 0; i < b->count; i++) {
        if (!b->context->accelerators[i].device->info.ieee) {
            return;
        }
    }
    for (int i = 0; i < EDGE * EDGE; i++) {
        x[i] = 1e-30F;
        y[i] = i % (EDGE + 1) == 0 ? 1e-9F : 0;
    }
    CHECK(hr_gemm(b->context, hr_real(1),
                  hr_matrix_row_major(x, HR_F32, EDGE, EDGE, 0),
                  hr_matrix_row_major(y, HR_F32, EDGE, EDGE, 0), hr_real(0),
                  hr_matrix_row_major(z, HR_F32, EDGE, EDGE, 0),
                  NULL) == HR_OK);
    for (int i = 0; i < EDGE * EDGE; i++) {
        wrong += z[i] != x[0] * y[0];
    }
    CHECK(wrong == 0);
}

/* ---- arithmetic */

typedef struct mode {
    const char *name;
    int rounding;
    bool flushes, traps;
} mode;

#ifndef __GLIBC__ /* traps are glibc's alone */
static int feenableexcept(int exceptions)
{
    (void)exceptions;
    return -1;
}

static int fegetexcept(void)
{
    return 0;
}
#endif

static bool has_traps(void)
{
    const bool has = feenableexcept(FE_INVALID) >= 0;
    CHECK(fesetenv(FE_DFL_ENV) == 0);
    return has;
}

static void set_arithmetic(const mode *m)
{
    CHECK(fesetround(m->rounding) == 0);
#if defined(__SSE__)
    _mm_setcsr(_mm_getcsr() | (m->flushes ? 0x8040u : 0));
#endif
    if (m->traps) {
        feclearexcept(FE_ALL_EXCEPT);
        CHECK(feenableexcept(FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW) >= 0);
    } else {
        feclearexcept(FE_ALL_EXCEPT);
        feraiseexcept(FE_DIVBYZERO);
    }
}

/* The exceptions that were raised: on musl only those of vector registers,
 * since its snprintf computes in others. */
static int raised_exceptions(void)
{
#if !defined(__GLIBC__) && defined(__SSE__)
    return (int)(_mm_getcsr() & FE_ALL_EXCEPT);
#else
    return fetestexcept(FE_ALL_EXCEPT);
#endif
}

/* Whether it is as `set_arithmetic` left it. Afterwards it is the usual one. */
static bool is_unchanged(const mode *m)
{
    const bool traps = fegetexcept() ==
                       (m->traps ? FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW : 0);
    const bool raised = raised_exceptions() == (m->traps ? 0 : FE_DIVBYZERO);
    bool same = traps && raised && fegetround() == m->rounding;
#if defined(__SSE__)
    same = same && (_mm_getcsr() & 0x8040u) == (m->flushes ? 0x8040u : 0);
#endif
    CHECK(fesetenv(FE_DFL_ENV) == 0);
    return same;
}

/* What is called: with arrays, or without. */
static const struct {
    const char *name;
    hr_status (*run)(const bed *b);
    on_arrays *of;
    bool wide; /* it needs double */
} calls[] = {{"product", multiply_matrices, NULL, false},
             {"plan", plan_product, NULL, false},
             {"verify", verify_products, NULL, true},
             {"windows", make_windows, NULL, false},
             {"filter", filter_matrix, NULL, false},
             {"norms", NULL, reduce_array, false},
             {"random numbers", NULL, fill_at_random, false},
             {"scan", NULL, scan_array, false},
             {"sort", NULL, sort_array, false},
             {"split launch", NULL, launch_split, false},
             {"histogram", count_histogram, NULL, true}};

static hr_status run_call(const bed *b, size_t call)
{
    return calls[call].run != NULL ? calls[call].run(b)
                                   : call_with_arrays(b, calls[call].of);
}

static void try_call(const bed *b, size_t call, const mode *m)
{
    static unsigned char usual[BYTES];
    memset(made, 0, sizeof made);
    CHECK(run_call(b, call) == HR_OK);
    memcpy(usual, made, sizeof made);
    memset(made, 0, sizeof made);
    set_arithmetic(m);
    const hr_status status = run_call(b, call);
    const bool unchanged = is_unchanged(m);
    if (!CHECK(status == HR_OK) || !CHECK(unchanged) ||
        !CHECK(memcmp(made, usual, sizeof made) == 0)) {
        printf("%s, %s\n", calls[call].name, m->name);
    }
}

static const mode modes[] = {
    {"upward, subnormal numbers are 0", FE_UPWARD, true, false},
    {"to zero", FE_TOWARDZERO, false, false},
    {"traps", FE_TONEAREST, false, true}};

static void try_calls(bed *b)
{
    CHECK(is_unchanged(&modes[0]));
    fill_elements();
    TEST(multiply_subnormals(b));
    for (size_t m = 0; m < sizeof modes / sizeof modes[0]; m++) {
        TEST_CASE(modes[m].name);
        if (modes[m].traps && !has_traps()) {
            printf("this CPU traps nothing\n");
            continue;
        }
        for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
            if (!calls[i].wide || bed_has_double(b)) {
                try_call(b, i, &modes[m]);
            }
        }
    }
}

int main(int argc, char **argv)
{
    set_arithmetic(&modes[0]); /* when the context is created */
    return bed_main(argc > 1 ? argv[1] : "host", try_calls);
}
