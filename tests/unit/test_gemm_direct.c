/* SPDX-License-Identifier: MIT */
/* Small products. In place they are one call of the device, on the caller's
 * thread, with the bits of a planned product. Elsewhere they are plans of one
 * task: one thread and one queue, for any memory. */
#include <fenv.h>
#include <string.h>

#include "model/learn.h"
#include "runtime/runtime.h"
#include "support/fault_backend.h"
#include "support/operands.h"
#include "support/pairs.h"
#include "support/told.h"
#include "test.h"

enum { EDGE = 40, PADDED = 43, BYTES = EDGE * PADDED * 16 };

static hr_context *open_context(const char *list)
{
    fault_backend_reset();
    hr_context *context = fault_backend_context(list, 0);
    for (uint32_t i = 0; i < context->accelerator_count; i++) {
        told(&context->accelerators[i], "f32", 1e9);
        told_link(&context->accelerators[i], 1e10);
    }
    told_overheads(context);
    fault_backend_reset();
    return context;
}

/* ---- what is called */

static hr_status multiply_zeros(hr_context *context, int64_t edge,
                                const hr_gemm_options *options)
{
    float *data = calloc((size_t)(3 * edge * edge), sizeof *data);
    const hr_matrix m[] = {
        hr_matrix_row_major(data, HR_F32, edge, edge, 0),
        hr_matrix_row_major(data + edge * edge, HR_F32, edge, edge, 0),
        hr_matrix_row_major(data + 2 * edge * edge, HR_F32, edge, edge, 0)};
    hr_status status =
        hr_gemm(context, hr_real(1), m[0], m[1], hr_real(0), m[2], options);
    free(data);
    return status;
}

/* So many products and queues since the last call. */
static bool has_counted(uint64_t products, bool queues)
{
    const bool right =
        fault_backend_count(FAULT_GEMM) == products &&
        (fault_backend_count(FAULT_CREATE_QUEUE) > 0) == queues &&
        (fault_backend_count(FAULT_RECORD) > 0) == queues;
    fault_backend_reset();
    return right;
}

static bool go_on(void *data, double done, double all)
{
    (void)done;
    (void)all;
    (*(int *)data)++;
    return true;
}

static void multiply_alone(void)
{
    hr_context *context = open_context("host");
    int calls = 0;
    hr_gemm_share share;
    hr_gemm_report report = HR_GEMM_REPORT_INIT;
    hr_gemm_options options = HR_GEMM_OPTIONS_INIT;
    TEST_CASE("one call, with a report and without");
    CHECK(multiply_zeros(context, EDGE, NULL) == HR_OK &&
          has_counted(1, false));
    report.shares = &share;
    report.share_capacity = 1;
    options.report = &report;
    CHECK(multiply_zeros(context, EDGE, &options) == HR_OK &&
          has_counted(1, false));
    CHECK(report.share_count == 1 && share.tiles == 1 &&
          share.flops == 2.0 * EDGE * EDGE * EDGE && report.ratio == 1.0);
    TEST_CASE("progress is told, which needs threads");
    options.progress = go_on;
    options.progress_data = &calls;
    CHECK(multiply_zeros(context, EDGE, &options) == HR_OK &&
          has_counted(1, true));
    CHECK(calls >= 2);
    TEST_CASE("an error of the device");
    fault_backend_fail_call(1, HR_ERROR_BACKEND);
    CHECK(multiply_zeros(context, EDGE, NULL) == HR_ERROR_BACKEND);
    hr_context_destroy(context);
}

static void multiply_beside_others(void)
{
    hr_context *context = open_context("2xhost,host");
    const uint32_t both[] = {0, 1}, twice[] = {2, 2}, last = 2;
    hr_gemm_options options = HR_GEMM_OPTIONS_INIT;
    TEST_CASE("the host works at once while others would start");
    CHECK(multiply_zeros(context, EDGE, NULL) == HR_OK &&
          has_counted(1, false));
    TEST_CASE("not what takes longer than that");
    CHECK(multiply_zeros(context, 8 * EDGE, NULL) == HR_OK &&
          fault_backend_count(FAULT_GEMM) > 0);
    CHECK(fault_backend_count(FAULT_CREATE_QUEUE) > 0);
    fault_backend_reset();
    TEST_CASE("lists are obeyed");
    options.accelerators = both;
    options.accelerator_count = 2;
    CHECK(multiply_zeros(context, EDGE, &options) == HR_OK);
    CHECK(fault_backend_count(FAULT_ALLOCATE) > 0);
    fault_backend_reset();
    options.accelerators = &last;
    options.accelerator_count = 1;
    CHECK(multiply_zeros(context, EDGE, &options) == HR_OK &&
          has_counted(1, false));
    options.accelerators = twice;
    options.accelerator_count = 2;
    CHECK_FAILS(multiply_zeros(context, EDGE, &options), HR_ERROR_INVALID,
                "listed twice");
    options.accelerators = NULL;
    CHECK_FAILS(multiply_zeros(context, EDGE, &options), HR_ERROR_INVALID,
                "no list");
    CHECK(fault_backend_count(FAULT_GEMM) == 0);
    hr_context_destroy(context);
}

static void guess_rates(void)
{
    TEST_CASE("rates that are not known");
    static const hri_backend *backends[] = {&hri_backend_host, NULL};
    const hri_product_kind single = {HR_F32, HR_F32, HR_COMPUTE_NATIVE};
    const hri_product_kind twice = {HR_F64, HR_F64, HR_COMPUTE_NATIVE};
    const hri_product_kind half = {HR_F16, HR_F32, HR_COMPUTE_NATIVE};
    hr_context_options options = HR_CONTEXT_OPTIONS_INIT;
    options.accelerators = "host,1xhost";
    options.threads = 2;
    hr_context *context = NULL;
    CHECK(hri_context_create_from(backends, &options, &context) == HR_OK);
    const hri_accelerator *host = &context->accelerators[0];
    const hri_accelerator *other = &context->accelerators[1];
    CHECK(hri_accelerator_known_rate(host, single) == 0.0);
    CHECK(hri_accelerator_likely_rate(host, single) ==
          2.0 / hri_guess_processor(true));
    CHECK(hri_accelerator_likely_rate(host, twice) ==
          2.0 / hri_guess_processor(false));
    CHECK(hri_accelerator_likely_rate(host, half) == 5e10);
    CHECK(hri_accelerator_likely_rate(other, single) == 5e10);
    told(host, "f32", 3e9);
    CHECK(hri_accelerator_likely_rate(host, single) == 3e9);
    hr_context_destroy(context);
}

/* ---- bits */

typedef struct operand {
    unsigned char bytes[BYTES];
    hr_matrix matrix;
} operand;

static void operand_init(operand *o, random_source *source, hr_type type,
                         int64_t rows, int64_t cols)
{
    const int64_t padding = random_between(source, 0, 3);
    const bool columns = random_between(source, 0, 1) == 1;
    hr_matrix m =
        columns
            ? hr_matrix_column_major(o->bytes, type, rows, cols, rows + padding)
            : hr_matrix_row_major(o->bytes, type, rows, cols, cols + padding);
    m.conjugate = random_between(source, 0, 1) == 1;
    random_fill_matrix(source, &m);
    o->matrix = m;
}

static void compare_bits(void)
{
    static operand a, b, c;
    static unsigned char before[BYTES], first[BYTES];
    hr_context *context = open_context("host");
    random_source source = {7};
    hr_gemm_report report = HR_GEMM_REPORT_INIT;
    hr_gemm_options options = HR_GEMM_OPTIONS_INIT;
    int calls = 0;
    options.report = &report;
    options.progress_data = &calls;
    TEST_CASE("bits");
    for (int i = 0; i < 900; i++) {
        const hr_type ab = pairs[i % PAIRS].ab, c_type = pairs[i % PAIRS].c;
        const int64_t m = random_between(&source, 0, EDGE);
        const int64_t n = random_between(&source, 0, EDGE);
        const int64_t k = random_between(&source, 0, EDGE);
        const hr_scalar beta = hr_real((double)random_between(&source, -1, 1));
        options.progress = i % 2 == 0 ? go_on : NULL; /* by threads */
        operand_init(&a, &source, ab, m, k);
        operand_init(&b, &source, ab, k, n);
        operand_init(&c, &source, c_type, m, n);
        memcpy(before, c.bytes, BYTES);
        CHECK(hr_gemm(context, hr_real(2), a.matrix, b.matrix, beta, c.matrix,
                      NULL) == HR_OK);
        memcpy(first, c.bytes, BYTES);
        memcpy(c.bytes, before, BYTES);
        CHECK(hr_gemm(context, hr_real(2), a.matrix, b.matrix, beta, c.matrix,
                      &options) == HR_OK);
        CHECK(memcmp(first, c.bytes, BYTES) == 0);
    }
    hr_context_destroy(context);
}

/* Neither how the program rounds nor whether it flushes subnormal numbers
 * matters, and it stays as it was. */
static void keep_rounding(void)
{
    enum { N = 64 };
    static float a[N * N], b[N * N], c[2][N * N];
    const hr_matrix m[] = {hr_matrix_row_major(a, HR_F32, N, N, 0),
                           hr_matrix_row_major(b, HR_F32, N, N, 0)};
    hr_context *context = open_context("host");
    TEST_CASE("the program's rounding");
    for (int i = 0; i < N * N; i++) {
        a[i] = 1.0f / (float)(i % 97 + 3);
        b[i] = 1.0f / (float)(i % 89 + 7);
    }
    for (int i = 0; i < 2; i++) {
        const int mode = i == 0 ? FE_TONEAREST : FE_UPWARD;
        CHECK(fesetround(mode) == 0);
        CHECK(hr_gemm(context, hr_real(1), m[0], m[1], hr_real(0),
                      hr_matrix_row_major(c[i], HR_F32, N, N, 0),
                      NULL) == HR_OK);
        CHECK(fegetround() == mode);
    }
    CHECK(fesetround(FE_TONEAREST) == 0);
    CHECK(memcmp(c[0], c[1], sizeof c[0]) == 0);
    CHECK(!hr_thread_is_own());
    hr_context_destroy(context);
}

/* ---- plans of one task */

static hr_context *open_apart(bool staged)
{
    static const hri_backend *backends[2];
    backends[0] = fault_backend_wrap(&hri_backend_host);
    hr_context_options options = HR_CONTEXT_OPTIONS_INIT;
    options.accelerators = "1xhost";
    options.threads = 4; /* two of them copy in each direction */
    hr_context *context = NULL;
    fault_backend_reset();
    fault_backend_pretend_staged(staged);
    CHECK(hri_context_create_from(backends, &options, &context) == HR_OK);
    told(&context->accelerators[0], "f32", 1e9);
    told_link(&context->accelerators[0], 1e10);
    told_overheads(context);
    return context;
}

/* Whether the product goes well and is right. */
static bool multiplies(hr_context *context, const operands *o, double beta)
{
    operands_set_old(o);
    return CHECK(hr_gemm(context, hr_real(1), o->a, o->b, hr_real(beta), o->c,
                         NULL) == HR_OK) &&
           operands_are_product(o, beta);
}

static void run_one_thread(bool staged, double beta)
{
    hr_context *context = open_apart(staged);
    operands o = operands_make(50, 50, 50);
    const uint64_t panels = 2 + (beta != 0.0), bytes = 50 * 50 * sizeof(float);
    const bool written = staged && beta == 0.0; /* home, by the product */
    uint64_t queues = 0;
    TEST_CASE(staged ? "staged" : "pinned");
    for (int i = 0; i < 3; i++) {
        const uint64_t copies = fault_backend_count(FAULT_COPY);
        const uint64_t products = fault_backend_count(FAULT_GEMM);
        const uint64_t up = fault_backend_bytes(FAULT_UP);
        CHECK(multiplies(context, &o, beta));
        CHECK(fault_backend_count(FAULT_COPY) ==
              copies + panels - staged + !written);
        CHECK(fault_backend_count(FAULT_GEMM) == products + 1);
        CHECK(fault_backend_bytes(FAULT_UP) == up + panels * bytes);
        CHECK(i == 0 || fault_backend_count(FAULT_CREATE_QUEUE) == queues);
        queues = fault_backend_count(FAULT_CREATE_QUEUE);
        CHECK(staged || queues == 1); /* copy pools are measured in others */
        CHECK(i == 0 || context->accelerators[0].threads.most == 1);
        context->accelerators[0].threads.most = 0; /* of measuring, too */
    }
    CHECK(fault_backend_count(FAULT_EVENT_ELAPSED) == 0);
    fault_backend_close(context);
    operands_free(&o);
}

/* Several pieces on one thread, more than it has pinned memory for, and
 * helpers. */
static void copy_many_pieces(int64_t edge)
{
    TEST_CASE("many pieces");
    hr_context *context = open_apart(true);
    operands o = operands_make(edge, edge, edge);
    for (int i = 0; i < 3; i++) {
        CHECK(multiplies(context, &o, i));
    }
    fault_backend_close(context);
    operands_free(&o);
}

int main(void)
{
    TEST(multiply_alone());
    TEST(multiply_beside_others());
    TEST(guess_rates());
    TEST(compare_bits());
    TEST(keep_rounding());
    for (int staged = 0; staged <= 1; staged++) {
        TEST(run_one_thread(staged, 0));
        TEST(run_one_thread(staged, 2));
    }
    for (int64_t edge = 400; edge <= 1100; edge += 350) {
        TEST(copy_many_pieces(edge));
    }
    return test_end();
}
