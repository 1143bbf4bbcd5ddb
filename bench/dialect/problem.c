/* SPDX-License-Identifier: MIT */
/* The problems: their data, what is right, and how kernels by hand are laid
 * out. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

const char *bench_kind_name(bench_kind kind)
{
    static const char *const names[] = {"add", "transpose", "multiply",
                                        "multiply in registers", "nothing"};
    return names[kind];
}

float *bench_result(const bench_problem *p)
{
    return p->arrays[p->count - 1];
}

/* Numbers in [-1, 1): splitmix64 [Steele2014]. */
static void fill(float *data, size_t count, uint64_t state)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t x = state += 0x9e3779b97f4a7c15u;
        x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
        x = (x ^ x >> 27) * 0x94d049bb133111ebu;
        data[i] = (float)(int32_t)((x ^ x >> 31) >> 32) * 0x1p-31f;
    }
}

static void set_extents(bench_problem *p)
{
    const hr_extent line = {1, {p->cols}};
    p->count = 3;
    switch (p->kind) {
    case BENCH_ADD:
        p->of[0] = p->of[1] = p->of[2] = line;
        break;
    case BENCH_TRANSPOSE:
        p->count = 2;
        p->of[0] = hr_extent2(p->rows, p->cols);
        p->of[1] = hr_extent2(p->cols, p->rows);
        break;
    case BENCH_NOTHING:
        p->count = 1;
        p->of[0] = line;
        break;
    default:
        p->of[0] = hr_extent2(p->rows, p->depth);
        p->of[1] = hr_extent2(p->depth, p->cols);
        p->of[2] = hr_extent2(p->rows, p->cols);
    }
}

bool bench_problem_create(bench_problem *p, bench_kind kind, int64_t rows,
                          int64_t cols, int64_t depth)
{
    *p = (bench_problem){
        .kind = kind, .rows = rows, .cols = cols, .depth = depth};
    set_extents(p);
    for (int i = 0; i < p->count; i++) {
        size_t count = (size_t)hr_extent_count(p->of[i]);
        p->bytes[i] = count * sizeof(float);
        p->arrays[i] = malloc(p->bytes[i]);
        if (p->arrays[i] == NULL) {
            bench_problem_free(p);
            return false;
        }
        fill(p->arrays[i], count, (uint64_t)i + 1);
    }
    return true;
}

void bench_problem_free(bench_problem *p)
{
    for (int i = 0; i < p->count; i++) {
        free(p->arrays[i]);
    }
    *p = (bench_problem){.count = 0};
}

void bench_spoil(bench_problem *p)
{
    memset(bench_result(p), 0xff, p->bytes[p->count - 1]); /* NaN */
}

/* ---- what is right */

static bool product_is_right(const bench_problem *p)
{
    const double u = FLT_EPSILON / 2, k = (double)p->depth;
    const int64_t most = 5000, all = p->rows * p->cols;
    const int64_t step = all > most ? all / most | 1 : 1;
    const float *a = p->arrays[0], *b = p->arrays[1], *c = p->arrays[2];
    bool ok = true;
    for (int64_t at = 0; at < all && ok; at += step) {
        int64_t i = at / p->cols, j = at % p->cols;
        double sum = 0.0, size = 0.0;
        for (int64_t x = 0; x < p->depth; x++) {
            double one = (double)a[i * p->depth + x] * b[x * p->cols + j];
            sum += one;
            size += fabs(one);
        }
        ok = fabs(c[at] - sum) <= k * u / (1 - k * u) * size;
    }
    return ok;
}

static bool transpose_is_right(const bench_problem *p)
{
    const float *from = p->arrays[0], *to = p->arrays[1];
    bool ok = true;
    for (int64_t i = 0; i < p->rows && ok; i++) {
        for (int64_t j = 0; j < p->cols && ok; j++) {
            ok = to[j * p->rows + i] == from[i * p->cols + j];
        }
    }
    return ok;
}

bool bench_is_right(const bench_problem *p)
{
    bool ok = true;
    switch (p->kind) {
    case BENCH_ADD:
        for (int64_t i = 0; i < p->cols && ok; i++) {
            ok = p->arrays[2][i] == p->arrays[0][i] + p->arrays[1][i];
        }
        return ok;
    case BENCH_TRANSPOSE:
        return transpose_is_right(p);
    case BENCH_NOTHING:
        return true;
    default:
        return product_is_right(p);
    }
}

/* ---- by hand */

int bench_numbers(const bench_problem *p, int numbers[3])
{
    switch (p->kind) {
    case BENCH_ADD:
    case BENCH_NOTHING:
        numbers[0] = (int)p->cols;
        return 1;
    case BENCH_TRANSPOSE:
        numbers[0] = (int)p->rows;
        numbers[1] = (int)p->cols;
        return 2;
    default:
        numbers[0] = (int)p->rows;
        numbers[1] = (int)p->cols;
        numbers[2] = (int)p->depth;
        return 3;
    }
}

static unsigned pieces(int64_t extent, int64_t piece)
{
    return (unsigned)((extent + piece - 1) / piece);
}

void bench_grid(const bench_problem *p, unsigned groups[2], unsigned items[2])
{
    unsigned cols = 32, rows = 8; /* elements of a group */
    items[0] = 32;
    items[1] = 8;
    if (p->kind == BENCH_ADD || p->kind == BENCH_NOTHING) {
        items[0] = cols = 256;
        items[1] = rows = 1;
    } else if (p->kind == BENCH_TRANSPOSE) {
        items[1] = 4;
        rows = 32;
    } else if (p->kind == BENCH_BLOCKED) {
        items[0] = items[1] = 16;
        cols = rows = 128;
    }
    groups[0] = pieces(p->cols, cols);
    groups[1] = pieces(p->rows, rows);
}
