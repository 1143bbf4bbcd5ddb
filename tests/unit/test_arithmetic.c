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
static void fill(void)
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

static hr_status product(const bed *b)
{
    return hr_gemm(b->context, hr_real(1),
                   hr_matrix_row_major(first, HR_F32, N, N, 0),
                   hr_matrix_row_major(second, HR_F32, N, N, 0), hr_real(0),
                   hr_matrix_row_major(made, HR_F32, N, N, 0), NULL);
}

static hr_status plan(const bed *b)
{
    hr_gemm_report report = HR_GEMM_REPORT_INIT;
    return hr_gemm_plan(
        b->context, hr_real(1),
        hr_matrix_row_major(first, HR_F32, 1000, 1000, 0),
        hr_matrix_row_major(first, HR_F32, 1000, 1000, 0), hr_real(0),
        hr_matrix_row_major(made, HR_F32, 1000, 1000, 0), NULL, &report);
}

/* Of a right product of subnormal numbers, and of one that is 0 instead. */
static hr_status verify(const bed *b)
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

static hr_status windows(const bed *b)
{
    hr_window *round[2] = {NULL, NULL};
    (void)b;
    hr_status status = hr_window_gaussian(5, 1.7, &round[0]);
    if (status == HR_OK) {
        status = hr_window_radial(5, &round[1]);
    }
    for (int i = 0; i < 2 && status == HR_OK; i++) {
        int64_t rank = 0;
        double error = 0;
        const size_t bytes = sizeof(double) * 11 * 11;
        memcpy(made + (size_t)i * 2048, hr_window_values(round[i]), bytes);
        status = hr_window_rank(round[i], 1e-6, &rank, &error);
        memcpy(made + 1024 + (size_t)i * 2048, &rank, sizeof rank);
        memcpy(made + 1032 + (size_t)i * 2048, &error, sizeof error);
    }
    hr_window_destroy(round[0]);
    hr_window_destroy(round[1]);
    return status;
}

static hr_status filter(const bed *b)
{
    static const hr_filter_method methods[] = {HR_FILTER_DIRECT,
                                               HR_FILTER_SEPARABLE};
    hr_window *window = NULL;
    hr_status status = hr_window_gaussian(3, 1.7, &window);
    for (int i = 0; i < 2 && status == HR_OK; i++) {
        hr_filter_options options = HR_FILTER_OPTIONS_INIT;
        options.method = methods[i];
        status = hr_filter(
            b->context, window, 0.3,
            hr_matrix_row_major(first, HR_F32, N, N, 0),
            hr_matrix_row_major(made + (size_t)i * N * N * 4, HR_F32, N, N, 0),
            &options);
    }
    hr_window_destroy(window);
    return status;
}

/* A call on one array, or two. */
typedef hr_status on_arrays(hr_context *context, hr_view from, hr_view to);

static hr_status with_arrays(const bed *b, on_arrays *call)
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

static hr_status norms_of(hr_context *context, hr_view from, hr_view to)
{
    static const hr_reduction kinds[] = {HR_REDUCE_NORM, HR_REDUCE_SUM,
                                         HR_REDUCE_SUM_ABS, HR_REDUCE_PRODUCT};
    double values[4];
    hr_status status = HR_OK;
    (void)to;
    for (int i = 0; i < 4 && status == HR_OK; i++) {
        hr_reduced result = {.value = 0};
        status =
            hr_reduce(context, kinds[i], HR_F32, from, NULL, NULL, &result);
        values[i] = result.value;
    }
    memcpy(made, values, sizeof values);
    return status;
}

static hr_status numbers_of(hr_context *context, hr_view from, hr_view to)
{
    const hr_random random = {.distribution = HR_RANDOM_NORMAL, .seed = 1};
    (void)from;
    return hr_random_fill(context, to, HR_F32, random, NULL);
}

static hr_status scan_of(hr_context *context, hr_view from, hr_view to)
{
    return hr_scan(context, HR_REDUCE_SUM, HR_SCAN_INCLUSIVE, HR_F32, from, to,
                   NULL);
}

static hr_status sort_of(hr_context *context, hr_view from, hr_view to)
{
    return hr_sort(context, HR_SORT_ASCENDING, HR_F32, from, to, NULL);
}

static hr_status launch_of(hr_context *context, hr_view from, hr_view to)
{
    return hr_launch_split(
        context, &run1, hr_extent1(N * N),
        HR_ARGUMENTS(hr_value(0.3F), hr_in(from), hr_inout(to)), NULL);
}

static hr_status norms(const bed *b)
{
    return with_arrays(b, norms_of);
}

static hr_status numbers(const bed *b)
{
    return with_arrays(b, numbers_of);
}

static hr_status scan(const bed *b)
{
    return with_arrays(b, scan_of);
}

static hr_status sort(const bed *b)
{
    return with_arrays(b, sort_of);
}

static hr_status launch(const bed *b)
{
    return with_arrays(b, launch_of);
}

static hr_status histogram(const bed *b)
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
static void subnormal(const bed *b)
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

static void set(const mode *m)
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

/* Whether it is as `set` left it. Afterwards it is the usual one. */
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

static const struct {
    const char *name;
    hr_status (*run)(const bed *b);
    bool wide; /* it needs double */
} calls[] = {{"product", product, false},
             {"plan", plan, false},
             {"verify", verify, true},
             {"windows", windows, false},
             {"filter", filter, false},
             {"norms", norms, false},
             {"random numbers", numbers, false},
             {"scan", scan, false},
             {"sort", sort, false},
             {"split launch", launch, false},
             {"histogram", histogram, true}};

static void try_call(const bed *b, size_t call, const mode *m)
{
    static unsigned char usual[BYTES];
    memset(made, 0, sizeof made);
    CHECK(calls[call].run(b) == HR_OK);
    memcpy(usual, made, sizeof made);
    memset(made, 0, sizeof made);
    set(m);
    const hr_status status = calls[call].run(b);
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

static void cases(bed *b)
{
    CHECK(is_unchanged(&modes[0]));
    fill();
    TEST(subnormal(b));
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
    set(&modes[0]); /* when the context is created */
    return bed_main(argc > 1 ? argv[1] : "host", cases);
}
