/* SPDX-License-Identifier: MIT */
/* Multiplication on the host: random and large products of every type pair by
 * everything that multiplies here. */
#include "support/host_engine.h"
#include "support/pairs.h"
#include "test.h"

/* A product to be made. */
typedef struct problem {
    hr_type type, c_type;
    int64_t m, n, k;
    bool a_transposed, b_transposed, a_conjugate, b_conjugate;
    int64_t padding; /* elements between runs */
    hr_scalar alpha, beta;
} problem;

static host_engines all;
static random_source numbers = {1};

static bool is_right(const problem *p)
{
    host_area a = host_area_make(&numbers, p->type, p->m, p->k, p->a_transposed,
                                 p->padding);
    host_area b = host_area_make(&numbers, p->type, p->k, p->n, p->b_transposed,
                                 p->padding);
    host_area c =
        host_area_make(&numbers, p->c_type, p->m, p->n, false, p->padding);
    reference_problem r = {p->alpha, p->beta, a.matrix, b.matrix, c.matrix};
    r.a.conjugate = p->a_conjugate;
    r.b.conjugate = p->b_conjugate;
    bool right = host_engines_are_right(&all, &r, &c);
    host_area_finish(&a);
    host_area_finish(&b);
    host_area_finish(&c);
    return right;
}

static bool flip(void)
{
    return random_between(&numbers, 0, 1) == 1;
}

/* 0, 1, -1 or anything; whole numbers where the type wants them. */
static hr_scalar draw_scalar(hr_type type, hr_type c_type)
{
    switch (random_between(&numbers, 0, 3)) {
    case 0:
        return hr_real(0.0);
    case 1:
        return hr_real(1.0);
    case 2:
        return hr_real(-1.0);
    default:
        break;
    }
    if (c_type == HR_I32) {
        return hr_real((double)random_between(&numbers, -1000000, 1000000));
    }
    double re = 3.0 * random_unit(&numbers);
    return is_complex(type) ? hr_complex(re, random_unit(&numbers))
                            : hr_real(re);
}

static int64_t draw_extent(void)
{
    static const int64_t extents[] = {0,  1,  2,  3,  5,  6,  7,  8,  11,
                                      12, 13, 16, 17, 24, 31, 32, 33, 65};
    int64_t last = (int64_t)(sizeof extents / sizeof extents[0]) - 1;
    return extents[random_between(&numbers, 0, last)];
}

static problem draw_problem(int64_t index)
{
    problem p = {.type = pairs[index % PAIRS].ab,
                 .c_type = pairs[index % PAIRS].c,
                 .m = draw_extent(),
                 .n = draw_extent(),
                 .k = draw_extent(),
                 .a_transposed = flip(),
                 .b_transposed = flip(),
                 .padding = flip() ? random_between(&numbers, 1, 9) : 0};
    p.a_conjugate = is_complex(p.type) && flip();
    p.b_conjugate = is_complex(p.type) && flip();
    p.alpha = draw_scalar(p.type, p.c_type);
    p.beta = draw_scalar(p.type, p.c_type);
    return p;
}

static void random_problems_are_within_the_bound(void)
{
    TEST_CASE("random shapes, layouts, scalars");
    for (int64_t i = 0; i < 540; i++) {
        problem p = draw_problem(i);
        CHECK(is_right(&p));
    }
    TEST_CASE("a CBLAS is really used");
    for (int i = 0; i < all.count; i++) {
        CHECK(!all.engines[i].use_cblas || all.engines[i].expressed > 100);
    }
}

/* Each row is larger than one of the limits of the blocking. */
static const struct {
    const char *name;
    int64_t m, n, k;
} large[] = {
    {"k beyond one slice", 40, 70, 1025},
    {"k beyond what sums of i8 are exact for", 3, 5, 3001},
    {"m beyond one block", 2051, 103, 3},
    {"n beyond one block", 103, 2051, 2},
    {"m far longer than n", 17011, 3, 2},
    {"n far longer than m", 2, 17011, 3},
    {"many strips and threads", 301, 777, 130},
};

static void large_problems_are_within_the_bound(void)
{
    for (size_t i = 0; i < sizeof large / sizeof large[0]; i++) {
        TEST_CASE(large[i].name);
        for (int64_t j = 0; j < PAIRS; j++) {
            problem p = draw_problem(j);
            p.m = large[i].m;
            p.n = large[i].n;
            p.k = large[i].k;
            p.alpha = hr_real(-1.0);
            p.beta = hr_real(j % 2 == 0 ? 2.0 : 0.0);
            CHECK(is_right(&p));
        }
    }
}

int main(void)
{
    TEST_CASE("what is here can be used");
    if (!CHECK(host_engines_init(&all))) {
        return test_end();
    }
    TEST(random_problems_are_within_the_bound());
    TEST(large_problems_are_within_the_bound());
    host_engines_finish(&all);
    return test_end();
}
