/* SPDX-License-Identifier: MIT */
/* Elements of C that are not finite, or must not be. Their place alone tells
 * most of them: a row of A or a column of B with a NaN makes its row or column
 * of C NaN, and one with an infinity makes it infinite or NaN. Bits of the
 * signs of B decide between these two. What remains is recomputed.
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
 * Rules 1 and 2 need flags of rows and columns. For rule 3 the signs of B are
 * packed into bits (PLANES), and each term of a row that is not finite combines
 * a row of them, 64 columns at a time, until all columns are NaN. LOOKED_AT
 * limits the terms. Where a factor may be flushed to 0, where alpha or beta is
 * infinite, and in complex elements, any value that is not finite will do. For
 * types accumulated in f32 a flush may also make NaN of an element that the
 * first LOOKED_AT terms leave open.
 *
 * The random test leaves out rows and columns that are not finite. What remains
 * may have holes: an element of C that is infinite since it overflowed, or one
 * of C0 that is not finite. The test takes the exact alpha A B in its place.
 *
 * A C that is not finite where it should be is right in two cases. The
 * accumulation may overflow: (1 + gamma_r(u)) times the sum of absolute terms
 * (without alpha if that is more), or alpha times the sum of |a| or |b| if
 * |alpha| > 1, reaches the largest number. Or the exact value plus the bound
 * reaches the number from which a half C rounds to infinity; C must be the
 * infinity of its sign then. Where an infinite operand makes an element
 * infinite, it may only be that infinity or NaN.
 *
 * A row is dull if holes and scales make its threshold more than four times
 * what it would be without them. Dull rows are recomputed, within the 64. */
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "base/status.h"
#include "gemm/verify.h"

enum {
    COLS = HRI_VERIFY_COLS, /* also the bits of a word */
    ROWS = HRI_VERIFY_ROWS,
    STRIP_WORDS = 64, /* the columns of a strip, at most: 4096 */
    LOOKED_AT = 4096, /* the terms of a row of C that are not finite, at most */
    MAX_HOLES = 1 << 20,
    BADLY = HRI_VERIFY_INFINITE | HRI_VERIFY_NAN
};

/* Bytes of the planes of a strip, unless k is very large. */
static const int64_t plane_bytes = (int64_t)8 << 20;

/* Products that may be recomputed, if these are more than 64 rows. */
static const int64_t least_products = (int64_t)1 << 28;

/* What an element must be. */
typedef enum kind {
    FINITE,
    PLUS,         /* infinity */
    MINUS,        /* -infinity */
    NOT_A_NUMBER, /* NaN */
    NOT_FINITE,   /* any of these three */
    OPEN          /* one of these three: to be recomputed */
} kind;

/* Bits of a row of B: what a term is when multiplied by an infinity. */
enum {
    POSITIVE,
    NEGATIVE,
    NOTHING, /* 0 or NaN: the term is NaN. The others may be flushed to 0. */
    PLUS_INFINITE,
    MINUS_INFINITE,
    PLANES
};

/* Bits of a row of C: which terms it has. */
typedef struct row_terms {
    uint64_t plus[STRIP_WORDS], minus[STRIP_WORDS], nan[STRIP_WORDS];
    uint64_t unsure[STRIP_WORDS]; /* infinite, or NaN after a flush to 0 */
    bool open;                    /* not all terms were looked at */
} row_terms;

/* What the count finds in a row. */
typedef struct special_row {
    int64_t finite;  /* elements that must be finite */
    int64_t holes;   /* elements that the random test cannot include */
    int64_t tested;  /* elements that it does include */
    int64_t open;    /* elements to recompute that must not be finite */
    int64_t windows; /* of 64 columns, to recompute */
    bool chosen;     /* they are recomputed */
} special_row;

typedef struct special {
    hri_verify *v;
    hri_verify_source a, b, c0, c; /* unscaled */
    special_row *rows;
    bool signs;                /* infinities are there, so signs matter */
    bool judging;              /* else counting */
    int64_t first, cols;       /* of the strip */
    int64_t words, words_used; /* of a plane of it */
    uint64_t *planes;          /* k x PLANES x words */
    uint8_t *infinite;         /* k: rows of B with an infinity here */
    uint8_t *windows;          /* of 64 of k: whether an infinity is in these
                                  columns of A or rows of B; see INFINITE_B */
    pthread_mutex_t lock;      /* guards what follows, and v->holes */
    int64_t capacity;          /* of v->holes */
    bool no_memory;
    int64_t unchecked;
    hri_verify_miss miss;
} special;

/* Flags of windows of k. */
enum {
    INFINITE_ANY = 1, /* in A or in B */
    INFINITE_B = 2    /* in these columns of B */
};

/* Whether a number, or its product by alpha, may be flushed to 0. */
static bool is_tiny(const hri_verify *v, double x)
{
    double size = fabs(x) * fmin(1.0, hri_verify_size(v->alpha));
    return x != 0.0 && size < v->precision.smallest;
}

static void set_planes(const special *s, uint64_t *planes, double x,
                       int64_t col)
{
    const uint64_t bit = (uint64_t)1 << col % COLS;
    uint64_t *word = planes + col / COLS;
    if (isnan(x) || x == 0.0) {
        word[NOTHING * s->words] |= bit;
    } else if (!is_tiny(s->v, x)) {
        word[(x > 0.0 ? POSITIVE : NEGATIVE) * s->words] |= bit;
    }
    if (isinf(x)) {
        word[(x > 0.0 ? PLUS_INFINITE : MINUS_INFINITE) * s->words] |= bit;
    }
}

/* Whether an infinity is among terms [first, first + count). */
static bool any_of(const hri_verify *v, int64_t first, int64_t count)
{
    for (int64_t p = first; p < first + count; p++) {
        if (atomic_load_explicit(&v->infinite[p], memory_order_relaxed)) {
            return true;
        }
    }
    return false;
}

/* The planes of 32 rows of B. They are needed for terms with an infinity. */
static void plane_task(void *data, int64_t index)
{
    special *s = data;
    hri_verify_block block;
    hri_verify_window w = {.row = index * ROWS, .col = s->first};
    const int64_t end = s->first + s->cols, size = PLANES * s->words;
    w.rows = hri_min(ROWS, s->v->k - w.row);
    memset(s->infinite + w.row, 0, (size_t)w.rows);
    if (!any_of(s->v, w.row, w.rows)) {
        return;
    }
    memset(s->planes + w.row * size, 0,
           (size_t)(w.rows * size) * sizeof *s->planes);
    for (; w.col < end; w.col += COLS) {
        w.cols = hri_min(COLS, end - w.col);
        hri_verify_load(&s->b, &w, NULL, &block);
        for (int64_t i = 0; i < w.rows * COLS; i++) {
            int64_t row = w.row + i / COLS, col = i % COLS;
            if (col < w.cols) {
                set_planes(s, s->planes + row * size, block.re[i],
                           w.col - s->first + col);
                if (isinf(block.re[i])) {
                    s->infinite[row] = 1;
                }
            }
        }
    }
}

static void flag_windows(special *s)
{
    const int64_t k = s->v->k;
    for (int64_t first = 0; first < k; first += COLS) {
        const int64_t count = hri_min(COLS, k - first);
        uint8_t *flags = &s->windows[first / COLS];
        *flags = any_of(s->v, first, count) ? INFINITE_ANY : 0;
        if (memchr(s->infinite + first, 1, (size_t)count) != NULL) {
            *flags |= INFINITE_B;
        }
    }
}

/* Add the terms a b_pj, where a or some b_pj is infinite. */
static void add_terms(const special *s, double a, int64_t p, row_terms *t)
{
    const uint64_t *b = s->planes + p * PLANES * s->words;
    const int64_t words = s->words;
    const bool negative = a < 0.0;
    for (int64_t w = 0; w < words; w++) {
        const uint64_t positive = b[POSITIVE * words + w];
        const uint64_t nothing = b[NOTHING * words + w];
        const uint64_t minus = b[NEGATIVE * words + w];
        const uint64_t infinities =
            b[PLUS_INFINITE * words + w] | b[MINUS_INFINITE * words + w];
        const uint64_t of = isinf(a) ? UINT64_MAX : infinities;
        if (a == 0.0 || isnan(a)) {
            t->nan[w] |= of;
        } else if (is_tiny(s->v, a)) {
            t->unsure[w] |= of;
        } else {
            t->plus[w] |= of & (negative ? minus : positive);
            t->minus[w] |= of & (negative ? positive : minus);
            t->nan[w] |= of & nothing;
            t->unsure[w] |= of & ~(positive | minus | nothing);
        }
    }
}

static bool all_nan(const special *s, const row_terms *t)
{
    for (int64_t w = 0; w < s->words_used; w++) {
        if ((t->nan[w] | (t->plus[w] & t->minus[w])) != UINT64_MAX) {
            return false;
        }
    }
    return true;
}

/* Collect the infinite terms of a row of C, until all its elements are NaN. */
static void collect(const special *s, int64_t row, row_terms *t)
{
    hri_verify_block block;
    hri_verify_window w = {.row = row, .rows = 1};
    const bool bad = (s->v->skip_rows[row] & HRI_VERIFY_INFINITE) != 0;
    const int flags = bad ? INFINITE_ANY : INFINITE_B;
    int64_t looked_at = 0;
    memset(t, 0, sizeof *t);
    if (s->cols % COLS != 0) { /* no columns are there */
        t->nan[s->words_used - 1] = UINT64_MAX << s->cols % COLS;
    }
    for (; w.col < s->v->k && !all_nan(s, t); w.col += COLS) {
        w.cols = hri_min(COLS, s->v->k - w.col);
        if ((s->windows[w.col / COLS] & flags) == 0) {
            continue;
        }
        hri_verify_load(&s->a, &w, NULL, &block);
        for (int64_t c = 0; c < w.cols; c++) {
            if (isfinite(block.re[c]) && !s->infinite[w.col + c]) {
                continue;
            }
            if (looked_at++ == LOOKED_AT) {
                t->open = true;
                return;
            }
            add_terms(s, block.re[c], w.col + c, t);
        }
    }
}

static bool is_finite(const double x[2])
{
    return isfinite(x[0]) && isfinite(x[1]);
}

/* What alpha A B must be. */
static kind product_kind(const special *s, const row_terms *t, int64_t row,
                         int64_t col)
{
    const hri_verify *v = s->v;
    const int flags = v->skip_rows[row] | v->skip_cols[col];
    const int64_t word = (col - s->first) / COLS;
    const uint64_t bit = (uint64_t)1 << (col - s->first) % COLS;
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
    if (((t->nan[word] | (t->plus[word] & t->minus[word])) & bit) != 0) {
        return NOT_A_NUMBER;
    }
    if ((t->unsure[word] & bit) != 0) {
        return NOT_FINITE;
    }
    if (t->open) {
        return OPEN;
    }
    const bool plus = (t->plus[word] & bit) != 0;
    return plus == !signbit(v->alpha.re) ? PLUS : MINUS;
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
    const bool plus = (old[0] > 0.0) == !signbit(v->beta.re);
    const kind sign = plus ? PLUS : MINUS;
    if (product == FINITE || product == OPEN) {
        return product == FINITE ? sign : OPEN;
    }
    return product == sign ? sign : NOT_A_NUMBER;
}

/* Whether an element is what it must be, so that it need not be recomputed. In
 * one that is open a factor may be flushed to 0. */
static bool is_settled(const hri_verify *v, kind k, const double got[2])
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
    case OPEN:
        return isnan(got[0]) && is_tiny(v, 0x1p-127);
    }
    return false;
}

/* Of 64 columns of a row, as bits. */
typedef struct window_bits {
    uint64_t wrong; /* to recompute */
    uint64_t holes; /* what the random test cannot include */
    uint64_t tested;
    uint64_t finite;
} window_bits;

static window_bits look(const special *s, const row_terms *t,
                        const hri_verify_window *w)
{
    const hri_verify *v = s->v;
    hri_verify_block c, c0;
    window_bits bits = {0, 0, 0, 0};
    hri_verify_load(&s->c, w, NULL, &c);
    if (v->old) {
        hri_verify_load(&s->c0, w, NULL, &c0);
    }
    for (int64_t i = 0; i < w->cols; i++) {
        const uint64_t bit = (uint64_t)1 << i;
        const double got[2] = {c.re[i], v->complex ? c.im[i] : 0.0};
        const double old[2] = {v->old ? c0.re[i] : 0.0,
                               v->old && v->complex ? c0.im[i] : 0.0};
        kind k = product_kind(s, t, w->row, w->col + i);
        k = add_old(v, k, old);
        bits.finite |= k == FINITE ? bit : 0;
        bits.wrong |= is_settled(v, k, got) ? 0 : bit;
        if (v->skip_rows[w->row] == 0 && v->skip_cols[w->col + i] == 0) {
            const bool tested = is_finite(got) && is_finite(old);
            bits.tested |= tested ? bit : 0;
            bits.holes |= tested ? 0 : bit;
        }
    }
    return bits;
}

static int64_t count_bits(uint64_t bits)
{
    int64_t count = 0;
    for (; bits != 0; bits &= bits - 1) {
        count++;
    }
    return count;
}

static void count_window(special_row *row, const window_bits *bits)
{
    row->finite += count_bits(bits->finite);
    row->holes += count_bits(bits->holes);
    row->tested += count_bits(bits->tested);
    row->open += count_bits(bits->wrong & ~bits->finite);
    row->windows += (bits->wrong | bits->holes) != 0;
}

/* Keep the holes of a window, unless the random test leaves out their row. The
 * lock is held. */
static bool keep_holes(special *s, const hri_verify_window *w, uint64_t holes,
                       const hri_verify_hole *made)
{
    hri_verify *v = s->v;
    if (holes == 0 || v->skip_rows[w->row] != 0) {
        return true;
    }
    if (v->hole_count + COLS > s->capacity) {
        int64_t capacity = 2 * s->capacity + COLS;
        hri_verify_hole *grown =
            realloc(v->holes, (size_t)capacity * sizeof *grown);
        if (grown == NULL) {
            return false;
        }
        v->holes = grown;
        s->capacity = capacity;
    }
    for (int64_t i = 0; i < w->cols; i++) {
        if ((holes >> i & 1) != 0) {
            v->holes[v->hole_count++] = made[i];
        }
    }
    return true;
}

static void judge_window(special *s, const hri_verify_window *w,
                         const window_bits *bits)
{
    hri_verify_hole holes[COLS];
    hri_verify_miss miss;
    if ((bits->wrong | bits->holes) == 0) {
        return;
    }
    hri_verify_judge(s->v, w->row, w->col, bits->wrong, &miss, holes);
    pthread_mutex_lock(&s->lock);
    const hri_verify_miss *best = &s->miss;
    s->unchecked += miss.unchecked;
    if (miss.col >= 0 && (best->col < 0 || miss.row < best->row ||
                          (miss.row == best->row && miss.col < best->col))) {
        s->miss = miss;
    }
    if (!keep_holes(s, w, bits->holes, holes)) {
        s->no_memory = true;
    }
    pthread_mutex_unlock(&s->lock);
}

/* One row of C in the strip. */
static void row_task(void *data, int64_t index)
{
    special *s = data;
    special_row *row = &s->rows[index];
    const int64_t end = s->first + s->cols;
    row_terms terms;
    hri_verify_window w = {.row = index, .col = s->first, .rows = 1};
    if (s->judging && !row->chosen) {
        return;
    }
    if (s->signs && (s->v->skip_rows[index] & HRI_VERIFY_NAN) == 0) {
        collect(s, index, &terms);
    }
    for (; w.col < end; w.col += COLS) {
        w.cols = hri_min(COLS, end - w.col);
        const window_bits bits = look(s, &terms, &w);
        if (s->judging) {
            judge_window(s, &w, &bits);
        } else {
            count_window(row, &bits);
        }
    }
}

/* Go through C in strips of columns. */
static void go_through(special *s)
{
    const hri_verify *v = s->v;
    const int64_t strip = s->words * COLS;
    for (s->first = 0; s->first < v->n && !hri_verify_stopped(v);
         s->first += strip) {
        s->cols = hri_min(strip, v->n - s->first);
        s->words_used = hri_ceil_div(s->cols, COLS);
        if (s->signs) {
            hri_verify_run(v, hri_ceil_div(v->k, ROWS), plane_task, s,
                           ROWS * s->cols);
            flag_windows(s);
        }
        hri_verify_run(v, v->m, row_task, s, s->cols);
    }
}

/* Choose rows to recompute: of the first ones those that 64 rows or a moderate
 * number of products allow. The others stay unchecked. */
static void choose(special *s, hri_verify_special *found)
{
    hri_verify *v = s->v;
    int64_t left = hri_max(HRI_VERIFY_LIMIT * hri_ceil_div(v->n, COLS),
                           least_products / COLS / hri_max(v->k, 1));
    int64_t holes = MAX_HOLES;
    for (int64_t i = 0; i < v->m; i++) {
        special_row *row = &s->rows[i];
        const bool by_place = row->windows == 0 && v->skip_rows[i] != 0;
        if (row->holes > 0 && row->tested == 0) {
            v->skip_rows[i] |= HRI_VERIFY_COVERED; /* nothing is left to test */
        }
        const int64_t kept = v->skip_rows[i] != 0 ? 0 : row->holes;
        row->chosen = row->windows > 0 && row->windows <= left && kept <= holes;
        found->rows_checked += by_place || row->chosen;
        if (row->chosen) {
            left -= row->windows;
            holes -= kept;
        } else if (row->windows > 0) {
            found->unchecked += row->open;
            found->unchecked += row->holes > 0 ? row->finite : 0;
            v->skip_rows[i] |= row->holes > 0 ? HRI_VERIFY_UNTESTED : 0;
        }
    }
    for (int64_t j = 0; j < v->n; j++) {
        found->rows_checked += v->skip_cols[j] != 0;
    }
}

static int compare_holes(const void *left, const void *right)
{
    const hri_verify_hole *a = left, *b = right;
    const int64_t keys[3] = {a->row / ROWS - b->row / ROWS, a->col - b->col,
                             a->row - b->row};
    for (int i = 0; i < 3; i++) {
        if (keys[i] != 0) {
            return keys[i] < 0 ? -1 : 1;
        }
    }
    return 0;
}

static bool any_infinite(const uint8_t *flags, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        if ((flags[i] & BADLY) == HRI_VERIFY_INFINITE) {
            return true;
        }
    }
    return false;
}

static bool allocate(special *s)
{
    const hri_verify *v = s->v;
    const int64_t row_bytes = PLANES * (int64_t)sizeof *s->planes;
    s->words = hri_min(STRIP_WORDS, hri_ceil_div(v->n, COLS));
    s->rows = calloc((size_t)v->m, sizeof *s->rows);
    s->signs = !v->complex && (any_infinite(v->skip_rows, v->m) ||
                               any_infinite(v->skip_cols, v->n));
    if (s->signs) {
        s->words = hri_max(
            1, hri_min(s->words, plane_bytes / row_bytes / hri_max(v->k, 1)));
        s->planes = malloc((size_t)(v->k * s->words * row_bytes) + 1);
        s->infinite = malloc((size_t)v->k + 1);
        s->windows = malloc((size_t)v->k / COLS + 1);
    }
    return s->rows != NULL &&
           (!s->signs ||
            (s->planes != NULL && s->infinite != NULL && s->windows != NULL));
}

hr_status hri_verify_judge_special(hri_verify *v, hri_verify_special *found)
{
    special s = {.v = v,
                 .a.matrix = v->a.matrix,
                 .b.matrix = v->b.matrix,
                 .c0.matrix = v->c0.matrix,
                 .c.matrix = v->c.matrix,
                 .miss = {.row = -1, .col = -1}};
    s.no_memory = !allocate(&s);
    if (!s.no_memory) {
        pthread_mutex_init(&s.lock, NULL);
        go_through(&s);
        choose(&s, found);
        s.judging = true;
        go_through(&s);
        pthread_mutex_destroy(&s.lock);
        found->miss = s.miss;
        found->unchecked += s.unchecked;
    }
    if (v->hole_count > 0) {
        qsort(v->holes, (size_t)v->hole_count, sizeof *v->holes, compare_holes);
    }
    free(s.rows);
    free(s.planes);
    free(s.infinite);
    free(s.windows);
    return !s.no_memory
               ? hri_verify_status(v, HR_OK)
               : hri_fail(HR_ERROR_OUT_OF_MEMORY,
                          "verify: no memory for the signs of %lld x %lld "
                          "elements",
                          (long long)v->k, (long long)v->n);
}

void hri_verify_fill(const hri_verify *v, const hri_verify_window *w, bool old,
                     hri_verify_block *block)
{
    const hri_verify_hole from = {.row = w->row / ROWS * ROWS, .col = w->col};
    int64_t low = 0, high = v->hole_count;
    while (low < high) {
        int64_t middle = (low + high) / 2;
        bool before = compare_holes(&v->holes[middle], &from) < 0;
        low = before ? middle + 1 : low;
        high = before ? high : middle;
    }
    for (; low < v->hole_count; low++) {
        const hri_verify_hole *hole = &v->holes[low];
        if (hole->row / ROWS != w->row / ROWS ||
            hole->col >= w->col + w->cols) {
            return;
        }
        if (hole->row < w->row || hole->row >= w->row + w->rows) {
            continue;
        }
        int64_t at = (hole->row - w->row) * COLS + hole->col - w->col;
        block->re[at] = old ? 0.0 : hole->product[0];
        if (v->complex) {
            block->im[at] = old ? 0.0 : hole->product[1];
        }
    }
}
