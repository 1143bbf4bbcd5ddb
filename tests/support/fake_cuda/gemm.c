/* SPDX-License-Identifier: MIT */
/* Products of the fake libraries. FAKE_CUDA_IDLE in the environment: they do
 * nothing, for tests that multiply nothing. */
#include <stdlib.h>

#include <headrace/half.h>

#include "fake_cuda.h"
#include "support/ordered.h"

static void load_element(hr_type type, const fake_operand *o, int64_t at,
                         double v[2])
{
    const void *start = o->start;
    v[1] = 0.0;
    switch (type) {
    case HR_F32:
        v[0] = (double)((const float *)start)[at];
        break;
    case HR_F64:
        v[0] = ((const double *)start)[at];
        break;
    case HR_C32:
        v[0] = (double)((const float *)start)[2 * at];
        v[1] = (double)((const float *)start)[2 * at + 1];
        break;
    case HR_C64:
        v[0] = ((const double *)start)[2 * at];
        v[1] = ((const double *)start)[2 * at + 1];
        break;
    case HR_F16:
        v[0] = (double)hr_f16_to_f32(((const uint16_t *)start)[at]);
        break;
    case HR_BF16:
        v[0] = (double)hr_bf16_to_f32(((const uint16_t *)start)[at]);
        break;
    case HR_I8:
        v[0] = (double)((const signed char *)start)[at];
        break;
    case HR_I32:
        v[0] = (double)((const int32_t *)start)[at];
        break;
    }
    v[1] = o->conjugate ? -v[1] : v[1];
}

static void store_element(hr_type type, void *start, int64_t at,
                          const double v[2])
{
    switch (type) {
    case HR_F32:
        ((float *)start)[at] = (float)v[0];
        break;
    case HR_F64:
        ((double *)start)[at] = v[0];
        break;
    case HR_C32:
        ((float *)start)[2 * at] = (float)v[0];
        ((float *)start)[2 * at + 1] = (float)v[1];
        break;
    case HR_C64:
        ((double *)start)[2 * at] = v[0];
        ((double *)start)[2 * at + 1] = v[1];
        break;
    case HR_F16:
        ((uint16_t *)start)[at] = hr_f32_to_f16((float)v[0]);
        break;
    case HR_BF16:
        ((uint16_t *)start)[at] = hr_f32_to_bf16((float)v[0]);
        break;
    default:
        /* Sums of doubles this small are exact; they wrap like integers. */
        ((uint32_t *)start)[at] = (uint32_t)(int64_t)v[0];
        break;
    }
}

/* to += x y */
static void add_product(double to[2], const double x[2], const double y[2],
                        bool complex)
{
    to[0] += x[0] * y[0];
    if (complex) {
        to[0] -= x[1] * y[1];
        to[1] += x[0] * y[1] + x[1] * y[0];
    }
}

static double round_to_half(hr_type type, double x)
{
    return type == HR_F16    ? (double)hr_f16_to_f32(hr_f32_to_f16((float)x))
           : type == HR_BF16 ? (double)hr_bf16_to_f32(hr_f32_to_bf16((float)x))
                             : x;
}

static void multiply_plain(const fake_product *p, bool twice)
{
    bool complex = p->type == HR_C32 || p->type == HR_C64;
    bool read = p->beta[0] != 0.0 || p->beta[1] != 0.0;
    if (getenv("FAKE_CUDA_IDLE") != NULL) {
        return;
    }
    for (int64_t i = 0; i < p->m; i++) {
        for (int64_t j = 0; j < p->n; j++) {
            double sum[2] = {0.0, 0.0}, result[2] = {0.0, 0.0};
            double x[2] = {0.0, 0.0}, y[2] = {0.0, 0.0};
            for (int64_t l = 0; l < p->k; l++) {
                load_element(p->type, &p->a,
                             i * p->a.row_stride + l * p->a.col_stride, x);
                load_element(p->type, &p->b,
                             l * p->b.row_stride + j * p->b.col_stride, y);
                add_product(sum, x, y, complex);
            }
            int64_t at = i * p->c.row_stride + j * p->c.col_stride;
            add_product(result, p->alpha, sum, complex);
            if (read) {
                result[0] =
                    twice ? round_to_half(p->c_type, result[0]) : result[0];
                load_element(p->c_type, &p->c, at, x);
                add_product(result, p->beta, x, complex);
            }
            store_element(p->c_type, p->c.start, at, result);
        }
    }
}

void fake_multiply(const fake_product *p)
{
    multiply_plain(p, false);
}

void fake_multiply_as_cublas(const fake_product *p)
{
    multiply_plain(p, true);
}

void fake_add(const fake_sums *s)
{
    const fake_operand c = {.start = s->c};
    for (int64_t i = 0; i < s->count * s->rows * s->cols; i++) {
        const int64_t line = i / s->cols;
        const int64_t at = line / s->rows * s->c_step +
                           line % s->rows * s->c_rows + i % s->cols;
        double v[2] = {0.0, 0.0};
        load_element(s->type, &c, at, v);
        v[0] = (double)s->sums[i] + (double)s->beta * v[0];
        store_element(s->type, c.start, at, v);
    }
}

/* Load `count` elements of a row or a column as pairs. */
static void load_line(hr_type type, const fake_operand *o, int64_t start,
                      int64_t step, int64_t count, double *to)
{
    for (int64_t l = 0; l < count; l++) {
        load_element(type, o, start + l * step, to + 2 * l);
    }
}

bool fake_multiply_ordered(const fake_product *p)
{
    const ordered o = {.wide = p->type == HR_F64 || p->type == HR_C64,
                       .complex = p->type == HR_C32 || p->type == HR_C64,
                       .alpha = {p->alpha[0], p->alpha[1]},
                       .beta = {p->beta[0], p->beta[1]}};
    const bool read = p->beta[0] != 0.0 || p->beta[1] != 0.0;
    const int64_t line = 2 * p->k;
    double *row = calloc((size_t)((p->n + 1) * line + 1), sizeof *row);
    double *columns = row + line;
    if (row == NULL) {
        return false;
    }
    for (int64_t j = 0; j < p->n; j++) {
        load_line(p->type, &p->b, j * p->b.col_stride, p->b.row_stride, p->k,
                  columns + j * line);
    }
    for (int64_t i = 0; i < p->m; i++) {
        load_line(p->type, &p->a, i * p->a.row_stride, p->a.col_stride, p->k,
                  row);
        for (int64_t j = 0; j < p->n; j++) {
            const int64_t at = i * p->c.row_stride + j * p->c.col_stride;
            double c[2] = {0.0, 0.0};
            if (p->mask != NULL && p->mask[i * p->n + j] == 0) {
                continue;
            }
            if (read) {
                load_element(p->c_type, &p->c, at, c);
            }
            ordered_element(&o, p->k, row, columns + j * line, c);
            store_element(p->c_type, p->c.start, at, c);
        }
    }
    free(row);
    return true;
}

void fake_factor(hr_type type, const void *factor, double out[2])
{
    bool complex = type == HR_C32 || type == HR_C64;
    out[1] = 0.0;
    if (type == HR_I8) {
        out[0] = (double)*(const int32_t *)factor;
    } else if (type == HR_F64 || type == HR_C64) {
        out[0] = ((const double *)factor)[0];
        out[1] = complex ? ((const double *)factor)[1] : 0.0;
    } else {
        out[0] = (double)((const float *)factor)[0];
        out[1] = complex ? (double)((const float *)factor)[1] : 0.0;
    }
}

static fake_operand column_major(const void *start, int64_t ld)
{
    return (fake_operand){(void *)(uintptr_t)start, 1, ld, false};
}

void fake_multiply_columns(hr_type type, const fake_columns *x)
{
    fake_product p = {.type = type,
                      .c_type = type,
                      .m = x->m,
                      .n = x->n,
                      .k = x->k,
                      .a = column_major(x->a, x->lda),
                      .b = column_major(x->b, x->ldb),
                      .c = column_major(x->c, x->ldc)};
    fake_factor(type, x->alpha, p.alpha);
    fake_factor(type, x->beta, p.beta);
    if (getenv("FAKE_XT_WRONG") != NULL) {
        p.alpha[0] = 2.0;
    }
    fake_multiply(&p);
}
