/* SPDX-License-Identifier: MIT */
/* The names that the tests call, as Fortran and C call them. Matrices and
 * scalars of Fortran are addresses, whatever their type. */
#ifndef BLAS_NAMES_H
#define BLAS_NAMES_H

#include <stddef.h>
#include <stdint.h>

#ifdef BLAS_PLAIN_64
typedef int64_t plain_int;
#else
typedef int32_t plain_int;
#endif

#define FORTRAN_GEMM(name, INT)                                                \
    void name(const char *, const char *, const INT *, const INT *,            \
              const INT *, const void *, const void *, const INT *,            \
              const void *, const INT *, const void *, void *, const INT *,    \
              size_t, size_t);
#define FORTRAN_GEMMT(name, INT)                                               \
    void name(const char *, const char *, const char *, const INT *,           \
              const INT *, const void *, const void *, const INT *,            \
              const void *, const INT *, const void *, void *, const INT *,    \
              size_t, size_t, size_t);
#define CBLAS_GEMM(name, INT, SCALAR)                                          \
    void name(int, int, int, INT, INT, INT, SCALAR, const void *, INT,         \
              const void *, INT, SCALAR, void *, INT);
#define CBLAS_GEMMT(name, INT, SCALAR)                                         \
    void name(int, int, int, int, INT, INT, SCALAR, const void *, INT,         \
              const void *, INT, SCALAR, void *, INT);

#define NAMES_OF(base, SCALAR)                                                 \
    FORTRAN_GEMM(base##_, plain_int)                                           \
    FORTRAN_GEMM(scipy_##base##_, int32_t)                                     \
    FORTRAN_GEMM(base##_64_, int64_t)                                          \
    FORTRAN_GEMM(scipy_##base##_64_, int64_t)                                  \
    CBLAS_GEMM(cblas_##base, plain_int, SCALAR)                                \
    CBLAS_GEMM(scipy_cblas_##base, int32_t, SCALAR)                            \
    CBLAS_GEMM(cblas_##base##_64, int64_t, SCALAR)                             \
    CBLAS_GEMM(cblas_##base##64_, int64_t, SCALAR)                             \
    CBLAS_GEMM(scipy_cblas_##base##64_, int64_t, SCALAR)                       \
    FORTRAN_GEMMT(base##t_, plain_int)                                         \
    FORTRAN_GEMMT(base##t_64_, int64_t)                                        \
    FORTRAN_GEMMT(base##tr_, plain_int)                                        \
    CBLAS_GEMMT(cblas_##base##t, plain_int, SCALAR)                            \
    CBLAS_GEMMT(cblas_##base##t64_, int64_t, SCALAR)

NAMES_OF(sgemm, float)
NAMES_OF(dgemm, double)
NAMES_OF(cgemm, const void *)
NAMES_OF(zgemm, const void *)
FORTRAN_GEMM(cgemm3m_, plain_int)
FORTRAN_GEMM(zgemm3m_, plain_int)
CBLAS_GEMM(cblas_zgemm3m, plain_int, const void *)

#endif
