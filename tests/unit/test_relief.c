/* SPDX-License-Identifier: MIT */
/* One accelerator of a set, or two, are 20 times slower than the plan expects.
 * Others take their tiles over, so that the product takes at most 1.5 times as
 * long as without them, and the tenth of a second that is waited for them: also
 * where the memory is small, so that pieces of k keep all in step. If they only
 * wait for a CPU, the others wait, too. Products take their time by a clock
 * of the test's own, and nothing else does. */
#include <stdlib.h>
#include <string.h>

#include <headrace/batch.h>

#include "base/clock.h"
#include "flow/flow.h"
#include "model/cost.h"
#include "runtime/runtime.h"
#include "support/fault_backend.h"
#include "support/simulate.h"
#include "support/told.h"
#include "test.h"

enum { SLOWER = 20 };

typedef struct setting {
    const char *list;
    int64_t edge;
    uint64_t limit; /* bytes of each; 0: no limit */
    uint32_t slow;  /* so many are slow */
    double rate; /* of an accelerator: as the plan has it, and as it is of those
                    that are not slow */
} setting;

/* Seconds, as contexts have it. */
#define PATIENCE 0.1

typedef struct product {
    hr_context *context;
    const setting *setting;
    hr_matrix a, b, c;
} product;

static hr_context *open_context(const setting *s)
{
    hr_context *context = fault_backend_context(s->list, s->limit);
    told_overheads(context);
    told_links(context, &(hri_link){1e10, 1e10, 1e10});
    told_apart(context);
    context->patience = PATIENCE;
    return context;
}

/* Whatever was learned. */
static void tell_rates(hr_context *context, double rate)
{
    for (uint32_t i = 0; i < context->accelerator_count; i++) {
        told(&context->accelerators[i], "f32", rate);
        told_link(&context->accelerators[i], 1e10);
    }
}

static void fill_values(float *values, size_t count, uint32_t seed)
{
    for (size_t i = 0; i < count; i++) {
        seed = seed * 1664525u + 1013904223u;
        values[i] = (float)(seed >> 8) * 0x1p-24f - 0.5f;
    }
}

static hr_matrix make_matrix(int64_t edge, uint32_t seed)
{
    const size_t count = (size_t)(edge * edge);
    float *values = malloc(count * sizeof *values);
    CHECK(values != NULL);
    fill_values(values, values != NULL ? count : 0, seed);
    return hr_matrix_row_major(values, HR_F32, edge, edge, 0);
}

/* The time of a product without the slow accelerator or with it. */
static double time_of(const product *p, bool without, hr_gemm_report *report)
{
    uint32_t chosen[64], count = 0;
    for (uint32_t i = 0; i < p->context->accelerator_count; i++) {
        chosen[count] = i;
        count += !without || i >= p->setting->slow;
    }
    hr_gemm_options options = HR_GEMM_OPTIONS_INIT;
    options.accelerators = chosen;
    options.accelerator_count = count;
    options.report = report;
    tell_rates(p->context, p->setting->rate);
    const uint64_t start_ns = hri_clock_ns();
    CHECK(hr_gemm(p->context, hr_real(1), p->a, p->b, hr_real(0), p->c,
                  &options) == HR_OK);
    const double seconds = hri_seconds_since(start_ns);
    CHECK(hri_runs_await(p->context, 1e9));
    return seconds;
}

static void verify_result(const product *p)
{
    hr_verify_report report = HR_VERIFY_REPORT_INIT;
    CHECK(hr_gemm_verify(p->context, hr_real(1), p->a, p->b, hr_real(0), p->c,
                         p->c, &report) == HR_OK);
    CHECK(report.unchecked == 0);
}

static void relieve_product(const setting *s)
{
    TEST_CASE(s->list);
    fault_backend_reset();
    hr_context *context = open_context(s);
    const product p = {context, s, make_matrix(s->edge, 1),
                       make_matrix(s->edge, 2), make_matrix(s->edge, 3)};
    hr_gemm_report report = HR_GEMM_REPORT_INIT;
    for (uint32_t i = 0; i < context->accelerator_count; i++) {
        fault_backend_rate(i, s->rate);
    }
    const double all = time_of(&p, false, &report);
    CHECK(report.lost == 0 && report.recomputed == 0);
    const double without = time_of(&p, true, &report);
    CHECK(report.lost == 0 && all < without);
    for (uint32_t i = 0; i < s->slow; i++) {
        fault_backend_rate(i, s->rate / SLOWER);
    }
    sim_works((int)context->accelerator_count);
    const double slow = time_of(&p, false, &report);
    printf("all %.3f s, without %.3f s, one slow %.3f s = %.2f times; "
           "%llu lost, %llu tiles recomputed\n",
           all, without, slow, slow / without, (unsigned long long)report.lost,
           (unsigned long long)report.recomputed);
    CHECK(slow <= 1.5 * without + PATIENCE);
    CHECK(report.lost == s->slow && report.late == s->slow);
    sim_works(0);
    CHECK(time_of(&p, false, &report) > slow);
    CHECK(report.lost == 0 && report.late == 0 && report.recomputed == 0);
    for (uint32_t i = 0; i < s->slow; i++) {
        fault_backend_rate(i, 0.0);
    }
    verify_result(&p);
    hr_context_destroy(context);
    free(p.a.data);
    free(p.b.data);
    free(p.c.data);
}

/* ---- batches */

enum { PRODUCTS = 2400, SIDE = 32, EACH = SIDE * SIDE };

/* Small integers: exact in any order. */
typedef struct batch {
    hr_context *context;
    float *a, *b, *c, *wanted;
    double beta;
} batch;

static double old_value(int64_t i)
{
    return (double)(i % 7 - 3);
}

static void fill_batch(batch *p)
{
    for (int64_t i = 0; i < (int64_t)PRODUCTS * EACH; i++) {
        p->a[i] = (float)(i * 7 % 5 - 2);
        p->b[i] = (float)(i * 3 % 7 - 3);
    }
    for (int64_t i = 0; i < (int64_t)PRODUCTS * EACH; i++) {
        const float *row = p->a + i / SIDE * SIDE;
        const float *col = p->b + i / EACH * EACH + i % SIDE;
        double sum = p->beta * old_value(i);
        for (int k = 0; k < SIDE; k++) {
            sum += (double)row[k] * (double)col[k * SIDE];
        }
        p->wanted[i] = (float)sum;
    }
}

/* Seconds of all products without the first accelerator or with it. */
static double time_batch(const batch *p, bool without, hr_gemm_report *report)
{
    static const uint32_t chosen[] = {0, 1, 2, 3};
    const hr_matrix a = hr_matrix_row_major(p->a, HR_F32, SIDE, SIDE, 0);
    const hr_matrix b = hr_matrix_row_major(p->b, HR_F32, SIDE, SIDE, 0);
    const hr_matrix c = hr_matrix_row_major(p->c, HR_F32, SIDE, SIDE, 0);
    hr_gemm_options options = HR_GEMM_OPTIONS_INIT;
    options.accelerators = chosen + without;
    options.accelerator_count = 4 - without;
    options.report = report;
    for (int64_t i = 0; i < (int64_t)PRODUCTS * EACH; i++) {
        p->c[i] = (float)old_value(i);
    }
    tell_rates(p->context, 4e7);
    const uint64_t start_ns = hri_clock_ns();
    CHECK(hr_gemm_batch(p->context, PRODUCTS, hr_real(1),
                        hr_matrices_strided(a, EACH),
                        hr_matrices_strided(b, EACH), hr_real(p->beta),
                        hr_matrices_strided(c, EACH), &options) == HR_OK);
    const double seconds = hri_seconds_since(start_ns);
    CHECK(memcmp(p->c, p->wanted, (size_t)PRODUCTS * EACH * sizeof p->c[0]) ==
          0);
    return seconds;
}

/* The first of four accelerators is 20 times slower, or hangs from a call on.
 */
static void relieve_batch(double beta, bool staged, uint64_t hangs_at)
{
    static const setting s = {"4xhost", 0, 0, 1, 0};
    const double rate = 4e7 * hri_cost_batch(SIDE, SIDE, SIDE);
    const size_t bytes = (size_t)PRODUCTS * EACH * sizeof(float);
    hr_gemm_report report = HR_GEMM_REPORT_INIT;
    TEST_CASE(hangs_at > 0 ? "a batch: one hangs" : "a batch: one is slow");
    fault_backend_reset();
    fault_backend_pretend_staged(staged);
    batch p = {open_context(&s), malloc(bytes), malloc(bytes),
               malloc(bytes),    malloc(bytes), beta};
    CHECK(p.a != NULL && p.b != NULL && p.c != NULL && p.wanted != NULL);
    fill_batch(&p);
    for (uint32_t i = 0; i < 4; i++) {
        fault_backend_rate(i, rate);
    }
    const double all = time_batch(&p, false, &report);
    CHECK(report.lost == 0 && report.share_count == 4);
    const double without = time_batch(&p, true, &report);
    CHECK(report.lost == 0 && all < without);
    if (hangs_at > 0) {
        fault_backend_stick(0, hangs_at);
    } else {
        fault_backend_rate(0, rate / SLOWER);
    }
    sim_works(4);
    const double slow = time_batch(&p, false, &report);
    sim_works(0);
    printf("batch: all %.3f s, without %.3f s, %s %.3f s = %.2f times; %llu "
           "lost, %llu products recomputed, %llu bytes stolen\n",
           all, without, hangs_at > 0 ? "one hangs" : "one slow", slow,
           slow / without, (unsigned long long)report.lost,
           (unsigned long long)report.recomputed,
           (unsigned long long)report.stolen);
    CHECK(slow <= 1.5 * without + PATIENCE);
    fault_backend_let_go();
    CHECK(hr_context_settle(p.context, 1e6) == HR_OK);
    fault_backend_rate(0, rate);
    CHECK(time_batch(&p, false, &report) <= all * 1.1 && report.lost == 0);
    fault_backend_close(p.context);
    free(p.a);
    free(p.b);
    free(p.c);
    free(p.wanted);
}

static bool stop_for_an_hour(void *data, double done, double total)
{
    bool *stopped = data;
    if (!*stopped && done > 0.1 * total) {
        *stopped = true;
        sim_pass(3600 * UINT64_C(1000000000));
    }
    return true;
}

/* A process that was stopped (by a shell, a debugger, a laptop's lid) goes on
 * with all accelerators. */
static void stopped_process_goes_on(void)
{
    TEST_CASE("a process that was stopped");
    static const setting s = {"2xhost", 512, 0, 0, 1e8};
    hr_gemm_options options = HR_GEMM_OPTIONS_INIT;
    hr_gemm_report report = HR_GEMM_REPORT_INIT;
    bool was = false;
    fault_backend_reset();
    hr_context *context = open_context(&s);
    const product p = {context, &s, make_matrix(s.edge, 1),
                       make_matrix(s.edge, 2), make_matrix(s.edge, 3)};
    tell_rates(context, s.rate);
    for (uint32_t i = 0; i < context->accelerator_count; i++) {
        fault_backend_rate(i, s.rate);
    }
    options.report = &report;
    options.progress = stop_for_an_hour;
    options.progress_data = &was;
    CHECK(hr_gemm(context, hr_real(1), p.a, p.b, hr_real(0), p.c, &options) ==
          HR_OK);
    CHECK(was && report.lost == 0 && report.recomputed == 0);
    hr_context_destroy(context);
    free(p.a.data);
    free(p.b.data);
    free(p.c.data);
}

int main(void)
{
    static const setting settings[] = {{"2xhost", 512, 0, 1, 4e8},
                                       {"2xhost", 512, 0, 1, 1e8},
                                       {"4xhost", 1024, 0, 1, 1e9},
                                       {"4xhost", 1024, 930000, 2, 1e9},
                                       {"4xhost", 1024, 500000, 2, 1e9}};
    (void)setenv("HEADRACE_THREADS", "1", 1);
    sim_seed(1);
    for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++) {
        TEST(relieve_product(&settings[i]));
    }
    for (int i = 0; i < 4; i++) {
        TEST(relieve_batch(i & 1, i & 2, 0));
        TEST(relieve_batch(i & 1, i & 2, 1 + 20 * (uint64_t)i));
    }
    TEST(stopped_process_goes_on());
    return test_end();
}
