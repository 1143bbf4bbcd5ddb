/* SPDX-License-Identifier: MIT */
/* Matrices of any type and layout as blocks of doubles. */
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <headrace/half.h>

#include "base/matrix.h"
#include "base/size.h"
#include "base/status.h"
#include "gemm/verify.h"

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
                  block->re + r * HRI_VERIFY_COLS,
                  block->im + r * HRI_VERIFY_COLS);
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
            block->re[r * HRI_VERIFY_COLS + c] = re[r];
        }
        for (int64_t r = 0; hri_is_complex(m->type) && r < w->rows; r++) {
            block->im[r * HRI_VERIFY_COLS + c] = im[r];
        }
    }
}

/* Multiply a plane by scale. Clear skipped columns and padding. */
static void finish_plane(double *plane, double scale,
                         const hri_verify_window *w, const uint8_t *skip)
{
    int64_t cols = hri_round_up(w->cols, HRI_VERIFY_LANES);
    for (int64_t r = 0; r < w->rows; r++) {
        double *line = plane + r * HRI_VERIFY_COLS;
        for (int64_t c = 0; scale != 1.0 && c < w->cols; c++) {
            line[c] *= scale;
        }
        for (int64_t c = 0; skip != NULL && c < w->cols; c++) {
            line[c] = skip[w->col + c] ? 0.0 : line[c];
        }
        for (int64_t c = w->cols; c < cols; c++) {
            line[c] = 0.0;
        }
    }
    for (int64_t r = w->rows; r % 4 != 0; r++) {
        memset(plane + r * HRI_VERIFY_COLS, 0,
               HRI_VERIFY_COLS * sizeof(double));
    }
}

void hri_verify_load(const hri_verify_source *source,
                     const hri_verify_window *window, const uint8_t *skip,
                     hri_verify_block *block)
{
    const hr_matrix *m = &source->matrix;
    if (m->col_stride == 1) {
        load_rows(m, window, block);
    } else {
        load_columns(m, window, block);
    }
    finish_plane(block->re, source->scale, window, skip);
    if (hri_is_complex(m->type)) {
        finish_plane(block->im, m->conjugate ? -source->scale : source->scale,
                     window, skip);
    }
}

/* One scan of a matrix. */
typedef struct scan {
    const hri_verify_source *source;
    uint8_t *flags;       /* of rows with a value that is not finite */
    bool old;             /* C0: flag rows without any finite value */
    pthread_mutex_t lock; /* guards largest */
    double largest;       /* the largest modulus of a finite part */
} scan;

static void scan_part(const double *line, int64_t cols, double *largest,
                      uint8_t *flag)
{
    for (int64_t c = 0; c < cols; c++) {
        double modulus = fabs(line[c]);
        if (isnan(modulus)) {
            *flag |= HRI_VERIFY_INFINITE | HRI_VERIFY_NAN;
        } else if (isinf(modulus)) {
            *flag |= HRI_VERIFY_INFINITE;
        } else if (modulus > *largest) {
            *largest = modulus;
        }
    }
}

/* Whether no element of row r of a block is finite. */
static bool none_finite(const hri_verify_block *block, int64_t r, int64_t cols,
                        bool complex)
{
    const double *re = block->re + r * HRI_VERIFY_COLS;
    const double *im = block->im + r * HRI_VERIFY_COLS;
    for (int64_t c = 0; c < cols; c++) {
        if (isfinite(re[c]) && (!complex || isfinite(im[c]))) {
            return false;
        }
    }
    return true;
}

static void scan_task(void *data, int64_t index)
{
    scan *s = data;
    const hr_matrix *m = &s->source->matrix;
    hri_verify_block block;
    double largest = 0.0;
    const bool complex = hri_is_complex(m->type);
    bool covered[HRI_VERIFY_ROWS];
    hri_verify_window w = {.row = index * HRI_VERIFY_ROWS};
    w.rows = hri_min(HRI_VERIFY_ROWS, m->rows - w.row);
    memset(covered, s->old, sizeof covered);
    for (w.col = 0; w.col < m->cols; w.col += HRI_VERIFY_COLS) {
        w.cols = hri_min(HRI_VERIFY_COLS, m->cols - w.col);
        hri_verify_load(s->source, &w, NULL, &block);
        for (int64_t r = 0; r < w.rows; r++) {
            uint8_t flag = 0;
            const int64_t line = r * HRI_VERIFY_COLS;
            scan_part(block.re + line, w.cols, &largest, &flag);
            if (complex) {
                scan_part(block.im + line, w.cols, &largest, &flag);
            }
            s->flags[w.row + r] |= s->old ? 0 : flag;
            covered[r] =
                covered[r] && flag && none_finite(&block, r, w.cols, complex);
        }
    }
    for (int64_t r = 0; r < w.rows; r++) {
        s->flags[w.row + r] |= covered[r] ? HRI_VERIFY_COVERED : 0;
    }
    pthread_mutex_lock(&s->lock);
    s->largest = fmax(s->largest, largest);
    pthread_mutex_unlock(&s->lock);
}

/* Flag rows of one matrix, and choose a scale that brings it below 1. Returns
 * the power of two that the scale removes. A matrix below 2^-1000 is not
 * scaled, as the scale would overflow. */
static int scan_matrix(hri_pool *pool, hri_verify_source *source,
                       uint8_t *flags, bool old)
{
    scan s = {.source = source, .flags = flags, .old = old};
    int exponent = 0;
    pthread_mutex_init(&s.lock, NULL);
    hri_pool_run(pool, hri_ceil_div(source->matrix.rows, HRI_VERIFY_ROWS),
                 scan_task, &s);
    pthread_mutex_destroy(&s.lock);
    frexp(s.largest, &exponent);
    exponent = exponent > -1000 ? exponent : -1000;
    source->scale = ldexp(1.0, -exponent);
    return exponent;
}

static int exponent_of(hr_scalar s)
{
    int exponent = 0;
    double modulus = fmax(fabs(s.re), fabs(s.im));
    if (isfinite(modulus)) { /* frexp is not defined for other values */
        frexp(modulus, &exponent);
    }
    return exponent;
}

static hr_scalar scale_scalar(hr_scalar s, int exponent)
{
    return (hr_scalar){ldexp(s.re, exponent), ldexp(s.im, exponent)};
}

/* The flags that a factor gives to all rows. */
static uint8_t flags_of(hr_scalar s)
{
    if (isnan(s.re) || isnan(s.im)) {
        return HRI_VERIFY_INFINITE | HRI_VERIFY_NAN;
    }
    return isinf(s.re) || isinf(s.im) ? HRI_VERIFY_INFINITE : 0;
}

/* Scan C0 along its rows and along its columns. */
static int scan_old(hri_verify *v)
{
    hri_verify_source columns = v->c0;
    columns.matrix = hr_matrix_transpose(v->c0.matrix);
    scan_matrix(v->pool, &columns, v->skip_cols, true);
    return scan_matrix(v->pool, &v->c0, v->skip_rows, true);
}

/* Choose the exponent of the whole problem, and scale the rest: C and the
 * factors. a, b and old are the exponents that the scales of A, B and C0
 * remove. */
static void scale_problem(hri_verify *v, int a, int b, int old)
{
    int exponent = exponent_of(v->alpha) + a + b;
    if (v->old) {
        int other = exponent_of(v->beta) + old;
        exponent = v->k == 0 || other > exponent ? other : exponent;
    }
    exponent = exponent > -1000 ? exponent : -1000;
    v->exponent = exponent;
    v->c.scale = v->units.one = ldexp(1.0, -exponent);
    v->units.a = ldexp(1.0, a - exponent);
    v->units.b = ldexp(1.0, b - exponent);
    v->units.product = ldexp(1.0, a + b - exponent);
    v->units.old = ldexp(1.0, old - exponent);
    v->alpha = scale_scalar(v->alpha, a + b - exponent);
    v->beta = scale_scalar(v->beta, old - exponent);
    hri_verify_precision *p = &v->precision;
    p->largest = ldexp(p->largest, -exponent);
    p->overflow = ldexp(p->overflow, -exponent);
    p->half_subnormal = ldexp(p->half_subnormal, -exponent);
}

hr_status hri_verify_scan(hri_verify *v)
{
    v->skip_rows = calloc((size_t)v->m, 1);
    v->skip_cols = calloc((size_t)v->n, 1);
    if (v->skip_rows == NULL || v->skip_cols == NULL) {
        return hri_fail(HR_ERROR_OUT_OF_MEMORY,
                        "verify: no memory for the flags of %lld rows and "
                        "%lld columns",
                        (long long)v->m, (long long)v->n);
    }
    hri_verify_source columns = v->b;
    columns.matrix = hr_matrix_transpose(v->b.matrix);
    int a = scan_matrix(v->pool, &v->a, v->skip_rows, false);
    int b = scan_matrix(v->pool, &columns, v->skip_cols, false);
    v->b.scale = columns.scale;
    int old = v->old ? scan_old(v) : 0;
    const uint8_t flags = flags_of(v->alpha) | flags_of(v->beta);
    for (int64_t i = 0; i < v->m; i++) {
        v->skip_rows[i] |= flags;
    }
    scale_problem(v, a, b, old);
    return HR_OK;
}
