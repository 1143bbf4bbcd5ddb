/* SPDX-License-Identifier: MIT */
#include "support/tolerance.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "support/pairs.h"
#include "support/plain.h"

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

typedef struct units {
    double unit;  /* u of the accumulation */
    double half;  /* u of a half C, else 0 */
    double least; /* smallest positive half C, else 0 */
} units;

static units units_of(const tolerance *t)
{
    const hr_type type = t->c.type;
    return (units){.unit = type == HR_F64 || type == HR_C64 ? 0x1p-53 : 0x1p-24,
                   .half = type == HR_F16    ? 0x1p-11
                           : type == HR_BF16 ? 0x1p-8
                                             : 0.0,
                   .least = type == HR_F16    ? 0x1p-24
                            : type == HR_BF16 ? 0x1p-133
                                              : 0.0};
}

/* How many roundings a term of an element meets. */
static int64_t roundings_of(const tolerance *t)
{
    const int64_t k = t->a.cols;
    return is_complex(t->c.type) ? 2 * k + 4 : k + 2;
}

static double gamma_of(const tolerance *t)
{
    return reference_gamma(roundings_of(t), units_of(t).unit);
}

/* What underflows of w each may take from elements with these sums of |a| and
 * |b|. */
static long double underflow_of(const tolerance *t, long double w,
                                long double elements, long double a,
                                long double b)
{
    return w * ((1 + size_of(t->alpha)) *
                    (3 * (long double)t->a.cols * elements + a + b) +
                2 * elements * (1 + size_of(t->beta)));
}

static long double usual_underflow(const tolerance *t, long double elements,
                                   long double a, long double b)
{
    const hr_type type = t->c.type;
    double w = type == HR_F64 || type == HR_C64 ? 0x1p-1074 : FLT_MIN;
    return underflow_of(t, w, elements, a, b);
}

/* The exponent of the power of two just above x. */
static int exponent_above(long double x)
{
    int exponent;
    (void)frexpl(x, &exponent);
    return exponent;
}

/* Whether the random test leaves column j out: B is not finite in it, or C and
 * C0 are nowhere both finite. Rows of A that are not finite do not count. */
static bool is_left_out(const tolerance *t, const double *a_rows, int64_t j)
{
    for (int64_t p = 0; p < t->b.rows; p++) {
        if (!isfinite(size_at(&t->b, p, j))) {
            return true;
        }
    }
    for (int64_t i = 0; i < t->c.rows; i++) {
        if (isfinite(a_rows[i]) && isfinite(size_at(&t->c, i, j)) &&
            (size_of(t->beta) == 0.0 || isfinite(size_at(&t->old, i, j)))) {
            return false;
        }
    }
    return true;
}

/* Weights of rows and columns. Long double, since a row's power of two may be
 * 2^1074, and the sums of another one 2^1024. */
typedef struct weights {
    double *a_rows;         /* sums of |a| along each row of A */
    double *b_rows;         /* sums of |b| along each row of B */
    double b_sum;           /* of all of B */
    long double *a_cols;    /* of A's columns, each row times its power */
    long double *cols;      /* of C's columns */
    long double says, said; /* sums of the powers, and of these times |a| */
} weights;

/* What a row of C adds to the weights: its power of two, times |a|, to those of
 * A's columns. Nothing where rounding does less than underflow, or where the
 * row or its sums are not finite. */
static void weigh_row(const tolerance *t, int64_t i, weights *w)
{
    double product = 0.0, old = 0.0;
    const double n = (double)t->c.cols, beta = size_of(t->beta);
    for (int64_t p = 0; p < t->a.cols; p++) {
        product += size_at(&t->a, i, p) * w->b_rows[p];
    }
    for (int64_t j = 0; beta != 0.0 && j < t->c.cols; j++) {
        old += t->scales[j] != 0.0 ? size_at(&t->old, i, j) : 0.0;
    }
    const double gamma = gamma_of(t) + units_of(t).half;
    const double magnitude = gamma * (size_of(t->alpha) * product + beta * old);
    if (!isfinite(magnitude) ||
        !(magnitude > usual_underflow(t, n, n * w->a_rows[i], w->b_sum))) {
        return;
    }
    const long double say = ldexpl(1.0L, -exponent_above(magnitude));
    w->says += say;
    w->said += say * w->a_rows[i];
    for (int64_t p = 0; p < t->a.cols; p++) {
        w->a_cols[p] += say * size_at(&t->a, i, p);
    }
    for (int64_t j = 0; beta != 0.0 && j < t->c.cols; j++) {
        if (t->scales[j] != 0.0) {
            w->cols[j] += gamma * beta * say * size_at(&t->old, i, j);
        }
    }
}

static long double weigh_column(const tolerance *t, int64_t j, const weights *w)
{
    long double product = 0.0L, b = 0.0L;
    const units u = units_of(t);
    for (int64_t p = 0; p < t->b.rows; p++) {
        b += size_at(&t->b, p, j);
        product += w->a_cols[p] * size_at(&t->b, p, j);
    }
    return (gamma_of(t) + u.half) * size_of(t->alpha) * product +
           t->c.cols * usual_underflow(t, w->says, w->said, w->says * b) +
           w->says * u.least / 2;
}

/* Where a column is left out, its scale is 0. */
static void weigh_operands(tolerance *t, weights *w)
{
    for (int64_t i = 0; i < t->c.rows; i++) {
        for (int64_t p = 0; p < t->a.cols; p++) {
            w->a_rows[i] += size_at(&t->a, i, p);
        }
    }
    for (int64_t j = 0; j < t->c.cols; j++) {
        t->scales[j] = !is_left_out(t, w->a_rows, j);
    }
    for (int64_t p = 0; p < t->b.rows; p++) {
        for (int64_t j = 0; j < t->b.cols; j++) {
            w->b_rows[p] += t->scales[j] != 0.0 ? size_at(&t->b, p, j) : 0.0;
        }
        w->b_sum += w->b_rows[p];
    }
    for (int64_t i = 0; i < t->c.rows; i++) {
        weigh_row(t, i, w);
    }
    for (int64_t j = 0; j < t->c.cols; j++) {
        w->cols[j] += t->scales[j] != 0.0 ? weigh_column(t, j, w) : 0.0L;
    }
}

/* The exponent of the quotient of two weights; 0 for a weight of 0. */
static int difference_of(long double largest, long double weight)
{
    return weight > 0.0L
               ? (int)fmin(exponent_above(largest) - exponent_above(weight),
                           1000)
               : 0;
}

/* The powers of two that make all columns about as large. The middle one is 1,
 * so that neither large nor small ones leave double. */
static void set_scales(tolerance *t, const weights *w)
{
    long double largest = 0.0L;
    int most = 0;
    for (int64_t j = 0; j < t->c.cols; j++) {
        largest = fmaxl(largest, w->cols[j]);
    }
    for (int64_t j = 0; j < t->c.cols; j++) {
        most = (int)fmax(most, difference_of(largest, w->cols[j]));
    }
    for (int64_t j = 0; j < t->c.cols; j++) {
        t->scales[j] =
            ldexp(t->scales[j], difference_of(largest, w->cols[j]) - most / 2);
        t->scale_sum += t->scales[j];
        t->scale_squares += t->scales[j] * t->scales[j];
    }
}

static bool find_scales(tolerance *t)
{
    const size_t m = (size_t)t->c.rows + 1, n = (size_t)t->c.cols + 1;
    const size_t k = (size_t)t->b.rows + 1;
    weights w = {.a_rows = calloc(m, sizeof *w.a_rows),
                 .b_rows = calloc(k, sizeof *w.b_rows),
                 .a_cols = calloc(k, sizeof *w.a_cols),
                 .cols = calloc(n, sizeof *w.cols)};
    t->scales = calloc(n, sizeof *t->scales);
    const bool ok = w.a_rows != NULL && w.b_rows != NULL && w.a_cols != NULL &&
                    w.cols != NULL && t->scales != NULL;
    if (ok) {
        weigh_operands(t, &w);
        set_scales(t, &w);
    }
    free(w.a_rows);
    free(w.b_rows);
    free(w.a_cols);
    free(w.cols);
    return ok;
}

bool tolerance_init(tolerance *t)
{
    t->b_sum = 0.0L;
    t->scale_sum = t->scale_squares = 0.0;
    t->scales = NULL;
    t->b_sums = calloc((size_t)t->b.rows + 1, sizeof *t->b_sums);
    if (t->b_sums == NULL || t->c.type == HR_I32) {
        return t->b_sums != NULL;
    }
    hr_scalar *const factors[] = {&t->alpha, &t->beta};
    for (int i = 0; i < 2; i++) {
        factors[i]->re = plain_rounded(factors[i]->re, t->c.type);
        factors[i]->im = plain_rounded(factors[i]->im, t->c.type);
    }
    if (t->a.cols == 0 || size_of(t->alpha) == 0.0) { /* they are not read */
        t->a.cols = t->b.rows = 0;
        t->alpha = hr_real(0.0);
    }
    if (!find_scales(t)) {
        return false;
    }
    for (int64_t p = 0; p < t->b.rows; p++) {
        for (int64_t j = 0; j < t->b.cols; j++) {
            if (t->scales[j] != 0.0) {
                t->b_sums[p] +=
                    (long double)size_at(&t->b, p, j) * t->scales[j];
            }
        }
        t->b_sum += t->b_sums[p];
    }
    return true;
}

void tolerance_finish(tolerance *t)
{
    free(t->b_sums);
    free(t->scales);
    t->b_sums = NULL;
    t->scales = NULL;
}

/* Sums and 2-norms along a row of C or C0, scaled. */
static void row_sizes(const tolerance *t, const hr_matrix *m, int64_t row,
                      long double *sum, long double *norm)
{
    long double squares = 0.0L;
    *sum = 0.0L;
    for (int64_t j = 0; j < m->cols; j++) {
        const long double scale = t->scales[j];
        double re, im;
        if (scale != 0.0L) {
            reference_load(m, row, j, &re, &im);
            *sum += (fabs(re) + fabs(im)) * scale;
            squares += re * scale * re * scale + im * scale * im * scale;
        }
    }
    *norm = sqrtl(squares);
}

double tolerance_of(const tolerance *t, int64_t row, int64_t col)
{
    const units u = units_of(t);
    const double n = (double)t->c.cols, k = (double)t->a.cols;
    const double alpha = size_of(t->alpha), beta = size_of(t->beta);
    long double element = 0.0L, sum = 0.0L, a_sum = 0.0L;
    long double c, c_norm, c0 = 0.0L, c0_norm = 0.0L;
    if (t->c.type == HR_I32) {
        return 0.0;
    }
    for (int64_t p = 0; p < t->a.cols; p++) {
        const long double a = size_at(&t->a, row, p);
        a_sum += a;
        sum += a * t->b_sums[p];
        element += a * size_at(&t->b, p, col);
    }
    element *= alpha;
    row_sizes(t, &t->c, row, &c, &c_norm);
    if (beta != 0.0) {
        row_sizes(t, &t->old, row, &c0, &c0_norm);
        element += (long double)beta * size_at(&t->old, row, col);
    }
    const double got = size_at(&t->c, row, col), scale = t->scales[col];
    if (scale == 0.0 || !isfinite(got) || !isfinite(element)) {
        return (double)NAN;
    }
    const double r = (double)roundings_of(t), gamma = gamma_of(t);
    const long double row_sum = alpha * sum + beta * c0;
    const long double noise = u.unit * sqrt(r) * (c_norm + beta * c0_norm) +
                              u.half * c_norm +
                              sqrt(t->scale_squares) * u.least / 2;
    const double steps = 2 * (140 + n / 64 + k / 64);
    const long double own =
        reference_gamma((int64_t)ceil(steps), 0x1p-53) * (row_sum + c);
    const long double lost =
        usual_underflow(t, t->scale_sum, t->scale_sum * a_sum, t->b_sum);
    const long double all = t->scale_sum + n;
    const long double own_lost =
        underflow_of(t, 0x1p-1072, all, all * a_sum, t->b_sum);
    const long double judged = 1.0001 * gamma * element +
                               (lost + own_lost) / scale +
                               fmax(2 * u.half * got, u.least / 2);
    if (!isfinite(c) || !isfinite(c0)) { /* the row is computed again */
        return (double)judged;
    }
    const long double found =
        fmaxl(gamma * row_sum / n, 4 * noise) + 2 * (own + own_lost) + lost;
    return (double)fmaxl(found / scale, judged);
}
