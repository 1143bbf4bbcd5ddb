/* SPDX-License-Identifier: MIT */
/* The kernels of kernels/precise_steps.inc and kernels/cuda/precise_dots.cu in
 * plain C. Residues lie as [modulus][lines in blocks of 64][width]. */
#include <math.h>
#include <string.h>

#include "fake_cuda.h"
#include "hal/precise.h"

/* The arguments of a kernel, one after another. */
typedef struct reader {
    void **next;
} reader;

static int64_t take(reader *r, size_t bytes)
{
    int64_t value = 0;
    int32_t narrow;
    if (bytes == sizeof narrow) {
        memcpy(&narrow, *r->next++, sizeof narrow);
        return narrow;
    }
    memcpy(&value, *r->next++, bytes);
    return value;
}

static void *take_pointer(reader *r)
{
    return (void *)(uintptr_t)take(r, sizeof(uint64_t));
}

/* An operand: number p of line i. */
typedef struct operand {
    const char *start;
    int64_t across, along, lines;
    const precise_form *form;
    int parts;
} operand;

static operand take_operand(reader *r, const precise_form *form, int parts)
{
    operand o = {.form = form, .parts = parts};
    const char *x = take_pointer(r);
    o.start = x + take(r, 8) * (form->wide ? 8 : 4);
    o.across = take(r, 8);
    o.along = take(r, 8);
    o.lines = take(r, 4);
    return o;
}

static u64 number_at(const operand *o, int64_t line, int64_t p)
{
    const int64_t at =
        line * o->across + p / o->parts * o->along + p % o->parts;
    u64 wide = 0;
    u32 narrow;
    if (o->form->wide) {
        memcpy(&wide, o->start + at * 8, 8);
        return wide;
    }
    memcpy(&narrow, o->start + at * 4, 4);
    return narrow;
}

static precise_line find_line(const operand *o, int64_t line)
{
    const int wide = o->form->wide;
    u32 reach[PRECISE_DEPTHS] = {0};
    precise_line l = {.zero = 1, .finite = 1};
    i32 top = INT32_MIN, least = 0, exponent;
    u64 significand, sum = 0;
    for (int64_t p = 0; p < o->form->count; p++) {
        l.finite &=
            precise_split(wide, number_at(o, line, p), &significand, &exponent);
        if (significand != 0) {
            l.zero = 0;
            top =
                precise_larger(top, precise_order(wide, significand, exponent));
        }
    }
    for (int64_t p = 0; p < o->form->count && l.finite && !l.zero; p++) {
        precise_split(wide, number_at(o, line, p), &significand, &exponent);
        if (significand != 0) {
            const i32 depth = top - precise_order(wide, significand, exponent);
            least = precise_larger(least, depth);
            sum += precise_weight(significand, exponent, top);
            if (depth < PRECISE_DEPTHS) {
                reach[depth]++;
            }
        }
    }
    return l.finite && !l.zero
               ? precise_line_of(o->form, top, reach, least, sum)
               : l;
}

static void find_lines(reader r, const precise_form *form, int parts)
{
    const operand o = take_operand(&r, form, parts);
    precise_line *to = take_pointer(&r);
    to += take(&r, 8);
    for (int64_t i = 0; i < o.lines; i++) {
        to[i] = find_line(&o, i);
    }
}

static int64_t in_blocks(int64_t lines)
{
    return (lines + 63) / 64 * 64;
}

static void convert_lines(reader r, const precise_form *form, int parts)
{
    const int side = (int)take(&r, 4);
    const operand o = take_operand(&r, form, parts);
    const bool conjugate = take(&r, 4) != 0;
    const int64_t width = take(&r, 4);
    const precise_line *of = take_pointer(&r);
    of += take(&r, 8);
    int8_t *to = take_pointer(&r);
    to += 4 * take(&r, 8);
    const int rows = side == 1 ? parts : 1;
    for (int64_t i = 0; i < o.lines * rows; i++) {
        const int part = (int)(i % rows);
        for (int64_t p = 0; p < width; p++) {
            const int64_t at = p ^ (side == 1 ? part : 0);
            const int imaginary = parts == 2 && at % 2 == 1;
            precise_integer x = {0};
            if (p < form->count) {
                x = precise_integer_of(form->wide, &of[i / rows],
                                       number_at(&o, i / rows, at));
                x.negative ^= (imaginary && conjugate) ^
                              (imaginary && side == 1 && part == 0);
            }
            for (int m = 0; m < form->moduli; m++) {
                to[(m * in_blocks(o.lines * rows) + i) * width + p] =
                    (int8_t)precise_residue(form, side, m, &x);
            }
        }
    }
}

/* As in kernels/cuda/precise_dots.cu. */
typedef struct task {
    i32 row, rows, a_blocks, col, cols, b_blocks, steps;
    u64 a, b, to;
} task;

static void multiply_residues(reader r, const precise_form *form)
{
    const task *t = *r.next;
    const int64_t width = (int64_t)t->steps * 128;
    const int8_t *a = (const int8_t *)(uintptr_t)t->a;
    const int8_t *b = (const int8_t *)(uintptr_t)t->b;
    uint8_t *to = (uint8_t *)(uintptr_t)t->to;
    for (int m = 0; m < form->moduli; m++) {
        for (int64_t i = 0; i < t->rows; i++) {
            for (int64_t j = 0; j < t->cols; j++) {
                const int8_t *x =
                    a + (m * 64 * t->a_blocks + t->row + i) * width;
                const int8_t *y =
                    b + (m * 64 * t->b_blocks + t->col + j) * width;
                i32 sum = 0;
                for (int64_t p = 0; p < width; p++) {
                    sum += x[p] * y[p];
                }
                *to++ = (uint8_t)precise_reduce(form, m, sum);
            }
        }
    }
}

static double value_of(const precise_form *form, const void *from)
{
    double wide;
    float narrow;
    if (form->wide) {
        memcpy(&wide, from, sizeof wide);
        return wide;
    }
    memcpy(&narrow, from, sizeof narrow);
    return (double)narrow;
}

static double multiply_add(const precise_form *form, double x, double y,
                           double z)
{
    return form->wide ? fma(x, y, z)
                      : (double)fmaf((float)x, (float)y, (float)z);
}

static void add_factor(const precise_form *form, const double *f,
                       const double *x, double *to)
{
    to[0] = multiply_add(form, f[0], x[0], to[0]);
    to[1] = multiply_add(form, f[0], x[1], to[1]);
    if (f[1] != 0.0) {
        to[0] = multiply_add(form, -f[1], x[1], to[0]);
        to[1] = multiply_add(form, f[1], x[0], to[1]);
    }
}

static void make_numbers(reader r, const precise_form *form, int parts)
{
    const int64_t rows = take(&r, 4), cols = take(&r, 4);
    const int64_t plane = rows * cols * parts;
    const uint8_t *residues = take_pointer(&r);
    residues += take(&r, 8);
    const precise_line *a = take_pointer(&r);
    a += take(&r, 8);
    const precise_line *b = take_pointer(&r);
    b += take(&r, 8);
    const size_t size = form->wide ? 8 : 4;
    char *c = take_pointer(&r);
    c += take(&r, 8) * (int64_t)size;
    const int64_t stride = take(&r, 8);
    double alpha[2], beta[2];
    for (int i = 0; i < 4; i++) {
        (i < 2 ? alpha : beta)[i % 2] = value_of(form, *r.next++);
    }
    uint8_t *mask = take_pointer(&r);
    mask += take(&r, 8);
    const bool reads = beta[0] != 0.0 || beta[1] != 0.0;
    for (int64_t e = 0; e < rows * cols; e++) {
        const precise_line *x = &a[e / cols], *y = &b[e % cols];
        char *to = c + (e / cols * stride + e % cols * parts) * (int64_t)size;
        double old[2] = {0}, s[2] = {0}, t[2];
        mask[e] = !precise_may_round(form, x, y);
        if (mask[e]) {
            continue;
        }
        t[0] = t[1] = reads ? -0.0 : 0.0;
        for (int part = 0; part < parts; part++) {
            precise_sum sum = {0};
            for (int m = 0; m < form->moduli; m++) {
                precise_add(form, &sum, m,
                            residues[m * plane + e * parts + part]);
            }
            const u64 bits = precise_number(form, &sum, x->unit + y->unit);
            s[part] = value_of(form, &bits);
            old[part] = value_of(form, to + part * (int)size);
        }
        if (reads) {
            add_factor(form, beta, old, t);
        }
        add_factor(form, alpha, s, t);
        for (int part = 0; part < parts; part++) {
            const float narrow = (float)t[part];
            memcpy(to + part * (int)size,
                   form->wide ? (const void *)&t[part] : &narrow, size);
        }
    }
}

void fake_precise_step(int step, int parts, void **arguments)
{
    const precise_form *form = arguments[0];
    const reader r = {arguments + 1};
    switch (step) {
    case 0:
        find_lines(r, form, parts);
        break;
    case 1:
        convert_lines(r, form, parts);
        break;
    case 2:
        multiply_residues(r, form);
        break;
    default:
        make_numbers(r, form, parts);
        break;
    }
}
