/* SPDX-License-Identifier: MIT */
/* Recomputing one row of the product in compensated arithmetic, Dot2 of
 * [Ogita2005] (T. Ogita, S. M. Rump, S. Oishi, Accurate sum and dot product,
 * SIAM J. Sci. Comput. 26, 2005). It is as good as twice the digits of double.
 * Then every element is judged against the rounding bound of hr_gemm. */
#include <float.h>
#include <math.h>
#include <pthread.h>
#include <string.h>

#include "base/size.h"
#include "gemm/verify.h"

enum {
    ROWS = HRI_VERIFY_ROWS,
    COLS = HRI_VERIFY_COLS,
    LANES = HRI_VERIFY_LANES,
    VECTORS = COLS / LANES
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

/* The terms of one element. */
typedef struct element {
    double sum[2];            /* of A B */
    double straight, crossed; /* the terms of row_sums */
    double a, b;              /* sums of |a| and |b| */
    double old[2], got[2];    /* of C0 and C */
} element;

static void load_element(const hri_verify_source *source, int64_t row,
                         int64_t col, double out[2])
{
    hri_verify_window w = {row, col, 1, 1};
    hri_verify_block block;
    block.im[0] = 0.0;
    hri_verify_load(source, &w, NULL, &block);
    out[0] = block.re[0];
    out[1] = block.im[0];
}

static element take(const hri_verify *v, const row_sums *s, int64_t row,
                    int64_t first, int64_t c)
{
    int64_t vector = c / LANES, lane = c % LANES;
    element e = {.straight = s->straight[vector][lane],
                 .crossed = s->crossed[vector][lane],
                 .a = s->a,
                 .b = s->b[vector][lane]};
    for (int i = 0; i < 2; i++) {
        double high = s->high[i][vector][lane], low = s->low[i][vector][lane];
        e.sum[i] = isfinite(high) ? high + low : high;
    }
    load_element(&v->c, row, first + c, e.got);
    if (v->old) {
        load_element(&v->c0, row, first + c, e.old);
    }
    return e;
}

/* want += s x, in plain arithmetic of the parts. */
static void add_scaled(hr_scalar s, const double x[2], double want[2])
{
    want[0] += s.re * x[0];
    want[1] += s.re * x[1];
    if (s.im != 0.0) {
        want[0] -= s.im * x[1];
        want[1] += s.im * x[0];
    }
}

/* Half a unit in the last place of a half C at |x|; 0 for other types. */
static double half_ulp(const hri_verify_precision *p, double x)
{
    int exponent;
    if (p->half_unit == 0.0 || !isfinite(x)) {
        return 0.0;
    }
    frexp(x, &exponent);
    return fmax(ldexp(p->half_unit, exponent - 1), p->half_subnormal / 2);
}

/* The absolute terms of part i of s times x. With a complex s, each part has
 * terms from both parts of x. */
static double spread(hr_scalar s, const double sizes[2], int i)
{
    return fabs(s.re) * sizes[i] + fabs(s.im) * sizes[1 - i];
}

/* The error of this file's own arithmetic: sums of absolute terms, Dot2, and
 * the last steps to want. `size` is the magnitude, and `last` is what is added
 * last. */
static double own_error(const hri_verify *v, double size, double last)
{
    double depth = (v->complex ? 2.0 : 1.0) * (double)v->k * 0x1p-53;
    return 0x1p-20 * hri_verify_gamma(depth * 0x1p53 + 4, v->precision.unit) *
               size +
           4.0 * depth * depth * size + 0x1p-50 * last +
           (double)v->k * 0x1p-1000;
}

/* The bound of part i, 0 real and 1 imaginary, but for rounding to a half C;
 * see docs/verify.md. */
static double bound_of(const hri_verify *v, const element *e, int i)
{
    const hri_verify_precision *p = &v->precision;
    const double terms[2] = {e->straight, e->crossed};
    const double sums[2] = {finite_modulus(e->sum[0]),
                            finite_modulus(e->sum[1])};
    const double old[2] = {finite_modulus(e->old[0]),
                           finite_modulus(e->old[1])};
    double k = (double)v->k, added = spread(v->beta, old, i);
    double size = spread(v->alpha, terms, i) + added;
    double gamma = hri_verify_gamma(v->complex ? 2 * k + 4 : k + 2, p->unit);
    double own = own_error(v, size, spread(v->alpha, sums, i) + added);
    return gamma * size + own + hri_verify_underflow(v, 1.0, e->a, e->b);
}

/* Whether sums may overflow, or operands on which alpha was multiplied first.
 * No sum exceeds that of its absolute terms by more than rounding. */
static bool may_overflow(const hri_verify *v, const element *e)
{
    const hri_verify_precision *p = &v->precision;
    const hri_verify_units *u = &v->units;
    double k = (double)v->k;
    double gamma = hri_verify_gamma(v->complex ? 2 * k + 4 : k + 2, p->unit);
    double old = finite_modulus(e->old[0]) + finite_modulus(e->old[1]);
    double sums = u->product * (e->straight + e->crossed);
    double way = fmax(1.0, u->alpha) * sums + u->beta * u->old * old;
    if (u->alpha > 1.0) {
        way = fmax(way, u->alpha * fmax(u->a * e->a, u->b * e->b));
    }
    return !((1.0 + gamma) * way < p->largest);
}

/* bound is without the rounding to a half C, which may overflow. */
static bool part_is_right(const hri_verify *v, double want, double got,
                          double bound)
{
    const hri_verify_precision *p = &v->precision;
    if (isnan(want)) {
        return isnan(got);
    }
    if (isinf(want)) {
        return got == want;
    }
    if (isinf(got)) {
        return (got > 0.0) == (want > 0.0) &&
               !(fabs(want) + bound < p->overflow);
    }
    return fabs(got - want) <= bound + half_ulp(p, fabs(want) + bound);
}

/* The part that is wrong, or -1. If a complex element should have a part that
 * is not finite, it must have one. Implementations differ in which part, so
 * either will do. */
static int wrong_part(const hri_verify *v, const element *e,
                      const double want[2], double bound[2])
{
    bool got_finite = isfinite(e->got[0]) && isfinite(e->got[1]);
    bool finite = isfinite(want[0]) && isfinite(want[1]);
    int wrong = -1;
    for (int i = 1; i >= 0; i--) {
        bound[i] = bound_of(v, e, i);
        wrong = part_is_right(v, want[i], e->got[i], bound[i]) ? wrong : i;
        bound[i] += half_ulp(&v->precision, fabs(want[i]) + bound[i]);
    }
    if (!got_finite && may_overflow(v, e)) {
        return -1;
    }
    if (v->complex && !finite) {
        return got_finite ? 0 : -1;
    }
    return wrong;
}

static bool judge(const hri_verify *v, const element *e, hri_verify_miss *miss)
{
    double want[2] = {0.0, 0.0}, bound[2];
    if (v->k > 0) {
        add_scaled(v->alpha, e->sum, want);
    }
    if (v->old) {
        add_scaled(v->beta, e->old, want);
    }
    int wrong = wrong_part(v, e, want, bound);
    if (wrong < 0) {
        return true;
    }
    for (int i = 0; i < 2; i++) {
        miss->got[i] = ldexp(e->got[i], v->exponent);
        miss->want[i] = ldexp(want[i], v->exponent);
    }
    miss->error = fabs(miss->got[wrong] - miss->want[wrong]);
    miss->bound = ldexp(bound[wrong], v->exponent);
    return false;
}

/* Judge integers: all sums here are exact, in double and modulo 2^32. */
static bool judge_integer(const hri_verify *v, const element *e,
                          hri_verify_miss *miss)
{
    uint32_t want =
        (uint32_t)(int64_t)v->alpha.re * (uint32_t)(int64_t)e->sum[0] +
        (uint32_t)(int64_t)v->beta.re * (uint32_t)(int64_t)e->old[0];
    miss->want[0] = (double)(int32_t)want;
    miss->got[0] = e->got[0];
    miss->want[1] = miss->got[1] = miss->bound = 0.0;
    miss->error = fabs(miss->got[0] - miss->want[0]);
    return miss->error == 0.0;
}

typedef struct row_job {
    const hri_verify *v;
    int64_t row;
    pthread_mutex_t lock; /* guards *miss */
    hri_verify_miss *miss;
} row_job;

void hri_verify_judge(const hri_verify *v, int64_t row, int64_t first,
                      uint64_t columns, hri_verify_miss *miss,
                      double (*products)[2])
{
    row_sums s;
    *miss = (hri_verify_miss){.row = row, .col = -1};
    sum_columns(v, row, first, &s);
    for (int64_t c = 0; c < hri_min(COLS, v->n - first); c++) {
        element e = take(v, &s, row, first, c);
        hri_verify_miss other = {.row = row, .col = first + c};
        if (products != NULL) {
            products[c][0] = products[c][1] = 0.0;
            add_scaled(v->alpha, e.sum, products[c]);
        }
        if (miss->col < 0 && (columns >> c & 1) != 0 &&
            !(v->integer ? judge_integer(v, &e, &other)
                         : judge(v, &e, &other))) {
            *miss = other;
        }
    }
}

/* Judge 64 columns of the row. Of all tasks the leftmost wrong element is
 * kept. */
static void row_task(void *data, int64_t index)
{
    row_job *job = data;
    const hri_verify *v = job->v;
    const int64_t first = index * COLS;
    uint64_t columns = UINT64_MAX;
    hri_verify_miss miss;
    for (int64_t c = 0; v->skip_cols != NULL && c < hri_min(COLS, v->n - first);
         c++) {
        columns ^= (uint64_t)(v->skip_cols[first + c] != 0) << c;
    }
    hri_verify_judge(v, job->row, first, columns, &miss, NULL);
    pthread_mutex_lock(&job->lock);
    if (miss.col >= 0 && (job->miss->col < 0 || miss.col < job->miss->col)) {
        *job->miss = miss;
    }
    pthread_mutex_unlock(&job->lock);
}

void hri_verify_row(const hri_verify *v, int64_t row, hri_verify_miss *miss)
{
    row_job job = {.v = v, .row = row, .miss = miss};
    *miss = (hri_verify_miss){.row = row, .col = -1};
    pthread_mutex_init(&job.lock, NULL);
    hri_pool_run(v->pool, hri_ceil_div(v->n, COLS), row_task, &job);
    pthread_mutex_destroy(&job.lock);
}
