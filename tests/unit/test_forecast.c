/* SPDX-License-Identifier: MIT */
/* How long a plan is said to take: exact where it can be told by hand, never
 * less than any link or arithmetic needs, never more than all of them in turn;
 * and the plans that are chosen by it. */
#include <math.h>

#include "gemm/cost.h"
#include "gemm/forecast.h"
#include "gemm/plan.h"
#include "support/random.h"
#include "test.h"

/* GPUs of one machine that share what their links carry together. */
static void fill_gpus(hri_plan_accelerator *gpus, uint32_t count, double rate,
                      double up, double down, double both)
{
    for (uint32_t i = 0; i < count; i++) {
        gpus[i] = (hri_plan_accelerator){
            .memory = 140ull << 30,
            .buffer = UINT64_MAX,
            .rate = rate,
            .tile_rates = {0.6 * rate, 0.9 * rate, 0.97 * rate},
            .up = up / count,
            .down = down / count,
            .both = both / count,
            .up_alone = 54e9,
            .down_alone = 54e9,
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

static int near(double x, double y)
{
    return fabs(x - y) <= 1e-9 * y;
}

static void one_task(void)
{
    TEST_CASE("one task: panels up, product, tile down");
    hri_plan_shape shape = {64, 64, 64, 4, 8, 2.0, false, false};
    hri_plan_accelerator a = {.memory = 1 << 20,
                              .buffer = 1 << 20,
                              .rate = 1e10,
                              .up = 1e8,
                              .down = 2e8};
    const double none[HRI_TILE_RATES] = {0};
    double product =
        2 * 64.0 * 64 * 64 / (1e10 * hri_cost_efficiency(none, 64, 64, 64)) +
        hri_cost_task() + hri_cost_lanes(true, 1);
    hri_plan *plan = plan_of(&shape, &a, 1);
    CHECK(near(plan->seconds,
               product + 2 * 64 * 64 * 4 / 1e8 + 64 * 64 * 8 / 2e8));
    hri_plan_destroy(plan);

    TEST_CASE("one task: old C comes up behind the panels");
    shape.read_c = true;
    plan = plan_of(&shape, &a, 1);
    CHECK(near(plan->seconds, product + 2 * 64 * 64 * 4 / 1e8 +
                                  64 * 64 * 8 / 1e8 + 64 * 64 * 8 / 2e8));
    hri_plan_destroy(plan);

    TEST_CASE("one task: in place, and over links without a limit");
    shape.read_c = false;
    a.in_place = true;
    plan = plan_of(&shape, &a, 1);
    CHECK(near(plan->seconds, product));
    hri_plan_destroy(plan);
    a.in_place = false;
    a.up = a.down = 0;
    plan = plan_of(&shape, &a, 1);
    CHECK(near(plan->seconds, product));
    hri_plan_destroy(plan);
}

/* What the task's product takes on tiles whose rates are not known. */
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
           hri_cost_task();
}

/* What the busiest link or arithmetic needs, and all of them in turn. */
static void bounds_of(const hri_plan *plan, const hri_plan_accelerator *all,
                      double *least, double *most)
{
    *least = *most = 0;
    for (uint32_t i = 0; i < plan->part_count; i++) {
        const hri_part *part = &plan->parts[i];
        const hri_plan_accelerator *a = &all[part->accelerator];
        double up = (double)part->up / a->up;
        double down = (double)part->down / a->down;
        double both = (double)(part->up + part->down) / a->both;
        double compute = 0;
        for (int64_t t = 0; t < part->task_count; t++) {
            compute += product_seconds(plan, &part->tasks[t], a->rate);
        }
        *least = fmax(*least, fmax(fmax(up, down), fmax(both, compute)));
        *most += up + down + both + compute + hri_cost_lanes(true, 1);
    }
}

static void random_bounds(void)
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
            a[j].peers = random_next(&random) % 2 ? 0 : j;
        }
        hri_plan_shape shape = {random_between(&random, 1, 700),
                                random_between(&random, 1, 700),
                                random_between(&random, 1, 700),
                                4,
                                4,
                                2.0,
                                random_next(&random) % 2,
                                false};
        hri_plan *plan = plan_of(&shape, a, count);
        double least, most;
        bounds_of(plan, a, &least, &most);
        CHECK(plan->seconds >= least);
        CHECK(plan->seconds <= most);
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
} machines[] = {
    {"double 16384, 1 GPU", 16384, 8, 1, 58e12, 54e9, 54e9, 100e9, 52},
    {"double 16384, 4 GPUs", 16384, 8, 4, 58e12, 158e9, 138e9, 173e9, 170},
    {"float 32768, 4 GPUs", 32768, 4, 4, 51e12, 158e9, 138e9, 173e9, 190},
    {"tf32 32768, 1 GPU", 32768, 4, 1, 425e12, 54e9, 54e9, 100e9, 325},
    {"tf32 32768, 4 GPUs", 32768, 4, 4, 425e12, 158e9, 138e9, 173e9, 800},
    {"float 16384, staged", 16384, 4, 4, 51e12, 52e9, 58e9, 64e9, 140},
};

static void choices(void)
{
    for (size_t i = 0; i < sizeof machines / sizeof machines[0]; i++) {
        TEST_CASE(machines[i].name);
        hri_plan_accelerator gpus[4];
        int64_t n = machines[i].size;
        uint32_t count = machines[i].count;
        fill_gpus(gpus, count, machines[i].rate, machines[i].up,
                  machines[i].down, machines[i].both);
        hri_plan_shape shape = {
            n,   n,     n,    machines[i].type_size, machines[i].type_size,
            2.0, false, false};
        hri_plan *plan = plan_of(&shape, gpus, count);
        double flops = 2.0 * (double)n * (double)n * (double)n;
        printf("%s: %.1f ms, %.0f TFLOP/s, tiles of %lld x %lld, k in %lld\n",
               machines[i].name, plan->seconds * 1e3,
               flops / plan->seconds * 1e-12, (long long)hri_plan_row(plan, 1),
               (long long)hri_plan_col(plan, 1),
               (long long)plan->blocking.chunks);
        CHECK(flops / plan->seconds >= machines[i].tflops * 1e12);
        CHECK(plan->up + plan->down == plan->compulsory);
        hri_plan_destroy(plan);
    }
}

int main(void)
{
    one_task();
    random_bounds();
    choices();
    return test_end();
}
