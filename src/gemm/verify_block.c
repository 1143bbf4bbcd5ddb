/* SPDX-License-Identifier: MIT */
/* Matrices of any type and layout as blocks of doubles. */
#include <math.h>
#include <string.h>

#include <headrace/half.h>

#include "base/matrix.h"
#include "base/size.h"
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

/* 2^-exponent times x. The power is made of bits where it is a normal number,
 * as ldexp is slow. */
static double scaled(double x, int exponent)
{
    const uint64_t bits = (uint64_t)(1023 - exponent) << 52;
    double power;
    if (exponent < -1000 || exponent > 1000) {
        return ldexp(x, -exponent);
    }
    memcpy(&power, &bits, sizeof power);
    return x * power;
}

static void scale_plane(double *plane, const hri_verify_source *source,
                        const hri_verify_window *w)
{
    for (int64_t r = 0; r < w->rows; r++) {
        double *line = plane + r * HRI_VERIFY_COLS;
        const int row = source->rows != NULL ? source->rows[w->row + r] : 0;
        for (int64_t c = 0; row + source->all != 0 && c < w->cols; c++) {
            line[c] = scaled(line[c], row + source->all);
        }
    }
}

/* Clear skipped columns and padding. */
static void clear_plane(double *plane, const hri_verify_window *w,
                        const uint8_t *skip)
{
    int64_t cols = hri_round_up(w->cols, HRI_VERIFY_LANES);
    for (int64_t r = 0; r < w->rows; r++) {
        double *line = plane + r * HRI_VERIFY_COLS;
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

static void conjugate_plane(double *plane, const hri_verify_window *w)
{
    for (int64_t r = 0; r < w->rows; r++) {
        for (int64_t c = 0; c < w->cols; c++) {
            plane[r * HRI_VERIFY_COLS + c] = -plane[r * HRI_VERIFY_COLS + c];
        }
    }
}

static void finish_plane(double *plane, const hri_verify_source *source,
                         const hri_verify_window *w, const uint8_t *skip)
{
    if (source->rows != NULL || source->all != 0) {
        scale_plane(plane, source, w);
    }
    clear_plane(plane, w, skip);
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
    finish_plane(block->re, source, window, skip);
    if (hri_is_complex(m->type)) {
        finish_plane(block->im, source, window, skip);
    }
    if (m->conjugate && hri_is_complex(m->type)) {
        conjugate_plane(block->im, window);
    }
}
