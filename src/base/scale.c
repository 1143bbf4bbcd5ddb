/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include <headrace/half.h>

#include "base/matrix.h"
#include "base/size.h"

typedef struct job {
    hr_scalar beta;
    const hr_matrix *c;
    int64_t rows; /* of a task */
} job;

static void scale_f32(float beta, float *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        x[i] *= beta;
    }
}

static void scale_f64(double beta, double *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        x[i] *= beta;
    }
}

/* A real factor must not turn an infinite part into NaN in the other one. */
static void scale_c32(hr_scalar beta, float *x, int64_t n)
{
    if (beta.im == 0.0) {
        scale_f32((float)beta.re, x, 2 * n);
        return;
    }
    float re = (float)beta.re, im = (float)beta.im;
    for (int64_t i = 0; i < n; i++) {
        float a = x[2 * i], b = x[2 * i + 1];
        x[2 * i] = re * a - im * b;
        x[2 * i + 1] = re * b + im * a;
    }
}

static void scale_c64(hr_scalar beta, double *x, int64_t n)
{
    if (beta.im == 0.0) {
        scale_f64(beta.re, x, 2 * n);
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        double a = x[2 * i], b = x[2 * i + 1];
        x[2 * i] = beta.re * a - beta.im * b;
        x[2 * i + 1] = beta.re * b + beta.im * a;
    }
}

static void scale_half(hr_type type, float beta, uint16_t *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        x[i] = type == HR_F16 ? hr_f32_to_f16(beta * hr_f16_to_f32(x[i]))
                              : hr_f32_to_bf16(beta * hr_bf16_to_f32(x[i]));
    }
}

static void scale_i32(uint32_t beta, uint32_t *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        x[i] *= beta;
    }
}

static void scale_row(const job *j, int64_t row)
{
    const hr_matrix *c = j->c;
    size_t size = hr_type_size(c->type);
    void *x = (char *)c->data + (size_t)(row * c->row_stride) * size;
    if (j->beta.re == 0.0 && j->beta.im == 0.0) {
        memset(x, 0, (size_t)c->cols * size);
        return;
    }
    switch (c->type) {
    case HR_F32:
        scale_f32((float)j->beta.re, x, c->cols);
        break;
    case HR_F64:
        scale_f64(j->beta.re, x, c->cols);
        break;
    case HR_C32:
        scale_c32(j->beta, x, c->cols);
        break;
    case HR_C64:
        scale_c64(j->beta, x, c->cols);
        break;
    case HR_F16:
    case HR_BF16:
        scale_half(c->type, (float)j->beta.re, x, c->cols);
        break;
    case HR_I32:
        /* modulo 2^32, of any size */
        scale_i32((uint32_t)(int64_t)fmod(j->beta.re, 0x1p32), x, c->cols);
        break;
    case HR_I8: /* no product is i8 */
        break;
    }
}

static void scale_rows(void *data, int64_t index)
{
    const job *j = data;
    const int64_t end = hri_min((index + 1) * j->rows, j->c->rows);
    for (int64_t row = index * j->rows; row < end; row++) {
        scale_row(j, row);
    }
}

void hri_matrix_scale(hri_pool *pool, hr_scalar beta, const hr_matrix *c)
{
    enum { ELEMENTS = 1 << 16 }; /* of a task, at most, if they are in rows */
    if (beta.re == 1.0 && beta.im == 0.0) {
        return;
    }
    job j = {beta, c, hri_max(ELEMENTS / hri_max(c->cols, 1), 1)};
    hri_pool_run(pool, hri_ceil_div(c->rows, j.rows), scale_rows, &j);
}
