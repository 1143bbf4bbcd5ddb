/* SPDX-License-Identifier: MIT */
/* hr_gemm_sum against a plain loop, exactly: small integers. Terms come into a
 * few buffers, and are overwritten once they are released. On accelerators with
 * memory of their own, C is not touched before the last term comes. */
#include <pthread.h>

#include "base/size.h"
#include "support/plain.h"
#include "support/random.h"
#include "support/told.h"
#include "test.h"

enum { MAX_TERMS = 9, MAX_EDGE = 160, MAX_DEPTH = 90, CASES = 60 };

typedef struct problem {
    hr_type type, c_type;
    int64_t m, n, count, buffers;
    int64_t depth[MAX_TERMS];
    bool a_columns, b_columns, c_columns, mixed; /* mixed: the last A lies in
                                                    the other order */
    bool a_conjugate;
    hr_scalar alpha, beta;
} problem;

typedef struct run {
    const problem *p;
    hr_matrix from[2][MAX_TERMS], term[2][MAX_TERMS]; /* of A and B */
    char *memory[2];
    size_t size[2]; /* bytes of a buffer */
    hr_matrix c;
    char *old_c, *wanted_c;
    size_t c_bytes;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int64_t released, come;
    int64_t stop_at; /* await returns false for it; -1: never */
    bool c_was_kept; /* when the last term came */
} run;

/* ---- terms */

static size_t bytes_of(const hr_matrix *m)
{
    return (size_t)(m->rows * m->cols) * hr_type_size(m->type);
}

static bool await_term(void *data, int64_t t)
{
    run *r = data;
    pthread_mutex_lock(&r->lock);
    CHECK(t == r->come);
    while (r->released < t + 1 - r->p->buffers) {
        pthread_cond_wait(&r->changed, &r->lock);
    }
    for (int side = 0; side < 2; side++) {
        memcpy(r->term[side][t].data, r->from[side][t].data,
               bytes_of(&r->from[side][t]));
    }
    r->come = t + 1;
    r->c_was_kept = memcmp(r->c.data, r->old_c, r->c_bytes) == 0;
    pthread_mutex_unlock(&r->lock);
    return t != r->stop_at;
}

static void release_terms(void *data, int64_t terms)
{
    run *r = data;
    pthread_mutex_lock(&r->lock);
    CHECK(terms >= r->released);
    for (int64_t t = r->released; t < terms && t < r->come; t++) {
        for (int side = 0; side < 2; side++) {
            memset(r->term[side][t].data, 0xff, bytes_of(&r->term[side][t]));
        }
    }
    r->released = hri_max(r->released, terms);
    pthread_cond_broadcast(&r->changed);
    pthread_mutex_unlock(&r->lock);
}

/* ---- the case */

static hr_matrix matrix_of(void *data, hr_type type, int64_t rows, int64_t cols,
                           bool columns)
{
    return columns ? hr_matrix_column_major(data, type, rows, cols, 0)
                   : hr_matrix_row_major(data, type, rows, cols, 0);
}

static void fill_matrix(random_source *random, const hr_matrix *m)
{
    for (int64_t i = 0; i < m->rows; i++) {
        for (int64_t j = 0; j < m->cols; j++) {
            plain_store(m, i, j, (double)random_between(random, -3, 3),
                        (double)random_between(random, -3, 3));
        }
    }
}

static void *allocate_zeros(size_t bytes)
{
    void *memory = calloc(bytes + 1, 1);
    CHECK(memory != NULL);
    return memory;
}

static void place_terms(run *r, random_source *random)
{
    const problem *p = r->p;
    for (int side = 0; side < 2; side++) {
        r->size[side] = (size_t)(side == 0 ? p->m : p->n) * MAX_DEPTH *
                        hr_type_size(p->type);
        r->memory[side] = allocate_zeros(r->size[side] * (size_t)p->buffers);
        for (int64_t t = 0; t < p->count; t++) {
            bool columns = side == 0 ? p->a_columns : p->b_columns;
            columns ^= side == 0 && p->mixed && t == p->count - 1;
            char *slot =
                r->memory[side] + r->size[side] * (size_t)(t % p->buffers);
            const int64_t rows = side == 0 ? p->m : p->depth[t];
            const int64_t cols = side == 0 ? p->depth[t] : p->n;
            r->from[side][t] = matrix_of(allocate_zeros(r->size[side]), p->type,
                                         rows, cols, columns);
            fill_matrix(random, &r->from[side][t]);
            r->term[side][t] = matrix_of(slot, p->type, rows, cols, columns);
            if (side == 0 && p->a_conjugate) {
                r->from[0][t] = hr_matrix_conjugate(r->from[0][t]);
                r->term[0][t] = hr_matrix_conjugate(r->term[0][t]);
            }
        }
    }
}

/* wanted_c becomes the sum, as hr_gemm of each term on the host has it. */
static void add_up(run *r)
{
    const problem *p = r->p;
    hr_matrix c = r->c;
    c.data = r->wanted_c;
    hr_context *host = test_context("host", 0);
    for (int64_t t = 0; t < p->count; t++) {
        CHECK(hr_gemm(host, p->alpha, r->from[0][t], r->from[1][t],
                      t == 0 ? p->beta : hr_real(1), c, NULL) == HR_OK);
    }
    hr_context_destroy(host);
}

static void begin_run(run *r, const problem *p, random_source *random)
{
    *r = (run){.p = p, .stop_at = -1};
    pthread_mutex_init(&r->lock, NULL);
    pthread_cond_init(&r->changed, NULL);
    place_terms(r, random);
    r->c_bytes = (size_t)(p->m * p->n) * hr_type_size(p->c_type);
    r->c = matrix_of(allocate_zeros(r->c_bytes), p->c_type, p->m, p->n,
                     p->c_columns);
    fill_matrix(random, &r->c);
    r->old_c = allocate_zeros(r->c_bytes);
    r->wanted_c = allocate_zeros(r->c_bytes);
    memcpy(r->old_c, r->c.data, r->c_bytes);
    memcpy(r->wanted_c, r->c.data, r->c_bytes);
    add_up(r);
}

static void end_run(run *r)
{
    for (int side = 0; side < 2; side++) {
        for (int64_t t = 0; t < r->p->count; t++) {
            free(r->from[side][t].data);
        }
        free(r->memory[side]);
    }
    free(r->c.data);
    free(r->old_c);
    free(r->wanted_c);
    pthread_mutex_destroy(&r->lock);
    pthread_cond_destroy(&r->changed);
}

static hr_status multiply_terms(hr_context *context, run *r,
                                hr_progress_function progress)
{
    hr_gemm_options options = HR_GEMM_OPTIONS_INIT;
    options.await = await_term;
    options.release = release_terms;
    options.terms_data = r;
    options.progress = progress;
    options.progress_data = r;
    return hr_gemm_sum(context, r->p->alpha, r->p->count, r->term[0],
                       r->term[1], r->p->beta, r->c, &options);
}

static problem random_problem(random_source *random)
{
    static const hr_type types[][2] = {{HR_F32, HR_F32},
                                       {HR_F64, HR_F64},
                                       {HR_C32, HR_C32},
                                       {HR_F16, HR_F32},
                                       {HR_F16, HR_F16}};
    const hr_type *t = types[random_between(random, 0, 4)];
    problem p = {.type = t[0],
                 .c_type = t[1],
                 .m = random_between(random, 1, MAX_EDGE),
                 .n = random_between(random, 1, MAX_EDGE),
                 .count = random_between(random, 1, MAX_TERMS),
                 .a_columns = random_between(random, 0, 1) > 0,
                 .b_columns = random_between(random, 0, 1) > 0,
                 .c_columns = random_between(random, 0, 1) > 0,
                 .mixed = random_between(random, 0, 4) == 0,
                 .a_conjugate = random_between(random, 0, 1) > 0,
                 .alpha = hr_real((double)random_between(random, -1, 2)),
                 .beta = hr_real((double)random_between(random, 0, 2))};
    p.buffers = random_between(random, 1, p.count);
    for (int64_t i = 0; i < p.count; i++) {
        p.depth[i] = random_between(random, t[1] == HR_F16 ? 1 : 0,
                                    t[1] == HR_F16 ? 3 : MAX_DEPTH);
    }
    return p;
}

static bool is_right(const run *r)
{
    hr_matrix wanted = r->c;
    wanted.data = r->wanted_c;
    for (int64_t i = 0; i < r->c.rows; i++) {
        for (int64_t j = 0; j < r->c.cols; j++) {
            double found[2], want[2];
            reference_load(&r->c, i, j, &found[0], &found[1]);
            reference_load(&wanted, i, j, &want[0], &want[1]);
            if (found[0] != want[0] || found[1] != want[1]) {
                return false;
            }
        }
    }
    return true;
}

/* ---- cases */

static void add_random_terms(hr_context *context)
{
    TEST_CASE("random sums");
    uint64_t seed = 1;
    const uint64_t last = test_seed(&seed) ? seed : CASES;
    for (; seed <= last; seed++) {
        random_source random = {seed};
        const problem p = random_problem(&random);
        run r;
        begin_run(&r, &p, &random);
        const bool right =
            multiply_terms(context, &r, NULL) == HR_OK && is_right(&r);
        CHECK(right);
        CHECK(r.released == p.count);
        if (!right) {
            printf("seed %llu: %s\n", (unsigned long long)seed,
                   hr_last_error());
        }
        end_run(&r);
    }
}

static const problem plain_sum = {.type = HR_F32,
                                  .c_type = HR_F32,
                                  .m = 150,
                                  .n = 130,
                                  .count = 6,
                                  .buffers = 2,
                                  .depth = {64, 70, 64, 90, 1, 33},
                                  .alpha = {1, 0},
                                  .beta = {1, 0}};

/* C goes to the accelerators and back once, or it stays where it is; where a
 * set has both, either may be faster. */
static void keep_c(hr_context *context, const char *set)
{
    TEST_CASE("C stays");
    for (int kind = 0; kind < 3; kind++) {
        random_source random = {7};
        problem p = plain_sum;
        run r;
        p.mixed = kind == 1;
        p.buffers = kind == 2 ? p.count : p.buffers;
        begin_run(&r, &p, &random);
        CHECK(multiply_terms(context, &r, NULL) == HR_OK && is_right(&r));
        const bool stays = strcmp(set, "host") != 0 && !p.mixed;
        CHECK(r.c_was_kept == stays || strstr(set, ",host") != NULL);
        end_run(&r);
    }
}

/* The program stops the sum at each term in turn. */
static void end_terms(hr_context *context)
{
    TEST_CASE("no more terms");
    for (int64_t t = 0; t < plain_sum.count; t++) {
        random_source random = {8};
        run r;
        begin_run(&r, &plain_sum, &random);
        r.stop_at = t;
        CHECK(multiply_terms(context, &r, NULL) == HR_ERROR_CANCELLED);
        CHECK(r.released == plain_sum.count);
        end_run(&r);
    }
}

static bool stop_sum(void *data, double done, double total)
{
    (void)data;
    CHECK(done >= 0 && done <= total);
    return false;
}

static void cancel_sum(hr_context *context)
{
    TEST_CASE("cancelled");
    random_source random = {9};
    run r;
    begin_run(&r, &plain_sum, &random);
    CHECK(multiply_terms(context, &r, stop_sum) == HR_ERROR_CANCELLED);
    CHECK(r.released == plain_sum.count);
    end_run(&r);
}

static void refuse_sums(hr_context *context)
{
    TEST_CASE("refused");
    random_source random = {10};
    hr_gemm_report report = HR_GEMM_REPORT_INIT;
    hr_gemm_options options = HR_GEMM_OPTIONS_INIT;
    run r;
    begin_run(&r, &plain_sum, &random);
    hr_matrix *a = r.term[0], *b = r.term[1];
    const hr_scalar one = hr_real(1);
    CHECK_FAILS(hr_gemm_sum(NULL, one, 2, a, b, one, r.c, NULL),
                HR_ERROR_INVALID, "the context is NULL");
    CHECK_FAILS(hr_gemm_sum(context, one, 0, a, b, one, r.c, NULL),
                HR_ERROR_INVALID, "a sum of 0 products");
    CHECK_FAILS(hr_gemm_sum(context, one, 2, NULL, b, one, r.c, NULL),
                HR_ERROR_INVALID, "it needs at least one A and B");
    options.report = &report;
    CHECK_FAILS(hr_gemm_sum(context, one, 2, a, b, one, r.c, &options),
                HR_ERROR_INVALID, "a sum fills no report");
    b[1].rows++;
    CHECK_FAILS(hr_gemm_sum(context, one, 2, a, b, one, r.c, NULL),
                HR_ERROR_INVALID, "but B is");
    b[1].rows--;
    a[1].type = b[1].type = HR_F16;
    CHECK_FAILS(hr_gemm_sum(context, one, 2, a, b, one, r.c, NULL),
                HR_ERROR_INVALID,
                "term 1 is of f16 and f16, but the first of f32 and f32");
    a[1].type = b[1].type = HR_F32;
    a[1].data = r.c.data;
    CHECK_FAILS(hr_gemm_sum(context, one, 2, a, b, one, r.c, NULL),
                HR_ERROR_INVALID, "C overlaps A");
    CHECK(memcmp(r.c.data, r.old_c, r.c_bytes) == 0);
    end_run(&r);
}

int main(int argc, char **argv)
{
    const char *set = argc > 1 ? argv[1] : "host";
    hr_context_options options = HR_CONTEXT_OPTIONS_INIT;
    hr_context *context = NULL;
    options.accelerators = set;
    options.memory_limit = /* cuBLAS has some for itself */
        strstr(set, "cuda") != NULL ? 128 << 20 : 1 << 20;
    if (!test_open(&options, &context)) {
        return test_end();
    }
    told_patience(context);
    TEST(add_random_terms(context));
    TEST(keep_c(context, set));
    TEST(end_terms(context));
    TEST(cancel_sum(context));
    TEST(refuse_sums(context));
    hr_context_destroy(context);
    return test_end();
}
