/* SPDX-License-Identifier: MIT */
/* Powers of two for the columns of C, so that what rounding may do is about as
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
 * row than rounding, and for rows that are not finite. s_j is the power of two
 * above the largest W_j, divided by the one above W_j. It has a limit
 * (DIFFERENCE below). All are 1 where no row has a say. The factor n is there
 * because a threshold adds up the l_ij s_j of n columns, but has the mean of
 * the N_ij s_j: so columns of zeros add at most as much to it as one column
 * does by its rounding. W_j costs O(mn + mk + kn): it is rho |A|, times |B|. A
 * and B are read twice more for it, C0 too. */
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "base/size.h"
#include "base/status.h"
#include "gemm/verify.h"

enum {
    COLS = HRI_VERIFY_COLS,
    ROWS = HRI_VERIFY_ROWS,
    GROUP = 4 * COLS /* columns of a task */
};

/* Scales stay far from overflow. They may differ more where large f64 columns
 * are known, so that they can be scaled down. */
enum {
    DIFFERENCE = 500,
    KNOWN_DIFFERENCE = 1100,
    LARGEST_EXPONENT = 250 /* of known columns */
};

/* Weights of the rows and columns of operands. */
typedef struct weights {
    const hri_verify *v;
    double gamma;   /* what a magnitude is worth */
    double *b_rows; /* k: sum_j |b_pj| */
    double b_sum;   /* of all |b| */
    double *rows;   /* m: a row's say, a power of two or 0 */
    double *a_rows; /* m: sum_p |a_ip| */
    double *a_cols; /* k: sum_i rows_i |a_ip| */
    double *cols;   /* n: what rounding may do in a column */
    double said;    /* sum_i rows_i */
    double a_said;  /* sum_i rows_i a_rows_i */
} weights;

/* Rows to load at once. Where rows are contiguous, few of them, so that the
 * CPU's prefetchers follow each. */
static int64_t rows_at_once(const hri_verify_source *source)
{
    return source->matrix.col_stride == 1 ? 4 : ROWS;
}

static void load(const weights *w, const hri_verify_source *source,
                 const hri_verify_window *window, hri_verify_block *block)
{
    const hri_verify *v = w->v;
    hri_verify_load(source, window, source != &v->a ? v->skip_cols : NULL,
                    block);
    if (source == &v->c0 && v->hole_count > 0) {
        hri_verify_fill(v, window, true, block);
    }
}

/* Add up |x| along 32 rows. products, if not NULL, becomes the sums with each
 * |x| times the factor of its column. */
static void add_rows(const weights *w, const hri_verify_source *source,
                     int64_t first, const double *factors, double *sums,
                     double *products)
{
    const hr_matrix *m = &source->matrix;
    const int64_t end = hri_min(first + ROWS, m->rows);
    const int64_t step = rows_at_once(source);
    hri_verify_block block;
    hri_verify_window at = {.row = first};
    for (; at.row < end; at.row += step) {
        at.rows = hri_min(step, end - at.row);
        for (at.col = 0; at.col < m->cols; at.col += COLS) {
            at.cols = hri_min(COLS, m->cols - at.col);
            load(w, source, &at, &block);
            for (int64_t r = 0; r < at.rows; r++) {
                const int64_t to = at.row - first + r;
                sums[to] +=
                    hri_verify_weigh_row(w->v, &block, r, NULL, at.cols);
                if (products != NULL) {
                    products[to] += hri_verify_weigh_row(
                        w->v, &block, r, factors + at.col, at.cols);
                }
            }
        }
    }
}

static void add_line(const double *line, double factor, int64_t cols,
                     double *sums)
{
    for (int64_t c = 0; c < cols; c++) {
        sums[c] += factor * fabs(line[c]);
    }
}

/* Add a row of a block, real and imaginary parts. */
static void add_row(const weights *w, const hri_verify_block *block, int64_t r,
                    double factor, int64_t cols, double *sums)
{
    add_line(block->re + r * COLS, factor, cols, sums);
    if (w->v->complex) {
        add_line(block->im + r * COLS, factor, cols, sums);
    }
}

/* Add up |x| along a group of columns, each times the factor of its row. Rows
 * of factor 0 may hold anything. plain, if not NULL, becomes the sums without
 * factors. */
static void add_columns(const weights *w, const hri_verify_source *source,
                        int64_t first, const double *factors, double *sums,
                        double *plain)
{
    const hr_matrix *m = &source->matrix;
    const int64_t end = hri_min(first + GROUP, m->cols);
    const int64_t step = rows_at_once(source);
    hri_verify_block block;
    hri_verify_window at = {.row = 0};
    for (; at.row < m->rows; at.row += step) {
        at.rows = hri_min(step, m->rows - at.row);
        for (at.col = first; at.col < end; at.col += COLS) {
            const int64_t to = at.col - first;
            at.cols = hri_min(COLS, end - at.col);
            load(w, source, &at, &block);
            for (int64_t r = 0; r < at.rows; r++) {
                const double factor = factors[at.row + r];
                if (factor != 0.0) {
                    add_row(w, &block, r, factor, at.cols, sums + to);
                }
                if (plain != NULL) {
                    add_row(w, &block, r, 1.0, at.cols, plain + to);
                }
            }
        }
    }
}

static void b_rows_task(void *data, int64_t index)
{
    weights *w = data;
    const int64_t first = index * ROWS;
    add_rows(w, &w->v->b, first, NULL, w->b_rows + first, NULL);
}

/* A row has a say if rounding may do more to it than underflow. */
static double say_of(const weights *w, int64_t row, double magnitude)
{
    const hri_verify *v = w->v;
    const double n = (double)v->n;
    const double lost = hri_verify_underflow(
        v, &(hri_verify_sums){n, n * w->a_rows[row], w->b_sum, 1.0});
    int exponent;
    if (!isfinite(magnitude) || !(magnitude > lost) ||
        (v->skip_rows != NULL && v->skip_rows[row] != 0)) {
        return 0.0;
    }
    frexp(magnitude, &exponent);
    return ldexp(1.0, exponent > -1000 ? -exponent : 1000);
}

static void rows_task(void *data, int64_t index)
{
    weights *w = data;
    const hri_verify *v = w->v;
    const int64_t first = index * ROWS;
    double products[ROWS] = {0}, old[ROWS] = {0};
    add_rows(w, &v->a, first, w->b_rows, w->a_rows + first, products);
    if (v->old) {
        add_rows(w, &v->c0, first, NULL, old, NULL);
    }
    for (int64_t r = 0; r < hri_min(ROWS, v->m - first); r++) {
        const double magnitude = hri_verify_size(v->alpha) * products[r] +
                                 hri_verify_size(v->beta) * old[r];
        w->rows[first + r] = say_of(w, first + r, w->gamma * magnitude);
    }
}

static void a_columns_task(void *data, int64_t index)
{
    weights *w = data;
    const int64_t first = index * GROUP;
    add_columns(w, &w->v->a, first, w->rows, w->a_cols + first, NULL);
}

static void columns_task(void *data, int64_t index)
{
    weights *w = data;
    const hri_verify *v = w->v;
    const int64_t first = index * GROUP;
    double products[GROUP] = {0}, b[GROUP] = {0}, old[GROUP] = {0};
    add_columns(w, &v->b, first, w->a_cols, products, b);
    if (v->old) {
        add_columns(w, &v->c0, first, w->rows, old, NULL);
    }
    for (int64_t c = 0; c < hri_min(GROUP, v->n - first); c++) {
        const double magnitude = hri_verify_size(v->alpha) * products[c] +
                                 hri_verify_size(v->beta) * old[c];
        const double lost = hri_verify_underflow(
            v, &(hri_verify_sums){w->said, w->a_said, w->said * b[c], 1.0});
        w->cols[first + c] = w->gamma * magnitude + (double)v->n * lost +
                             w->said * v->precision.half_subnormal / 2;
    }
}

static void sum_says(weights *w)
{
    for (int64_t i = 0; i < w->v->m; i++) {
        if (w->rows[i] > 0.0) {
            w->said += w->rows[i];
            w->a_said += w->rows[i] * w->a_rows[i];
        }
    }
}

static void weigh_columns(weights *w)
{
    const hri_verify *v = w->v;
    const int64_t old_cols = v->old ? v->n : 0, old_rows = v->old ? v->m : 0;
    hri_verify_run(v, hri_ceil_div(v->k, ROWS), b_rows_task, w, ROWS * v->n);
    for (int64_t p = 0; p < v->k; p++) {
        w->b_sum += w->b_rows[p];
    }
    hri_verify_run(v, hri_ceil_div(v->m, ROWS), rows_task, w,
                   ROWS * (v->k + old_cols));
    sum_says(w);
    hri_verify_run(v, hri_ceil_div(v->k, GROUP), a_columns_task, w,
                   GROUP * v->m);
    hri_verify_run(v, hri_ceil_div(v->n, GROUP), columns_task, w,
                   GROUP * (v->k + old_rows));
}

static bool is_skipped(const hri_verify *v, int64_t col)
{
    return v->skip_cols != NULL && v->skip_cols[col] != 0;
}

/* The exponent of the largest weight. False where some weight is not finite, or
 * none is above 0. */
static bool largest_weight(const weights *w, int *exponent)
{
    double largest = 0.0;
    for (int64_t j = 0; j < w->v->n; j++) {
        if (!is_skipped(w->v, j)) {
            if (!isfinite(w->cols[j])) {
                return false;
            }
            largest = fmax(largest, w->cols[j]);
        }
    }
    frexp(largest, exponent);
    return largest > 0.0;
}

/* The exponent of a column's scale. */
static int power_of(const weights *w, int64_t col, int largest)
{
    const int most =
        w->v->row_exponents != NULL ? KNOWN_DIFFERENCE : DIFFERENCE;
    int exponent;
    frexp(w->cols[col], &exponent);
    const int power = w->cols[col] > 0.0 ? largest - exponent : 0;
    return power < most ? power : most;
}

/* The power of two by which scales should be smaller, so that sums of large
 * columns do not overflow. f64 numbers that were not scanned must overflow
 * where plain sums do, as that calls for a scan. */
static int center_of(const weights *w, int largest)
{
    const hri_verify *v = w->v;
    int power = 0;
    if (v->precision.largest == DBL_MAX && v->skip_rows == NULL) {
        return 0;
    }
    for (int64_t j = 0; j < v->n; j++) {
        if (!is_skipped(v, j)) {
            power = (int)hri_max(power, power_of(w, j, largest));
        }
    }
    return (int)hri_max(power / 2, power - LARGEST_EXPONENT);
}

static void set_scales(hri_verify *v, const weights *w)
{
    int largest = 0;
    const bool known = w != NULL && largest_weight(w, &largest);
    const int center = known ? center_of(w, largest) : 0;
    v->scale_sum = v->scale_squares = 0.0;
    for (int64_t j = 0; j < v->n; j++) {
        const int power =
            w != NULL && known ? power_of(w, j, largest) - center : 0;
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

hr_status hri_verify_scale(hri_verify *v)
{
    const double k = (double)v->k;
    weights w = {.v = v};
    if (v->scales == NULL) {
        v->scales = zeros(v->n);
    }
    w.gamma =
        hri_verify_gamma(v->complex ? 2 * k + 4 : k + 2, v->precision.unit) +
        v->precision.half_unit;
    w.b_rows = zeros(v->k);
    w.rows = zeros(v->m);
    w.a_rows = zeros(v->m);
    w.a_cols = zeros(v->k);
    w.cols = zeros(v->n);
    const bool ok = v->scales != NULL && w.b_rows != NULL && w.rows != NULL &&
                    w.a_rows != NULL && w.a_cols != NULL && w.cols != NULL;
    if (ok && v->n > 1 && !v->integer) {
        weigh_columns(&w);
        set_scales(v, &w);
    } else if (ok) {
        set_scales(v, NULL);
    }
    free(w.b_rows);
    free(w.rows);
    free(w.a_rows);
    free(w.a_cols);
    free(w.cols);
    return ok ? HR_OK
              : hri_fail(HR_ERROR_OUT_OF_MEMORY,
                         "verify: no memory for the weights of %lld rows and "
                         "%lld columns",
                         (long long)v->m, (long long)v->n);
}
