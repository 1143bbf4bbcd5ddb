/* SPDX-License-Identifier: MIT */
/* A trampoline like Julia's: it has the names of a BLAS and passes calls on to
 * the library that it was told. With STANDS_BEHIND defined: a BLAS of 64-bit
 * integers that it passes calls to at first. */
#include <stddef.h>
#include <stdint.h>

typedef int64_t isamax_function(const int64_t *n, const float *x,
                                const int64_t *step);
typedef void dgemm_function(const char *, const char *, const int64_t *m,
                            const int64_t *n, const int64_t *k,
                            const double *alpha, const double *a,
                            const int64_t *lda, const double *b,
                            const int64_t *ldb, const double *beta, double *c,
                            const int64_t *ldc, size_t, size_t);
isamax_function isamax_64_;
dgemm_function dgemm_64_;

/* The parameters once, for both: as many as Fortran has.
 * NOLINTBEGIN(readability-function-size) */
#define DGEMM                                                                  \
    void dgemm_64_(const char *op_a, const char *op_b, const int64_t *m,       \
                   const int64_t *n, const int64_t *k, const double *alpha,    \
                   const double *a, const int64_t *lda, const double *b,       \
                   const int64_t *ldb, const double *beta, double *c,          \
                   const int64_t *ldc, size_t la, size_t lb)

#ifdef STANDS_BEHIND
extern int dgemm_calls;
int dgemm_calls;

int64_t isamax_64_(const int64_t *n, const float *x, const int64_t *step)
{
    int64_t best = *n > 0;
    for (int64_t i = 1; i < *n; i++) {
        best = x[i * *step] > x[(best - 1) * *step] ? i + 1 : best;
    }
    return best;
}

/* Of matrices that are not transposed. */
DGEMM
{
    (void)op_a, (void)op_b, (void)la, (void)lb;
    dgemm_calls++;
    for (int64_t j = 0; j < *n; j++) {
        for (int64_t i = 0; i < *m; i++) {
            double sum = 0;
            for (int64_t p = 0; p < *k; p++) {
                sum += a[i + p * *lda] * b[p + j * *ldb];
            }
            c[i + j * *ldc] = *alpha * sum + *beta * c[i + j * *ldc];
        }
    }
}
#else
/* Only its name matters: such libraries are recognised by it. */
extern int lbt_forward;
int lbt_forward;

extern isamax_function *next_isamax;
extern dgemm_function *next_dgemm;
isamax_function *next_isamax;
dgemm_function *next_dgemm;

int64_t isamax_64_(const int64_t *n, const float *x, const int64_t *step)
{
    return next_isamax(n, x, step);
}

DGEMM
{
    next_dgemm(op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, la,
               lb);
}
#endif
/* NOLINTEND(readability-function-size) */
