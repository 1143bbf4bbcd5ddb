/* SPDX-License-Identifier: MIT */
/* hr_gemm on random problems of every type, layout, shape and scalar, over one
 * set of accelerators, under memory caps from the least working set upward,
 * against a wider reference with derived bounds.
 *
 *     test_gemm_random SET [CASES]
 *
 * SET is a list of accelerators such as "3xhost". */
#include "test.h"

#include <inttypes.h>
#include <math.h>

#include "runtime/runtime.h"
#include "support/pairs.h"
#include "support/placed.h"
#include "support/plain.h"
#include "support/random.h"
#include "support/reference.h"
#include "support/told.h"

/* A thread sanitizer makes arithmetic slow, and what it tests does not depend
 * on the case. */
enum { CASES = TEST_TSAN ? 50 : 125, SHARES = 8 };

/* What the cases of a run had in them; printed at the end. */
static struct {
    int products, refused, capped, poisoned, unsupported, stolen, shared;
} seen;

typedef struct problem {
    int pair;
    int64_t m, n, k;
    hr_scalar alpha, beta;
    bool poison; /* NaN and infinity in A and B */
    placed a, b, c;
    placed_layout layouts[3];
    uint64_t least; /* bytes of the least working set; 0: works in place */
    uint64_t cap;   /* bytes that each accelerator may use; 0: no limit */
} problem;

static bool is_zero(hr_scalar s)
{
    return s.re == 0.0 && s.im == 0.0;
}

/* ---- making a case */

static int64_t random_extent(random_source *source)
{
    switch (random_between(source, 0, 9)) {
    case 0:
        return random_between(source, 0, 1);
    case 1:
        return random_between(source, 2, 9);
    case 2:
    case 3:
        return 16 * random_between(source, 1, 12);
    case 4:
        return 64 * random_between(source, 1, 3);
    default:
        return 2 * random_between(source, 1, 99) + 1;
    }
}

static void random_shape(random_source *source, problem *p)
{
    int64_t *extents[3] = {&p->m, &p->n, &p->k};
    int64_t kind = random_between(source, 0, 9);
    for (int i = 0; i < 3; i++) {
        *extents[i] = random_extent(source);
    }
    if (kind == 0) { /* deep */
        p->m = random_between(source, 1, 40);
        p->n = random_between(source, 1, 40);
        p->k = random_between(source, 1000, 5000);
    } else if (kind <= 2) { /* skinny */
        *extents[random_between(source, 0, 2)] = random_between(source, 1, 3);
        *extents[random_between(source, 0, 1)] =
            random_between(source, 300, 1500);
    } else if (kind == 3) {
        *extents[random_between(source, 0, 2)] =
            random_between(source, 300, 700);
    } else if (kind <= 5) { /* vendors have other kernels for such shapes */
        for (int i = 0; i < 3; i++) {
            *extents[i] = 16 * random_between(source, 1, 12);
        }
    }
}

/* Replace some elements by what is not finite. */
static void poison_matrix(random_source *source, const hr_matrix *m)
{
    const double values[] = {NAN, INFINITY, -INFINITY};
    for (int i = 0; i < 2 && m->rows > 0 && m->cols > 0; i++) {
        plain_store(m, random_between(source, 0, m->rows - 1),
                    random_between(source, 0, m->cols - 1),
                    values[random_between(source, 0, 2)], random_unit(source));
    }
}

static bool random_matrix(random_source *source, placed *p,
                          placed_layout *layout, hr_matrix shape)
{
    *layout = (placed_layout)random_between(source, 0, PLACED_LAYOUTS - 1);
    shape.conjugate = random_between(source, 0, 2) == 0;
    return placed_init(p, source, *layout, &shape);
}

static void fill_with_nan(const hr_matrix *m)
{
    for (int64_t i = 0; i < m->rows; i++) {
        for (int64_t j = 0; j < m->cols; j++) {
            plain_store(m, i, j, NAN, NAN);
        }
    }
}

static bool problem_init(problem *p, random_source *source, int number)
{
    *p = (problem){.pair = number % PAIRS};
    hr_type ab = pairs[p->pair].ab, c = pairs[p->pair].c;
    random_shape(source, p);
    p->alpha = random_scalar(source, c);
    p->beta = random_scalar(source, c);
    p->poison = ab != HR_I8 && random_between(source, 0, 7) == 0;
    if (!random_matrix(source, &p->a, &p->layouts[0],
                       (hr_matrix){.type = ab, .rows = p->m, .cols = p->k}) ||
        !random_matrix(source, &p->b, &p->layouts[1],
                       (hr_matrix){.type = ab, .rows = p->k, .cols = p->n}) ||
        !random_matrix(source, &p->c, &p->layouts[2],
                       (hr_matrix){.type = c, .rows = p->m, .cols = p->n})) {
        return false;
    }
    if (p->poison) {
        poison_matrix(source, &p->a.matrix);
        poison_matrix(source, &p->b.matrix);
        placed_remember(&p->a);
        placed_remember(&p->b);
    }
    if (is_zero(p->beta) && c != HR_I32) { /* must not leak */
        fill_with_nan(&p->c.matrix);
        placed_remember(&p->c);
    }
    return true;
}

static void problem_finish(problem *p)
{
    placed_finish(&p->a);
    placed_finish(&p->b);
    placed_finish(&p->c);
}

static void describe_problem(const problem *p, const char *set, int number)
{
    printf("%s, seed %d: %s into %s, %" PRId64 "x%" PRId64 "x%" PRId64
           ", alpha %g%+gi, beta %g%+gi, A %s%s, B %s%s, C %s%s, cap %" PRIu64
           ", least %" PRIu64 "%s\n",
           set, number, hr_type_name(pairs[p->pair].ab),
           hr_type_name(pairs[p->pair].c), p->m, p->n, p->k, p->alpha.re,
           p->alpha.im, p->beta.re, p->beta.im,
           placed_layout_name(p->layouts[0]),
           p->a.matrix.conjugate ? " conjugated" : "",
           placed_layout_name(p->layouts[1]),
           p->b.matrix.conjugate ? " conjugated" : "",
           placed_layout_name(p->layouts[2]),
           p->c.matrix.conjugate ? " conjugated" : "", p->cap, p->least,
           p->poison ? ", NaN and infinity" : "");
}

/* ---- running it */

static hr_status plan_problem(hr_context *context, const problem *p,
                              uint64_t cap, hr_gemm_report *report)
{
    hr_gemm_options options = HR_GEMM_OPTIONS_INIT;
    options.memory_limit = cap;
    return hr_gemm_plan(context, p->alpha, p->a.matrix, p->b.matrix, p->beta,
                        p->c.matrix, &options, report);
}

static hr_status multiply_problem(hr_context *context, const problem *p,
                                  uint64_t cap, hr_gemm_report *report)
{
    hr_gemm_options options = HR_GEMM_OPTIONS_INIT;
    options.memory_limit = cap;
    options.report = report;
    return hr_gemm(context, p->alpha, p->a.matrix, p->b.matrix, p->beta,
                   p->c.matrix, &options);
}

/* The least working set, as the sentence of a plan with one byte says it. */
static uint64_t least_working_set(hr_context *context, const problem *p)
{
    hr_gemm_report report = HR_GEMM_REPORT_INIT;
    unsigned long long bytes = 0;
    hr_status status = plan_problem(context, p, 1, &report);
    if (status == HR_OK) {
        return 0; /* nothing to multiply, or in place */
    }
    const char *at = strstr(hr_last_error(), "working set is ");
    CHECK(status == HR_ERROR_OUT_OF_MEMORY);
    CHECK(at != NULL && sscanf(at, "working set is %llu bytes", &bytes) == 1);
    return bytes;
}

/* Under a cap that is one byte too low nothing may happen. */
static void refuse_too_little(hr_context *context, problem *p)
{
    hr_gemm_report report = HR_GEMM_REPORT_INIT;
    hr_status status = multiply_problem(context, p, p->least - 1, &report);
    CHECK(status == HR_ERROR_OUT_OF_MEMORY);
    CHECK(placed_changes(&p->c, true) == 0);
    seen.refused++;
}

/* From the least working set upward. Where an accelerator works in place there
 * is none, and others of the set may have no room at all. */
static uint64_t random_cap(random_source *source, uint64_t least)
{
    if (least == 0) {
        int64_t bits = random_between(source, 8, 23);
        return bits < 12 ? 0 : (uint64_t)1 << bits;
    }
    switch (random_between(source, 0, 4)) {
    case 0:
        return least;
    case 1:
        return least + (uint64_t)random_between(source, 1, 4096);
    case 2:
        return least + least / 2;
    case 3:
        return (uint64_t)random_between(source, 2, 9) * least;
    default:
        return 0;
    }
}

/* Each accelerator's part adds up to the whole and stays below the cap. */
static void check_shares(const problem *p, const hr_gemm_report *done)
{
    uint64_t up = 0, down = 0, peer = 0;
    double flops = 0.0;
    for (uint32_t i = 0; i < done->share_count && i < SHARES; i++) {
        const hr_gemm_share *s = &done->shares[i];
        up += s->host_to_device;
        down += s->device_to_host;
        peer += s->peer;
        flops += s->flops;
        CHECK(p->cap == 0 || s->memory_limit == 0 || s->memory_bytes <= p->cap);
    }
    CHECK(up == done->host_to_device && down == done->device_to_host &&
          peer == done->peer);
    CHECK(flops == done->flops);
}

/* Whether tiles were stolen, and whether an accelerator that copies nothing did
 * work. Its own tiles move no bytes. So neither the tiles that it lost nor
 * those that it stole can be told from the plan's bytes. */
static void look_for_theft(const hr_gemm_report *done, bool *stolen,
                           bool *in_place)
{
    *stolen = *in_place = false;
    for (uint32_t i = 0; i < done->share_count && i < SHARES; i++) {
        *stolen |= done->shares[i].tiles_stolen > 0;
        *in_place |= done->shares[i].memory_limit == 0;
    }
}

/* The run moved what the plan said, plus what stealing says it moved. */
static void check_bytes(const hr_gemm_report *planned,
                        const hr_gemm_report *done)
{
    uint64_t before =
        planned->host_to_device + planned->device_to_host + planned->peer;
    uint64_t after = done->host_to_device + done->device_to_host + done->peer;
    CHECK(done->compulsory <= planned->compulsory);
    CHECK(done->share_count == planned->share_count);
    bool stolen, in_place;
    look_for_theft(done, &stolen, &in_place);
    seen.stolen += stolen;
    if (stolen && in_place) {
        return;
    }
    CHECK(done->compulsory == planned->compulsory);
    if (!CHECK(after == before + done->stolen)) {
        printf("planned %" PRIu64 " bytes, moved %" PRIu64 ", %" PRIu64
               " of them to steal\n",
               before, after, done->stolen);
    }
    if (!stolen) {
        CHECK(done->host_to_device == planned->host_to_device);
        CHECK(done->device_to_host == planned->device_to_host);
        CHECK(done->peer == planned->peer);
    }
}

static void check_elements(const problem *p, const reference *wanted)
{
    reference_miss miss;
    int64_t wrong = reference_compare(wanted, &p->c.matrix, &miss);
    if (!CHECK(wrong == 0)) {
        char text[256];
        reference_describe(&miss, text, sizeof text);
        printf("%" PRId64 " wrong, first: %s\n", wrong, text);
    }
    CHECK(placed_changes(&p->c, false) == 0); /* around C */
    CHECK(placed_changes(&p->a, true) == 0);
    CHECK(placed_changes(&p->b, true) == 0);
}

static void run_problem(hr_context *context, problem *p, random_source *source)
{
    hr_gemm_share shares[2][SHARES];
    hr_gemm_report planned = HR_GEMM_REPORT_INIT, done = HR_GEMM_REPORT_INIT;
    reference wanted;
    planned.shares = shares[0];
    done.shares = shares[1];
    planned.share_capacity = done.share_capacity = SHARES;
    p->least = least_working_set(context, p);
    if (p->least > 0) {
        refuse_too_little(context, p);
    }
    p->cap = random_cap(source, p->least);
    bool ready = reference_init(
        &wanted, &(reference_problem){p->alpha, p->beta, p->a.matrix,
                                      p->b.matrix, p->c.matrix});
    if (CHECK(ready) &&
        CHECK(plan_problem(context, p, p->cap, &planned) == HR_OK) &&
        CHECK(multiply_problem(context, p, p->cap, &done) == HR_OK)) {
        check_elements(p, &wanted);
        check_shares(p, &done);
        check_bytes(&planned, &done);
    }
    reference_finish(&wanted);
    seen.products++;
    seen.shared += done.share_count > 1;
    seen.capped += p->cap > 0;
    seen.poisoned += p->poison;
}

/* Whether the accelerators multiply these types at all. */
static bool is_offered(hr_context *context, const problem *p)
{
    hr_gemm_report report = HR_GEMM_REPORT_INIT;
    return plan_problem(context, p, 0, &report) != HR_ERROR_UNSUPPORTED;
}

static void run_case(hr_context *context, const char *set, int number)
{
    random_source source = {(uint64_t)number * 1000003 + 17};
    long failures = test_state.failures;
    problem p;
    if (!CHECK(problem_init(&p, &source, number))) {
        problem_finish(&p);
        return;
    }
    told_random_rates(context, &source);
    if (is_offered(context, &p)) {
        run_problem(context, &p, &source);
    } else {
        printf("not offered: %s\n", hr_last_error());
        seen.unsupported++;
    }
    if (test_state.failures > failures) {
        describe_problem(&p, set, number);
    }
    problem_finish(&p);
}

int main(int count, char **arguments)
{
    const char *set = count > 1 ? arguments[1] : "host";
    hr_context *context = NULL;
    hr_context_options options = HR_CONTEXT_OPTIONS_INIT;
    options.accelerators = set;
    TEST_CASE(set);
    if (!test_open(&options, &context)) {
        return test_end();
    }
    told_patience(context); /* bytes are as planned */
    const uint64_t cases = count > 2 ? strtoull(arguments[2], NULL, 10) : CASES;
    uint64_t seed = 0;
    const bool one = test_seed(&seed);
    const uint64_t end = one ? seed + 1 : cases;
    for (; seed < end; seed++) {
        TEST(run_case(context, set, (int)seed));
    }
    CHECK(one || test_listing() || seen.shared > 0 ||
          hr_accelerator_count(context) == 1);
    hr_context_destroy(context);
    test_note("%s: %d products, %d shared, %d under a cap, %d with NaN or "
              "infinity, %d with "
              "stolen tiles; %d refused for a cap too low; %d not offered\n",
              set, seen.products, seen.shared, seen.capped, seen.poisoned,
              seen.stolen, seen.refused, seen.unsupported);
    return test_end();
}
