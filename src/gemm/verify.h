/* SPDX-License-Identifier: MIT */
/* The parts of hr_gemm_verify. docs/verify.md derives the formulas.
 *
 * All computation is in double. A block of a matrix is converted when it is
 * needed. The trials lie side by side in lanes of vectors, eight to a
 * vector. */
#ifndef HRI_GEMM_VERIFY_H
#define HRI_GEMM_VERIFY_H

#include <headrace/gemm.h>

#include "base/pool.h"
#include "base/progress.h"

enum {
    HRI_VERIFY_TRIALS = 48, /* random vectors */
    HRI_VERIFY_LANES = 8,   /* of them in an hri_lanes */
    HRI_VERIFY_GROUPS = HRI_VERIFY_TRIALS / HRI_VERIFY_LANES,
    HRI_VERIFY_ROWS = 32, /* of a block */
    HRI_VERIFY_COLS = 64,
    HRI_VERIFY_LIMIT = 64 /* most rows that are recomputed */
};

/* Eight doubles. The compiler uses the vectors that the CPU has. */
typedef double hri_lanes __attribute__((vector_size(64)));

/* A matrix, and exponents: elements of row i are read as 2^-(all + rows[i])
 * times their values. rows may be NULL: all 0. */
typedef struct hri_verify_source {
    hr_matrix matrix;
    const int *rows;
    int all;
} hri_verify_source;

/* What rounding may do in a type. tests/support/reference.c computes the same
 * independently. */
typedef struct hri_verify_precision {
    double unit;           /* of the accumulation, u */
    double smallest;       /* the most that one underflow may lose */
    double half_unit;      /* u of a half C, else 0 */
    double half_subnormal; /* smallest positive half C; else 0 */
    double largest;        /* the largest finite value of the accumulation */
    double overflow;       /* from here on a value rounds to infinity in C */
} hri_verify_precision;

/* Flags of rows and columns of C that the random test leaves out. */
enum {
    HRI_VERIFY_INFINITE = 1, /* not finite: its row of A, column of B, or a
                                factor */
    HRI_VERIFY_NAN = 2,      /* with a NaN among them */
    HRI_VERIFY_COVERED = 4,  /* not finite in all of C0 */
    HRI_VERIFY_UNTESTED = 8  /* a row with more holes than are filled */
};

/* An element of C or C0 that is not finite, in a row that the random test
 * includes. The test takes the product instead. */
typedef struct hri_verify_hole {
    int64_t row, col;
    double product[2]; /* alpha A B, scaled */
    double size;       /* |alpha| |A||B|, scaled */
} hri_verify_hole;

/* The problem: C = alpha A B + beta C0. Where f64 numbers are so large that
 * sums may overflow, rows of A and all of B are scaled, and C and C0 with them.
 */
typedef struct hri_verify {
    hri_pool *pool;
    hri_progress *progress; /* NULL: none */
    uint64_t seed;
    int64_t m, n, k;
    hr_scalar alpha, beta;
    hri_verify_source a, b, c0, c;
    bool complex, integer;
    bool old;        /* beta is not 0, so C0 is used */
    bool transposed; /* c is C's transpose, and a and b are swapped */
    hri_verify_precision precision;
    uint8_t *skip_rows, *skip_cols; /* flags; NULL: nothing is left out */
    _Atomic bool *infinite; /* k: whether a column of A or a row of B has
                               an infinity; NULL like the flags */
    int *row_exponents;     /* of A; NULL: not scanned, or not f64 */
    int b_exponent;         /* of B */
    hri_verify_hole *holes; /* by block of rows, column and row */
    int64_t hole_count;
    double *scales; /* n: powers of two for the columns, 0 for those left out */
    double scale_sum, scale_squares; /* sums of scales, and of their squares */
    hri_lanes signs[256];            /* eight bits of a random word, as lanes */
} hri_verify;

/* A wrong element, in true numbers. */
typedef struct hri_verify_miss {
    int64_t row, col; /* col is -1 when there is none */
    double got[2], want[2], error, bound;
    int64_t unchecked; /* elements that were left out on the way */
} hri_verify_miss;

/* verify.c: hri_pool_run, of tasks that read so many elements each. When the
 * program has cancelled, none is begun any more. What is not said of the others
 * below: they return HR_ERROR_CANCELLED then. */
void hri_verify_run(const hri_verify *v, int64_t count,
                    hri_pool_function function, void *data, int64_t elements);
bool hri_verify_stopped(const hri_verify *v);
hr_status hri_verify_status(const hri_verify *v, hr_status status);

/* verify_bound.c */
hri_verify_precision hri_verify_precision_of(hr_type c_type);

/* gamma_n = n u / (1 - n u) of [Higham2002] where n u <= 1/2, and 2 n u above,
 * where [Jeannerod2013] still allows n u for the sum itself. */
double hri_verify_gamma(double n, double u);

/* |re| + |im| */
double hri_verify_size(hr_scalar s);

/* Some elements of C, and sums of the moduli of their operands. */
typedef struct hri_verify_sums {
    double elements, a, b;
    double b_unit; /* of b, see hri_verify_b_unit */
} hri_verify_sums;

/* The most that underflow may have taken from elements of C together. */
double hri_verify_underflow(const hri_verify *v, const hri_verify_sums *x);

/* The same for what underflow may take from sums in this folder. */
double hri_verify_own_underflow(const hri_verify *v, const hri_verify_sums *x);

/* The exponent of a row of C. */
int hri_verify_exponent(const hri_verify *v, int64_t row);

/* The unit of B's elements in such sums for a row: as if they were of the same
 * scale as the row of C. */
double hri_verify_b_unit(const hri_verify *v, int64_t row);

/* verify_block.c: a window of a matrix as doubles. */
typedef struct hri_verify_window {
    int64_t row, col, rows, cols; /* at most 32 x 64 */
} hri_verify_window;

typedef struct hri_verify_block {
    double re[HRI_VERIFY_ROWS * HRI_VERIFY_COLS];
    double im[HRI_VERIFY_ROWS * HRI_VERIFY_COLS]; /* complex types only */
} hri_verify_block;

/* Load a window. Columns flagged in skip (which may be NULL) become 0. So does
 * the padding: rows up to the next multiple of four, and columns up to the next
 * of eight. */
void hri_verify_load(const hri_verify_source *source,
                     const hri_verify_window *window, const uint8_t *skip,
                     hri_verify_block *block);

/* verify_scan.c: scan A, B and C0. Flag rows of A and columns of B with values
 * that are not finite, and rows and columns of C0 with nothing else. Choose
 * exponents with which no sum overflows. HR_ERROR_OUT_OF_MEMORY. */
hr_status hri_verify_scan(hri_verify *v);

/* verify_lanes.c: sums over all trials at once. */

/* Make the table of signs: +1 and -1, or for integers 1 and 0. */
void hri_verify_signs_init(hri_verify *v);

/* The trials' entries for columns [first, first + count) of C: signs times
 * scales. */
void hri_verify_signs(const hri_verify *v, int64_t first, int64_t count,
                      hri_lanes *lanes);

/* out[r][.] += sum_c block[r][c] lanes[c][.], for rows rounded up to a multiple
 * of four. */
void hri_verify_multiply(const double *block, const hri_verify_window *window,
                         const hri_lanes *lanes, hri_lanes *out);

/* Reduce whole numbers below 2^53 modulo 2^32, to [-2^31, 2^31). */
void hri_verify_wrap(hri_lanes *lanes, int64_t count);

/* verify_scale.c: choose the scales of the columns. HR_ERROR_OUT_OF_MEMORY. */
hr_status hri_verify_scale(hri_verify *v);

/* sum_c |line[c] weights[c]|; weights are 1 if NULL. Both are padded with zeros
 * to a multiple of eight, weights with anything. */
double hri_verify_weigh(const double *line, const double *weights,
                        int64_t cols);

/* The same for both parts of the elements of row r of a block. */
double hri_verify_weigh_row(const hri_verify *v, const hri_verify_block *block,
                            int64_t r, const double *weights, int64_t cols);

/* The ratio of a row whose residuals tell too little: holes or scales have made
 * its threshold several times larger. Real ratios are 0 or above 1. */
#define HRI_VERIFY_DULL 0x1p-1000

/* verify_residual.c: for each row the ratio of the largest residual of any
 * trial to the threshold. 0 where no residual is above the threshold, infinity
 * where one is not finite. HR_ERROR_OUT_OF_MEMORY. */
hr_status hri_verify_residuals(hri_verify *v, double *ratios);

/* verify_exact.c: one element of C recomputed, in numbers 2^exponent times
 * smaller than the true ones. */
typedef struct hri_verify_element {
    int exponent;
    hr_scalar alpha, beta;
    double sum[2];            /* of A B */
    double straight, crossed; /* sums of |ar br| + |ai bi| and |ar bi| + |ai br|
                                 of finite values */
    double old[2], got[2];    /* of C0 and C */
    double lost;              /* what underflow may have taken */
    double peak; /* the largest that a sum or an operand times alpha
                    may become on the way, in true numbers */
} hri_verify_element;

/* Compute 64 columns of a row, from `first` on: n - first of them, if that is
 * less. */
void hri_verify_elements(const hri_verify *v, int64_t row, int64_t first,
                         hri_verify_element *elements);

/* Compute one element with an exponent of its own. This is slow, but loses
 * nothing to scales. */
hri_verify_element hri_verify_element_alone(const hri_verify *v, int64_t row,
                                            int64_t col);

/* verify_judge.c: recompute a row and judge it element by element, but for
 * flagged columns. */
void hri_verify_row(const hri_verify *v, int64_t row, hri_verify_miss *miss);

/* Judge the columns of a row that `columns` has bits for, counted from `first`.
 * Keep the leftmost wrong one. holes, if not NULL, becomes 64 holes: one for
 * each column. */
void hri_verify_judge(const hri_verify *v, int64_t row, int64_t first,
                      uint64_t columns, hri_verify_miss *miss,
                      hri_verify_hole *holes);

/* verify_special.c: elements of C that are not finite, or must not be. To be
 * called after hri_verify_scan. Judges them, fills holes, and flags rows that
 * stay untested. */
typedef struct hri_verify_special {
    int64_t rows_checked; /* rows and columns */
    int64_t unchecked;    /* elements */
    hri_verify_miss miss;
} hri_verify_special;

/* HR_ERROR_OUT_OF_MEMORY */
hr_status hri_verify_judge_special(hri_verify *v, hri_verify_special *found);

/* Put what holes stand for into a block of C, or zeros into one of C0. The rows
 * of the window lie between two multiples of HRI_VERIFY_ROWS. */
void hri_verify_fill(const hri_verify *v, const hri_verify_window *window,
                     bool old, hri_verify_block *block);

/* verify.c: the checked arguments of hr_gemm_verify, and a seed. c0's data is
 * not read when beta is 0. */
typedef struct hri_verify_problem {
    hr_scalar alpha, beta;
    hr_matrix a, b, c0, c;
    hri_progress *progress; /* NULL: none */
} hri_verify_problem;

/* Make the working form of a problem. NULL, with the error set, when there is
 * no memory. c must not be empty. */
hri_verify *hri_verify_create(hri_pool *pool, const hri_verify_problem *problem,
                              uint64_t seed);
void hri_verify_destroy(hri_verify *v); /* accepts NULL */

hr_status hri_verify_product(hri_pool *pool, const hri_verify_problem *problem,
                             uint64_t seed, hr_verify_report *report);

#endif
