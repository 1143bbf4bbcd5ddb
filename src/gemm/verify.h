/* SPDX-License-Identifier: MIT */
/* The parts of hr_gemm_verify. docs/verify.md derives what is used here.
 *
 * Everything happens in double. A block of a matrix is converted as it is
 * needed; the trials are lanes, side by side, of eight to a vector. */
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
    HRI_VERIFY_LIMIT = 64 /* rows that are recomputed at most */
};

/* Eight doubles; the compiler makes of it what the CPU has. */
typedef double hri_lanes __attribute__((vector_size(64)));

/* A matrix, and the power of two that its elements are multiplied by. */
typedef struct hri_verify_source {
    hr_matrix matrix;
    double scale;
} hri_verify_source;

/* What rounding may do in a type; see tests/support/reference.c for the same
 * thing written a second time. */
typedef struct hri_verify_precision {
    double unit;           /* of the accumulation, u */
    double smallest;       /* true number that one underflow may lose */
    double half_unit;      /* u of a half C, else 0 */
    double half_subnormal; /* smallest positive half C, else 0; scaled, as is */
    double largest;        /* the largest finite value of the accumulation */
    double largest_result; /* and that of C's type */
} hri_verify_precision;

/* What 1 in the true numbers is worth here, for terms of the error that are not
 * relative to what they belong to; and the size of the true factors. All units
 * are 1 unless the numbers had to be scaled. */
typedef struct hri_verify_units {
    double one;     /* 2^-exponent: of C */
    double a, b;    /* of what is in sums of scaled |a| and |b| */
    double product; /* of sums of scaled |a||b| */
    double old;     /* of scaled C0 */
    double alpha, beta;
} hri_verify_units;

/* The problem: C = alpha A B + beta C0 in scaled numbers, every value of the
 * true problem being 2^exponent as large. */
typedef struct hri_verify {
    hri_pool *pool;
    uint64_t seed;
    int64_t m, n, k;
    hr_scalar alpha, beta;
    hri_verify_source a, b, c0, c;
    bool complex, integer;
    bool old;        /* beta is not 0: there is a C0 */
    bool transposed; /* these are C's transpose, and the factors it has */
    int exponent;
    hri_verify_precision precision;
    hri_verify_units units;
    uint8_t *skip_rows, *skip_cols; /* flags of what the random test leaves
                                       out; NULL: nothing */
    hri_lanes signs[256];           /* eight bits of a random word as lanes */
} hri_verify;

/* An element that is wrong, in numbers of the true problem. */
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

/* What underflow may have taken from so many elements of C together, for which
 * the scaled moduli of the operands that they meet sum up to a and b. */
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

/* Load a window; columns flagged in skip (which may be NULL) become 0, and so
 * do rows up to the next multiple of four and columns up to the next of eight.
 */
void hri_verify_load(const hri_verify_source *source,
                     const hri_verify_window *window, const uint8_t *skip,
                     hri_verify_block *block);

/* Look through A, B and C0: flag rows of A and C0 and columns of B that hold
 * what is not finite, and choose scales under which no sum overflows.
 * HR_ERROR_OUT_OF_MEMORY. */
hr_status hri_verify_scan(hri_verify *v);

/* verify_lanes.c: sums over all trials at once. */

/* Make the table of signs: +1 and -1, or for integers 1 and 0. */
void hri_verify_signs_init(hri_verify *v);

/* The trials' entries for columns [first, first + count) of C. */
void hri_verify_signs(const hri_verify *v, int64_t first, int64_t count,
                      hri_lanes *lanes);

/* out[r][.] += sum_c block[r][c] lanes[c][.], for rows rounded up to a multiple
 * of four. */
void hri_verify_multiply(const double *block, const hri_verify_window *window,
                         const hri_lanes *lanes, hri_lanes *out);

/* Reduce whole numbers below 2^53 modulo 2^32, to [-2^31, 2^31). */
void hri_verify_wrap(hri_lanes *lanes, int64_t count);

/* verify_residual.c: for each row the largest residual of any trial over the
 * threshold, 0 where none is above it, infinity where it is not finite.
 * HR_ERROR_OUT_OF_MEMORY. */
hr_status hri_verify_residuals(const hri_verify *v, double *ratios);

/* verify_exact.c: recompute a row and judge it element by element. */
void hri_verify_row(const hri_verify *v, int64_t row, hri_verify_miss *miss);

/* verify.c: hr_gemm_verify with its choices made: checked arguments, a seed.
 * c0's data is not looked at when beta is 0. */
typedef struct hri_verify_problem {
    hr_scalar alpha, beta;
    hr_matrix a, b, c0, c;
} hri_verify_problem;

/* Its working form; NULL, with the sentence recorded, when memory runs out. c
 * must not be empty. */
hri_verify *hri_verify_create(hri_pool *pool, const hri_verify_problem *problem,
                              uint64_t seed);
void hri_verify_destroy(hri_verify *v); /* accepts NULL */

hr_status hri_verify_product(hri_pool *pool, const hri_verify_problem *problem,
                             uint64_t seed, hr_verify_report *report);

#endif
