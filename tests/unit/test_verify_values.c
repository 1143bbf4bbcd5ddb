/* SPDX-License-Identifier: MIT */
/* hr_gemm_verify on values that are hard on the test: graded, cancelling, tiny,
 * huge, not finite, and such that all rows look suspicious. */
#include "test.h"

#include <math.h>

#include "support/pairs.h"
#include "support/plain.h"
#include "support/verify_case.h"

static hri_pool *pool;

static hr_status verify_seeded(const verify_case *x, uint64_t seed,
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
    CHECK(verify_seeded(x, random_next(source), &report) == HR_ERROR_MISMATCH);
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
                CHECK(verify_seeded(&x, random_next(&source), &report) ==
                      HR_OK);
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
    CHECK(verify_seeded(&x, 1, &report) == HR_OK);
    CHECK(report.suspects == M && report.rows_checked == HRI_VERIFY_LIMIT);
    plain_store(&x.problem.c, 17, 23, 0.9 * (double)sum, 0.0);
    CHECK_FAILS(verify_seeded(&x, 2, &report), HR_ERROR_MISMATCH, "(17, 23)");
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
        CHECK(verify_seeded(&x, random_next(&source), &report) == HR_OK);
        CHECK(report.rows_checked >= 4);
        const int64_t wrong[][2] = {{5, 1}, {80, 2}, {44, 70}, {40, 41}};
        for (int i = 0; i < 4; i++) { /* finite where it must not be */
            set_part(&x.problem.c, wrong[i][0], wrong[i][1], 0.25);
            CHECK(verify_seeded(&x, random_next(&source), &report) ==
                  HR_ERROR_MISMATCH);
            CHECK(report.row == wrong[i][0] && report.col == wrong[i][1]);
            placed_restore(&x.c);
        }
        set_part(&x.problem.c, 6, 6, NAN); /* and the other way round */
        CHECK_FAILS(verify_seeded(&x, random_next(&source), &report),
                    HR_ERROR_MISMATCH, "(6, 6)");
        placed_restore(&x.c);
        set_part(&x.problem.c, 10, 10, 1000.0);
        CHECK_FAILS(verify_seeded(&x, random_next(&source), &report),
                    HR_ERROR_MISMATCH, "(10, 10) of C is 1000");
        verify_case_finish(&x);
    }
}

/* ---- many values that are not finite */

/* Values of which every `one_in`-th, by chance, is not finite. */
static void sprinkle_specials(const hr_matrix *m, int64_t one_in,
                              random_source *source)
{
    static const double finite[] = {0.0, 1.0, -1.0, 2.0, 0.5, -3.0};
    static const double special[] = {(double)INFINITY, -(double)INFINITY,
                                     (double)NAN};
    const int64_t kinds = random_between(source, 1, 3); /* 1: only +infinity */
    for (int64_t i = 0; i < m->rows * m->cols; i++) {
        bool odd = one_in > 0 && random_between(source, 1, one_in) == 1;
        double x = odd ? special[random_between(source, 0, kinds - 1)]
                       : finite[random_between(source, kinds == 1, 5)];
        plain_store(m, i / m->cols, i % m->cols, x, 0.0);
    }
}

/* What C must not be where it is `value`. */
static double spoil_value(double value, hr_type type, random_source *source)
{
    const bool either = random_between(source, 0, 1) == 0;
    if (isfinite(value)) {
        return either ? (double)NAN : (double)INFINITY;
    }
    if (either || is_complex(type)) {
        return 0.25;
    }
    return isnan(value) ? (double)INFINITY : -value;
}

static void spoil_one(verify_case *x, random_source *source)
{
    const hr_matrix *c = &x->problem.c;
    const int64_t row = random_between(source, 0, c->rows - 1);
    const int64_t col = random_between(source, 0, c->cols - 1);
    hr_verify_report report;
    double re, im;
    reference_load(c, row, col, &re, &im);
    const double value = isfinite(re) && !isfinite(im) ? im : re;
    plain_store(c, row, col, spoil_value(value, c->type, source), 0.0);
    CHECK(verify_seeded(x, random_next(source), &report) == HR_ERROR_MISMATCH);
    CHECK(report.row == row && report.col == col);
    placed_restore(&x->c);
}

/* How often A, B and C0 are not finite; 0: never. */
static const struct {
    const char *name;
    int64_t a, b, c0;
} sprinkled[] = {
    {"all finite", 0, 0, 0},
    {"in most rows of A", 40, 0, 0},
    {"in most columns of B", 0, 40, 0},
    {"in A and B", 60, 60, 0},
    {"in all of A", 1, 0, 0},
    {"in all of B", 0, 1, 0},
    {"in a tenth of C0", 0, 0, 10},
    {"in all of C0", 0, 0, 1},
    {"in few elements of each", 2000, 2000, 500},
    {"in much of each", 5, 5, 5},
};

static void many_not_finite(size_t i)
{
    random_source source = {83 + i};
    TEST_CASE(sprinkled[i].name);
    for (int pair = 0; pair < PAIRS - 1; pair++) {
        for (int round = 0; round < 4; round++) {
            verify_case x;
            hr_verify_report report;
            int64_t mnk[3] = {random_between(&source, 1, 200),
                              random_between(&source, 1, 200),
                              random_between(&source, 1, 90)};
            verify_case_init(&x, &source, pair, mnk);
            sprinkle_specials(&x.problem.a, sprinkled[i].a, &source);
            sprinkle_specials(&x.problem.b, sprinkled[i].b, &source);
            sprinkle_specials(&x.problem.c0, sprinkled[i].c0, &source);
            x.problem.alpha = hr_real(round % 2 == 0 ? 1.0 : -2.0);
            x.problem.beta = hr_real(round == 3 ? 0.0 : round - 1.5);
            verify_case_multiply(&x);
            CHECK(verify_seeded(&x, random_next(&source), &report) == HR_OK);
            CHECK(report.unchecked == 0 && report.row == -1);
            for (int spoils = 0; spoils < 4; spoils++) {
                spoil_one(&x, &source);
            }
            verify_case_finish(&x);
        }
    }
}

/* Values that are not finite do not take the scales away from columns. */
static void not_finite_and_graded(void)
{
    TEST_CASE("NaN and infinity beside a large column");
    random_source source = {86};
    for (int pair = 0; pair < 2; pair++) {
        verify_case x;
        hr_verify_report report;
        verify_case_init(&x, &source, pair, (int64_t[3]){150, 140, 60});
        x.problem.beta = hr_real(1.0);
        for (int64_t p = 0; p < 60; p++) {
            set_part(&x.problem.b, p, 2, pair == 0 ? 1e6 : 1e14);
        }
        set_part(&x.problem.a, 5, 7, (double)NAN);
        set_part(&x.problem.b, 3, 70, (double)INFINITY);
        set_part(&x.problem.c0, 40, 41, (double)NAN);
        verify_case_multiply(&x);
        CHECK(verify_seeded(&x, random_next(&source), &report) == HR_OK);
        CHECK(report.suspects == 0 && report.unchecked == 0);
        for (int64_t row = 38; row < 42; row++) {
            double re, im;
            reference_load(&x.problem.c, row, 100, &re, &im);
            set_part(&x.problem.c, row, 100, re + 0.01);
            CHECK(verify_seeded(&x, random_next(&source), &report) ==
                  HR_ERROR_MISMATCH);
            CHECK(report.row == row && report.col == 100);
            placed_restore(&x.c);
        }
        verify_case_finish(&x);
    }
}

/* The largest f16 and so on, times 1: infinity is wrong in its place. */
static void infinity_for_a_large_number(void)
{
    static const struct {
        const char *name;
        int pair;
        double large;
    } rows[] = {
        {"f32", 0, 3e38},        {"f64", 1, 1.5e308},
        {"c32", 2, 1.5e38},      {"c64", 3, 8e307},
        {"f16", 4, 65504.0},     {"f16 into f32", 5, 65504.0},
        {"bf16", 6, 0x1.fep127}, {"bf16 into f32", 7, 0x1.fcp127},
    };
    enum { SIZE = 150 };
    random_source source = {84};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        TEST_CASE(rows[i].name);
        verify_case x;
        hr_verify_report report;
        verify_case_init(&x, &source, rows[i].pair,
                         (int64_t[3]){SIZE, SIZE, SIZE});
        for (int64_t e = 0; e < SIZE * SIZE; e++) {
            const int64_t row = e / SIZE, col = e % SIZE;
            plain_store(&x.problem.a, row, col, row == col, 0.0);
            plain_store(&x.problem.b, row, col, row == col ? rows[i].large : 0,
                        0.0);
        }
        verify_case_multiply(&x);
        CHECK(verify_seeded(&x, random_next(&source), &report) == HR_OK);
        for (int sign = -1; sign <= 1; sign += 2) {
            set_part(&x.problem.c, 140, 140, sign * (double)INFINITY);
            CHECK(verify_seeded(&x, random_next(&source), &report) ==
                  HR_ERROR_MISMATCH);
            CHECK(report.row == 140 && report.col == 140);
            placed_restore(&x.c);
        }
        verify_case_finish(&x);
    }
}

/* 100 rows overflow as they should. Only 64 of them can be recomputed. */
static void too_many_overflows(void)
{
    TEST_CASE("more overflows than can be recomputed");
    enum { M = 100, N = 3, K = 65536 };
    random_source source = {85};
    verify_case x;
    hr_verify_report report;
    verify_case_init(&x, &source, 4, (int64_t[3]){M, N, K});
    for (int64_t p = 0; p < K; p++) {
        for (int64_t i = 0; i < M; i++) {
            set_part(&x.problem.a, i, p, 1.0);
        }
        for (int64_t j = 0; j < N; j++) {
            set_part(&x.problem.b, p, j, j == 1 ? 2.0 : 0.0);
        }
    }
    for (int64_t i = 0; i < M * N; i++) {
        set_part(&x.problem.c, i / N, i % N, i % N == 1 ? (double)INFINITY : 0);
    }
    CHECK_FAILS(verify_seeded(&x, 1, &report), HR_ERROR_UNSUPPORTED,
                "36 were not checked");
    CHECK(report.unchecked == M - HRI_VERIFY_LIMIT);
    CHECK(report.rows_checked == HRI_VERIFY_LIMIT + 1); /* and a column */
    CHECK(report.row == -1 && report.col == -1);
    set_part(&x.problem.c, 63, 1, -(double)INFINITY);
    CHECK_FAILS(verify_seeded(&x, 2, &report), HR_ERROR_MISMATCH, "(63, 1)");
    verify_case_finish(&x);
}

/* ---- large numbers */

/* f64 numbers so large that sums overflow: at (0, 0) of A and B, or of C0. */
static const struct {
    const char *name;
    double a, b, c0;
} large[] = {
    {"1e150 in A and B", 1e150, 1e150, 0.0},
    {"1e160 in A and B", 1e160, 1e160, 0.0},
    {"1e180 in A and B", 1e180, 1e180, 0.0},
    {"1e300 in A and B", 1e300, 1e300, 0.0},
    {"1.5e308 in A", 1.5e308, 0.5, 0.0},
    {"1.5e308 in B", 0.5, 1.5e308, 0.0},
    {"1.5e308 in C0", 0.5, 0.5, 1.5e308},
    {"1e300 in all", 1e300, 1e300, 1e300},
};

/* One wrong element in a row without large numbers, and then all of these. */
static void large_and_wrong(verify_case *x, random_source *source)
{
    const hr_matrix *c = &x->problem.c;
    hr_verify_report report;
    double re, im;
    reference_load(c, 5, 7, &re, &im);
    set_part(c, 5, 7, re + 1000.0);
    CHECK_FAILS(verify_seeded(x, random_next(source), &report),
                HR_ERROR_MISMATCH, "(5, 7)");
    set_part(c, 5, 7, (double)NAN);
    CHECK_FAILS(verify_seeded(x, random_next(source), &report),
                HR_ERROR_MISMATCH, "(5, 7)");
    placed_restore(&x->c);
    for (int64_t i = 1; i < c->rows; i++) {
        for (int64_t j = 1; j < c->cols; j++) {
            set_part(c, i, j, 1e6);
        }
    }
    CHECK(verify_seeded(x, random_next(source), &report) == HR_ERROR_MISMATCH);
    placed_restore(&x->c);
}

static void large_numbers(void)
{
    random_source source = {87};
    for (size_t i = 0; i < sizeof large / sizeof large[0]; i++) {
        for (int pair = 1; pair <= 3; pair += 2) { /* f64 and c64 */
            verify_case x;
            hr_verify_report report;
            TEST_CASE(large[i].name);
            verify_case_init(&x, &source, pair, (int64_t[3]){70, 40, 50});
            set_part(&x.problem.a, 0, 0, large[i].a);
            set_part(&x.problem.b, 0, 0, large[i].b);
            set_part(&x.problem.c0, 0, 0, large[i].c0);
            x.problem.beta = hr_real(large[i].c0 != 0.0);
            for (int factor = 0; factor < 2; factor++) {
                x.problem.alpha = hr_real(factor == 0 ? 1.0 : 1e3);
                verify_case_multiply(&x);
                CHECK(verify_seeded(&x, random_next(&source), &report) ==
                      HR_OK);
                CHECK(report.unchecked == 0);
                large_and_wrong(&x, &source);
            }
            verify_case_finish(&x);
        }
    }
}

/* Parts of elements of C0 that are subnormal beside others, each judged. */
static void subnormal_parts_of_large_elements(void)
{
    TEST_CASE("subnormal parts of large elements");
    random_source source = {92};
    verify_case x;
    verify_case_init(&x, &source, 3, (int64_t[3]){80, 57, 1});
    for (int64_t e = 0; e < 80 * 57; e++) {
        const int64_t kind = random_between(&source, 0, 3);
        plain_store(&x.problem.c0, e / 57, e % 57,
                    kind == 0 ? 1e-310 * random_unit(&source) : 1.0,
                    kind == 1 ? 1e308 * random_unit(&source) : 2.0);
    }
    x.problem.alpha = hr_real(0.0);
    x.problem.beta = hr_real(1e300);
    verify_case_multiply(&x);
    hri_verify *v = hri_verify_create(pool, &x.problem, 1);
    if (CHECK(v != NULL)) {
        for (int64_t i = 0; i < 80; i++) {
            hri_verify_miss miss;
            hri_verify_row(v, i, &miss);
            CHECK(miss.col == -1);
        }
    }
    hri_verify_destroy(v);
    verify_case_finish(&x);
}

/* Large elements on the diagonals of A and B, whose products overflow. The
 * finite elements of their rows are tested all the same. */
static void overflows_hide_no_row(void)
{
    static const struct {
        const char *name;
        int pair;
        double large, wrong;
    } rows[] = {
        {"f16", 4, 60000.0, 20000.0}, {"f32", 0, 1e38, 1e37},
        {"f64", 1, 1e300, 1e299},     {"c32", 2, 1e38, 1e37},
        {"bf16", 6, 0x1p126, 1e37},
    };
    enum { M = 70, N = 40, K = 50 };
    random_source source = {88};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        TEST_CASE(rows[i].name);
        verify_case x;
        hr_verify_report report;
        verify_case_init(&x, &source, rows[i].pair, (int64_t[3]){M, N, K});
        const hr_matrix *operands[2] = {&x.problem.a, &x.problem.b};
        for (int side = 0; side < 2; side++) {
            const hr_matrix *m = operands[side];
            for (int64_t e = 0; e < m->rows * m->cols; e++) {
                const int64_t row = e / m->cols, col = e % m->cols;
                const bool diagonal = row == col && row < N;
                set_part(m, row, col,
                         diagonal ? rows[i].large
                                  : 0.01 * random_unit(&source));
            }
        }
        verify_case_multiply(&x);
        CHECK(verify_seeded(&x, random_next(&source), &report) == HR_OK);
        CHECK(report.unchecked == 0);
        for (int64_t e = 0; e < N * N; e++) {
            double re, im;
            reference_load(&x.problem.c, e / N, e % N, &re, &im);
            if (isfinite(re) && isfinite(im)) {
                set_part(&x.problem.c, e / N, e % N, rows[i].wrong);
            }
        }
        CHECK(verify_seeded(&x, random_next(&source), &report) ==
              HR_ERROR_MISMATCH);
        verify_case_finish(&x);
    }
}

/* Rows whose test tells nothing are counted, if they are not recomputed. */
static void rows_not_looked_at(void)
{
    TEST_CASE("more rows with hidden elements than can be recomputed");
    enum { M = 90, N = 80, K = 40000 };
    random_source source = {89};
    verify_case x;
    hr_verify_report report;
    verify_case_init(&x, &source, 0, (int64_t[3]){M, N, K});
    const hr_matrix *operands[2] = {&x.problem.a, &x.problem.b};
    for (int64_t p = 0; p < K; p++) {
        for (int64_t i = 0; i < M; i++) {
            set_part(operands[0], i, p, p == i ? 1e38 : 0.0);
        }
        for (int64_t j = 0; j < N; j++) {
            set_part(operands[1], p, j, p == j ? 1e38 : 0.0);
        }
    }
    for (int64_t i = 0; i < M * N; i++) {
        set_part(&x.problem.c, i / N, i % N,
                 i / N == i % N ? (double)INFINITY : 0.0);
    }
    CHECK(verify_seeded(&x, 1, &report) == HR_ERROR_UNSUPPORTED);
    CHECK(report.unchecked == (N - HRI_VERIFY_LIMIT) * N);
    CHECK(report.row == -1 && report.suspects == 0);
    verify_case_finish(&x);
}

/* An infinite operand decides the sign. */
static void infinity_keeps_its_sign(void)
{
    TEST_CASE("infinity of the wrong sign where sums may overflow");
    random_source source = {90};
    verify_case x;
    hr_verify_report report;
    verify_case_init(&x, &source, 0, (int64_t[3]){9, 8, 7});
    for (int64_t p = 0; p < 7; p++) {
        set_part(&x.problem.a, 3, p, 3e38);
        set_part(&x.problem.b, p, 2, 1.0);
    }
    set_part(&x.problem.a, 3, 4, (double)INFINITY);
    x.problem.alpha = hr_real(2.5);
    verify_case_multiply(&x);
    CHECK(verify_seeded(&x, 1, &report) == HR_OK);
    set_part(&x.problem.c, 3, 2, (double)NAN); /* -infinity on the way */
    CHECK(verify_seeded(&x, 2, &report) == HR_OK);
    set_part(&x.problem.c, 3, 2, -(double)INFINITY);
    CHECK_FAILS(verify_seeded(&x, 3, &report), HR_ERROR_MISMATCH, "(3, 2)");
    verify_case_finish(&x);
}

/* All of C overflows, and all is recomputed: nothing need be kept. */
static void everything_overflows(void)
{
    TEST_CASE("all of C overflows");
    enum { M = 90, N = 80 };
    random_source source = {91};
    verify_case x;
    hr_verify_report report;
    verify_case_init(&x, &source, 0, (int64_t[3]){M, N, 1});
    for (int64_t i = 0; i < M; i++) {
        set_part(&x.problem.a, i, 0, 3e38);
    }
    for (int64_t j = 0; j < N; j++) {
        set_part(&x.problem.b, 0, j, 3e38);
    }
    verify_case_multiply(&x);
    CHECK(verify_seeded(&x, 1, &report) == HR_OK);
    CHECK(report.rows_checked == M && report.suspects == 0);
    CHECK(report.unchecked == 0);
    verify_case_finish(&x);
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
        CHECK(verify_seeded(&x, random_next(&source), &report) ==
              HR_ERROR_MISMATCH);
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
    for (size_t i = 0; i < sizeof sprinkled / sizeof sprinkled[0]; i++) {
        TEST(many_not_finite(i));
    }
    TEST(not_finite_and_graded());
    TEST(infinity_for_a_large_number());
    TEST(too_many_overflows());
    TEST(large_numbers());
    TEST(subnormal_parts_of_large_elements());
    TEST(overflows_hide_no_row());
    TEST(rows_not_looked_at());
    TEST(infinity_keeps_its_sign());
    TEST(everything_overflows());
    TEST(all_rows_suspicious());
    TEST(two_top_bits());
    TEST(near_misses_read_apart());
    hri_pool_destroy(pool);
    return test_end();
}
