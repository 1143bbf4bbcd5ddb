/* SPDX-License-Identifier: MIT */
/* Multiplication on the host where implementations differ or forget: NaN and
 * infinity, beta = 0, alpha = 0, k = 0, strides that mean nothing. */
#include <math.h>

#include "support/host_engine.h"
#include "support/pairs.h"
#include "test.h"

static host_engines all;
static random_source numbers = {2};

/* CBLAS libraries have small-matrix paths of their own. */
static void beta_zero_never_reads_c(void)
{
    TEST_CASE("beta = 0 hides NaN in C at every small size");
    for (int64_t i = 0; i < 6 * 6 * 6 * 4; i++) {
        hr_type type = pairs[i % 4].ab;
        int64_t m = i / 4 % 6 + 1, n = i / 24 % 6 + 1, k = i / 144 + 1;
        host_area a = host_area_make(&numbers, type, m, k, i % 3 == 0, 0);
        host_area b = host_area_make(&numbers, type, k, n, i % 5 < 2, 0);
        host_area c = host_area_make(&numbers, type, m, n, false, 0);
        reference_problem r = {hr_real(1.0), hr_real(0.0), a.matrix, b.matrix,
                               c.matrix};
        CHECK(host_engines_are_right(&all, &r, &c));
        host_area_finish(&a);
        host_area_finish(&b);
        host_area_finish(&c);
    }
    TEST_CASE("a CBLAS is really used");
    for (int i = 0; i < all.count; i++) {
        CHECK(!all.engines[i].use_cblas || all.engines[i].expressed == 864);
    }
}

static void set_all(const hr_matrix *m, float value)
{
    for (int64_t i = 0; i < m->rows * m->cols; i++) {
        ((float *)m->data)[i] = value;
    }
}

/* One special value in A reaches its row of C, all of it, and no other row,
 * even where B is 0. Sizes on both sides of a tile. */
static void special_values_propagate(void)
{
    static const float specials[] = {NAN, INFINITY, -INFINITY};
    TEST_CASE("NaN and infinity in A reach exactly their row");
    for (int i = 0; i < all.count * 3; i++) {
        float special = specials[i % 3];
        int64_t size = i % 2 == 0 ? 37 : 5;
        host_area a = host_area_make(&numbers, HR_F32, size, size, false, 0);
        host_area b = host_area_make(&numbers, HR_F32, size, size, false, 0);
        host_area c = host_area_make(&numbers, HR_F32, size, size, false, 0);
        set_all(&a.matrix, 1.0f);
        set_all(&b.matrix, isnan(special) ? 0.0f : 2.0f);
        ((float *)a.matrix.data)[3 * size + 2] = special;
        reference_problem r = {hr_real(1.0), hr_real(0.0), a.matrix, b.matrix,
                               c.matrix};
        hri_gemm g = host_gemm_of(&r);
        CHECK(host_engine_run(&all, i / 3, &g) == HR_OK);
        int64_t right = 0;
        for (int64_t j = 0; j < size * size; j++) {
            float value = ((float *)c.matrix.data)[j];
            right += j / size != 3    ? isfinite(value)
                     : isnan(special) ? isnan(value)
                                      : value == special;
        }
        CHECK(right == size * size);
        host_area_finish(&a);
        host_area_finish(&b);
        host_area_finish(&c);
    }
}

/* alpha = 0 and k = 0 leave A and B alone: they are not even there. */
static void nothing_to_multiply_only_scales(void)
{
    static const struct {
        const char *name;
        int64_t k;
        double alpha, beta;
    } rows[] = {
        {"k = 0, beta = 0", 0, 1.0, 0.0},
        {"k = 0, beta = 1", 0, 1.0, 1.0},
        {"k = 0, beta = -3", 0, 1.0, -3.0},
        {"alpha = 0, beta = 0", 9, 0.0, 0.0},
        {"alpha = 0, beta = 1", 9, 0.0, 1.0},
        {"alpha = 0, beta = 2", 9, 0.0, 2.0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0] * PAIRS; i++) {
        size_t row = i / PAIRS;
        hr_type type = pairs[i % PAIRS].ab, c_type = pairs[i % PAIRS].c;
        int64_t k = rows[row].k;
        TEST_CASE(rows[row].name);
        host_area c = host_area_make(&numbers, c_type, 7, 131, false, 3);
        reference_problem r = {
            hr_real(rows[row].alpha), hr_real(rows[row].beta),
            hr_matrix_row_major(NULL, type, 7, k, 0),
            hr_matrix_row_major(NULL, type, k, 131, 0), c.matrix};
        CHECK(host_engines_are_right(&all, &r, &c));
        host_area_finish(&c);
    }
}

/* Strides over an extent of 1 mean nothing and may be anything. */
static void strides_of_vectors_may_be_odd(void)
{
    static const struct {
        const char *name;
        int64_t m, n, k;
        int64_t a_row, a_col, b_row, b_col, c_row;
    } rows[] = {
        {"a row of A, odd row stride", 1, 40, 40, 7, 1, 40, 1, 40},
        {"a row of A out of columns", 1, 40, 40, 1, 3, 40, 1, 40},
        {"a row of A, both odd", 1, 40, 40, 5, 3, 40, 1, 40},
        {"k = 1, A odd", 40, 40, 1, 1, 2, 40, 1, 40},
        {"k = 1, A in rows of 3", 40, 40, 1, 3, 9, 1, 1, 40},
        {"k = 1, B odd", 40, 40, 1, 1, 40, 2, 1, 40},
        {"k = 1, B out of rows", 40, 40, 1, 1, 40, 5, 3, 40},
        {"a column of B, odd column stride", 40, 1, 40, 40, 1, 1, 2, 1},
        {"a column of B out of rows", 40, 1, 40, 40, 1, 3, 1, 1},
        {"a row of C, odd row stride", 1, 40, 40, 40, 1, 40, 1, 1},
        {"a column of C out of rows", 40, 1, 40, 40, 1, 1, 40, 6},
        {"one element, all strides odd", 1, 1, 1, 4, 5, 6, 7, 8},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0] * PAIRS; i++) {
        size_t row = i / PAIRS;
        hr_type type = pairs[i % PAIRS].ab, c_type = pairs[i % PAIRS].c;
        int64_t m = rows[row].m, n = rows[row].n, k = rows[row].k;
        TEST_CASE(rows[row].name);
        host_area a = host_area_make(&numbers, type, 40, 40, false, 1000);
        host_area b = host_area_make(&numbers, type, 40, 40, false, 1000);
        host_area c = host_area_make(&numbers, c_type, 40, 40, false, 1000);
        hr_matrix am = {a.matrix.data,   type,           false, m, k,
                        rows[row].a_row, rows[row].a_col};
        hr_matrix bm = {b.matrix.data,   type,           false, k, n,
                        rows[row].b_row, rows[row].b_col};
        hr_matrix cm = {c.matrix.data, c_type, false, m, n, rows[row].c_row, 1};
        random_fill_matrix(&numbers, &am);
        random_fill_matrix(&numbers, &bm);
        random_fill_matrix(&numbers, &cm);
        c.matrix = cm;
        reference_problem r = {hr_real(1.0), hr_real(1.0), am, bm, cm};
        CHECK(host_engines_are_right(&all, &r, &c));
        host_area_finish(&a);
        host_area_finish(&b);
        host_area_finish(&c);
    }
}

int main(void)
{
    TEST_CASE("what is here can be used");
    if (!CHECK(host_engines_init(&all))) {
        return test_end();
    }
    TEST(beta_zero_never_reads_c());
    TEST(special_values_propagate());
    TEST(nothing_to_multiply_only_scales());
    TEST(strides_of_vectors_may_be_odd());
    host_engines_finish(&all);
    return test_end();
}
