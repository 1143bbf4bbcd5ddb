/* SPDX-License-Identifier: MIT */
/* Plans of one task: one thread and one queue, for any memory, and
 * results. */
#include <math.h>

#include "runtime/runtime.h"
#include "support/fault_backend.h"
#include "support/random.h"
#include "support/told.h"
#include "test.h"

typedef struct operands {
    int64_t edge;
    float *data, *old; /* A, B and C, and C before */
    hr_matrix m[3];
} operands;

static operands make(int64_t edge)
{
    random_source source = {(uint64_t)edge};
    const size_t count = (size_t)(edge * edge);
    operands o = {.edge = edge,
                  .data = calloc(3 * count, sizeof(float)),
                  .old = calloc(count, sizeof(float))};
    for (int i = 0; i < 3; i++) {
        o.m[i] = hr_matrix_row_major(o.data + (size_t)i * count, HR_F32, edge,
                                     edge, 0);
        random_fill_matrix(&source, &o.m[i]);
    }
    memcpy(o.old, o.data + 2 * count, count * sizeof(float));
    return o;
}

static void drop(operands *o)
{
    free(o->data);
    free(o->old);
}

static void set_old(const operands *o)
{
    memcpy(o->m[2].data, o->old, (size_t)(o->edge * o->edge) * sizeof(float));
}

/* Some elements of C = A B + beta old C against sums in double. */
static bool is_product(const operands *o, double beta)
{
    const float *a = o->m[0].data, *b = o->m[1].data, *c = o->m[2].data;
    random_source source = {7};
    for (int i = 0; i < 200; i++) {
        const int64_t row = random_between(&source, 0, o->edge - 1);
        const int64_t col = random_between(&source, 0, o->edge - 1);
        double sum = beta * (double)o->old[row * o->edge + col];
        double size = fabs(sum);
        for (int64_t k = 0; k < o->edge; k++) {
            const double term =
                (double)a[row * o->edge + k] * b[k * o->edge + col];
            sum += term;
            size += fabs(term);
        }
        const double bound = 0x1p-23 * (double)(o->edge + 2) * size;
        if (!(fabs(c[row * o->edge + col] - sum) <= bound)) {
            return false;
        }
    }
    return true;
}

static hr_context *open_context(const char *list, bool staged)
{
    static const hri_backend *backends[2];
    backends[0] = fault_backend_wrap(&hri_backend_host);
    hr_context_options options = HR_CONTEXT_OPTIONS_INIT;
    options.accelerators = list;
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

static hr_status multiply(hr_context *context, const operands *o, double beta)
{
    set_old(o);
    return hr_gemm(context, hr_real(1), o->m[0], o->m[1], hr_real(beta),
                   o->m[2], NULL);
}

/* ---- what is called */

static void one_thread(bool staged, double beta)
{
    hr_context *context = open_context("1xhost", staged);
    operands o = make(50);
    const uint64_t panels = 2 + (beta != 0.0), bytes = 50 * 50 * sizeof(float);
    const bool written = staged && beta == 0.0; /* home, by the product */
    uint64_t queues = 0;
    TEST_CASE(staged ? "staged" : "pinned");
    for (int i = 0; i < 3; i++) {
        const uint64_t copies = fault_backend_count(FAULT_COPY);
        const uint64_t products = fault_backend_count(FAULT_GEMM);
        const uint64_t up = fault_backend_bytes(FAULT_UP);
        CHECK(multiply(context, &o, beta) == HR_OK && is_product(&o, beta));
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
    hr_context_destroy(context);
    CHECK(fault_backend_objects() == 0 && fault_backend_breaches() == 0);
    drop(&o);
}

/* Several pieces on one thread, more than it has pinned memory for, and
 * helpers. */
static void many_pieces(int64_t edge)
{
    TEST_CASE("many pieces");
    hr_context *context = open_context("1xhost", true);
    operands o = make(edge);
    for (int i = 0; i < 3; i++) {
        CHECK(multiply(context, &o, i) == HR_OK && is_product(&o, i));
    }
    hr_context_destroy(context);
    CHECK(fault_backend_objects() == 0 && fault_backend_breaches() == 0);
    drop(&o);
}

int main(void)
{
    for (int staged = 0; staged <= 1; staged++) {
        TEST(one_thread(staged, 0));
        TEST(one_thread(staged, 2));
    }
    for (int64_t edge = 400; edge <= 1100; edge += 350) {
        TEST(many_pieces(edge));
    }
    return test_end();
}
