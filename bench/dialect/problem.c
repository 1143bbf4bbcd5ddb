/* SPDX-License-Identifier: MIT */
/* The problems: their kernels, their data, and checking results. */
#include <float.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "bench/dialect/dialect.h"
#include "console/random.h"

extern const hr_kernel bench_add, bench_histogram, bench_nothing,
    transpose_blocked, matmul_naive, matmul_blocked;

static const dialect_work works[] = {
    [DIALECT_ADD] = {"add", "add", &bench_add, {256, 1}, {256, 1}, false},
    [DIALECT_TRANSPOSE] =
        {"transpose", "transpose", &transpose_blocked, {32, 4}, {32, 32}, true},
    [DIALECT_MULTIPLY] =
        {"multiply", "multiply", &matmul_naive, {32, 8}, {32, 8}, false},
    [DIALECT_BLOCKED] = {"multiply in registers",
                         "multiply_blocked",
                         &matmul_blocked,
                         {8, 16},
                         {128, 128},
                         true},
    [DIALECT_HISTOGRAM] =
        {"histogram", "histogram", &bench_histogram, {256, 1}, {256, 1}, true},
    [DIALECT_NOTHING] =
        {"nothing", "nothing", &bench_nothing, {256, 1}, {256, 1}, false},
};

static void set_extents(dialect_problem *p)
{
    p->count = 3;
    p->numbers[0] = (int)p->rows;
    p->numbers[1] = (int)p->cols;
    p->numbers[2] = (int)p->depth;
    if (p->kind == DIALECT_ADD || p->kind == DIALECT_NOTHING) {
        p->count = p->kind == DIALECT_ADD ? 3 : 1;
        p->of[0] = p->of[1] = p->of[2] = hr_extent1(p->cols);
        p->numbers[0] = (int)p->cols;
        p->number_count = 1;
    } else if (p->kind == DIALECT_TRANSPOSE) {
        p->count = p->number_count = 2;
        p->of[0] = hr_extent2(p->rows, p->cols);
        p->of[1] = hr_extent2(p->cols, p->rows);
    } else if (p->kind == DIALECT_HISTOGRAM) {
        p->count = 2;
        p->of[0] = hr_extent1(p->depth);
        p->of[1] = hr_extent2(p->rows, p->cols);
    } else {
        p->number_count = 3;
        p->of[0] = hr_extent2(p->rows, p->depth);
        p->of[1] = hr_extent2(p->depth, p->cols);
        p->of[2] = hr_extent2(p->rows, p->cols);
    }
}

bool dialect_problem_create(dialect_problem *p, dialect_kind kind, int64_t rows,
                            int64_t cols, int64_t depth)
{
    *p = (dialect_problem){.kind = kind,
                           .work = &works[kind],
                           .rows = rows,
                           .cols = cols,
                           .depth = depth};
    set_extents(p);
    p->groups[0] = (unsigned)hri_ceil_div(cols, p->work->elements[0]);
    p->groups[1] = (unsigned)hri_ceil_div(rows, p->work->elements[1]);
    for (int i = 0; i < p->count; i++) {
        size_t count = (size_t)hr_extent_count(p->of[i]);
        p->bytes[i] = count * sizeof(float);
        p->arrays[i] = malloc(p->bytes[i]);
        if (p->arrays[i] == NULL ||
            !cli_random_fill(
                hr_matrix_row_major(p->arrays[i], HR_F32, 1, (int64_t)count, 0),
                (uint64_t)i + 1, NULL)) {
            dialect_problem_free(p);
            return false;
        }
    }
    return true;
}

void dialect_problem_free(dialect_problem *p)
{
    for (int i = 0; i < p->count; i++) {
        free(p->arrays[i]);
    }
    *p = (dialect_problem){.count = 0};
}

void dialect_spoil(dialect_problem *p)
{
    memset(p->arrays[p->count - 1], 0xff, p->bytes[p->count - 1]); /* NaN */
}

/* ---- checking results */

static hr_matrix matrix_of(const dialect_problem *p, int i)
{
    return hr_matrix_row_major(p->arrays[i], HR_F32, p->of[i].size[0],
                               p->of[i].size[1], 0);
}

static bool product_is_right(const dialect_problem *p)
{
    const double u = FLT_EPSILON / 2, k = (double)p->depth;
    return bench_product_error(matrix_of(p, 0), matrix_of(p, 1),
                               matrix_of(p, 2), 5000) <= k * u / (1 - k * u);
}

static bool sum_is_right(const dialect_problem *p)
{
    float *const *x = p->arrays;
    for (int64_t i = 0; i < p->cols; i++) {
        if (x[2][i] != x[0][i] + x[1][i]) {
            return false;
        }
    }
    return true;
}

static bool transpose_is_right(const dialect_problem *p)
{
    const float *from = p->arrays[0], *to = p->arrays[1];
    for (int64_t i = 0; i < p->rows; i++) {
        for (int64_t j = 0; j < p->cols; j++) {
            if (to[j * p->rows + i] != from[i * p->cols + j]) {
                return false;
            }
        }
    }
    return true;
}

static bool histogram_is_right(const dialect_problem *p)
{
    const int64_t all = p->rows * p->work->items[0];
    const int64_t many = hri_ceil_div(p->depth, all) * p->work->items[0];
    const float *x = p->arrays[0];
    float *parts = p->arrays[1];
    for (int64_t k = 0; k < p->depth; k++) {
        const int64_t bin = (int64_t)((int)(x[k] * 4096.0f) & (p->cols - 1));
        parts[k / many * p->cols + bin] -= 1.0f;
    }
    for (int64_t i = 0; i < p->rows * p->cols; i++) {
        if (parts[i] != 0.0f) {
            return false;
        }
    }
    return true;
}

bool dialect_is_right(const dialect_problem *p)
{
    switch (p->kind) {
    case DIALECT_ADD:
        return sum_is_right(p);
    case DIALECT_TRANSPOSE:
        return transpose_is_right(p);
    case DIALECT_HISTOGRAM:
        return histogram_is_right(p);
    case DIALECT_NOTHING:
        return true;
    default:
        return product_is_right(p);
    }
}
