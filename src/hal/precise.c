/* SPDX-License-Identifier: MIT */
#include "hal/precise.h"

#include "base/size.h"

/* Coprime. */
static const u32 moduli[PRECISE_MODULI] = {256, 255, 253, 251, 247, 241,
                                           239, 233, 229, 227, 223, 217,
                                           211, 199, 197, 193};

/* How many moduli make an integer of more than 2^(bits + 1.4). */
typedef struct room {
    i32 moduli, bits;
} room;

/* Short slices have fewer numbers to be right with. */
static room room_of(bool wide, i32 up)
{
    if (wide) {
        return up >= 14 ? (room){15, 116} : (room){16, 124};
    }
    return up >= 9 ? (room){8, 62} : (room){9, 70};
}

static void multiply(u32 number[4], u32 factor)
{
    u64 carry = 0;
    for (int i = 0; i < 4; i++) {
        carry += (u64)number[i] * factor;
        number[i] = (u32)carry;
        carry >>= 32;
    }
}

/* The x in (0, modulus) with x n = 1 modulo modulus. */
static u32 inverse_of(u32 n, u32 modulus)
{
    u32 x = 1;
    while (x * n % modulus != 1) {
        x++;
    }
    return x;
}

static void fill_modulus(precise_form *f, int m)
{
    const u32 modulus = moduli[m];
    u32 rest = 1;
    f->modulus[m] = modulus;
    f->magic[m] = (u32)((UINT64_C(1) << 32) / modulus);
    f->above[m] = ((UINT32_C(1) << 30) / modulus + 1) * modulus;
    f->share[m] = 1.0f / (float)modulus;
    f->weight[m][0] = 1;
    for (int i = 0; i < f->moduli; i++) {
        if (i != m) {
            multiply(f->weight[m], moduli[i]);
            rest = rest * moduli[i] % modulus;
        }
    }
    const u32 inverse = inverse_of(rest, modulus);
    for (int i = 0; i < 3; i++) {
        const u32 power = (u32)((UINT64_C(1) << 21 * i) % modulus);
        f->factor[0][m][i] = power * inverse % modulus;
        f->factor[1][m][i] = power;
    }
}

static bool is_wide(hr_type type)
{
    return type == HR_F64 || type == HR_C64;
}

/* The form of a slice of k with `count` elements. */
static precise_form form_of(hr_type type, int64_t count)
{
    const i32 numbers = (i32)count * hri_precise_parts(type);
    precise_form f = {.wide = is_wide(type), .count = numbers};
    f.log2 = 31 - __builtin_clz((u32)numbers);
    const i32 up = f.log2 + (numbers > 1 << f.log2);
    const room r = room_of(is_wide(type), up);
    f.moduli = r.moduli;
    f.bits = (r.bits - up) / 2;
    f.product[0] = 1;
    for (int m = 0; m < f.moduli; m++) {
        fill_modulus(&f, m);
        multiply(f.product, moduli[m]);
    }
    return f;
}

int64_t hri_precise_depth(hr_type type)
{
    return PRECISE_DEPTH / hri_precise_parts(type);
}

bool hri_precise_next(hr_type type, int64_t k, hri_precise_slice *p)
{
    enum { STEP = 128 };
    const int64_t first = p->first + p->length, before = p->length;
    if (first >= k) {
        return false;
    }
    p->first = first;
    p->length = hri_min(k - first, hri_precise_depth(type));
    p->width = hri_round_up(p->length * hri_precise_parts(type), STEP);
    if (p->length != before) {
        p->form = form_of(type, p->length);
    }
    p->parts = hri_precise_parts(type);
    return true;
}

/* The most moduli of a slice. */
static int planes_of(bool wide)
{
    return wide ? 16 : 9;
}

/* Room for the most moduli: a shorter k never needs more than a longer one. */
uint64_t hri_precise_known(const hri_precise_slice *p, int side, int64_t count)
{
    enum { LINES = 64 }; /* as kernels/cuda/precise_dots.cu wants */
    const int64_t lines =
        hri_round_up(count * (side == 1 ? p->parts : 1), LINES);
    return (uint64_t)(planes_of(p->form.wide != 0) * lines * p->width);
}

uint64_t hri_precise_size(const hri_precise_slice *p, int side, int64_t count)
{
    enum { ALIGNMENT = 256 };
    const int64_t lines = count * (int64_t)sizeof(precise_line);
    return hri_precise_known(p, side, count) +
           (uint64_t)hri_round_up(lines, ALIGNMENT);
}

uint64_t hri_precise_bytes(hr_type type, int side, int64_t count, int64_t k)
{
    enum { LARGEST = 1 << 28 }; /* of lines, and of numbers in a line */
    hri_precise_slice slice = {0};
    uint64_t bytes = 0;
    if (count > LARGEST || k > LARGEST) {
        return UINT64_MAX;
    }
    while (hri_precise_next(type, k, &slice)) {
        bytes += hri_precise_size(&slice, side, count);
    }
    return bytes;
}

/* The largest block, and its longest edge: a GPU's grid has fewer than 2^16
 * groups in a dimension. */
static const uint64_t most_scratch = UINT64_C(256) << 20;
enum { LONGEST = 1 << 15 };

static uint64_t bytes_of(hr_type type, int64_t rows, int64_t cols)
{
    return (uint64_t)(planes_of(is_wide(type)) * hri_precise_parts(type) + 1) *
           (uint64_t)rows * (uint64_t)cols;
}

void hri_precise_block(hr_type type, int64_t *rows, int64_t *cols)
{
    enum { GRAIN = 256 };
    while (*rows > LONGEST || *cols > LONGEST ||
           bytes_of(type, *rows, *cols) > most_scratch) {
        int64_t *longer = *rows > *cols ? rows : cols;
        *longer = hri_round_up(hri_ceil_div(*longer, 2), GRAIN);
    }
}

/* Any block fits, and a smaller tile never needs more than a larger one. */
uint64_t hri_precise_scratch(hr_type type, int64_t rows, int64_t cols)
{
    enum { ALIGNMENT = 256 };
    const uint64_t all =
        bytes_of(type, hri_min(rows, INT32_MAX), hri_min(cols, INT32_MAX / 64));
    return (uint64_t)hri_round_up(
        (int64_t)(all < most_scratch ? all : most_scratch), ALIGNMENT);
}

hri_gemm hri_precise_ordered(const hri_gemm *gemm, const hri_precise_slice *s,
                             int64_t row, int64_t rows, int64_t col,
                             int64_t cols)
{
    const size_t size = hr_type_size(gemm->type);
    hri_gemm g = *gemm;
    g.compute = HR_COMPUTE_REPRODUCIBLE;
    g.beta = hri_precise_beta(gemm, s);
    g.m = rows;
    g.n = cols;
    g.k = s->length;
    g.a.place.offset +=
        (size_t)(row * g.a.row_stride + s->first * g.a.col_stride) * size;
    g.b.place.offset +=
        (size_t)(s->first * g.b.row_stride + col * g.b.col_stride) * size;
    g.c.place.offset += (size_t)(row * g.c.row_stride + col) * size;
    return g;
}
