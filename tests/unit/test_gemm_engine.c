/* SPDX-License-Identifier: MIT */
/* The engine on virtual host accelerators: what it moves, what it holds, how it
 * distributes work, and how it stops. test_gemm_random checks values. */
#include "gemm/check.h"
#include "runtime/runtime.h"
#include "support/fault_backend.h"
#include "support/operands.h"
#include "support/simulate.h"
#include "support/told.h"
#include "test.h"

static hr_context *open_context(const char *list, uint64_t limit)
{
    hr_context *context = fault_backend_context(list, limit);
    told_overheads(context); /* measured, they and plans depend on the day */
    return context;
}

static hr_status multiply_operands(hr_context *context, operands *o,
                                   double beta, hr_gemm_report *report)
{
    hr_gemm_options options = HR_GEMM_OPTIONS_INIT;
    options.report = report;
    return hr_gemm(context, hr_real(1), o->a, o->b, hr_real(beta), o->c,
                   &options);
}

/* ---- bytes */

static const struct {
    const char *name, *accelerators;
    int64_t m, n, k;
    uint64_t limit;
    double beta;
    int staged, fits, growing, packed;
} runs[] = {
    {"one, all fits", "1xhost", 300, 400, 500, 64 << 20, 0, 0, 1, 0, 0},
    {"two, all fits", "2xhost", 300, 400, 500, 64 << 20, 0, 0, 1, 0, 0},
    {"three, all fits", "3xhost", 300, 400, 500, 64 << 20, 0, 0, 1, 0, 0},
    {"four, all fits", "4xhost", 301, 401, 501, 64 << 20, 0, 0, 1, 0, 0},
    {"five, all fits", "5xhost", 1000, 700, 300, 64 << 20, 0, 0, 1, 0, 0},
    {"five, old C", "5xhost", 1000, 700, 300, 64 << 20, 2, 0, 1, 0, 0},
    {"four, staged", "4xhost", 601, 401, 501, 64 << 20, 0, 1, 1, 0, 0},
    {"four, staged, old C", "4xhost", 601, 401, 501, 64 << 20, 1, 1, 1, 0, 0},
    {"one, tight", "1xhost", 700, 600, 800, 300 << 10, 0, 0, 0, 0, 0},
    {"two, tight", "2xhost", 700, 600, 800, 300 << 10, 0, 0, 0, 0, 0},
    {"three, tight, old C", "3xhost", 700, 600, 800, 200 << 10, 3, 0, 0, 0, 0},
    {"four, tight", "4xhost", 700, 600, 800, 200 << 10, 0, 0, 0, 0, 0},
    {"five, tight, staged", "5xhost", 700, 600, 800, 200 << 10, 1, 1, 0, 0, 0},
    {"least working set", "2xhost", 200, 200, 200, 48 << 10, 1, 0, 0, 0, 0},
    {"deep", "3xhost", 60, 50, 20000, 256 << 10, 0, 0, 0, 0, 0},
    {"flat", "3xhost", 3000, 2000, 3, 256 << 10, 1, 0, 0, 0, 0},
    {"one row", "3xhost", 1, 3000, 700, 1 << 20, 0, 0, 0, 0, 0},
    {"one column", "3xhost", 3000, 1, 700, 1 << 20, 0, 0, 0, 0, 0},
    {"one element", "3xhost", 1, 1, 1, 1 << 20, 0, 0, 0, 0, 0},
    {"one, growing", "1xhost", 400, 400, 900, 64 << 20, 0, 0, 1, 1, 0},
    {"one, growing, old C", "1xhost", 400, 400, 900, 64 << 20, 2, 0, 1, 1, 0},
    {"four, growing, staged", "4xhost", 600, 500, 901, 64 << 20, 1, 1, 1, 1, 0},
    {"packed", "1xhost", 130, 4200, 70, 64 << 20, 0, 0, 1, 0, 2},
    {"packed, staged, old C", "1xhost", 130, 4200, 70, 64 << 20, 2, 1, 1, 0, 2},
    {"packed, two", "2xhost", 131, 8400, 71, 64 << 20, 1, 0, 1, 0, 2},
    {"packed, growing", "1xhost", 400, 4400, 1500, 64 << 20, 1, 0, 1, 1, 2},
    {"no room to turn", "1xhost", 200, 4111, 640, 5 << 20, 1, 0, 0, 0, 1},
    {"too narrow to turn", "1xhost", 130, 4000, 70, 64 << 20, 0, 0, 1, 0, 1},
};

/* Pretend that arithmetic takes a little longer than the links, and calls
 * hardly anything. Then chunks of k grow. */
static void balance_rates(hr_context *context)
{
    hri_link link = {.up = 2e10, .down = 2e10, .both = 4e10};
    for (uint32_t i = 0; i < context->accelerator_count; i++) {
        told(&context->accelerators[i], "f32", 5e11);
        told_link(&context->accelerators[i], link.up);
        told(&context->accelerators[i], "launches", 1e6);
        told(&context->accelerators[i], "copies", 1e6);
        told(&context->accelerators[i], "waits", 1e6);
        context->accelerators[i].device->info.host = false;
        context->accelerators[i].device->info.emulated = true;
    }
    told_links(context, &link);
}

static uint64_t tiles_of(const hr_gemm_report *report)
{
    uint64_t tiles = 0;
    for (uint32_t i = 0; i < report->share_count; i++) {
        tiles += report->shares[i].tiles;
    }
    return tiles;
}

static void move_as_planned(size_t i)
{
    TEST_CASE(runs[i].name);
    fault_backend_reset();
    fault_backend_pretend_staged(runs[i].staged);
    fault_backend_pretend_packed(runs[i].packed ? 1u << HR_F32 : 0);
    hr_context *context = open_context(runs[i].accelerators, runs[i].limit);
    operands o = operands_make(runs[i].m, runs[i].n, runs[i].k);
    if (runs[i].growing) {
        balance_rates(context);
    }
    hr_gemm_share planned[8], done[8];
    hr_gemm_report plan = HR_GEMM_REPORT_INIT, run = HR_GEMM_REPORT_INIT;
    plan.shares = planned;
    run.shares = done;
    plan.share_capacity = run.share_capacity = 8;
    CHECK(hr_gemm_plan(context, hr_real(1), o.a, o.b, hr_real(runs[i].beta),
                       o.c, NULL, &plan) == HR_OK);
    uint64_t up = fault_backend_bytes(FAULT_UP);
    uint64_t down = fault_backend_bytes(FAULT_DOWN);
    uint64_t peer = fault_backend_bytes(FAULT_PEER);
    uint64_t products = fault_backend_count(FAULT_GEMM);
    CHECK(multiply_operands(context, &o, runs[i].beta, &run) == HR_OK);
    products = fault_backend_count(FAULT_GEMM) - products;
    up = fault_backend_bytes(FAULT_UP) - up;
    down = fault_backend_bytes(FAULT_DOWN) - down;
    peer = fault_backend_bytes(FAULT_PEER) - peer;
    /* what was counted is what the backend saw, and what was planned; only
     * stolen tiles bring their panels once more, from a peer */
    CHECK(run.host_to_device == up && run.device_to_host == down &&
          run.peer == peer);
    CHECK(run.host_to_device == plan.host_to_device);
    CHECK(run.device_to_host == plan.device_to_host);
    CHECK(run.peer == plan.peer + run.stolen);
    CHECK(run.compulsory == plan.compulsory);
    CHECK(run.pinned_bytes == plan.pinned_bytes &&
          (run.pinned_bytes > 0) == (runs[i].staged != 0));
    if (runs[i].growing) { /* three chunks, of which the last is a half */
        CHECK(products == 3 * tiles_of(&run));
        CHECK(run.tile_depth >= runs[i].k / 2);
    }
    if (runs[i].packed) { /* 2: it is, 1: it is not */
        CHECK((fault_backend_count(FAULT_PACK) > 0) == (runs[i].packed == 2));
        CHECK(fault_backend_bytes(FAULT_LOCAL) == 0);
    }
    CHECK(!runs[i].fits || run.ratio == 1.0);
    uint64_t elements = (uint64_t)(o.m * o.k + o.k * o.n) +
                        (uint64_t)(o.m * o.n) * (runs[i].beta != 0 ? 2 : 1);
    CHECK(run.compulsory == 4 * elements);
    for (uint32_t s = 0; s < context->accelerator_count; s++) {
        CHECK(context->accelerators[s].memory_peak <= runs[i].limit);
    }
    CHECK(run.share_count == plan.share_count);
    CHECK(operands_are_product(&o, runs[i].beta));
    fault_backend_close(context);
    operands_free(&o);
}

/* ---- a second call */

/* Memory, queues and threads that have been made so far. */
static uint64_t count_made(const hr_context *context)
{
    uint64_t count = fault_backend_count(FAULT_ALLOCATE) +
                     fault_backend_count(FAULT_ALLOCATE_PINNED) +
                     fault_backend_count(FAULT_CREATE_QUEUE);
    for (uint32_t i = 0; i < context->accelerator_count; i++) {
        count += context->accelerators[i].threads.made;
    }
    return count;
}

static void multiply_again(void)
{
    TEST_CASE("a second call makes nothing");
    for (int staged = 0; staged <= 1; staged++) {
        fault_backend_reset();
        fault_backend_pretend_staged(staged);
        hr_context *context = open_context("3xhost", 1 << 20);
        operands o = operands_make(500, 500, 500);
        CHECK(multiply_operands(context, &o, 0, NULL) == HR_OK);
        uint64_t before = count_made(context);
        CHECK(before >= 3 * (1 + 5 + 1));
        CHECK(fault_backend_count(FAULT_ALLOCATE) == 3); /* one of each */
        CHECK(multiply_operands(context, &o, 0, NULL) == HR_OK);
        CHECK(count_made(context) == before);
        hr_context_destroy(context);
        operands_free(&o);
    }
}

typedef struct described {
    hr_context *context;
    int calls, wrong;
} described;

/* Count the accelerators that do not tell the context's limit. */
static bool describe_while_running(void *data, double done, double total)
{
    described *seen = data;
    (void)done;
    (void)total;
    for (uint32_t i = 0; i < hr_accelerator_count(seen->context); i++) {
        hr_accelerator_info info = HR_ACCELERATOR_INFO_INIT;
        seen->wrong +=
            hr_accelerator_describe(seen->context, i, &info) != HR_OK ||
            info.memory_limit != 32 << 20;
    }
    seen->calls++;
    return true;
}

/* A call's own limit also bounds what earlier calls left in the cache. */
static void limit_one_call(void)
{
    TEST_CASE("a call's memory limit counts the cache");
    fault_backend_reset();
    hr_context *context = open_context("2xhost", 32 << 20);
    operands o = operands_make(700, 700, 700);
    CHECK(multiply_operands(context, &o, 0, NULL) == HR_OK);
    CHECK(context->accelerators[0].memory_used > 200 << 10);
    hr_gemm_options options = HR_GEMM_OPTIONS_INIT;
    options.memory_limit = 200 << 10;
    described seen = {.context = context};
    options.progress = describe_while_running;
    options.progress_data = &seen;
    CHECK(hr_gemm(context, hr_real(1), o.a, o.b, hr_real(0), o.c, &options) ==
          HR_OK);
    for (uint32_t i = 0; i < 2; i++) {
        CHECK(context->accelerators[i].memory_used <= 200 << 10);
        CHECK(context->accelerators[i].memory_limit == 32 << 20);
    }
    CHECK(seen.calls > 1 && seen.wrong == 0);
    CHECK(operands_are_product(&o, 0));
    hr_context_destroy(context);
    operands_free(&o);
}

/* A device whose largest buffer is far smaller than its memory. */
static void limit_buffers(void)
{
    TEST_CASE("no slot is larger than the largest buffer");
    for (uint64_t largest = 64 << 10; largest <= 4 << 20; largest *= 8) {
        fault_backend_reset();
        fault_backend_limit(0, largest);
        hr_context *context = open_context("2xhost", 64 << 20);
        operands o = operands_make(900, 900, 900);
        CHECK(multiply_operands(context, &o, 0, NULL) == HR_OK);
        CHECK(operands_are_product(&o, 0));
        hr_context_destroy(context);
        operands_free(&o);
    }
}

/* ---- in place */

static void multiply_in_place(void)
{
    TEST_CASE("plain host: nothing is copied, nothing is held");
    fault_backend_reset();
    hr_context *context = open_context("host", 0);
    operands o = operands_make(400, 500, 600);
    hr_gemm_report report = HR_GEMM_REPORT_INIT;
    CHECK(multiply_operands(context, &o, 0, &report) == HR_OK);
    CHECK(fault_backend_count(FAULT_COPY) == 0);
    CHECK(fault_backend_count(FAULT_ALLOCATE) == 0);
    CHECK(report.host_to_device + report.device_to_host + report.peer == 0);
    CHECK(report.compulsory == 0 && report.ratio == 1.0);
    CHECK(operands_are_product(&o, 0));
    hr_context_destroy(context);
    operands_free(&o);
}

/* ---- stealing */

/* The last accelerator is said to be three times as fast as the first, and is
 * held up until that one has done its part and has stolen a tile. */
static void steal_tails(int staged, const char *list)
{
    TEST_CASE("an accelerator that is done takes over tiles");
    fault_backend_reset();
    fault_backend_pretend_staged(staged);
    hr_context *context = open_context(list, 0);
    uint32_t last = context->accelerator_count - 1;
    for (uint32_t i = 0; i <= last; i++) {
        told(&context->accelerators[i], "f32", i == last ? 3e9 : 1e9);
        told_link(&context->accelerators[i], 1e10);
    }
    operands o = operands_make(1100, 1100, 600);
    uint64_t first_tiles = 0; /* that the first has been given so far */
    for (int beta = 0; beta <= 2; beta += 2) {
        hr_gemm_share planned[4], done[4];
        hr_gemm_report plan = HR_GEMM_REPORT_INIT, run = HR_GEMM_REPORT_INIT;
        plan.shares = planned;
        run.shares = done;
        plan.share_capacity = run.share_capacity = 4;
        CHECK(hr_gemm_plan(context, hr_real(1), o.a, o.b, hr_real(beta), o.c,
                           NULL, &plan) == HR_OK);
        operands_set_old(&o);
        CHECK(planned[0].accelerator == 0);
        fault_backend_hold(last, first_tiles + planned[0].tiles + 1);
        CHECK(multiply_operands(context, &o, beta, &run) == HR_OK);
        first_tiles += done[0].tiles;
        const uint64_t tiles = tiles_of(&run);
        uint64_t stolen = 0;
        for (uint32_t i = 0; i < run.share_count; i++) {
            stolen += done[i].tiles_stolen;
        }
        printf("%s: %llu of %llu tiles stolen\n", list,
               (unsigned long long)stolen, (unsigned long long)tiles);
        CHECK(run.share_count > 1 && stolen > 0 && tiles == tiles_of(&plan));
        CHECK(operands_are_product(&o, beta));
        if (strchr(list, ',') == NULL) { /* all are peers */
            CHECK(run.host_to_device == plan.host_to_device);
            CHECK(run.device_to_host == plan.device_to_host);
            CHECK(run.peer == plan.peer + run.stolen);
        }
    }
    fault_backend_close(context);
    operands_free(&o);
}

/* ---- progress */

typedef struct watcher {
    int calls, cancel_at;
    double last, total;
    int rising;
} watcher;

static bool watch_progress(void *data, double done, double total)
{
    watcher *w = data;
    w->calls++;
    w->rising = w->rising && done >= w->last && done <= total * (1 + 1e-9);
    w->last = done;
    w->total = total;
    return w->calls != w->cancel_at;
}

/* All accelerators together take more than a second. */
enum { LONG_EXTENT = 700 };
static const double slow_rate = 1e8;

static void cancel_and_go_on(const char *list, int cancel_at)
{
    TEST_CASE("progress rises, cancelling stops, the context lives on");
    fault_backend_reset();
    hr_context *context = open_context(list, 2 << 20);
    for (uint32_t i = 0; i < context->accelerator_count; i++) {
        told(&context->accelerators[i], "f32", slow_rate);
        fault_backend_rate(i, slow_rate);
    }
    operands o = operands_make(LONG_EXTENT, LONG_EXTENT, LONG_EXTENT);
    watcher w = {.rising = 1, .cancel_at = cancel_at};
    hr_gemm_options options = HR_GEMM_OPTIONS_INIT;
    hr_gemm_report report = HR_GEMM_REPORT_INIT;
    options.progress = watch_progress;
    options.progress_data = &w;
    options.report = &report;
    hr_status status =
        hr_gemm(context, hr_real(1), o.a, o.b, hr_real(0), o.c, &options);
    CHECK(status == HR_ERROR_CANCELLED &&
          strstr(hr_last_error(), "cancelled") != NULL);
    CHECK(w.calls == cancel_at && report.seconds == 0.0);
    w = (watcher){.rising = 1};
    CHECK(hr_gemm(context, hr_real(1), o.a, o.b, hr_real(0), o.c, &options) ==
          HR_OK);
    CHECK(w.rising && w.calls > cancel_at && w.last == w.total);
    CHECK(w.total == 2.0 * LONG_EXTENT * LONG_EXTENT * LONG_EXTENT);
    CHECK(operands_are_product(&o, 0));
    fault_backend_close(context);
    operands_free(&o);
}

/* Blocks and tiles are those of the caller's C, however it lies. */
static void plan_columns(void)
{
    enum { ROWS = 1000, COLS = 300 };
    TEST_CASE("sizes of a column-major C");
    hr_context *context = test_context("2xhost", 8 << 20);
    const hr_matrix as = hr_matrix_row_major(NULL, HR_F32, ROWS, COLS, 0);
    const hr_matrix bs = hr_matrix_row_major(NULL, HR_F32, COLS, COLS, 0);
    const hr_matrix cs = hr_matrix_column_major(NULL, HR_F32, ROWS, COLS, 0);
    hr_gemm_report report = HR_GEMM_REPORT_INIT;
    CHECK(hr_gemm_plan(context, hr_real(1), as, bs, hr_real(0), cs, NULL,
                       &report) == HR_OK);
    CHECK(report.block_rows == ROWS && report.block_cols == COLS);
    CHECK(report.tile_rows > 0 && report.tile_rows <= ROWS);
    CHECK(report.tile_cols > 0 && report.tile_cols <= COLS);
    hr_context_destroy(context);
}

int main(void)
{
    sim_seed(1);
    for (size_t i = 0; i < sizeof runs / sizeof runs[0]; i++) {
        TEST(move_as_planned(i));
    }
    TEST(multiply_again());
    TEST(limit_one_call());
    TEST(limit_buffers());
    TEST(plan_columns());
    TEST(multiply_in_place());
    TEST(steal_tails(0, "2xhost"));
    TEST(steal_tails(1, "2xhost"));
    TEST(steal_tails(0, "host,1xhost"));
    TEST(cancel_and_go_on("3xhost", 2));
    cancel_and_go_on("host", 1); /* a single task may be all */
    return test_end();
}
