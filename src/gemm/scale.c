/* SPDX-License-Identifier: MIT */
/* C := beta C. */

#include <string.h>

#include <headrace/half.h>

#include "gemm/run.h"

typedef struct job {
    hr_scalar beta;
    const hr_matrix *c;
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

static void scale_c32(hr_scalar beta, float *x, int64_t n)
{
    float re = (float)beta.re, im = (float)beta.im;
    for (int64_t i = 0; i < n; i++) {
        float a = x[2 * i], b = x[2 * i + 1];
        x[2 * i] = re * a - im * b;
        x[2 * i + 1] = re * b + im * a;
    }
}

static void scale_c64(hr_scalar beta, double *x, int64_t n)
{
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

static void scale_i32(int32_t beta, uint32_t *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        x[i] *= (uint32_t)beta;
    }
}

static void scale_row(void *data, int64_t row)
{
    const job *j = data;
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
        scale_i32((int32_t)j->beta.re, x, c->cols);
        break;
    case HR_I8: /* no product is i8 */
        break;
    }
}

void hri_scale(hri_pool *pool, hr_scalar beta, const hr_matrix *c)
{
    if (beta.re == 1.0 && beta.im == 0.0) {
        return;
    }
    job j = {beta, c};
    hri_pool_run(pool, c->rows, scale_row, &j);
}
