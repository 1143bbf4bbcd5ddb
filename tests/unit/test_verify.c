/* SPDX-License-Identifier: MIT */
/* hr_gemm_verify on small problems of every type and layout: right products are
 * never reported, planted errors above the tolerance are found every time. */
#include "test.h"

#include <math.h>

#include "gemm/verify.h"
#include "support/placed.h"
#include "support/plain.h"
#include "support/random.h"
#include "support/tolerance.h"

static hri_pool *pool;

static const struct {
    hr_type ab, c;
} pairs[] = {
    {HR_F32, HR_F32},   {HR_F64, HR_F64},  {HR_C32, HR_C32},
    {HR_C64, HR_C64},   {HR_F16, HR_F16},  {HR_F16, HR_F32},
    {HR_BF16, HR_BF16}, {HR_BF16, HR_F32}, {HR_I8, HR_I32},
};
enum { PAIRS = sizeof pairs / sizeof pairs[0] };

static bool is_complex(hr_type type)
{
    return type == HR_C32 || type == HR_C64;
}

/* A product and what it was made of. */
typedef struct product {
    placed a, b, old, c;
    hri_verify_problem problem;
} product;

static void product_finish(product *x)
{
    placed_finish(&x->a);
    placed_finish(&x->b);
    placed_finish(&x->old);
    placed_finish(&x->c);
}

/* Random matrices in random layouts; c has the values of old. */
static void product_init(product *x, random_source *source, int pair,
                         const int64_t mnk[3])
{
    hr_type ab = pairs[pair].ab, c = pairs[pair].c;
    hr_matrix shapes[4] = {{.type = ab, .rows = mnk[0], .cols = mnk[2]},
                           {.type = ab, .rows = mnk[2], .cols = mnk[1]},
                           {.type = c, .rows = mnk[0], .cols = mnk[1]},
                           {.type = c, .rows = mnk[0], .cols = mnk[1]}};
    placed *places[4] = {&x->a, &x->b, &x->old, &x->c};
    *x = (product){.problem.alpha = hr_real(1.0)};
    for (int i = 0; i < 4; i++) {
        shapes[i].conjugate = random_between(source, 0, 1) == 1;
        if (!CHECK(placed_init(
                places[i], source,
                (placed_layout)random_between(source, 0, PLACED_LAYOUTS - 1),
                &shapes[i]))) {
            exit(1);
        }
    }
    x->problem.a = x->a.matrix;
    x->problem.b = x->b.matrix;
    x->problem.c0 = x->old.matrix;
    x->problem.c = x->c.matrix;
}

static void random_scalars(product *x, random_source *source, int pair)
{
    const double plain[] = {0.0, 1.0, -1.0};
    hr_scalar *scalars[2] = {&x->problem.alpha, &x->problem.beta};
    for (int i = 0; i < 2; i++) {
        int64_t kind = random_between(source, 0, 4);
        *scalars[i] = hr_real(kind < 3 ? plain[kind]
                              : pairs[pair].c == HR_I32
                                  ? (double)random_between(source, -99, 99)
                                  : 2.0 * random_unit(source));
        if (kind == 4 && is_complex(pairs[pair].c)) {
            scalars[i]->im = random_unit(source);
        }
    }
}

/* C from what is there, by sums in the type itself. */
static void multiply(product *x)
{
    hri_verify_problem *p = &x->problem;
    for (int64_t i = 0; i < p->c.rows; i++) {
        for (int64_t j = 0; j < p->c.cols; j++) {
            double re, im;
            reference_load(&p->c0, i, j, &re, &im);
            plain_store(&p->c, i, j, re, im);
        }
    }
    plain_product(&(reference_problem){p->alpha, p->beta, p->a, p->b, p->c});
    placed_remember(&x->c);
}

static hr_status verify(const product *x, uint64_t seed,
                        hr_verify_report *report)
{
    return hri_verify_product(pool, &x->problem, seed, report);
}

static tolerance tolerance_for(const product *x)
{
    const hri_verify_problem *p = &x->problem;
    tolerance t = {p->alpha, p->beta, p->a, p->b, p->c0, p->c, NULL, 0.0};
    if (p->alpha.re == 0.0 && p->alpha.im == 0.0) {
        t.a.cols = t.b.rows = 0;
    }
    if (p->c.rows < p->c.cols) {
        hr_matrix a = t.a;
        t.a = hr_matrix_transpose(t.b);
        t.b = hr_matrix_transpose(a);
        t.old = hr_matrix_transpose(t.old);
        t.c = hr_matrix_transpose(t.c);
    }
    if (!CHECK(tolerance_init(&t))) {
        exit(1);
    }
    return t;
}

static double tolerance_at(const product *x, const tolerance *t, int64_t row,
                           int64_t col)
{
    bool turned = x->problem.c.rows < x->problem.c.cols;
    return turned ? tolerance_of(t, col, row) : tolerance_of(t, row, col);
}

static double rounded(double x, hr_type c_type)
{
    return c_type == HR_F64 || c_type == HR_C64 ? x : (double)(float)x;
}

/* The exact element, as near as long double gets. */
static void exact_element(const hri_verify_problem *p, int64_t row, int64_t col,
                          long double exact[2])
{
    long double sum[2] = {0.0L, 0.0L};
    double re, im, ar = rounded(p->alpha.re, p->c.type),
                   ai = rounded(p->alpha.im, p->c.type),
                   br = rounded(p->beta.re, p->c.type),
                   bi = rounded(p->beta.im, p->c.type);
    for (int64_t i = 0; i < p->a.cols; i++) {
        double x, y;
        reference_load(&p->a, row, i, &x, &y);
        reference_load(&p->b, i, col, &re, &im);
        sum[0] += (long double)x * re - (long double)y * im;
        sum[1] += (long double)x * im + (long double)y * re;
    }
    reference_load(&p->c0, row, col, &re, &im);
    exact[0] =
        ar * sum[0] - ai * sum[1] + (long double)br * re - (long double)bi * im;
    exact[1] =
        ar * sum[1] + ai * sum[0] + (long double)br * im + (long double)bi * re;
}

/* Make element (row, col) wrong by little more than the tolerance. */
static void plant(product *x, const tolerance *t, int64_t row, int64_t col)
{
    const hr_matrix *c = &x->problem.c;
    long double exact[2];
    double re, im;
    if (c->type == HR_I32) {
        reference_load(c, row, col, &re, &im);
        plain_store(c, row, col, re > 0 ? re - 1.0 : re + 1.0, 0.0);
        return;
    }
    exact_element(&x->problem, row, col, exact);
    int part = is_complex(c->type) && (row + col) % 2 == 1;
    for (double factor = 1.02, error = 0.0, limit = 0.0; error <= limit;
         factor *= 1.03) {
        double value[2] = {(double)exact[0], (double)exact[1]};
        value[part] += factor * tolerance_at(x, t, row, col);
        plain_store(c, row, col, value[0], value[1]);
        reference_load(c, row, col, &re, &im);
        error = (double)fabsl((part == 1 ? im : re) - exact[part]);
        limit = 1.01 * tolerance_at(x, t, row, col);
    }
}

static void planted_errors(product *x, random_source *source, int count,
                           const char *name)
{
    tolerance t = tolerance_for(x);
    for (int i = 0; i < count; i++) {
        int64_t row = random_between(source, 0, x->problem.c.rows - 1);
        int64_t col = random_between(source, 0, x->problem.c.cols - 1);
        hr_verify_report report;
        plant(x, &t, row, col);
        hr_status status = verify(x, random_next(source), &report);
        if (!CHECK(status == HR_ERROR_MISMATCH) ||
            !CHECK(report.row == row && report.col == col) ||
            !CHECK(report.error > report.bound)) {
            printf("%s: %lldx%lldx%lld planted at (%lld, %lld), found at "
                   "(%lld, %lld)\n",
                   name, (long long)x->problem.c.rows,
                   (long long)x->problem.c.cols, (long long)x->problem.a.cols,
                   (long long)row, (long long)col, (long long)report.row,
                   (long long)report.col);
        }
        placed_restore(&x->c);
    }
    tolerance_finish(&t);
}

static void right_and_wrong_products(int pair)
{
    random_source source = {(uint64_t)pair + 1};
    char name[64];
    snprintf(name, sizeof name, "%s into %s", hr_type_name(pairs[pair].ab),
             hr_type_name(pairs[pair].c));
    TEST_CASE(name);
    for (int i = 0; i < 20; i++) {
        product x;
        hr_verify_report report;
        int64_t mnk[3];
        for (int d = 0; d < 3; d++) {
            mnk[d] = random_between(&source, 1, i % 3 == 0 ? 8 : 100);
        }
        mnk[2] = i == 7 ? 0 : mnk[2];
        product_init(&x, &source, pair, mnk);
        random_scalars(&x, &source, pair);
        multiply(&x);
        for (int seed = 0; seed < 4; seed++) {
            CHECK(verify(&x, random_next(&source), &report) == HR_OK);
            CHECK(report.row == -1 && report.col == -1);
        }
        planted_errors(&x, &source, 8, name);
        product_finish(&x);
    }
}

/* Every element of m := f(kind) of a random number and its place. */
static double shaped(const char *kind, hr_type type, random_source *source,
                     int64_t row, int64_t col)
{
    double x = random_unit(source);
    bool wide = type == HR_F64 || type == HR_C64, f16 = type == HR_F16;
    if (strcmp(kind, "positive") == 0) {
        return fabs(x);
    }
    if (strcmp(kind, "constant") == 0) {
        return 0.1;
    }
    if (strcmp(kind, "tiny") == 0) { /* products underflow */
        return x * (wide ? 1e-160 : f16 ? 1e-6 : 1e-22);
    }
    if (strcmp(kind, "huge") == 0) { /* sums nearly overflow, or do in f16 */
        return x * (wide ? 1e153 : f16 ? 1e2 : 1e18);
    }
    if (strcmp(kind, "graded rows") == 0) {
        return ldexp(x, (int)-(row % (f16 ? 10 : 60)));
    }
    if (strcmp(kind, "graded columns") == 0) {
        return ldexp(x, (int)-(col % (f16 ? 10 : 60)));
    }
    if (strcmp(kind, "cancelling") == 0) {
        return row + col < 4 ? x : (row + col) % 2 == 0 ? 100.0 : -100.0;
    }
    return random_between(source, 0, 9) == 0 ? x : 0.0; /* "sparse" */
}

static void shape_values(const hr_matrix *m, const char *kind,
                         random_source *source)
{
    for (int64_t i = 0; i < m->rows; i++) {
        for (int64_t j = 0; j < m->cols; j++) {
            plain_store(m, i, j, shaped(kind, m->type, source, i, j),
                        shaped(kind, m->type, source, i, j));
        }
    }
}

/* The largest element with its sign flipped is far beyond any tolerance. Not so
 * where products underflow, or where f16 overflows in every row of C, as only
 * some of these are recomputed. */
static void flipped_sign(product *x, random_source *source)
{
    const hr_matrix *c = &x->problem.c;
    int64_t row = 0, col = 0;
    double re, im, largest = -1.0;
    hr_verify_report report;
    for (int64_t i = 0; i < c->rows * c->cols; i++) {
        reference_load(c, i / c->cols, i % c->cols, &re, &im);
        if (fabs(re) > largest && isfinite(re)) {
            largest = fabs(re);
            row = i / c->cols;
            col = i % c->cols;
        }
    }
    reference_load(c, row, col, &re, &im);
    if (fabs(re) < 1e-30 || (c->type == HR_F16 && fabs(re) > 1e4)) {
        return;
    }
    plain_store(c, row, col, -re, im);
    CHECK(verify(x, random_next(source), &report) == HR_ERROR_MISMATCH);
    CHECK(report.row == row && report.col == col);
}

static void right_products_of_any_values(void)
{
    const char *const kinds[] = {"positive",   "constant",       "tiny",
                                 "huge",       "graded rows",    "sparse",
                                 "cancelling", "graded columns", NULL};
    random_source source = {77};
    for (const char *const *kind = kinds; *kind != NULL; kind++) {
        TEST_CASE(*kind);
        for (int pair = 0; pair < PAIRS - 1; pair++) {
            product x;
            hr_verify_report report;
            product_init(&x, &source, pair, (int64_t[3]){70, 55, 130});
            shape_values(&x.problem.a, *kind, &source);
            shape_values(&x.problem.b, *kind, &source);
            x.problem.beta = hr_real(pair % 2 == 0 ? -1.0 : 0.0);
            multiply(&x);
            for (int i = 0; i < 5; i++) {
                CHECK(verify(&x, random_next(&source), &report) == HR_OK);
            }
            flipped_sign(&x, &source);
            product_finish(&x);
        }
    }
}

static void skinny_and_deep_products(void)
{
    static const struct {
        const char *name;
        int64_t mnk[3];
    } rows[] = {
        {"one by one", {1, 1, 1}},
        {"a million columns, depth 1", {3, 1000000, 1}},
        {"a million rows", {1000000, 2, 3}},
        {"depth a million", {2, 3, 1000000}},
        {"a dot product", {1, 1, 100001}},
        {"an outer product", {700, 300, 1}},
        {"depth in chunks", {130, 50, 9000}},
        {"rows in slabs", {40000, 5, 70}},
    };
    random_source source = {78};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        TEST_CASE(rows[i].name);
        for (int pair = 0; pair < PAIRS; pair += 8) { /* f32 and i8 */
            product x;
            hr_verify_report report;
            product_init(&x, &source, pair, rows[i].mnk);
            x.problem.beta = hr_real(-1.0);
            multiply(&x);
            CHECK(verify(&x, random_next(&source), &report) == HR_OK);
            planted_errors(&x, &source, 2, rows[i].name);
            product_finish(&x);
        }
    }
}

static void set_part(const hr_matrix *m, int64_t row, int64_t col, double value)
{
    plain_store(m, row, col, value, 0.0);
}

/* NaN and infinity at places of A, B and C0; the product carries them on. */
static void not_finite_operands(void)
{
    TEST_CASE("NaN and infinity in the operands");
    random_source source = {79};
    for (int pair = 0; pair < PAIRS - 1; pair++) {
        product x;
        hr_verify_report report;
        product_init(&x, &source, pair, (int64_t[3]){90, 80, 40});
        x.problem.beta = hr_real(1.0);
        set_part(&x.problem.a, 5, 7, NAN);
        set_part(&x.problem.a, 80, 0, INFINITY);
        set_part(&x.problem.b, 3, 70, -INFINITY);
        set_part(&x.problem.c0, 40, 41, NAN);
        multiply(&x);
        CHECK(verify(&x, random_next(&source), &report) == HR_OK);
        CHECK(report.rows_checked >= 4);
        const int64_t wrong[][2] = {{5, 1}, {80, 2}, {44, 70}, {40, 41}};
        for (int i = 0; i < 4; i++) { /* finite where it must not be */
            set_part(&x.problem.c, wrong[i][0], wrong[i][1], 0.25);
            CHECK(verify(&x, random_next(&source), &report) ==
                  HR_ERROR_MISMATCH);
            CHECK(report.row == wrong[i][0] && report.col == wrong[i][1]);
            placed_restore(&x.c);
        }
        set_part(&x.problem.c, 6, 6, NAN); /* and the other way round */
        CHECK_FAILS(verify(&x, random_next(&source), &report),
                    HR_ERROR_MISMATCH, "(6, 6)");
        placed_restore(&x.c);
        set_part(&x.problem.c, 10, 10, 1000.0);
        CHECK_FAILS(verify(&x, random_next(&source), &report),
                    HR_ERROR_MISMATCH, "(10, 10) of C is 1000");
        product_finish(&x);
    }
}

int main(void)
{
    if (hri_pool_create(2, &pool) != HR_OK) {
        return 1;
    }
    for (int pair = 0; pair < PAIRS; pair++) {
        right_and_wrong_products(pair);
    }
    right_products_of_any_values();
    skinny_and_deep_products();
    not_finite_operands();
    hri_pool_destroy(pool);
    return test_end();
}
