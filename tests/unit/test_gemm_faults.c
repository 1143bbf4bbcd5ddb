/* SPDX-License-Identifier: MIT */
/* Every error path of create, plan and run. The n-th call of the backend fails,
 * or the caller cancels there, for every n, also while executors steal tiles
 * from each other. The result is right or the status is the one asked for,
 * nothing is left behind, and the context works afterwards. */
#include <pthread.h>
#include <sys/prctl.h>

#include "base/clock.h"
#include "base/size.h"
#include "runtime/runtime.h"
#include "support/clock.h"
#include "support/fault_backend.h"
#include "support/told.h"
#include "test.h"

enum { MAX_ELEMENTS = 70 * 8200 };

typedef struct setup {
    const char *name, *list;
    int m, n, k;
    uint64_t limit; /* bytes for each accelerator */
    bool staged;
    bool steal; /* whole k; accelerator `slow` is held up */
    uint32_t slow;
    bool packed; /* panels of A are packed transposed */
} setup;

static const setup setups[] = {
    {"in place", "host", 130, 100, 130, 0, false, false, 0, false},
    {"chunks, staged", "1xhost", 100, 70, 70, 52 << 10, true, false, 0, false},
    {"chunks, peers", "3xhost", 130, 100, 70, 52 << 10, false, false, 0, false},
    {"chunks, two", "2xhost", 100, 70, 70, 52 << 10, true, false, 0, false},
    {"theft, staged", "2xhost", 130, 250, 20, 1 << 20, true, true, 0, false},
    {"theft of three", "3xhost", 250, 190, 20, 1 << 20, false, true, 1, false},
    {"theft, blocks", "2xhost", 140, 140, 20, 45 << 10, false, true, 0, false},
    {"theft in place", "host,1xhost", 130, 250, 20, 1 << 20, false, true, 1,
     false},
    {"theft from host", "host,1xhost", 130, 250, 20, 1 << 20, true, true, 0,
     false},
    {"packed", "2xhost", 70, 8200, 20, 16 << 20, false, false, 0, true},
};

/* How many products of the others `slow` waits for: all of their own, and one
 * that they have stolen. 0: it does not wait. */
static uint64_t hold;

static float a[MAX_ELEMENTS], b[MAX_ELEMENTS], c[MAX_ELEMENTS],
    wanted[MAX_ELEMENTS];

static void make(const setup *s)
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

static hr_status multiply(const setup *s, hr_context *context,
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

/* Devices of their own that are said to be so slow that tiles are small. So
 * stealing seems worth it for everything that has not run yet. */
static void set_rates(hr_context *context)
{
    told_apart(context);
    for (uint32_t i = 0; i < context->accelerator_count; i++) {
        const hri_accelerator *accelerator = &context->accelerators[i];
        told(accelerator, "f32", 5e5);
        told_link(accelerator, 1e10);
    }
}

static hr_status create(const setup *s, hr_context **context)
{
    static const hri_backend *backends[2];
    backends[0] = fault_backend_wrap(&hri_backend_host);
    hr_context_options options = HR_CONTEXT_OPTIONS_INIT;
    options.accelerators = s->list;
    options.memory_limit = s->limit;
    hr_status status = hri_context_create_from(backends, &options, context);
    if (status == HR_OK) {
        told_overheads(*context); /* measuring takes thousands of calls */
    }
    if (status == HR_OK && s->steal) {
        set_rates(*context);
    }
    return status;
}

/* ---- cancelling at call n */

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool reached, told;
} stop = {.lock = PTHREAD_MUTEX_INITIALIZER,
          .changed = PTHREAD_COND_INITIALIZER};

/* Call n is about to be made. It waits until the progress function has been
 * asked and all threads that stop have stopped, or until nothing more happens
 * without it. */
static void reach(void *data)
{
    enum { PATIENCE_MS = 1000 };
    (void)data;
    pthread_mutex_lock(&stop.lock);
    stop.reached = true;
    while (!stop.told &&
           hri_wait_until(&stop.changed, &stop.lock, hri_in_ms(PATIENCE_MS))) {
    }
    pthread_mutex_unlock(&stop.lock);
    hri_sleep_ns(1);
}

/* A progress function that cancels when call n is being made. */
static bool go_on_until_reached(void *data, double done, double total)
{
    (void)data;
    (void)done;
    (void)total;
    pthread_mutex_lock(&stop.lock);
    const bool reached = stop.reached;
    stop.told = stop.told || reached;
    pthread_cond_broadcast(&stop.changed);
    pthread_mutex_unlock(&stop.lock);
    return !reached;
}

/* ---- one fault */

typedef enum way { CALL, LOSE, OPERATION, CANCEL, WAYS } way;
static const char *const way_names[] = {"fail", "lose", "fail later", "cancel"};
static const hr_status way_status[] = {HR_ERROR_BACKEND, HR_ERROR_LOST,
                                       HR_ERROR_BACKEND, HR_ERROR_CANCELLED};

static void inject(way how, uint64_t n)
{
    if (how == CALL) {
        fault_backend_fail_call(n, HR_ERROR_BACKEND);
    } else if (how == LOSE) {
        fault_backend_lose(n);
    } else if (how == OPERATION) {
        fault_backend_fail_operation(n, HR_ERROR_BACKEND);
    } else {
        stop.reached = stop.told = false;
        fault_backend_at_call(n, reach, NULL);
    }
}

static bool was_reached(way how, uint64_t n)
{
    return (how == OPERATION ? fault_backend_operations()
                             : fault_backend_calls()) >= n;
}

/* Multiply with a fault, and for some n once more without. Returns whether n
 * was reached. */
static bool multiply_with(const setup *s, hr_context *context, way how,
                          uint64_t n, hr_status *status)
{
    hr_gemm_options options = HR_GEMM_OPTIONS_INIT;
    options.progress = how == CANCEL ? go_on_until_reached : NULL;
    *status = multiply(s, context, &options);
    CHECK(*status != HR_OK || is_right(s));
    CHECK(*status == HR_OK || *status == way_status[how]);
    CHECK(*status == HR_OK || hr_last_error()[0] != '\0');
    bool reached = was_reached(how, n);
    if (how != LOSE && n % 3 == 1) {
        inject(how, 0);
        fault_backend_hold(0, 0);
        CHECK(multiply(s, context, NULL) == HR_OK && is_right(s));
    }
    return reached;
}

static bool one_fault(const setup *s, way how, uint64_t n, hr_status *status)
{
    fault_backend_reset();
    fault_backend_pretend_staged(s->staged);
    fault_backend_pretend_packed(s->packed ? 1u << HR_F32 : 0);
    fault_backend_hold(s->slow, hold);
    inject(how, n);
    hr_context *context = NULL;
    bool reached = true;
    *status = create(s, &context);
    if (*status == HR_OK) {
        reached = multiply_with(s, context, how, n, status);
        hr_context_destroy(context);
    } else {
        CHECK(context == NULL);
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
        n += FAULT_STEP;
    }
    printf("%s, %s, %s: %d of %llu\n", s->name, s->list, way_names[how], failed,
           (unsigned long long)n - 1);
    CHECK(failed > 0);
}

/* ---- none */

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

static void no_fault(const setup *s)
{
    TEST_CASE(s->name);
    fault_backend_reset();
    fault_backend_pretend_staged(s->staged);
    fault_backend_pretend_packed(s->packed ? 1u << HR_F32 : 0);
    hr_context *context = NULL;
    CHECK(create(s, &context) == HR_OK);
    int64_t blocks = set_hold(s, context);
    summary run;
    summary_init(&run);
    hr_gemm_options options = HR_GEMM_OPTIONS_INIT;
    options.report = &run.report;
    CHECK(multiply(s, context, &options) == HR_OK && is_right(s));
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
    CHECK(!s->steal || (blocks > 1) == (strcmp(s->name, "theft, blocks") == 0));
    hr_context_destroy(context);
}

int main(void)
{
    test_clock_start();
    /* Thousands of contexts: clearing huge pages would take most time. */
    prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
    for (size_t i = 0; i < sizeof setups / sizeof setups[0]; i++) {
        make(&setups[i]);
        TEST(no_fault(&setups[i]));
        for (way how = CALL; how < WAYS; how++) {
            TEST(all_faults(&setups[i], how));
        }
    }
    return test_end();
}
