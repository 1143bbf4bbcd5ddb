/* SPDX-License-Identifier: MIT */
/* Batches: the bytes that they move, and accelerators that are lost on the
 * way. */
#include "faults/groups.h"
#include "support/faults.h"

enum { COUNT = 12, EDGE = 12, ELEMENTS = COUNT * EDGE * EDGE };

typedef struct setup {
    const char *name, *list;
    uint64_t limit; /* bytes for each accelerator */
    bool staged;
    bool shared;    /* all products use one B */
    bool listed;    /* C is a list */
    bool adds;      /* beta is 1 */
    uint32_t parts; /* accelerators that take part */
    bool completes; /* others can do what a lost one leaves */
} setup;

static const setup setups[] = {
    {"batch_in_place", "host", 0, false, false, false, true, 1, false},
    {"batch_staged", "1xhost", 30000, true, false, false, true, 1, false},
    {"batch_direct", "1xhost", 30000, false, true, false, false, 1, false},
    {"batch_two_staged", "2xhost", 30000, true, true, true, true, 2, true},
    {"batch_two_direct", "2xhost", 30000, false, false, false, false, 2, true},
    {"batch_beside", "host,1xhost", 30000, true, false, true, false, 1, false},
    {"batch_one_by_one", "1xhost", 5000, false, false, false, true, 1, false},
};

static float a[ELEMENTS], b[ELEMENTS], c[ELEMENTS], wanted[ELEMENTS];
static void *list[COUNT];

static float old_value(int i)
{
    return (float)(i % 17);
}

/* Small integers: exact in any order. */
static void make_operands(const setup *s)
{
    for (int i = 0; i < ELEMENTS; i++) {
        a[i] = (float)(i * 7 % 13 - 6);
        b[i] = (float)(i * 5 % 11 - 5);
    }
    for (int p = 0; p < COUNT; p++) {
        const float *pa = a + p * EDGE * EDGE;
        const float *pb = b + (s->shared ? 0 : p * EDGE * EDGE);
        list[p] = c + p * EDGE * EDGE;
        for (int i = 0; i < EDGE * EDGE; i++) {
            const int at = p * EDGE * EDGE + i;
            float sum = s->adds ? old_value(at) : 0.0f;
            for (int k = 0; k < EDGE; k++) {
                sum += pa[i / EDGE * EDGE + k] * pb[k * EDGE + i % EDGE];
            }
            wanted[at] = sum;
        }
    }
}

static bool is_right(void)
{
    return memcmp(c, wanted, sizeof c) == 0;
}

static hr_status run_batch(const setup *s, hr_context *context,
                           hr_gemm_report *report)
{
    const int64_t step = (int64_t)EDGE * EDGE;
    const hr_matrix mc = hr_matrix_row_major(c, HR_F32, EDGE, EDGE, 0);
    hr_gemm_options options = HR_GEMM_OPTIONS_INIT;
    options.report = report;
    for (int i = 0; i < ELEMENTS; i++) {
        c[i] = old_value(i);
    }
    return hr_gemm_batch(
        context, COUNT, hr_real(1),
        hr_matrices_strided(hr_matrix_row_major(a, HR_F32, EDGE, EDGE, 0),
                            step),
        hr_matrices_strided(hr_matrix_row_major(b, HR_F32, EDGE, EDGE, 0),
                            s->shared ? 0 : step),
        hr_real(s->adds ? 1 : 0),
        s->listed ? hr_matrices_listed(mc, list)
                  : hr_matrices_strided(mc, step),
        &options);
}

/* So slow that sharing pays. */
static void set_rates(hr_context *context, const void *unused)
{
    (void)unused;
    told_apart(context);
    for (uint32_t i = 0; i < context->accelerator_count; i++) {
        told(&context->accelerators[i], "f32", 5e5);
        told_link(&context->accelerators[i], 1e10);
    }
}

static void pretend_staged(const void *with)
{
    fault_backend_pretend_staged(((const setup *)with)->staged);
}

static hr_status check_batch(hr_context *context, const void *with)
{
    hr_gemm_report report = HR_GEMM_REPORT_INIT;
    const hr_status status = run_batch(with, context, &report);
    CHECK(status != HR_OK || is_right());
    return status;
}

static fault_case case_of(const setup *s)
{
    return (fault_case){.name = s->name,
                        .work = check_batch,
                        .with = s,
                        .accelerators = s->list,
                        .limit = s->limit,
                        .pretend = pretend_staged,
                        .prepare = set_rates};
}

static hr_context *open_context(const setup *s)
{
    const fault_case f = case_of(s);
    hr_context *context = NULL;
    TEST_CASE(s->name);
    fault_backend_reset();
    pretend_staged(s);
    CHECK(faults_open(&f, &context) == HR_OK);
    return context;
}

/* ---- a lost accelerator, and none */

/* One call says that its device is lost; later ones work. Its accelerator gets
 * no more work, and others do what it left. */
static void lost_once(const setup *s)
{
    bool completed = false;
    for (uint64_t n = 1; n <= 151; n++) {
        hr_context *context = open_context(s);
        hr_gemm_report report = HR_GEMM_REPORT_INIT;
        fault_backend_fail_call(fault_backend_calls() + n, HR_ERROR_LOST);
        const hr_status status = run_batch(s, context, &report);
        CHECK(status == (s->completes ? HR_OK : HR_ERROR_LOST) ||
              fault_backend_calls() < n || report.lost == 0 ||
              (status == HR_OK && report.recomputed == 0)); /* all is home */
        CHECK(status != HR_OK || is_right());
        completed = completed || (status == HR_OK && report.lost == 1 &&
                                  report.recomputed > 0);
        hr_context_destroy(context);
        if (completed && status == HR_OK) {
            break;
        }
    }
    CHECK(completed == s->completes);
}

/* The bytes of all operands move once, and a shared one to each accelerator. An
 * accelerator that steals may bring what another one has brought. */
static void no_fault(const setup *s)
{
    hr_context *context = open_context(s);
    hr_gemm_report report = HR_GEMM_REPORT_INIT;
    hr_gemm_share shares[3];
    const uint64_t bytes = sizeof c;
    report.shares = shares;
    report.share_capacity = 3;
    CHECK(run_batch(s, context, &report) == HR_OK && is_right());
    CHECK(report.share_count <= s->parts);
    CHECK(report.flops == 2.0 * COUNT * EDGE * EDGE * EDGE);
    CHECK(fault_backend_bytes(FAULT_UP) == report.host_to_device);
    CHECK(fault_backend_bytes(FAULT_DOWN) == report.device_to_host);
    CHECK(fault_backend_largest_ordinary() == 0);
    uint64_t products = 0, apart = 0, stolen = 0;
    for (uint32_t i = 0; i < report.share_count; i++) {
        const bool in_place = shares[i].memory_limit == 0;
        products += shares[i].tiles;
        stolen += shares[i].tiles_stolen;
        apart += in_place ? 0 : 1;
        CHECK(in_place ? shares[i].memory_bytes == 0
                       : shares[i].memory_bytes <= s->limit);
    }
    CHECK(products == COUNT);
    CHECK(apart < s->parts || report.device_to_host == bytes);
    if (apart == s->parts && stolen == 0) {
        CHECK(report.host_to_device ==
              bytes + (s->shared ? apart * bytes / COUNT : bytes) +
                  (s->adds ? bytes : 0));
    }
    hr_context_destroy(context);
}

/* One group of rows times one large matrix, where A and B travel as one. The
 * fake backend sees copies beyond the end of a buffer. */
static void shared_is_large(void)
{
    enum { ROWS = 100, WIDE = 256 };
    static float rows[ROWS * WIDE], square[WIDE * WIDE], sums[ROWS * WIDE];
    static const setup s = {"batch_shared_is_large",
                            "1xhost",
                            0,
                            true,
                            true,
                            false,
                            true,
                            1,
                            false};
    hr_gemm_report report = HR_GEMM_REPORT_INIT;
    hr_gemm_options options = HR_GEMM_OPTIONS_INIT;
    hr_context *context = open_context(&s);
    for (int i = 0; i < ROWS * WIDE; i++) {
        rows[i] = (float)(i % 7 - 3);
        sums[i] = old_value(i);
    }
    for (int i = 0; i < WIDE; i++) {
        square[i * WIDE + (i + 1) % WIDE] = 2;
    }
    options.report = &report;
    told(&context->accelerators[0], "f32", 1e9); /* in groups */
    CHECK(hr_gemm_batch(
              context, ROWS, hr_real(1),
              hr_matrices_strided(hr_matrix_row_major(rows, HR_F32, 1, WIDE, 0),
                                  WIDE),
              hr_matrices_strided(
                  hr_matrix_row_major(square, HR_F32, WIDE, WIDE, 0), 0),
              hr_real(1),
              hr_matrices_strided(hr_matrix_row_major(sums, HR_F32, 1, WIDE, 0),
                                  WIDE),
              &options) == HR_OK);
    bool right = true;
    for (int i = 0; i < ROWS; i++) {
        for (int j = 0; j < WIDE; j++) {
            const int from = i * WIDE + (j + WIDE - 1) % WIDE;
            right = right && sums[i * WIDE + j] ==
                                 old_value(i * WIDE + j) + 2 * rows[from];
        }
    }
    CHECK(right && report.host_to_device == 2 * sizeof rows + sizeof square);
    fault_backend_close(context);
}

void faults_gemm_batch(void)
{
    TEST(shared_is_large());
    for (size_t i = 0; i < sizeof setups / sizeof setups[0]; i++) {
        const fault_case f = case_of(&setups[i]);
        make_operands(&setups[i]);
        TEST(no_fault(&setups[i]));
        TEST(lost_once(&setups[i]));
        faults_each(&f, 1);
    }
}
