/* SPDX-License-Identifier: MIT */
/* Every error path of a batch. The n-th call of the backend fails, is the last
 * one before the device is lost, or fails later, for every n. The result is
 * right or the status is the one asked for, nothing is left behind, and the
 * context works afterwards. */
#include <sys/prctl.h>

#include "model/figures.h"
#include "runtime/runtime.h"
#include "support/fault_backend.h"
#include "support/told.h"
#include "test.h"

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
    uint64_t step;  /* every so many calls are failed */
} setup;

static const setup setups[] = {
    {"in place", "host", 0, false, false, false, true, 1, false, 1},
    {"staged", "1xhost", 30000, true, false, false, true, 1, false, 1},
    {"direct", "1xhost", 30000, false, true, false, false, 1, false, 1},
    {"two, staged", "2xhost", 30000, true, true, true, true, 2, true, 1},
    {"two, direct", "2xhost", 30000, false, false, false, false, 2, true, 1},
    {"beside", "host,1xhost", 30000, true, false, true, false, 1, true, 1},
    {"one by one", "1xhost", 5000, false, false, false, true, 1, false, 7},
};

static float a[ELEMENTS], b[ELEMENTS], c[ELEMENTS], wanted[ELEMENTS];
static void *list[COUNT];

static float old_value(int i)
{
    return (float)(i % 17);
}

/* Small integers: exact in any order. */
static void make(const setup *s)
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

static hr_status multiply(const setup *s, hr_context *context,
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

static hr_status create(const setup *s, hr_context **context)
{
    static const hri_backend *backends[2];
    backends[0] = fault_backend_wrap(&hri_backend_host);
    hr_context_options options = HR_CONTEXT_OPTIONS_INIT;
    options.accelerators = s->list;
    options.memory_limit = s->limit;
    hr_status status = hri_context_create_from(backends, &options, context);
    if (status == HR_OK) { /* so slow that sharing pays */
        told_overheads(*context);
        told_apart(*context);
        for (uint32_t i = 0; i < (*context)->accelerator_count; i++) {
            told(&(*context)->accelerators[i], "f32", 5e5);
            told_link(&(*context)->accelerators[i], 1e10);
        }
    }
    return status;
}

/* ---- one fault */

typedef enum way { CALL, LOSE, OPERATION, WAYS } way;
static const char *const way_names[] = {"fail", "lose", "fail later"};
static const hr_status way_status[] = {HR_ERROR_BACKEND, HR_ERROR_LOST,
                                       HR_ERROR_BACKEND};

static void inject(way how, uint64_t n)
{
    if (how == CALL) {
        fault_backend_fail_call(n, HR_ERROR_BACKEND);
    } else if (how == LOSE) {
        fault_backend_lose(n);
    } else {
        fault_backend_fail_operation(n, HR_ERROR_BACKEND);
    }
}

static bool one_fault(const setup *s, way how, uint64_t n, hr_status *status)
{
    bool reached = true;
    hr_context *context = NULL;
    fault_backend_reset();
    fault_backend_pretend_staged(s->staged);
    inject(how, n);
    *status = create(s, &context);
    if (*status == HR_OK) {
        hr_gemm_report report = HR_GEMM_REPORT_INIT;
        *status = multiply(s, context, &report);
        CHECK(*status != HR_OK || is_right());
        CHECK(*status == HR_OK || *status == way_status[how]);
        CHECK(*status == HR_OK || hr_last_error()[0] != '\0');
        reached = (how == OPERATION ? fault_backend_operations()
                                    : fault_backend_calls()) >= n;
        if (how != LOSE && n % 3 == 1) {
            inject(how, 0);
            CHECK(multiply(s, context, &report) == HR_OK && is_right());
        }
        hr_context_destroy(context);
    }
    CHECK(fault_backend_objects() == 0 && fault_backend_breaches() == 0);
    return reached;
}

static void all_faults(const setup *s, way how)
{
    uint64_t n = 1;
    int failed = 0;
    hr_status status;
    TEST_CASE(s->name);
    while (one_fault(s, how, n, &status)) {
        failed += status != HR_OK;
        n += FAULT_STEP * s->step;
    }
    printf("%s, %s, %s: %d of %llu\n", s->name, s->list, way_names[how], failed,
           (unsigned long long)n - 1);
    CHECK(failed > 0);
}

/* ---- a lost accelerator, and none */

/* One call says that its device is lost; later ones work. Its accelerator gets
 * no more work, and others do what it left. */
static void lost_once(const setup *s)
{
    bool completed = false;
    hr_status status = HR_OK;
    TEST_CASE(s->name);
    for (uint64_t n = 1; !completed || status != HR_OK; n++) {
        hr_context *context = NULL;
        hr_gemm_report report = HR_GEMM_REPORT_INIT;
        fault_backend_reset();
        fault_backend_pretend_staged(s->staged);
        CHECK(create(s, &context) == HR_OK);
        fault_backend_fail_call(fault_backend_calls() + n, HR_ERROR_LOST);
        status = multiply(s, context, &report);
        CHECK(status == (s->completes ? HR_OK : HR_ERROR_LOST) ||
              fault_backend_calls() < n || report.lost == 0);
        CHECK(status != HR_OK || is_right());
        completed = completed || (status == HR_OK && report.lost == 1 &&
                                  report.recomputed > 0);
        hr_context_destroy(context);
        if (n > 150) {
            break;
        }
    }
    CHECK(completed == s->completes);
}

/* The bytes of all operands move once, and a shared one to each accelerator. */
static void no_fault(const setup *s)
{
    hr_context *context = NULL;
    hr_gemm_report report = HR_GEMM_REPORT_INIT;
    hr_gemm_share shares[3];
    const uint64_t bytes = sizeof c;
    TEST_CASE(s->name);
    fault_backend_reset();
    fault_backend_pretend_staged(s->staged);
    report.shares = shares;
    report.share_capacity = 3;
    CHECK(create(s, &context) == HR_OK);
    CHECK(multiply(s, context, &report) == HR_OK && is_right());
    CHECK(report.share_count == s->parts);
    CHECK(report.flops == 2.0 * COUNT * EDGE * EDGE * EDGE);
    CHECK(fault_backend_bytes(FAULT_UP) == report.host_to_device);
    CHECK(fault_backend_bytes(FAULT_DOWN) == report.device_to_host);
    CHECK(fault_backend_largest_ordinary() == 0);
    uint64_t products = 0, apart = 0;
    for (uint32_t i = 0; i < report.share_count; i++) {
        const bool in_place = shares[i].memory_limit == 0;
        products += shares[i].tiles;
        apart += in_place ? 0 : 1;
        CHECK(in_place ? shares[i].memory_bytes == 0
                       : shares[i].memory_bytes <= s->limit);
    }
    CHECK(products == COUNT);
    if (apart == s->parts) {
        CHECK(report.device_to_host == bytes);
        CHECK(report.host_to_device ==
              bytes + (s->shared ? apart * bytes / COUNT : bytes) +
                  (s->adds ? bytes : 0));
    }
    hr_context_destroy(context);
}

int main(void)
{
    /* Thousands of contexts: clearing huge pages would take most time. */
    prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
    for (size_t i = 0; i < sizeof setups / sizeof setups[0]; i++) {
        make(&setups[i]);
        TEST(no_fault(&setups[i]));
        TEST(lost_once(&setups[i]));
        for (way how = CALL; how < WAYS; how++) {
            TEST(all_faults(&setups[i], how));
        }
    }
    return test_end();
}
