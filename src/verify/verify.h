/* SPDX-License-Identifier: MIT */
/* The parts of hr_gemm_verify. docs/verify.md derives the formulas.
 *
 * The random test computes in double. A block of a matrix is converted when it
 * is needed. The trials lie side by side in lanes of vectors, eight to a
 * vector. Elements are judged in long double. */
#ifndef HRI_VERIFY_VERIFY_H
#define HRI_VERIFY_VERIFY_H

#include <math.h>
#include <pthread.h>

#include <headrace/gemm.h>

#include "base/pool.h"
#include "base/progress.h"

enum {
    HRI_VERIFY_TRIALS = 48, /* random vectors */
    HRI_VERIFY_LANES = 8,   /* of them in an hri_lanes */
    HRI_VERIFY_GROUPS = HRI_VERIFY_TRIALS / HRI_VERIFY_LANES,
    HRI_VERIFY_ROWS = 32, /* of a block */
    HRI_VERIFY_COLS = 64,
    HRI_VERIFY_LIMIT = 64 /* most suspicious rows that are recomputed */
};

/* Eight doubles. The compiler uses the vectors that the CPU has. */
typedef double hri_lanes __attribute__((vector_size(64)));

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
    HRI_VERIFY_INFINITE = 1, /* its row of A, its column of B, or a factor is
                                not finite */
    HRI_VERIFY_NAN = 2,      /* a NaN is among them */
    HRI_VERIFY_UNTESTED = 4  /* nothing in it is finite in C and C0, but for
                                lines flagged before */
};

/* The problem: C = alpha A B + beta C0. */
typedef struct hri_verify {
    hri_pool *pool;
    hri_progress *progress; /* NULL: none */
    uint64_t seed;
    int64_t m, n, k;
    hr_scalar alpha, beta;
    hr_matrix a, b, c0, c;
    bool complex, integer;
    bool old;        /* beta is not 0, so C0 is used */
    bool transposed; /* c is C's transpose, and a and b are swapped */
    hri_verify_precision precision;
    uint8_t *skip_rows, *skip_cols;  /* flags; NULL: nothing is left out */
    double *scales;                  /* n: powers of two for the columns, 0 for
                                        those left out */
    double scale_sum, scale_squares; /* sums of scales, and of their squares */
    hri_lanes signs[256];            /* eight bits of a random word, as lanes */
} hri_verify;

/* ---- elements.c */

/* hri_pool_run, of tasks that read so many elements each, in the usual
 * arithmetic. When the program has cancelled, none is begun any more. */
void hri_verify_run(const hri_verify *v, int64_t count,
                    hri_pool_function function, void *data, int64_t elements);
bool hri_verify_stopped(const hri_verify *v);

/* HR_ERROR_CANCELLED where the program has cancelled, else status. */
hr_status hri_verify_status(const hri_verify *v, hr_status status);

/* A window of a matrix. */
typedef struct hri_verify_window {
    int64_t row, col, rows, cols; /* at most 32 x 64 */
} hri_verify_window;

/* A window as doubles. */
typedef struct hri_verify_block {
    double re[HRI_VERIFY_ROWS * HRI_VERIFY_COLS];
    double im[HRI_VERIFY_ROWS * HRI_VERIFY_COLS]; /* complex types only */
} hri_verify_block;

/* Load a window. Columns flagged in skip (which may be NULL) become 0. So does
 * the padding: rows up to the next multiple of four, and columns up to the next
 * of eight. */
void hri_verify_load(const hr_matrix *m, const hri_verify_window *window,
                     const uint8_t *skip, hri_verify_block *block);

hri_verify_precision hri_verify_precision_of(hr_type c_type);

/* gamma_n = n u / (1 - n u) of [Higham2002] where n u <= 1/2, and 2 n u above,
 * where [Jeannerod2013] still allows n u for the sum itself. */
static inline double hri_verify_gamma(double n, double u)
{
    return n * u <= 0.5 ? n * u / (1.0 - n * u) : 2.0 * n * u;
}

/* The roundings that a term of an element meets. */
static inline double hri_verify_roundings(const hri_verify *v)
{
    return v->complex ? 2.0 * (double)v->k + 4.0 : (double)v->k + 2.0;
}

/* |re| + |im| */
static inline double hri_verify_size(hr_scalar s)
{
    return fabs(s.re) + fabs(s.im);
}

/* The most that underflows of `smallest` each may have taken from so many
 * elements of C together, given the sums of the moduli of their operands. */
long double hri_verify_underflow(const hri_verify *v, double smallest,
                                 double elements, long double a, long double b);

/* A wrong element. */
typedef struct hri_verify_miss {
    int64_t row, col; /* col is -1 when there is none */
    double got[2], want[2], error, bound;
} hri_verify_miss;

/* The first wrong element that any thread finds. */
typedef struct hri_verify_first {
    pthread_mutex_t lock;
    hri_verify_miss miss;
} hri_verify_first;

/* Recompute a window of one row, in a task of hri_verify_run. Judge the columns
 * that `columns` has bits for, counted from the window's first. */
void hri_verify_judge(const hri_verify *v, const hri_verify_window *window,
                      uint64_t columns, hri_verify_first *first);

/* Recompute a row and judge it, but for flagged columns. Its leftmost wrong
 * element becomes *miss. */
void hri_verify_row(const hri_verify *v, int64_t row, hri_verify_miss *miss);

/* ---- residual.c: the random test */

/* For each row the ratio of the largest residual of any trial to the threshold.
 * 0 where no residual is above the threshold, infinity where one is not finite.
 * HR_ERROR_OUT_OF_MEMORY, HR_ERROR_CANCELLED. */
hr_status hri_verify_residuals(hri_verify *v, double *ratios);

/* ---- places.c */

/* What is found where rows and columns are left out. */
typedef struct hri_verify_found {
    int64_t rows_checked; /* rows and columns */
    int64_t unchecked;    /* elements */
    hri_verify_miss miss;
} hri_verify_found;

/* Flag the rows and columns that the random test must leave out, and judge
 * their elements. At most *windows times 64 columns of a row are recomputed.
 * *windows becomes what is left. HR_ERROR_OUT_OF_MEMORY, HR_ERROR_CANCELLED. */
hr_status hri_verify_places(hri_verify *v, int64_t *windows,
                            hri_verify_found *found);

/* ---- verify.c */

/* The checked arguments of hr_gemm_verify. c0's data is not read when beta is
 * 0. */
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
