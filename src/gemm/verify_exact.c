/* SPDX-License-Identifier: MIT */
/* Recomputing elements of the product in compensated arithmetic, Dot2 of
 * [Ogita2005] (T. Ogita, S. M. Rump, S. Oishi, Accurate sum and dot product,
 * SIAM J. Sci. Comput. 26, 2005). It is as good as twice the digits of
 * double. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/size.h"
#include "gemm/verify.h"

enum {
    ROWS = HRI_VERIFY_ROWS,
    COLS = HRI_VERIFY_COLS,
    LANES = HRI_VERIFY_LANES,
    VECTORS = COLS / LANES,
    SUM = 32,     /* the exponent of sums that may overflow */
    LOWEST = -900 /* exponent of an element alone */
};

typedef int64_t bits __attribute__((vector_size(64)));

/* Sums over k for 64 neighbouring columns. */
typedef struct row_sums {
    hri_lanes high[2][VECTORS];  /* the plain sums: real, imaginary */
    hri_lanes low[2][VECTORS];   /* what their roundings lost */
    hri_lanes straight[VECTORS]; /* |ar br| + |ai bi|, of finite values */
    hri_lanes crossed[VECTORS];  /* |ar bi| + |ai br| */
    hri_lanes b[VECTORS];        /* |br| + |bi| */
    double a;                    /* |ar| + |ai| */
} row_sums;

/* |x|, or 0 if it is not finite. */
static inline __attribute__((always_inline)) void
finite_size(const hri_lanes *x, hri_lanes *size)
{
    const hri_lanes modulus = (hri_lanes)((bits)*x & INT64_MAX);
    *size = (hri_lanes)((bits)modulus & (modulus <= DBL_MAX));
}

static double finite_modulus(double x)
{
    return isfinite(x) ? fabs(x) : 0.0;
}

/* (high, low) += a b. The halves of a and b have 26 and 27 bits, so products of
 * halves are exact, but for the last bit of low times low. */
static inline __attribute__((always_inline)) void
add_term(double a, const hri_lanes *b, hri_lanes *high, hri_lanes *low)
{
    const int64_t upper = ~(int64_t)0x7ffffff;
    const hri_lanes av = a - (hri_lanes){0};
    const hri_lanes ah = (hri_lanes)((bits)av & upper), al = av - ah;
    const hri_lanes bh = (hri_lanes)((bits)*b & upper), bl = *b - bh;
    const hri_lanes product = av * *b;
    const hri_lanes lost =
        al * bl - (((product - ah * bh) - al * bh) - ah * bl);
    const hri_lanes sum = *high + product, part = sum - *high;
    *low += ((*high - (sum - part)) + (product - part)) + lost;
    *high = sum;
}

/* Add one vector of columns over a block of B. a is one row of a block. */
static void add_column(const hri_verify_block *a, const hri_verify_block *b,
                       int64_t rows, int vector, bool complex, row_sums *s)
{
    for (int64_t p = 0; p < rows; p++) {
        const int64_t at = p * COLS + vector * LANES;
        const double ar = a->re[p], ar_size = finite_modulus(ar);
        hri_lanes re, re_size;
        memcpy(&re, b->re + at, sizeof re);
        finite_size(&re, &re_size);
        hri_lanes b_size = re_size, straight = ar_size * re_size;
        add_term(ar, &re, &s->high[0][vector], &s->low[0][vector]);
        if (complex) {
            const double ai = a->im[p], ai_size = finite_modulus(ai);
            hri_lanes im, im_size;
            memcpy(&im, b->im + at, sizeof im);
            finite_size(&im, &im_size);
            b_size += im_size;
            straight += ai_size * im_size;
            s->crossed[vector] += ar_size * im_size + ai_size * re_size;
            add_term(-ai, &im, &s->high[0][vector], &s->low[0][vector]);
            add_term(ar, &im, &s->high[1][vector], &s->low[1][vector]);
            add_term(ai, &re, &s->high[1][vector], &s->low[1][vector]);
        }
        s->b[vector] += b_size;
        s->straight[vector] += straight;
    }
}

static void sum_columns(const hri_verify *v, int64_t row, int64_t first,
                        row_sums *s)
{
    hri_verify_block a, b;
    hri_verify_window wa = {.row = row, .rows = 1};
    hri_verify_window wb = {.col = first};
    wb.cols = hri_min(COLS, v->n - first);
    memset(s, 0, sizeof *s);
    memset(&b, 0, sizeof b);
    for (wb.row = 0; wb.row < v->k; wb.row += ROWS) {
        wb.rows = hri_min(ROWS, v->k - wb.row);
        wa.col = wb.row;
        wa.cols = wb.rows;
        hri_verify_load(&v->a, &wa, NULL, &a);
        hri_verify_load(&v->b, &wb, NULL, &b);
        for (int64_t p = 0; p < wb.rows; p++) {
            s->a += finite_modulus(a.re[p]);
            s->a += v->complex ? finite_modulus(a.im[p]) : 0.0;
        }
        for (int vector = 0; vector * LANES < wb.cols; vector++) {
            add_column(&a, &b, wb.rows, vector, v->complex, s);
        }
    }
}

/* Column c of 64, but for what depends on scales. */
static hri_verify_element terms_of(const hri_verify *v, const row_sums *s,
                                   int64_t c)
{
    const int64_t vector = c / LANES, lane = c % LANES;
    hri_verify_element e = {.alpha = v->alpha,
                            .beta = v->beta,
                            .straight = s->straight[vector][lane],
                            .crossed = s->crossed[vector][lane]};
    for (int i = 0; i < 2; i++) {
        double high = s->high[i][vector][lane], low = s->low[i][vector][lane];
        e.sum[i] = isfinite(high) ? high + low : high;
    }
    return e;
}

/* Column c of 64, but for C and C0. */
static hri_verify_element take(const hri_verify *v, const row_sums *s,
                               int64_t row, int64_t c)
{
    const double b = s->b[c / LANES][c % LANES];
    const hri_verify_sums sums = {1.0, s->a, b, hri_verify_b_unit(v, row)};
    hri_verify_element e = terms_of(v, s, c);
    e.exponent = hri_verify_exponent(v, row);
    e.lost =
        hri_verify_underflow(v, &sums) + hri_verify_own_underflow(v, &sums);
    const double alpha = hri_verify_size(v->alpha);
    e.peak = ldexp(fmax(1.0, alpha) * (e.straight + e.crossed), e.exponent);
    if (alpha > 1.0) {
        const int rows = e.exponent - v->b_exponent;
        e.peak = fmax(e.peak, ldexp(alpha * s->a, rows));
        e.peak = fmax(e.peak, ldexp(alpha * b, v->b_exponent));
    }
    return e;
}

/* Set the parts of C0, and what they may add to the peak. */
static void set_old(hri_verify_element *e, double re, double im)
{
    const double size = finite_modulus(re) + finite_modulus(im);
    e->old[0] = re;
    e->old[1] = im;
    e->peak += ldexp(hri_verify_size(e->beta) * size, e->exponent);
}

void hri_verify_elements(const hri_verify *v, int64_t row, int64_t first,
                         hri_verify_element *elements)
{
    const hri_verify_window w = {row, first, 1, hri_min(COLS, v->n - first)};
    hri_verify_block c, c0;
    row_sums s;
    sum_columns(v, row, first, &s);
    hri_verify_load(&v->c, &w, NULL, &c);
    if (v->old) {
        hri_verify_load(&v->c0, &w, NULL, &c0);
    }
    for (int64_t i = 0; i < w.cols; i++) {
        hri_verify_element *e = &elements[i];
        *e = take(v, &s, row, i);
        e->got[0] = c.re[i];
        e->got[1] = v->complex ? c.im[i] : 0.0;
        if (v->old) {
            set_old(e, c0.re[i], v->complex ? c0.im[i] : 0.0);
        }
    }
}

/* ---- one element alone */

/* A complex number with a largest part in [1/2, 1), times 2^exponent. */
typedef struct number {
    double part[2];
    int exponent;
} number;

static number number_of(double re, double im)
{
    const double size = fmax(finite_modulus(re), finite_modulus(im));
    number x = {.exponent = 0};
    frexp(size, &x.exponent);
    x.part[0] = ldexp(re, -x.exponent);
    x.part[1] = ldexp(im, -x.exponent);
    return x;
}

static bool is_zero(const number *x)
{
    return x->part[0] == 0.0 && x->part[1] == 0.0;
}

static number load_number(const hr_matrix *m, int64_t row, int64_t col)
{
    const hri_verify_source source = {.matrix = *m};
    const hri_verify_window w = {row, col, 1, 1};
    hri_verify_block block;
    block.im[0] = 0.0;
    hri_verify_load(&source, &w, NULL, &block);
    return number_of(block.re[0], block.im[0]);
}

/* Some terms of an element of A B: a[i] times b[i]. */
typedef struct terms {
    number a[ROWS], b[ROWS];
    int64_t count;
} terms;

/* Load the terms of element (row, col) from number `first` on, unscaled. */
static void load_terms(const hri_verify *v, int64_t row, int64_t col,
                       int64_t first, terms *t)
{
    const hri_verify_source a = {.matrix = v->a.matrix};
    const hri_verify_source b = {.matrix = v->b.matrix};
    hri_verify_block x, y;
    t->count = hri_min(ROWS, v->k - first);
    hri_verify_load(&a, &(hri_verify_window){row, first, 1, t->count}, NULL,
                    &x);
    hri_verify_load(&b, &(hri_verify_window){first, col, t->count, 1}, NULL,
                    &y);
    for (int64_t p = 0; p < t->count; p++) {
        t->a[p] = number_of(x.re[p], v->complex ? x.im[p] : 0.0);
        t->b[p] = number_of(y.re[p * COLS], v->complex ? y.im[p * COLS] : 0.0);
    }
}

/* The exponent of the largest term of element (row, col) of A B. False where
 * all terms are 0. */
static bool largest_term(const hri_verify *v, int64_t row, int64_t col,
                         int *exponent)
{
    bool any = false;
    terms t;
    for (int64_t first = 0; first < v->k; first += ROWS) {
        load_terms(v, row, col, first, &t);
        for (int64_t p = 0; p < t.count; p++) {
            const int sum = t.a[p].exponent + t.b[p].exponent;
            if (!is_zero(&t.a[p]) && !is_zero(&t.b[p]) &&
                (!any || sum > *exponent)) {
                *exponent = sum;
                any = true;
            }
        }
    }
    return any;
}

static double size_of(const number *x)
{
    return finite_modulus(x->part[0]) + finite_modulus(x->part[1]);
}

/* Add up the terms of element (row, col) of A B, 2^exponent times smaller. The
 * sums of |a| and |b| are 2^SUM times smaller, as they may overflow. */
static void sum_alone(const hri_verify *v, int64_t row, int64_t col,
                      int exponent, row_sums *s, double *b_sum)
{
    hri_verify_block x, y;
    terms t;
    memset(s, 0, sizeof *s);
    memset(&y, 0, sizeof y);
    *b_sum = 0.0;
    for (int64_t first = 0; first < v->k; first += ROWS) {
        load_terms(v, row, col, first, &t);
        for (int64_t p = 0; p < t.count; p++) {
            const number *a = &t.a[p], *b = &t.b[p];
            /* a term of 0 may have any exponent */
            const int shift =
                (int)hri_min(a->exponent + b->exponent - exponent, 0);
            x.re[p] = a->part[0];
            x.im[p] = a->part[1];
            y.re[p * COLS] = ldexp(b->part[0], shift);
            y.im[p * COLS] = ldexp(b->part[1], shift);
            s->a += ldexp(size_of(a), a->exponent - SUM);
            *b_sum += ldexp(size_of(b), b->exponent - SUM);
        }
        add_column(&x, &y, t.count, 0, v->complex, s);
    }
}

/* What underflow may have taken, in numbers 2^exponent times smaller. b is the
 * sum of |a| and |b|. */
static double lost_alone(const hri_verify *v, double b, int exponent)
{
    const hri_verify_sums sums = {1.0, 0.0, b, ldexp(1.0, SUM)};
    return ldexp(hri_verify_underflow(v, &sums), -exponent) +
           ((double)v->k + 4.0) * 0x1p-1060;
}

static void set_peak_alone(const hri_verify *v, hri_verify_element *e,
                           int exponent, double sums)
{
    const double size = e->straight + e->crossed;
    const double alpha = hri_verify_size(v->alpha);
    e->peak = fmax(ldexp(size, exponent),
                   ldexp(hri_verify_size(e->alpha) * size, e->exponent));
    if (alpha > 1.0) {
        e->peak = fmax(e->peak, ldexp(alpha * sums, SUM));
    }
}

/* The exponent of an element whose largest terms have these: of alpha A B and
 * of beta C0. */
static int exponent_of(const hri_verify *v, bool any, int term,
                       const number *c0)
{
    const number alpha = number_of(v->alpha.re, v->alpha.im);
    const number beta = number_of(v->beta.re, v->beta.im);
    int exponent = LOWEST;
    if (any) {
        exponent = (int)hri_max(exponent, alpha.exponent + term);
    }
    if (v->old && !is_zero(c0)) {
        exponent = (int)hri_max(exponent, beta.exponent + c0->exponent);
    }
    return exponent;
}

static hr_scalar scale_scalar(hr_scalar s, int exponent)
{
    return (hr_scalar){ldexp(s.re, exponent), ldexp(s.im, exponent)};
}

hri_verify_element hri_verify_element_alone(const hri_verify *v, int64_t row,
                                            int64_t col)
{
    const number c = load_number(&v->c.matrix, row, col);
    number c0 = {.exponent = 0};
    row_sums s;
    double b_sum;
    int term = 0;
    const bool any = largest_term(v, row, col, &term);
    if (v->old) {
        c0 = load_number(&v->c0.matrix, row, col);
    }
    const int exponent = exponent_of(v, any, term, &c0);
    sum_alone(v, row, col, term, &s, &b_sum);
    hri_verify_element e = terms_of(v, &s, 0);
    e.exponent = exponent;
    const hr_scalar none = {0.0,
                            0.0}; /* for a factor of 0, as others overflow */
    e.alpha = any ? scale_scalar(v->alpha, term - exponent) : none;
    e.beta =
        is_zero(&c0) ? none : scale_scalar(v->beta, c0.exponent - exponent);
    e.lost = lost_alone(v, s.a + b_sum, exponent);
    set_peak_alone(v, &e, term, fmax(s.a, b_sum));
    for (int i = 0; i < 2; i++) {
        e.got[i] = ldexp(c.part[i], c.exponent - exponent);
    }
    if (v->old) {
        set_old(&e, c0.part[0], c0.part[1]);
    }
    return e;
}
