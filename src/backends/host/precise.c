/* SPDX-License-Identifier: MIT */
/* Precise products on the host (hri_gemm in hal.h, src/hal/precise.inc).
 *
 * For each slice of k a panel of columns of B becomes residues, and then one
 * panel of rows of A after another. Threads take blocks of C. A block is summed
 * up modulus by modulus, and becomes numbers at once. Where lines may not be
 * rounded, the block is also made by the built-in kernel in the order of
 * reproducible products, and elements come from there. */
#include "backends/host/precise.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "backends/host/arithmetic.h"
#include "backends/host/builtin.h"
#include "backends/host/host.h"
#include "base/matrix.h"
#include "base/size.h"
#include "hal/precise.h"

enum {
    BLOCK = 64, /* rows and columns of C that a thread takes */
    /* Bytes of a panel of A and of one of B, at most, unless it has BLOCK
     * lines; and of both on one thread, where others may multiply beside it. */
    A_BYTES = 64 << 20,
    B_BYTES = 256 << 20,
    ALONE_BYTES = 8 << 20
};

/* Lines of an operand over a slice of k: rows of A, or columns of B. A complex
 * column of B is two lines: for the real part of C and for the imaginary one.
 */
typedef struct panel {
    hri_operand operand;  /* row_stride: from line to line, col_stride: along
                             k */
    int side;             /* 0: A, 1: B */
    int64_t first, count; /* elements along m or n */
    precise_line *lines;  /* [count] */
    int8_t *residues;     /* [moduli][count * lines of each][width] */
} panel;

typedef struct precise {
    hri_pool *pool;
    const hri_gemm *gemm;
    hri_precise_slice slice; /* of k */
    int64_t parts;           /* numbers in an element */
    panel a, b;
    pthread_mutex_t lock;
    hri_error error; /* guarded by lock */
} precise;

/* ---- from numbers to residues */

/* Number p of a line, whose part is 0 for what makes C's real part. */
static u64 number_at(const precise *w, const panel *x, int64_t line, int part,
                     int64_t p)
{
    const hr_type type = w->gemm->type;
    const hri_operand *o = &x->operand;
    const int64_t element = p / w->parts;
    const int64_t at = (x->first + line) * o->row_stride +
                       (w->slice.first + element) * o->col_stride;
    const char *from = (const char *)hri_host_address(&o->place) +
                       (size_t)at * hr_type_size(type);
    /* of B: (re, -im) and (im, re) */
    const int imaginary = (int)(p % w->parts) ^ (x->side == 1 ? part : 0);
    bool negative = imaginary && o->conjugate;
    negative ^= x->side == 1 && part == 0 && imaginary;
    u64 bits;
    if (w->slice.form.wide) {
        memcpy(&bits, from + 8 * imaginary, 8);
        return negative ? bits ^ UINT64_C(1) << 63 : bits;
    }
    u32 narrow;
    memcpy(&narrow, from + 4 * imaginary, 4);
    return negative ? narrow ^ UINT32_C(1) << 31 : narrow;
}

static void find_line(const precise *w, const panel *x, int64_t line,
                      precise_line *l)
{
    u32 reach[PRECISE_DEPTHS] = {0};
    i32 top = INT32_MIN, least = 0, exponent;
    u64 significand, sum = 0;
    *l = (precise_line){.zero = 1, .finite = 1};
    for (int64_t p = 0; p < w->slice.form.count; p++) {
        const u64 bits = number_at(w, x, line, 0, p);
        l->finite &=
            precise_split(w->slice.form.wide, bits, &significand, &exponent);
        if (significand != 0) {
            top = precise_larger(
                top, precise_order(w->slice.form.wide, significand, exponent));
            l->zero = 0;
        }
    }
    if (l->zero || !l->finite) {
        return;
    }
    for (int64_t p = 0; p < w->slice.form.count; p++) {
        const u64 bits = number_at(w, x, line, 0, p);
        precise_split(w->slice.form.wide, bits, &significand, &exponent);
        if (significand != 0) {
            const i32 depth =
                top - precise_order(w->slice.form.wide, significand, exponent);
            least = precise_larger(least, depth);
            reach[depth < PRECISE_DEPTHS ? depth : PRECISE_DEPTHS - 1] +=
                depth < PRECISE_DEPTHS;
            sum += precise_weight(significand, exponent, top);
        }
    }
    *l = precise_line_of(&w->slice.form, top, reach, least, sum);
}

/* The residues of one line: each modulus has its own. */
static void convert_line(const precise *w, const panel *x, int64_t line,
                         int part)
{
    const int64_t lines = x->count * (x->side == 1 ? w->parts : 1);
    const int64_t place = line * (x->side == 1 ? w->parts : 1) + part;
    const precise_line *l = &x->lines[line];
    int8_t *to = x->residues + place * w->slice.width;
    const int64_t apart = lines * w->slice.width;
    for (int m = 0; m < w->slice.form.moduli; m++) {
        memset(to + m * apart, 0, (size_t)w->slice.width);
    }
    if (l->zero || !l->finite) {
        return;
    }
    for (int64_t p = 0; p < w->slice.form.count; p++) {
        const precise_integer integer = precise_integer_of(
            w->slice.form.wide, l, number_at(w, x, line, part, p));
        for (int m = 0; m < w->slice.form.moduli; m++) {
            to[m * apart + p] =
                (int8_t)precise_residue(&w->slice.form, x->side, m, &integer);
        }
    }
}

typedef struct conversion {
    const precise *work;
    panel *panel;
} conversion;

static void convert(void *data, int64_t line)
{
    const conversion *c = data;
    panel *x = c->panel;
    find_line(c->work, x, line, &x->lines[line]);
    for (int part = 0; part < (x->side == 1 ? (int)c->work->parts : 1);
         part++) {
        convert_line(c->work, x, line, part);
    }
}

/* Find what is known of the panel's lines, and make their residues. */
static void fill_panel(const precise *w, panel *x)
{
    conversion c = {w, x};
    hri_pool_run(w->pool, x->count, convert, &c);
}

/* ---- a block of C */

/* Rows and lines of B of a block, relative to the panels. */
typedef struct block {
    int64_t row, rows, col, cols; /* elements of C */
} block;

typedef union number {
    double f64;
    float f32;
    u64 bits;
    u32 narrow;
} number;

static double value_of(const precise *w, u64 bits)
{
    number x = {.bits = bits};
    if (w->slice.form.wide) {
        return x.f64;
    }
    x.narrow = (u32)bits;
    return (double)x.f32;
}

static double multiply_add(const precise *w, double x, double y, double z)
{
    return w->slice.form.wide ? fma(x, y, z)
                              : (double)fmaf((float)x, (float)y, (float)z);
}

/* to := to + f x, as in hal.h. */
static void add_factor(const precise *w, hr_scalar f, const double x[2],
                       double to[2])
{
    to[0] = multiply_add(w, f.re, x[0], to[0]);
    to[1] = multiply_add(w, f.re, x[1], to[1]);
    if (f.im != 0.0) {
        to[0] = multiply_add(w, -f.im, x[1], to[0]);
        to[1] = multiply_add(w, f.im, x[0], to[1]);
    }
}

static void *element_of(const precise *w, int64_t row, int64_t col)
{
    const hri_operand *c = &w->gemm->c;
    return (char *)hri_host_address(&c->place) +
           (size_t)(row * c->row_stride + col) * hr_type_size(w->gemm->c_type);
}

static void load(const precise *w, const void *from, double x[2])
{
    x[0] = x[1] = 0.0;
    for (int64_t i = 0; i < w->parts; i++) {
        x[i] = w->slice.form.wide ? ((const double *)from)[i]
                                  : (double)((const float *)from)[i];
    }
}

static void store(const precise *w, const double x[2], void *to)
{
    for (int64_t i = 0; i < w->parts; i++) {
        if (w->slice.form.wide) {
            ((double *)to)[i] = x[i];
        } else {
            ((float *)to)[i] = (float)x[i];
        }
    }
}

static void store_element(const precise *w, const precise_sum *sums, i32 power,
                          void *c)
{
    const hr_scalar beta = hri_precise_beta(w->gemm, &w->slice);
    const bool reads = beta.re != 0.0 || beta.im != 0.0;
    const double nothing = reads ? -0.0 : 0.0;
    double t[2] = {nothing, nothing}, s[2] = {0.0, 0.0};
    if (reads) {
        double old[2];
        load(w, c, old);
        add_factor(w, beta, old, t);
    }
    for (int64_t i = 0; i < w->parts; i++) {
        s[i] = value_of(w, precise_number(&w->slice.form, &sums[i], power));
    }
    add_factor(w, w->gemm->alpha, s, t);
    store(w, t, c);
}

/* The block by the built-in kernel, into `to`, which has old C. */
static hr_status multiply_in_order(const precise *w, const block *b, char *to)
{
    hri_gemm g = hri_precise_ordered(w->gemm, &w->slice, w->a.first + b->row,
                                     b->rows, w->b.first + b->col, b->cols);
    g.c = (hri_operand){
        .place = hri_at_host(to, 0), .row_stride = b->cols, .col_stride = 1};
    return hri_host_gemm_builtin(NULL, &g);
}

/* Add what the block is modulo modulus m. */
static void add_modulus(const precise *w, const block *b, int m,
                        precise_sum *sums)
{
    const int64_t cols = b->cols * w->parts;
    const int8_t *rows =
        w->a.residues + (m * w->a.count + b->row) * w->slice.width;
    const int8_t *lines =
        w->b.residues + (m * w->b.count + b->col) * w->parts * w->slice.width;
    const hri_builtin_variant *variant = hri_builtin_variant_at(0);
    for (int64_t i = 0; i < b->rows; i += HRI_BUILTIN_DOTS) {
        const int64_t count = hri_min(b->rows - i, HRI_BUILTIN_DOTS);
        for (int64_t j = 0; j < cols; j++) {
            uint32_t dots[HRI_BUILTIN_DOTS];
            variant->dots_i8(
                &(hri_builtin_dots){.rows = count,
                                    .count = w->slice.width,
                                    .x = rows + i * w->slice.width,
                                    .x_stride = w->slice.width,
                                    .y = lines + j * w->slice.width,
                                    .sums = dots});
            for (int64_t r = 0; r < count; r++) {
                precise_add(&w->slice.form, &sums[(i + r) * cols + j], m,
                            precise_reduce(&w->slice.form, m, (i32)dots[r]));
            }
        }
    }
}

static bool may_round(const precise *w, const block *b, int64_t i, int64_t j)
{
    return precise_may_round(&w->slice.form, &w->a.lines[b->row + i],
                             &w->b.lines[b->col + j]);
}

/* Write the block. ordered: what the built-in kernel made of it, or NULL. */
static void store_block(const precise *w, const block *b,
                        const precise_sum *sums, const char *ordered)
{
    const size_t size = hr_type_size(w->gemm->c_type);
    for (int64_t i = 0; i < b->rows; i++) {
        for (int64_t j = 0; j < b->cols; j++) {
            const precise_line *x = &w->a.lines[b->row + i];
            const precise_line *y = &w->b.lines[b->col + j];
            const int64_t at = i * b->cols + j;
            void *c =
                element_of(w, w->a.first + b->row + i, w->b.first + b->col + j);
            if (ordered != NULL && !may_round(w, b, i, j)) {
                memcpy(c, ordered + (size_t)at * size, size);
            } else {
                store_element(w, &sums[at * w->parts], x->unit + y->unit, c);
            }
        }
    }
}

static hr_status make_block(const precise *w, const block *b)
{
    const size_t size = hr_type_size(w->gemm->c_type);
    const size_t elements = (size_t)(b->rows * b->cols);
    bool all = true;
    for (int64_t i = 0; i < b->rows; i++) {
        for (int64_t j = 0; j < b->cols; j++) {
            all = all && may_round(w, b, i, j);
        }
    }
    char *ordered = NULL;
    precise_sum *sums = calloc(elements * (size_t)w->parts, sizeof *sums);
    hr_status status = HR_OK;
    if (!all) {
        ordered = malloc(elements * size);
    }
    if (sums == NULL || (!all && ordered == NULL)) {
        status = hri_fail(HR_ERROR_OUT_OF_MEMORY,
                          "host: no memory for a precise product");
        goto done;
    }
    if (!all) {
        for (int64_t i = 0; i < b->rows; i++) {
            memcpy(ordered + (size_t)(i * b->cols) * size,
                   element_of(w, w->a.first + b->row + i, w->b.first + b->col),
                   (size_t)b->cols * size);
        }
        status = multiply_in_order(w, b, ordered);
        if (status != HR_OK) {
            goto done;
        }
    }
    for (int m = 0; m < w->slice.form.moduli; m++) {
        add_modulus(w, b, m, sums);
    }
    store_block(w, b, sums, ordered);
done:
    free(sums);
    free(ordered);
    return status;
}

static void run_block(void *data, int64_t index)
{
    precise *w = data;
    const int64_t across = hri_ceil_div(w->b.count, BLOCK);
    block b = {.row = index / across * BLOCK, .col = index % across * BLOCK};
    b.rows = hri_min(BLOCK, w->a.count - b.row);
    b.cols = hri_min(BLOCK, w->b.count - b.col);
    const hr_status status = make_block(w, &b);
    if (status != HR_OK) {
        pthread_mutex_lock(&w->lock);
        hri_error_keep(&w->error, status);
        pthread_mutex_unlock(&w->lock);
    }
}

/* ---- the product */

/* Lines of an operand, none yet. */
static panel panel_of(const hri_operand *operand, int side)
{
    panel x = {.operand = *operand, .side = side};
    if (side == 1) {
        x.operand.row_stride = operand->col_stride;
        x.operand.col_stride = operand->row_stride;
    }
    return x;
}

/* The panel of the present slice lies, or will lie, at `packed`. Returns where
 * the next slice's begins. */
static char *place_panel(const precise *w, char *packed, panel *x)
{
    x->residues = (int8_t *)packed;
    x->lines =
        (precise_line *)(void *)(packed + hri_precise_known(&w->slice, x->side,
                                                            x->count));
    return packed + hri_precise_size(&w->slice, x->side, x->count);
}

static void multiply_panels(precise *w)
{
    hri_pool_run(w->pool,
                 hri_ceil_div(w->a.count, BLOCK) *
                     hri_ceil_div(w->b.count, BLOCK),
                 run_block, w);
}

/* With panels that are packed already. */
static void multiply_packed(precise *w)
{
    const hri_gemm *g = w->gemm;
    char *a = (char *)hri_host_address(&g->packed[0]);
    char *b = (char *)hri_host_address(&g->packed[1]);
    w->a.count = g->m;
    w->b.count = g->n;
    while (hri_precise_next(g->type, g->k, &w->slice)) {
        a = place_panel(w, a, &w->a);
        b = place_panel(w, b, &w->b);
        multiply_panels(w);
    }
}

/* Rows of A, or columns of B, of a panel of so many bytes. */
static int64_t lines_of(hr_type type, int side, int64_t all, int64_t depth,
                        uint64_t bytes)
{
    const uint64_t one = hri_precise_bytes(type, side, BLOCK, depth);
    return hri_min(all, hri_max((int64_t)(bytes / one), 1) * BLOCK);
}

/* With panels that are packed in between. */
static hr_status multiply_unpacked(precise *w)
{
    const hri_gemm *g = w->gemm;
    const int64_t depth = hri_min(g->k, hri_precise_depth(g->type));
    const bool alone = w->pool == NULL;
    const int64_t rows =
        lines_of(g->type, 0, g->m, depth, alone ? ALONE_BYTES : A_BYTES);
    const int64_t columns =
        lines_of(g->type, 1, g->n, depth, alone ? ALONE_BYTES : B_BYTES);
    const uint64_t a_bytes = hri_precise_bytes(g->type, 0, rows, depth);
    const uint64_t b_bytes = hri_precise_bytes(g->type, 1, columns, depth);
    char *a = malloc(a_bytes), *b = malloc(b_bytes);
    hr_status status = HR_OK;
    if (a == NULL || b == NULL) {
        status = hri_fail(HR_ERROR_OUT_OF_MEMORY,
                          "host: no memory for a precise product: it needs "
                          "%llu bytes beside its operands",
                          (unsigned long long)a_bytes + b_bytes);
        goto done;
    }
    while (hri_precise_next(g->type, g->k, &w->slice)) {
        for (int64_t j = 0; j < g->n; j += columns) {
            w->b.first = j;
            w->b.count = hri_min(columns, g->n - j);
            place_panel(w, b, &w->b);
            fill_panel(w, &w->b);
            for (int64_t i = 0; i < g->m; i += rows) {
                w->a.first = i;
                w->a.count = hri_min(rows, g->m - i);
                place_panel(w, a, &w->a);
                fill_panel(w, &w->a);
                multiply_panels(w);
            }
        }
    }
done:
    free(a);
    free(b);
    return status;
}

/* Packing is of a panel for a product of which nothing else is known. */
void hri_host_pack_precise(hri_pool *pool, const hri_pack *pack)
{
    const hri_gemm g = {.type = pack->type, .k = pack->cols};
    precise w = {
        .pool = pool, .gemm = &g, .parts = hri_precise_parts(pack->type)};
    panel x = {.operand = pack->from, .side = pack->side, .count = pack->rows};
    char *to = (char *)hri_host_address(&pack->to);
    while (hri_precise_next(pack->type, pack->cols, &w.slice)) {
        to = place_panel(&w, to, &x);
        fill_panel(&w, &x);
    }
}

hr_status hri_host_gemm_precise(hri_pool *pool, const hri_gemm *g)
{
    precise w = {.pool = pool,
                 .gemm = g,
                 .parts = hri_precise_parts(g->type),
                 .a = panel_of(&g->a, 0),
                 .b = panel_of(&g->b, 1),
                 .lock = PTHREAD_MUTEX_INITIALIZER};
    hr_status status = HR_OK;
    if (hri_gemm_is_packed(g)) {
        multiply_packed(&w);
    } else {
        status = multiply_unpacked(&w);
    }
    pthread_mutex_destroy(&w.lock);
    HRI_TRY(status);
    return hri_error_raise(&w.error);
}
