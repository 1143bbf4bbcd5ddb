/* SPDX-License-Identifier: MIT */
/* What tests stand on: random numbers are what they say, and the oracle accepts
 * plain products and nothing that is wrong. */
#include "test.h"

#include <math.h>

#include "support/pairs.h"
#include "support/placed.h"
#include "support/plain.h"
#include "support/reference.h"

/* ---- random numbers */

enum { ROWS = 7, COLS = 9, STRIDE = 11 };

static void splitmix_gives_its_known_numbers(void)
{
    /* The first of seed 1234567, as published with the algorithm. */
    static const uint64_t want[] = {UINT64_C(6457827717110365317),
                                    UINT64_C(3203168211198807973),
                                    UINT64_C(9817491932198370423)};
    random_source source = {1234567};
    TEST_CASE("splitmix64's numbers");
    for (size_t i = 0; i < sizeof want / sizeof want[0]; i++) {
        CHECK(random_next(&source) == want[i]);
    }
}

static void integers_stay_inside(void)
{
    random_source source = {1};
    int seen[5] = {0};
    TEST_CASE("integers between, both ends included");
    for (int i = 0; i < 200; i++) {
        int64_t value = random_between(&source, -2, 2);
        if (CHECK(value >= -2 && value <= 2)) {
            seen[value + 2]++;
        }
    }
    for (int i = 0; i < 5; i++) {
        CHECK(seen[i] > 0);
    }
    CHECK(random_between(&source, 5, 5) == 5);
    TEST_CASE("the whole range does not divide by zero");
    (void)random_between(&source, INT64_MIN, INT64_MAX);
}

static double most_of(hr_type type)
{
    return type == HR_I8 ? 128 : type == HR_I32 ? 1000 : 1;
}

static void matrices_are_filled_between_their_padding(hr_type type)
{
    unsigned char bytes[ROWS * STRIDE * 16];
    random_source source = {(uint64_t)type};
    size_t size = hr_type_size(type), line = STRIDE * size;
    hr_matrix m = hr_matrix_row_major(bytes, type, ROWS, COLS, STRIDE);
    double least = 0, most = 0, re, im;
    TEST_CASE(hr_type_name(type));
    memset(bytes, 0xee, sizeof bytes);
    random_fill_matrix(&source, &m);
    for (int64_t row = 0; row < ROWS; row++) {
        for (int64_t col = 0; col < COLS; col++) {
            reference_load(&m, row, col, &re, &im);
            least = re < least ? re : least;
            most = re > most ? re : most;
            CHECK(im >= -1 && im <= 1);
        }
        for (size_t i = COLS * size; i < line; i++) {
            CHECK(bytes[(size_t)row * line + i] == 0xee);
        }
    }
    CHECK(least >= -most_of(type) && least < -0.5 * most_of(type));
    CHECK(most <= most_of(type) && most > 0.5 * most_of(type));
}

/* ---- the oracle */

enum { M = 23, N = 17, K = 41 };

typedef struct problem {
    placed a, b, c;
    reference_problem x;
    reference wanted;
} problem;

/* alpha and beta are -2 and 3; C holds the plain product. */
static void problem_init(problem *p, int pair, double a_element)
{
    random_source source = {(uint64_t)pair + 5};
    hr_type ab = pairs[pair].ab, c = pairs[pair].c;
    hr_matrix a = {.type = ab, .rows = M, .cols = K};
    hr_matrix b = {.type = ab, .rows = K, .cols = N, .conjugate = true};
    hr_matrix old = {.type = c, .rows = M, .cols = N};
    if (!CHECK(placed_init(&p->a, &source, PLACED_TRANSPOSED, &a)) ||
        !CHECK(placed_init(&p->b, &source, PLACED_SECTION, &b)) ||
        !CHECK(placed_init(&p->c, &source, PLACED_PADDED, &old))) {
        exit(1);
    }
    plain_store(&p->a.matrix, 4, 5, a_element, 0.0);
    p->x = (reference_problem){hr_real(-2.0), hr_real(3.0), p->a.matrix,
                               p->b.matrix, p->c.matrix};
    CHECK(reference_init(&p->wanted, &p->x));
    plain_product(&p->x);
}

static void problem_finish(problem *p)
{
    reference_finish(&p->wanted);
    placed_finish(&p->a);
    placed_finish(&p->b);
    placed_finish(&p->c);
}

static void accepts_plain_products_and_nothing_else(int pair)
{
    problem p;
    reference_miss miss;
    char text[256];
    problem_init(&p, pair, 1.0);
    hr_matrix *c = &p.c.matrix;
    CHECK(reference_compare(&p.wanted, c, NULL) == 0);
    CHECK(placed_changes(&p.c, false) == 0);
    const reference_element *e = &p.wanted.elements[7 * N + 9];
    double step = c->type == HR_I32 ? 1.0 : 2.5 * e->bound;
    CHECK(step < 0.1 * (1.0 + (double)fabsl(e->re)) || c->type == HR_I32);
    plain_store(c, 7, 9, (double)e->re + step, (double)e->im);
    CHECK(reference_compare(&p.wanted, c, &miss) == 1);
    CHECK(miss.row == 7 && miss.col == 9);
    reference_describe(&miss, text, sizeof text);
    CHECK(strstr(text, "element (7, 9) is ") == text);
    problem_finish(&p);
}

static void knows_what_is_not_finite(int pair)
{
    const double specials[] = {NAN, INFINITY, -INFINITY};
    for (int i = 0; i < 3; i++) {
        problem p;
        problem_init(&p, pair, specials[i]);
        hr_matrix *c = &p.c.matrix;
        CHECK(reference_compare(&p.wanted, c, NULL) == 0);
        CHECK(!isfinite(p.wanted.elements[4 * N + 3].re));
        plain_store(c, 4, 3, 1.0, 0.0); /* finite where it must not be */
        CHECK(reference_compare(&p.wanted, c, NULL) == 1);
        plain_store(c, 5, 3, NAN, 0.0); /* and the other way round */
        CHECK(reference_compare(&p.wanted, c, NULL) == 2);
        problem_finish(&p);
    }
}

static void outside_bytes_are_noticed(void)
{
    random_source source = {9};
    hr_matrix shape = {.type = HR_F32, .rows = 5, .cols = 6};
    for (int layout = 0; layout < PLACED_LAYOUTS; layout++) {
        placed p;
        TEST_CASE(placed_layout_name((placed_layout)layout));
        CHECK(placed_init(&p, &source, (placed_layout)layout, &shape));
        CHECK(p.matrix.rows == 5 && p.matrix.cols == 6);
        plain_store(&p.matrix, 4, 5, 7.0, 0.0);
        CHECK(placed_changes(&p, false) == 0);
        CHECK(placed_changes(&p, true) > 0);
        placed_restore(&p);
        CHECK(placed_changes(&p, true) == 0);
        p.memory[p.bytes - 1] ^= 1;
        CHECK(placed_changes(&p, false) == 1);
        placed_finish(&p);
    }
}

int main(void)
{
    TEST(splitmix_gives_its_known_numbers());
    TEST(integers_stay_inside());
    for (hr_type type = HR_F32; type <= HR_I32; type++) {
        TEST(matrices_are_filled_between_their_padding(type));
    }
    for (int pair = 0; pair < PAIRS; pair++) {
        TEST_CASE(hr_type_name(pairs[pair].ab));
        TEST(accepts_plain_products_and_nothing_else(pair));
        if (pairs[pair].ab != HR_I8) {
            TEST(knows_what_is_not_finite(pair));
        }
    }
    TEST(outside_bytes_are_noticed());
    return test_end();
}
