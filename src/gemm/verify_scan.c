/* SPDX-License-Identifier: MIT */
/* What the random test needs to know of values that are hard on it: which rows
 * and columns are not finite, and which are so large that sums may overflow.
 *
 * Large f64 numbers are scaled by powers of two. A row of A above 2^50, also
 * after alpha, is scaled down to it. All of B is scaled down if an element is
 * above 2^600; rows of A with small elements are scaled up then, so that their
 * rows of C stay as they are. Where beta C0 or C0 is above 2^650 then, its row
 * of A and of C is scaled down more. Numbers far smaller than the largest of
 * their row may vanish. Where that takes more from an element than rounding
 * may, it is recomputed with a power of two of its own (verify_exact.c), which
 * loses nothing but for a part of a complex element 2^1000 times smaller than
 * the other. */
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/matrix.h"
#include "base/size.h"
#include "base/status.h"
#include "gemm/verify.h"

/* Rows of A, and of alpha A, are scaled to stay below 2^50. B is scaled to stay
 * below 2^600. So elements of C stay below k 2^650. The random test's scales
 * are at most 2^250. So no sum overflows. */
enum { TOP_A = 50, TOP_B = 600, TOP_C = TOP_A + TOP_B };

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

static void run_scan(const hri_verify *v, scan *s)
{
    const hr_matrix *m = &s->source.matrix;
    hri_verify_run(v, hri_ceil_div(m->rows, HRI_VERIFY_ROWS), scan_task, s,
                   HRI_VERIFY_ROWS * m->cols);
}

/* Scan C0 along its rows and along its columns. */
static void scan_old(hri_verify *v, int *rows)
{
    scan s = {.source.matrix = v->c0.matrix,
              .flags = v->skip_rows,
              .exponents = rows,
              .old = true};
    run_scan(v, &s);
    s.source.matrix = hr_matrix_transpose(v->c0.matrix);
    s.flags = v->skip_cols;
    s.exponents = NULL;
    run_scan(v, &s);
}

/* Scan A along its rows, and B along its columns. */
static void scan_operands(hri_verify *v, int *b_cols)
{
    scan s = {.source.matrix = v->a.matrix,
              .flags = v->skip_rows,
              .infinite = v->infinite,
              .exponents = v->row_exponents};
    run_scan(v, &s);
    s.source.matrix = hr_matrix_transpose(v->b.matrix);
    s.flags = v->skip_cols;
    s.exponents = b_cols;
    run_scan(v, &s);
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

/* Choose exponents. Rows of A below 2^TOP_A are not scaled, or up as B is
 * scaled down: then their rows of C are as they were. */
static void choose_exponents(hri_verify *v, const int *b_cols,
                             const int *old_rows)
{
    const int alpha = exponent_of(v->alpha), beta = exponent_of(v->beta);
    int b = 0;
    for (int64_t j = 0; j < v->n; j++) {
        b = (int)hri_max(b, b_cols[j] - TOP_B);
    }
    for (int64_t i = 0; i < v->m; i++) {
        int64_t a = v->row_exponents[i] + alpha - TOP_A;
        if (v->old) {
            a = hri_max(a, old_rows[i] + beta - b - TOP_C);
        }
        v->row_exponents[i] = (int)hri_max(a, -b);
    }
    v->b_exponent = v->b.all = v->c.all = v->c0.all = b;
    v->a.rows = v->c.rows = v->c0.rows = v->row_exponents;
}

/* The flags that a factor gives to all rows. */
static uint8_t flags_of(hr_scalar s)
{
    if (isnan(s.re) || isnan(s.im)) {
        return HRI_VERIFY_INFINITE | HRI_VERIFY_NAN;
    }
    return isinf(s.re) || isinf(s.im) ? HRI_VERIFY_INFINITE : 0;
}

static void scan_all(hri_verify *v, int *b_cols, int *old_rows)
{
    const uint8_t flags = flags_of(v->alpha) | flags_of(v->beta);
    scan_operands(v, b_cols);
    if (v->old) {
        scan_old(v, old_rows);
    }
    for (int64_t i = 0; i < v->m; i++) {
        v->skip_rows[i] |= flags;
    }
    if (v->row_exponents != NULL) {
        choose_exponents(v, b_cols, old_rows);
    }
}

hr_status hri_verify_scan(hri_verify *v)
{
    const hr_type type = v->c.matrix.type;
    const size_t m = (size_t)v->m, n = (size_t)v->n;
    int *b_cols = NULL, *old_rows = NULL;
    v->skip_rows = calloc(m, 1);
    v->skip_cols = calloc(n, 1);
    v->infinite = calloc((size_t)v->k + 1, sizeof *v->infinite);
    bool ok =
        v->skip_rows != NULL && v->skip_cols != NULL && v->infinite != NULL;
    if (type == HR_F64 ||
        type == HR_C64) { /* doubles hold sums of the others */
        v->row_exponents = calloc(m, sizeof(int));
        b_cols = calloc(n, sizeof(int));
        old_rows = calloc(m, sizeof(int));
        ok = ok && v->row_exponents != NULL && b_cols != NULL &&
             old_rows != NULL;
    }
    if (ok) {
        scan_all(v, b_cols, old_rows);
    }
    free(b_cols);
    free(old_rows);
    return ok ? hri_verify_status(v, HR_OK)
              : hri_fail(HR_ERROR_OUT_OF_MEMORY,
                         "verify: no memory for the flags of %lld rows and "
                         "%lld columns",
                         (long long)v->m, (long long)v->n);
}
