/* SPDX-License-Identifier: MIT */
/* What hr_gemm_batch refuses: one sentence, and no C is touched. */
#include <limits.h>
#include <math.h>

#include "test.h"

enum { COUNT = 3, EDGE = 4, STEP = EDGE * EDGE };

static float a[COUNT * STEP], b[COUNT * STEP], c[2 * COUNT * STEP];
static hr_context *context;

typedef struct call {
    int64_t count;
    hr_matrices a, b, c;
    double alpha, beta;
} call;

static hr_matrix square(const float *data)
{
    return hr_matrix_row_major(data, HR_F32, EDGE, EDGE, 0);
}

static call good(void)
{
    return (call){COUNT,
                  hr_matrices_strided(square(a), STEP),
                  hr_matrices_strided(square(b), STEP),
                  hr_matrices_strided(square(c), STEP),
                  1,
                  0};
}

static hr_status make(const call *x)
{
    return hr_gemm_batch(context, x->count, hr_real(x->alpha), x->a, x->b,
                         hr_real(x->beta), x->c, NULL);
}

static void refused(const char *name, call x, hr_status status,
                    const char *sentence)
{
    TEST_CASE(name);
    for (size_t i = 0; i < sizeof c / sizeof *c; i++) {
        c[i] = 7;
    }
    CHECK(make(&x) == status);
    if (!CHECK(strcmp(hr_last_error(), sentence) == 0)) {
        printf("%s\n", hr_last_error());
    }
    for (size_t i = 0; i < sizeof c / sizeof *c; i++) {
        CHECK(c[i] == 7);
    }
}

static void sizes(void)
{
    call x = good();
    x.count = -1;
    refused("count", x, HR_ERROR_INVALID,
            "gemm batch: -1 products, not 0 or more");
    x = good();
    x.b.stride = -16;
    refused("stride", x, HR_ERROR_INVALID,
            "gemm batch: the stride of B is -16, not 0 or more");
    x.b.stride = INT64_MAX / 8;
    refused("address space", x, HR_ERROR_INVALID,
            "gemm batch: 3 matrices B with stride 1152921504606846975 are more "
            "than an address space holds");
    x = good();
    x.a.matrix.cols = 3;
    refused("shapes", x, HR_ERROR_INVALID,
            "gemm: A is 4x3 but B is 4x4: A has 3 columns and B 4 rows");
}

static void pointers(void)
{
    void *list[] = {b, NULL, b + STEP};
    call x = good();
    x.b = hr_matrices_listed(square(NULL), list);
    refused("a list with NULL", x, HR_ERROR_INVALID,
            "gemm batch: B of product 1 is NULL");
    x = good();
    x.c.matrix.data = NULL;
    refused("no C", x, HR_ERROR_INVALID, "gemm batch: C is NULL");
}

static void overlaps(void)
{
    call x = good();
    x.c.stride = STEP - 1;
    refused("short stride", x, HR_ERROR_INVALID,
            "gemm batch: C of product 0 overlaps C of product 1");
    x.c.stride = 0;
    refused("one C", x, HR_ERROR_INVALID,
            "gemm batch: C of product 0 overlaps C of product 1");
    void *list[] = {c + 40, c, c + 25};
    x.c = hr_matrices_listed(square(NULL), list);
    refused("a list", x, HR_ERROR_INVALID,
            "gemm batch: C of product 2 overlaps C of product 0");
    x = good();
    void *as[] = {a, c + 2 * STEP, a};
    x.a = hr_matrices_listed(square(NULL), as);
    refused("C with A", x, HR_ERROR_INVALID,
            "gemm batch: C of product 2 overlaps A of product 1");
    x = good();
    x.b = hr_matrices_strided(square(c + 3), 0);
    refused("C with a shared B", x, HR_ERROR_INVALID,
            "gemm batch: C of product 0 overlaps B of product 0");
}

/* What looks alike and is allowed. */
static void allowed(void)
{
    TEST_CASE("allowed");
    call x = good();
    x.c = hr_matrices_strided(
        hr_matrix_row_major(c, HR_F32, EDGE, EDGE, (int64_t)COUNT * EDGE),
        EDGE); /* side by side */
    CHECK(make(&x) == HR_OK);
    x = good();
    x.a.stride = 1; /* windows that overlap */
    x.b.stride = 0;
    CHECK(make(&x) == HR_OK);
    x = good();
    x.alpha = 0; /* A is not read, wherever it is */
    x.a = hr_matrices_strided(square(c), STEP);
    x.b.matrix.data = NULL;
    c[5] = NAN;
    CHECK(make(&x) == HR_OK && c[5] == 0);
    x = good();
    x.count = 0;
    x.c.matrix.data = NULL;
    CHECK(make(&x) == HR_OK);
    x = good();
    x.a.matrix.cols = x.b.matrix.rows = 0; /* C := beta C */
    x.beta = 2;
    c[7] = 3;
    CHECK(make(&x) == HR_OK && c[7] == 6);
}

static bool stop_at_once(void *data, double done, double total)
{
    (void)data;
    CHECK(done >= 0 && total == 2.0 * COUNT * EDGE * EDGE * EDGE);
    return done >= total;
}

static bool count_calls(void *data, double done, double total)
{
    ++*(int *)data;
    return done <= total;
}

static void progress(void)
{
    TEST_CASE("progress is that of the batch, not of each product");
    enum { MANY = 1000 };
    static float all[MANY * STEP];
    int calls = 0;
    hr_gemm_options o = HR_GEMM_OPTIONS_INIT;
    o.progress = count_calls;
    o.progress_data = &calls;
    CHECK(hr_gemm_batch(context, MANY, hr_real(1),
                        hr_matrices_strided(square(a), 0),
                        hr_matrices_strided(square(b), 0), hr_real(0),
                        hr_matrices_strided(square(all), STEP), &o) == HR_OK);
    CHECK(calls >= 2 && calls < MANY / 2);
}

static void options(void)
{
    TEST_CASE("options");
    const call x = good();
    hr_gemm_options o = HR_GEMM_OPTIONS_INIT;
    hr_gemm_report report = HR_GEMM_REPORT_INIT;
    o.progress = stop_at_once;
    CHECK(hr_gemm_batch(context, x.count, hr_real(1), x.a, x.b, hr_real(0), x.c,
                        &o) == HR_ERROR_CANCELLED);
    CHECK(strstr(hr_last_error(), "cancelled after 0 per cent") != NULL);
    o.progress = NULL;
    o.compute = (hr_compute)9;
    CHECK(hr_gemm_batch(context, x.count, hr_real(1), x.a, x.b, hr_real(0), x.c,
                        &o) == HR_ERROR_INVALID);
    CHECK(hr_gemm_batch(NULL, x.count, hr_real(1), x.a, x.b, hr_real(0), x.c,
                        NULL) == HR_ERROR_INVALID);
    CHECK(hr_gemm_batch_plan(context, x.count, hr_real(1), x.a, x.b, hr_real(0),
                             x.c, NULL) == HR_ERROR_INVALID);
    o = (hr_gemm_options)HR_GEMM_OPTIONS_INIT;
    o.report = &report;
    CHECK(hr_gemm_batch_plan(context, x.count, hr_real(1), x.a, x.b, hr_real(0),
                             x.c, &o) == HR_OK);
    CHECK(report.seconds > 0 && report.share_count == 1 &&
          report.flops == 2.0 * COUNT * EDGE * EDGE * EDGE);
}

int main(void)
{
    hr_context_options o = HR_CONTEXT_OPTIONS_INIT;
    o.accelerators = "host";
    CHECK(hr_context_create(&o, &context) == HR_OK);
    TEST(sizes());
    TEST(pointers());
    TEST(overlaps());
    TEST(allowed());
    TEST(options());
    TEST(progress());
    hr_context_destroy(context);
    return test_end();
}
