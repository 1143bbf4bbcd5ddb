/* SPDX-License-Identifier: MIT */
/* hr_gemm_verify through the public API: its rules, and errors planted into
 * single elements of a 4096 x 4096 product. */
#include "test.h"

#include <math.h>
#include <time.h>

#include "runtime/runtime.h"
#include "support/random.h"
#include "support/tolerance.h"
#include "verify/verify.h"

/* Sanitized arithmetic is too slow for the full size. */
enum { SIZE = TEST_TSAN || TEST_ASAN ? 768 : 4096 };
enum { PLANTED = 200, TILE = 64 };

static hr_context *context;

/* ---- the rules of the arguments */

typedef struct arguments {
    hr_scalar alpha, beta;
    hr_matrix a, b, c0, c;
} arguments;

static hr_status verify_with(const arguments *x, hr_verify_report *report)
{
    return hr_gemm_verify(context, x->alpha, x->a, x->b, x->beta, x->c0, x->c,
                          report);
}

/* A right product of small whole numbers: C = 2 A B - C0, where C0 = A B. */
static arguments small_product(float *a, float *b, float *c0, float *c)
{
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++) {
            a[3 * i + j] = (float)(i + j);
            b[3 * i + j] = (float)(i - j);
        }
    }
    for (int i = 0; i < 9; i++) {
        c[i] = 0.0f;
        for (int p = 0; p < 3; p++) {
            c[i] += a[i / 3 * 3 + p] * b[p * 3 + i % 3];
        }
        c0[i] = c[i];
    }
    return (arguments){hr_real(2.0),
                       hr_real(-1.0),
                       hr_matrix_row_major(a, HR_F32, 3, 3, 0),
                       hr_matrix_row_major(b, HR_F32, 3, 3, 0),
                       hr_matrix_row_major(c0, HR_F32, 3, 3, 0),
                       hr_matrix_row_major(c, HR_F32, 3, 3, 0)};
}

static void right_arguments(const arguments *good)
{
    hr_verify_report report = HR_VERIFY_REPORT_INIT;
    arguments x = *good;
    TEST_CASE("right arguments");
    CHECK(verify_with(&x, &report) == HR_OK);
    CHECK(report.trials >= 41 && report.suspects == 0 && report.row == -1 &&
          report.col == -1 && report.seconds > 0.0);
    CHECK(verify_with(&x, NULL) == HR_OK);
    x.beta = hr_real(0.0); /* C0 is not looked at */
    x.alpha = hr_real(1.0);
    x.c0 = (hr_matrix){.data = NULL};
    CHECK(verify_with(&x, &report) == HR_OK);
    x.alpha = hr_real(0.0); /* nor are A and B, but C must be 0 now */
    x.a.data = x.b.data = NULL;
    CHECK_FAILS(verify_with(&x, &report), HR_ERROR_MISMATCH, "should be 0");
    CHECK(report.row >= 0 && report.col >= 0 && report.error > report.bound);
    x = *good;
    x.a.cols = x.b.rows = 0; /* k = 0: C = -C0 */
    CHECK_FAILS(verify_with(&x, NULL), HR_ERROR_MISMATCH, "element (");
    x.a.rows = x.c.rows = x.c0.rows = 0;
    CHECK(verify_with(&x, &report) == HR_OK);
    CHECK(report.size == sizeof report && report.rows_checked == 0);
}

static void wrong_arguments(const arguments *good)
{
    hr_verify_report report = HR_VERIFY_REPORT_INIT;
    arguments x = *good;
    TEST_CASE("wrong arguments");
    CHECK_FAILS(
        hr_gemm_verify(NULL, x.alpha, x.a, x.b, x.beta, x.c0, x.c, &report),
        HR_ERROR_INVALID, "NULL");
    report.size = 3;
    CHECK_FAILS(verify_with(&x, &report), HR_ERROR_INVALID, "size is 3");
    report.size = sizeof report;
    x.c0.rows = 2;
    CHECK_FAILS(verify_with(&x, &report), HR_ERROR_INVALID, "C0 is 2x3");
    x.c0 = good->c0;
    x.c0.type = HR_I32;
    CHECK_FAILS(verify_with(&x, &report), HR_ERROR_INVALID, "i32");
    x.c0 = good->c0;
    x.c0.data = NULL;
    CHECK_FAILS(verify_with(&x, &report), HR_ERROR_INVALID, "C0 is NULL");
    x = *good;
    x.a.cols = 2;
    CHECK_FAILS(verify_with(&x, &report), HR_ERROR_INVALID, "3x2");
    x = *good;
    x.b.data = NULL;
    CHECK_FAILS(verify_with(&x, &report), HR_ERROR_INVALID, "B is NULL");
    x = *good;
    x.b.type = HR_F64;
    CHECK_FAILS(verify_with(&x, &report), HR_ERROR_UNSUPPORTED, "f64");
}

/* A caller of another version has another size of report. */
static void other_reports(const arguments *good)
{
    struct {
        hr_verify_report report;
        int64_t after;
    } newer = {.report.size = sizeof newer, .after = 5};
    hr_verify_report older = {.size = 8, .suspects = 77};
    TEST_CASE("reports of other versions");
    CHECK(verify_with(good, &newer.report) == HR_OK);
    CHECK(newer.report.size == sizeof newer && newer.after == 0);
    CHECK(verify_with(good, &older) == HR_OK);
    CHECK(older.trials > 0 && older.suspects == 77);
}

/* ---- errors in a large product */

/* Of all threads: what a busy machine does not distort. */
static double cpu_seconds(void)
{
    return (double)clock() / CLOCKS_PER_SEC;
}

typedef struct large {
    arguments x;
    tolerance tolerance;
    float *c;
    random_source source;
} large;

static float *random_floats(random_source *source)
{
    float *x = calloc((size_t)SIZE * SIZE, sizeof *x);
    if (!CHECK(x != NULL)) {
        exit(1);
    }
    hr_matrix m = hr_matrix_row_major(x, HR_F32, SIZE, SIZE, 0);
    random_fill_matrix(source, &m);
    return x;
}

static void large_init(large *l)
{
    *l = (large){.source = {4096}};
    float *a = random_floats(&l->source), *b = random_floats(&l->source);
    hr_gemm_report report = HR_GEMM_REPORT_INIT;
    hr_gemm_options options = HR_GEMM_OPTIONS_INIT;
    options.report = &report;
    l->c = random_floats(&l->source);
    l->x = (arguments){hr_real(1.0),
                       hr_real(0.0),
                       hr_matrix_row_major(a, HR_F32, SIZE, SIZE, 0),
                       hr_matrix_column_major(b, HR_F32, SIZE, SIZE, 0),
                       {.data = NULL},
                       hr_matrix_row_major(l->c, HR_F32, SIZE, SIZE, 0)};
    double start = cpu_seconds();
    CHECK(hr_gemm(context, l->x.alpha, l->x.a, l->x.b, l->x.beta, l->x.c,
                  &options) == HR_OK);
    printf("product of %d^3 in %.3f s, %.3f s of CPU time\n", SIZE,
           report.seconds, cpu_seconds() - start);
    l->tolerance = (tolerance){.alpha = l->x.alpha,
                               .beta = l->x.beta,
                               .a = l->x.a,
                               .b = l->x.b,
                               .old = l->x.c0,
                               .c = l->x.c};
    if (!CHECK(tolerance_init(&l->tolerance))) {
        exit(1);
    }
}

static void large_finish(large *l)
{
    tolerance_finish(&l->tolerance);
    free(l->x.a.data);
    free(l->x.b.data);
    free(l->c);
}

/* What an element becomes. */
typedef float (*spoil_function)(large *l, int64_t row, int64_t col);

static float make_zero(large *l, int64_t row, int64_t col)
{
    (void)l, (void)row, (void)col;
    return 0.0f;
}

static float flip_sign(large *l, int64_t row, int64_t col)
{
    return -l->c[row * SIZE + col];
}

static float flip_exponent_bit(large *l, int64_t row, int64_t col)
{
    float value = l->c[row * SIZE + col];
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    bits ^= 1u << random_between(&l->source, 23, 30);
    memcpy(&value, &bits, sizeof bits);
    return value;
}

static float take_from_next_tile(large *l, int64_t row, int64_t col)
{
    return l->c[row * SIZE + (col + TILE) % SIZE];
}

static double exact_element(const large *l, int64_t row, int64_t col)
{
    const float *a = l->x.a.data, *b = l->x.b.data;
    long double sum = 0.0L;
    for (int64_t p = 0; p < SIZE; p++) {
        sum += (long double)a[row * SIZE + p] * b[col * SIZE + p];
    }
    return (double)sum;
}

static float exceed_tolerance(large *l, int64_t row, int64_t col)
{
    return (float)(exact_element(l, row, col) +
                   1.02 * tolerance_of(&l->tolerance, row, col));
}

static const struct {
    const char *name;
    spoil_function spoil;
} kinds[] = {
    {"an element is 0", make_zero},
    {"an element has the wrong sign", flip_sign},
    {"a bit of the exponent is flipped", flip_exponent_bit},
    {"an element is that of the next tile", take_from_next_tile},
    {"an element is off by the tolerance", exceed_tolerance},
};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

/* Spoil element (row, random), so that it is wrong by more than the tolerance.
 * Returns the column. *old is its old value. */
static int64_t plant_error(large *l, spoil_function spoil, int64_t row,
                           float *old)
{
    for (;;) {
        int64_t col = random_between(&l->source, 0, SIZE - 1);
        float *at = &l->c[row * SIZE + col];
        *old = *at;
        *at = spoil(l, row, col);
        double error = fabs((double)*at - exact_element(l, row, col));
        if (!(error <= tolerance_of(&l->tolerance, row, col))) {
            return col;
        }
        *at = *old;
    }
}

/* Errors in many rows at once; rows are judged apart from each other, so each
 * is an experiment of its own. */
static void every_row_is_found(large *l, spoil_function spoil)
{
    static float old[PLANTED];
    static int64_t cols[PLANTED];
    static double ratios[SIZE];
    const int64_t step = SIZE / PLANTED;
    hri_verify_problem problem = {l->x.alpha, l->x.beta, l->x.a, l->x.b,
                                  l->x.c0,    l->x.c,    NULL};
    int64_t start = random_between(&l->source, 0, step - 1), missed = 0,
            more = 0;
    for (int64_t i = 0; i < PLANTED; i++) {
        cols[i] = plant_error(l, spoil, start + i * step, &old[i]);
    }
    hri_verify *v =
        hri_verify_create(context->pool, &problem, random_next(&l->source));
    CHECK(v != NULL && hri_verify_residuals(v, ratios) == HR_OK);
    hri_verify_destroy(v);
    for (int64_t row = 0; row < SIZE; row++) {
        bool wrong = row % step == start && row / step < PLANTED;
        missed += wrong && ratios[row] == 0.0;
        more += !wrong && ratios[row] != 0.0;
    }
    CHECK(missed == 0);
    CHECK(more == 0);
    for (int64_t i = 0; i < PLANTED; i++) {
        l->c[(start + i * step) * SIZE + cols[i]] = old[i];
    }
}

static void one_element_is_named(large *l, spoil_function spoil)
{
    hr_verify_report report = HR_VERIFY_REPORT_INIT;
    float old;
    int64_t row = random_between(&l->source, 0, SIZE - 1);
    int64_t col = plant_error(l, spoil, row, &old);
    CHECK(verify_with(&l->x, &report) == HR_ERROR_MISMATCH);
    CHECK(report.row == row && report.col == col);
    CHECK(report.suspects == 1 && report.rows_checked == 1);
    CHECK(!(report.error <= report.bound));
    printf("%s\n", hr_last_error());
    l->c[row * SIZE + col] = old;
}

static void planted_errors(void)
{
    hr_verify_report report = HR_VERIFY_REPORT_INIT;
    large l;
    TEST_CASE("a right large product");
    large_init(&l);
    for (int i = 0; i < 3; i++) {
        double start = cpu_seconds();
        CHECK(verify_with(&l.x, &report) == HR_OK);
        CHECK(report.suspects == 0);
        printf("verified in %.3f s, %.3f s of CPU time\n", report.seconds,
               cpu_seconds() - start);
    }
    for (int i = 0; i < KINDS; i++) {
        TEST_CASE(kinds[i].name);
        every_row_is_found(&l, kinds[i].spoil);
        every_row_is_found(&l, kinds[i].spoil);
        one_element_is_named(&l, kinds[i].spoil);
    }
    large_finish(&l);
}

int main(void)
{
    float a[9], b[9], c0[9], c[9];
    arguments good = small_product(a, b, c0, c);
    context = test_context("host", 0);
    TEST(right_arguments(&good));
    TEST(wrong_arguments(&good));
    TEST(other_reports(&good));
    TEST(planted_errors());
    hr_context_destroy(context);
    return test_end();
}
