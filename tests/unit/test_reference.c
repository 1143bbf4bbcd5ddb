/* SPDX-License-Identifier: MIT */
/* The oracle itself: it accepts plain products and nothing that is wrong. */
#include "test.h"

#include <math.h>

#include "support/pairs.h"
#include "support/placed.h"
#include "support/plain.h"
#include "support/reference.h"

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
