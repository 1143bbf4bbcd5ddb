/* SPDX-License-Identifier: MIT */
/* The problems: their data, what is right, and how kernels by hand are laid
 * out. */
#include <float.h>
#include <stdlib.h>
#include <string.h>

#include "bench/dialect/dialect.h"
#include "bench/operands.h"
#include "console/random.h"

const char *dialect_kind_name(dialect_kind kind)
{
    static const char *const names[] = {"add", "transpose", "multiply",
                                        "multiply in registers", "nothing"};
    return names[kind];
}

static void set_extents(dialect_problem *p)
{
    const hr_extent line = {1, {p->cols}};
    p->count = 3;
    switch (p->kind) {
    case DIALECT_ADD:
        p->of[0] = p->of[1] = p->of[2] = line;
        break;
    case DIALECT_TRANSPOSE:
        p->count = 2;
        p->of[0] = hr_extent2(p->rows, p->cols);
        p->of[1] = hr_extent2(p->cols, p->rows);
        break;
    case DIALECT_NOTHING:
        p->count = 1;
        p->of[0] = line;
        break;
    default:
        p->of[0] = hr_extent2(p->rows, p->depth);
        p->of[1] = hr_extent2(p->depth, p->cols);
        p->of[2] = hr_extent2(p->rows, p->cols);
    }
}

bool dialect_problem_create(dialect_problem *p, dialect_kind kind, int64_t rows,
                            int64_t cols, int64_t depth)
{
    *p = (dialect_problem){
        .kind = kind, .rows = rows, .cols = cols, .depth = depth};
    set_extents(p);
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

/* ---- what is right */

static bool product_is_right(const dialect_problem *p)
{
    const double u = FLT_EPSILON / 2, k = (double)p->depth;
    const hr_matrix a =
        hr_matrix_row_major(p->arrays[0], HR_F32, p->rows, p->depth, 0);
    const hr_matrix b =
        hr_matrix_row_major(p->arrays[1], HR_F32, p->depth, p->cols, 0);
    const hr_matrix c =
        hr_matrix_row_major(p->arrays[2], HR_F32, p->rows, p->cols, 0);
    return bench_product_error(a, b, c, 5000) <= k * u / (1 - k * u);
}

static bool transpose_is_right(const dialect_problem *p)
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

bool dialect_is_right(const dialect_problem *p)
{
    bool ok = true;
    switch (p->kind) {
    case DIALECT_ADD:
        for (int64_t i = 0; i < p->cols && ok; i++) {
            ok = p->arrays[2][i] == p->arrays[0][i] + p->arrays[1][i];
        }
        return ok;
    case DIALECT_TRANSPOSE:
        return transpose_is_right(p);
    case DIALECT_NOTHING:
        return true;
    default:
        return product_is_right(p);
    }
}

/* ---- by hand */

int dialect_numbers(const dialect_problem *p, int numbers[3])
{
    switch (p->kind) {
    case DIALECT_ADD:
    case DIALECT_NOTHING:
        numbers[0] = (int)p->cols;
        return 1;
    case DIALECT_TRANSPOSE:
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

void dialect_groups(const dialect_problem *p, unsigned groups[2],
                    unsigned items[2])
{
    unsigned cols = 32, rows = 8; /* elements of a group */
    items[0] = 32;
    items[1] = 8;
    if (p->kind == DIALECT_ADD || p->kind == DIALECT_NOTHING) {
        items[0] = cols = 256;
        items[1] = rows = 1;
    } else if (p->kind == DIALECT_TRANSPOSE) {
        items[1] = 4;
        rows = 32;
    } else if (p->kind == DIALECT_BLOCKED) {
        items[0] = items[1] = 16;
        cols = rows = 128;
    }
    groups[0] = pieces(p->cols, cols);
    groups[1] = pieces(p->rows, rows);
}
