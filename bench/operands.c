/* SPDX-License-Identifier: MIT */
#include "bench/bench.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/matrix.h"
#include "console/random.h"

enum { ALIGNMENT = 4096 };

void *bench_allocate(hr_context *pinned, size_t bytes)
{
    void *memory = NULL;
    const bool there = pinned != NULL
                           ? hr_allocate_pinned(pinned, bytes, &memory) == HR_OK
                           : posix_memalign(&memory, ALIGNMENT, bytes) == 0;
    return there ? memory : NULL;
}

void bench_release(hr_context *pinned, void *memory)
{
    if (pinned != NULL) {
        hr_free_pinned(pinned, memory);
    } else {
        free(memory);
    }
}

/* ---- operands */

/* The matrices of all products as one. */
static hr_matrix all_of(const bench_operands *o, hr_matrix m)
{
    m.rows *= o->count;
    return m;
}

static bool make_matrix(const bench_operands *o, hr_matrix *m, hr_type type,
                        int64_t rows, int64_t cols, uint64_t seed)
{
    const size_t bytes =
        (size_t)(o->count * rows) * (size_t)cols * hr_type_size(type);
    void *data = bench_allocate(o->pinned, bytes);
    *m = hr_matrix_row_major(data, type, rows, cols, 0);
    return data != NULL && cli_random_fill(all_of(o, *m), seed, NULL);
}

bool bench_operands_make(bench_operands *o, const bench_operands_wish *wish)
{
    const int64_t count = wish->count > 0 ? wish->count : 1;
    if (o->a.data != NULL && o->a.type == wish->type && o->c.rows == wish->m &&
        o->c.cols == wish->n && o->a.cols == wish->k && o->count == count &&
        o->pinned == wish->pinned) {
        return true;
    }
    bench_operands_free(o);
    o->pinned = wish->pinned;
    o->count = count;
    if (!make_matrix(o, &o->a, wish->type, wish->m, wish->k, 1) ||
        !make_matrix(o, &o->b, wish->type, wish->k, wish->n, 2) ||
        !make_matrix(o, &o->c, wish->c_type, wish->m, wish->n, 3)) {
        bench_operands_free(o);
        return false;
    }
    return true;
}

static hr_matrix matrix_at(hr_matrix m, int64_t index)
{
    m.data = (char *)m.data +
             (size_t)(index * m.rows * m.cols) * hr_type_size(m.type);
    return m;
}

bench_operands bench_operands_at(const bench_operands *o, int64_t index)
{
    return (bench_operands){.a = matrix_at(o->a, index),
                            .b = matrix_at(o->b, index),
                            .c = matrix_at(o->c, index),
                            .count = 1};
}

bool bench_operands_spoil(const bench_operands *o)
{
    return cli_random_fill(all_of(o, o->c), 4, NULL);
}

void bench_operands_free(bench_operands *operands)
{
    void *const all[] = {operands->a.data, operands->b.data, operands->c.data};
    for (int i = 0; i < 3; i++) {
        bench_release(operands->pinned, all[i]);
    }
    memset(operands, 0, sizeof *operands);
}

/* ---- the error of a product */

/* Number `part` (0: real) of an element. */
static double part_of(const hr_matrix *m, int64_t at, int part)
{
    const bool complex = hri_is_complex(m->type);
    const bool wide = m->type == HR_F64 || m->type == HR_C64;
    const int64_t i = complex ? 2 * at + part : at;
    if (part == 1 && !complex) {
        return 0.0;
    }
    return wide ? ((const double *)m->data)[i]
                : (double)((const float *)m->data)[i];
}

static double element_error(const hr_matrix *a, const hr_matrix *b,
                            const hr_matrix *c, int64_t at)
{
    const int64_t row = at / c->cols, col = at % c->cols;
    double re = 0.0, im = 0.0, size = 0.0;
    for (int64_t l = 0; l < a->cols; l++) {
        const int64_t i = row * a->cols + l, j = l * b->cols + col;
        const double ar = part_of(a, i, 0), ai = part_of(a, i, 1);
        const double br = part_of(b, j, 0), bi = part_of(b, j, 1);
        re += ar * br - ai * bi;
        im += ar * bi + ai * br;
        size += hypot(ar, ai) * hypot(br, bi);
    }
    const double off = hypot(part_of(c, at, 0) - re, part_of(c, at, 1) - im);
    return off == 0.0 ? 0.0 : off / size;
}

double bench_product_error(hr_matrix a, hr_matrix b, hr_matrix c,
                           int64_t samples)
{
    const int64_t all = c.rows * c.cols;
    const int64_t step = all > samples ? all / samples | 1 : 1;
    double worst = 0.0;
    for (int64_t at = 0; at < all; at += step) {
        const double error = element_error(&a, &b, &c, at);
        if (!isfinite(error)) {
            return INFINITY;
        }
        worst = fmax(worst, error);
    }
    return worst;
}
