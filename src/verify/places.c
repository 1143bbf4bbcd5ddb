/* SPDX-License-Identifier: MIT */
/* Elements of C judged by their place, where operands are not finite.
 *
 * An infinity times any number, and a sum with such a term, is infinite or NaN.
 * So these rules hold in whatever order sums are formed:
 *   1. A NaN in row i of A makes row i of C NaN; one in column j of B makes
 *      column j NaN; one in C0 makes its element NaN.
 *   2. An infinity in row i of A or column j of B makes every element of that
 *      row or column infinite or NaN.
 *   3. Such an element is NaN if a term is infinity times 0, or if two terms
 *      are infinities of opposite signs. Else it is the infinity that its terms
 *      agree on.
 *   4. alpha gives its sign to that infinity. An infinity of beta C0 counts as
 *      one more term.
 *
 * For rule 3 terms with an infinity are added up in float, with 1 for every
 * finite number. Where a factor may be flushed to 0, where alpha or beta is
 * infinite, and in complex elements, any value that is not finite will do.
 *
 * The random test leaves out the rows and columns of rules 1 and 2, and those
 * of which no element is finite in C and C0. An element there that is not what
 * it must be is recomputed: it is right if it overflowed. The accumulation may
 * overflow if (1 + gamma_r(u)) times the sum of absolute terms (without alpha
 * if that is more), or alpha times the sum of |a| or |b| if |alpha| > 1,
 * reaches the largest number. C may overflow if the exact value plus the bound
 * reaches the number from which a half C rounds to infinity; C must be the
 * infinity of its sign then. Where an infinite operand makes an element
 * infinite, it may only be that infinity or NaN. */

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/matrix.h"
#include "base/size.h"
#include "base/status.h"
#include "verify/verify.h"

enum {
    ROWS = HRI_VERIFY_ROWS,
    COLS = HRI_VERIFY_COLS,
    BADLY = HRI_VERIFY_INFINITE | HRI_VERIFY_NAN
};

/* What an element must be. */
typedef enum kind {
    FINITE,
    PLUS,         /* infinity */
    MINUS,        /* -infinity */
    NOT_A_NUMBER, /* NaN */
    NOT_FINITE    /* any of these three */
} kind;

/* A line is a row of A or a column of B. */
typedef struct line_scan {
    hr_matrix matrix;       /* lines are its rows */
    uint8_t *flags;         /* of lines */
    _Atomic bool *infinite; /* k: whether an infinity is there in any line */
} line_scan;

static void scan_part(const line_scan *s, const double *part,
                      const hri_verify_window *w, uint8_t *flags)
{
    for (int64_t c = 0; c < w->cols; c++) {
        if (isnan(part[c])) {
            *flags |= HRI_VERIFY_INFINITE | HRI_VERIFY_NAN;
        } else if (isinf(part[c])) {
            *flags |= HRI_VERIFY_INFINITE;
            atomic_store_explicit(&s->infinite[w->col + c], true,
                                  memory_order_relaxed);
        }
    }
}

static void scan_task(void *data, int64_t index)
{
    const line_scan *s = data;
    const hr_matrix *m = &s->matrix;
    hri_verify_block block;
    hri_verify_window w = {.row = index * ROWS};
    w.rows = hri_min(ROWS, m->rows - w.row);
    for (; w.col < m->cols; w.col += COLS) {
        w.cols = hri_min(COLS, m->cols - w.col);
        hri_verify_load(m, &w, NULL, &block);
        for (int64_t r = 0; r < w.rows; r++) {
            uint8_t *flags = &s->flags[w.row + r];
            scan_part(s, block.re + r * COLS, &w, flags);
            if (hri_is_complex(m->type)) {
                scan_part(s, block.im + r * COLS, &w, flags);
            }
        }
    }
}

static bool is_finite(const double x[2])
{
    return isfinite(x[0]) && isfinite(x[1]);
}

static void load_element(const hri_verify *v, const hri_verify_block *block,
                         int64_t at, double x[2])
{
    x[0] = block->re[at];
    x[1] = v->complex ? block->im[at] : 0.0;
}

/* Rows of C, or of its transpose, and their flags. */
typedef struct cover_scan {
    const hri_verify *v;
    hr_matrix c, c0;
    uint8_t *rows;
    const uint8_t *cols;
} cover_scan;

/* Flag the rows that have elements that are not finite in C or C0, and no
 * others. Flagged columns do not count. */
static void cover_task(void *data, int64_t index)
{
    const cover_scan *s = data;
    const hri_verify *v = s->v;
    hri_verify_block c, c0;
    bool tested[ROWS] = {false}, holes[ROWS] = {false};
    hri_verify_window w = {.row = index * ROWS};
    w.rows = hri_min(ROWS, s->c.rows - w.row);
    for (; w.col < s->c.cols; w.col += COLS) {
        w.cols = hri_min(COLS, s->c.cols - w.col);
        hri_verify_load(&s->c, &w, NULL, &c);
        if (v->old) {
            hri_verify_load(&s->c0, &w, NULL, &c0);
        }
        for (int64_t i = 0; i < w.rows * COLS; i++) {
            double got[2], old[2] = {0.0, 0.0};
            if (i % COLS >= w.cols || s->cols[w.col + i % COLS] != 0) {
                continue;
            }
            load_element(v, &c, i, got);
            if (v->old) {
                load_element(v, &c0, i, old);
            }
            if (is_finite(got) && is_finite(old)) {
                tested[i / COLS] = true;
            } else {
                holes[i / COLS] = true;
            }
        }
    }
    for (int64_t r = 0; r < w.rows; r++) {
        if (holes[r] && !tested[r]) {
            s->rows[w.row + r] |= HRI_VERIFY_UNTESTED;
        }
    }
}

/* The flags that a factor gives to all rows. */
static uint8_t flags_of(hr_scalar s)
{
    if (isnan(s.re) || isnan(s.im)) {
        return HRI_VERIFY_INFINITE | HRI_VERIFY_NAN;
    }
    return isinf(s.re) || isinf(s.im) ? HRI_VERIFY_INFINITE : 0;
}

static void flag_lines(hri_verify *v, _Atomic bool *infinite)
{
    line_scan a = {v->a, v->skip_rows, infinite};
    line_scan b = {hr_matrix_transpose(v->b), v->skip_cols, infinite};
    cover_scan rows = {v, v->c, v->c0, v->skip_rows, v->skip_cols};
    cover_scan cols = {v, hr_matrix_transpose(v->c), hr_matrix_transpose(v->c0),
                       v->skip_cols, v->skip_rows};
    const int64_t row_tasks = hri_ceil_div(v->m, ROWS);
    const int64_t col_tasks = hri_ceil_div(v->n, ROWS);
    hri_verify_run(v, row_tasks, scan_task, &a, ROWS * v->k);
    hri_verify_run(v, col_tasks, scan_task, &b, ROWS * v->k);
    for (int64_t i = 0; i < v->m; i++) {
        v->skip_rows[i] |= flags_of(v->alpha) | flags_of(v->beta);
    }
    hri_verify_run(v, row_tasks, cover_task, &rows, ROWS * v->n);
    hri_verify_run(v, col_tasks, cover_task, &cols, ROWS * v->m);
}

/* ---- signs of infinities */

typedef struct places {
    const hri_verify *v;
    int64_t *terms; /* of k: those where A or B has an infinity */
    int64_t term_count;
    int64_t groups; /* of 64 terms */
    bool *in_a;     /* m x groups: A has an infinity or NaN in these terms */
    bool *in_b;     /* groups: so has B, in the columns at hand */
    float *b;       /* term_count x 64: the signs of B in the columns at hand */
    hri_verify_window columns; /* these columns, of all rows */
    int64_t *windows; /* m: of 64 columns, to recompute in each row; 0 as well
                         for rows that are left out */
    int64_t *wrong;   /* m: elements there that are not what they must be */
    bool judging;     /* else counting */
    hri_verify_first first;
} places;

/* Whether a number, or its product by alpha, may be flushed to 0. */
static bool is_tiny(const hri_verify *v, double x)
{
    const double size = fabs(x) * fmin(1.0, hri_verify_size(v->alpha));
    return x != 0.0 && size < v->precision.smallest;
}

/* x if it is 0 or not finite, else 1, or 1/2 for what may be flushed, with the
 * sign of x. */
static float sign_of(const hri_verify *v, double x)
{
    const float size = is_tiny(v, x) ? 0.5F : 1.0F;
    if (x == 0.0 || !isfinite(x)) {
        return (float)x;
    }
    return x > 0.0 ? size : -size;
}

static float flushed(float sign)
{
    return fabsf(sign) < 1.0F ? 0.0F : sign;
}

/* Load A's element of a term, with those behind it, unless it is there. */
static void load_term(const hri_verify *v, int64_t term, hri_verify_window *w,
                      hri_verify_block *a)
{
    if (term >= w->col + w->cols) {
        w->col = term;
        w->cols = hri_min(COLS, v->k - term);
        hri_verify_load(&v->a, w, NULL, a);
    }
}

/* The signs of B for some terms. */
static void signs_task(void *data, int64_t index)
{
    const places *s = data;
    hri_verify_block block;
    hri_verify_window w = s->columns;
    const int64_t end = hri_min((index + 1) * ROWS, s->term_count);
    w.rows = 1;
    s->in_b[index] = false;
    for (int64_t q = index * ROWS; q < end; q++) {
        w.row = s->terms[q];
        hri_verify_load(&s->v->b, &w, NULL, &block);
        for (int64_t c = 0; c < COLS; c++) {
            s->b[q * COLS + c] = c < w.cols ? sign_of(s->v, block.re[c]) : NAN;
            s->in_b[index] |= c < w.cols && !isfinite(block.re[c]);
        }
    }
}

/* Where some rows of A have infinities. */
static void rows_task(void *data, int64_t index)
{
    const places *s = data;
    const hri_verify *v = s->v;
    const int64_t end = hri_min((index + 1) * ROWS, v->m);
    hri_verify_block a;
    for (int64_t row = index * ROWS; row < end; row++) {
        hri_verify_window w = {.row = row, .rows = 1};
        for (int64_t q = 0; q < s->term_count; q++) {
            load_term(v, s->terms[q], &w, &a);
            s->in_a[row * s->groups + q / ROWS] |=
                !isfinite(a.re[s->terms[q] - w.col]);
        }
    }
}

/* The sums of the terms with an infinity: as they are, and if tiny factors are
 * flushed to 0. */
typedef struct sign_sums {
    float kept[COLS], flushed[COLS];
} sign_sums;

static bool all_nan(const sign_sums *sums)
{
    int64_t count = 0;
    for (int64_t c = 0; c < COLS; c++) {
        count += isnan(sums->kept[c]) != 0;
    }
    return count == COLS;
}

static void sum_signs(const places *s, int64_t row, sign_sums *sums)
{
    const hri_verify *v = s->v;
    hri_verify_block a;
    hri_verify_window w = {.row = row, .rows = 1};
    memset(sums, 0, sizeof *sums);
    for (int64_t g = 0; g < s->groups && !all_nan(sums); g++) {
        const int64_t end = hri_min((g + 1) * ROWS, s->term_count);
        const bool finite = !s->in_a[row * s->groups + g] && !s->in_b[g];
        for (int64_t q = g * ROWS; q < end && !finite; q++) {
            load_term(v, s->terms[q], &w, &a);
            const float x = sign_of(v, a.re[s->terms[q] - w.col]);
            const float *b = s->b + q * COLS;
            for (int64_t c = 0; c < COLS; c++) {
                sums->kept[c] += x * b[c];
                sums->flushed[c] += flushed(x) * flushed(b[c]);
            }
        }
    }
}

/* ---- what elements must be */

/* What alpha A B must be, in column c of those at hand. */
static kind product_kind(const places *s, int flags, const sign_sums *sums,
                         int64_t c)
{
    const hri_verify *v = s->v;
    if ((flags & BADLY) == 0) {
        return FINITE;
    }
    if (v->complex) {
        return NOT_FINITE; /* implementations differ in which part is */
    }
    if ((flags & HRI_VERIFY_NAN) != 0) {
        return NOT_A_NUMBER;
    }
    if (!isfinite(v->alpha.re) || !isfinite(v->beta.re)) {
        return NOT_FINITE; /* the order of operations decides */
    }
    if (isnan(sums->kept[c])) {
        return NOT_A_NUMBER;
    }
    if (isnan(sums->flushed[c])) {
        return NOT_FINITE;
    }
    return (sums->kept[c] > 0.0F) == !signbit(v->alpha.re) ? PLUS : MINUS;
}

/* What C must be, given what alpha A B must be. */
static kind add_old(const hri_verify *v, kind product, const double old[2])
{
    if (is_finite(old) || product == NOT_A_NUMBER || product == NOT_FINITE) {
        return product;
    }
    if (v->complex) {
        return NOT_FINITE;
    }
    if (isnan(old[0])) {
        return NOT_A_NUMBER;
    }
    const kind sign = (old[0] > 0.0) == !signbit(v->beta.re) ? PLUS : MINUS;
    return product == FINITE || product == sign ? sign : NOT_A_NUMBER;
}

static bool is_of_kind(kind k, const double got[2])
{
    switch (k) {
    case FINITE:
        return is_finite(got);
    case PLUS:
        return got[0] == (double)INFINITY;
    case MINUS:
        return got[0] == -(double)INFINITY;
    case NOT_A_NUMBER:
        return isnan(got[0]);
    case NOT_FINITE:
        return !is_finite(got);
    }
    return false;
}

/* The elements of a row, among those that the random test leaves out, that are
 * not what they must be. As bits. `line` is the row's place in the blocks. */
static uint64_t wrong_bits(const places *s, const hri_verify_window *w,
                           const hri_verify_block *c,
                           const hri_verify_block *c0, int64_t line)
{
    const hri_verify *v = s->v;
    const int row_flags = v->skip_rows[w->row];
    int any = 0;
    uint64_t wrong = 0;
    sign_sums sums;
    for (int64_t i = 0; i < w->cols; i++) {
        any |= row_flags | v->skip_cols[w->col + i];
    }
    if ((any & BADLY) != 0 && (row_flags & HRI_VERIFY_NAN) == 0) {
        sum_signs(s, w->row, &sums);
    }
    for (int64_t i = 0; any != 0 && i < w->cols; i++) {
        const int flags = row_flags | v->skip_cols[w->col + i];
        double got[2], old[2] = {0.0, 0.0};
        load_element(v, c, line * COLS + i, got);
        if (v->old) {
            load_element(v, c0, line * COLS + i, old);
        }
        const kind k = add_old(v, product_kind(s, flags, &sums, i), old);
        if (flags != 0 && !is_of_kind(k, got)) {
            wrong |= (uint64_t)1 << i;
        }
    }
    return wrong;
}

static int64_t count_bits(uint64_t bits)
{
    int64_t count = 0;
    for (; bits != 0; bits &= bits - 1) {
        count++;
    }
    return count;
}

/* The wrong elements of some rows, in the columns at hand. */
static __attribute__((noinline)) void /* its blocks leave the stack */
find_wrong(const places *s, int64_t first, int64_t rows, uint64_t wrong[ROWS])
{
    const hri_verify *v = s->v;
    hri_verify_block c, c0;
    hri_verify_window w = s->columns;
    w.row = first;
    w.rows = rows;
    hri_verify_load(&v->c, &w, NULL, &c);
    if (v->old) {
        hri_verify_load(&v->c0, &w, NULL, &c0);
    }
    for (int64_t r = 0; r < rows; r++) {
        const hri_verify_window line = {first + r, w.col, 1, w.cols};
        const bool left_out = s->judging && s->windows[first + r] == 0;
        wrong[r] = left_out ? 0 : wrong_bits(s, &line, &c, &c0, r);
    }
}

static void places_task(void *data, int64_t index)
{
    places *s = data;
    const int64_t first = index * ROWS;
    const int64_t rows = hri_min(ROWS, s->v->m - first);
    uint64_t wrong[ROWS];
    find_wrong(s, first, rows, wrong);
    for (int64_t r = 0; r < rows; r++) {
        const int64_t row = first + r;
        const hri_verify_window line = {row, s->columns.col, 1,
                                        s->columns.cols};
        if (wrong[r] == 0) {
            continue;
        }
        if (s->judging) {
            hri_verify_judge(s->v, &line, wrong[r], &s->first);
        } else {
            s->windows[row]++;
            s->wrong[row] += count_bits(wrong[r]);
        }
    }
}

static void go_through(places *s, bool judging)
{
    const hri_verify *v = s->v;
    s->judging = judging;
    for (int64_t col = 0; col < v->n && !hri_verify_stopped(v); col += COLS) {
        s->columns =
            (hri_verify_window){.col = col, .cols = hri_min(COLS, v->n - col)};
        hri_verify_run(v, hri_ceil_div(s->term_count, ROWS), signs_task, s,
                       ROWS * COLS);
        hri_verify_run(v, hri_ceil_div(v->m, ROWS), places_task, s,
                       ROWS * COLS);
    }
}

/* Choose rows to recompute: the first ones, as far as *windows reaches. */
static void choose_rows(places *s, int64_t *windows, hri_verify_found *found)
{
    const hri_verify *v = s->v;
    for (int64_t i = 0; i < v->m; i++) {
        if (s->windows[i] > *windows) {
            found->unchecked += s->wrong[i];
            s->windows[i] = 0;
        } else {
            *windows -= s->windows[i];
            found->rows_checked += s->windows[i] > 0 || v->skip_rows[i] != 0;
        }
    }
    for (int64_t j = 0; j < v->n; j++) {
        found->rows_checked += v->skip_cols[j] != 0;
    }
}

static hr_status find_terms(places *s, const _Atomic bool *infinite)
{
    const hri_verify *v = s->v;
    for (int64_t p = 0; !v->complex && p < v->k; p++) {
        s->term_count += atomic_load(&infinite[p]);
    }
    s->terms = malloc((size_t)(s->term_count + 1) * sizeof *s->terms);
    s->groups = hri_ceil_div(s->term_count, ROWS);
    s->b = malloc((size_t)(s->term_count + 1) * COLS * sizeof *s->b);
    s->in_a = calloc((size_t)(v->m * s->groups + 1), sizeof *s->in_a);
    s->in_b = calloc((size_t)s->groups + 1, sizeof *s->in_b);
    s->windows = calloc((size_t)v->m, sizeof *s->windows);
    s->wrong = calloc((size_t)v->m, sizeof *s->wrong);
    if (s->terms == NULL || s->b == NULL || s->in_a == NULL ||
        s->in_b == NULL || s->windows == NULL || s->wrong == NULL) {
        return hri_fail(HR_ERROR_OUT_OF_MEMORY,
                        "verify: no memory for the signs of %lld x %d elements",
                        (long long)s->term_count, COLS);
    }
    for (int64_t p = 0, q = 0; q < s->term_count; p++) {
        if (atomic_load(&infinite[p])) {
            s->terms[q++] = p;
        }
    }
    return HR_OK;
}

hr_status hri_verify_places(hri_verify *v, int64_t *windows,
                            hri_verify_found *found)
{
    places s = {.v = v, .first.miss = {.row = -1, .col = -1}};
    _Atomic bool *infinite = calloc((size_t)v->k + 1, sizeof *infinite);
    hr_status status;
    v->skip_rows = calloc((size_t)v->m, 1);
    v->skip_cols = calloc((size_t)v->n, 1);
    if (v->skip_rows == NULL || v->skip_cols == NULL || infinite == NULL) {
        status = hri_fail(HR_ERROR_OUT_OF_MEMORY,
                          "verify: no memory for the flags of %lld rows and "
                          "%lld columns",
                          (long long)v->m, (long long)v->n);
        goto done;
    }
    flag_lines(v, infinite);
    status = find_terms(&s, infinite);
    if (status != HR_OK) {
        goto done;
    }
    hri_verify_run(v, hri_ceil_div(v->m, ROWS), rows_task, &s, ROWS * v->k);
    pthread_mutex_init(&s.first.lock, NULL);
    go_through(&s, false);
    choose_rows(&s, windows, found);
    go_through(&s, true);
    pthread_mutex_destroy(&s.first.lock);
    found->miss = s.first.miss;
    status = hri_verify_status(v, HR_OK);
done:
    free(infinite);
    free(s.terms);
    free(s.b);
    free(s.in_a);
    free(s.in_b);
    free(s.windows);
    free(s.wrong);
    return status;
}
