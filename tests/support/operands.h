/* SPDX-License-Identifier: MIT */
/* Operands of a float product, row-major and packed, and whether it is right:
 * for tests of what a product does beside its values. */
#ifndef OPERANDS_H
#define OPERANDS_H

#include <math.h>
#include <stdlib.h>

#include "support/random.h"

typedef struct operands {
    int64_t m, n, k;
    hr_matrix a, b, c;
} operands;

static inline float operands_old_value(int64_t row, int64_t col)
{
    return (float)((row * 3 + col * 5) % 17 - 8);
}

static inline void operands_set_old(const operands *o)
{
    float *c = o->c.data;
    for (int64_t i = 0; i < o->m * o->n; i++) {
        c[i] = operands_old_value(i / o->n, i % o->n);
    }
}

static inline hr_matrix operands_matrix(int64_t rows, int64_t cols)
{
    void *data = calloc((size_t)(rows * cols) + 1, sizeof(float));
    return hr_matrix_row_major(data, HR_F32, rows, cols, 0);
}

/* Random A and B. C has its old values. */
static inline operands operands_make(int64_t m, int64_t n, int64_t k)
{
    random_source source = {(uint64_t)(m * 31 + n * 7 + k)};
    operands o = {m,
                  n,
                  k,
                  operands_matrix(m, k),
                  operands_matrix(k, n),
                  operands_matrix(m, n)};
    random_fill_matrix(&source, &o.a);
    random_fill_matrix(&source, &o.b);
    operands_set_old(&o);
    return o;
}

static inline void operands_free(operands *o)
{
    free(o->a.data);
    free(o->b.data);
    free(o->c.data);
}

/* Whether C is A B + beta old C. A few hundred elements are compared with sums
 * in double. */
static inline bool operands_are_product(const operands *o, double beta)
{
    const float *a = o->a.data, *b = o->b.data, *c = o->c.data;
    const double u = 0x1p-24 * (double)(o->k + 2);
    random_source source = {99};
    for (int i = 0; i < 400; i++) {
        const int64_t row = random_between(&source, 0, o->m - 1);
        const int64_t col = random_between(&source, 0, o->n - 1);
        double sum = beta * (double)operands_old_value(row, col);
        double size = fabs(sum);
        for (int64_t k = 0; k < o->k; k++) {
            const double term = (double)a[row * o->k + k] * b[k * o->n + col];
            sum += term;
            size += fabs(term);
        }
        const double bound = u / (1.0 - u) * size + 0x1p-126;
        if (!(fabs(c[row * o->n + col] - sum) <= bound)) {
            return false;
        }
    }
    return true;
}

#endif
