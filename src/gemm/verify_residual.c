/* SPDX-License-Identifier: MIT */
/* The random test: R = C X - alpha A (B X) - beta C0 X, compared with a
 * threshold for each row. The columns of R are the trials. docs/verify.md
 * derives the threshold. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "base/status.h"
#include "gemm/verify.h"

enum {
    GROUPS = HRI_VERIFY_GROUPS,
    ROWS = HRI_VERIFY_ROWS,
    COLS = HRI_VERIFY_COLS,
    DEPTH = 4096, /* the least piece of k: 1.5 MiB of B X */
    STRIP = 16384 /* the rows at a time where k is not cut: 6 MiB of A (B X) */
};

/* The noise of a right product should stay below this: see docs/verify.md. */
static const double noise_factor = 4.0;

/* Holes and scales may raise a threshold by this. */
static const double dull_factor = 4.0;

/* What is kept between the steps. Either all of B X is kept and rows come in
 * strips, or all rows are kept and k comes in chunks. So this needs less memory
 * than A, or a few MiB. */
typedef struct pass {
    const hri_verify *v;
    int64_t chunk_start, chunk; /* of k */
    int64_t strip_start, strip; /* of rows */
    hri_lanes *bx[2];           /* chunk x trials: B X, real and imaginary */
    hri_lanes *abx[2];          /* strip x trials: A (B X) */
    double *b_sums;             /* chunk: sum_j |b_pj| scale_j */
    double *a_sums;             /* strip: sum_p |a_ip| */
    double *product_sums;       /* strip: sum_j (|A||B|)_ij scale_j */
    double *hole_sums;          /* m: sums of sizes of holes times scale_j; NULL
                                   without holes */
    double b_sum;               /* sum of all b_sums */
    double *ratios;
} pass;

/* Squares of f64 numbers may overflow where the numbers were scaled. They only
 * serve an estimate, so it does no harm if small ones vanish. */
static double square_scale(const hri_verify *v)
{
    return v->row_exponents != NULL ? 0x1p-450 : 1.0;
}

/* sum_c (line[c] weights[c] scale)^2 */
static double square(const double *line, const double *weights, double scale,
                     int64_t cols)
{
    double scaled[COLS] = {0};
    for (int64_t c = 0; c < cols; c++) {
        scaled[c] = line[c] * weights[c];
    }
    for (int64_t c = 0; scale != 1.0 && c < cols; c++) {
        scaled[c] *= scale;
    }
    return hri_verify_weigh(scaled, scaled, cols);
}

static double square_row(const hri_verify *v, const hri_verify_block *block,
                         int64_t r, const double *weights, int64_t cols)
{
    const double scale = square_scale(v);
    double sum = square(block->re + r * COLS, weights, scale, cols);
    return v->complex ? sum + square(block->im + r * COLS, weights, scale, cols)
                      : sum;
}

/* out += M X for one block of M. The columns of M are C's. */
static void add_signs(const hri_verify *v, const hri_verify_block *block,
                      const hri_verify_window *w, hri_lanes *const out[2])
{
    hri_lanes signs[COLS * GROUPS];
    hri_verify_signs(v, w->col, w->cols, signs);
    hri_verify_multiply(block->re, w, signs, out[0]);
    if (v->complex) {
        hri_verify_multiply(block->im, w, signs, out[1]);
    }
    if (v->integer) {
        hri_verify_wrap(out[0], w->rows * GROUPS);
    }
}

/* M X for some rows, and the scaled sums along them. Holes are part of M X, but
 * not of the sums. squares may be NULL. */
static void add_rows(const hri_verify *v, const hri_verify_source *source,
                     hri_verify_window w, hri_lanes *const out[2], double *sums,
                     double *squares)
{
    hri_verify_block block;
    for (; w.col < v->n; w.col += COLS) {
        w.cols = hri_min(COLS, v->n - w.col);
        hri_verify_load(source, &w, v->skip_cols, &block);
        const bool holes = v->hole_count > 0 && source != &v->b;
        if (holes) {
            hri_verify_fill(v, &w, true, &block);
        }
        for (int64_t r = 0; r < w.rows; r++) {
            const double *scales = v->scales + w.col;
            sums[r] += hri_verify_weigh_row(v, &block, r, scales, w.cols);
            if (squares != NULL) {
                squares[r] += square_row(v, &block, r, scales, w.cols);
            }
        }
        if (holes && source == &v->c) {
            hri_verify_fill(v, &w, false, &block);
        }
        add_signs(v, &block, &w, out);
    }
}

/* Rows of B X and the scaled sums of |b| along them. */
static void b_task(void *data, int64_t index)
{
    pass *p = data;
    const hri_verify *v = p->v;
    int64_t first = index * ROWS;
    hri_verify_window w = {.row = p->chunk_start + first,
                           .rows = hri_min(ROWS, p->chunk - first)};
    hri_lanes *out[2] = {p->bx[0] + first * GROUPS,
                         v->complex ? p->bx[1] + first * GROUPS : NULL};
    memset(out[0], 0, ROWS * GROUPS * sizeof(hri_lanes));
    if (v->complex) {
        memset(out[1], 0, ROWS * GROUPS * sizeof(hri_lanes));
    }
    memset(p->b_sums + first, 0, (size_t)w.rows * sizeof(double));
    add_rows(v, &v->b, w, out, p->b_sums + first, NULL);
}

/* out += A Y for one block of A and the rows of Y = B X that belong to it. */
static void add_product(const pass *p, hri_verify_block *block,
                        const hri_verify_window *w, hri_lanes *const out[2])
{
    int64_t at = (w->col - p->chunk_start) * GROUPS;
    hri_verify_multiply(block->re, w, p->bx[0] + at, out[0]);
    if (p->v->complex) {
        hri_verify_multiply(block->re, w, p->bx[1] + at, out[1]);
        hri_verify_multiply(block->im, w, p->bx[0] + at, out[1]);
        for (int64_t i = 0; i < ROWS * COLS; i++) {
            block->im[i] = -block->im[i];
        }
        hri_verify_multiply(block->im, w, p->bx[1] + at, out[0]);
    }
    if (p->v->integer) {
        hri_verify_wrap(out[0], w->rows * GROUPS);
    }
}

/* Rows of A (B X) and the sums of |a| and |a||b| along them. */
static void a_task(void *data, int64_t index)
{
    pass *p = data;
    const hri_verify *v = p->v;
    hri_verify_block block = {.re = {0}};
    int64_t first = index * ROWS, end = p->chunk_start + p->chunk;
    hri_verify_window w = {.row = p->strip_start + first,
                           .col = p->chunk_start,
                           .rows = hri_min(ROWS, p->strip - first)};
    hri_lanes *out[2] = {p->abx[0] + first * GROUPS,
                         v->complex ? p->abx[1] + first * GROUPS : NULL};
    for (; w.col < end; w.col += COLS) {
        const double *weights = p->b_sums + (w.col - p->chunk_start);
        w.cols = hri_min(COLS, end - w.col);
        hri_verify_load(&v->a, &w, NULL, &block);
        for (int64_t r = 0; r < w.rows; r++) {
            p->a_sums[first + r] +=
                hri_verify_weigh_row(v, &block, r, NULL, w.cols);
            p->product_sums[first + r] +=
                hri_verify_weigh_row(v, &block, r, weights, w.cols);
        }
        add_product(p, &block, &w, out);
    }
}

/* The products of rows of C and C0 with X, real and imaginary, and the sums
 * along these rows. */
typedef struct signed_sums {
    hri_lanes c[2][ROWS * GROUPS];
    hri_lanes c0[2][ROWS * GROUPS];
    double c_sums[ROWS], c_squares[ROWS], c0_sums[ROWS], c0_squares[ROWS];
} signed_sums;

/* The threshold: the most that a right row's residual can be, and the most that
 * the test's own arithmetic may add. */
typedef struct threshold {
    double limit;
    double sharp; /* what the limit would be without holes and scales */
} threshold;

static threshold threshold_of(const pass *p, int64_t row, const signed_sums *x,
                              int64_t r)
{
    const hri_verify *v = p->v;
    const hri_verify_precision *t = &v->precision;
    const int64_t i = p->strip_start + row;
    double n = (double)v->n, k = (double)v->k;
    double alpha = hri_verify_size(v->alpha), beta = hri_verify_size(v->beta);
    double roundings = v->complex ? 2 * k + 4 : k + 2;
    double holes = p->hole_sums != NULL ? p->hole_sums[i] : 0.0;
    double all = alpha * p->product_sums[row] + beta * x->c0_sums[r];
    double magnitude = fmax(all - holes, 0.0);
    double bias = hri_verify_gamma(roundings, t->unit) * magnitude / n;
    double c = sqrt(x->c_squares[r]) / square_scale(v);
    double c0 = beta * sqrt(x->c0_squares[r]) / square_scale(v);
    double noise = t->unit * sqrt(roundings) * (c + c0) + t->half_unit * c +
                   sqrt(v->scale_squares) * t->half_subnormal / 2;
    double steps = 2.0 * (2.0 * COLS + n / COLS + k / COLS + 12.0);
    double gamma = hri_verify_gamma(steps, 0x1p-53);
    double right = fmax(bias, noise_factor * noise);
    double a = p->a_sums[row], own = v->scale_sum + n;
    const hri_verify_sums sums = {v->scale_sum, v->scale_sum * a, p->b_sum,
                                  hri_verify_b_unit(v, i)};
    const hri_verify_sums own_sums = {own, own * a, p->b_sum, sums.b_unit};
    double lost =
        hri_verify_underflow(v, &sums) + hri_verify_own_underflow(v, &own_sums);
    bool scaled = hri_verify_exponent(v, i) != 0;
    return (threshold){.limit =
                           right + gamma * (all + holes + x->c_sums[r]) + lost,
                       .sharp = right + gamma * (magnitude + x->c_sums[r]) +
                                (scaled ? 0.0 : lost)};
}

/* (re, im) -= s (x_re, x_im), lane by lane. */
static void subtract(hr_scalar s, const double *const x[2], double *re,
                     double *im)
{
    for (int t = 0; t < HRI_VERIFY_TRIALS; t++) {
        re[t] -= s.re * x[0][t];
        if (im != NULL) {
            re[t] += s.im * x[1][t];
            im[t] -= s.re * x[1][t] + s.im * x[0][t];
        }
    }
}

/* The largest residual of the trials. Infinity where one is not finite. */
static double largest_of(const double *r)
{
    double largest = 0.0;
    for (int t = 0; t < HRI_VERIFY_TRIALS; t++) {
        double size = fabs(r[t]);
        largest = size <= largest ? largest : size;
        if (!isfinite(size)) {
            return INFINITY;
        }
    }
    return largest;
}

/* Residuals of integers are exact modulo 2^32, so any but 0 is an error. */
static double integer_ratio(const hri_verify *v, const double *c,
                            const double *abx, const double *c0)
{
    uint32_t alpha = (uint32_t)(int64_t)v->alpha.re;
    uint32_t beta = (uint32_t)(int64_t)v->beta.re, wrong = 0;
    for (int t = 0; t < HRI_VERIFY_TRIALS; t++) {
        wrong |= (uint32_t)(int64_t)c[t] - alpha * (uint32_t)(int64_t)abx[t] -
                 beta * (uint32_t)(int64_t)c0[t];
    }
    return wrong != 0 ? 2.0 : 0.0;
}

static double ratio_of(const pass *p, int64_t row, int64_t r, signed_sums *x)
{
    const hri_verify *v = p->v;
    int64_t at = r * GROUPS, from = row * GROUPS;
    bool complex = v->complex;
    double *re = (double *)&x->c[0][at], *im = (double *)&x->c[1][at];
    const double *abx[2] = {(const double *)(p->abx[0] + from),
                            complex ? (const double *)(p->abx[1] + from)
                                    : NULL};
    const double *c0[2] = {(const double *)&x->c0[0][at],
                           (const double *)&x->c0[1][at]};
    if (v->integer) {
        return integer_ratio(v, re, abx[0], c0[0]);
    }
    subtract(v->alpha, abx, re, complex ? im : NULL);
    subtract(v->beta, c0, re, complex ? im : NULL);
    double residual =
        complex ? fmax(largest_of(re), largest_of(im)) : largest_of(re);
    const threshold t = threshold_of(p, row, x, r);
    if (!isfinite(residual) || !isfinite(t.limit)) {
        return INFINITY;
    }
    if (t.limit > dull_factor * t.sharp) {
        return residual <= t.limit ? HRI_VERIFY_DULL : INFINITY;
    }
    return residual <= t.limit ? 0.0 : residual / t.limit;
}

static void judge_task(void *data, int64_t index)
{
    pass *p = data;
    const hri_verify *v = p->v;
    signed_sums x;
    int64_t first = index * ROWS;
    hri_verify_window w = {.row = p->strip_start + first,
                           .rows = hri_min(ROWS, p->strip - first)};
    memset(&x, 0, sizeof x);
    add_rows(v, &v->c, w, (hri_lanes *const[2]){x.c[0], x.c[1]}, x.c_sums,
             x.c_squares);
    if (v->old) {
        add_rows(v, &v->c0, w, (hri_lanes *const[2]){x.c0[0], x.c0[1]},
                 x.c0_sums, x.c0_squares);
    }
    for (int64_t r = 0; r < w.rows; r++) {
        bool skip = v->skip_rows != NULL && v->skip_rows[w.row + r];
        p->ratios[w.row + r] = skip ? 0.0 : ratio_of(p, first + r, r, &x);
    }
}

static void release(pass *p)
{
    for (int i = 0; i < 2; i++) {
        free(p->bx[i]);
        free(p->abx[i]);
    }
    free(p->b_sums);
    free(p->a_sums);
    free(p->product_sums);
    free(p->hole_sums);
}

/* Allocate `rows` rows of lanes and of sums. rows is a whole number of
 * blocks. */
static bool allocate(const hri_verify *v, int64_t rows, hri_lanes *lanes[2],
                     double **sums)
{
    size_t padded = (size_t)(hri_round_up(rows, ROWS) + ROWS);
    size_t bytes = padded * GROUPS * sizeof(hri_lanes);
    for (int i = 0; i < (v->complex ? 2 : 1); i++) {
        lanes[i] = aligned_alloc(sizeof(hri_lanes), bytes);
        if (lanes[i] == NULL) {
            return false;
        }
    }
    *sums = calloc(padded, sizeof(double));
    return *sums != NULL;
}

/* Add up what holes have of the magnitudes of rows. */
static bool sum_holes(const hri_verify *v, pass *p)
{
    if (v->hole_count == 0) {
        return true;
    }
    p->hole_sums = calloc((size_t)v->m, sizeof(double));
    for (int64_t i = 0; p->hole_sums != NULL && i < v->hole_count; i++) {
        const hri_verify_hole *hole = &v->holes[i];
        p->hole_sums[hole->row] += hole->size * v->scales[hole->col];
    }
    return p->hole_sums != NULL;
}

static hr_status prepare(const hri_verify *v, double *ratios, pass *p)
{
    int64_t chunk = hri_round_up(hri_max(v->m, DEPTH), COLS);
    *p = (pass){.v = v, .ratios = ratios};
    p->chunk = hri_min(chunk, v->k);
    p->strip = v->k <= chunk ? hri_min(v->m, STRIP) : v->m;
    bool ok = allocate(v, p->chunk, p->bx, &p->b_sums) &&
              allocate(v, p->strip, p->abx, &p->a_sums);
    p->product_sums = calloc((size_t)p->strip, sizeof(double));
    if (!ok || p->product_sums == NULL || !sum_holes(v, p)) {
        return hri_fail(HR_ERROR_OUT_OF_MEMORY,
                        "verify: no memory for %d random products of %lld and "
                        "of %lld rows",
                        HRI_VERIFY_TRIALS, (long long)p->chunk,
                        (long long)p->strip);
    }
    return HR_OK;
}

static void clear_strip(pass *p)
{
    size_t rows = (size_t)hri_round_up(p->strip, ROWS);
    for (int i = 0; i < (p->v->complex ? 2 : 1); i++) {
        memset(p->abx[i], 0, rows * GROUPS * sizeof(hri_lanes));
    }
    memset(p->a_sums, 0, (size_t)p->strip * sizeof(double));
    memset(p->product_sums, 0, (size_t)p->strip * sizeof(double));
}

/* Compute B X for the chunk, unless it is there already. */
static void form_bx(pass *p)
{
    if (p->strip_start > 0) {
        return; /* then k is one chunk */
    }
    hri_verify_run(p->v, hri_ceil_div(p->chunk, ROWS), b_task, p,
                   ROWS * p->v->n);
    for (int64_t i = 0; i < p->chunk; i++) {
        p->b_sum += p->b_sums[i];
    }
}

hr_status hri_verify_residuals(hri_verify *v, double *ratios)
{
    pass p;
    hr_status status = hri_verify_scale(v);
    if (status != HR_OK) {
        return status;
    }
    status = prepare(v, ratios, &p);
    const int64_t chunk = p.chunk, strip = p.strip;
    for (; status == HR_OK && p.strip_start < v->m; p.strip_start += strip) {
        p.strip = hri_min(strip, v->m - p.strip_start);
        int64_t tasks = hri_ceil_div(p.strip, ROWS);
        clear_strip(&p);
        for (p.chunk_start = 0; p.chunk_start < v->k; p.chunk_start += chunk) {
            p.chunk = hri_min(chunk, v->k - p.chunk_start);
            form_bx(&p);
            hri_verify_run(v, tasks, a_task, &p, ROWS * p.chunk);
        }
        hri_verify_run(v, tasks, judge_task, &p,
                       ROWS * v->n * (v->old ? 2 : 1));
    }
    release(&p);
    return hri_verify_status(v, status);
}
