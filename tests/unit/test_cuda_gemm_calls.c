/* SPDX-License-Identifier: MIT */
/* How many driver calls a product of one task costs, over a fake driver, and
 * that its result is right; halves that are added to in parts. A call that
 * needs a context is three: entering, the call, and leaving. cuBLAS makes its
 * own, which do not count. */
#include <stdlib.h>

#include <headrace/half.h>
#include <headrace/headrace.h>

#include "backends/cuda/cuda.h"
#include "runtime/runtime.h"
#include "support/fake_cuda/use.h"
#include "support/told.h"
#include "test.h"

enum { SMALL = 48, LARGE = 320 }; /* 18 and 800 KiB */

typedef struct bed {
    fake_cuda_state *fake;
    hr_context *context;
    double *data; /* A, B and C */
    bool pinned, traced;
} bed;

static void open_bed(bed *b, bool pinned, bool traced)
{
    const size_t bytes = 3 * LARGE * LARGE * sizeof *b->data;
    b->context = test_context("cuda:0", 0);
    /* As on a GPU, so that a product is one task, whatever would be measured.
     */
    told_overheads(b->context);
    told_links(b->context, &(hri_link){1e10, 1e10, 1e10});
    told(&b->context->accelerators[0], "f64", 1e12);
    told_link(&b->context->accelerators[0], 1e10);
    b->pinned = pinned;
    if (pinned) {
        void *memory = NULL;
        CHECK(hr_allocate_pinned(b->context, bytes, &memory) == HR_OK);
        b->data = memory;
    } else {
        b->data = malloc(bytes);
    }
    for (int i = 0; i < 3 * LARGE * LARGE; i++) {
        b->data[i] = i % 7;
    }
    b->traced = traced;
    CHECK(!traced || hr_context_trace(b->context, "/dev/null") == HR_OK);
}

static void close_bed(bed *b)
{
    if (b->pinned) {
        hr_free_pinned(b->context, b->data);
    } else {
        free(b->data);
    }
    hr_context_destroy(b->context);
}

static hr_status multiply_matrices(const bed *b, int n, double beta)
{
    hr_matrix m[3];
    for (int i = 0; i < 3; i++) {
        m[i] = hr_matrix_row_major(b->data + (size_t)i * (size_t)n * (size_t)n,
                                   HR_F64, n, n, 0);
    }
    return hr_gemm(b->context, hr_real(1), m[0], m[1], hr_real(beta), m[2],
                   NULL);
}

static bool is_product(const bed *b, int n)
{
    const double *a = b->data, *t = a + n * n, *c = t + n * n;
    bool right = true;
    for (int i = 0; i < n; i++) {
        double sum = 0.0;
        for (int k = 0; k < n; k++) {
            sum += a[i * n + k] * t[k * n + n - 1 - i];
        }
        right = right && c[i * n + n - 1 - i] == sum;
    }
    return right;
}

/* What a product takes that is like the one before it. With a timeline no more
 * than that: a record behind each command, and those of the program where the
 * device was faster than the driver. */
static void check_calls(const bed *b, int n, double beta, long calls,
                        long records)
{
    CHECK(multiply_matrices(b, n, beta) == HR_OK);
    const long before = b->fake->calls, recorded = b->fake->records;
    CHECK(multiply_matrices(b, n, beta) == HR_OK);
    const long made = b->fake->calls - before;
    const long fences = b->fake->records - recorded;
    CHECK(b->traced ? made <= calls : made == calls);
    CHECK(b->traced ? fences <= records : fences == records);
    CHECK(multiply_matrices(b, n, 0.0) == HR_OK && is_product(b, n));
}

static void multiply_ordinary(bed *b)
{
    open_bed(b, false, false);
    TEST_CASE("two questions, one copy, the product, two records, a wait");
    check_calls(b, SMALL, 0.0, 3 * 2 + 3 + 2 + 3 * 2 + 3, 2);
    TEST_CASE("old C is copied, and C copied back");
    check_calls(b, SMALL, 1.0, 35, 4);
    TEST_CASE("three questions, three copies by the driver, two records");
    check_calls(b, LARGE, 0.0, 32, 2);
    close_bed(b);
}

static void multiply_pinned(bed *b)
{
    open_bed(b, true, false);
    TEST_CASE("two copies from where they are, and one record");
    check_calls(b, SMALL, 0.0, 22, 1);
    TEST_CASE("and a copy back, when the product has run");
    check_calls(b, LARGE, 0.0, 35, 2);
    close_bed(b);
}

static void multiply_traced(bed *b)
{
    TEST_CASE("with a timeline");
    open_bed(b, false, true);
    check_calls(b, SMALL, 0.0, 26, 2 + 2);
    check_calls(b, SMALL, 1.0, 50, 4 + 4);
    check_calls(b, LARGE, 0.0, 50, 4 + 2);
    close_bed(b);
    TEST_CASE("with a timeline, pinned");
    open_bed(b, true, true);
    check_calls(b, SMALL, 0.0, 31, 3 + 1);
    check_calls(b, LARGE, 0.0, 53, 4 + 2);
    close_bed(b);
}

/* Its A is packed, and travels together with B: the packed copy has no room for
 * B. */
static void hold_planned(void)
{
    enum { M = 64, N = 4096, K = 16 };
    float *data = calloc(M * K + K * N + M * N, sizeof *data);
    const hr_matrix a = hr_matrix_row_major(data, HR_F32, M, K, 0);
    const hr_matrix b = hr_matrix_row_major(data + M * K, HR_F32, K, N, 0);
    const hr_matrix c =
        hr_matrix_row_major(data + M * K + K * N, HR_F32, M, N, 0);
    const uint64_t step = 128 << 10, need = 2 << 20;
    uint64_t succeeded = 0;
    TEST_CASE("whatever limit a product is planned for holds it");
    for (uint64_t limit = 64 << 20; succeeded * step < need; limit += step) {
        hr_context_options options = HR_CONTEXT_OPTIONS_INIT;
        hr_context *context = NULL;
        options.accelerators = "cuda:0";
        options.memory_limit = limit;
        CHECK(limit < 512 << 20);
        if (hr_context_create(&options, &context) != HR_OK) {
            continue;
        }
        hr_gemm_report report = HR_GEMM_REPORT_INIT;
        if (hr_gemm_plan(context, hr_real(1), a, b, hr_real(0), c, NULL,
                         &report) == HR_OK) {
            succeeded++;
            CHECK(hr_gemm(context, hr_real(1), a, b, hr_real(0), c, NULL) ==
                  HR_OK);
        }
        hr_context_destroy(context);
    }
    free(data);
}

/* Halves with old C whose sums do not fit at once: C = 1 A B + 2 C of small
 * integers, which halves hold. */
typedef struct halves {
    int64_t m, n, k, count;
    bool columns; /* A lies by columns */
} halves;

static uint16_t half_of(int64_t i, int64_t period)
{
    return hr_f32_to_f16((float)(i % period - 1));
}

static float value_of(uint16_t half)
{
    return hr_f16_to_f32(half);
}

/* All products use the same B. */
static void add_halves(hri_queue *queue, const halves *h)
{
    const int64_t a_size = h->m * h->k, size = h->m * h->n;
    const int64_t count = h->count, b_size = h->k * h->n;
    uint16_t *a = malloc((size_t)(count * (a_size + size) + b_size) * 2);
    uint16_t *b = a + count * a_size, *c = b + b_size;
    int64_t wrong = 0;
    for (int64_t i = 0; i < count * a_size; i++) {
        a[i] = half_of(i, 7);
    }
    for (int64_t i = 0; i < b_size; i++) {
        b[i] = half_of(i, 5);
    }
    for (int64_t i = 0; i < count * size; i++) {
        c[i] = half_of(i, 9);
    }
    const hri_gemm g = {
        .type = HR_F16,
        .c_type = HR_F16,
        .m = h->m,
        .n = h->n,
        .k = h->k,
        .alpha = hr_real(1),
        .beta = hr_real(2),
        .a = {.place = {.host = a},
              .row_stride = h->columns ? 1 : h->k,
              .col_stride = h->columns ? h->m : 1},
        .b = {.place = {.host = b}, .row_stride = h->n, .col_stride = 1},
        .c = {.place = {.host = c}, .row_stride = h->n, .col_stride = 1},
        .batch = {.count = count, .steps = {a_size * 2, 0, size * 2}}};
    CHECK(queue->ops->gemm(queue, &g) == HR_OK);
    CHECK(queue->ops->finish(queue) == HR_OK);
    for (int64_t i = 0; i < count * size; i++) {
        const uint16_t *row = a + i / size * a_size;
        const int64_t r = i % size / h->n;
        float sum = 2 * value_of(half_of(i, 9));
        for (int64_t p = 0; p < h->k; p++) {
            sum += value_of(row[h->columns ? p * h->m + r : r * h->k + p]) *
                   value_of(b[p * h->n + i % h->n]);
        }
        wrong += value_of(c[i]) != sum;
    }
    CHECK(wrong == 0);
    free(a);
}

static void add_in_parts(void)
{
    TEST_CASE("halves that are added to, in parts");
    static const halves cases[] = {
        {.m = 3, .n = 4100, .k = 2, .count = 1},
        {.m = 1030, .n = 4096, .k = 1, .count = 1},
        {.m = 1500, .n = 3000, .k = 2, .count = 1, .columns = true},
        {.m = 256, .n = 256, .k = 1, .count = 66}};
    hri_device *device = NULL;
    hri_queue *queue = NULL;
    CHECK(hri_backend_cuda.open(0, 2, &device) == HR_OK);
    CHECK(device->ops->create_queue(device, false, &queue) == HR_OK);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        add_halves(queue, &cases[i]);
    }
    queue->ops->destroy(queue);
    device->ops->close(device);
}

int main(void)
{
    bed b = {.fake = fake_cuda_use(FAKE_CUDA)};
    TEST(multiply_ordinary(&b));
    TEST(multiply_pinned(&b));
    TEST(multiply_traced(&b));
    TEST(hold_planned());
    TEST(add_in_parts());
    TEST_CASE("nothing is left");
    CHECK(b.fake->objects == 0 && b.fake->retained == 0);
    return test_end();
}
