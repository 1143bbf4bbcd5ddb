/* SPDX-License-Identifier: MIT */
#include "base/matrix.h"

#include <math.h>
#include <string.h>

#include <headrace/half.h>

#include "base/size.h"
#include "base/status.h"

typedef long long ll; /* for %lld */

/* The types and their sizes as declared in headrace/matrix.h: one table instead
 * of two switches. */
static const struct {
    const char *name;
    size_t size;
} types[] = {
    [HR_F32] = {"f32", 4},  [HR_F64] = {"f64", 8}, [HR_C32] = {"c32", 8},
    [HR_C64] = {"c64", 16}, [HR_F16] = {"f16", 2}, [HR_BF16] = {"bf16", 2},
    [HR_I8] = {"i8", 1},    [HR_I32] = {"i32", 4},
};

size_t hr_type_size(hr_type type)
{
    return type >= HR_F32 && type <= HR_I32 ? types[type].size : 0;
}

const char *hr_type_name(hr_type type)
{
    return type >= HR_F32 && type <= HR_I32 ? types[type].name : "?";
}

hr_scalar hr_real(double re)
{
    return (hr_scalar){re, 0.0};
}

hr_scalar hr_complex(double re, double im)
{
    return (hr_scalar){re, im};
}

hr_matrix hr_matrix_row_major(const void *data, hr_type type, int64_t rows,
                              int64_t cols, int64_t row_stride)
{
    return (hr_matrix){
        .data = (void *)(uintptr_t)data,
        .type = type,
        .rows = rows,
        .cols = cols,
        .row_stride = row_stride != 0 ? row_stride : hri_max(cols, 1),
        .col_stride = 1,
    };
}

hr_matrix hr_matrix_column_major(const void *data, hr_type type, int64_t rows,
                                 int64_t cols, int64_t col_stride)
{
    return hr_matrix_transpose(
        hr_matrix_row_major(data, type, cols, rows, col_stride));
}

hr_matrix hr_matrix_transpose(hr_matrix m)
{
    hr_matrix t = m;
    t.rows = m.cols;
    t.cols = m.rows;
    t.row_stride = m.col_stride;
    t.col_stride = m.row_stride;
    return t;
}

hr_matrix hr_matrix_conjugate(hr_matrix m)
{
    if (hri_is_complex(m.type)) {
        m.conjugate = !m.conjugate;
    }
    return m;
}

hr_status hr_matrix_section(hr_matrix m, int64_t row, int64_t col, int64_t rows,
                            int64_t cols, hr_matrix *section)
{
    if (section == NULL) {
        return hri_fail(HR_ERROR_INVALID, "section: the result is NULL");
    }
    if (row < 0 || col < 0 || rows < 0 || cols < 0 || row > m.rows ||
        col > m.cols || rows > m.rows - row || cols > m.cols - col) {
        return hri_fail(HR_ERROR_INVALID,
                        "section: %lldx%lld at (%lld, %lld) is not inside the "
                        "%lldx%lld matrix",
                        (ll)rows, (ll)cols, (ll)row, (ll)col, (ll)m.rows,
                        (ll)m.cols);
    }
    if (m.data != NULL && rows > 0 && cols > 0) {
        m.data = (char *)m.data + (row * m.row_stride + col * m.col_stride) *
                                      (int64_t)hr_type_size(m.type);
    }
    m.rows = rows;
    m.cols = cols;
    *section = m;
    return HR_OK;
}

/* Whether one stride is 1 and the other steps over the lines along it. */
static bool has_lines(const hr_matrix *m)
{
    const bool row_major = m->col_stride == 1;
    const int64_t lines = row_major ? m->rows : m->cols;
    const int64_t width = row_major ? m->cols : m->rows;
    const int64_t stride = row_major ? m->row_stride : m->col_stride;
    return (row_major || m->row_stride == 1) && stride >= 0 &&
           (lines <= 1 || stride >= width);
}

/* The same matrix, whose stride over at most one line could be too large to
 * count bytes with. */
static hr_matrix tidy_lines(hr_matrix m)
{
    if (m.col_stride == 1 && m.rows <= 1) {
        m.row_stride = hri_max(m.cols, 1);
    } else if (m.col_stride != 1 && m.cols <= 1) {
        m.col_stride = hri_max(m.rows, 1);
    }
    return m;
}

hr_matrix hri_matrix_tidy(hr_matrix m)
{
    hr_matrix t = m;
    if (m.rows < 0 || m.cols < 0) {
        return m;
    }
    const bool empty = m.rows == 0 || m.cols == 0;
    if (!empty && has_lines(&m)) {
        return tidy_lines(m);
    }
    if (empty || (m.rows == 1 && m.cols == 1)) {
        t.row_stride = hri_max(m.cols, 1);
        t.col_stride = 1;
    } else if (m.rows == 1) {
        t.row_stride = 1;
    } else if (m.cols == 1) {
        t.col_stride = 1;
    }
    return has_lines(&t) ? t : m;
}

hr_matrix hri_matrix_section(hr_matrix m, int64_t row, int64_t col,
                             int64_t rows, int64_t cols)
{
    const int64_t first = row * m.row_stride + col * m.col_stride;
    m.data = (char *)m.data + first * (int64_t)hr_type_size(m.type);
    m.rows = rows;
    m.cols = cols;
    return m;
}

hr_status hri_type_check(const char *call, const char *name, hr_type type)
{
    return hr_type_size(type) > 0
               ? HR_OK
               : hri_fail(HR_ERROR_UNSUPPORTED, "%s: unknown type %d%s%s", call,
                          (int)type, name != NULL ? " of " : "",
                          name != NULL ? name : "");
}

hr_status hri_matrix_check(const char *caller, const char *name,
                           const hr_matrix *m)
{
    if (m->rows < 0 || m->cols < 0) {
        return hri_fail(HR_ERROR_INVALID,
                        "%s: %s is %lldx%lld, but sizes are 0 or more", caller,
                        name, (ll)m->rows, (ll)m->cols);
    }
    bool row_major = m->col_stride == 1;
    int64_t lines = row_major ? m->rows : m->cols;
    int64_t width = row_major ? m->cols : m->rows;
    int64_t stride = row_major ? m->row_stride : m->col_stride;
    if (!has_lines(m)) {
        return hri_fail(HR_ERROR_INVALID,
                        "%s: %s is %lldx%lld with strides %lld and %lld; one "
                        "must be 1 and the other at least %lld",
                        caller, name, (ll)m->rows, (ll)m->cols,
                        (ll)m->row_stride, (ll)m->col_stride, (ll)width);
    }
    uint64_t bytes;
    if (lines > 0 &&
        (!hri_mul((uint64_t)lines, (uint64_t)hri_max(stride, width), &bytes) ||
         !hri_mul(bytes, hr_type_size(m->type), &bytes) || bytes > INT64_MAX)) {
        return hri_fail(HR_ERROR_INVALID,
                        "%s: %s has %lld lines of stride %lld, more than an "
                        "address space holds",
                        caller, name, (ll)lines, (ll)stride);
    }
    return HR_OK;
}

/* A matrix as lines of bytes: `count` of `width` bytes, `pitch` apart. */
typedef struct lines {
    uintptr_t start;
    int64_t count, width, pitch;
} lines;

static lines lines_of(const hr_matrix *m)
{
    int64_t size = (int64_t)hr_type_size(m->type);
    bool row_major = m->col_stride == 1;
    lines l = {
        .start = (uintptr_t)m->data,
        .count = row_major ? m->rows : m->cols,
        .width = (row_major ? m->cols : m->rows) * size,
        .pitch = (row_major ? m->row_stride : m->col_stride) * size,
    };
    return l;
}

static uintptr_t end_of(const lines *l)
{
    return l->start + (uintptr_t)((l->count - 1) * l->pitch + l->width);
}

int64_t hri_matrix_bytes(const hr_matrix *m)
{
    const lines l = lines_of(m);
    return l.count > 0 && l.width > 0 ? (l.count - 1) * l.pitch + l.width : 0;
}

static bool share_a_byte(const lines *x, const lines *y)
{
    if (x->count == 0 || x->width == 0 || y->count == 0 || y->width == 0 ||
        end_of(x) <= y->start || end_of(y) <= x->start) {
        return false;
    }
    int64_t pitch = y->count > 1 ? y->pitch : INT64_MAX;
    for (int64_t i = 0; i < x->count; i++) {
        /* the bytes [from, to) of line i, counted from the start of y */
        int64_t from = (int64_t)(x->start - y->start) + i * x->pitch;
        int64_t to = from + x->width;
        if (to <= 0) {
            continue;
        }
        /* only the last line of y that starts before `to` can overlap */
        int64_t j = hri_min((to - 1) / pitch, y->count - 1);
        if (j * (y->count > 1 ? pitch : 0) + y->width > from) {
            return true;
        }
    }
    return false;
}

bool hri_matrix_overlap(const hr_matrix *x, const hr_matrix *y)
{
    const lines lx = lines_of(x), ly = lines_of(y);
    return share_a_byte(&lx, &ly);
}

bool hri_types_multiply(hr_type type, hr_type c_type)
{
    switch (type) {
    case HR_F32:
    case HR_F64:
    case HR_C32:
    case HR_C64:
        return c_type == type;
    case HR_F16:
    case HR_BF16:
        return c_type == type || c_type == HR_F32;
    case HR_I8:
        return c_type == HR_I32;
    default:
        return false;
    }
}

/* ---- C := beta C */

typedef struct job {
    hr_scalar beta;
    const hr_matrix *c;
    int64_t rows; /* rows of a task */
} job;

static void scale_f32(float beta, float *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        x[i] *= beta;
    }
}

static void scale_f64(double beta, double *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        x[i] *= beta;
    }
}

/* A real factor must not turn an infinite part into NaN in the other one. */
static void scale_c32(hr_scalar beta, float *x, int64_t n)
{
    if (beta.im == 0.0) {
        scale_f32((float)beta.re, x, 2 * n);
        return;
    }
    float re = (float)beta.re, im = (float)beta.im;
    for (int64_t i = 0; i < n; i++) {
        float a = x[2 * i], b = x[2 * i + 1];
        x[2 * i] = re * a - im * b;
        x[2 * i + 1] = re * b + im * a;
    }
}

static void scale_c64(hr_scalar beta, double *x, int64_t n)
{
    if (beta.im == 0.0) {
        scale_f64(beta.re, x, 2 * n);
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        double a = x[2 * i], b = x[2 * i + 1];
        x[2 * i] = beta.re * a - beta.im * b;
        x[2 * i + 1] = beta.re * b + beta.im * a;
    }
}

static void scale_half(hr_type type, float beta, uint16_t *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        x[i] = type == HR_F16 ? hr_f32_to_f16(beta * hr_f16_to_f32(x[i]))
                              : hr_f32_to_bf16(beta * hr_bf16_to_f32(x[i]));
    }
}

static void scale_i32(uint32_t beta, uint32_t *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        x[i] *= beta;
    }
}

static void scale_row(const job *j, int64_t row)
{
    const hr_matrix *c = j->c;
    size_t size = hr_type_size(c->type);
    void *x = (char *)c->data + (size_t)(row * c->row_stride) * size;
    if (j->beta.re == 0.0 && j->beta.im == 0.0) {
        memset(x, 0, (size_t)c->cols * size);
        return;
    }
    switch (c->type) {
    case HR_F32:
        scale_f32((float)j->beta.re, x, c->cols);
        break;
    case HR_F64:
        scale_f64(j->beta.re, x, c->cols);
        break;
    case HR_C32:
        scale_c32(j->beta, x, c->cols);
        break;
    case HR_C64:
        scale_c64(j->beta, x, c->cols);
        break;
    case HR_F16:
    case HR_BF16:
        scale_half(c->type, (float)j->beta.re, x, c->cols);
        break;
    case HR_I32:
        /* i32 products are modulo 2^32, so beta may have any size */
        scale_i32((uint32_t)(int64_t)fmod(j->beta.re, 0x1p32), x, c->cols);
        break;
    case HR_I8: /* products of i8 have a C of i32 */
        break;
    }
}

static void scale_rows(void *data, int64_t index)
{
    const job *j = data;
    const int64_t end = hri_min((index + 1) * j->rows, j->c->rows);
    for (int64_t row = index * j->rows; row < end; row++) {
        scale_row(j, row);
    }
}

void hri_matrix_scale(hri_pool *pool, hr_scalar beta, const hr_matrix *c)
{
    enum { ELEMENTS = 1 << 16 }; /* the most in a task of several rows */
    if (beta.re == 1.0 && beta.im == 0.0) {
        return;
    }
    job j = {beta, c, hri_max(ELEMENTS / hri_max(c->cols, 1), 1)};
    hri_pool_run(pool, hri_ceil_div(c->rows, j.rows), scale_rows, &j);
}
