/* SPDX-License-Identifier: MIT */
/* Elements of matrices of any type: loaded as doubles, recomputed, and judged
 * against the rounding bound of hr_gemm. */
#include <fenv.h>
#include <float.h>
#include <pthread.h>
#include <string.h>

#include <headrace/half.h>

#include "base/matrix.h"
#include "base/size.h"
#include "verify/verify.h"

enum { ROWS = HRI_VERIFY_ROWS, COLS = HRI_VERIFY_COLS };

/* ---- loops over tasks */

typedef struct loop {
    const hri_verify *v;
    hri_pool_function function;
    void *data;
    int64_t elements;
} loop;

/* In the usual arithmetic: on x86 long double has a control register of its
 * own, which HRI_USUAL_ARITHMETIC leaves alone. */
static void run_task(void *data, int64_t index)
{
    const loop *l = data;
    fenv_t was;
    if (hri_verify_stopped(l->v)) {
        return;
    }
    (void)fegetenv(&was);
    (void)fesetenv(FE_DFL_ENV);
    l->function(l->data, index);
    (void)fesetenv(&was);
    if (l->v->progress != NULL) {
        hri_progress_add(l->v->progress, (uint64_t)l->elements);
    }
}

void hri_verify_run(const hri_verify *v, int64_t count,
                    hri_pool_function function, void *data, int64_t elements)
{
    loop l = {v, function, data, elements};
    hri_pool_run(v->pool, count, run_task, &l);
}

bool hri_verify_stopped(const hri_verify *v)
{
    return v->progress != NULL && hri_progress_stopped(v->progress);
}

hr_status hri_verify_status(const hri_verify *v, hr_status status)
{
    return v->progress != NULL ? hri_progress_status(v->progress, status)
                               : status;
}

/* ---- blocks */

/* Convert `count` neighbouring elements. Each type has a loop of its own, so
 * that the compiler vectorises it. im is written for complex types only. */
static void load_line(const void *from, hr_type type, int64_t count,
                      double *restrict re, double *restrict im)
{
    const float *f = from;
    const double *d = from;
    const uint16_t *h = from;
    const int8_t *b = from;
    const int32_t *i = from;
    for (int64_t x = 0; type == HR_F32 && x < count; x++) {
        re[x] = (double)f[x];
    }
    for (int64_t x = 0; type == HR_F64 && x < count; x++) {
        re[x] = d[x];
    }
    for (int64_t x = 0; type == HR_C32 && x < count; x++) {
        re[x] = (double)f[2 * x];
        im[x] = (double)f[2 * x + 1];
    }
    for (int64_t x = 0; type == HR_C64 && x < count; x++) {
        re[x] = d[2 * x];
        im[x] = d[2 * x + 1];
    }
    for (int64_t x = 0; type == HR_F16 && x < count; x++) {
        re[x] = (double)hr_f16_to_f32(h[x]);
    }
    for (int64_t x = 0; type == HR_BF16 && x < count; x++) {
        re[x] = (double)hr_bf16_to_f32(h[x]);
    }
    for (int64_t x = 0; type == HR_I8 && x < count; x++) {
        re[x] = (double)b[x];
    }
    for (int64_t x = 0; type == HR_I32 && x < count; x++) {
        re[x] = (double)i[x];
    }
}

/* Convert along rows: their elements follow each other in memory. */
static void load_rows(const hr_matrix *m, const hri_verify_window *w,
                      hri_verify_block *block)
{
    int64_t size = (int64_t)hr_type_size(m->type);
    const char *from =
        (const char *)m->data + (w->row * m->row_stride + w->col) * size;
    for (int64_t r = 0; r < w->rows; r++) {
        load_line(from + r * m->row_stride * size, m->type, w->cols,
                  block->re + r * COLS, block->im + r * COLS);
    }
}

/* Convert along columns: their elements follow each other in memory. */
static void load_columns(const hr_matrix *m, const hri_verify_window *w,
                         hri_verify_block *block)
{
    double re[HRI_VERIFY_ROWS], im[HRI_VERIFY_ROWS];
    int64_t size = (int64_t)hr_type_size(m->type);
    const char *from =
        (const char *)m->data + (w->row + w->col * m->col_stride) * size;
    for (int64_t c = 0; c < w->cols; c++) {
        load_line(from + c * m->col_stride * size, m->type, w->rows, re, im);
        for (int64_t r = 0; r < w->rows; r++) {
            block->re[r * COLS + c] = re[r];
        }
        for (int64_t r = 0; hri_is_complex(m->type) && r < w->rows; r++) {
            block->im[r * COLS + c] = im[r];
        }
    }
}

/* Clear skipped columns and padding. */
static void clear_plane(double *plane, const hri_verify_window *w,
                        const uint8_t *skip)
{
    int64_t cols = hri_round_up(w->cols, HRI_VERIFY_LANES);
    for (int64_t r = 0; r < w->rows; r++) {
        double *line = plane + r * COLS;
        for (int64_t c = 0; skip != NULL && c < w->cols; c++) {
            line[c] = skip[w->col + c] ? 0.0 : line[c];
        }
        for (int64_t c = w->cols; c < cols; c++) {
            line[c] = 0.0;
        }
    }
    for (int64_t r = w->rows; r % 4 != 0; r++) {
        memset(plane + r * COLS, 0, COLS * sizeof(double));
    }
}

void hri_verify_load(const hr_matrix *m, const hri_verify_window *window,
                     const uint8_t *skip, hri_verify_block *block)
{
    if (m->col_stride == 1) {
        load_rows(m, window, block);
    } else {
        load_columns(m, window, block);
    }
    clear_plane(block->re, window, skip);
    if (!hri_is_complex(m->type)) {
        return;
    }
    clear_plane(block->im, window, skip);
    for (int64_t r = 0; m->conjugate && r < window->rows; r++) {
        for (int64_t c = 0; c < window->cols; c++) {
            block->im[r * COLS + c] = -block->im[r * COLS + c];
        }
    }
}

/* ---- rounding */

static const hri_verify_precision single = {
    .unit = 0x1p-24,
    .smallest = FLT_MIN, /* accelerators may flush smaller numbers to zero */
    .largest = (double)FLT_MAX,
    .overflow = 0x1.ffffffp127,
};

static const hri_verify_precision twice = {
    .unit = 0x1p-53,
    .smallest = 0x1p-1074, /* no accelerator flushes double */
    .largest = DBL_MAX,
    .overflow = DBL_MAX,
};

hri_verify_precision hri_verify_precision_of(hr_type c_type)
{
    hri_verify_precision p = single;
    if (c_type == HR_F64 || c_type == HR_C64) {
        p = twice;
    } else if (c_type == HR_F16) {
        p.overflow = 65520.0;
        p.half_unit = 0x1p-11;
        p.half_subnormal = 0x1p-24;
    } else if (c_type == HR_BF16) {
        p.overflow = 0x1.ffp127;
        p.half_unit = 0x1p-8;
        p.half_subnormal = 0x1p-133;
    }
    return p;
}

/* For complex elements only the terms count that reach the real or the
 * imaginary part. */
long double hri_verify_underflow(const hri_verify *v, double smallest,
                                 double elements, long double a, long double b)
{
    const long double alpha = 1.0L + hri_verify_size(v->alpha);
    const long double beta = 1.0L + hri_verify_size(v->beta);
    const long double terms = 3.0L * (long double)v->k * elements + a + b;
    return smallest * (alpha * terms + 2.0L * beta * elements);
}

/* ---- elements recomputed
 *
 * All sums are in long double. It has at least 64 bits on x86-64 and aarch64,
 * and no product of f64 numbers overflows or underflows there. */

/* Sums over k for 64 neighbouring columns. */
typedef struct row_sums {
    long double sum[2][COLS];  /* of A B: real, imaginary */
    long double size[2][COLS]; /* of |ar br| + |ai bi| and |ar bi| + |ai br|, of
                                  finite values */
    long double a, b[COLS];    /* of |re| + |im|, likewise */
} row_sums;

/* One element. */
typedef struct element {
    long double sum[2], size[2]; /* as in row_sums */
    double old[2], got[2];       /* of C0 and C */
    long double lost;            /* what underflow may have taken */
    long double peak; /* the largest that a sum may become on the way, or an
                         operand times alpha */
} element;

static long double finite_modulus(long double x)
{
    return isfinite(x) ? fabsl(x) : 0.0L;
}

/* Add the products of one part of a row of A and one of a block of B. */
static void add_products(const double *a, const double *b, int64_t rows,
                         int64_t cols, long double *sums, long double *sizes)
{
    for (int64_t c = 0; c < cols; c++) {
        long double sum = sums[c], size = sizes[c];
        for (int64_t p = 0; p < rows; p++) {
            const long double term = (long double)a[p] * b[p * COLS + c];
            sum += term;
            size += finite_modulus(term);
        }
        sums[c] = sum;
        sizes[c] = size;
    }
}

static void add_block(const hri_verify *v, hri_verify_block *a,
                      const hri_verify_block *b, int64_t rows, int64_t cols,
                      row_sums *s)
{
    add_products(a->re, b->re, rows, cols, s->sum[0], s->size[0]);
    if (v->complex) {
        add_products(a->re, b->im, rows, cols, s->sum[1], s->size[1]);
        add_products(a->im, b->re, rows, cols, s->sum[1], s->size[1]);
    }
    for (int64_t p = 0; p < rows; p++) {
        s->a += finite_modulus(a->re[p]);
        s->a += v->complex ? finite_modulus(a->im[p]) : 0.0L;
        for (int64_t c = 0; c < cols; c++) {
            s->b[c] += finite_modulus(b->re[p * COLS + c]);
            s->b[c] += v->complex ? finite_modulus(b->im[p * COLS + c]) : 0.0L;
        }
        a->im[p] = -a->im[p];
    }
    if (v->complex) {
        add_products(a->im, b->im, rows, cols, s->sum[0], s->size[0]);
    }
}

static void sum_columns(const hri_verify *v, const hri_verify_window *w,
                        row_sums *s)
{
    hri_verify_block a, b;
    hri_verify_window wa = {.row = w->row, .rows = 1};
    hri_verify_window wb = {.col = w->col, .cols = w->cols};
    memset(s, 0, sizeof *s);
    memset(a.im, 0, ROWS * sizeof a.im[0]);
    for (; wb.row < v->k; wb.row += ROWS) {
        wb.rows = hri_min(ROWS, v->k - wb.row);
        wa.col = wb.row;
        wa.cols = wb.rows;
        hri_verify_load(&v->a, &wa, NULL, &a);
        hri_verify_load(&v->b, &wb, NULL, &b);
        add_block(v, &a, &b, wb.rows, wb.cols, s);
    }
}

static element element_of(const hri_verify *v, const row_sums *s, int64_t c,
                          const hri_verify_block *got,
                          const hri_verify_block *old)
{
    const long double alpha = hri_verify_size(v->alpha);
    const long double beta = hri_verify_size(v->beta);
    element e = {.sum = {s->sum[0][c], s->sum[1][c]},
                 .size = {s->size[0][c], s->size[1][c]},
                 .got = {got->re[c], v->complex ? got->im[c] : 0.0}};
    e.lost = hri_verify_underflow(v, v->precision.smallest, 1.0, s->a, s->b[c]);
    e.peak = fmaxl(1.0L, alpha) * (e.size[0] + e.size[1]);
    if (alpha > 1.0L) {
        e.peak = fmaxl(e.peak, alpha * fmaxl(s->a, s->b[c]));
    }
    if (v->old) {
        e.old[0] = old->re[c];
        e.old[1] = v->complex ? old->im[c] : 0.0;
        e.peak += beta * (finite_modulus(e.old[0]) + finite_modulus(e.old[1]));
    }
    return e;
}

/* ---- elements judged */

/* want += s x, in plain arithmetic of the parts. */
static void add_scaled(hr_scalar s, const long double x[2], long double want[2])
{
    want[0] += s.re * x[0];
    want[1] += s.re * x[1];
    if (s.im != 0.0) {
        want[0] -= s.im * x[1];
        want[1] += s.im * x[0];
    }
}

/* Half a unit in the last place of a half C at |x|; 0 for other types. */
static long double half_ulp(const hri_verify_precision *p, long double x)
{
    int exponent;
    if (p->half_unit == 0.0 || !isfinite(x)) {
        return 0.0L;
    }
    frexpl(x, &exponent);
    return fmax(ldexp(p->half_unit, exponent - 1), p->half_subnormal / 2);
}

/* The absolute terms of part i of s times x. With a complex s, each part has
 * terms from both parts of x. */
static long double spread(hr_scalar s, const long double sizes[2], int i)
{
    return fabs(s.re) * sizes[i] + fabs(s.im) * sizes[1 - i];
}

/* The bound of part i, 0 real and 1 imaginary, but for rounding to a half C. To
 * that of docs/verify.md it adds what this file's own arithmetic may lose: two
 * units of long double for each operation. */
static long double bound_of(const hri_verify *v, const element *e, int i)
{
    const long double old[2] = {finite_modulus(e->old[0]),
                                finite_modulus(e->old[1])};
    const long double size = spread(v->alpha, e->size, i) +
                             (v->old ? spread(v->beta, old, i) : 0.0L);
    const double roundings = hri_verify_roundings(v);
    return (hri_verify_gamma(roundings, v->precision.unit) +
            (roundings + 8.0) * LDBL_EPSILON) *
               size +
           e->lost;
}

/* Whether sums may overflow, or operands on which alpha was multiplied first.
 * No sum exceeds that of its absolute terms by more than rounding. */
static bool may_overflow(const hri_verify *v, const element *e)
{
    const double gamma =
        hri_verify_gamma(hri_verify_roundings(v), v->precision.unit);
    return !((1.0L + gamma) * e->peak < v->precision.largest);
}

/* bound is without the rounding to a half C, which may overflow. */
static bool part_is_right(const hri_verify_precision *p, double got,
                          long double want, long double bound)
{
    if (isnan(want)) {
        return isnan(got);
    }
    if (isinf(want)) {
        return got == want;
    }
    if (isinf(got)) {
        return (got > 0.0) == (want > 0.0L) &&
               !(fabsl(want) + bound < p->overflow);
    }
    return fabsl(got - want) <= bound + half_ulp(p, fabsl(want) + bound);
}

/* The part that is wrong, or -1. If a complex element should have a part that
 * is not finite, it must have one. Implementations differ in which part, so
 * either will do. */
static int wrong_part(const hri_verify *v, const element *e,
                      const long double want[2], long double bound[2])
{
    const hri_verify_precision *p = &v->precision;
    const bool got_finite = isfinite(e->got[0]) && isfinite(e->got[1]);
    int wrong = -1;
    for (int i = 1; i >= 0; i--) {
        bound[i] = bound_of(v, e, i);
        wrong = part_is_right(p, e->got[i], want[i], bound[i]) ? wrong : i;
        bound[i] += half_ulp(p, fabsl(want[i]) + bound[i]);
    }
    if (!got_finite && may_overflow(v, e)) {
        /* an infinite term may meet an overflow, but only to become NaN */
        return isinf(want[0]) && isinf(e->got[0]) && !v->complex ? wrong : -1;
    }
    if (v->complex && !(isfinite(want[0]) && isfinite(want[1]))) {
        return got_finite ? 0 : -1;
    }
    return wrong;
}

/* Integers: all sums are exact, and C is modulo 2^32. */
static bool integer_is_right(const hri_verify *v, const element *e,
                             hri_verify_miss *miss)
{
    const uint32_t want =
        (uint32_t)(int64_t)v->alpha.re * (uint32_t)(int64_t)e->sum[0] +
        (uint32_t)(int64_t)v->beta.re * (uint32_t)(int64_t)e->old[0];
    miss->want[0] = (double)(int32_t)want;
    miss->got[0] = e->got[0];
    miss->error = fabs(miss->got[0] - miss->want[0]);
    return miss->error == 0.0;
}

static bool element_is_right(const hri_verify *v, const element *e,
                             hri_verify_miss *miss)
{
    const long double old[2] = {e->old[0], e->old[1]};
    long double want[2] = {0.0L, 0.0L}, bound[2];
    if (v->integer) {
        return integer_is_right(v, e, miss);
    }
    if (v->k > 0) {
        add_scaled(v->alpha, e->sum, want);
    }
    if (v->old) {
        add_scaled(v->beta, old, want);
    }
    const int wrong = wrong_part(v, e, want, bound);
    if (wrong < 0) {
        return true;
    }
    for (int i = 0; i < 2; i++) {
        miss->got[i] = e->got[i];
        miss->want[i] = (double)want[i];
    }
    miss->error = fabs(miss->got[wrong] - miss->want[wrong]);
    miss->bound = (double)bound[wrong];
    return false;
}

static void keep_first(hri_verify_first *f, const hri_verify_miss *miss)
{
    const hri_verify_miss *best = &f->miss;
    pthread_mutex_lock(&f->lock);
    if (best->col < 0 || miss->row < best->row ||
        (miss->row == best->row && miss->col < best->col)) {
        f->miss = *miss;
    }
    pthread_mutex_unlock(&f->lock);
}

void hri_verify_judge(const hri_verify *v, const hri_verify_window *w,
                      uint64_t columns, hri_verify_first *first)
{
    hri_verify_block got, old;
    row_sums s;
    sum_columns(v, w, &s);
    hri_verify_load(&v->c, w, NULL, &got);
    if (v->old) {
        hri_verify_load(&v->c0, w, NULL, &old);
    }
    for (int64_t c = 0; c < w->cols; c++) {
        hri_verify_miss miss = {.row = w->row, .col = w->col + c};
        const element e = element_of(v, &s, c, &got, &old);
        if ((columns >> c & 1) != 0 && !element_is_right(v, &e, &miss)) {
            keep_first(first, &miss);
            return;
        }
    }
}

typedef struct row_job {
    const hri_verify *v;
    int64_t row;
    hri_verify_first first;
} row_job;

static void row_task(void *data, int64_t index)
{
    row_job *job = data;
    const hri_verify *v = job->v;
    hri_verify_window w = {.row = job->row, .col = index * COLS, .rows = 1};
    uint64_t columns = UINT64_MAX;
    w.cols = hri_min(COLS, v->n - w.col);
    for (int64_t c = 0; v->skip_cols != NULL && c < w.cols; c++) {
        columns ^= (uint64_t)(v->skip_cols[w.col + c] != 0) << c;
    }
    hri_verify_judge(v, &w, columns, &job->first);
}

void hri_verify_row(const hri_verify *v, int64_t row, hri_verify_miss *miss)
{
    row_job job = {.v = v, .row = row, .first.miss = {.row = row, .col = -1}};
    pthread_mutex_init(&job.first.lock, NULL);
    hri_verify_run(v, hri_ceil_div(v->n, COLS), row_task, &job, COLS * v->k);
    pthread_mutex_destroy(&job.first.lock);
    *miss = job.first.miss;
}
