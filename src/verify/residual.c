/* SPDX-License-Identifier: MIT */
/* The random test: R = C X - alpha A (B X) - beta C0 X, compared with a
 * threshold for each row. The columns of R are the trials. docs/verify.md
 * derives the threshold. */
#include <stdlib.h>
#include <string.h>

#include "base/cpus.h"
#include "base/size.h"
#include "base/status.h"
#include "verify/verify.h"

enum {
    GROUPS = HRI_VERIFY_GROUPS,
    ROWS = HRI_VERIFY_ROWS,
    COLS = HRI_VERIFY_COLS,
    GROUP = 4 * COLS,  /* columns of a task that weighs them */
    DIFFERENCE = 1000, /* the largest exponent between two scales */
    DEPTH = 4096,      /* the least chunk of k: 1.5 MiB of B X */
    ROW_CHUNK = 16384  /* the rows at a time where k is not cut: 6 MiB of
                          A (B X) */
};

/* ---- signs and lanes */

/* 64 well-mixed bits for each (seed, index): the output function of splitmix64
 * [Steele2014]. So no vector needs to be stored. */
static uint64_t random_bits(uint64_t seed, int64_t index)
{
    uint64_t z = seed + (uint64_t)index * 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* Make the table of signs: +1 and -1, or for integers 1 and 0. */
static void make_signs(hri_verify *v)
{
    const double clear = v->integer ? 0.0 : -1.0;
    for (int byte = 0; byte < 256; byte++) {
        for (int lane = 0; lane < HRI_VERIFY_LANES; lane++) {
            v->signs[byte][lane] = byte >> lane & 1 ? 1.0 : clear;
        }
    }
}

/* The trials' entries for columns [first, first + count) of C: signs times
 * scales. */
static void load_signs(const hri_verify *v, int64_t first, int64_t count,
                       hri_lanes *lanes)
{
    for (int64_t c = 0; c < count; c++) {
        uint64_t bits = random_bits(v->seed, first + c);
        for (int g = 0; g < GROUPS; g++, bits >>= HRI_VERIFY_LANES) {
            lanes[c * GROUPS + g] = v->signs[bits & 255] * v->scales[first + c];
        }
    }
}

/* Reduce whole numbers below 2^53 modulo 2^32, to [-2^31, 2^31). */
static void wrap_integers(hri_lanes *lanes, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        for (int l = 0; l < HRI_VERIFY_LANES; l++) {
            lanes[i][l] = (double)(int32_t)(uint32_t)(int64_t)lanes[i][l];
        }
    }
}

/* Each element of a block is multiplied by 48 lanes. On x86 this is compiled
 * for AVX-512 as well: a test of 4096^3 floats takes 0.27 s of CPU time with
 * it, 0.87 without, and 1.14 with AVX2, whose 16 registers are too few (EPYC,
 * gcc 12).
 *
 * Four rows of eight lanes stay in registers while the columns pass. The sum of
 * a block is formed first and then added, which keeps the rounding errors of
 * long rows small. */
static inline __attribute__((always_inline)) void
multiply_block(const double *block, const hri_verify_window *window,
               const hri_lanes *lanes, hri_lanes *out)
{
    for (int64_t r = 0; r < window->rows; r += 4) {
        const double *x = block + r * COLS;
        hri_lanes *to = out + r * GROUPS;
        for (int g = 0; g < GROUPS; g++) {
            hri_lanes s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0};
            for (int64_t c = 0; c < window->cols; c++) {
                const hri_lanes y = lanes[c * GROUPS + g];
                s0 += x[c] * y;
                s1 += x[c + COLS] * y;
                s2 += x[c + 2 * COLS] * y;
                s3 += x[c + 3 * COLS] * y;
            }
            to[g] += s0;
            to[g + GROUPS] += s1;
            to[g + 2 * GROUPS] += s2;
            to[g + 3 * GROUPS] += s3;
        }
    }
}

#if defined(__x86_64__)
static __attribute__((target("avx512f"))) void
multiply_avx512(const double *block, const hri_verify_window *window,
                const hri_lanes *lanes, hri_lanes *out)
{
    multiply_block(block, window, lanes, out);
}
#endif

/* out[r][.] += sum_c block[r][c] lanes[c][.], for rows rounded up to a multiple
 * of four. */
static void multiply_lanes(const double *block, const hri_verify_window *window,
                           const hri_lanes *lanes, hri_lanes *out)
{
#if defined(__x86_64__)
    if (hri_simd_here() == HRI_SIMD_AVX512) {
        multiply_avx512(block, window, lanes, out);
        return;
    }
#endif
    multiply_block(block, window, lanes, out);
}

/* sum_c |line[c] weights[c]|; weights are 1 if NULL. Both are padded to a
 * multiple of eight: line with zeros, weights with anything. Eight sums at
 * once, so that the loop vectorises. */
static double weigh_line(const double *line, const double *weights,
                         int64_t cols)
{
    double sums[HRI_VERIFY_LANES] = {0}, sum = 0.0;
    for (int64_t c = 0; c < cols; c += HRI_VERIFY_LANES) {
        for (int i = 0; i < HRI_VERIFY_LANES; i++) {
            sums[i] += fabs(weights != NULL ? line[c + i] * weights[c + i]
                                            : line[c + i]);
        }
    }
    for (int i = 0; i < HRI_VERIFY_LANES; i++) {
        sum += sums[i];
    }
    return sum;
}

/* The same for both parts of the elements of row r of a block. */
static double weigh_row(const hri_verify *v, const hri_verify_block *block,
                        int64_t r, const double *weights, int64_t cols)
{
    double sum = weigh_line(block->re + r * COLS, weights, cols);
    return v->complex ? sum + weigh_line(block->im + r * COLS, weights, cols)
                      : sum;
}

/* ---- scales
 *
 * Powers of two for the columns of C, so that what rounding may do is about as
 * much in each. A large column would hide errors in the others: with none, one
 * column of 1e5 in B hid wrong elements of the size of C itself in f32. With
 * the names of docs/verify.md, and l_ij for what underflow may do to an
 * element:
 *
 *     g_ij = (gamma_r(u) + u_C) N_ij
 *     rho_i = 2^-e with 2^(e-1) <= sum_j g_ij < 2^e
 *     W_j = sum_i rho_i (g_ij + n l_ij + s_C / 2)
 *
 * rho_i gives each row the same say. It is 0 where underflow may do more to the
 * row than rounding, and for rows that are not finite. The power of two above
 * the largest W_j, divided by the one above W_j, is at most 2^1000. These
 * quotients are divided by the square root of the largest, so that neither
 * large nor small columns leave double. All are 1 where no row has a say. The
 * factor n is there because a threshold adds up the l_ij s_j of n columns, but
 * has the mean of the N_ij s_j: so columns of zeros add at most as much to it
 * as one column does by its rounding. W_j costs O(mn + mk + kn): it is rho |A|,
 * times |B|. A and B are read twice more for it, C0 too. */

/* Weights of the rows and columns of operands. */
typedef struct column_weights {
    const hri_verify *v;
    double gamma;   /* what a magnitude is worth */
    double *b_rows; /* k: sum_j |b_pj| */
    double b_sum;   /* of all |b| */
    double *rows;   /* m: a row's say, a power of two or 0; until all are
                       known, its exponent or -infinity */
    double *tops; /* m: the exponent of the largest of a row's sums, and of 1 */
    double *a_rows; /* m: sum_p |a_ip| */
    double *a_cols; /* k: sum_i rows_i |a_ip| */
    double *cols;   /* n: what rounding may do in a column */
    double said;    /* sum_i rows_i */
    double a_said;  /* sum_i rows_i a_rows_i */
} column_weights;

static void load_window(const hri_verify *v, const hr_matrix *m,
                        const hri_verify_window *window,
                        hri_verify_block *block)
{
    hri_verify_load(m, window, m != &v->a ? v->skip_cols : NULL, block);
}

/* Add up |x| along 32 rows. products, if not NULL, becomes the sums with each
 * |x| times the factor of its column. */
static void weigh_rows(const hri_verify *v, const hr_matrix *m, int64_t first,
                       const double *factors, double *sums, double *products)
{
    /* Few contiguous rows, so that the CPU's prefetchers follow each: a test of
     * 4096^3 doubles takes 0.30 s of CPU time, and 0.34 with 32 (EPYC). */
    const int64_t step = m->col_stride == 1 ? 4 : ROWS;
    const int64_t end = hri_min(first + ROWS, m->rows);
    hri_verify_block block;
    hri_verify_window w = {.row = first};
    for (; w.row < end; w.row += step) {
        w.rows = hri_min(step, end - w.row);
        for (w.col = 0; w.col < m->cols; w.col += COLS) {
            w.cols = hri_min(COLS, m->cols - w.col);
            load_window(v, m, &w, &block);
            for (int64_t r = 0; r < w.rows; r++) {
                const int64_t to = w.row - first + r;
                sums[to] += weigh_row(v, &block, r, NULL, w.cols);
                if (products != NULL) {
                    products[to] +=
                        weigh_row(v, &block, r, factors + w.col, w.cols);
                }
            }
        }
    }
}

/* Add row r of a block to sums, real and imaginary parts. */
static void add_row(const hri_verify *v, const hri_verify_block *block,
                    int64_t r, double factor, int64_t cols, double *sums)
{
    const double *re = block->re + r * COLS, *im = block->im + r * COLS;
    for (int64_t c = 0; c < cols; c++) {
        sums[c] += factor * fabs(re[c]);
    }
    for (int64_t c = 0; v->complex && c < cols; c++) {
        sums[c] += factor * fabs(im[c]);
    }
}

/* Add up |x| along a group of columns, each times the factor of its row. Rows
 * of factor 0 may hold anything. plain, if not NULL, becomes the sums without
 * factors. */
static void weigh_columns(const hri_verify *v, const hr_matrix *m,
                          int64_t first, const double *factors, double *sums,
                          double *plain)
{
    const int64_t end = hri_min(first + GROUP, m->cols);
    hri_verify_block block;
    hri_verify_window w = {.row = 0};
    for (; w.row < m->rows; w.row += ROWS) {
        w.rows = hri_min(ROWS, m->rows - w.row);
        for (w.col = first; w.col < end; w.col += COLS) {
            double *to = sums + w.col - first;
            w.cols = hri_min(COLS, end - w.col);
            load_window(v, m, &w, &block);
            for (int64_t r = 0; r < w.rows; r++) {
                if (factors[w.row + r] != 0.0) {
                    add_row(v, &block, r, factors[w.row + r], w.cols, to);
                }
                if (plain != NULL) {
                    add_row(v, &block, r, 1.0, w.cols, plain + w.col - first);
                }
            }
        }
    }
}

static void b_rows_task(void *data, int64_t index)
{
    column_weights *w = data;
    const int64_t first = index * ROWS;
    weigh_rows(w->v, &w->v->b, first, NULL, w->b_rows + first, NULL);
}

/* The exponent of a row's say. A row has one if rounding may do more to it than
 * underflow. */
static double say_of(const column_weights *w, int64_t row, double magnitude)
{
    const hri_verify *v = w->v;
    const double n = (double)v->n;
    const long double lost = hri_verify_underflow(v, v->precision.smallest, n,
                                                  n * w->a_rows[row], w->b_sum);
    int exponent;
    if (!isfinite(magnitude) || !(magnitude > lost) ||
        (v->skip_rows != NULL && v->skip_rows[row] != 0)) {
        return -INFINITY;
    }
    frexp(magnitude, &exponent);
    return -exponent;
}

static void rows_task(void *data, int64_t index)
{
    column_weights *w = data;
    const hri_verify *v = w->v;
    const int64_t first = index * ROWS;
    double products[ROWS] = {0}, old[ROWS] = {0};
    weigh_rows(v, &v->a, first, w->b_rows, w->a_rows + first, products);
    if (v->old) {
        weigh_rows(v, &v->c0, first, NULL, old, NULL);
    }
    for (int64_t r = 0; r < hri_min(ROWS, v->m - first); r++) {
        const double magnitude = hri_verify_size(v->alpha) * products[r] +
                                 hri_verify_size(v->beta) * old[r];
        int top = 0;
        frexp(fmax(fmax(1.0, w->a_rows[first + r]),
                   fmax(magnitude, fmax(products[r], old[r]))),
              &top);
        w->tops[first + r] = top;
        w->rows[first + r] = say_of(w, first + r, w->gamma * magnitude);
    }
}

static void a_columns_task(void *data, int64_t index)
{
    column_weights *w = data;
    const int64_t first = index * GROUP;
    weigh_columns(w->v, &w->v->a, first, w->rows, w->a_cols + first, NULL);
}

static void columns_task(void *data, int64_t index)
{
    column_weights *w = data;
    const hri_verify *v = w->v;
    const int64_t first = index * GROUP;
    double products[GROUP] = {0}, b[GROUP] = {0}, old[GROUP] = {0};
    weigh_columns(v, &v->b, first, w->a_cols, products, b);
    if (v->old) {
        weigh_columns(v, &v->c0, first, w->rows, old, NULL);
    }
    for (int64_t c = 0; c < hri_min(GROUP, v->n - first); c++) {
        const double magnitude = hri_verify_size(v->alpha) * products[c] +
                                 hri_verify_size(v->beta) * old[c];
        const double lost = (double)hri_verify_underflow(
            v, v->precision.smallest, w->said, w->a_said,
            (long double)w->said * b[c]);
        w->cols[first + c] = w->gamma * magnitude + (double)v->n * lost +
                             w->said * v->precision.half_subnormal / 2;
    }
}

static void weigh_operands(column_weights *w)
{
    const hri_verify *v = w->v;
    const int64_t old_cols = v->old ? v->n : 0, old_rows = v->old ? v->m : 0;
    hri_verify_run(v, hri_ceil_div(v->k, ROWS), b_rows_task, w, ROWS * v->n);
    for (int64_t p = 0; p < v->k; p++) {
        w->b_sum += w->b_rows[p];
    }
    hri_verify_run(v, hri_ceil_div(v->m, ROWS), rows_task, w,
                   ROWS * (v->k + old_cols));
    /* A common factor, so that weights neither overflow nor vanish. */
    double top = -4000.0;
    for (int64_t i = 0; i < v->m; i++) {
        top = fmax(top, w->rows[i] + w->tops[i]);
    }
    for (int64_t i = 0; i < v->m; i++) {
        w->rows[i] = exp2(w->rows[i] + 950.0 - top);
        if (w->rows[i] > 0.0) {
            w->said += w->rows[i];
            w->a_said += w->rows[i] * w->a_rows[i];
        }
    }
    hri_verify_run(v, hri_ceil_div(v->k, GROUP), a_columns_task, w,
                   GROUP * v->m);
    hri_verify_run(v, hri_ceil_div(v->n, GROUP), columns_task, w,
                   GROUP * (v->k + old_rows));
}

static bool is_skipped(const hri_verify *v, int64_t col)
{
    return v->skip_cols != NULL && v->skip_cols[col] != 0;
}

/* The largest weight. 0 where some weight is not finite, too. */
static double largest_weight(const column_weights *w)
{
    double largest = 0.0;
    for (int64_t j = 0; j < w->v->n; j++) {
        if (!is_skipped(w->v, j)) {
            if (!isfinite(w->cols[j])) {
                return 0.0;
            }
            largest = fmax(largest, w->cols[j]);
        }
    }
    return largest;
}

/* The exponent of the quotient of two weights; 0 for a weight of 0. */
static int difference_of(double largest, double weight)
{
    int most, exponent;
    if (!(largest > 0.0) || !(weight > 0.0)) {
        return 0;
    }
    frexp(largest, &most);
    frexp(weight, &exponent);
    return (int)hri_min(most - exponent, DIFFERENCE);
}

static void set_scales(hri_verify *v, const column_weights *w)
{
    const double largest = largest_weight(w);
    int center = 0;
    for (int64_t j = 0; j < v->n; j++) {
        if (!is_skipped(v, j)) {
            center = (int)hri_max(center, difference_of(largest, w->cols[j]));
        }
    }
    v->scale_sum = v->scale_squares = 0.0;
    for (int64_t j = 0; j < v->n; j++) {
        const int power = difference_of(largest, w->cols[j]) - center / 2;
        v->scales[j] = is_skipped(v, j) ? 0.0 : ldexp(1.0, power);
        v->scale_sum += v->scales[j];
        v->scale_squares += v->scales[j] * v->scales[j];
    }
}

/* Zeros for the sums of `count` rows or columns, padded to whole windows. */
static double *zeros(int64_t count)
{
    return calloc((size_t)(hri_round_up(count, COLS) + COLS), sizeof(double));
}

/* Choose the scales of the columns. */
static hr_status choose_scales(hri_verify *v)
{
    column_weights w = {
        .v = v,
        .gamma = hri_verify_gamma(hri_verify_roundings(v), v->precision.unit) +
                 v->precision.half_unit,
        .b_rows = zeros(v->k),
        .rows = zeros(v->m),
        .tops = zeros(v->m),
        .a_rows = zeros(v->m),
        .a_cols = zeros(v->k),
        .cols = zeros(v->n)};
    hr_status status = HR_OK;
    if (v->scales == NULL) {
        v->scales = zeros(v->n);
    }
    if (v->scales == NULL || w.b_rows == NULL || w.rows == NULL ||
        w.tops == NULL || w.a_rows == NULL || w.a_cols == NULL ||
        w.cols == NULL) {
        status = hri_fail(HR_ERROR_OUT_OF_MEMORY,
                          "verify: no memory for the weights of %lld rows and "
                          "%lld columns",
                          (long long)v->m, (long long)v->n);
        goto done;
    }
    if (v->n > 1 && !v->integer) {
        weigh_operands(&w);
    }
    set_scales(v, &w);
done:
    free(w.b_rows);
    free(w.rows);
    free(w.tops);
    free(w.a_rows);
    free(w.a_cols);
    free(w.cols);
    return status;
}

/* ---- residuals */

/* The noise of a right product should stay below this: see docs/verify.md. */
static const double noise_factor = 4.0;

/* What is kept between the steps. Either all of B X is kept and rows come in
 * chunks of rows, or all rows are kept and k comes in chunks. So this needs
 * less memory than A, or a few MiB. */
typedef struct pass {
    const hri_verify *v;
    int64_t chunk_start, chunk;         /* of k */
    int64_t row_chunk_start, row_chunk; /* of rows */
    hri_lanes *bx[2];     /* chunk x trials: B X, real and imaginary */
    hri_lanes *abx[2];    /* row_chunk x trials: A (B X) */
    double *b_sums;       /* chunk: sum_j |b_pj| scale_j */
    double *a_sums;       /* row_chunk: sum_p |a_ip| */
    double *product_sums; /* row_chunk: sum_j (|A||B|)_ij scale_j */
    double b_sum;         /* sum of all b_sums */
    double *ratios;
} pass;

/* sum_c (line[c] weights[c])^2 */
static double square_line(const double *line, const double *weights,
                          int64_t cols)
{
    double scaled[COLS] = {0};
    for (int64_t c = 0; c < cols; c++) {
        scaled[c] = line[c] * weights[c];
    }
    return weigh_line(scaled, scaled, cols);
}

static double square_row(const hri_verify *v, const hri_verify_block *block,
                         int64_t r, const double *weights, int64_t cols)
{
    double sum = square_line(block->re + r * COLS, weights, cols);
    return v->complex ? sum + square_line(block->im + r * COLS, weights, cols)
                      : sum;
}

/* out += M X for some rows of M, and the scaled sums along them. The columns of
 * M are C's. squares may be NULL. */
static void add_signed_rows(const hri_verify *v, const hr_matrix *m,
                            hri_verify_window w, hri_lanes *const out[2],
                            double *sums, double *squares)
{
    hri_verify_block block;
    hri_lanes signs[COLS * GROUPS];
    for (; w.col < v->n; w.col += COLS) {
        const double *scales = v->scales + w.col;
        w.cols = hri_min(COLS, v->n - w.col);
        hri_verify_load(m, &w, v->skip_cols, &block);
        for (int64_t r = 0; r < w.rows; r++) {
            sums[r] += weigh_row(v, &block, r, scales, w.cols);
            if (squares != NULL) {
                squares[r] += square_row(v, &block, r, scales, w.cols);
            }
        }
        load_signs(v, w.col, w.cols, signs);
        multiply_lanes(block.re, &w, signs, out[0]);
        if (v->complex) {
            multiply_lanes(block.im, &w, signs, out[1]);
        }
        if (v->integer) {
            wrap_integers(out[0], w.rows * GROUPS);
        }
    }
}

/* Rows of B X and the scaled sums of |b| along them. */
static void b_task(void *data, int64_t index)
{
    pass *p = data;
    const hri_verify *v = p->v;
    const int64_t first = index * ROWS;
    hri_verify_window w = {.row = p->chunk_start + first,
                           .rows = hri_min(ROWS, p->chunk - first)};
    hri_lanes *out[2] = {p->bx[0] + first * GROUPS,
                         v->complex ? p->bx[1] + first * GROUPS : NULL};
    memset(out[0], 0, ROWS * GROUPS * sizeof(hri_lanes));
    if (v->complex) {
        memset(out[1], 0, ROWS * GROUPS * sizeof(hri_lanes));
    }
    memset(p->b_sums + first, 0, (size_t)w.rows * sizeof(double));
    add_signed_rows(v, &v->b, w, out, p->b_sums + first, NULL);
}

/* out += A Y for one block of A and the rows of Y = B X that belong to it. */
static void add_product(const pass *p, hri_verify_block *block,
                        const hri_verify_window *w, hri_lanes *const out[2])
{
    const int64_t at = (w->col - p->chunk_start) * GROUPS;
    multiply_lanes(block->re, w, p->bx[0] + at, out[0]);
    if (p->v->complex) {
        multiply_lanes(block->re, w, p->bx[1] + at, out[1]);
        multiply_lanes(block->im, w, p->bx[0] + at, out[1]);
        for (int64_t i = 0; i < ROWS * COLS; i++) {
            block->im[i] = -block->im[i];
        }
        multiply_lanes(block->im, w, p->bx[1] + at, out[0]);
    }
    if (p->v->integer) {
        wrap_integers(out[0], w->rows * GROUPS);
    }
}

/* Rows of A (B X) and the sums of |a| and |a||b| along them. */
static void a_task(void *data, int64_t index)
{
    pass *p = data;
    const hri_verify *v = p->v;
    hri_verify_block block = {.re = {0}};
    const int64_t first = index * ROWS, end = p->chunk_start + p->chunk;
    hri_verify_window w = {.row = p->row_chunk_start + first,
                           .col = p->chunk_start,
                           .rows = hri_min(ROWS, p->row_chunk - first)};
    hri_lanes *out[2] = {p->abx[0] + first * GROUPS,
                         v->complex ? p->abx[1] + first * GROUPS : NULL};
    for (; w.col < end; w.col += COLS) {
        const double *weights = p->b_sums + (w.col - p->chunk_start);
        w.cols = hri_min(COLS, end - w.col);
        hri_verify_load(&v->a, &w, NULL, &block);
        for (int64_t r = 0; r < w.rows; r++) {
            p->a_sums[first + r] += weigh_row(v, &block, r, NULL, w.cols);
            p->product_sums[first + r] +=
                weigh_row(v, &block, r, weights, w.cols);
        }
        add_product(p, &block, &w, out);
    }
}

/* The products of rows of C and C0 with X, real and imaginary, and the sums
 * along these rows. */
typedef struct signed_sums {
    hri_lanes c[2][ROWS * GROUPS];
    hri_lanes c0[2][ROWS * GROUPS];
    double c_sums[ROWS], c_squares[ROWS], c0_sums[ROWS], c0_squares[ROWS];
} signed_sums;

/* The most that the residual of a right row should be, with what the test's own
 * arithmetic may add. That loses up to 2^-1072 to underflow where a product
 * loses the smallest number of its type: by each s_j, and by 1. */
static double threshold_of(const pass *p, int64_t row, const signed_sums *x,
                           int64_t r)
{
    const hri_verify *v = p->v;
    const hri_verify_precision *t = &v->precision;
    const double n = (double)v->n, k = (double)v->k;
    const double beta = hri_verify_size(v->beta);
    const double roundings = hri_verify_roundings(v);
    const double magnitude =
        hri_verify_size(v->alpha) * p->product_sums[row] + beta * x->c0_sums[r];
    const double bias = hri_verify_gamma(roundings, t->unit) * magnitude / n;
    const double c = sqrt(x->c_squares[r]);
    const double c0 = beta * sqrt(x->c0_squares[r]);
    const double noise = t->unit * sqrt(roundings) * (c + c0) +
                         t->half_unit * c +
                         sqrt(v->scale_squares) * t->half_subnormal / 2;
    const double steps = 2.0 * (2.0 * COLS + n / COLS + k / COLS + 12.0);
    const double a = p->a_sums[row], s = v->scale_sum;
    const long double lost =
        hri_verify_underflow(v, t->smallest, s, s * a, p->b_sum) +
        hri_verify_underflow(v, 0x1p-1072, s + n, (s + n) * a, p->b_sum);
    return fmax(bias, noise_factor * noise) +
           hri_verify_gamma(steps, 0x1p-53) * (magnitude + x->c_sums[r]) +
           (double)lost;
}

/* (re, im) -= s (x_re, x_im), lane by lane. */
static void subtract_scaled(hr_scalar s, const double *const x[2], double *re,
                            double *im)
{
    for (int t = 0; t < HRI_VERIFY_TRIALS; t++) {
        re[t] -= s.re * x[0][t];
        if (im != NULL) {
            re[t] += s.im * x[1][t];
            im[t] -= s.re * x[1][t] + s.im * x[0][t];
        }
    }
}

/* The largest residual of the trials. Infinity where one is not finite. */
static double largest_of(const double *r)
{
    double largest = 0.0;
    for (int t = 0; t < HRI_VERIFY_TRIALS; t++) {
        largest = isnan(r[t]) ? INFINITY : fmax(largest, fabs(r[t]));
    }
    return largest;
}

/* Residuals of integers are exact modulo 2^32, so any but 0 is an error. */
static double integer_ratio(const hri_verify *v, const double *c,
                            const double *abx, const double *c0)
{
    uint32_t alpha = (uint32_t)(int64_t)v->alpha.re;
    uint32_t beta = (uint32_t)(int64_t)v->beta.re, wrong = 0;
    for (int t = 0; t < HRI_VERIFY_TRIALS; t++) {
        wrong |= (uint32_t)(int64_t)c[t] - alpha * (uint32_t)(int64_t)abx[t] -
                 beta * (uint32_t)(int64_t)c0[t];
    }
    return wrong != 0 ? 2.0 : 0.0;
}

static double ratio_of(const pass *p, int64_t row, int64_t r, signed_sums *x)
{
    const hri_verify *v = p->v;
    const int64_t at = r * GROUPS, from = row * GROUPS;
    double *re = (double *)&x->c[0][at];
    double *im = v->complex ? (double *)&x->c[1][at] : NULL;
    const double *abx[2] = {(const double *)(p->abx[0] + from),
                            v->complex ? (const double *)(p->abx[1] + from)
                                       : NULL};
    const double *c0[2] = {(const double *)&x->c0[0][at],
                           (const double *)&x->c0[1][at]};
    if (v->integer) {
        return integer_ratio(v, re, abx[0], c0[0]);
    }
    subtract_scaled(v->alpha, abx, re, im);
    subtract_scaled(v->beta, c0, re, im);
    const double residual =
        im != NULL ? fmax(largest_of(re), largest_of(im)) : largest_of(re);
    const double threshold = threshold_of(p, row, x, r);
    if (!isfinite(residual) || !isfinite(threshold)) {
        return INFINITY;
    }
    return residual <= threshold ? 0.0 : residual / threshold;
}

static void residuals_task(void *data, int64_t index)
{
    pass *p = data;
    const hri_verify *v = p->v;
    signed_sums x;
    const int64_t first = index * ROWS;
    hri_verify_window w = {.row = p->row_chunk_start + first,
                           .rows = hri_min(ROWS, p->row_chunk - first)};
    memset(&x, 0, sizeof x);
    add_signed_rows(v, &v->c, w, (hri_lanes *const[2]){x.c[0], x.c[1]},
                    x.c_sums, x.c_squares);
    if (v->old) {
        add_signed_rows(v, &v->c0, w, (hri_lanes *const[2]){x.c0[0], x.c0[1]},
                        x.c0_sums, x.c0_squares);
    }
    for (int64_t r = 0; r < w.rows; r++) {
        const bool skip = v->skip_rows != NULL && v->skip_rows[w.row + r];
        p->ratios[w.row + r] = skip ? 0.0 : ratio_of(p, first + r, r, &x);
    }
}

/* Allocate `rows` rows of lanes and of sums. rows is a whole number of
 * blocks. */
static bool allocate_rows(const hri_verify *v, int64_t rows,
                          hri_lanes *lanes[2], double **sums)
{
    const size_t padded = (size_t)(hri_round_up(rows, ROWS) + ROWS);
    const size_t bytes = padded * GROUPS * sizeof(hri_lanes);
    for (int i = 0; i < (v->complex ? 2 : 1); i++) {
        lanes[i] = aligned_alloc(sizeof(hri_lanes), bytes);
        if (lanes[i] == NULL) {
            return false;
        }
    }
    *sums = calloc(padded, sizeof(double));
    return *sums != NULL;
}

static void clear_row_chunk(pass *p)
{
    const size_t rows = (size_t)hri_round_up(p->row_chunk, ROWS);
    for (int i = 0; i < (p->v->complex ? 2 : 1); i++) {
        memset(p->abx[i], 0, rows * GROUPS * sizeof(hri_lanes));
    }
    memset(p->a_sums, 0, (size_t)p->row_chunk * sizeof(double));
    memset(p->product_sums, 0, (size_t)p->row_chunk * sizeof(double));
}

/* Compute B X for the chunk, unless it is there already. */
static void form_bx(pass *p)
{
    if (p->row_chunk_start > 0) {
        return; /* then k is one chunk */
    }
    hri_verify_run(p->v, hri_ceil_div(p->chunk, ROWS), b_task, p,
                   ROWS * p->v->n);
    for (int64_t i = 0; i < p->chunk; i++) {
        p->b_sum += p->b_sums[i];
    }
}

static void run_row_chunks(pass *p)
{
    const hri_verify *v = p->v;
    const int64_t chunk = p->chunk, row_chunk = p->row_chunk;
    for (; p->row_chunk_start < v->m; p->row_chunk_start += row_chunk) {
        p->row_chunk = hri_min(row_chunk, v->m - p->row_chunk_start);
        const int64_t tasks = hri_ceil_div(p->row_chunk, ROWS);
        clear_row_chunk(p);
        for (p->chunk_start = 0; p->chunk_start < v->k;
             p->chunk_start += chunk) {
            p->chunk = hri_min(chunk, v->k - p->chunk_start);
            form_bx(p);
            hri_verify_run(v, tasks, a_task, p, ROWS * p->chunk);
        }
        hri_verify_run(v, tasks, residuals_task, p,
                       ROWS * v->n * (v->old ? 2 : 1));
    }
}

hr_status hri_verify_residuals(hri_verify *v, double *ratios)
{
    const int64_t chunk = hri_round_up(hri_max(v->m, DEPTH), COLS);
    pass p = {.v = v, .ratios = ratios, .chunk = hri_min(chunk, v->k)};
    hr_status status = HR_OK;
    make_signs(v);
    HRI_TRY(choose_scales(v));
    p.row_chunk = v->k <= chunk ? hri_min(v->m, ROW_CHUNK) : v->m;
    p.product_sums = calloc((size_t)p.row_chunk, sizeof(double));
    if (allocate_rows(v, p.chunk, p.bx, &p.b_sums) &&
        allocate_rows(v, p.row_chunk, p.abx, &p.a_sums) &&
        p.product_sums != NULL) {
        run_row_chunks(&p);
    } else {
        status = hri_fail(HR_ERROR_OUT_OF_MEMORY,
                          "verify: no memory for %d random products of %lld "
                          "and of %lld rows",
                          HRI_VERIFY_TRIALS, (long long)p.chunk,
                          (long long)p.row_chunk);
    }
    for (int i = 0; i < 2; i++) {
        free(p.bx[i]);
        free(p.abx[i]);
    }
    free(p.b_sums);
    free(p.a_sums);
    free(p.product_sums);
    return hri_verify_status(v, status);
}
