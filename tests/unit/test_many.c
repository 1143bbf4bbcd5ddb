/* SPDX-License-Identifier: MIT */
/* Products on many virtual accelerators of one machine: what they wake, and
 * what the plan says of it. */
#include <sys/resource.h>

#include "model/model.h"
#include "support/told.h"
#include "test.h"

enum { EDGE = 768, ACCELERATORS = 64 };

static float a[EDGE * EDGE], b[EDGE * EDGE], c[EDGE * EDGE];

/* Small integers, so that sums are exact. */
static void fill_matrix(float *to, int step)
{
    for (int i = 0; i < EDGE * EDGE; i++) {
        to[i] = (float)((i % EDGE * step + i / EDGE) % 7 - 3);
    }
}

static hr_matrix square(float *data)
{
    return hr_matrix_row_major(data, HR_F32, EDGE, EDGE, 0);
}

static bool is_product(void)
{
    bool right = true;
    for (int i = 0; i < EDGE; i += 5) {
        for (int j = 0; j < EDGE; j += 7) {
            float sum = 0.0f;
            for (int k = 0; k < EDGE; k++) {
                sum += a[i * EDGE + k] * b[k * EDGE + j];
            }
            right = right && c[i * EDGE + j] == sum;
        }
    }
    return right;
}

static hr_context *open_many(void)
{
    hr_context *context = test_context("64xhost", 96 << 10);
    told_overheads(context);
    return context;
}

/* How many products the run consists of. */
static uint64_t tasks_of(const hr_gemm_report *r)
{
    const int64_t depth = r->tile_depth > 0 ? r->tile_depth : EDGE;
    uint64_t tiles = 0;
    for (uint32_t i = 0; i < r->share_count; i++) {
        tiles += r->shares[i].tiles;
    }
    return tiles * (uint64_t)((EDGE + depth - 1) / depth);
}

/* How often threads of this process have gone to sleep. */
static uint64_t count_sleeps(void)
{
    struct rusage usage;
    CHECK(getrusage(RUSAGE_SELF, &usage) == 0);
    return (uint64_t)usage.ru_nvcsw;
}

int main(void)
{
    hr_context *context = open_many();
    hr_gemm_share shares[ACCELERATORS];
    hr_gemm_report report = HR_GEMM_REPORT_INIT;
    hr_gemm_options options = HR_GEMM_OPTIONS_INIT;
    hri_overheads overheads;
    report.shares = shares;
    report.share_capacity = ACCELERATORS;
    options.report = &report;
    fill_matrix(a, 3);
    fill_matrix(b, 5);
    TEST_CASE("the CPUs start the work of one accelerator after the other");
    CHECK(hr_gemm_plan(context, hr_real(1), square(a), square(b), hr_real(0),
                       square(c), NULL, &report) == HR_OK);
    CHECK(hri_model_overheads(&context->accelerators[0], false, &overheads) ==
          HR_OK);
    const uint64_t tasks = tasks_of(&report);
    CHECK(report.share_count > 16 && tasks > 1000);
    CHECK(report.seconds > (double)tasks * overheads.task);
    TEST_CASE("a task wakes the few threads that it concerns");
    /* the first product starts threads */
    for (int i = 0; i < 2; i++) {
        const uint64_t before = count_sleeps();
        CHECK(hr_gemm(context, hr_real(1), square(a), square(b), hr_real(0),
                      square(c), &options) == HR_OK);
        CHECK(is_product());
        CHECK(report.lost == 0 && tasks_of(&report) == tasks);
        const uint64_t sleeps = count_sleeps() - before;
        CHECK(sleeps < 12 * tasks);
    }
    hr_context_destroy(context);
    return test_end();
}
