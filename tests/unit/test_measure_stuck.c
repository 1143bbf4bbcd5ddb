/* SPDX-License-Identifier: MIT */
/* Accelerators that hang while they are measured. Every call of a device is
 * made to hang once, from the first on that a large product makes in a context
 * that knows nothing yet. The others complete the product, and later ones do
 * not wait again. Time goes on when everything else has stopped. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "flow/flow.h"
#include "model/figures.h"
#include "runtime/runtime.h"
#include "support/fault_backend.h"
#include "support/simulate.h"
#include "support/told.h"
#include "test.h"

/* More than a thousand million operations, so that it is measured for, in
 * little memory, so that copies are short. */
enum { N = 800, LIMIT = 16 << 20 };

/* Of each accelerator, flop/s. The second one is not measured. */
#define RATE 2e9

/* As long as an accelerator may hang, and the time of a product beside that. */
static const double longest = 31.0, brief = 5.0;

static float a[N * N], b[N * N], c[N * N], wanted[N * N];

/* Row i of A is i + 1 times a row of the unit matrix, in another order. */
static void set_up(void)
{
    memset(a, 0, sizeof a);
    for (int i = 0; i < N; i++) {
        a[i * N + (i * 7) % N] = (float)(i + 1);
        for (int j = 0; j < N; j++) {
            b[i * N + j] = (float)((i * 5 + j * 3) % 17 - 8);
        }
    }
    for (int i = 0; i < N; i++) {
        for (int j = 0; j < N; j++) {
            wanted[i * N + j] = (float)(i + 1) * b[(i * 7) % N * N + j];
        }
    }
}

static hr_status multiply_once(hr_context *context)
{
    memset(c, 0, sizeof c);
    return hr_gemm(context, hr_real(1), hr_matrix_row_major(a, HR_F32, N, N, 0),
                   hr_matrix_row_major(b, HR_F32, N, N, 0), hr_real(0),
                   hr_matrix_row_major(c, HR_F32, N, N, 0), NULL);
}

static bool is_right(void)
{
    return memcmp(c, wanted, sizeof c) == 0;
}

static hr_context *open_context(const char *list, bool staged)
{
    fault_backend_reset();
    fault_backend_pretend_staged(staged);
    for (uint32_t i = 0; i < 2; i++) {
        fault_backend_rate(i, RATE);
    }
    hr_context *context = fault_backend_context(list, LIMIT);
    told_apart(context);
    hri_accelerator *other = &context->accelerators[1];
    told(other, "f32", RATE);
    told_link(other, 1e10);
    told(other, "launches", 1e5);
    told(other, "waits", 5e4);
    told(other, "copies", 2e5);
    return context;
}

static void close_context(hr_context *context)
{
    fault_backend_let_go();
    CHECK(hri_runs_await(context, 60.0));
    fault_backend_close(context);
}

/* A product during which the first accelerator hangs from call `call` on.
 * False when none is made then. */
static bool hang_at_call(uint64_t call, bool staged, int *lost)
{
    hr_context *context = open_context("2xhost", staged);
    hri_accelerator *first = &context->accelerators[0];
    fault_backend_stick(0, call);
    uint64_t start_ns = hri_clock_ns();
    CHECK(multiply_once(context) == HR_OK && is_right());
    CHECK(hri_seconds_since(start_ns) < longest + brief);
    const bool stuck = fault_backend_sticks();
    if (stuck && hri_accelerator_is_lost(first)) { /* not in the product */
        (*lost)++;
        CHECK_FAILS(hri_accelerator_check(first), HR_ERROR_LOST,
                    "measuring: host#0 has not answered for 30 seconds");
        start_ns = hri_clock_ns();
        CHECK(multiply_once(context) == HR_OK && is_right());
        CHECK(hri_seconds_since(start_ns) < brief);
        hr_accelerator_rates rates = HR_ACCELERATOR_RATES_INIT;
        CHECK_FAILS(hr_accelerator_measure(context, 0, &rates), HR_ERROR_LOST,
                    "measuring: host#0 has not answered for 30 seconds");
    }
    close_context(context);
    return stuck;
}

static void hang_everywhere(bool staged)
{
    int lost = 0;
    uint64_t call = 1;
    TEST_CASE(staged ? "staged" : "not staged");
    while (hang_at_call(call, staged, &lost)) {
        call += 1 + call / 2;
    }
    printf("lost %d times while measured, last call %llu\n", lost,
           (unsigned long long)call);
    CHECK(lost > 10);
}

/* The links of two are measured at once: whoever hangs holds what the other
 * needs. */
static void hang_together(void)
{
    hri_link link;
    TEST_CASE("links of both at once");
    hr_context *context = open_context("2xhost", true);
    hri_accelerator *both[] = {&context->accelerators[0],
                               &context->accelerators[1]};
    fault_backend_stick(0, 30);
    CHECK(hri_links_measure(both, 2, true, &link) == HR_ERROR_LOST);
    CHECK(fault_backend_sticks() && link.up == 0.0);
    CHECK(hri_accelerator_is_lost(both[0]) && hri_accelerator_is_lost(both[1]));
    CHECK(multiply_once(context) == HR_ERROR_LOST);
    close_context(context);
}

/* It stays for as long as the device hangs, and so does what it holds. */
static void the_context_ends(void)
{
    TEST_CASE("the context of a device that hangs");
    hr_context *context = open_context("2xhost", false);
    fault_backend_stick(0, 10);
    CHECK(multiply_once(context) == HR_OK && is_right());
    CHECK(fault_backend_sticks());
    hr_context_destroy(context);
    CHECK(fault_backend_sticks() && fault_backend_objects() > 0);
    fault_backend_let_go();
}

/* The CPU is at work for it, as it is when kernels are compiled. */
static void one_compiles(void)
{
    TEST_CASE("a device for which the CPU works");
    hr_context *context = open_context("2xhost", false);
    fault_backend_stick(0, 10);
    sim_works(1);
    const uint64_t start_ns = hri_clock_ns();
    CHECK(multiply_once(context) == HR_OK && is_right());
    const double seconds = hri_seconds_since(start_ns);
    CHECK(seconds > 9 * longest && seconds < 10 * longest);
    sim_works(0);
    close_context(context);
}

int main(void)
{
    sim_seed(1);
    (void)fault_backend_wrap(&hri_backend_host);
    set_up();
    TEST(hang_everywhere(false));
    TEST(hang_everywhere(true));
    TEST(hang_together());
    TEST(one_compiles());
    TEST(the_context_ends()); /* last: objects stay */
    return test_end();
}
