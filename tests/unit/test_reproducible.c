/* SPDX-License-Identifier: MIT */
/* Products in a reproducible context: on random problems of every type, shape
 * and scalar, under any memory limit and with any speeds, each element has the
 * very bits that src/hal/hal.h defines. So all sets of accelerators give the
 * same ones. Without the option they do not.
 *
 *     test_reproducible SET */
#include "test.h"

#include <math.h>

#include <headrace/batch.h>

#include "backends/opencl/opencl.h"
#include "gemm/check.h"
#include "hal/precise.h"
#include "runtime/runtime.h"
#include "support/ordered.h"
#include "support/pairs.h"
#include "support/placed.h"
#include "support/plain.h"
#include "support/precise.h"
#include "support/random.h"
#include "support/reference.h"
#include "support/told.h"

enum { CASES = TEST_TSAN ? 18 : 27 };

enum { MAX_DEPTH = 1800 };

typedef struct problem {
    hr_type type, c_type;
    int64_t m, n, k;
    hr_scalar alpha, beta;
    placed a, b, c;
    uint64_t cap;
} problem;

/* ---- making a case */

static hr_scalar any_scalar(random_source *source, hr_type type, bool zero)
{
    const int64_t kind = random_between(source, zero ? 0 : 1, 4);
    return kind < 2 ? hr_real((double)kind)
           : kind == 4 && is_complex(type)
               ? hr_complex(random_unit(source), random_unit(source))
               : hr_real(3.0 * random_unit(source));
}

/* Multiply all elements by a power of two, which is so small that products are
 * subnormal or 0. Every other one of C becomes -0. */
static void make_small(random_source *source, problem *p)
{
    const bool wide = p->type == HR_F64 || p->type == HR_C64;
    const int power = p->type == HR_F16 ? -20
                      : wide ? (int)random_between(source, -540, -510)
                             : (int)random_between(source, -76, -60);
    const hr_matrix *both[] = {&p->a.matrix, &p->b.matrix};
    for (int s = 0; s < 2; s++) {
        for (int64_t i = 0; i < both[s]->rows; i++) {
            for (int64_t j = 0; j < both[s]->cols; j++) {
                double re, im;
                reference_load(both[s], i, j, &re, &im);
                plain_store(both[s], i, j, ldexp(re, power), ldexp(im, power));
            }
        }
    }
    for (int64_t i = 0; i < p->m; i++) {
        for (int64_t j = i % 2; j < p->n; j += 2) {
            plain_store(&p->c.matrix, i, j, -0.0, -0.0);
        }
    }
}

static bool place_randomly(random_source *source, placed *to, hr_type type,
                           int64_t rows, int64_t cols)
{
    const placed_layout layout =
        (placed_layout)random_between(source, 0, PLACED_LAYOUTS - 1);
    return placed_init(
        to, source, layout,
        &(hr_matrix){.type = type,
                     .rows = rows,
                     .cols = cols,
                     .conjugate = random_between(source, 0, 2) == 0});
}

static bool problem_init(problem *p, random_source *source, int number)
{
    const int pair = number % PAIRS;
    *p = (problem){.type = pairs[pair].ab,
                   .c_type = pairs[pair].c,
                   .m = random_between(source, 1, 50),
                   .n = random_between(source, 1, 50),
                   .k = random_between(source, 1, 700)};
    if (random_between(source, 0, 3) == 0) {
        p->m = random_between(source, 1, 20);
        p->k = random_between(source, 700, MAX_DEPTH);
    } else if (random_between(source, 0, 3) == 0) {
        p->n = random_between(source, 150, 400);
        p->k = random_between(source, 250, 260);
    }
    p->alpha = any_scalar(source, p->c_type, false);
    p->beta = any_scalar(source, p->c_type, true);
    if (!place_randomly(source, &p->a, p->type, p->m, p->k) ||
        !place_randomly(source, &p->b, p->type, p->k, p->n) ||
        !place_randomly(source, &p->c, p->c_type, p->m, p->n)) {
        return false;
    }
    if (p->type != HR_I8 && random_between(source, 0, 3) == 0) {
        make_small(source, p);
    }
    placed_remember(&p->c);
    return true;
}

static void problem_finish(problem *p)
{
    placed_finish(&p->a);
    placed_finish(&p->b);
    placed_finish(&p->c);
}

/* The two contexts: one of them is reproducible. */
static struct {
    hr_context *ordered, *native;
    int64_t native_differences;
    int64_t slices, ordered_slices; /* of precise products */
    int capped;
    bool ordered_alone;
} bed;

/* ---- what is right */

/* Rounded to C's type. */
static double round_to_c(const problem *p, double x)
{
    uint64_t memory[2] = {0};
    const hr_matrix one = hr_matrix_row_major(memory, p->c_type, 1, 1, 0);
    double re, im;
    plain_store(&one, 0, 0, x, x);
    reference_load(&one, 0, 0, &re, &im);
    return re;
}

static bool is_same(double x, double y)
{
    return memcmp(&x, &y, sizeof x) == 0 || (isnan(x) && isnan(y));
}

static double in_type(const ordered *o, double x)
{
    return o->wide ? x : (double)(float)x;
}

/* All elements of the result, row-major, from the old C. NULL: no memory. */
static double (*ordered_product(const problem *p))[2]
{
    const hri_product q =
        hri_product_normal(p->alpha, p->a.matrix, p->b.matrix, p->beta,
                           p->c.matrix, HR_COMPUTE_REPRODUCIBLE);
    ordered o = {.wide = p->type == HR_F64 || p->type == HR_C64,
                 .complex = is_complex(p->type)};
    o.alpha[0] = in_type(&o, q.alpha.re);
    o.alpha[1] = in_type(&o, q.alpha.im);
    o.beta[0] = in_type(&o, q.beta.re);
    o.beta[1] = in_type(&o, q.beta.im);
    const int64_t line = 2 * q.k;
    double(*all)[2] = calloc((size_t)(q.m * q.n), sizeof *all);
    double *row = calloc((size_t)((q.n + 1) * line), sizeof *row);
    if (all == NULL || row == NULL) {
        free(all);
        free(row);
        return NULL;
    }
    double *columns = row + line;
    for (int64_t j = 0; j < q.n; j++) {
        for (int64_t l = 0; l < q.k; l++) {
            double *b = columns + j * line + 2 * l;
            reference_load(&q.b, l, j, &b[0], &b[1]);
        }
    }
    for (int64_t i = 0; i < q.m; i++) {
        for (int64_t l = 0; l < q.k; l++) {
            reference_load(&q.a, i, l, &row[2 * l], &row[2 * l + 1]);
        }
        for (int64_t j = 0; j < q.n; j++) {
            double *c = all[i * q.n + j];
            reference_load(&q.c, i, j, &c[0], &c[1]);
            ordered_element(&o, q.k, row, columns + j * line, c);
        }
    }
    free(row);
    return all;
}

/* The same for HR_COMPUTE_PRECISE. Each element is as near to the exact one as
 * a native product must be. */
static double (*precise_product(const problem *p))[2]
{
    const hri_product q =
        hri_product_normal(p->alpha, p->a.matrix, p->b.matrix, p->beta,
                           p->c.matrix, HR_COMPUTE_PRECISE);
    const reference_problem g = {q.alpha, q.beta, q.a, q.b, q.c};
    double(*all)[2] = calloc((size_t)(q.m * q.n), sizeof *all);
    for (int64_t i = 0; i < q.m && all != NULL; i++) {
        for (int64_t j = 0; j < q.n; j++) {
            double *c = all[i * q.n + j];
            reference_load(&q.c, i, j, &c[0], &c[1]);
            bed.ordered_slices += precise_element(&g, i, j, c);
            bed.slices++;
        }
    }
    return all;
}

/* How many elements of C have other bits. */
static int64_t count_differences(const problem *p, double (*right)[2])
{
    const hri_product q =
        hri_product_normal(p->alpha, p->a.matrix, p->b.matrix, p->beta,
                           p->c.matrix, HR_COMPUTE_REPRODUCIBLE);
    int64_t count = 0;
    for (int64_t i = 0; i < q.m; i++) {
        for (int64_t j = 0; j < q.n; j++) {
            double re, im;
            const double *want = right[i * q.n + j];
            reference_load(&q.c, i, j, &re, &im);
            count +=
                !is_same(re, round_to_c(p, want[0])) ||
                (is_complex(p->type) && !is_same(im, round_to_c(p, want[1])));
        }
    }
    return count;
}

/* ---- running it */

static hr_status multiply_with(hr_context *context, problem *p,
                               hr_compute compute)
{
    hr_gemm_options options = HR_GEMM_OPTIONS_INIT;
    options.memory_limit = p->cap;
    options.compute = compute;
    placed_restore(&p->c);
    return hr_gemm(context, p->alpha, p->a.matrix, p->b.matrix, p->beta,
                   p->c.matrix, &options);
}

/* Set invented speeds, so that plans differ on any machine. */
static void invent_rates(hr_context *context, random_source *source)
{
    static const char *const names[] = {
        "f32",          "f64",         "c32",         "c64",
        "f16",          "bf16",        "i8",          "f32-ordered",
        "f64-ordered",  "c32-ordered", "c64-ordered", "f16-ordered",
        "bf16-ordered", "f32-precise", "f64-precise", "c32-precise",
        "c64-precise"};
    static const double scales[] = {1e6, 1e8, 1e12};
    const double scale = scales[random_between(source, 0, 2)];
    for (uint32_t i = 0; i < context->accelerator_count; i++) {
        hri_accelerator *a = &context->accelerators[i];
        for (size_t k = 0; k < sizeof names / sizeof names[0]; k++) {
            told(a, names[k], scale * (double)random_between(source, 1, 3));
        }
    }
    told_links(context, &(hri_link){.up = 1e10, .down = 1e10, .both = 1e10});
}

/* A memory limit, at least what the product needs. 0: it needs none, and others
 * may do with little. */
static uint64_t any_cap(problem *p, random_source *source, hr_compute compute)
{
    unsigned long long least = 0;
    p->cap = 1;
    hr_status status = multiply_with(bed.ordered, p, compute);
    if (status != HR_ERROR_OUT_OF_MEMORY) { /* in place */
        CHECK(status == HR_OK);
        return (uint64_t)1 << random_between(source, 16, 21);
    }
    const char *at = strstr(hr_last_error(), "working set is ");
    CHECK(at != NULL && sscanf(at, "working set is %llu bytes", &least) == 1);
    return least + (uint64_t)random_between(source, 0, 3) * 40000;
}

/* Multiply with all memory and with little, and count what has other bits. */
static void run_in_mode(problem *p, random_source *source, int number,
                        hr_compute compute, double (*right)[2])
{
    for (int i = 0; i < 2; i++) {
        p->cap = i == 0 ? 0 : any_cap(p, source, compute);
        bed.capped += p->cap > 0;
        CHECK(multiply_with(bed.ordered, p, compute) == HR_OK);
        const int64_t wrong = count_differences(p, right);
        if (!CHECK(wrong == 0)) {
            printf("seed %d, mode %d: %s into %s, %lld x %lld x %lld, alpha "
                   "%g%+gi, beta %g%+gi, cap %llu: %lld of other bits\n",
                   number, (int)compute, hr_type_name(p->type),
                   hr_type_name(p->c_type), (long long)p->m, (long long)p->n,
                   (long long)p->k, p->alpha.re, p->alpha.im, p->beta.re,
                   p->beta.im, (unsigned long long)p->cap, (long long)wrong);
        }
    }
}

static void run_precise(problem *p, random_source *source, int number)
{
    reference wanted;
    const reference_problem plain = {p->alpha, p->beta, p->a.matrix,
                                     p->b.matrix, p->c.matrix};
    double(*right)[2] = precise_product(p);
    if (!CHECK(right != NULL)) {
        return;
    }
    run_in_mode(p, source, number, HR_COMPUTE_PRECISE, right);
    p->cap = 0;
    placed_restore(&p->c);
    if (CHECK(reference_init(&wanted, &plain))) {
        CHECK(multiply_with(bed.native, p, HR_COMPUTE_PRECISE) == HR_OK);
        CHECK(count_differences(p, right) == 0);
        CHECK(reference_compare(&wanted, &p->c.matrix, NULL) == 0);
    }
    reference_finish(&wanted);
    free(right);
}

static void run_problem(problem *p, random_source *source, int number)
{
    double(*right)[2] = ordered_product(p);
    if (!CHECK(right != NULL)) {
        return;
    }
    run_in_mode(p, source, number, HR_COMPUTE_NATIVE, right);
    if (hri_is_precise_type(p->type)) {
        placed_restore(&p->c);
        run_precise(p, source, number);
    }
    if (bed.ordered_alone) {
        free(right);
        return;
    }
    p->cap = 0;
    CHECK(multiply_with(bed.native, p, HR_COMPUTE_REPRODUCIBLE) == HR_OK);
    CHECK(count_differences(p, right) == 0);
    CHECK(multiply_with(bed.native, p, HR_COMPUTE_NATIVE) == HR_OK);
    bed.native_differences += count_differences(p, right);
    free(right);
}

/* Integers wrap, so any order has the same bits: compare with one. */
static void run_integers(problem *p)
{
    reference wanted;
    const reference_problem plain = {p->alpha, p->beta, p->a.matrix,
                                     p->b.matrix, p->c.matrix};
    if (CHECK(reference_init(&wanted, &plain))) {
        CHECK(multiply_with(bed.ordered, p, HR_COMPUTE_REPRODUCIBLE) == HR_OK);
        CHECK(reference_compare(&wanted, &p->c.matrix, NULL) == 0);
    }
    reference_finish(&wanted);
}

static void run_case(int number)
{
    random_source source = {(uint64_t)number * 1000003 + 29};
    problem p;
    if (CHECK(problem_init(&p, &source, number))) {
        invent_rates(bed.ordered, &source);
        invent_rates(bed.native, &source);
        if (p.type == HR_I8) {
            p.alpha = hr_real(3);
            p.beta = hr_real(-2);
            run_integers(&p);
        } else {
            run_problem(&p, &source, number);
        }
    }
    problem_finish(&p);
}

/* A k of three slices. */
static void precise_slices(void)
{
    enum { ROWS = 2, COLS = 3, DEPTH = 70001 };
    static double a[ROWS * DEPTH], b[DEPTH * COLS], c[ROWS * COLS];
    double want[ROWS * COLS][2];
    random_source source = {7};
    TEST_CASE("a long k is cut into slices");
    for (int i = 0; i < ROWS * DEPTH; i++) {
        a[i] = random_unit(&source);
    }
    for (int i = 0; i < DEPTH * COLS; i++) {
        b[i] = random_unit(&source);
    }
    const reference_problem g = {hr_real(1.5), hr_real(-0.5),
                                 hr_matrix_row_major(a, HR_F64, ROWS, DEPTH, 0),
                                 hr_matrix_row_major(b, HR_F64, DEPTH, COLS, 0),
                                 hr_matrix_row_major(c, HR_F64, ROWS, COLS, 0)};
    for (int i = 0; i < ROWS * COLS; i++) {
        want[i][0] = c[i] = random_unit(&source);
        want[i][1] = 0.0;
        CHECK(precise_element(&g, i / COLS, i % COLS, want[i]) == 0);
    }
    hr_gemm_options options = HR_GEMM_OPTIONS_INIT;
    options.compute = HR_COMPUTE_PRECISE;
    CHECK(hr_gemm(bed.native, g.alpha, g.a, g.b, g.beta, g.c, &options) ==
          HR_OK);
    for (int i = 0; i < ROWS * COLS; i++) {
        CHECK(is_same(c[i], want[i][0]));
    }
}

/* Batches and sums have the bits of their products one after another. */
static void precise_batches_and_sums(void)
{
    enum { COUNT = 3, M = 20, N = 30, K = 50 };
    static float a[COUNT * M * K], b[COUNT * K * N], c[2][COUNT * M * N];
    random_source source = {11};
    TEST_CASE("precise batches and sums");
    for (int i = 0; i < COUNT * M * K; i++) {
        a[i] = (float)random_unit(&source);
    }
    for (int i = 0; i < COUNT * K * N; i++) {
        b[i] = (float)random_unit(&source);
    }
    for (int i = 0; i < COUNT * M * N; i++) {
        c[0][i] = c[1][i] = (float)random_unit(&source);
    }
    hr_matrix as[COUNT], bs[COUNT], cs[COUNT];
    for (int i = 0; i < COUNT; i++) {
        as[i] = hr_matrix_row_major(a + i * M * K, HR_F32, M, K, 0);
        bs[i] = hr_matrix_row_major(b + i * K * N, HR_F32, K, N, 0);
        cs[i] = hr_matrix_row_major(c[1] + i * M * N, HR_F32, M, N, 0);
    }
    const hr_matrix first = hr_matrix_row_major(c[0], HR_F32, M, N, 0);
    const hr_scalar two = hr_real(2), one = hr_real(1);
    hr_gemm_options options = HR_GEMM_OPTIONS_INIT;
    options.compute = HR_COMPUTE_PRECISE;
    CHECK(hr_gemm_batch(bed.native, COUNT, two,
                        hr_matrices_strided(as[0], M * K),
                        hr_matrices_strided(bs[0], K * N), one,
                        hr_matrices_strided(first, M * N), &options) == HR_OK);
    for (int i = 0; i < COUNT; i++) {
        CHECK(hr_gemm(bed.native, two, as[i], bs[i], one, cs[i], &options) ==
              HR_OK);
    }
    CHECK(memcmp(c[0], c[1], sizeof c[0]) == 0);
    CHECK(hr_gemm_sum(bed.native, two, COUNT, as, bs, one, first, &options) ==
          HR_OK);
    for (int i = 0; i < COUNT; i++) {
        CHECK(hr_gemm(bed.native, two, as[i], bs[i], one, cs[0], &options) ==
              HR_OK);
    }
    CHECK(memcmp(c[0], c[1], sizeof c[0]) == 0);
}

static void no_tf32(void)
{
    TEST_CASE("tf32 is refused");
    float x[4] = {1, 2, 3, 4}, y[4] = {0};
    const hr_matrix a = hr_matrix_row_major(x, HR_F32, 2, 2, 0);
    hr_gemm_options options = HR_GEMM_OPTIONS_INIT;
    options.compute = HR_COMPUTE_TF32;
    CHECK_FAILS(hr_gemm(bed.ordered, hr_real(1), a, a, hr_real(0),
                        hr_matrix_row_major(y, HR_F32, 2, 2, 0), &options),
                HR_ERROR_UNSUPPORTED, "no tf32");
}

/* The OpenCL kernel with many items in a group, for the types for which it has
 * code of its own. That takes long to compile on a CPU. */
static void other_layout(void)
{
    static const int cases[] = {0, 2, 4}; /* f32, c32, f16 */
    hri_accelerator *a = &bed.ordered->accelerators[0];
    if (strcmp(a->device->backend->name, "opencl") != 0) {
        return;
    }
    TEST_CASE("another layout of the OpenCL kernel");
    hri_cl_unit *unit = ((hri_cl_device *)a->device)->unit;
    const hri_cl_layout own = unit->layout;
    unit->layout = HRI_CL_SMALL;
    hri_accelerator_discard(a); /* queues keep their kernels */
    bed.ordered_alone = true;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        run_case(cases[i]);
    }
    unit->layout = own;
}

int main(int count, char **arguments)
{
    const char *set = count > 1 ? arguments[1] : "host";
    hr_context_options options = HR_CONTEXT_OPTIONS_INIT;
    options.accelerators = set;
    if (!test_open(&options, &bed.native)) {
        return test_end();
    }
    options.reproducible = true;
    CHECK(hr_context_create(&options, &bed.ordered) == HR_OK);
    told_patience(bed.native);
    told_patience(bed.ordered);
    TEST_CASE(set);
    uint64_t seed = 0;
    const bool one = test_seed(&seed);
    for (const uint64_t last = one ? seed : CASES - 1; seed <= last; seed++) {
        TEST(run_case((int)seed));
    }
    TEST_CASE("without the option some bits differ");
    CHECK(one || test_listing() || bed.native_differences > 0);
    TEST_CASE("most of precise products is not ordered");
    CHECK(one || test_listing() || 2 * bed.ordered_slices < bed.slices);
    if (!one) {
        TEST(precise_slices());
        TEST(precise_batches_and_sums());
        TEST(other_layout());
    }
    TEST(no_tf32());
    test_note("%s: %lld elements have other bits without the option; %d "
              "products had a memory limit\n",
              set, (long long)bed.native_differences, bed.capped);
    hr_context_destroy(bed.ordered);
    hr_context_destroy(bed.native);
    return test_end();
}
