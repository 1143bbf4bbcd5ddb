/* SPDX-License-Identifier: MIT */
#include "mpi/elements.h"

#include <string.h>

#include <headrace/half.h>

/* ---- copies */

void hri_mpi_copy_box(hri_mpi_place to, hri_mpi_place from, int64_t rows,
                      int64_t cols, size_t element_bytes)
{
    const int64_t width = (int64_t)element_bytes;
    const bool whole = to.row_stride == 1 && from.row_stride == 1;
    for (int64_t j = 0; j < cols; j++) {
        char *out = to.data + j * to.col_stride * width;
        const char *in = from.data + j * from.col_stride * width;
        if (whole) {
            memcpy(out, in, (size_t)rows * element_bytes);
            continue;
        }
        for (int64_t i = 0; i < rows; i++) {
            memcpy(out, in, element_bytes);
            out += to.row_stride * width;
            in += from.row_stride * width;
        }
    }
}

/* ---- sums */

/* One column of a box. */
typedef struct column {
    char *c;
    int64_t stride; /* in elements */
    int64_t rows;
    const char *const *terms;
    size_t at; /* bytes of each term before the column */
} column;

static void sum_f32(const hri_mpi_sum *s, const column *x)
{
    const float beta = (float)s->beta.re;
    float *c = (float *)(void *)x->c;
    for (int64_t i = 0; i < x->rows; i++) {
        float all = 0.0f;
        for (int t = 0; t < s->count; t++) {
            all += ((const float *)(const void *)(x->terms[t] + x->at))[i];
        }
        float *to = &c[i * x->stride];
        *to = beta == 0.0f ? all : beta * *to + all;
    }
}

static void sum_f64(const hri_mpi_sum *s, const column *x)
{
    const double beta = s->beta.re;
    double *c = (double *)(void *)x->c;
    for (int64_t i = 0; i < x->rows; i++) {
        double all = 0.0;
        for (int t = 0; t < s->count; t++) {
            all += ((const double *)(const void *)(x->terms[t] + x->at))[i];
        }
        double *to = &c[i * x->stride];
        *to = beta == 0.0 ? all : beta * *to + all;
    }
}

static void sum_c32(const hri_mpi_sum *s, const column *x)
{
    const float re = (float)s->beta.re, im = (float)s->beta.im;
    const bool read = re != 0.0f || im != 0.0f;
    float *c = (float *)(void *)x->c;
    for (int64_t i = 0; i < x->rows; i++) {
        float all[2] = {0.0f, 0.0f};
        for (int t = 0; t < s->count; t++) {
            const float *from =
                (const float *)(const void *)(x->terms[t] + x->at);
            all[0] += from[2 * i];
            all[1] += from[2 * i + 1];
        }
        float *to = &c[2 * i * x->stride];
        const float old[2] = {read ? to[0] : 0.0f, read ? to[1] : 0.0f};
        to[0] = read ? re * old[0] - im * old[1] + all[0] : all[0];
        to[1] = read ? re * old[1] + im * old[0] + all[1] : all[1];
    }
}

static void sum_c64(const hri_mpi_sum *s, const column *x)
{
    const double re = s->beta.re, im = s->beta.im;
    const bool read = re != 0.0 || im != 0.0;
    double *c = (double *)(void *)x->c;
    for (int64_t i = 0; i < x->rows; i++) {
        double all[2] = {0.0, 0.0};
        for (int t = 0; t < s->count; t++) {
            const double *from =
                (const double *)(const void *)(x->terms[t] + x->at);
            all[0] += from[2 * i];
            all[1] += from[2 * i + 1];
        }
        double *to = &c[2 * i * x->stride];
        const double old[2] = {read ? to[0] : 0.0, read ? to[1] : 0.0};
        to[0] = read ? re * old[0] - im * old[1] + all[0] : all[0];
        to[1] = read ? re * old[1] + im * old[0] + all[1] : all[1];
    }
}

/* Modulo 2^32. */
static void sum_i32(const hri_mpi_sum *s, const column *x)
{
    const uint32_t beta = (uint32_t)(int64_t)s->beta.re;
    uint32_t *c = (uint32_t *)(void *)x->c;
    for (int64_t i = 0; i < x->rows; i++) {
        uint32_t all = 0;
        for (int t = 0; t < s->count; t++) {
            all += ((const uint32_t *)(const void *)(x->terms[t] + x->at))[i];
        }
        uint32_t *to = &c[i * x->stride];
        *to = beta == 0 ? all : beta * *to + all;
    }
}

/* C is f16 or bf16, and terms are f32. */
static void sum_half(const hri_mpi_sum *s, const column *x)
{
    const float beta = (float)s->beta.re;
    const bool wide = s->type == HR_BF16;
    unsigned short *c = (unsigned short *)(void *)x->c;
    for (int64_t i = 0; i < x->rows; i++) {
        float all = 0.0f;
        for (int t = 0; t < s->count; t++) {
            all += ((const float *)(const void *)(x->terms[t] + x->at))[i];
        }
        unsigned short *to = &c[i * x->stride];
        if (beta != 0.0f) {
            all += beta * (wide ? hr_bf16_to_f32(*to) : hr_f16_to_f32(*to));
        }
        *to = wide ? hr_f32_to_bf16(all) : hr_f32_to_f16(all);
    }
}

void hri_mpi_sum_box(const hri_mpi_sum *s, const hri_mpi_box *box,
                     const char **terms)
{
    static void (*const sums[])(const hri_mpi_sum *, const column *) = {
        [HR_F32] = sum_f32, [HR_F64] = sum_f64,  [HR_C32] = sum_c32,
        [HR_C64] = sum_c64, [HR_F16] = sum_half, [HR_BF16] = sum_half,
        [HR_I32] = sum_i32};
    const size_t width = hr_type_size(s->term_type);
    column x = {.stride = box->row_stride, .rows = box->rows, .terms = terms};
    for (int64_t j = 0; j < box->cols; j++) {
        x.c = box->owned + j * box->col_stride * (int64_t)hr_type_size(s->type);
        sums[s->type](s, &x);
        x.at += (size_t)box->rows * width;
    }
    for (int t = 0; t < s->count; t++) {
        terms[t] += x.at;
    }
}
