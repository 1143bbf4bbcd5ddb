/* SPDX-License-Identifier: MIT */
#include "support/plain.h"

#include <string.h>

#include <headrace/half.h>

void plain_store(const hr_matrix *m, int64_t row, int64_t col, double re,
                 double im)
{
    double parts[2] = {re, m->conjugate ? -im : im};
    float narrow[2] = {(float)parts[0], (float)parts[1]};
    size_t size = hr_type_size(m->type);
    const void *from = narrow;
    uint16_t half = 0;
    int8_t byte = 0;
    int32_t word = 0;
    if (m->type == HR_F64 || m->type == HR_C64) {
        from = parts;
    } else if (m->type == HR_F16 || m->type == HR_BF16) {
        half = m->type == HR_F16 ? hr_f32_to_f16(narrow[0])
                                 : hr_f32_to_bf16(narrow[0]);
        from = &half;
    } else if (m->type == HR_I8) {
        byte = (int8_t)re;
        from = &byte;
    } else if (m->type == HR_I32) {
        word = (int32_t)re;
        from = &word;
    }
    int64_t at = row * m->row_stride + col * m->col_stride;
    memcpy((char *)m->data + at * (int64_t)size, from, size);
}

double plain_rounded(double x, hr_type c_type)
{
    return c_type == HR_F64 || c_type == HR_C64 ? x : (double)(float)x;
}

/* s x for complex numbers, each operation rounded. */
static void scale_number(hr_scalar s, hr_type type, double *re, double *im)
{
    double x = *re, y = *im;
    hr_scalar r = {plain_rounded(s.re, type), plain_rounded(s.im, type)};
    *re = plain_rounded(r.re * x, type);
    *im = plain_rounded(r.re * y, type);
    if (r.im != 0.0) {
        *re = plain_rounded(*re - plain_rounded(r.im * y, type), type);
        *im = plain_rounded(*im + plain_rounded(r.im * x, type), type);
    }
}

static void sum_terms(const reference_problem *x, int64_t i, int64_t j,
                      double sum[2])
{
    hr_type type = x->c.type;
    sum[0] = sum[1] = 0.0;
    for (int64_t p = 0; p < x->a.cols; p++) {
        double ar, ai, br, bi;
        reference_load(&x->a, i, p, &ar, &ai);
        reference_load(&x->b, p, j, &br, &bi);
        sum[0] = plain_rounded(sum[0] + plain_rounded(ar * br, type), type);
        if (type == HR_C32 || type == HR_C64) {
            sum[0] = plain_rounded(sum[0] - plain_rounded(ai * bi, type), type);
            sum[1] = plain_rounded(sum[1] + plain_rounded(ar * bi, type), type);
            sum[1] = plain_rounded(sum[1] + plain_rounded(ai * br, type), type);
        }
    }
}

static void set_integer(const reference_problem *x, int64_t i, int64_t j)
{
    double old = 0.0, none;
    uint32_t sum = 0;
    for (int64_t p = 0; p < x->a.cols; p++) {
        double a, b;
        reference_load(&x->a, i, p, &a, &none);
        reference_load(&x->b, p, j, &b, &none);
        sum += (uint32_t)(int32_t)(a * b);
    }
    if (x->beta.re != 0.0) {
        reference_load(&x->c, i, j, &old, &none);
    }
    sum = (uint32_t)(int64_t)x->alpha.re * sum +
          (uint32_t)(int64_t)x->beta.re * (uint32_t)(int64_t)old;
    plain_store(&x->c, i, j, (double)(int32_t)sum, 0.0);
}

static void set_element(const reference_problem *x, int64_t i, int64_t j)
{
    double sum[2] = {0.0, 0.0}, old[2] = {0.0, 0.0};
    if (x->alpha.re != 0.0 || x->alpha.im != 0.0) {
        sum_terms(x, i, j, sum);
        scale_number(x->alpha, x->c.type, &sum[0], &sum[1]);
    }
    if (x->beta.re != 0.0 || x->beta.im != 0.0) {
        reference_load(&x->c, i, j, &old[0], &old[1]);
        scale_number(x->beta, x->c.type, &old[0], &old[1]);
    }
    plain_store(&x->c, i, j, plain_rounded(sum[0] + old[0], x->c.type),
                plain_rounded(sum[1] + old[1], x->c.type));
}

void plain_product(const reference_problem *problem)
{
    for (int64_t i = 0; i < problem->c.rows; i++) {
        for (int64_t j = 0; j < problem->c.cols; j++) {
            if (problem->c.type == HR_I32) {
                set_integer(problem, i, j);
            } else {
                set_element(problem, i, j);
            }
        }
    }
}
