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

/* A matrix, and the power of two that scales its elements. */
typedef struct hri_verify_source {
    hr_matrix matrix;
    double scale;
} hri_verify_source;

/* What rounding may do in a type. tests/support/reference.c computes the same
 * independently. */
typedef struct hri_verify_precision {
    double unit;           /* of the accumulation, u */
    double smallest;       /* the most that one underflow may lose, in true
                              numbers */
    double half_unit;      /* u of a half C, else 0 */
    double half_subnormal; /* smallest positive half C, scaled like C; else 0 */
    double largest;        /* the largest finite value of the accumulation */
    double overflow;       /* from here on a value rounds to infinity in C */
} hri_verify_precision;

/* The scaled value of 1 in true numbers, for error terms that do not scale with
 * their operands, and the size of the true factors. All units are 1 unless the
 * numbers had to be scaled. */
typedef struct hri_verify_units {
    double one;     /* 2^-exponent: for C */
    double a, b;    /* for sums of scaled |a| and |b| */
    double product; /* for sums of scaled |a||b| */
    double old;     /* for scaled C0 */
    double alpha, beta;
} hri_verify_units;

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
} hri_verify_hole;

/* The problem: C = alpha A B + beta C0 in scaled numbers. Every value of the
 * true problem is 2^exponent times as large. */
typedef struct hri_verify {
    hri_pool *pool;
    uint64_t seed;
    int64_t m, n, k;
    hr_scalar alpha, beta;
    hri_verify_source a, b, c0, c;
    bool complex, integer;
    bool old;        /* beta is not 0, so C0 is used */
    bool transposed; /* c is C's transpose, and a and b are swapped */
    int exponent;
    hri_verify_precision precision;
    hri_verify_units units;
    uint8_t *skip_rows, *skip_cols; /* flags; NULL: nothing is left out */
    hri_verify_hole *holes;         /* by block of rows, column and row */
    int64_t hole_count;
    double *scales; /* n: powers of two for the columns, 0 for those left out */
    double scale_sum, scale_squares; /* sums of scales, and of their squares */
    hri_lanes signs[256];            /* eight bits of a random word, as lanes */
} hri_verify;

/* A wrong element, in numbers of the true problem. */
typedef struct hri_verify_miss {
    int64_t row, col; /* col is -1 when there is none */
    double got[2], want[2], error, bound;
} hri_verify_miss;

/* verify_bound.c */
hri_verify_precision hri_verify_precision_of(hr_type c_type);

/* gamma_n = n u / (1 - n u) of [Higham2002] where n u <= 1/2, and 2 n u above,
 * where [Jeannerod2013] still allows n u for the sum itself. */
double hri_verify_gamma(double n, double u);

/* |re| + |im| */
double hri_verify_size(hr_scalar s);

/* The most that underflow may have taken from `elements` elements of C
 * together. a and b are sums of the scaled moduli of their operands. */
double hri_verify_underflow(const hri_verify *v, double elements, double a,
                            double b);

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

/* Scan A, B and C0. Flag rows of A and columns of B with values that are not
 * finite, and rows and columns of C0 with nothing else. Choose scales with
 * which no sum overflows. HR_ERROR_OUT_OF_MEMORY. */
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

/* verify_residual.c: for each row the ratio of the largest residual of any
 * trial to the threshold. 0 where no residual is above the threshold, infinity
 * where one is not finite. HR_ERROR_OUT_OF_MEMORY. */
hr_status hri_verify_residuals(hri_verify *v, double *ratios);

/* verify_exact.c: recompute a row and judge it element by element, but for
 * flagged columns. */
void hri_verify_row(const hri_verify *v, int64_t row, hri_verify_miss *miss);

/* Judge the columns of a row that `columns` has bits for, counted from `first`.
 * Keep the leftmost wrong one. products, if not NULL, becomes alpha A B of 64
 * columns. */
void hri_verify_judge(const hri_verify *v, int64_t row, int64_t first,
                      uint64_t columns, hri_verify_miss *miss,
                      double (*products)[2]);

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
} hri_verify_problem;

/* Make the working form of a problem. NULL, with the error set, when there is
 * no memory. c must not be empty. */
hri_verify *hri_verify_create(hri_pool *pool, const hri_verify_problem *problem,
                              uint64_t seed);
void hri_verify_destroy(hri_verify *v); /* accepts NULL */

hr_status hri_verify_product(hri_pool *pool, const hri_verify_problem *problem,
                             uint64_t seed, hr_verify_report *report);

#endif
