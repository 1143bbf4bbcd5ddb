/* SPDX-License-Identifier: MIT */
/* The names of the BLAS that we stand for: gemm, gemm3m and gemmt of four
 * types, in Fortran and C, with integers of 32 and 64 bits. Names that end in
 * 64 are those of OpenBLAS ("dgemm_64_", "cblas_dgemm64_"), of the reference
 * and of MKL ("dgemm_64", "cblas_dgemm_64"); those that begin with scipy_ are
 * in the OpenBLAS that comes with NumPy and SciPy from PyPI. Names without
 * either are of blas_int. */
#include <string.h>

#include "blas/blas.h"
#include "blas/element.h"

/* Values of the CBLAS interface. */
enum { ROW_MAJOR = 101, COLUMN_MAJOR = 102, UPPER = 121, LOWER = 122 };

/* In the place of an order: the call is by columns, from Fortran. */
enum { FORTRAN = 0 };

static blas_op op_of(char letter)
{
    switch (letter) {
    case 'N':
    case 'n':
        return BLAS_AS_IS;
    case 'T':
    case 't':
        return BLAS_TRANSPOSED;
    case 'C':
    case 'c':
        return BLAS_BOTH;
    case 'R': /* OpenBLAS alone */
    case 'r':
        return BLAS_CONJUGATED;
    default:
        return BLAS_NO_OP;
    }
}

static blas_op flag_of(int flag)
{
    static const blas_op ops[] = {BLAS_AS_IS, BLAS_TRANSPOSED, BLAS_BOTH,
                                  BLAS_CONJUGATED};
    return flag >= 111 && flag <= 114 ? ops[flag - 111] : BLAS_NO_OP;
}

static blas_part part_of(char letter)
{
    return letter == 'U' || letter == 'u'   ? BLAS_UPPER
           : letter == 'L' || letter == 'l' ? BLAS_LOWER
                                            : BLAS_NO_PART;
}

static blas_part triangle_of(int flag)
{
    return flag == UPPER   ? BLAS_UPPER
           : flag == LOWER ? BLAS_LOWER
                           : BLAS_NO_PART;
}

/* A call by rows is that of the transposes by columns. */
static void turn(blas_call *call)
{
    const blas_call old = *call;
    call->op_a = old.op_b;
    call->op_b = old.op_a;
    call->m = old.n;
    call->n = old.m;
    call->a = old.b;
    call->b = old.a;
    call->lda = old.ldb;
    call->ldb = old.lda;
    if (old.part == BLAS_UPPER || old.part == BLAS_LOWER) {
        call->part = old.part == BLAS_UPPER ? BLAS_LOWER : BLAS_UPPER;
    }
}

/* What the name is in the caller's own BLAS, into the function pointer *next,
 * which stays as it is when it is nowhere. It is looked for once. */
static void own_function(blas_symbol *symbol, void *next, size_t bytes)
{
    static char nowhere;
    void *found = atomic_load_explicit(&symbol->next, memory_order_relaxed);
    if (found == NULL) {
        found = blas_find(symbol->name);
        found = found != NULL ? found : &nowhere;
        atomic_store_explicit(&symbol->next, found, memory_order_relaxed);
    }
    if (found != &nowhere) {
        memcpy(next, &found, bytes);
    }
}

/* Whether that is all there is to do for the call: C has no elements,
 * accelerators did it, or there is nobody else (alone). */
static bool begin(const blas_call *call, bool alone, int order,
                  blas_verdict *verdict)
{
    *verdict = (blas_verdict){.looked = false};
    if (!blas_is_valid(call)) {
        if (alone) {
            blas_complain(call, order != FORTRAN, order == ROW_MAJOR);
        }
        return alone;
    }
    if (call->m == 0 || call->n == 0 || blas_take(call, alone, verdict)) {
        return true;
    }
    if (alone) {
        blas_plain(call);
        blas_stayed(call, verdict, 0.0);
    }
    return alone;
}

/* ---- what is passed */

#define FORTRAN_GEMM_PARAMETERS(INT)                                           \
    const char *op_a, const char *op_b, const INT *m, const INT *n,            \
        const INT *k, const void *alpha, const void *a, const INT *lda,        \
        const void *b, const INT *ldb, const void *beta, void *c,              \
        const INT *ldc
#define FORTRAN_GEMM_ARGUMENTS                                                 \
    op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc

#define FORTRAN_GEMMT_PARAMETERS(INT)                                          \
    const char *part, const char *op_a, const char *op_b, const INT *n,        \
        const INT *k, const void *alpha, const void *a, const INT *lda,        \
        const void *b, const INT *ldb, const void *beta, void *c,              \
        const INT *ldc
#define FORTRAN_GEMMT_ARGUMENTS                                                \
    part, op_a, op_b, n, k, alpha, a, lda, b, ldb, beta, c, ldc

#define CBLAS_GEMM_PARAMETERS(INT, SCALAR)                                     \
    int order, int op_a, int op_b, INT m, INT n, INT k, SCALAR alpha,          \
        const void *a, INT lda, const void *b, INT ldb, SCALAR beta, void *c,  \
        INT ldc
#define CBLAS_GEMM_ARGUMENTS                                                   \
    order, op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc

#define CBLAS_GEMMT_PARAMETERS(INT, SCALAR)                                    \
    int order, int part, int op_a, int op_b, INT n, INT k, SCALAR alpha,       \
        const void *a, INT lda, const void *b, INT ldb, SCALAR beta, void *c,  \
        INT ldc
#define CBLAS_GEMMT_ARGUMENTS                                                  \
    order, part, op_a, op_b, n, k, alpha, a, lda, b, ldb, beta, c, ldc

#define INT        int32_t
#define WIDE(name) name##_32
#include "blas/entries.inc"
#undef INT
#undef WIDE
#define INT        int64_t
#define WIDE(name) name##_64
#include "blas/entries.inc"

/* ---- the names */

/* NOLINTBEGIN(readability-function-size): the BLAS has so many parameters */

#define FORTRAN_GEMM(name, type, INT, bits)                                    \
    BLAS_API void name(FORTRAN_GEMM_PARAMETERS(INT));                          \
    void name(FORTRAN_GEMM_PARAMETERS(INT))                                    \
    {                                                                          \
        static blas_symbol symbol = {#name, type, NULL};                       \
        do_fortran_gemm_##bits(&symbol, FORTRAN_GEMM_ARGUMENTS);               \
    }

#define FORTRAN_GEMMT(name, type, INT, bits)                                   \
    BLAS_API void name(FORTRAN_GEMMT_PARAMETERS(INT));                         \
    void name(FORTRAN_GEMMT_PARAMETERS(INT))                                   \
    {                                                                          \
        static blas_symbol symbol = {#name, type, NULL};                       \
        do_fortran_gemmt_##bits(&symbol, FORTRAN_GEMMT_ARGUMENTS);             \
    }

#define CBLAS_GEMM(name, type, INT, bits, SCALAR, style)                       \
    BLAS_API void name(CBLAS_GEMM_PARAMETERS(INT, SCALAR));                    \
    void name(CBLAS_GEMM_PARAMETERS(INT, SCALAR))                              \
    {                                                                          \
        static blas_symbol symbol = {#name, type, NULL};                       \
        do_cblas_gemm_##bits##_##style(&symbol, CBLAS_GEMM_ARGUMENTS);         \
    }

#define CBLAS_GEMMT(name, type, INT, bits, SCALAR, style)                      \
    BLAS_API void name(CBLAS_GEMMT_PARAMETERS(INT, SCALAR));                   \
    void name(CBLAS_GEMMT_PARAMETERS(INT, SCALAR))                             \
    {                                                                          \
        static blas_symbol symbol = {#name, type, NULL};                       \
        do_cblas_gemmt_##bits##_##style(&symbol, CBLAS_GEMMT_ARGUMENTS);       \
    }

#ifdef BLAS_PLAIN_64
#define PLAIN_BITS 64
#else
#define PLAIN_BITS 32
#endif

/* All names of one routine. */
#define FORTRAN_NAMES(KIND, base, type)                                        \
    FORTRAN_##KIND##_(base##_, type, blas_int, PLAIN_BITS)                     \
        FORTRAN_##KIND(scipy_##base##_, type, int32_t, 32)                     \
            FORTRAN_##KIND(base##_64_, type, int64_t, 64)                      \
                FORTRAN_##KIND(base##_64, type, int64_t, 64)                   \
                    FORTRAN_##KIND(base##64_, type, int64_t, 64)               \
                        FORTRAN_##KIND(scipy_##base##_64_, type, int64_t, 64)
#define CBLAS_NAMES(KIND, base, type, SCALAR, style)                           \
    CBLAS_##KIND##_(cblas_##base, type, blas_int, PLAIN_BITS, SCALAR, style)   \
        CBLAS_##KIND(scipy_cblas_##base, type, int32_t, 32, SCALAR, style)     \
            CBLAS_##KIND(cblas_##base##_64, type, int64_t, 64, SCALAR, style)  \
                CBLAS_##KIND(cblas_##base##64_, type, int64_t, 64, SCALAR,     \
                             style)                                            \
                    CBLAS_##KIND(scipy_cblas_##base##64_, type, int64_t, 64,   \
                                 SCALAR, style)
#define NAMES(KIND, base, type, SCALAR, style)                                 \
    FORTRAN_NAMES(KIND, base, type)                                            \
    CBLAS_NAMES(KIND, base, type, SCALAR, style)

/* PLAIN_BITS is replaced before it is pasted. */
#define FORTRAN_GEMM_(name, type, INT, bits) FORTRAN_GEMM(name, type, INT, bits)
#define FORTRAN_GEMMT_(name, type, INT, bits)                                  \
    FORTRAN_GEMMT(name, type, INT, bits)
#define CBLAS_GEMM_(name, type, INT, bits, SCALAR, style)                      \
    CBLAS_GEMM(name, type, INT, bits, SCALAR, style)
#define CBLAS_GEMMT_(name, type, INT, bits, SCALAR, style)                     \
    CBLAS_GEMMT(name, type, INT, bits, SCALAR, style)

NAMES(GEMM, sgemm, HR_F32, float, f32)
NAMES(GEMM, dgemm, HR_F64, double, f64)
NAMES(GEMM, cgemm, HR_C32, const void *, complex)
NAMES(GEMM, zgemm, HR_C64, const void *, complex)
NAMES(GEMM, cgemm3m, HR_C32, const void *, complex)
NAMES(GEMM, zgemm3m, HR_C64, const void *, complex)
NAMES(GEMMT, sgemmt, HR_F32, float, f32)
NAMES(GEMMT, dgemmt, HR_F64, double, f64)
NAMES(GEMMT, cgemmt, HR_C32, const void *, complex)
NAMES(GEMMT, zgemmt, HR_C64, const void *, complex)
NAMES(GEMMT, sgemmtr, HR_F32, float, f32)
NAMES(GEMMT, dgemmtr, HR_F64, double, f64)
NAMES(GEMMT, cgemmtr, HR_C32, const void *, complex)
NAMES(GEMMT, zgemmtr, HR_C64, const void *, complex)
/* NOLINTEND(readability-function-size) */
