/* SPDX-License-Identifier: MIT */
/* Arguments of hr_gemm that are refused: one clear sentence, nothing touched;
 * and windows that look as if they overlapped. */
#include <headrace/headrace.h>

#include "support/told.h"
#include "test.h"

static hr_context *open_context(void)
{
    hr_context_options options = HR_CONTEXT_OPTIONS_INIT;
    options.accelerators = "2xhost";
    options.memory_limit = 1 << 20;
    hr_context *context = NULL;
    CHECK(hr_context_create(&options, &context) == HR_OK);
    told_patience(context);
    return context;
}

typedef struct request {
    hr_context *context;
    hr_scalar alpha, beta;
    hr_matrix a, b, c;
    hr_gemm_options options;
    hr_gemm_report report;
} request;

static uint32_t twice[] = {0, 0}, beyond[] = {7};

static void no_context(request *r)
{
    r->context = NULL;
}
static void inner(request *r)
{
    r->b.rows--;
}
static void outer(request *r)
{
    r->c.cols--;
}
static void negative(request *r)
{
    r->a.rows = r->c.rows = -1;
}
static void narrow(request *r)
{
    r->a.row_stride = r->a.cols - 1;
}
static void no_unit(request *r)
{
    r->a.col_stride = 2;
}
static void backwards(request *r)
{
    r->b.row_stride = -40;
}
static void into_f64(request *r)
{
    r->c.type = HR_F64;
}
static void f64_times(request *r)
{
    r->a.type = HR_F64;
}
static void of_i32(request *r)
{
    r->a.type = r->b.type = r->c.type = HR_I32;
}
static void of_i8(request *r)
{
    r->a.type = r->b.type = HR_I8;
}
static void no_type(request *r)
{
    r->a.type = (hr_type)99;
}
static void imaginary(request *r)
{
    r->alpha.im = 1;
}
static void huge(request *r)
{
    r->alpha.re = 1e39;
}
static void tiny(request *r)
{
    r->beta.re = -1e-50;
}
static void a_is_null(request *r)
{
    r->a.data = NULL;
}
static void c_is_null(request *r)
{
    r->c.data = NULL;
}
static void same(request *r)
{
    r->c.data = r->a.data;
}
static void touch(request *r)
{
    r->c.data = (char *)r->b.data + 30 * 40 * 4 - 4;
}
static void old_options(request *r)
{
    r->options.size = 4;
}
static void no_compute(request *r)
{
    r->options.compute = (hr_compute)9;
}
static void tf32(request *r)
{
    r->options.compute = HR_COMPUTE_TF32;
}
static void listed_twice(request *r)
{
    r->options.accelerators = twice;
    r->options.accelerator_count = 2;
}
static void not_there(request *r)
{
    r->options.accelerators = beyond;
    r->options.accelerator_count = 1;
}
static void none(request *r)
{
    r->options.accelerators = twice;
    r->options.accelerator_count = 0;
}
static void no_list(request *r)
{
    r->options.accelerator_count = 2;
}
static void old_report(request *r)
{
    r->report.size = 8;
}
static void too_little(request *r)
{
    r->options.memory_limit = 10000;
}
static void too_large(request *r)
{
    r->a.row_stride = INT64_MAX / 8;
}

static const struct {
    const char *name;
    void (*spoil)(request *);
    hr_status status;
    const char *words;
} rules[] = {
    {"no context", no_context, HR_ERROR_INVALID, "NULL"},
    {"inner extents", inner, HR_ERROR_INVALID, "A is 20x30 but B is 29x40"},
    {"outer extents", outer, HR_ERROR_INVALID, "C is 20x39 but A times B is"},
    {"negative extent", negative, HR_ERROR_INVALID, "A is -1x30"},
    {"stride below a row", narrow, HR_ERROR_INVALID, "at least 30"},
    {"no stride of 1", no_unit, HR_ERROR_INVALID, "one must be 1"},
    {"negative stride", backwards, HR_ERROR_INVALID, "-40"},
    {"type pair", into_f64, HR_ERROR_UNSUPPORTED,
     "f32 times f32 into f64 is not offered: C may be f32"},
    {"factors of two types", f64_times, HR_ERROR_UNSUPPORTED,
     "f64 times f32 is not offered: both factors must have one type"},
    {"factors of results alone", of_i32, HR_ERROR_UNSUPPORTED,
     "factors of i32 are not offered: they may be f32, f64, c32, c64, f16, "
     "bf16 or i8"},
    {"i8 into another type", of_i8, HR_ERROR_UNSUPPORTED,
     "i8 times i8 into f32 is not offered: C may be i32"},
    {"no such type", no_type, HR_ERROR_UNSUPPORTED, "? times f32"},
    {"complex alpha", imaginary, HR_ERROR_INVALID, "alpha is 1+1i"},
    {"alpha beyond f32", huge, HR_ERROR_INVALID, "alpha is 1e+39"},
    {"beta below f32", tiny, HR_ERROR_INVALID, "beta is -1e-50"},
    {"A is NULL", a_is_null, HR_ERROR_INVALID, "A is NULL"},
    {"C is NULL", c_is_null, HR_ERROR_INVALID, "C is NULL"},
    {"C is A", same, HR_ERROR_INVALID, "C overlaps A"},
    {"C starts in B's last element", touch, HR_ERROR_INVALID, "C overlaps B"},
    {"options too small", old_options, HR_ERROR_INVALID,
     "start with HR_GEMM_OPTIONS_INIT"},
    {"no compute mode", no_compute, HR_ERROR_INVALID, "compute mode 9"},
    {"tf32 on the host", tf32, HR_ERROR_UNSUPPORTED, "by tf32"},
    {"accelerator twice", listed_twice, HR_ERROR_INVALID, "listed twice"},
    {"accelerator beyond", not_there, HR_ERROR_INVALID,
     "accelerator index 7 is not below"},
    {"empty list", none, HR_ERROR_INVALID, "0 accelerators"},
    {"a count and no list", no_list, HR_ERROR_INVALID, "accelerators is NULL"},
    {"report too small", old_report, HR_ERROR_INVALID,
     "start with HR_GEMM_REPORT_INIT"},
    {"too little memory", too_little, HR_ERROR_OUT_OF_MEMORY, "least working"},
    {"larger than addresses", too_large, HR_ERROR_INVALID, "address space"},
};

static void bad_input(void)
{
    hr_context *context = open_context();
    float *memory = calloc(3 * 30 * 40, sizeof(float));
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        TEST_CASE(rules[i].name);
        for (int j = 0; j < 3 * 30 * 40; j++) {
            memory[j] = 1.0f;
        }
        request r = {
            .context = context,
            .alpha = hr_real(1),
            .beta = hr_real(0),
            .a = hr_matrix_row_major(memory, HR_F32, 20, 30, 0),
            .b = hr_matrix_row_major(memory + 1200, HR_F32, 30, 40, 0),
            .c = hr_matrix_row_major(memory + 2400, HR_F32, 20, 40, 0),
            .options = HR_GEMM_OPTIONS_INIT,
            .report = HR_GEMM_REPORT_INIT,
        };
        rules[i].spoil(&r);
        r.options.report = &r.report;
        CHECK_FAILS(
            hr_gemm(r.context, r.alpha, r.a, r.b, r.beta, r.c, &r.options),
            rules[i].status, rules[i].words);
        int untouched = 1;
        for (int j = 0; j < 3 * 30 * 40; j++) {
            untouched = untouched && memory[j] == 1.0f;
        }
        CHECK(untouched && r.report.seconds == 0.0);
    }
    hr_context_destroy(context);
    free(memory);
}

/* Windows of one array that interleave without sharing an element are fine. */
static void interleaved_windows(void)
{
    TEST_CASE("left, middle and right columns of one array");
    hr_context *context = open_context();
    float *memory = calloc(64 * 192, sizeof(float));
    for (int i = 0; i < 64 * 192; i++) {
        memory[i] = 1.0f;
    }
    hr_matrix all = hr_matrix_row_major(memory, HR_F32, 64, 192, 0);
    hr_matrix a, b, c;
    CHECK(hr_matrix_section(all, 0, 0, 64, 64, &a) == HR_OK);
    CHECK(hr_matrix_section(all, 0, 64, 64, 64, &b) == HR_OK);
    CHECK(hr_matrix_section(all, 0, 128, 64, 64, &c) == HR_OK);
    CHECK(hr_gemm(context, hr_real(1), a, b, hr_real(0), c, NULL) == HR_OK);
    int right = 1;
    for (int i = 0; i < 64 * 192; i++) {
        right = right && memory[i] == (i % 192 >= 128 ? 64.0f : 1.0f);
    }
    CHECK(right);
    CHECK(hr_matrix_section(all, 0, 127, 64, 64, &c) == HR_OK);
    CHECK_FAILS(hr_gemm(context, hr_real(1), a, b, hr_real(0), c, NULL),
                HR_ERROR_INVALID, "C overlaps B");
    hr_context_destroy(context);
    free(memory);
}

/* Strides that are never used, as NumPy leaves them: row, then column. */
static const struct {
    const char *name;
    int64_t m, n, k;
    int64_t a[2], b[2], c[2];
} unused_strides[] = {
    {"1 x 1, any strides", 1, 1, 1, {7, 9}, {0, 0}, {-3, 5}},
    {"1 x 1, strides beyond addresses",
     1,
     1,
     1,
     {INT64_MAX, INT64_MAX},
     {INT64_MIN, 4},
     {3, INT64_MIN}},
    {"a row, every third element", 1, 4, 1, {5, 5}, {9, 3}, {0, 3}},
    {"a column, every third element", 4, 1, 1, {3, 0}, {2, 2}, {3, -1}},
    {"a row times a column", 1, 1, 5, {0, 2}, {3, 0}, {0, 0}},
    {"a row of C with a negative row stride",
     1,
     4,
     2,
     {-8, 1},
     {4, 1},
     {-8, 1}},
    {"a row of C, its row stride beyond addresses",
     1,
     4,
     2,
     {((int64_t)1 << 60) + 4, 1},
     {4, 1},
     {INT64_MAX, 1}},
    {"columns, column strides beyond addresses",
     4,
     1,
     1,
     {1, INT64_MAX},
     {1, INT64_MAX},
     {1, ((int64_t)1 << 61) + 1}},
    {"k is 0, strides are 0", 2, 3, 0, {0, 0}, {0, 0}, {3, 1}},
    {"k is 0, a stride beyond addresses",
     3,
     2,
     0,
     {INT64_MAX, 1},
     {1, INT64_MAX},
     {2, 1}},
    {"C is empty, strides are 0", 0, 3, 2, {0, 0}, {3, 1}, {0, 0}},
};

static hr_matrix strided(float *memory, int64_t rows, int64_t cols,
                         const int64_t strides[2])
{
    return (hr_matrix){.data = memory,
                       .type = HR_F32,
                       .rows = rows,
                       .cols = cols,
                       .row_stride = strides[0],
                       .col_stride = strides[1]};
}

static void strides_never_used(void)
{
    hr_context *context = open_context();
    for (size_t i = 0; i < sizeof unused_strides / sizeof unused_strides[0];
         i++) {
        float memory[3][20];
        const int64_t m = unused_strides[i].m, n = unused_strides[i].n,
                      k = unused_strides[i].k;
        const int64_t *at = unused_strides[i].c;
        hr_gemm_report report = HR_GEMM_REPORT_INIT;
        TEST_CASE(unused_strides[i].name);
        for (int e = 0; e < 60; e++) {
            memory[e / 20][e % 20] = e < 40 ? 1.0f : -9.0f;
        }
        hr_matrix a = strided(memory[0], m, k, unused_strides[i].a);
        hr_matrix b = strided(memory[1], k, n, unused_strides[i].b);
        hr_matrix c = strided(memory[2], m, n, at);
        CHECK(hr_gemm_plan(context, hr_real(1), a, b, hr_real(0), c, NULL,
                           &report) == HR_OK);
        CHECK(hr_gemm(context, hr_real(1), a, b, hr_real(0), c, NULL) == HR_OK);
        CHECK(hr_gemm_verify(context, hr_real(1), a, b, hr_real(0), c, c,
                             NULL) == HR_OK);
        int64_t written = 0;
        for (int e = 0; e < 20; e++) {
            written += memory[2][e] == (float)k;
            CHECK(memory[2][e] == (float)k || memory[2][e] == -9.0f);
        }
        CHECK(written == m * n);
        for (int64_t e = 0; e < m * n; e++) {
            int64_t to =
                (m > 1 ? e / n * at[0] : 0) + (n > 1 ? e % n * at[1] : 0);
            CHECK(memory[2][to] == (float)k);
        }
    }
    hr_context_destroy(context);
}

int main(void)
{
    TEST(bad_input());
    TEST(interleaved_windows());
    TEST(strides_never_used());
    return test_end();
}
