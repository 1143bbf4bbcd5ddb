/* SPDX-License-Identifier: MIT */
/* The bounds, for one element c = alpha sum_p a_p b_p + beta c0. Write
 * M = |alpha| sum_p |a_p||b_p| + |beta||c0|, with moduli for complex numbers.
 *
 * Real types. Whatever the order of the sum, the blocking over k, and whether
 * alpha is applied to the sum or to an operand, each term meets at most k + 2
 * roundings: its product, k - 1 additions, the factor alpha, the addition of
 * beta c0 [Higham2002, section 3.1]. So |error| <= gamma_(k+2) M. Fused
 * operations only leave roundings out. alpha and beta count as rounded to the
 * accumulation type.
 *
 * Complex types. A part of c is a real sum of 2k products, each of which meets
 * at most 2k + 3 roundings (product, 2k - 1 additions, two of the factor alpha,
 * one of beta c0). The absolute sum of what makes up one part of alpha a b is
 * at most sqrt(2)|alpha||a||b|: with p = |ar br| + |ai bi| and
 * q = |ar bi| + |ai br| it is |alpha_r| p + |alpha_i| q <= |alpha|
 * sqrt(p^2 + q^2), and p^2 + q^2 = |a|^2|b|^2 + 4 |ar ai||br bi| <=
 * 2 |a|^2|b|^2. So each part's error is at most sqrt(2) gamma_(2k+4) M; compare
 * [Higham2002, lemma 3.5].
 *
 * Underflow. Let w be the smallest normal number of the accumulation type. An
 * accelerator may flush subnormal operands and results to zero, so each operand
 * is wrong by up to w, each product and each sum too: that makes at most
 * w ((1 + |alpha|)(3k + sum|a| + sum|b|) + 2 (1 + |beta|)), where 3k leaves
 * room for complex parts, of which there are two.
 *
 * Half types as C: one more rounding, half a unit in the last place of the
 * largest value that is right so far.
 *
 * The reference's own error is that of the same sum with the wide type's u. */
#include "support/reference.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/pairs.h"

_Static_assert(LDBL_MANT_DIG >= 64, "f64 wants a wider type as its reference");

/* What the bound of a type is made of. */
typedef struct precision {
    double unit;           /* of the accumulation, u */
    double smallest;       /* normal number of the accumulation type */
    double largest;        /* finite value of C and of the accumulation */
    double wide_unit;      /* u of the reference's arithmetic */
    double half_unit;      /* u of a half C, else 0 */
    double half_subnormal; /* smallest positive half, else 0 */
} precision;

static const precision single = {0x1p-24, FLT_MIN, FLT_MAX, 0x1p-53, 0, 0};
static const precision twice = {0x1p-53, DBL_MIN, DBL_MAX, 0x1p-64, 0, 0};

static precision precision_of(hr_type type)
{
    if (type == HR_F64 || type == HR_C64) {
        return twice;
    }
    precision p = single;
    if (type == HR_F16) {
        p.largest = 65504.0;
        p.half_unit = 0x1p-11;
        p.half_subnormal = 0x1p-24;
    } else if (type == HR_BF16) {
        p.largest = 0x1.fep127;
        p.half_unit = 0x1p-8;
        p.half_subnormal = 0x1p-133;
    }
    return p;
}

/* binary16 from its definition, on purpose not with the library's own code. */
static double load_f16(uint16_t bits)
{
    int exponent = bits >> 10 & 31;
    double fraction = bits & 1023;
    double value = exponent == 31  ? (fraction == 0 ? INFINITY : NAN)
                   : exponent == 0 ? ldexp(fraction, -24)
                                   : ldexp(fraction + 1024.0, exponent - 25);
    return bits >> 15 ? -value : value;
}

static double load_bf16(uint16_t bits)
{
    uint32_t wide = (uint32_t)bits << 16;
    float value;
    memcpy(&value, &wide, sizeof value);
    return (double)value;
}

static double load_part(const char *p, hr_type type)
{
    union {
        float f;
        double d;
        uint16_t h;
        int32_t i;
        int8_t b;
    } u;
    size_t bytes =
        is_complex(type) ? hr_type_size(type) / 2 : hr_type_size(type);
    memcpy(&u, p, bytes);
    switch (type) {
    case HR_F64:
    case HR_C64:
        return u.d;
    case HR_F16:
        return load_f16(u.h);
    case HR_BF16:
        return load_bf16(u.h);
    case HR_I8:
        return (double)u.b;
    case HR_I32:
        return (double)u.i;
    default:
        return (double)u.f;
    }
}

void reference_load(const hr_matrix *m, int64_t row, int64_t col, double *re,
                    double *im)
{
    size_t bytes = hr_type_size(m->type);
    const char *p =
        (const char *)m->data +
        (row * m->row_stride + col * m->col_stride) * (int64_t)bytes;
    *re = load_part(p, m->type);
    *im = 0.0;
    if (is_complex(m->type)) {
        *im = load_part(p + bytes / 2, m->type);
        *im = m->conjugate ? -*im : *im;
    }
}

double reference_gamma(int64_t n, double u)
{
    return (double)n * u / (1.0 - (double)n * u);
}

/* A matrix as planes of doubles, row-major; what is not finite counts as 0 in
 * the moduli. */
typedef struct planes {
    int64_t rows, cols;
    double *re, *im, *modulus;
} planes;

static bool planes_init(planes *p, const hr_matrix *m)
{
    size_t count = (size_t)(m->rows * m->cols);
    *p = (planes){.rows = m->rows, .cols = m->cols};
    p->re = calloc(3 * count + 1, sizeof(double));
    if (p->re == NULL) {
        return false;
    }
    p->im = p->re + count;
    p->modulus = p->im + count;
    for (int64_t r = 0, at = 0; r < m->rows; r++) {
        for (int64_t c = 0; c < m->cols; c++, at++) {
            reference_load(m, r, c, &p->re[at], &p->im[at]);
            double modulus = hypot(p->re[at], p->im[at]);
            p->modulus[at] = isfinite(modulus) ? modulus : 0.0;
        }
    }
    return true;
}

/* Everything that belongs to one call of reference_init. */
typedef struct work {
    const reference_problem *problem;
    hr_scalar alpha, beta; /* rounded to the accumulation type */
    double alpha_modulus, beta_modulus;
    precision precision;
    bool complex, integer, wide;
    planes a, b, c;
    double *column_sums; /* of |b| */
    long double *sum;    /* one row: re, then im */
    double *narrow;      /* the same where double is wide enough */
    double *product;     /* one row of |a||b| */
} work;

static void work_finish(work *w)
{
    free(w->a.re);
    free(w->b.re);
    free(w->c.re);
    free(w->column_sums);
    free(w->sum);
    free(w->narrow);
    free(w->product);
}

static double round_scalar(double x, const work *w)
{
    return w->wide || w->integer ? x : (double)(float)x;
}

static bool work_init(work *w, const reference_problem *problem)
{
    hr_matrix a = problem->a, b = problem->b, c = problem->c;
    size_t n = (size_t)c.cols + 1;
    *w = (work){.problem = problem,
                .precision = precision_of(c.type),
                .complex = is_complex(c.type),
                .integer = c.type == HR_I32,
                .wide = c.type == HR_F64 || c.type == HR_C64};
    w->alpha.re = round_scalar(problem->alpha.re, w);
    w->alpha.im = round_scalar(problem->alpha.im, w);
    w->beta.re = round_scalar(problem->beta.re, w);
    w->beta.im = round_scalar(problem->beta.im, w);
    w->alpha_modulus = hypot(w->alpha.re, w->alpha.im);
    w->beta_modulus = hypot(w->beta.re, w->beta.im);
    if (w->alpha_modulus == 0.0) { /* A and B are not read then */
        a.cols = 0;
        b.rows = 0;
    }
    if (w->beta_modulus == 0.0) {
        c.rows = 0;
    }
    w->column_sums = calloc(n, sizeof(double));
    w->sum = calloc(2 * n, sizeof(long double));
    w->narrow = calloc(2 * n, sizeof(double));
    w->product = calloc(n, sizeof(double));
    return w->column_sums != NULL && w->sum != NULL && w->narrow != NULL &&
           w->product != NULL && planes_init(&w->a, &a) &&
           planes_init(&w->b, &b) && planes_init(&w->c, &c);
}

/* sum += x * row, in the wide type of the problem. */
static void add_row(work *w, bool im, double x, const double *row)
{
    int64_t n = w->b.cols;
    if (w->wide) {
        long double *sum = w->sum + (im ? n : 0);
        for (int64_t j = 0; j < n; j++) {
            sum[j] += (long double)x * (long double)row[j];
        }
    } else {
        double *sum = w->narrow + (im ? n : 0);
        for (int64_t j = 0; j < n; j++) {
            sum[j] += x * row[j];
        }
    }
}

/* Row i of A B into sum, and of |A||B| into product. */
static void sum_row(work *w, int64_t i)
{
    int64_t n = w->b.cols, k = w->b.rows;
    memset(w->sum, 0, (size_t)(2 * n) * sizeof *w->sum);
    memset(w->narrow, 0, (size_t)(2 * n) * sizeof *w->narrow);
    memset(w->product, 0, (size_t)n * sizeof *w->product);
    for (int64_t p = 0; p < k; p++) {
        const double *re = w->b.re + p * n, *im = w->b.im + p * n;
        const double *modulus = w->b.modulus + p * n;
        double ar = w->a.re[i * k + p], ai = w->a.im[i * k + p];
        double am = w->a.modulus[i * k + p];
        add_row(w, false, ar, re);
        if (w->complex) {
            add_row(w, false, -ai, im);
            add_row(w, true, ar, im);
            add_row(w, true, ai, re);
        }
        for (int64_t j = 0; j < n; j++) {
            w->product[j] += am * modulus[j];
        }
    }
    for (int64_t j = 0; !w->wide && j < 2 * n; j++) {
        w->sum[j] = (long double)w->narrow[j];
    }
}

/* value += s * (re + im i); plain component arithmetic. */
static void add_scaled(reference_element *value, hr_scalar s, long double re,
                       long double im)
{
    if (s.im == 0.0) {
        value->re += (long double)s.re * re;
        value->im += (long double)s.re * im;
    } else {
        value->re += (long double)s.re * re - (long double)s.im * im;
        value->im += (long double)s.re * im + (long double)s.im * re;
    }
}

/* Half a unit in the last place of a half type at |x|. */
static double half_ulp(const precision *p, double x)
{
    int exponent;
    if (p->half_unit == 0.0) {
        return 0.0;
    }
    frexp(x, &exponent); /* x in [2^(exponent-1), 2^exponent) */
    return fmax(ldexp(p->half_unit, exponent - 1), p->half_subnormal / 2);
}

/* The bound of an element, from its magnitude and the sums of |a| and |b|. */
static void set_bound(const work *w, double magnitude, double sums,
                      reference_element *e)
{
    const precision *p = &w->precision;
    double k = (double)w->b.rows, roundings = w->complex ? 2 * k + 4 : k + 2;
    double factor = reference_gamma((int64_t)roundings, p->unit) +
                    reference_gamma((int64_t)roundings, p->wide_unit);
    double scale = 1.0 + w->alpha_modulus;
    double underflow = p->smallest * (scale * (3.0 * k + sums) +
                                      2.0 * (1.0 + w->beta_modulus));
    double bound = factor * magnitude * (w->complex ? sqrt(2.0) : 1.0);
    /* The sums above are themselves rounded, in double: 2^-20 is more than
     * their gamma for any k below 2^32. */
    bound = bound * (1.0 + 0x1p-20) + underflow;
    double size = (double)fmaxl(fabsl(e->re), fabsl(e->im)) + bound;
    e->bound = bound + half_ulp(p, isfinite(size) ? size : 0.0);
    e->overflow =
        !(size + half_ulp(p, isfinite(size) ? size : 0.0) < p->largest);
}

/* Whether the narrow arithmetic may overflow before the end is reached. */
static bool may_overflow(const work *w, double product, double old, double sums)
{
    double largest =
        w->precision.half_unit != 0.0 ? (double)FLT_MAX : w->precision.largest;
    double alpha = fmax(1.0, w->alpha_modulus);
    double beta = fmax(1.0, w->beta_modulus);
    return !(2.0 * (alpha * (product + sums) + beta * old) < largest);
}

/* Arithmetic modulo 2^32: all of it is exact, since sums of 8-bit products stay
 * below 2^53 and the scalars are whole numbers. */
static void set_integer(const work *w, double sum, double old,
                        reference_element *e)
{
    uint32_t value = (uint32_t)(int64_t)w->alpha.re * (uint32_t)(int64_t)sum +
                     (uint32_t)(int64_t)w->beta.re * (uint32_t)(int64_t)old;
    *e = (reference_element){.re = (long double)(int32_t)value};
}

static void set_element(const work *w, int64_t i, int64_t j, double row_sum,
                        reference_element *e)
{
    int64_t n = w->b.cols, at = i * n + j;
    bool old = w->c.rows > 0;
    double c_re = old ? w->c.re[at] : 0.0, c_im = old ? w->c.im[at] : 0.0;
    if (w->integer) {
        set_integer(w, (double)w->sum[j], c_re, e);
        return;
    }
    *e = (reference_element){.re = 0.0L};
    if (w->b.rows > 0) {
        add_scaled(e, w->alpha, w->sum[j], w->sum[n + j]);
    }
    if (old) {
        add_scaled(e, w->beta, (long double)c_re, (long double)c_im);
    }
    double sums = row_sum + w->column_sums[j];
    double c_modulus = old ? w->c.modulus[at] : 0.0;
    double magnitude =
        w->alpha_modulus * w->product[j] + w->beta_modulus * c_modulus;
    set_bound(w, magnitude, sums, e);
    e->overflow |= may_overflow(w, w->product[j], c_modulus, sums);
}

bool reference_init(reference *r, const reference_problem *problem)
{
    work w;
    int64_t m = problem->c.rows, n = problem->c.cols;
    *r = (reference){.type = problem->c.type, .rows = m, .cols = n};
    r->elements = calloc((size_t)(m * n) + 1, sizeof *r->elements);
    bool ok = work_init(&w, problem) && r->elements != NULL;
    for (int64_t p = 0; ok && p < w.b.rows; p++) {
        for (int64_t j = 0; j < n; j++) {
            w.column_sums[j] += w.b.modulus[p * n + j];
        }
    }
    for (int64_t i = 0; ok && i < m; i++) {
        double row_sum = 0.0;
        for (int64_t p = 0; p < w.b.rows; p++) {
            row_sum += w.a.modulus[i * w.a.cols + p];
        }
        sum_row(&w, i);
        for (int64_t j = 0; j < n; j++) {
            set_element(&w, i, j, row_sum, &r->elements[i * n + j]);
        }
    }
    work_finish(&w);
    return ok;
}

void reference_finish(reference *r)
{
    free(r->elements);
    *r = (reference){.elements = NULL};
}

static bool part_is_right(long double want, double got, double bound)
{
    if (isnan(want)) {
        return isnan(got);
    }
    if (isinf(want)) {
        return (long double)got == want;
    }
    return isfinite(got) &&
           fabsl((long double)got - want) <= (long double)bound;
}

static bool is_right(const reference_element *e, double re, double im,
                     bool complex)
{
    bool finite = isfinite(re) && isfinite(im);
    if (e->overflow && !finite) {
        return true;
    }
    if (complex && !(isfinite(e->re) && isfinite(e->im))) {
        return !finite;
    }
    return part_is_right(e->re, re, e->bound) &&
           part_is_right(e->im, im, e->bound);
}

int64_t reference_compare(const reference *r, const hr_matrix *c,
                          reference_miss *miss)
{
    int64_t wrong = 0;
    for (int64_t i = 0; i < r->rows; i++) {
        for (int64_t j = 0; j < r->cols; j++) {
            const reference_element *e = &r->elements[i * r->cols + j];
            double re, im;
            reference_load(c, i, j, &re, &im);
            if (is_right(e, re, im, is_complex(r->type))) {
                continue;
            }
            if (wrong++ == 0 && miss != NULL) {
                *miss = (reference_miss){i, j, re, im, *e};
            }
        }
    }
    return wrong;
}

void reference_describe(const reference_miss *miss, char *text, size_t bytes)
{
    snprintf(text, bytes,
             "element (%lld, %lld) is %.17g%+.17gi, wants %.20Lg%+.20Lgi "
             "within %.3g",
             (long long)miss->row, (long long)miss->col, miss->re, miss->im,
             miss->want.re, miss->want.im, miss->want.bound);
}
