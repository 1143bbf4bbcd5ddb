/* SPDX-License-Identifier: MIT */
/* Products, also while executors steal tiles from each other, and products of
 * one task. The caller may cancel at each call. */
#include "base/progress.h"
#include "base/size.h"
#include "faults/groups.h"
#include "support/faults.h"

enum { MAX_ELEMENTS = 70 * 8200 };

typedef struct setup {
    const char *name, *list;
    int m, n, k;
    uint64_t limit; /* bytes for each accelerator */
    bool staged;
    bool steal; /* whole k; accelerator `slow` is held up */
    uint32_t slow;
    bool packed; /* panels of A are packed transposed */
    double rate; /* products for each second; 0: as it is */
} setup;

static const setup setups[] = {
    {"gemm_in_place", "host", 130, 100, 130, .limit = 0},
    {"gemm_chunks_staged", "1xhost", 100, 70, 70, 52 << 10, .staged = true},
    {"gemm_chunks_peers", "3xhost", 130, 100, 70, .limit = 52 << 10},
    {"gemm_chunks_two", "2xhost", 100, 70, 70, 52 << 10, .staged = true},
    {"gemm_theft_staged", "2xhost", 130, 250, 20, 1 << 20, .staged = true,
     .steal = true},
    {"gemm_theft_of_three", "3xhost", 250, 190, 20, 1 << 20, .steal = true,
     .slow = 1},
    {"gemm_theft_blocks", "2xhost", 140, 140, 20, 45 << 10, .steal = true},
    {"gemm_theft_in_place", "host,1xhost", 130, 250, 20, 1 << 20, .steal = true,
     .slow = 1},
    {"gemm_theft_from_host", "host,1xhost", 130, 250, 20, 1 << 20,
     .staged = true, .steal = true},
    {"gemm_packed", "2xhost", 70, 8200, 20, 16 << 20, .packed = true},
    {"gemm_brief", "1xhost", 40, 40, 40, .rate = 1e9},
    {"gemm_brief_staged", "1xhost", 40, 40, 40, .staged = true, .rate = 1e9},
};

/* How many products of the others `slow` waits for: all of their own, and one
 * that they have stolen. 0: it does not wait. */
static uint64_t hold;

static float a[MAX_ELEMENTS], b[MAX_ELEMENTS], c[MAX_ELEMENTS],
    wanted[MAX_ELEMENTS];

static void make_operands(const setup *s)
{
    for (int i = 0; i < s->m * s->k; i++) {
        a[i] = (float)(i * 7 % 13 - 6);
    }
    for (int i = 0; i < s->k * s->n; i++) {
        b[i] = (float)(i * 5 % 11 - 5);
    }
    for (int i = 0; i < s->m; i++) {
        for (int j = 0; j < s->n; j++) {
            float sum = (float)(i + j); /* old C */
            for (int k = 0; k < s->k; k++) {
                sum += a[i * s->k + k] * b[k * s->n + j];
            }
            wanted[i * s->n + j] = sum; /* small integers: exact */
        }
    }
}

static bool is_right(const setup *s)
{
    return memcmp(c, wanted, (size_t)(s->m * s->n) * sizeof *c) == 0;
}

static hr_status run_product(const setup *s, hr_context *context,
                             const hr_gemm_options *options)
{
    for (int i = 0; i < s->m * s->n; i++) {
        c[i] = (float)(i / s->n + i % s->n);
    }
    return hr_gemm(context, hr_real(1),
                   hr_matrix_row_major(a, HR_F32, s->m, s->k, 0),
                   hr_matrix_row_major(b, HR_F32, s->k, s->n, 0), hr_real(1),
                   hr_matrix_row_major(c, HR_F32, s->m, s->n, 0), options);
}

/* To steal, devices of their own are said to be so slow that tiles are small.
 * So it seems worth it for everything that has not run yet. */
static void set_rates(hr_context *context, const void *with)
{
    const setup *s = with;
    const double rate = s->steal ? 5e5 : s->rate;
    if (s->steal) {
        told_apart(context);
    }
    for (uint32_t i = 0; rate > 0 && i < context->accelerator_count; i++) {
        told(&context->accelerators[i], "f32", rate);
        told_link(&context->accelerators[i], 1e10);
    }
}

static void pretend_setup(const void *with)
{
    const setup *s = with;
    fault_backend_pretend_staged(s->staged);
    fault_backend_pretend_packed(s->packed ? 1u << HR_F32 : 0);
    fault_backend_hold(s->slow, hold);
}

static hr_status check_product(hr_context *context, const void *with)
{
    hr_gemm_options options = HR_GEMM_OPTIONS_INIT;
    options.progress = faults_progress();
    const hr_status status = run_product(with, context, &options);
    CHECK(status != HR_OK || is_right(with));
    return status;
}

static fault_case case_of(const setup *s)
{
    return (fault_case){.name = s->name,
                        .work = check_product,
                        .with = s,
                        .accelerators = s->list,
                        .limit = s->limit,
                        .threads = s->rate > 0 ? 4 : 0,
                        .ways = FAULTS_USUAL | FAULTS_CANCEL,
                        .pretend = pretend_setup,
                        .prepare = set_rates};
}

/* ---- no fault */

typedef struct summary {
    hr_gemm_report report;
    hr_gemm_share shares[3];
} summary;

static void summary_init(summary *r)
{
    *r = (summary){.report = HR_GEMM_REPORT_INIT};
    r->report.shares = r->shares;
    r->report.share_capacity = 3;
}

/* Hold `slow` up where all is one block. Earlier blocks would measure speeds,
 * which decide what is stolen. Returns how many blocks there are. */
static int64_t set_hold(const setup *s, hr_context *context)
{
    summary plan;
    summary_init(&plan);
    CHECK(hr_gemm_plan(context, hr_real(1),
                       hr_matrix_row_major(a, HR_F32, s->m, s->k, 0),
                       hr_matrix_row_major(b, HR_F32, s->k, s->n, 0),
                       hr_real(1),
                       hr_matrix_row_major(c, HR_F32, s->m, s->n, 0), NULL,
                       &plan.report) == HR_OK);
    int64_t blocks = hri_ceil_div(s->m, plan.report.block_rows) *
                     hri_ceil_div(s->n, plan.report.block_cols);
    hold = s->steal && blocks == 1;
    for (uint32_t i = 0; i < plan.report.share_count && hold > 0; i++) {
        const hr_gemm_share *share = &plan.shares[i];
        hold += share->accelerator != s->slow ? share->tiles : 0;
    }
    fault_backend_hold(s->slow, hold);
    return blocks;
}

static void no_fault(const fault_case *f)
{
    const setup *s = f->with;
    hr_context *context = NULL;
    TEST_CASE(s->name);
    fault_backend_reset();
    pretend_setup(s);
    CHECK(faults_open(f, &context) == HR_OK);
    int64_t blocks = set_hold(s, context);
    summary run;
    summary_init(&run);
    hr_gemm_options options = HR_GEMM_OPTIONS_INIT;
    options.report = &run.report;
    CHECK(run_product(s, context, &options) == HR_OK && is_right(s));
    CHECK((fault_backend_count(FAULT_PACK) > 0) == s->packed);
    uint64_t tiles = 0, stolen = 0;
    for (uint32_t i = 0; i < run.report.share_count; i++) {
        tiles += run.shares[i].tiles;
        stolen += run.shares[i].tiles_stolen;
    }
    printf("%s, %s: %lld blocks, %llu tiles, %llu of them stolen\n", s->name,
           s->list, (long long)blocks, (unsigned long long)tiles,
           (unsigned long long)stolen);
    CHECK(stolen > 0 || hold == 0);
    CHECK(!s->steal ||
          (blocks > 1) == (strcmp(s->name, "gemm_theft_blocks") == 0));
    hr_context_destroy(context);
}

void faults_gemm(void)
{
    hri_progress_ms = 1;
    for (size_t i = 0; i < sizeof setups / sizeof setups[0]; i++) {
        fault_case f = case_of(&setups[i]);
        hold = 0;
        make_operands(&setups[i]);
        TEST(no_fault(&f));
        faults_each(&f, 1);
        if (setups[i].rate > 0) { /* one call says so, and the others work */
            f.ways = FAULTS_CALL;
            f.status = HR_ERROR_LOST;
            faults_each(&f, 1);
        }
    }
}
