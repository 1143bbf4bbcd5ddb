/* SPDX-License-Identifier: MIT */
/* hr_gemm_verify on small problems of every type and layout: right products are
 * never reported, planted errors above the tolerance are found every time.
 * argv[1]: how many products of each pair of types; argv[2]: the long side
 * of the skinny and of the deep products. */
#include "test.h"

#include "support/pairs.h"
#include "support/plain.h"
#include "support/verify_case.h"

enum { CASES = 10, MANY = 100000 };

static hri_pool *pool;

static hr_status verify_seeded(const verify_case *x, uint64_t seed,
                               hr_verify_report *report)
{
    return hri_verify_product(pool, &x->problem, seed, report);
}

static void planted_errors(verify_case *x, random_source *source, int count,
                           const char *name)
{
    tolerance t = verify_case_tolerance(x);
    for (int i = 0; i < count; i++) {
        int64_t row = random_between(source, 0, x->problem.c.rows - 1);
        int64_t col = random_between(source, 0, x->problem.c.cols - 1);
        hr_verify_report report;
        verify_case_plant(x, &t, row, col);
        hr_status status = verify_seeded(x, random_next(source), &report);
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

static void right_and_wrong_products(int pair, int cases)
{
    random_source source = {(uint64_t)pair + 1};
    char name[64];
    snprintf(name, sizeof name, "%s into %s", hr_type_name(pairs[pair].ab),
             hr_type_name(pairs[pair].c));
    TEST_CASE(name);
    for (int i = 0; i < cases; i++) {
        verify_case x;
        hr_verify_report report;
        int64_t mnk[3];
        for (int d = 0; d < 3; d++) {
            mnk[d] = random_between(&source, 1, i % 3 == 0 ? 8 : 100);
        }
        mnk[2] = i == 2 ? 0 : mnk[2];
        verify_case_init(&x, &source, pair, mnk);
        verify_case_random_scalars(&x, &source, pair);
        verify_case_multiply(&x);
        for (int seed = 0; seed < 4; seed++) {
            CHECK(verify_seeded(&x, random_next(&source), &report) == HR_OK);
            CHECK(report.row == -1 && report.col == -1);
        }
        planted_errors(&x, &source, 8, name);
        verify_case_finish(&x);
    }
}

static void skinny_and_deep_products(int64_t many)
{
    const struct {
        const char *name;
        int64_t mnk[3];
    } rows[] = {
        {"one by one", {1, 1, 1}},
        {"very many columns, depth 1", {3, many, 1}},
        {"very many rows", {many, 2, 3}},
        {"very deep", {2, 3, many}},
        {"a dot product", {1, 1, 100001}},
        {"an outer product", {700, 300, 1}},
        {"depth in chunks", {130, 50, 9000}},
        {"rows in slabs", {40000, 5, 70}},
    };
    random_source source = {78};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        TEST_CASE(rows[i].name);
        for (int pair = 0; pair < PAIRS; pair += 8) { /* f32 and i8 */
            verify_case x;
            hr_verify_report report;
            verify_case_init(&x, &source, pair, rows[i].mnk);
            x.problem.beta = hr_real(-1.0);
            verify_case_multiply(&x);
            CHECK(verify_seeded(&x, random_next(&source), &report) == HR_OK);
            planted_errors(&x, &source, 2, rows[i].name);
            verify_case_finish(&x);
        }
    }
}

/* Multiply a column of a matrix by a factor. */
static void scale_column(const hr_matrix *m, int64_t col, double factor)
{
    for (int64_t i = 0; i < m->rows; i++) {
        double re, im;
        reference_load(m, i, col, &re, &im);
        plain_store(m, i, col, re * factor, im * factor);
    }
}

/* Columns (rows where C has more columns than rows) of other sizes. The
 * tolerance of the others must stay what it was. */
static const struct {
    const char *name;
    int pair;
    int64_t m, n;
    int64_t every; /* so many columns are scaled, from the first on */
    double b, c0;  /* factors of columns of B and C0 */
} graded[] = {
    {"f32, a column 1e5 times as large", 0, 90, 80, 80, 1e5, 1},
    {"f32, a column 1e30 times as large", 0, 90, 80, 80, 1e30, 1},
    {"f32, columns of zeros", 0, 90, 80, 2, 0, 0},
    {"f32, columns of 1e-30", 0, 90, 80, 2, 1e-30, 1e-30},
    {"f32, a large row", 0, 80, 90, 80, 1e5, 1},
    {"f32, a large column of C0", 0, 90, 80, 80, 1, 1e6},
    {"f64, a column 1e11 times as large", 1, 90, 80, 80, 1e11, 1},
    {"f64, a column 1e145 times as large", 1, 90, 80, 80, 1e145, 1},
    {"f64, columns of 1e-140", 1, 90, 80, 2, 1e-140, 1e-140},
    {"c32, a column 1e5 times as large", 2, 90, 80, 80, 1e5, 1},
    {"c64, a column 1e11 times as large", 3, 90, 80, 80, 1e11, 1},
    {"f16, a column 1e3 times as large", 4, 90, 80, 80, 1e3, 1},
    {"f16 into f32, a large column", 5, 90, 80, 80, 1e4, 1},
    {"bf16, a column 1e5 times as large", 6, 90, 80, 80, 1e5, 1},
    {"bf16 into f32, a large row", 7, 80, 90, 80, 1e5, 1},
};

static void graded_columns(size_t row)
{
    random_source source = {90 + row};
    const bool wide = graded[row].m < graded[row].n;
    verify_case x;
    hr_verify_report report;
    double before[8];
    TEST_CASE(graded[row].name);
    verify_case_init(&x, &source, graded[row].pair,
                     (int64_t[3]){graded[row].m, graded[row].n, 70});
    x.problem.beta = hr_real(graded[row].c0 == 1 ? 0.0 : -1.0);
    const hr_matrix b = wide ? hr_matrix_transpose(x.problem.a) : x.problem.b;
    const hr_matrix c0 =
        wide ? hr_matrix_transpose(x.problem.c0) : x.problem.c0;
    verify_case_multiply(&x);
    tolerance t = verify_case_tolerance(&x);
    for (int i = 0; i < 8; i++) { /* none of these is scaled */
        before[i] = tolerance_of(&t, 5 * i, 10 * i + 1);
    }
    tolerance_finish(&t);
    for (int64_t j = 0; j < b.cols; j += graded[row].every) {
        scale_column(&b, j, graded[row].b);
        scale_column(&c0, j, graded[row].c0);
    }
    verify_case_multiply(&x);
    t = verify_case_tolerance(&x);
    for (int i = 0; i < 8; i++) {
        CHECK(tolerance_of(&t, 5 * i, 10 * i + 1) <= 3.0 * before[i]);
    }
    tolerance_finish(&t);
    for (int i = 0; i < 4; i++) {
        CHECK(verify_seeded(&x, random_next(&source), &report) == HR_OK);
    }
    planted_errors(&x, &source, 16, graded[row].name);
    verify_case_finish(&x);
}

/* The weights of columns would overflow double if they were summed plainly, and
 * all scales be 1. Then a small column may hold anything. */
static void weights_do_not_overflow(bool zeros)
{
    random_source source = {3};
    verify_case x;
    hr_verify_report report;
    TEST_CASE(zeros ? "a large number of B meets zeros of A" : "a small alpha");
    verify_case_init(&x, &source, 1, (int64_t[3]){9, 8, 7});
    for (int64_t j = 0; j < 8; j++) {
        const double small = zeros ? 1e-160 : 1e119;
        scale_column(&x.problem.b, j, j > 0 ? small : zeros ? 1.0 : 1e149);
    }
    for (int64_t p = 0; p < 7; p++) {
        scale_column(&x.problem.a, p, !zeros ? 1e150 : p > 0 ? 1.0 : 0.0);
    }
    if (zeros) {
        plain_store(&x.problem.b, 0, 0, 1e300, 0.0);
    } else {
        x.problem.alpha = hr_real(1e-296);
    }
    verify_case_multiply(&x);
    for (int i = 0; i < 16; i++) {
        CHECK(verify_seeded(&x, random_next(&source), &report) == HR_OK);
        plain_store(&x.problem.c, 4, 5, 0.0, 0.0);
        CHECK(verify_seeded(&x, random_next(&source), &report) ==
              HR_ERROR_MISMATCH);
        CHECK(report.row == 4 && report.col == 5);
        placed_restore(&x.c);
    }
    verify_case_finish(&x);
}

int main(int argc, char **argv)
{
    const int cases = argc > 1 ? atoi(argv[1]) : CASES;
    if (!CHECK(hri_pool_create(2, &pool) == HR_OK)) {
        return test_end();
    }
    for (int pair = 0; pair < PAIRS; pair++) {
        TEST(right_and_wrong_products(pair, cases));
    }
    TEST(skinny_and_deep_products(argc > 2 ? atol(argv[2]) : MANY));
    for (size_t i = 0; i < sizeof graded / sizeof graded[0]; i++) {
        TEST(graded_columns(i));
    }
    TEST(weights_do_not_overflow(true));
    TEST(weights_do_not_overflow(false));
    hri_pool_destroy(pool);
    return test_end();
}
