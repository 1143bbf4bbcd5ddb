/* SPDX-License-Identifier: MIT */
#include "support/verify_case.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "support/pairs.h"
#include "support/plain.h"

static void no_memory(void)
{
    fprintf(stderr, "no memory for the test's matrices\n");
    exit(1);
}

void verify_case_finish(verify_case *x)
{
    placed_finish(&x->a);
    placed_finish(&x->b);
    placed_finish(&x->old);
    placed_finish(&x->c);
}

void verify_case_init(verify_case *x, random_source *source, int pair,
                      const int64_t mnk[3])
{
    hr_type ab = pairs[pair].ab, c = pairs[pair].c;
    hr_matrix shapes[4] = {{.type = ab, .rows = mnk[0], .cols = mnk[2]},
                           {.type = ab, .rows = mnk[2], .cols = mnk[1]},
                           {.type = c, .rows = mnk[0], .cols = mnk[1]},
                           {.type = c, .rows = mnk[0], .cols = mnk[1]}};
    placed *places[4] = {&x->a, &x->b, &x->old, &x->c};
    *x = (verify_case){.problem.alpha = hr_real(1.0)};
    for (int i = 0; i < 4; i++) {
        shapes[i].conjugate = random_between(source, 0, 1) == 1;
        if (!placed_init(
                places[i], source,
                (placed_layout)random_between(source, 0, PLACED_LAYOUTS - 1),
                &shapes[i])) {
            no_memory();
        }
    }
    x->problem.a = x->a.matrix;
    x->problem.b = x->b.matrix;
    x->problem.c0 = x->old.matrix;
    x->problem.c = x->c.matrix;
}

void verify_case_random_scalars(verify_case *x, random_source *source, int pair)
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
void verify_case_multiply(verify_case *x)
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

tolerance verify_case_tolerance(const verify_case *x)
{
    const hri_verify_problem *p = &x->problem;
    tolerance t = {.alpha = p->alpha,
                   .beta = p->beta,
                   .a = p->a,
                   .b = p->b,
                   .old = p->c0,
                   .c = p->c};
    if (p->c.rows < p->c.cols) {
        hr_matrix a = t.a;
        t.a = hr_matrix_transpose(t.b);
        t.b = hr_matrix_transpose(a);
        t.old = hr_matrix_transpose(t.old);
        t.c = hr_matrix_transpose(t.c);
    }
    if (!tolerance_init(&t)) {
        no_memory();
    }
    return t;
}

/* The tolerance of element (row, col). */
static double tolerance_at(const verify_case *x, const tolerance *t,
                           int64_t row, int64_t col)
{
    bool packed = x->problem.c.rows < x->problem.c.cols;
    return packed ? tolerance_of(t, col, row) : tolerance_of(t, row, col);
}

/* The exact element, as near as long double gets. */
static void exact_element(const hri_verify_problem *p, int64_t row, int64_t col,
                          long double exact[2])
{
    long double sum[2] = {0.0L, 0.0L};
    double re, im, ar = plain_rounded(p->alpha.re, p->c.type),
                   ai = plain_rounded(p->alpha.im, p->c.type),
                   br = plain_rounded(p->beta.re, p->c.type),
                   bi = plain_rounded(p->beta.im, p->c.type);
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

void verify_case_plant(verify_case *x, const tolerance *t, int64_t row,
                       int64_t col)
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
