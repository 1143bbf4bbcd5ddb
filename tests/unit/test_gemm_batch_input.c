/* SPDX-License-Identifier: MIT */
/* What hr_gemm_batch refuses: one sentence, and no C is touched. */
#include <limits.h>
#include <math.h>

#include "support/refused.h"

enum { COUNT = 3, EDGE = 4, STEP = EDGE * EDGE };

static float a[COUNT * STEP], b[COUNT * STEP], c[2 * COUNT * STEP];
static hr_context *context;

typedef struct request {
    hr_context *context;
    int64_t count;
    hr_matrices a, b, c;
    double alpha, beta;
    hr_gemm_options options;
} request;

static hr_matrix square_of(const float *data)
{
    return hr_matrix_row_major(data, HR_F32, EDGE, EDGE, 0);
}

static request good(void)
{
    for (size_t i = 0; i < sizeof c / sizeof *c; i++) {
        c[i] = 7;
    }
    return (request){.context = context,
                     .count = COUNT,
                     .a = hr_matrices_strided(square_of(a), STEP),
                     .b = hr_matrices_strided(square_of(b), STEP),
                     .c = hr_matrices_strided(square_of(c), STEP),
                     .alpha = 1,
                     .options = HR_GEMM_OPTIONS_INIT};
}

static hr_status call(const request *r)
{
    return hr_gemm_batch(r->context, r->count, hr_real(r->alpha), r->a, r->b,
                         hr_real(r->beta), r->c, &r->options);
}

static bool untouched(const request *r)
{
    bool same = true;
    (void)r;
    for (size_t i = 0; i < sizeof c / sizeof *c; i++) {
        same = same && c[i] == 7;
    }
    return same;
}

static void refuse_sizes(void)
{
    REFUSED(r.count = -1, HR_ERROR_INVALID,
            "gemm batch: -1 products, not 0 or more");
    REFUSED(r.b.stride = -16, HR_ERROR_INVALID,
            "gemm batch: the stride of B is -16, not 0 or more");
    REFUSED(r.b.stride = INT64_MAX / 8, HR_ERROR_INVALID,
            "gemm batch: 3 matrices B with stride 1152921504606846975 are more "
            "than an address space holds");
    REFUSED(r.a.matrix.cols = 3, HR_ERROR_INVALID,
            "gemm: A is 4x3 but B is 4x4: A has 3 columns and B 4 rows");
    REFUSED(r.context = NULL, HR_ERROR_INVALID, "context is NULL");
    REFUSED(r.options.compute = (hr_compute)9, HR_ERROR_INVALID,
            "compute mode 9");
}

static void refuse_pointers(void)
{
    void *list[] = {b, NULL, b + STEP};
    REFUSED(r.b = hr_matrices_listed(square_of(NULL), list), HR_ERROR_INVALID,
            "gemm batch: B of product 1 is NULL");
    REFUSED(r.c.matrix.data = NULL, HR_ERROR_INVALID, "gemm batch: C is NULL");
}

/* Each line of a matrix is followed by one of the next matrix, and as many
 * lines of others lie between. */
static hr_matrices lines_between(float *first)
{
    const int64_t step = 2 * (int64_t)EDGE;
    return hr_matrices_strided(
        hr_matrix_row_major(first, HR_F32, EDGE, EDGE, COUNT * step), step);
}

static void refuse_overlaps(void)
{
    void *as[] = {a, c + 2 * STEP, a}, *cs[] = {c + 40, c, c + 25};
    REFUSED(r.c.stride = STEP - 1, HR_ERROR_INVALID,
            "gemm batch: C of product 0 overlaps C of product 1");
    REFUSED(r.c.stride = 0, HR_ERROR_INVALID,
            "gemm batch: C of product 0 overlaps C of product 1");
    REFUSED(r.c = hr_matrices_listed(square_of(NULL), cs), HR_ERROR_INVALID,
            "gemm batch: C of product 2 overlaps C of product 0");
    REFUSED(r.a = hr_matrices_listed(square_of(NULL), as), HR_ERROR_INVALID,
            "gemm batch: C of product 2 overlaps A of product 1");
    REFUSED(r.b = hr_matrices_strided(square_of(c + 3), 0), HR_ERROR_INVALID,
            "gemm batch: C of product 0 overlaps B of product 0");
    /* lines between lines: the last one comes to where the first one is */
    REFUSED(r.c = hr_matrices_strided(
                hr_matrix_row_major(c, HR_F32, EDGE, EDGE, (COUNT - 1) * EDGE),
                EDGE),
            HR_ERROR_INVALID,
            "gemm batch: C of product 0 overlaps C of product");
    REFUSED((r.c = lines_between(c), r.a = lines_between(c + EDGE - 1)),
            HR_ERROR_INVALID,
            "gemm batch: C of product 0 overlaps A of product");
    REFUSED((r.c = lines_between(c + 2 * EDGE), r.a = lines_between(c + 1)),
            HR_ERROR_INVALID, "overlaps A of product");
}

/* What looks alike and is allowed. */
static void allow_overlaps(void)
{
    TEST_CASE("allowed");
    request x = good();
    x.c = hr_matrices_strided(
        hr_matrix_row_major(c, HR_F32, EDGE, EDGE, (int64_t)COUNT * EDGE),
        EDGE); /* side by side */
    CHECK(call(&x) == HR_OK);
    x.c = lines_between(c);
    x.a = lines_between(c + EDGE);
    CHECK(call(&x) == HR_OK);
    x = good();
    x.a.stride = 1; /* windows that overlap */
    x.b.stride = 0;
    CHECK(call(&x) == HR_OK);
    x = good();
    x.alpha = 0; /* A is not read, wherever it is */
    x.a = hr_matrices_strided(square_of(c), STEP);
    x.b.matrix.data = NULL;
    c[5] = NAN;
    CHECK(call(&x) == HR_OK && c[5] == 0);
    x = good();
    x.count = 0;
    x.c.matrix.data = NULL;
    CHECK(call(&x) == HR_OK);
    x = good();
    x.a.matrix.cols = x.b.matrix.rows = 0; /* C := beta C */
    x.beta = 2;
    c[7] = 3;
    CHECK(call(&x) == HR_OK && c[7] == 6);
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

static void tell_progress(void)
{
    TEST_CASE("progress is that of the batch, not of each product");
    enum { MANY = 1000 };
    static float all[MANY * STEP];
    int calls = 0;
    hr_gemm_options o = HR_GEMM_OPTIONS_INIT;
    o.progress = count_calls;
    o.progress_data = &calls;
    CHECK(hr_gemm_batch(
              context, MANY, hr_real(1), hr_matrices_strided(square_of(a), 0),
              hr_matrices_strided(square_of(b), 0), hr_real(0),
              hr_matrices_strided(square_of(all), STEP), &o) == HR_OK);
    CHECK(calls >= 2 && calls < MANY / 2);
}

static void stop_batch(void)
{
    TEST_CASE("stopped");
    request x = good();
    x.options.progress = stop_at_once;
    CHECK_FAILS(call(&x), HR_ERROR_CANCELLED, "cancelled after 0 per cent");
}

static void plan_batches(void)
{
    TEST_CASE("plans");
    request x = good();
    hr_gemm_report report = HR_GEMM_REPORT_INIT;
    const hr_scalar one = hr_real(1), zero = hr_real(0);
    CHECK_FAILS(
        hr_gemm_batch_plan(context, COUNT, one, x.a, x.b, zero, x.c, NULL),
        HR_ERROR_INVALID, "the report is NULL");
    x.options.report = &report;
    CHECK(hr_gemm_batch_plan(context, COUNT, one, x.a, x.b, zero, x.c,
                             &x.options) == HR_OK);
    CHECK(report.seconds > 0 && report.share_count == 1 &&
          report.flops == 2.0 * COUNT * EDGE * EDGE * EDGE);
    TEST_CASE("what an accelerator will hold");
    hr_gemm_share planned[1], done[1];
    hr_context *apart = test_context("1xhost", 1 << 20);
    report = (hr_gemm_report)HR_GEMM_REPORT_INIT;
    report.share_capacity = 1;
    report.shares = planned;
    CHECK(hr_gemm_batch_plan(apart, COUNT, one, x.a, x.b, zero, x.c,
                             &x.options) == HR_OK);
    report.shares = done;
    CHECK(hr_gemm_batch(apart, COUNT, one, x.a, x.b, zero, x.c, &x.options) ==
          HR_OK);
    CHECK(planned[0].seconds_busy > 0 && planned[0].memory_bytes > 0);
    CHECK(planned[0].memory_bytes == done[0].memory_bytes);
    CHECK(planned[0].host_to_device == done[0].host_to_device);
    hr_context_destroy(apart);
}

int main(void)
{
    context = test_context("host", 0);
    TEST(refuse_sizes());
    TEST(refuse_pointers());
    TEST(refuse_overlaps());
    TEST(allow_overlaps());
    TEST(stop_batch());
    TEST(plan_batches());
    TEST(tell_progress());
    hr_context_destroy(context);
    return test_end();
}
