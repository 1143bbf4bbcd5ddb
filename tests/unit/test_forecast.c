/* SPDX-License-Identifier: MIT */
/* How long a plan is predicted to take. The prediction is exact where it can be
 * computed by hand, never less than any link or arithmetic needs, and never
 * more than all of them in turn. Also the plans that are chosen by it. */
#include <math.h>

#include "gemm/plan.h"
#include "model/cost.h"
#include "support/random.h"
#include "test.h"

/* Seconds that issuing a task adds. */
static const double TASK = 1e-5, HOST_START = 1e-4;

/* GPUs of one machine. Their links together carry less than the sum. */
static void fill_gpus(hri_plan_accelerator *gpus, uint32_t count, double rate,
                      double up, double down, double both)
{
    for (uint32_t i = 0; i < count; i++) {
        gpus[i] = (hri_plan_accelerator){
            .memory = 140ull << 30,
            .buffer = UINT64_MAX,
            .rate = rate,
            .tile_rates = {0.6 * rate, 0.9 * rate, 0.97 * rate},
            .up.rate = up / count,
            .down.rate = down / count,
            .both.rate = both / count,
            .up.alone = 54e9,
            .down.alone = 54e9,
            .both.alone = 100e9,
            .task = TASK,
            .start = 3e-4,
            .device = i,
        };
    }
}

static hri_plan *plan_of(const hri_plan_shape *shape,
                         const hri_plan_accelerator *accelerators,
                         uint32_t count)
{
    hri_plan *plan = NULL;
    CHECK(hri_plan_create(shape, accelerators, count, &plan) == HR_OK);
    return plan;
}

/* ---- plans made by hand */

enum { EDGE = 64 };

/* One row of three tiles of 64 x 64 with k = 64, on one accelerator. */
typedef struct row {
    hri_plan plan;
    hri_plan_accelerator accelerator;
    hri_flow_share share;
    hri_delivery deliveries[4]; /* A0, B0, B1, B2 */
    hri_task tasks[3];
    double panel, product, old, home; /* seconds of each step */
} row;

static void row_init(row *r, int32_t b_slots, int32_t c_slots,
                     bool reads_result)
{
    const double none[HRI_TILE_RATES] = {0};
    *r = (row){.accelerator = {.rate = 2e10,
                               .up.rate = 1e8,
                               .down.rate = 1e8,
                               .task = TASK,
                               .start = HOST_START}};
    r->plan = (hri_plan){
        .shape = {.m = EDGE,
                  .n = 3 * EDGE,
                  .k = EDGE,
                  .size = 4,
                  .c_size = 4,
                  .flops = 2.0,
                  .reads_result = reads_result},
        .blocking = {.block_rows = 1,
                     .block_cols = 1,
                     .rows = 1,
                     .cols = 3,
                     .chunks = 1,
                     .panel_sets = 1},
        .tile_rows = 1,
        .tile_cols = 3,
        .flow = {.shares = &r->share,
                 .share_count = 1,
                 .unit_count = 3,
                 .chunks = 1,
                 .reads_result = reads_result},
    };
    r->share = (hri_flow_share){.slots = {1, b_slots, c_slots},
                                .deliveries = r->deliveries,
                                .delivery_count = 4,
                                .tasks = r->tasks,
                                .task_count = 3};
    r->deliveries[0] = (hri_delivery){.after = -1, .source = -1, .side = HRI_A};
    for (int32_t i = 0; i < 3; i++) {
        r->deliveries[i + 1] = (hri_delivery){.after = i - b_slots,
                                              .index = i,
                                              .slot = i % b_slots,
                                              .source = -1,
                                              .side = HRI_B};
        r->tasks[i] = (hri_task){
            .a = 0,
            .b = i + 1,
            .unit = i,
            .col = i,
            .slot = -1,
        };
    }
    r->panel = EDGE * EDGE * 4 / r->accelerator.up.rate;
    r->old = EDGE * EDGE * 4 / r->accelerator.up.rate;
    r->home = EDGE * EDGE * 4 / r->accelerator.down.rate;
    r->product = 2.0 * EDGE * EDGE * EDGE / r->accelerator.rate /
                     hri_cost_efficiency(none, EDGE, EDGE, EDGE) +
                 TASK;
}

/* Whether the forecast is so long, plus the threads. */
static int takes_seconds(hri_plan *plan,
                         const hri_plan_accelerator *accelerators,
                         double seconds)
{
    seconds += HOST_START;
    int ok = hri_forecast(plan, accelerators) == HR_OK &&
             fabs(plan->flow.seconds - seconds) <= 1e-9 * seconds;
    if (!ok) {
        fprintf(stderr, "  %.9f instead of %.9f\n", plan->flow.seconds,
                seconds);
    }
    return ok;
}

static void forecast_rows(void)
{
    row r;
    TEST_CASE("products wait for panels, and hide behind them");
    row_init(&r, 3, 3, false);
    CHECK(r.product < r.panel);
    CHECK(takes_seconds(&r.plan, &r.accelerator,
                        4 * r.panel + r.product + r.home));

    TEST_CASE("a panel waits for its slot");
    row_init(&r, 1, 3, false);
    CHECK(takes_seconds(&r.plan, &r.accelerator,
                        4 * r.panel + 3 * r.product + r.home));

    TEST_CASE("a product waits until the tile before is home");
    row_init(&r, 3, 1, false);
    r.accelerator.down.rate = 1e7;
    CHECK(takes_seconds(&r.plan, &r.accelerator,
                        2 * r.panel + 3 * (r.product + 10 * r.home)));

    TEST_CASE("old C comes between the panels");
    row_init(&r, 3, 3, true);
    CHECK(takes_seconds(&r.plan, &r.accelerator,
                        4 * r.panel + 3 * r.old + r.product + r.home));

    TEST_CASE("old C waits for its tile to be home");
    row_init(&r, 3, 1, true);
    r.accelerator.down.rate = 1e7;
    CHECK(takes_seconds(&r.plan, &r.accelerator,
                        2 * r.panel + 3 * (r.old + r.product + 10 * r.home)));

    TEST_CASE("both ways at once are slower");
    row_init(&r, 3, 3, false);
    r.accelerator.both.rate = 1e8;
    CHECK(takes_seconds(&r.plan, &r.accelerator, 4 * r.panel + 3 * r.home));

    TEST_CASE("a link without a limit takes no time");
    row_init(&r, 3, 3, false);
    r.accelerator.up.rate = r.accelerator.down.rate = 0;
    CHECK(takes_seconds(&r.plan, &r.accelerator, 3 * r.product));

    TEST_CASE("a plan that would never end");
    row_init(&r, 3, 3, false);
    r.deliveries[2].after = 2;
    CHECK(hri_forecast(&r.plan, &r.accelerator) == HR_OK &&
          isinf(r.plan.flow.seconds));
}

static void forecast_hosts(void)
{
    row r;
    TEST_CASE("on a host nothing happens at the same time");
    row_init(&r, 3, 3, false);
    r.accelerator.sharers = 1;
    CHECK(takes_seconds(&r.plan, &r.accelerator,
                        4 * r.panel + 3 * r.product + 3 * r.home));

    TEST_CASE("one of several is as fast as all meanwhile");
    r.accelerator.sharers = 4;
    CHECK(takes_seconds(&r.plan, &r.accelerator,
                        r.panel + 3 * ((r.product - TASK) / 4 + TASK) +
                            0.75 * r.home));
}

/* A comes to the first accelerator. The second one pulls it: it has tile 2
 * alone and is slower. */
static void forecast_pull(void)
{
    TEST_CASE("a pulled panel is there when it has been loaded");
    row r;
    row_init(&r, 3, 3, false);
    hri_plan_accelerator accelerators[2] = {r.accelerator, r.accelerator};
    accelerators[0].up.rate = 1e7;
    accelerators[1].rate = r.accelerator.rate / 100;
    hri_puller puller = {1, 0};
    hri_delivery second[2] = {{.after = -1, .source = 0, .side = HRI_A},
                              r.deliveries[3]};
    hri_task task = r.tasks[2];
    task.b = 1;
    hri_flow_share shares[2] = {r.share, r.share};
    shares[0].delivery_count = 3;
    shares[0].task_count = 2;
    shares[1].accelerator = 1;
    shares[1].deliveries = second;
    shares[1].delivery_count = 2;
    shares[1].tasks = &task;
    shares[1].task_count = 1;
    r.deliveries[0].puller_count = 1;
    r.plan.flow.shares = shares;
    r.plan.flow.share_count = 2;
    r.plan.flow.pullers = &puller;
    double slow = (r.product - TASK) * 100 + TASK;
    CHECK(slow > 20 * r.panel);
    CHECK(takes_seconds(&r.plan, accelerators, 10 * r.panel + slow + r.home));

    TEST_CASE("on a host a pulled panel is copied once more");
    for (int i = 0; i < 2; i++) {
        accelerators[i].up.rate = r.accelerator.up.rate;
        accelerators[i].sharers = 1;
    }
    CHECK(takes_seconds(&r.plan, accelerators,
                        5 * r.panel + 2 * r.product + slow + 3 * r.home));
}

/* ---- what travels as one row */

static void measure_rows(void)
{
    TEST_CASE("rows of copies, of matrices by rows and by columns");
    hri_plan_shape s = {.m = 100, .n = 200, .k = 300, .size = 2, .c_size = 4};
    CHECK(hri_row_bytes(&s, HRI_A, 10, 300) == 600);
    CHECK(hri_row_bytes(&s, HRI_B, 30, 20) == 40);
    CHECK(hri_row_bytes(&s, HRI_C, 10, 200) == 800);
    s.by_columns[HRI_A] = s.by_columns[HRI_B] = true;
    CHECK(hri_row_bytes(&s, HRI_A, 10, 300) == 20);
    CHECK(hri_row_bytes(&s, HRI_B, 30, 20) == 60);

    TEST_CASE("whole lines without gaps are one");
    s.dense[HRI_A] = s.dense[HRI_B] = s.dense[HRI_C] = true;
    CHECK(hri_row_bytes(&s, HRI_A, 10, 300) == 20);
    CHECK(hri_row_bytes(&s, HRI_A, 100, 30) == 6000);
    CHECK(hri_row_bytes(&s, HRI_B, 300, 20) == 12000);
    CHECK(hri_row_bytes(&s, HRI_C, 10, 200) == 8000);
    s.by_columns[HRI_A] = s.by_columns[HRI_B] = false;
    CHECK(hri_row_bytes(&s, HRI_A, 10, 300) == 6000);
    CHECK(hri_row_bytes(&s, HRI_B, 30, 200) == 12000);
}

/* ---- estimates by hand */

/* One accelerator, and C of `rows` x `cols` tiles of 1024 x 1024 with k 1024,
 * all of which it computes in `compute` seconds. A panel takes a 250th of a
 * second, and so does a tile. */
typedef struct grid_of_tiles {
    hri_plan_shape shape;
    hri_plan_accelerator accelerator;
    hri_blocking blocking;
} grid_of_tiles;

static const double PANEL = 1.0 / 250;

static grid_of_tiles tiles_of(int64_t rows, int64_t cols, int64_t chunks,
                              double compute)
{
    enum { TILE = 1024 };
    const double link = TILE * TILE * 4 / PANEL;
    const double tasks = (double)(rows * cols * chunks);
    const double depth = (double)TILE / (double)chunks;
    const double rate = 2.0 * TILE * TILE * TILE * (double)(rows * cols) *
                        (1.0 + 64.0 / depth) / (compute - tasks * TASK);
    return (grid_of_tiles){
        .shape = {.m = rows * TILE,
                  .n = cols * TILE,
                  .k = TILE,
                  .size = 4,
                  .c_size = 4,
                  .flops = 2.0},
        .accelerator = {.rate = rate,
                        .tile_rates = {rate, rate, rate},
                        .up.rate = link,
                        .down.rate = link,
                        .task = TASK,
                        .start = HOST_START},
        .blocking = {.block_rows = 1,
                     .block_cols = 1,
                     .rows = rows,
                     .cols = cols,
                     .chunks = chunks,
                     .panel_sets = 2,
                     .balance = 1.0},
    };
}

/* Whether so many seconds are estimated, beside threads and planning. */
static int estimates_seconds(grid_of_tiles g, double seconds)
{
    hri_totals totals = hri_totals_of(&g.shape, &g.accelerator, 1);
    g.blocking.bytes = hri_estimate_panels(&g.shape, &g.blocking);
    seconds += HOST_START + hri_blocking_tasks(&g.blocking) * hri_cost_plan;
    const double found = hri_estimate_seconds(&totals, &g.blocking);
    const int ok = fabs(found - seconds) <= 1e-9 * seconds;
    if (!ok) {
        fprintf(stderr, "  %.9f instead of %.9f\n", found, seconds);
    }
    return ok;
}

static void estimate_tiles(void)
{
    TEST_CASE("one column: the first two panels delay all, the last tile ends");
    CHECK(estimates_seconds(tiles_of(8, 1, 1, 100 * PANEL), 103 * PANEL));

    TEST_CASE("one column that waits for each panel");
    CHECK(
        estimates_seconds(tiles_of(8, 1, 1, 4 * PANEL), (9 + 0.5 + 1) * PANEL));

    TEST_CASE("a square: the second pair comes after 4 panels, one tile early");
    CHECK(estimates_seconds(tiles_of(4, 4, 1, 16 * PANEL),
                            (4 - 1 + 16 + 1) * PANEL));

    TEST_CASE("a square of tiles that go home more slowly than they are made");
    CHECK(
        estimates_seconds(tiles_of(4, 4, 1, 8 * PANEL), (4 - 1 + 16) * PANEL));

    TEST_CASE("pieces of k: half of what the first panels delay");
    CHECK(estimates_seconds(tiles_of(8, 1, 2, 100 * PANEL), 102 * PANEL));

    TEST_CASE("tiles go home during the last piece alone");
    CHECK(
        estimates_seconds(tiles_of(8, 1, 2, 10 * PANEL), (5 + 1 + 8) * PANEL));
}

/* ---- plans that are made */

/* Seconds for the task's product, on tiles without known rates. */
static double product_seconds(const hri_plan *plan, const hri_task *task,
                              double rate)
{
    const double none[HRI_TILE_RATES] = {0};
    double height = (double)(hri_plan_row(plan, task->row + 1) -
                             hri_plan_row(plan, task->row));
    double width = (double)(hri_plan_col(plan, task->col + 1) -
                            hri_plan_col(plan, task->col));
    double depth = (double)(hri_plan_chunk(plan, task->chunk + 1) -
                            hri_plan_chunk(plan, task->chunk));
    return plan->shape.flops * height * width * depth / rate /
               hri_cost_efficiency(none, height, width, depth) +
           TASK;
}

/* What the busiest link or arithmetic needs, and all of them in turn. */
static void bounds_of(const hri_plan *plan, const hri_plan_accelerator *all,
                      double *least, double *most)
{
    *least = *most = 0;
    for (uint32_t i = 0; i < plan->flow.share_count; i++) {
        const hri_flow_share *share = &plan->flow.shares[i];
        const hri_plan_accelerator *a = &all[share->accelerator];
        double up = (double)share->up / a->up.rate;
        double down = (double)share->down / a->down.rate;
        double both = (double)(share->up + share->down) / a->both.rate;
        double compute = 0;
        for (int64_t t = 0; t < share->task_count; t++) {
            compute += product_seconds(plan, &share->tasks[t], a->rate);
        }
        *least = fmax(*least, fmax(fmax(up, down), fmax(both, compute)));
        *most += up + down + both + compute + HOST_START;
    }
}

static void forecast_at_random(void)
{
    TEST_CASE("no less than what binds, no more than everything in turn");
    random_source random = {20261121};
    int seen[2] = {0};
    for (int i = 0; i < 300; i++) {
        hri_plan_accelerator a[4];
        uint32_t count = (uint32_t)random_between(&random, 1, 4);
        fill_gpus(a, count, 1e9 * (double)random_between(&random, 1, 1000), 4e8,
                  4e8, 6e8);
        uint64_t memory = (uint64_t)random_between(&random, 1 << 20, 1 << 22);
        for (uint32_t j = 0; j < count; j++) {
            a[j].memory = memory;
            a[j].tile_rates[0] = 0; /* as long as they are wide */
            a[j].start = HOST_START;
            a[j].peers = random_next(&random) % 2 ? 0 : j;
        }
        hri_plan_shape shape = {.size = 4, .c_size = 4, .flops = 2.0};
        shape.m = random_between(&random, 1, 700);
        shape.n = random_between(&random, 1, 700);
        shape.k = random_between(&random, 1, 700);
        shape.reads_result = random_next(&random) % 2;
        hri_plan *plan = plan_of(&shape, a, count);
        double least, most;
        bounds_of(plan, a, &least, &most);
        CHECK(hri_forecast(plan, a) == HR_OK);
        CHECK(plan->flow.seconds >= least);
        CHECK(plan->flow.seconds <= most);
        seen[plan->blocking.chunks > 1]++;
        hri_plan_destroy(plan);
    }
    CHECK(seen[0] > 20 && seen[1] > 20);
}

/* What an H200's links and arithmetic allow: docs/performance.md. */
static const struct {
    const char *name;
    int64_t size;
    uint32_t type_size, count;
    double rate, up, down, both, tflops; /* at least so many are planned */
    bool staged;
} machines[] = {
    {"double 16384, 1 GPU", 16384, 8, 1, 58e12, 54e9, 54e9, 100e9, 52, false},
    {"double 16384, 4 GPUs", 16384, 8, 4, 58e12, 158e9, 138e9, 173e9, 180,
     false},
    {"float 32768, 4 GPUs", 32768, 4, 4, 51e12, 158e9, 138e9, 173e9, 190,
     false},
    {"tf32 32768, 1 GPU", 32768, 4, 1, 425e12, 54e9, 54e9, 100e9, 285, false},
    {"tf32 32768, 4 GPUs", 32768, 4, 4, 425e12, 158e9, 138e9, 173e9, 750,
     false},
    {"float 16384, staged", 16384, 4, 4, 51e12, 52e9, 58e9, 64e9, 135, true},
    {"double 16384, staged", 16384, 8, 4, 58e12, 80e9, 60e9, 92e9, 100, true},
};

static void choose_plans(void)
{
    for (size_t i = 0; i < sizeof machines / sizeof machines[0]; i++) {
        TEST_CASE(machines[i].name);
        hri_plan_accelerator gpus[4];
        int64_t n = machines[i].size;
        uint32_t count = machines[i].count;
        fill_gpus(gpus, count, machines[i].rate, machines[i].up,
                  machines[i].down, machines[i].both);
        for (uint32_t j = 0; j < count && machines[i].staged; j++) {
            gpus[j].up.alone = gpus[j].down.alone = gpus[j].both.alone = 0;
            gpus[j].up.start = gpus[j].down.start = 1e-4;
        }
        hri_plan_shape shape = {.m = n,
                                .n = n,
                                .k = n,
                                .size = machines[i].type_size,
                                .c_size = machines[i].type_size,
                                .flops = 2.0};
        hri_plan *plan = plan_of(&shape, gpus, count);
        double flops = 2.0 * (double)n * (double)n * (double)n;
        printf("%s: %.1f ms, %.0f TFLOP/s, tiles of %lld x %lld, k in %lld%s\n",
               machines[i].name, plan->flow.seconds * 1e3,
               flops / plan->flow.seconds * 1e-12,
               (long long)hri_plan_row(plan, 1),
               (long long)hri_plan_col(plan, 1),
               (long long)plan->blocking.chunks,
               plan->blocking.growing ? ", growing" : "");
        CHECK(flops / plan->flow.seconds >= machines[i].tflops * 1e12);
        CHECK(plan->up + plan->down == plan->compulsory);
        const double said = plan->flow.seconds; /* it was walked through */
        CHECK(hri_forecast(plan, gpus) == HR_OK && plan->flow.seconds == said);
        hri_plan_destroy(plan);
    }
}

/* A host with a sixtieth of a GPU's speed does not change the GPU's plan. For
 * 8192 it did: blocks that follow each other were estimated too low. */
static void plan_beside_host(void)
{
    enum { GPU_AND_HOST = 2 };
    for (int64_t n = 2048; n <= 32768; n *= 2) {
        TEST_CASE("a slow host beside a GPU");
        hri_plan_accelerator both[GPU_AND_HOST];
        fill_gpus(both, 1, 59e12, 56e9, 56e9, 102e9);
        both[1] = (hri_plan_accelerator){.rate = 1e12,
                                         .task = TASK,
                                         .start = HOST_START,
                                         .sharers = 1,
                                         .peers = 1,
                                         .device = 1,
                                         .in_place = true};
        const hri_plan_shape shape = {.m = n,
                                      .n = n,
                                      .k = n,
                                      .size = 8,
                                      .c_size = 8,
                                      .flops = 2.0,
                                      .dense = {true, true, true}};
        hri_plan *alone = plan_of(&shape, both, 1);
        hri_plan *beside = plan_of(&shape, both, GPU_AND_HOST);
        CHECK(beside->flow.share_count == 1 &&
              !beside->flow.shares[0].in_place);
        CHECK(beside->flow.seconds == alone->flow.seconds);
        hri_plan_destroy(alone);
        hri_plan_destroy(beside);
    }
}

int main(void)
{
    TEST(forecast_rows());
    TEST(forecast_hosts());
    TEST(forecast_pull());
    TEST(measure_rows());
    TEST(estimate_tiles());
    TEST(forecast_at_random());
    TEST(choose_plans());
    TEST(plan_beside_host());
    return test_end();
}
