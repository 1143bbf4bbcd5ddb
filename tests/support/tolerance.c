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

/* u of the accumulation, u of a half C and its smallest positive number. */
static void units(hr_type type, double *unit, double *half, double *least)
{
    *unit = type == HR_F64 || type == HR_C64 ? 0x1p-53 : 0x1p-24;
    *half = type == HR_F16 ? 0x1p-11 : type == HR_BF16 ? 0x1p-8 : 0.0;
    *least = type == HR_F16 ? 0x1p-24 : type == HR_BF16 ? 0x1p-133 : 0.0;
}

static double gamma_of(const tolerance *t)
{
    double unit, half, least;
    const bool complex = t->c.type == HR_C32 || t->c.type == HR_C64;
    const int64_t k = t->a.cols;
    units(t->c.type, &unit, &half, &least);
    return reference_gamma(complex ? 2 * k + 4 : k + 2, unit);
}

/* What underflows of w each may take from elements with these sums of |a| and
 * |b|. */
static double underflow_of(const tolerance *t, double w, double elements,
                           double a, double b)
{
    return w * ((1 + size_of(t->alpha)) *
                    (3 * (double)t->a.cols * elements + a + b) +
                2 * elements * (1 + size_of(t->beta)));
}

static double underflow(const tolerance *t, double elements, double a, double b)
{
    const hr_type type = t->c.type;
    double w = type == HR_F64 || type == HR_C64 ? 0x1p-1074 : FLT_MIN;
    return underflow_of(t, w, elements, a, b);
}

/* The power of two just above x. */
static double power_above(double x)
{
    int exponent;
    frexp(x, &exponent);
    return ldexp(1.0, exponent);
}

/* What a row of C adds to the weights: its power of two, times |a|, to those of
 * A's columns. */
static void weigh_row(const tolerance *t, int64_t i, const double *b_rows,
                      double b_sum, double *a_cols, double *weights,
                      double *says)
{
    double unit, half, least, product = 0.0, old = 0.0, a_sum = 0.0;
    const double n = (double)t->c.cols, beta = size_of(t->beta);
    units(t->c.type, &unit, &half, &least);
    for (int64_t p = 0; p < t->a.cols; p++) {
        a_sum += size_at(&t->a, i, p);
        product += size_at(&t->a, i, p) * b_rows[p];
    }
    for (int64_t j = 0; beta != 0.0 && j < t->c.cols; j++) {
        old += size_at(&t->old, i, j);
    }
    const double gamma = gamma_of(t) + half;
    const double magnitude = gamma * (size_of(t->alpha) * product + beta * old);
    if (!(magnitude > underflow(t, n, n * a_sum, b_sum))) {
        return;
    }
    const double say = 1.0 / power_above(magnitude);
    says[0] += say;
    says[1] += say * a_sum;
    for (int64_t p = 0; p < t->a.cols; p++) {
        a_cols[p] += say * size_at(&t->a, i, p);
    }
    for (int64_t j = 0; beta != 0.0 && j < t->c.cols; j++) {
        weights[j] += gamma * beta * say * size_at(&t->old, i, j);
    }
}

static double weigh_column(const tolerance *t, int64_t j, const double *a_cols,
                           const double says[2])
{
    double unit, half, least, product = 0.0, b = 0.0;
    units(t->c.type, &unit, &half, &least);
    for (int64_t p = 0; p < t->b.rows; p++) {
        b += size_at(&t->b, p, j);
        product += a_cols[p] * size_at(&t->b, p, j);
    }
    return (gamma_of(t) + half) * size_of(t->alpha) * product +
           (double)t->c.cols * underflow(t, says[0], says[1], says[0] * b) +
           says[0] * least / 2;
}

static void set_scales(tolerance *t, double *b_rows, double *a_cols)
{
    double says[2] = {0.0, 0.0}, b_sum = 0.0, largest = 0.0;
    for (int64_t p = 0; p < t->b.rows; p++) {
        for (int64_t j = 0; j < t->b.cols; j++) {
            b_rows[p] += size_at(&t->b, p, j);
        }
        b_sum += b_rows[p];
    }
    for (int64_t i = 0; i < t->c.rows; i++) {
        weigh_row(t, i, b_rows, b_sum, a_cols, t->scales, says);
    }
    for (int64_t j = 0; j < t->c.cols; j++) {
        t->scales[j] += weigh_column(t, j, a_cols, says);
        largest = fmax(largest, t->scales[j]);
    }
    for (int64_t j = 0; j < t->c.cols; j++) {
        const double weight = t->scales[j];
        t->scales[j] = 1.0;
        if (weight > 0.0) {
            double ratio = power_above(largest) / power_above(weight);
            t->scales[j] = fmin(ratio, 0x1p1000);
        }
    }
}

static bool find_scales(tolerance *t)
{
    double *b_rows = calloc((size_t)t->b.rows + 1, sizeof(double));
    double *a_cols = calloc((size_t)t->b.rows + 1, sizeof(double));
    t->scales = calloc((size_t)t->c.cols + 1, sizeof(double));
    const bool ok = b_rows != NULL && a_cols != NULL && t->scales != NULL;
    if (ok && t->c.type != HR_I32) {
        set_scales(t, b_rows, a_cols);
    }
    for (int64_t j = 0; ok && j < t->c.cols; j++) {
        t->scale_sum += t->scales[j];
        t->scale_squares += t->scales[j] * t->scales[j];
    }
    free(b_rows);
    free(a_cols);
    return ok;
}

bool tolerance_init(tolerance *t)
{
    t->b_sum = t->scale_sum = t->scale_squares = 0.0;
    t->b_sums = calloc((size_t)t->b.rows + 1, sizeof(double));
    if (t->b_sums == NULL || !find_scales(t)) {
        return false;
    }
    for (int64_t p = 0; p < t->b.rows; p++) {
        for (int64_t j = 0; j < t->b.cols; j++) {
            t->b_sums[p] += size_at(&t->b, p, j) * t->scales[j];
        }
        t->b_sum += t->b_sums[p];
    }
    return true;
}

void tolerance_finish(tolerance *t)
{
    free(t->b_sums);
    free(t->scales);
    t->b_sums = t->scales = NULL;
}

/* Sums and 2-norms along a row of C or C0, scaled. */
static void row_sizes(const tolerance *t, const hr_matrix *m, int64_t row,
                      double *sum, double *norm)
{
    double squares = 0.0;
    *sum = 0.0;
    for (int64_t j = 0; j < m->cols; j++) {
        const double scale = t->scales[j];
        double re, im;
        reference_load(m, row, j, &re, &im);
        *sum += (fabs(re) + fabs(im)) * scale;
        squares += re * scale * re * scale + im * scale * im * scale;
    }
    *norm = sqrt(squares);
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
    row_sizes(t, &t->c, row, &c, &c_norm);
    if (old) {
        row_sizes(t, &t->old, row, &c0, &c0_norm);
        element = size_of(t->alpha) * element +
                  size_of(t->beta) * size_at(&t->old, row, col);
    } else {
        element *= size_of(t->alpha);
    }
    double r = complex ? 2 * k + 4 : k + 2;
    double gamma = gamma_of(t), scale = t->scales[col];
    double row_sum = size_of(t->alpha) * sum + size_of(t->beta) * c0;
    double noise = unit * sqrt(r) * (c_norm + size_of(t->beta) * c0_norm) +
                   half * c_norm + sqrt(t->scale_squares) * least / 2;
    double steps = 2 * (140 + n / 64 + k / 64);
    double own = reference_gamma((int64_t)ceil(steps), 0x1p-53) * (row_sum + c);
    double lost = underflow(t, t->scale_sum, t->scale_sum * a_sum, t->b_sum);
    double all = t->scale_sum + n;
    double own_lost = underflow_of(t, 0x1p-1072, all, all * a_sum, t->b_sum);
    double judged = 1.0001 * gamma * element + (lost + own_lost) / scale +
                    fmax(2 * half * size_at(&t->c, row, col), least / 2);
    double found =
        fmax(gamma * row_sum / n, 4 * noise) + 2 * (own + own_lost) + lost;
    return fmax(found / scale, judged);
}
