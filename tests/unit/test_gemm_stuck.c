/* SPDX-License-Identifier: MIT */
/* Accelerators that hang, and slow ones. Every call of a device is made to hang
 * once, for the rest of the product. The others complete it, or the caller
 * cancels; meanwhile the device is left out, and afterwards it is used again.
 * The argument is a set of accelerators, of which the second one hangs; host
 * stands for sets of virtual ones. Time goes on when everything else has
 * stopped, so nothing but the device that hangs is ever late. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <headrace/trace.h>

#include "base/clock.h"
#include "base/size.h"
#include "flow/flow.h"
#include "runtime/runtime.h"
#include "support/fault_backend.h"
#include "support/simulate.h"
#include "support/told.h"
#include "test.h"

enum { M = 260, N = 250, K = 60 };

/* Seconds. A thread sleeps while a GPU works for it, and the clock goes on. */
static double patience = 0.02;
static const double gpu_patience = 1.0, endless = 1e9;

/* Of each accelerator, as the plan has it. */
static const double usual_rate = 1e9;

static float a[M * K], b[K * N], c[M * N], wanted[M * N];

static void fill_matrices(double beta)
{
    for (int i = 0; i < M * K; i++) {
        a[i] = (float)(i * 7 % 13 - 6);
    }
    for (int i = 0; i < K * N; i++) {
        b[i] = (float)(i * 5 % 11 - 5);
    }
    for (int i = 0; i < M; i++) {
        for (int j = 0; j < N; j++) {
            double sum = 0.0;
            for (int k = 0; k < K; k++) {
                sum += (double)a[i * K + k] * b[k * N + j];
            }
            c[i * N + j] = (float)((i * 3 + j) % 9 - 4);
            wanted[i * N + j] = (float)(sum + beta * c[i * N + j]);
        }
    }
}

typedef struct setup {
    const char *list;
    uint64_t limit;
    bool staged;
    double beta;
    bool tight; /* there is no memory beside that of a product */
} setup;

static hr_context *open_context(const setup *s, uint64_t limit)
{
    const char *list = s->list;
    static const hri_backend *backends[3];
    const hri_backend *other =
        strstr(list, "cuda") != NULL ? &hri_backend_cuda : &hri_backend_opencl;
    const bool mixed = strstr(list, "cuda") || strstr(list, "opencl");
    backends[0] = fault_backend_wrap(&hri_backend_host);
    backends[1] = mixed ? fault_backend_wrap(other) : NULL;
    hr_context_options options = HR_CONTEXT_OPTIONS_INIT;
    options.accelerators = list;
    options.memory_limit = limit;
    hr_context *context = NULL;
    fault_backend_reset();
    fault_backend_pretend_staged(s->staged);
    CHECK(hri_context_create_from(backends, &options, &context) == HR_OK);
    told_overheads(context);
    told_links(context, &(hri_link){1e10, 1e10, 1e10});
    return context;
}

/* All are said to be equally fast, whatever was learned. */
static void tell_rates(hr_context *context)
{
    for (uint32_t i = 0; i < context->accelerator_count; i++) {
        told(&context->accelerators[i], "f32", usual_rate);
        told_link(&context->accelerators[i], 1e10);
    }
}

static hr_status multiply_matrices(hr_context *context, double beta,
                                   hr_progress_function progress,
                                   hr_gemm_report *report)
{
    hr_gemm_options options = HR_GEMM_OPTIONS_INIT;
    options.progress = progress;
    options.report = report;
    fill_matrices(beta);
    tell_rates(context);
    return hr_gemm(context, hr_real(1), hr_matrix_row_major(a, HR_F32, M, K, 0),
                   hr_matrix_row_major(b, HR_F32, K, N, 0), hr_real(beta),
                   hr_matrix_row_major(c, HR_F32, M, N, 0), &options);
}

static bool is_right(void)
{
    return memcmp(c, wanted, sizeof c) == 0;
}

/* A product that goes well, whatever else does. */
static void check_product(hr_context *context, double beta)
{
    CHECK(multiply_matrices(context, beta, NULL, NULL) == HR_OK && is_right());
}

/* The device answers again: what was left there comes back. Then no device is
 * late any more. */
static void let_go(hr_context *context)
{
    fault_backend_let_go();
    CHECK(hr_context_settle(context, 60.0) == HR_OK);
    context->patience = endless;
    for (uint32_t i = 0; i < context->accelerator_count; i++) {
        CHECK(!hri_runs_hold(context, &context->accelerators[i]));
    }
}

/* What is told never falls, also when others do what was lost, and is not all
 * before the end. */
static struct {
    double done;
    int ends;
    bool fell;
} heard;

static bool hear_progress(void *data, double done, double total)
{
    (void)data;
    heard.fell = heard.fell || done < heard.done || heard.ends > 0;
    heard.ends += done == total;
    heard.done = done;
    return true;
}

/* A product during which the device hangs from call `call` on. False when it
 * makes fewer calls. */
static bool hang_at_call(hr_context *context, const setup *s, uint64_t call,
                         uint64_t *refused)
{
    hr_gemm_report report = HR_GEMM_REPORT_INIT;
    context->patience = patience;
    fault_backend_stick(1, call);
    memset(&heard, 0, sizeof heard);
    hr_status status = multiply_matrices(
        context, s->beta, call % 2 == 0 ? hear_progress : NULL, &report);
    CHECK(!heard.fell);
    CHECK(heard.ends == (status == HR_OK && call % 2 == 0));
    const bool stuck = fault_backend_sticks();
    if (stuck && status == HR_ERROR_LOST) { /* it has half a tile or its peers'
                                               memory */
        let_go(context);
        (*refused)++;
        return true;
    }
    CHECK(status == HR_OK && is_right());
    CHECK(report.lost > 0 || report.recomputed == 0);
    if (stuck) { /* others do without it */
        CHECK(hri_runs_hold(context, &context->accelerators[1]));
        CHECK_FAILS(hr_context_settle(context, -1), HR_ERROR_INVALID,
                    "settle: -1 seconds, not 0 or more");
        CHECK_FAILS(hr_context_settle(NULL, 0), HR_ERROR_INVALID, "settle: ");
        CHECK_FAILS(hr_context_settle(context, 0), HR_ERROR_LOST,
                    " has not answered since an earlier product");
        context->patience = endless;
        status = multiply_matrices(context, s->beta, NULL, &report);
        CHECK(status == HR_OK ? is_right() && report.lost == 0
                              : status == HR_ERROR_LOST || s->tight);
        CHECK(fault_backend_sticks());
    }
    let_go(context);
    CHECK(multiply_matrices(context, s->beta, NULL, &report) == HR_OK &&
          is_right());
    CHECK(report.lost == 0);
    return stuck;
}

static bool cancel_when_stuck(void *data, double done, double total)
{
    (void)data;
    (void)done;
    (void)total;
    return !fault_backend_sticks();
}

/* The caller cancels once the only accelerator hangs. */
static void cancel_at_call(hr_context *context, uint64_t call)
{
    context->patience = 2 * patience; /* cancel before it is lost */
    fault_backend_stick(0, call);
    hr_status status = multiply_matrices(context, 2.0, cancel_when_stuck, NULL);
    const bool stuck = fault_backend_sticks();
    CHECK(stuck ? status == HR_ERROR_CANCELLED : status == HR_OK && is_right());
    let_go(context);
    check_product(context, 2.0);
}

static void *answer_soon(void *none)
{
    enum { SOON_NS = 100000000 };
    hri_sleep_ns(SOON_NS);
    fault_backend_let_go();
    return none;
}

/* A product that comes while a cancelled one still has the only accelerator
 * waits for its end, but not for ever. */
static void multiply_after_cancelled(const setup *s)
{
    TEST_CASE("after a cancelled one");
    hr_context *context = open_context(s, 0);
    for (int answers = 0; answers < 2; answers++) {
        check_product(context, 2.0);
        context->patience = 2 * patience; /* cancel before it is lost */
        fault_backend_stick(0, 6);
        CHECK(multiply_matrices(context, 2.0, cancel_when_stuck, NULL) ==
              HR_ERROR_CANCELLED);
        CHECK(hri_runs_hold(context, &context->accelerators[0]));
        pthread_t thread;
        if (answers) {
            context->patience = endless;
            CHECK(pthread_create(&thread, NULL, answer_soon, NULL) == 0);
            check_product(context, 2.0);
            pthread_join(thread, NULL);
        } else {
            CHECK(multiply_matrices(context, 2.0, NULL, NULL) == HR_ERROR_LOST);
            CHECK(strstr(hr_last_error(), "since an earlier product") != NULL);
        }
        let_go(context);
    }
    fault_backend_close(context);
}

static void cancel_everywhere(const setup *s)
{
    TEST_CASE("cancelled");
    hr_context *context = open_context(s, s->limit);
    for (uint64_t call = 1; call < 200; call += 3 + call / 3) {
        cancel_at_call(context, call);
    }
    fault_backend_close(context);
}

static void hang_everywhere(const setup *s)
{
    TEST_CASE(s->list);
    hr_context *context = open_context(s, s->limit);
    hr_gemm_report report = HR_GEMM_REPORT_INIT;
    CHECK(multiply_matrices(context, s->beta, NULL, &report) == HR_OK &&
          is_right());
    if (report.share_count < 2) { /* what was measured of a device decides */
        CHECK(strstr(s->list, "cuda") || strstr(s->list, "opencl"));
        printf("%s: the plan leaves others out\n", s->list);
        hr_context_destroy(context);
        return;
    }
    uint64_t call = 1, tries = 1, refused = 0;
    for (; hang_at_call(context, s, call, &refused); tries++) {
        call += 2 + call / (s->tight ? 3 : 16);
    }
    printf("%s: hung at %llu calls up to %llu, %llu without a result\n",
           s->list, (unsigned long long)tries, (unsigned long long)call,
           (unsigned long long)refused);
    CHECK(call > 5); /* others may take most of its tiles */
    CHECK(s->tight || 2 * refused <= tries); /* most have a result */
    fault_backend_close(context);
}

/* Until the only accelerator is given up. It hangs, or a CPU works for it. */
static double seconds_until_lost(const setup *s, bool works)
{
    hr_context *context = open_context(s, 0);
    check_product(context, 2.0);
    context->patience = patience;
    fault_backend_stick(0, 6);
    sim_works(works);
    const uint64_t start_ns = hri_clock_ns();
    CHECK(multiply_matrices(context, 2.0, NULL, NULL) == HR_ERROR_LOST);
    const double seconds = hri_seconds_since(start_ns);
    sim_works(0);
    let_go(context);
    hr_context_destroy(context);
    return seconds;
}

/* Compiling takes longer than any work. */
static void wait_for_compiling(const setup *s)
{
    TEST_CASE("an accelerator for which a CPU works");
    const double hung = seconds_until_lost(s, false);
    const double worked = seconds_until_lost(s, true);
    CHECK(worked > 9 * hung && worked < 11 * hung);
}

static void lose_only_one(const setup *s)
{
    TEST_CASE("an accelerator that is alone");
    hr_context *context = open_context(s, 0);
    check_product(context, 2.0);
    context->patience = patience;
    fault_backend_stick(0, 6); /* before a tile is home */
    CHECK(multiply_matrices(context, 2.0, NULL, NULL) == HR_ERROR_LOST);
    CHECK(strstr(hr_last_error(), "host#0 has not answered for") != NULL);
    CHECK(fault_backend_sticks());
    CHECK(multiply_matrices(context, 2.0, NULL, NULL) == HR_ERROR_LOST);
    CHECK(strstr(hr_last_error(), "since an earlier product") != NULL);
    let_go(context);
    check_product(context, 2.0);
    fault_backend_close(context);
}

/* The second one is slower than planned, so others take over what it has, or it
 * is lost. */
static void relieve_slow_one(const setup *s)
{
    enum { SLOWER = 100 };
    hr_gemm_report report = HR_GEMM_REPORT_INIT;
    hr_gemm_share shares[8];
    TEST_CASE("one is slow");
    hr_context *context = open_context(s, 0);
    context->patience = patience;
    report.shares = shares;
    report.share_capacity = 8;
    fault_backend_rate(1, usual_rate / SLOWER);
    CHECK(multiply_matrices(context, 0.0, NULL, &report) == HR_OK &&
          is_right());
    uint64_t relieved = report.lost;
    for (uint32_t j = 0; j < report.share_count; j++) {
        relieved += shares[j].tiles_stolen;
    }
    /* Unless its only tile was under way when the others were done. */
    CHECK(relieved > 0 || shares[1].tiles <= 1);
    CHECK(hri_runs_await(context, 60.0));
    fault_backend_rate(1, 0.0);
    fault_backend_close(context);
}

/* The second accelerator hangs since a product that the others completed. */
static hr_context *open_with_one_that_hangs(const setup *s)
{
    hr_context *context = open_context(s, 0);
    CHECK(multiply_matrices(context, 0.0, NULL, NULL) == HR_OK);
    context->patience = patience;
    fault_backend_stick(1, 20);
    check_product(context, 0.0);
    CHECK(fault_backend_sticks());
    return context;
}

/* Destroying the context returns although a device hangs. What it holds
 * stays. */
static void destroy_with_hanging(const setup *s)
{
    TEST_CASE("the context of a device that hangs");
    hr_context *context = open_with_one_that_hangs(s);
    hr_context_destroy(context);
    CHECK(fault_backend_sticks() && fault_backend_objects() > 0);
    fault_backend_let_go();
}

/* A timeline begins and ends when no device hangs. */
static void trace_after_hanging(const setup *s)
{
    TEST_CASE("a timeline of a device that hangs");
    hr_context *context = open_with_one_that_hangs(s);
    CHECK_FAILS(hr_context_trace(context, "/dev/null"), HR_ERROR_LOST,
                "host#1 has not answered since an earlier product");
    let_go(context);
    CHECK(hr_context_trace(context, "/dev/null") == HR_OK);
    check_product(context, 0.0);
    CHECK(hr_context_trace(context, NULL) == HR_OK);
    fault_backend_close(context);
}

static int run_virtual_ones(void)
{
    static const setup sets[] = {
        {"2xhost", 0, false, 0.0, false},
        {"3xhost", 0, true, 2.0, false},
        {"3xhost", 100 << 10, false, 2.0, true},
        {"host,2xhost", 0, false, 2.0, false},
        {"2xhost", 60 << 10, true, 0.0, true},
    };
    static const setup alone = {.list = "1xhost", .limit = 60 << 10};
    static const setup staged = {
        .list = "1xhost", .limit = 60 << 10, .staged = true};
    for (size_t i = 0; i < sizeof sets / sizeof sets[0]; i++) {
        TEST(hang_everywhere(&sets[i]));
    }
    TEST(cancel_everywhere(&alone));
    TEST(cancel_everywhere(&staged));
    TEST(relieve_slow_one(&sets[0]));
    TEST(lose_only_one(&alone));
    TEST(wait_for_compiling(&alone));
    TEST(multiply_after_cancelled(&alone));
    TEST(trace_after_hanging(&sets[0]));
    TEST(destroy_with_hanging(&sets[0])); /* last: objects stay */
    return test_end();
}

static int run_real_ones(const char *list)
{
    const setup sets[] = {{list, 0, false, 0.0, false},
                          {list, 0, false, 2.0, false}};
    hr_context_options options = HR_CONTEXT_OPTIONS_INIT;
    options.accelerators = list;
    hr_context *context = NULL;
    if (hr_context_create(&options, &context) != HR_OK) {
        return test_skip(hr_last_error());
    }
    hr_context_destroy(context);
    if (strstr(list, "cuda") != NULL && getenv("HEADRACE_CUDA") == NULL) {
        patience = gpu_patience; /* PoCL and a fake driver have threads here */
    }
    TEST(hang_everywhere(&sets[0]));
    TEST(hang_everywhere(&sets[1]));
    TEST(relieve_slow_one(&sets[0]));
    return test_end();
}

int main(int argc, char **argv)
{
    const char *list = argc > 1 ? argv[1] : "host";
    sim_seed(1);
    return strcmp(list, "host") == 0 ? run_virtual_ones() : run_real_ones(list);
}
