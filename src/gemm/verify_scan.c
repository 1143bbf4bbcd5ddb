/* SPDX-License-Identifier: MIT */
/* What the random test needs to know of values that are hard on it: which rows
 * and columns are not finite, and which are so large that sums may overflow. */
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/matrix.h"
#include "base/size.h"
#include "base/status.h"
#include "gemm/verify.h"

/* Rows of A and columns of B are scaled to stay below 2^TOP. So elements of C
 * stay below k 2^(2 TOP). Times the scales of columns, at most 2^250, their
 * squares do not overflow. */
enum { TOP = 100 };

/* One scan of a matrix. */
typedef struct scan {
    hri_verify_source source;
    uint8_t *flags;         /* of rows with a value that is not finite */
    _Atomic bool *infinite; /* columns with an infinity; may be NULL */
    int *exponents;         /* of the largest finite part of each row; may be
                               NULL */
    bool old;               /* C0: flag rows without any finite value */
} scan;

/* What is found in a row. */
typedef struct scanned {
    double largest; /* modulus of a finite part */
    uint8_t flags;
    bool covered; /* no element is finite */
} scanned;

static void scan_part(const scan *s, const double *line,
                      const hri_verify_window *w, scanned *row)
{
    for (int64_t c = 0; c < w->cols; c++) {
        double modulus = fabs(line[c]);
        if (isnan(modulus)) {
            row->flags |= HRI_VERIFY_INFINITE | HRI_VERIFY_NAN;
        } else if (isinf(modulus)) {
            row->flags |= HRI_VERIFY_INFINITE;
            if (s->infinite != NULL) {
                atomic_store_explicit(&s->infinite[w->col + c], true,
                                      memory_order_relaxed);
            }
        } else if (modulus > row->largest) {
            row->largest = modulus;
        }
    }
}

/* Whether no element of row r of a block is finite. */
static bool none_finite(const hri_verify_block *block, int64_t r, int64_t cols,
                        bool complex)
{
    const double *re = block->re + r * HRI_VERIFY_COLS;
    const double *im = block->im + r * HRI_VERIFY_COLS;
    for (int64_t c = 0; c < cols; c++) {
        if (isfinite(re[c]) && (!complex || isfinite(im[c]))) {
            return false;
        }
    }
    return true;
}

/* Scan row r of a block. */
static void scan_row(const scan *s, const hri_verify_block *block,
                     const hri_verify_window *w, int64_t r, scanned *row)
{
    const bool complex = hri_is_complex(s->source.matrix.type);
    const uint8_t before = row->flags;
    row->flags = 0;
    scan_part(s, block->re + r * HRI_VERIFY_COLS, w, row);
    if (complex) {
        scan_part(s, block->im + r * HRI_VERIFY_COLS, w, row);
    }
    row->covered = row->covered && row->flags != 0 &&
                   none_finite(block, r, w->cols, complex);
    row->flags |= before;
}

static void scan_task(void *data, int64_t index)
{
    scan *s = data;
    const hr_matrix *m = &s->source.matrix;
    hri_verify_block block;
    scanned rows[HRI_VERIFY_ROWS];
    hri_verify_window w = {.row = index * HRI_VERIFY_ROWS};
    w.rows = hri_min(HRI_VERIFY_ROWS, m->rows - w.row);
    for (int64_t r = 0; r < w.rows; r++) {
        rows[r] = (scanned){.covered = s->old};
    }
    for (w.col = 0; w.col < m->cols; w.col += HRI_VERIFY_COLS) {
        w.cols = hri_min(HRI_VERIFY_COLS, m->cols - w.col);
        hri_verify_load(&s->source, &w, NULL, &block);
        for (int64_t r = 0; r < w.rows; r++) {
            scan_row(s, &block, &w, r, &rows[r]);
        }
    }
    for (int64_t r = 0; r < w.rows; r++) {
        s->flags[w.row + r] |= s->old ? 0 : rows[r].flags;
        s->flags[w.row + r] |= rows[r].covered ? HRI_VERIFY_COVERED : 0;
        if (s->exponents != NULL) {
            frexp(rows[r].largest, &s->exponents[w.row + r]);
        }
    }
}

static void run_scan(hri_pool *pool, scan *s)
{
    hri_pool_run(pool, hri_ceil_div(s->source.matrix.rows, HRI_VERIFY_ROWS),
                 scan_task, s);
}

/* Scan C0 along its rows and along its columns. */
static void scan_old(hri_verify *v, int *rows, int *cols)
{
    scan s = {.source.matrix = v->c0.matrix,
              .flags = v->skip_rows,
              .exponents = rows,
              .old = true};
    run_scan(v->pool, &s);
    s.source.matrix = hr_matrix_transpose(v->c0.matrix);
    s.flags = v->skip_cols;
    s.exponents = cols;
    run_scan(v->pool, &s);
}

/* Scan A along its rows, and B along its columns. */
static void scan_operands(hri_verify *v)
{
    scan s = {.source.matrix = v->a.matrix,
              .flags = v->skip_rows,
              .infinite = v->infinite,
              .exponents = v->row_exponents};
    run_scan(v->pool, &s);
    s.source.matrix = hr_matrix_transpose(v->b.matrix);
    s.flags = v->skip_cols;
    s.exponents = v->col_exponents;
    run_scan(v->pool, &s);
}

/* The exponent of a factor, if it is above 1. */
static int exponent_of(hr_scalar s)
{
    int exponent = 0;
    double modulus = fmax(fabs(s.re), fabs(s.im));
    if (isfinite(modulus)) { /* frexp is not defined for other values */
        frexp(modulus, &exponent);
    }
    return exponent > 0 ? exponent : 0;
}

/* What must be removed so that values with these exponents, times a factor,
 * stay below 2^top. Returns for how many rows it is not 0. */
static int64_t reduce(int *exponents, int64_t count, hr_scalar factor, int top)
{
    const int more = exponent_of(factor) - top;
    int64_t above = 0;
    for (int64_t i = 0; i < count; i++) {
        const int excess = exponents[i] + more;
        exponents[i] = excess > 0 ? excess : 0;
        above += excess > 0;
    }
    return above;
}

/* Raise exponents to those that C0 needs: of rows or of columns, whichever are
 * fewer. */
static void reduce_old(hri_verify *v, int *rows, int *cols)
{
    const int64_t m = reduce(rows, v->m, v->beta, 2 * TOP);
    const int64_t n = reduce(cols, v->n, v->beta, 2 * TOP);
    for (int64_t i = 0; m <= n && i < v->m; i++) {
        v->row_exponents[i] = (int)hri_max(v->row_exponents[i], rows[i]);
    }
    for (int64_t j = 0; m > n && j < v->n; j++) {
        v->col_exponents[j] = (int)hri_max(v->col_exponents[j], cols[j]);
    }
}

static void use_exponents(hri_verify *v)
{
    v->a.rows = v->c.rows = v->c0.rows = v->row_exponents;
    v->b.cols = v->c.cols = v->c0.cols = v->col_exponents;
}

/* Choose exponents of rows and columns, and keep them if any is not 0. */
static void choose_exponents(hri_verify *v, int *old_rows, int *old_cols)
{
    const hr_scalar none = {1.0, 0.0};
    bool any = false;
    reduce(v->row_exponents, v->m, v->alpha, TOP);
    reduce(v->col_exponents, v->n, none, TOP);
    if (v->old) {
        reduce_old(v, old_rows, old_cols);
    }
    for (int64_t i = 0; i < v->m; i++) {
        any = any || v->row_exponents[i] > 0;
    }
    for (int64_t j = 0; j < v->n; j++) {
        any = any || v->col_exponents[j] > 0;
    }
    if (any) {
        use_exponents(v);
        return;
    }
    free(v->row_exponents);
    free(v->col_exponents);
    v->row_exponents = v->col_exponents = NULL;
}

/* The flags that a factor gives to all rows. */
static uint8_t flags_of(hr_scalar s)
{
    if (isnan(s.re) || isnan(s.im)) {
        return HRI_VERIFY_INFINITE | HRI_VERIFY_NAN;
    }
    return isinf(s.re) || isinf(s.im) ? HRI_VERIFY_INFINITE : 0;
}

static void scan_all(hri_verify *v, int *old_rows, int *old_cols)
{
    const uint8_t flags = flags_of(v->alpha) | flags_of(v->beta);
    scan_operands(v);
    if (v->old) {
        scan_old(v, old_rows, old_cols);
    }
    for (int64_t i = 0; i < v->m; i++) {
        v->skip_rows[i] |= flags;
    }
    if (v->row_exponents != NULL) {
        choose_exponents(v, old_rows, old_cols);
    }
}

hr_status hri_verify_scan(hri_verify *v)
{
    const hr_type type = v->c.matrix.type;
    const size_t m = (size_t)v->m, n = (size_t)v->n;
    int *old_rows = NULL, *old_cols = NULL;
    v->skip_rows = calloc(m, 1);
    v->skip_cols = calloc(n, 1);
    v->infinite = calloc((size_t)v->k + 1, sizeof *v->infinite);
    bool ok =
        v->skip_rows != NULL && v->skip_cols != NULL && v->infinite != NULL;
    if (type == HR_F64 ||
        type == HR_C64) { /* doubles hold sums of the others */
        v->row_exponents = calloc(m, sizeof(int));
        v->col_exponents = calloc(n, sizeof(int));
        old_rows = calloc(m, sizeof(int));
        old_cols = calloc(n, sizeof(int));
        ok = ok && v->row_exponents != NULL && v->col_exponents != NULL &&
             old_rows != NULL && old_cols != NULL;
    }
    if (ok) {
        scan_all(v, old_rows, old_cols);
    }
    free(old_rows);
    free(old_cols);
    return ok ? HR_OK
              : hri_fail(HR_ERROR_OUT_OF_MEMORY,
                         "verify: no memory for the flags of %lld rows and "
                         "%lld columns",
                         (long long)v->m, (long long)v->n);
}
