/* SPDX-License-Identifier: MIT */
/* Judging recomputed elements against the rounding bound of hr_gemm. */
#include <math.h>
#include <pthread.h>

#include "base/size.h"
#include "gemm/verify.h"

enum { COLS = HRI_VERIFY_COLS };

/* Terms of the elements of a row that are recomputed alone, at most. */
static const int64_t most_terms = (int64_t)1 << 21;

static double finite_modulus(double x)
{
    return isfinite(x) ? fabs(x) : 0.0;
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
           4.0 * depth * depth * size + 0x1p-50 * last;
}

/* gamma of the roundings that a term meets. */
static double gamma_of(const hri_verify *v)
{
    const double k = (double)v->k;
    return hri_verify_gamma(v->complex ? 2 * k + 4 : k + 2, v->precision.unit);
}

/* The magnitude of part i, 0 real and 1 imaginary: see docs/verify.md. */
static double magnitude_of(const hri_verify_element *e, int i)
{
    const double terms[2] = {e->straight, e->crossed};
    const double old[2] = {finite_modulus(e->old[0]),
                           finite_modulus(e->old[1])};
    return spread(e->alpha, terms, i) + spread(e->beta, old, i);
}

/* The bound of part i but for rounding to a half C. */
static double bound_of(const hri_verify *v, const hri_verify_element *e, int i)
{
    const double sums[2] = {finite_modulus(e->sum[0]),
                            finite_modulus(e->sum[1])};
    const double old[2] = {finite_modulus(e->old[0]),
                           finite_modulus(e->old[1])};
    const double size = magnitude_of(e, i);
    const double last = spread(e->alpha, sums, i) + spread(e->beta, old, i);
    return gamma_of(v) * size + own_error(v, size, last) + e->lost;
}

/* Whether sums may overflow, or operands on which alpha was multiplied first.
 * No sum exceeds that of its absolute terms by more than rounding. */
static bool may_overflow(const hri_verify *v, const hri_verify_element *e)
{
    return !((1.0 + gamma_of(v)) * e->peak < v->precision.largest);
}

/* bound is without the rounding to a half C, which may overflow. */
static bool part_is_right(const hri_verify *v, const hri_verify_element *e,
                          int i, double want, double bound)
{
    const hri_verify_precision *p = &v->precision;
    const double got = e->got[i];
    if (isnan(want)) {
        return isnan(got);
    }
    if (isinf(want)) {
        return got == want;
    }
    if (isinf(got)) {
        return (got > 0.0) == (want > 0.0) &&
               !(ldexp(fabs(want) + bound, e->exponent) < p->overflow);
    }
    return fabs(got - want) <= bound + half_ulp(p, fabs(want) + bound);
}

/* The part that is wrong, or -1. If a complex element should have a part that
 * is not finite, it must have one. Implementations differ in which part, so
 * either will do. */
static int wrong_part(const hri_verify *v, const hri_verify_element *e,
                      const double want[2], double bound[2])
{
    bool got_finite = isfinite(e->got[0]) && isfinite(e->got[1]);
    bool finite = isfinite(want[0]) && isfinite(want[1]);
    int wrong = -1;
    for (int i = 1; i >= 0; i--) {
        bound[i] = bound_of(v, e, i);
        wrong = part_is_right(v, e, i, want[i], bound[i]) ? wrong : i;
        bound[i] += half_ulp(&v->precision, fabs(want[i]) + bound[i]);
    }
    if (!got_finite && may_overflow(v, e)) {
        /* an infinite term may meet an overflow, but only to become NaN */
        return isinf(want[0]) && isinf(e->got[0]) && !v->complex ? wrong : -1;
    }
    if (v->complex && !finite) {
        return got_finite ? 0 : -1;
    }
    return wrong;
}

static void report_miss(const hri_verify *v, const hri_verify_element *e,
                        const double want[2], double bound,
                        hri_verify_miss *miss)
{
    const hri_verify_source c = {.matrix = v->c.matrix};
    const hri_verify_window w = {miss->row, miss->col, 1, 1};
    hri_verify_block block;
    block.im[0] = 0.0;
    hri_verify_load(&c, &w, NULL, &block);
    miss->got[0] = block.re[0];
    miss->got[1] = block.im[0];
    miss->want[0] = ldexp(want[0], e->exponent);
    miss->want[1] = ldexp(want[1], e->exponent);
    miss->bound = ldexp(bound, e->exponent);
}

static bool judge(const hri_verify *v, const hri_verify_element *e,
                  hri_verify_miss *miss)
{
    double want[2] = {0.0, 0.0}, bound[2];
    if (v->k > 0) {
        add_scaled(e->alpha, e->sum, want);
    }
    if (v->old) {
        add_scaled(e->beta, e->old, want);
    }
    int wrong = wrong_part(v, e, want, bound);
    if (wrong < 0) {
        return true;
    }
    report_miss(v, e, want, bound[wrong], miss);
    miss->error = fabs(miss->got[wrong] - miss->want[wrong]);
    return false;
}

/* Whether scales took more from the element than rounding may. */
static bool is_dull(const hri_verify *v, const hri_verify_element *e)
{
    const double gamma = gamma_of(v);
    return e->exponent != 0 &&
           (e->lost > gamma * magnitude_of(e, 0) ||
            (v->complex && e->lost > gamma * magnitude_of(e, 1)));
}

/* Judge integers: all sums here are exact, in double and modulo 2^32. */
static bool judge_integer(const hri_verify *v, const hri_verify_element *e,
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

/* Columns of a row that are judged. */
typedef struct judged {
    const hri_verify *v;
    int64_t row, first;
    int64_t alone; /* elements that may be recomputed alone */
    hri_verify_miss *miss;
} judged;

/* Judge column `first + c`. False if it is wrong. */
static bool judge_column(judged *j, const hri_verify_element *e, int64_t c)
{
    const hri_verify *v = j->v;
    j->miss->col = j->first + c;
    if (v->integer) {
        return judge_integer(v, e, j->miss);
    }
    if (!is_dull(v, e)) {
        return judge(v, e, j->miss);
    }
    if (j->alone == 0) {
        j->miss->unchecked++;
        return true;
    }
    j->alone--;
    const hri_verify_element other =
        hri_verify_element_alone(v, j->row, j->first + c);
    return judge(v, &other, j->miss);
}

static void set_hole(const hri_verify *v, int64_t row, int64_t col,
                     const hri_verify_element *e, hri_verify_hole *hole)
{
    *hole = (hri_verify_hole){.row = row, .col = col};
    add_scaled(e->alpha, e->sum, hole->product);
    hole->size = hri_verify_size(v->alpha) * (e->straight + e->crossed);
}

void hri_verify_judge(const hri_verify *v, int64_t row, int64_t first,
                      uint64_t columns, hri_verify_miss *miss,
                      hri_verify_hole *holes)
{
    hri_verify_element elements[COLS];
    const int64_t windows = hri_ceil_div(v->n, COLS);
    judged j = {.v = v,
                .row = row,
                .first = first,
                .alone = hri_max(1, most_terms / windows / hri_max(v->k, 1)),
                .miss = miss};
    *miss = (hri_verify_miss){.row = row, .col = -1};
    hri_verify_elements(v, row, first, elements);
    bool right = true;
    for (int64_t c = 0; c < hri_min(COLS, v->n - first); c++) {
        if (holes != NULL) {
            set_hole(v, row, first + c, &elements[c], &holes[c]);
        }
        if (right && (columns >> c & 1) != 0) {
            right = judge_column(&j, &elements[c], c);
        }
    }
    miss->col = right ? -1 : miss->col;
}

typedef struct row_job {
    const hri_verify *v;
    int64_t row;
    pthread_mutex_t lock; /* guards *miss */
    hri_verify_miss *miss;
} row_job;

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
    job->miss->unchecked += miss.unchecked;
    if (miss.col >= 0 && (job->miss->col < 0 || miss.col < job->miss->col)) {
        miss.unchecked = job->miss->unchecked;
        *job->miss = miss;
    }
    pthread_mutex_unlock(&job->lock);
}

void hri_verify_row(const hri_verify *v, int64_t row, hri_verify_miss *miss)
{
    row_job job = {.v = v, .row = row, .miss = miss};
    *miss = (hri_verify_miss){.row = row, .col = -1};
    pthread_mutex_init(&job.lock, NULL);
    hri_verify_run(v, hri_ceil_div(v->n, COLS), row_task, &job, COLS * v->k);
    pthread_mutex_destroy(&job.lock);
}
