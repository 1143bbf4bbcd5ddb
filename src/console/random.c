/* SPDX-License-Identifier: MIT */
#include "random.h"

#include <headrace/half.h>

#include "base/size.h"
#include "loop.h"

enum { CHUNK = 1 << 17 /* elements that a thread fills at a time */ };

uint64_t cli_random_draw(uint64_t key, uint64_t n)
{
    uint64_t z = key + (n + 1) * 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* The upper bits of a draw as an integer in [-2^(bits-1), 2^(bits-1)). */
static int64_t draw_integer(uint64_t key, uint64_t n, int bits)
{
    return (int64_t)(cli_random_draw(key, n) >> (64 - bits)) -
           ((int64_t)1 << (bits - 1));
}

static float draw_f32(uint64_t key, uint64_t n)
{
    return (float)draw_integer(key, n, 24) * 0x1p-23f;
}

static double draw_f64(uint64_t key, uint64_t n)
{
    return (double)draw_integer(key, n, 53) * 0x1p-52;
}

/* Write element number n, counted row by row, to place `at` in memory. */
static void put(const hr_matrix *m, uint64_t key, int64_t at, uint64_t n)
{
    switch (m->type) {
    case HR_F32:
        ((float *)m->data)[at] = draw_f32(key, n);
        break;
    case HR_F64:
        ((double *)m->data)[at] = draw_f64(key, n);
        break;
    case HR_C32:
        ((float *)m->data)[2 * at] = draw_f32(key, 2 * n);
        ((float *)m->data)[2 * at + 1] = draw_f32(key, 2 * n + 1);
        break;
    case HR_C64:
        ((double *)m->data)[2 * at] = draw_f64(key, 2 * n);
        ((double *)m->data)[2 * at + 1] = draw_f64(key, 2 * n + 1);
        break;
    case HR_F16:
        ((uint16_t *)m->data)[at] =
            hr_f32_to_f16((float)draw_integer(key, n, 11) * 0x1p-10f);
        break;
    case HR_BF16:
        ((uint16_t *)m->data)[at] =
            hr_f32_to_bf16((float)draw_integer(key, n, 8) * 0x1p-7f);
        break;
    case HR_I8:
        ((int8_t *)m->data)[at] = (int8_t)draw_integer(key, n, 8);
        break;
    case HR_I32:
        ((int32_t *)m->data)[at] = (int32_t)draw_integer(key, n, 11);
        break;
    }
}

typedef struct fill {
    hr_matrix m;
    uint64_t key;
} fill;

/* Fill one chunk of memory. In a column-major matrix the elements are numbered
 * differently from their order in memory. */
static void fill_chunk(void *data, int64_t index)
{
    const fill *f = data;
    bool by_rows = f->m.col_stride == 1;
    int64_t length = by_rows ? f->m.cols : f->m.rows; /* of a line in memory */
    int64_t next = by_rows ? 1 : f->m.cols;           /* along a line */
    int64_t next_line = by_rows ? f->m.cols : 1;
    int64_t at = index * CHUNK;
    int64_t end = hri_min(f->m.rows * f->m.cols, at + CHUNK);
    int64_t line = at / length, along = at % length;
    for (; at < end; at++) {
        put(&f->m, f->key, at, (uint64_t)(line * next_line + along * next));
        if (++along == length) {
            along = 0;
            line++;
        }
    }
}

bool cli_random_fill(hr_matrix m, uint64_t seed, cli_progress *progress)
{
    /* mix the seed first, so that neighbouring seeds do not give shifted
     * streams */
    fill f = {m, cli_random_draw(seed, 0)};
    return cli_loop(hri_ceil_div(m.rows * m.cols, CHUNK), fill_chunk, &f,
                    progress, (double)CHUNK * (double)hr_type_size(m.type));
}
