/* SPDX-License-Identifier: MIT */
/* hr_gemm_verify on small problems of every type and layout: right products are
 * never reported, planted errors above the tolerance are found every time. */
#include "test.h"

#include "support/pairs.h"
#include "support/verify_case.h"

/* A thread sanitizer makes everything here ten times slower. */
#if defined(__SANITIZE_THREAD__)
enum { CASES = 4, MANY = 50000 };
#else
enum { CASES = 20, MANY = 1000000 };
#endif

static hri_pool *pool;

static hr_status verify(const verify_case *x, uint64_t seed,
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
    for (int i = 0; i < CASES; i++) {
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
            CHECK(verify(&x, random_next(&source), &report) == HR_OK);
            CHECK(report.row == -1 && report.col == -1);
        }
        planted_errors(&x, &source, 8, name);
        verify_case_finish(&x);
    }
}

static void skinny_and_deep_products(void)
{
    static const struct {
        const char *name;
        int64_t mnk[3];
    } rows[] = {
        {"one by one", {1, 1, 1}},
        {"very many columns, depth 1", {3, MANY, 1}},
        {"very many rows", {MANY, 2, 3}},
        {"very deep", {2, 3, MANY}},
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
            CHECK(verify(&x, random_next(&source), &report) == HR_OK);
            planted_errors(&x, &source, 2, rows[i].name);
            verify_case_finish(&x);
        }
    }
}

int main(void)
{
    if (!CHECK(hri_pool_create(2, &pool) == HR_OK)) {
        return test_end();
    }
    for (int pair = 0; pair < PAIRS; pair++) {
        TEST(right_and_wrong_products(pair));
    }
    TEST(skinny_and_deep_products());
    hri_pool_destroy(pool);
    return test_end();
}
