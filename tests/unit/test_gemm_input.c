/* SPDX-License-Identifier: MIT */
/* Arguments of hr_gemm that are refused: one clear sentence, nothing touched;
 * and windows that look as if they overlapped. */
#include "support/refused.h"
#include "support/told.h"

static hr_context *context;
enum { ELEMENTS = 30 * 40 };
static float memory[3][ELEMENTS];
static const uint32_t twice[] = {0, 0}, beyond[] = {7};

typedef struct request {
    hr_context *context;
    hr_scalar alpha, beta;
    hr_matrix a, b, c;
    hr_gemm_options options;
    hr_gemm_report report;
} request;

static request good(void)
{
    for (int i = 0; i < 3 * ELEMENTS; i++) {
        memory[i / ELEMENTS][i % ELEMENTS] = 1.0f;
    }
    return (request){
        .context = context,
        .alpha = hr_real(1),
        .a = hr_matrix_row_major(memory[0], HR_F32, 20, 30, 0),
        .b = hr_matrix_row_major(memory[1], HR_F32, 30, 40, 0),
        .c = hr_matrix_row_major(memory[2], HR_F32, 20, 40, 0),
        .options = HR_GEMM_OPTIONS_INIT,
        .report = HR_GEMM_REPORT_INIT,
    };
}

static hr_status call(request *r)
{
    r->options.report = &r->report;
    return hr_gemm(r->context, r->alpha, r->a, r->b, r->beta, r->c,
                   &r->options);
}

static bool untouched(const request *r)
{
    bool same = r->report.seconds == 0.0;
    for (int i = 0; i < 3 * ELEMENTS; i++) {
        same = same && memory[i / ELEMENTS][i % ELEMENTS] == 1.0f;
    }
    return same;
}

static void refuse_matrices(void)
{
    REFUSED(r.context = NULL, HR_ERROR_INVALID, "NULL");
    REFUSED(r.b.rows--, HR_ERROR_INVALID, "A is 20x30 but B is 29x40");
    REFUSED(r.c.cols--, HR_ERROR_INVALID, "C is 20x39 but A times B is");
    REFUSED(r.a.rows = r.c.rows = -1, HR_ERROR_INVALID, "A is -1x30");
    REFUSED(r.a.row_stride = 29, HR_ERROR_INVALID, "at least 30");
    REFUSED(r.a.col_stride = 2, HR_ERROR_INVALID, "one must be 1");
    REFUSED(r.b.row_stride = -40, HR_ERROR_INVALID, "-40");
    REFUSED(r.a.row_stride = INT64_MAX / 8, HR_ERROR_INVALID, "address space");
    REFUSED(r.a.data = NULL, HR_ERROR_INVALID, "A is NULL");
    REFUSED(r.c.data = NULL, HR_ERROR_INVALID, "C is NULL");
    REFUSED(r.c.data = r.a.data, HR_ERROR_INVALID, "C overlaps A");
    REFUSED(r.c.data = &memory[1][ELEMENTS - 1], HR_ERROR_INVALID,
            "C overlaps B");
}

static void refuse_types(void)
{
    REFUSED(r.c.type = HR_F64, HR_ERROR_UNSUPPORTED,
            "f32 times f32 into f64 is not offered: C may be f32");
    REFUSED(r.a.type = HR_F64, HR_ERROR_UNSUPPORTED,
            "f64 times f32 is not offered: both factors must have one type");
    REFUSED(r.a.type = r.b.type = r.c.type = HR_I32, HR_ERROR_UNSUPPORTED,
            "factors of i32 are not offered: they may be f32, f64, c32, c64, "
            "f16, bf16 or i8");
    REFUSED(r.a.type = r.b.type = HR_I8, HR_ERROR_UNSUPPORTED,
            "i8 times i8 into f32 is not offered: C may be i32");
    REFUSED(r.a.type = (hr_type)99, HR_ERROR_UNSUPPORTED,
            "gemm: unknown type 99 of A");
    REFUSED(r.b.type = (hr_type)0, HR_ERROR_UNSUPPORTED,
            "gemm: unknown type 0 of B");
    REFUSED(r.c.type = (hr_type)-1, HR_ERROR_UNSUPPORTED,
            "gemm: unknown type -1 of C");
    REFUSED(r.alpha.im = 1, HR_ERROR_INVALID, "alpha is 1+1i");
    REFUSED(r.alpha.re = 1e39, HR_ERROR_INVALID, "alpha is 1e+39");
    REFUSED(r.beta.re = -1e-50, HR_ERROR_INVALID, "beta is -1e-50");
}

static void set_list(request *r, const uint32_t *accelerators, uint32_t count)
{
    r->options.accelerators = accelerators;
    r->options.accelerator_count = count;
}

static void refuse_options(void)
{
    REFUSED(r.options.size = 4, HR_ERROR_INVALID,
            "start with HR_GEMM_OPTIONS_INIT");
    REFUSED(r.report.size = 8, HR_ERROR_INVALID,
            "start with HR_GEMM_REPORT_INIT");
    REFUSED(r.options.compute = (hr_compute)9, HR_ERROR_INVALID,
            "compute mode 9");
    REFUSED(r.options.compute = HR_COMPUTE_TF32, HR_ERROR_UNSUPPORTED,
            "by tf32");
    REFUSED(r.options.memory_limit = 10000, HR_ERROR_OUT_OF_MEMORY,
            "least working");
    REFUSED(set_list(&r, twice, 2), HR_ERROR_INVALID, "listed twice");
    REFUSED(set_list(&r, beyond, 1), HR_ERROR_INVALID,
            "accelerator index 7 is not below");
    REFUSED(set_list(&r, twice, 0), HR_ERROR_INVALID, "0 accelerators");
    REFUSED(set_list(&r, NULL, 2), HR_ERROR_INVALID, "accelerators is NULL");
}

/* Windows of one array that interleave without sharing an element are fine. */
static void multiply_windows(void)
{
    TEST_CASE("left, middle and right columns of one array");
    static float array[64 * 192];
    for (int i = 0; i < 64 * 192; i++) {
        array[i] = 1.0f;
    }
    hr_matrix all = hr_matrix_row_major(array, HR_F32, 64, 192, 0);
    hr_matrix a, b, c;
    CHECK(hr_matrix_section(all, 0, 0, 64, 64, &a) == HR_OK);
    CHECK(hr_matrix_section(all, 0, 64, 64, 64, &b) == HR_OK);
    CHECK(hr_matrix_section(all, 0, 128, 64, 64, &c) == HR_OK);
    CHECK(hr_gemm(context, hr_real(1), a, b, hr_real(0), c, NULL) == HR_OK);
    int right = 1;
    for (int i = 0; i < 64 * 192; i++) {
        right = right && array[i] == (i % 192 >= 128 ? 64.0f : 1.0f);
    }
    CHECK(right);
    CHECK(hr_matrix_section(all, 0, 127, 64, 64, &c) == HR_OK);
    CHECK_FAILS(hr_gemm(context, hr_real(1), a, b, hr_real(0), c, NULL),
                HR_ERROR_INVALID, "C overlaps B");
}

#define MAX INT64_MAX
#define MIN INT64_MIN

/* Strides that are never used, as NumPy leaves them: row, then column. Far:
 * beyond addresses. */
static const struct {
    const char *name;
    int64_t m, n, k;
    int64_t a[2], b[2], c[2];
} unused_strides[] = {
    {"1 x 1, any strides", 1, 1, 1, {7, 9}, {0, 0}, {-3, 5}},
    {"1 x 1, far", 1, 1, 1, {MAX, MAX}, {MIN, 4}, {3, MIN}},
    {"a row, every third element", 1, 4, 1, {5, 5}, {9, 3}, {0, 3}},
    {"a column, every third element", 4, 1, 1, {3, 0}, {2, 2}, {3, -1}},
    {"a row times a column", 1, 1, 5, {0, 2}, {3, 0}, {0, 0}},
    {"a row of C, negative", 1, 4, 2, {-8, 1}, {4, 1}, {-8, 1}},
    {"a row of C, far", 1, 4, 2, {(1LL << 60) + 4, 1}, {4, 1}, {MAX, 1}},
    {"columns, far", 4, 1, 1, {1, MAX}, {1, MAX}, {1, (1LL << 61) + 1}},
    {"k is 0, strides are 0", 2, 3, 0, {0, 0}, {0, 0}, {3, 1}},
    {"k is 0, far", 3, 2, 0, {MAX, 1}, {1, MAX}, {2, 1}},
    {"C is empty, strides are 0", 0, 3, 2, {0, 0}, {3, 1}, {0, 0}},
};

static hr_matrix strided_matrix(float *elements, int64_t rows, int64_t cols,
                                const int64_t strides[2])
{
    return (hr_matrix){.data = elements,
                       .type = HR_F32,
                       .rows = rows,
                       .cols = cols,
                       .row_stride = strides[0],
                       .col_stride = strides[1]};
}

static void multiply_any_strides(void)
{
    for (size_t i = 0; i < sizeof unused_strides / sizeof unused_strides[0];
         i++) {
        float of[3][20];
        const int64_t m = unused_strides[i].m, n = unused_strides[i].n,
                      k = unused_strides[i].k;
        const int64_t *at = unused_strides[i].c;
        hr_gemm_report report = HR_GEMM_REPORT_INIT;
        TEST_CASE(unused_strides[i].name);
        for (int e = 0; e < 60; e++) {
            of[e / 20][e % 20] = e < 40 ? 1.0f : -9.0f;
        }
        hr_matrix a = strided_matrix(of[0], m, k, unused_strides[i].a);
        hr_matrix b = strided_matrix(of[1], k, n, unused_strides[i].b);
        hr_matrix c = strided_matrix(of[2], m, n, at);
        CHECK(hr_gemm_plan(context, hr_real(1), a, b, hr_real(0), c, NULL,
                           &report) == HR_OK);
        CHECK(hr_gemm(context, hr_real(1), a, b, hr_real(0), c, NULL) == HR_OK);
        CHECK(hr_gemm_verify(context, hr_real(1), a, b, hr_real(0), c, c,
                             NULL) == HR_OK);
        int64_t written = 0;
        for (int e = 0; e < 20; e++) {
            written += of[2][e] == (float)k;
            CHECK(of[2][e] == (float)k || of[2][e] == -9.0f);
        }
        CHECK(written == m * n);
        for (int64_t e = 0; e < m * n; e++) {
            int64_t to =
                (m > 1 ? e / n * at[0] : 0) + (n > 1 ? e % n * at[1] : 0);
            CHECK(of[2][to] == (float)k);
        }
    }
}

int main(void)
{
    context = test_context("2xhost", 1 << 20);
    told_patience(context);
    TEST(refuse_matrices());
    TEST(refuse_types());
    TEST(refuse_options());
    TEST(multiply_windows());
    TEST(multiply_any_strides());
    hr_context_destroy(context);
    return test_end();
}
