/* SPDX-License-Identifier: MIT */
/* hr_gemm_verify on values that are hard on the test: graded, cancelling, tiny,
 * huge, not finite, and such that all rows look suspicious. */
#include "test.h"

#include <math.h>

#include "support/pairs.h"
#include "support/plain.h"
#include "support/verify_case.h"

static hri_pool *pool;

static hr_status verify(const verify_case *x, uint64_t seed,
                        hr_verify_report *report)
{
    return hri_verify_product(pool, &x->problem, seed, report);
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
static void flipped_sign(verify_case *x, random_source *source)
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
            verify_case x;
            hr_verify_report report;
            verify_case_init(&x, &source, pair, (int64_t[3]){70, 55, 130});
            shape_values(&x.problem.a, *kind, &source);
            shape_values(&x.problem.b, *kind, &source);
            x.problem.beta = hr_real(pair % 2 == 0 ? -1.0 : 0.0);
            verify_case_multiply(&x);
            for (int i = 0; i < 5; i++) {
                CHECK(verify(&x, random_next(&source), &report) == HR_OK);
            }
            flipped_sign(&x, &source);
            verify_case_finish(&x);
        }
    }
}

/* Sums of equal numbers are rounded in one direction for long, so that all rows
 * of a right product look suspicious. The worst come first all the same. */
static void all_rows_suspicious(void)
{
    TEST_CASE("a right product whose rows are all suspicious");
    enum { M = 200, N = 150, K = 6000 };
    random_source source = {81};
    verify_case x;
    hr_verify_report report;
    float sum = 0.0f;
    verify_case_init(&x, &source, 0, (int64_t[3]){M, N, K});
    for (int p = 0; p < K; p++) {
        float term = 0.1f * 0.1f;
        sum += term;
        for (int i = 0; i < M; i++) {
            plain_store(&x.problem.a, i, p, 0.1, 0.0);
        }
        for (int j = 0; j < N; j++) {
            plain_store(&x.problem.b, p, j, 0.1, 0.0);
        }
    }
    for (int i = 0; i < M * N; i++) {
        plain_store(&x.problem.c, i / N, i % N, (double)sum, 0.0);
    }
    CHECK(verify(&x, 1, &report) == HR_OK);
    CHECK(report.suspects == M && report.rows_checked == HRI_VERIFY_LIMIT);
    plain_store(&x.problem.c, 17, 23, 0.9 * (double)sum, 0.0);
    CHECK_FAILS(verify(&x, 2, &report), HR_ERROR_MISMATCH, "(17, 23)");
    CHECK(report.rows_checked == 1);
    verify_case_finish(&x);
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
        verify_case x;
        hr_verify_report report;
        verify_case_init(&x, &source, pair, (int64_t[3]){90, 80, 40});
        x.problem.beta = hr_real(1.0);
        set_part(&x.problem.a, 5, 7, NAN);
        set_part(&x.problem.a, 80, 0, INFINITY);
        set_part(&x.problem.b, 3, 70, -INFINITY);
        set_part(&x.problem.c0, 40, 41, NAN);
        verify_case_multiply(&x);
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
        verify_case_finish(&x);
    }
}

/* Modulo 2^32 such errors are their own opposites: random signs would let two
 * of them in one row cancel always. */
static void two_top_bits(void)
{
    TEST_CASE("two integers of a row with the top bit flipped");
    random_source source = {82};
    verify_case x;
    verify_case_init(&x, &source, PAIRS - 1, (int64_t[3]){40, 30, 20});
    verify_case_multiply(&x);
    for (int i = 0; i < 200; i++) {
        hr_verify_report report;
        int64_t row = random_between(&source, 0, 39);
        for (int64_t col = 7; col <= 21; col += 14) {
            double value, none;
            reference_load(&x.problem.c, row, col, &value, &none);
            plain_store(&x.problem.c, row, col,
                        value < 0 ? value + 0x1p31 : value - 0x1p31, 0.0);
        }
        CHECK(verify(&x, random_next(&source), &report) == HR_ERROR_MISMATCH);
        CHECK(report.row == row && report.col == 7);
        placed_restore(&x.c);
    }
    verify_case_finish(&x);
}

/* 2/3, and what is 2^-40 away. */
static void near_misses_read_apart(void)
{
    TEST_CASE("the sentence tells elements apart that nearly agree");
    const double third[2] = {2.0 / 3.0}, one[2] = {1.0};
    const double near[2] = {2.0 / 3.0 + 0x1p-40};
    for (int type = HR_F64; type <= HR_C64; type += HR_C64 - HR_F64) {
        const hri_verify_problem problem = {
            .alpha = hr_real(1.0),
            .beta = hr_real(0.0),
            .a = hr_matrix_row_major(third, (hr_type)type, 1, 1, 0),
            .b = hr_matrix_row_major(one, (hr_type)type, 1, 1, 0),
            .c = hr_matrix_row_major(near, (hr_type)type, 1, 1, 0)};
        hr_verify_report report;
        CHECK_FAILS(hri_verify_product(pool, &problem, 1, &report),
                    HR_ERROR_MISMATCH, "is 0.66666666666757612");
        CHECK(strstr(hr_last_error(), "be 0.66666666666666663") != NULL);
    }
}

int main(void)
{
    if (!CHECK(hri_pool_create(2, &pool) == HR_OK)) {
        return test_end();
    }
    TEST(right_products_of_any_values());
    TEST(not_finite_operands());
    TEST(all_rows_suspicious());
    TEST(two_top_bits());
    TEST(near_misses_read_apart());
    hri_pool_destroy(pool);
    return test_end();
}
