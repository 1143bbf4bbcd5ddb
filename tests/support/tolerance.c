/* SPDX-License-Identifier: MIT */
#include "support/tolerance.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

static double size_at(const hr_matrix *m, int64_t row, int64_t col)
{
    double re, im;
    reference_load(m, row, col, &re, &im);
    return fabs(re) + fabs(im);
}

static double size_of(hr_scalar s)
{
    return fabs(s.re) + fabs(s.im);
}

bool tolerance_init(tolerance *t)
{
    t->b_sum = 0.0;
    t->b_sums = calloc((size_t)t->b.rows + 1, sizeof(double));
    for (int64_t p = 0; t->b_sums != NULL && p < t->b.rows; p++) {
        for (int64_t j = 0; j < t->b.cols; j++) {
            t->b_sums[p] += size_at(&t->b, p, j);
        }
        t->b_sum += t->b_sums[p];
    }
    return t->b_sums != NULL;
}

void tolerance_finish(tolerance *t)
{
    free(t->b_sums);
    t->b_sums = NULL;
}

/* Sums and 2-norms along a row of C or C0. */
static void row_sizes(const hr_matrix *m, int64_t row, double *sum,
                      double *norm)
{
    double squares = 0.0;
    *sum = 0.0;
    for (int64_t j = 0; j < m->cols; j++) {
        double re, im;
        reference_load(m, row, j, &re, &im);
        *sum += fabs(re) + fabs(im);
        squares += re * re + im * im;
    }
    *norm = sqrt(squares);
}

/* u of the accumulation, u of a half C and its smallest positive number. */
static void units(hr_type type, double *unit, double *half, double *least)
{
    *unit = type == HR_F64 || type == HR_C64 ? 0x1p-53 : 0x1p-24;
    *half = type == HR_F16 ? 0x1p-11 : type == HR_BF16 ? 0x1p-8 : 0.0;
    *least = type == HR_F16 ? 0x1p-24 : type == HR_BF16 ? 0x1p-133 : 0.0;
}

double tolerance_of(const tolerance *t, int64_t row, int64_t col)
{
    hr_type type = t->c.type;
    bool complex = type == HR_C32 || type == HR_C64;
    bool old = size_of(t->beta) != 0.0;
    double unit, half, least, c, c_norm, c0 = 0.0, c0_norm = 0.0;
    double n = (double)t->c.cols, k = (double)t->a.cols;
    double element = 0.0, sum = 0.0, a_sum = 0.0;
    if (type == HR_I32) {
        return 0.0;
    }
    units(type, &unit, &half, &least);
    for (int64_t p = 0; p < t->a.cols; p++) {
        double a = size_at(&t->a, row, p);
        a_sum += a;
        sum += a * t->b_sums[p];
        element += a * size_at(&t->b, p, col);
    }
    row_sizes(&t->c, row, &c, &c_norm);
    if (old) {
        row_sizes(&t->old, row, &c0, &c0_norm);
        element = size_of(t->alpha) * element +
                  size_of(t->beta) * size_at(&t->old, row, col);
    } else {
        element *= size_of(t->alpha);
    }
    double r = complex ? 2 * k + 4 : k + 2;
    double gamma = reference_gamma((int64_t)r, unit);
    double row_sum = size_of(t->alpha) * sum + size_of(t->beta) * c0;
    double noise = unit * sqrt(r) * (c_norm + size_of(t->beta) * c0_norm) +
                   half * c_norm + sqrt(n) * least / 2;
    double steps = 2 * (140 + n / 64 + k / 64);
    double own = reference_gamma((int64_t)ceil(steps), 0x1p-53) * (row_sum + c);
    double lost = (1 + size_of(t->alpha)) * (3 * k * n + n * a_sum + t->b_sum) +
                  2 * n * (1 + size_of(t->beta));
    lost *= type == HR_F64 || type == HR_C64 ? 0x1p-1074 : FLT_MIN;
    double judged = 1.0001 * gamma * element + lost +
                    fmax(2 * half * size_at(&t->c, row, col), least / 2);
    return fmax(fmax(gamma * row_sum / n, 4 * noise) + 2 * own + lost, judged);
}
