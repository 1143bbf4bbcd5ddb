/* SPDX-License-Identifier: MIT */
/* The tolerance that tests of verification plant errors by
 * (support/tolerance.h), where values are not finite or sums overflow: an
 * element that is wrong by little more is found, and what is not finite does
 * not change the tolerance of others. */
#include "test.h"

#include <math.h>

#include "support/plain.h"
#include "support/verify_case.h"

enum { M = 90, N = 80, K = 40, F32 = 0, F64 = 1 };

static hri_pool *pool;

static void set_value(const hr_matrix *m, int64_t row, int64_t col,
                      double value)
{
    plain_store(m, row, col, value, 0.0);
}

static void fill_row(const hr_matrix *m, int64_t row, double value)
{
    for (int64_t j = 0; j < m->cols; j++) {
        set_value(m, row, j, value);
    }
}

static void scale_column(const hr_matrix *m, int64_t col, double factor)
{
    for (int64_t i = 0; i < m->rows; i++) {
        double re, im;
        reference_load(m, i, col, &re, &im);
        plain_store(m, i, col, re * factor, im * factor);
    }
}

/* A NaN and an infinity in each of A, B and C0. */
static void set_not_finite(hri_verify_problem *p)
{
    set_value(&p->a, 5, 7, (double)NAN);
    set_value(&p->a, 80, 0, (double)INFINITY);
    set_value(&p->b, 3, 70, -(double)INFINITY);
    set_value(&p->b, 9, 30, (double)NAN);
    set_value(&p->c0, 40, 41, (double)NAN);
    set_value(&p->c0, 60, 61, (double)INFINITY);
}

/* A row and a column of which no element is finite in C0. */
static void set_lines_of_old(hri_verify_problem *p)
{
    fill_row(&p->c0, 20, (double)NAN);
    const hr_matrix columns = hr_matrix_transpose(p->c0);
    fill_row(&columns, 12, (double)INFINITY);
}

/* A row's sums overflow: it has no say in the scales. */
static void overflow_row(hri_verify_problem *p)
{
    fill_row(&p->a, 33, 1e300);
    scale_column(&p->b, 5, 1e9);
}

/* Weights of columns would overflow double. Column 0 is large. */
static void shrink_by_alpha(hri_verify_problem *p)
{
    for (int64_t j = 0; j < N; j++) {
        scale_column(&p->b, j, j > 0 ? 1e119 : 1e149);
    }
    for (int64_t i = 0; i < K; i++) {
        scale_column(&p->a, i, 1e150);
    }
    p->alpha = hr_real(1e-296);
    p->beta = hr_real(0.0);
}

static const struct {
    const char *name;
    int pair;
    void (*change)(hri_verify_problem *p);
    bool same; /* as before, but in the lines that change */
} cases[] = {
    {"f32, values that are not finite", F32, set_not_finite, true},
    {"f64, values that are not finite", F64, set_not_finite, true},
    {"f32, lines of C0 that are not finite", F32, set_lines_of_old, true},
    {"f64, a row whose sums overflow", F64, overflow_row, true},
    {"f64, a small alpha", F64, shrink_by_alpha, false},
};

/* Elements of lines that no case changes. */
static const struct {
    int64_t row, col;
} others[] = {{0, 1}, {10, 11}, {21, 79}, {44, 42}, {89, 2}};
enum { OTHERS = sizeof others / sizeof others[0] };

static void note_tolerances(const verify_case *x, double *values)
{
    tolerance t = verify_case_tolerance(x);
    for (int i = 0; i < OTHERS; i++) {
        values[i] = tolerance_of(&t, others[i].row, others[i].col);
    }
    tolerance_finish(&t);
}

static void find_planted_errors(verify_case *x, random_source *source)
{
    tolerance t = verify_case_tolerance(x);
    int planted = 0;
    for (int i = 0; i < 50; i++) {
        const int64_t row = random_between(source, 0, M - 1);
        const int64_t col = random_between(source, 0, N - 1);
        hr_verify_report report;
        if (!isfinite(tolerance_of(&t, row, col))) {
            continue;
        }
        planted++;
        verify_case_plant(x, &t, row, col);
        CHECK(hri_verify_product(pool, &x->problem, random_next(source),
                                 &report) == HR_ERROR_MISMATCH);
        CHECK(report.row == row && report.col == col);
        placed_restore(&x->c);
    }
    CHECK(planted >= 40);
    tolerance_finish(&t);
}

static void check_case(size_t i)
{
    random_source source = {130 + i};
    verify_case x;
    double before[OTHERS], after[OTHERS];
    TEST_CASE(cases[i].name);
    verify_case_init(&x, &source, cases[i].pair, (int64_t[3]){M, N, K});
    x.problem.beta = hr_real(1.0);
    verify_case_multiply(&x);
    note_tolerances(&x, before);
    cases[i].change(&x.problem);
    verify_case_multiply(&x);
    note_tolerances(&x, after);
    for (int at = 0; at < OTHERS && cases[i].same; at++) {
        CHECK(before[at] <= 2.0 * after[at] && after[at] <= 2.0 * before[at]);
    }
    find_planted_errors(&x, &source);
    verify_case_finish(&x);
}

/* There is no tolerance where an element must not be finite, or is not. */
static void no_tolerance(void)
{
    static const struct {
        int64_t row, col;
    } places[] = {{5, 1}, {80, 2}, {44, 70}, {45, 30}, {40, 41}, {60, 61}};
    TEST_CASE("no tolerance");
    random_source source = {140};
    verify_case x;
    verify_case_init(&x, &source, F32, (int64_t[3]){M, N, K});
    x.problem.beta = hr_real(1.0);
    set_not_finite(&x.problem);
    verify_case_multiply(&x);
    tolerance t = verify_case_tolerance(&x);
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        CHECK(isnan(tolerance_of(&t, places[i].row, places[i].col)));
    }
    CHECK(isfinite(tolerance_of(&t, 6, 6)));
    set_value(&x.problem.c, 6, 6, (double)INFINITY);
    CHECK(isnan(tolerance_of(&t, 6, 6)));
    tolerance_finish(&t);
    verify_case_finish(&x);
}

int main(void)
{
    if (!CHECK(hri_pool_create(2, &pool) == HR_OK)) {
        return test_end();
    }
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        TEST(check_case(i));
    }
    TEST(no_tolerance());
    hri_pool_destroy(pool);
    return test_end();
}
