/* SPDX-License-Identifier: MIT */
/* The names of the BLAS that this library has: gemm, gemm3m, gemmt, gemm_batch
 * and gemm_batch_strided of four types, in Fortran and C, with integers of 32
 * and 64 bits. Names with 64 at the end are those of OpenBLAS ("dgemm_64_",
 * "cblas_dgemm64_") and of the reference and MKL ("dgemm_64",
 * "cblas_dgemm_64"). Names that begin with scipy_ are in the OpenBLAS that
 * comes with NumPy and SciPy from PyPI. Other names have integers of type
 * blas_int. */
#include <string.h>

#include "base/clock.h"
#include "blas/blas.h"

/* Values of the CBLAS interface. */
enum { ROW_MAJOR = 101, COLUMN_MAJOR = 102, UPPER = 121, LOWER = 122 };

static blas_op op_of(char letter)
{
    static const char letters[] = "NnTtRrCc"; /* R: only OpenBLAS has it */
    const char *found = memchr(letters, letter, sizeof letters - 1);
    return found != NULL ? (blas_op)((found - letters) / 2) : BLAS_NO_OP;
}

static blas_op flag_of(int flag)
{
    static const blas_op ops[] = {BLAS_AS_IS, BLAS_TRANSPOSED, BLAS_BOTH,
                                  BLAS_CONJUGATED};
    return flag >= 111 && flag <= 114 ? ops[flag - 111] : BLAS_NO_OP;
}

static blas_uplo uplo_of(char letter)
{
    return letter == 'U' || letter == 'u'   ? BLAS_UPPER
           : letter == 'L' || letter == 'l' ? BLAS_LOWER
                                            : BLAS_NO_UPLO;
}

static blas_uplo uplo_of_flag(int flag)
{
    return flag == UPPER   ? BLAS_UPPER
           : flag == LOWER ? BLAS_LOWER
                           : BLAS_NO_UPLO;
}

/* Turn a call by rows into one of the transposes by columns. */
static void transpose_result(blas_call *call)
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
    call->batch.strides[0] = old.batch.strides[1];
    call->batch.strides[1] = old.batch.strides[0];
    call->batch.lists[0] = old.batch.lists[1];
    call->batch.lists[1] = old.batch.lists[0];
    if (old.uplo == BLAS_UPPER || old.uplo == BLAS_LOWER) {
        call->uplo = old.uplo == BLAS_UPPER ? BLAS_LOWER : BLAS_UPPER;
    }
}

/* Set the function pointer *next to the name's function in the fallback BLAS.
 * *next stays as it is when there is none. The search is done once. */
static void own_function(blas_symbol *symbol, void *next, size_t bytes)
{
    static char nowhere;
    void *found = atomic_load_explicit(&symbol->next, memory_order_relaxed);
    if (found == NULL) {
        found = blas_find_fallback(symbol->name);
        found = found != NULL ? found : &nowhere;
        atomic_store_explicit(&symbol->next, found, memory_order_relaxed);
    }
    if (found != &nowhere) {
        memcpy(next, &found, bytes);
    }
}

/* A call that is not small, and where it goes. */
typedef struct attempt {
    blas_call call; /* at first as it was passed */
    blas_verdict verdict;
    uint64_t start; /* of the fallback BLAS */
} attempt;

/* Turn a call into the form by columns. Returns whether it keeps the rules. */
static bool make_normal(blas_call *call, int order)
{
    call->no_order = order != ROW_MAJOR && order != COLUMN_MAJOR;
    if (order == ROW_MAJOR) {
        transpose_result(call);
    }
    return blas_is_valid(call);
}

/* Begin a call. Returns whether it is done: C has no elements, accelerators did
 * it, or there is no fallback BLAS (alone). */
static bool begin_call(attempt *t, bool alone, bool cblas, int order)
{
    blas_call *call = &t->call;
    bool done = alone;
    if (!make_normal(call, order)) {
        if (alone) {
            blas_complain(call, cblas, order == ROW_MAJOR);
        }
    } else if (call->m == 0 || call->n == 0 || blas_count(call) == 0 ||
               blas_take(call, alone, &t->verdict)) {
        done = true;
    } else if (alone) {
        blas_plain(call);
        blas_stayed(call, &t->verdict, 0.0);
    }
    t->start = hri_clock_ns();
    return done;
}

/* The fallback BLAS has done the call. */
static void end_call(const attempt *t)
{
    blas_stayed(&t->call, &t->verdict, hri_seconds_since(t->start));
}

/* ---- parameters: how those of gemm and gemmt begin, and how those of both go
 * on */

#define FORTRAN_REST(INT)                                                      \
    const INT *n, const INT *k, const void *alpha, const void *a,              \
        const INT *lda, const void *b, const INT *ldb, const void *beta,       \
        void *c, const INT *ldc
#define FORTRAN_GEMM_PARAMETERS(INT)                                           \
    const char *op_a, const char *op_b, const INT *m, FORTRAN_REST(INT)
#define FORTRAN_GEMMT_PARAMETERS(INT)                                          \
    const char *uplo, const char *op_a, const char *op_b, FORTRAN_REST(INT)

#define CBLAS_REST(INT, SCALAR)                                                \
    INT n, INT k, SCALAR alpha, const void *a, INT lda, const void *b,         \
        INT ldb, SCALAR beta, void *c, INT ldc
#define CBLAS_GEMM_PARAMETERS(INT, SCALAR)                                     \
    int order, int op_a, int op_b, INT m, CBLAS_REST(INT, SCALAR)
#define CBLAS_GEMMT_PARAMETERS(INT, SCALAR)                                    \
    int order, int uplo, int op_a, int op_b, CBLAS_REST(INT, SCALAR)

/* Every argument of groups is an array, but for the order and their number. */
#define BATCH_REST(INT)                                                        \
    const INT *m, const INT *n, const INT *k, const void *alpha,               \
        const void *const *a, const INT *lda, const void *const *b,            \
        const INT *ldb, const void *beta, void *const *c, const INT *ldc
#define FORTRAN_BATCH_PARAMETERS(INT)                                          \
    const char *op_a, const char *op_b, BATCH_REST(INT), const INT *groups,    \
        const INT *counts
#define CBLAS_BATCH_PARAMETERS(INT, SCALAR)                                    \
    int order, const int *op_a, const int *op_b, BATCH_REST(INT), INT groups,  \
        const INT *counts

#define FORTRAN_STRIDED_PARAMETERS(INT)                                        \
    const char *op_a, const char *op_b, const INT *m, const INT *n,            \
        const INT *k, const void *alpha, const void *a, const INT *lda,        \
        const INT *step_a, const void *b, const INT *ldb, const INT *step_b,   \
        const void *beta, void *c, const INT *ldc, const INT *step_c,          \
        const INT *count
#define CBLAS_STRIDED_PARAMETERS(INT, SCALAR)                                  \
    int order, int op_a, int op_b, INT m, INT n, INT k, SCALAR alpha,          \
        const void *a, INT lda, INT step_a, const void *b, INT ldb,            \
        INT step_b, SCALAR beta, void *c, INT ldc, INT step_c, INT count

#define BATCH_ARGUMENTS                                                        \
    op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, groups, counts
#define FORTRAN_BATCH_ARGUMENTS BATCH_ARGUMENTS
#define CBLAS_BATCH_ARGUMENTS   order, BATCH_ARGUMENTS
#define FORTRAN_STRIDED_ARGUMENTS                                              \
    op_a, op_b, m, n, k, alpha, a, lda, step_a, b, ldb, step_b, beta, c, ldc,  \
        step_c, count
#define CBLAS_STRIDED_ARGUMENTS order, FORTRAN_STRIDED_ARGUMENTS

#define REST                    n, k, alpha, a, lda, b, ldb, beta, c, ldc
#define FORTRAN_GEMM_ARGUMENTS  op_a, op_b, m, REST
#define FORTRAN_GEMMT_ARGUMENTS uplo, op_a, op_b, REST
#define CBLAS_GEMM_ARGUMENTS    order, FORTRAN_GEMM_ARGUMENTS
#define CBLAS_GEMMT_ARGUMENTS   order, FORTRAN_GEMMT_ARGUMENTS

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

#define FORTRAN_ENTRY(KIND, name, type, INT, bits)                             \
    BLAS_API void name(FORTRAN_##KIND##_PARAMETERS(INT));                      \
    void name(FORTRAN_##KIND##_PARAMETERS(INT))                                \
    {                                                                          \
        static blas_symbol symbol = {#name, type, NULL};                       \
        do_fortran_##KIND##_##bits(&symbol, FORTRAN_##KIND##_ARGUMENTS);       \
    }
#define CBLAS_ENTRY(KIND, name, type, INT, bits, SCALAR, style)                \
    BLAS_API void name(CBLAS_##KIND##_PARAMETERS(INT, SCALAR));                \
    void name(CBLAS_##KIND##_PARAMETERS(INT, SCALAR))                          \
    {                                                                          \
        static blas_symbol symbol = {#name, type, NULL};                       \
        do_cblas_##KIND##_##bits##_##style(&symbol, CBLAS_##KIND##_ARGUMENTS); \
    }

/* A name with integers of blas_int. PLAIN_BITS must be replaced before it is
 * pasted. */
#define FORTRAN_PLAIN(...) FORTRAN_ENTRY(__VA_ARGS__)
#define CBLAS_PLAIN(...)   CBLAS_ENTRY(__VA_ARGS__)
#ifdef BLAS_PLAIN_64
#define PLAIN_BITS 64
#else
#define PLAIN_BITS 32
#endif

/* All names of one routine. */
#define NAMES(KIND, base, type, SCALAR, style)                                 \
    FORTRAN_PLAIN(KIND, base##_, type, blas_int, PLAIN_BITS)                   \
    FORTRAN_ENTRY(KIND, scipy_##base##_, type, int32_t, 32)                    \
    FORTRAN_ENTRY(KIND, base##_64_, type, int64_t, 64)                         \
    FORTRAN_ENTRY(KIND, base##_64, type, int64_t, 64)                          \
    FORTRAN_ENTRY(KIND, base##64_, type, int64_t, 64)                          \
    FORTRAN_ENTRY(KIND, scipy_##base##_64_, type, int64_t, 64)                 \
    CBLAS_PLAIN(KIND, cblas_##base, type, blas_int, PLAIN_BITS, SCALAR, style) \
    CBLAS_ENTRY(KIND, scipy_cblas_##base, type, int32_t, 32, SCALAR, style)    \
    CBLAS_ENTRY(KIND, cblas_##base##_64, type, int64_t, 64, SCALAR, style)     \
    CBLAS_ENTRY(KIND, cblas_##base##64_, type, int64_t, 64, SCALAR, style)     \
    CBLAS_ENTRY(KIND, scipy_cblas_##base##64_, type, int64_t, 64, SCALAR, style)

NAMES(GEMM, sgemm, HR_F32, float, f32)
NAMES(GEMM, dgemm, HR_F64, double, f64)
NAMES(GEMM, cgemm, HR_C32, const void *, complex)
NAMES(GEMM, zgemm, HR_C64, const void *, complex)
NAMES(GEMM, cgemm3m, HR_C32, const void *, complex)
NAMES(GEMM, zgemm3m, HR_C64, const void *, complex)
NAMES(BATCH, sgemm_batch, HR_F32, float, f32)
NAMES(BATCH, dgemm_batch, HR_F64, double, f64)
NAMES(BATCH, cgemm_batch, HR_C32, const void *, complex)
NAMES(BATCH, zgemm_batch, HR_C64, const void *, complex)
NAMES(STRIDED, sgemm_batch_strided, HR_F32, float, f32)
NAMES(STRIDED, dgemm_batch_strided, HR_F64, double, f64)
NAMES(STRIDED, cgemm_batch_strided, HR_C32, const void *, complex)
NAMES(STRIDED, zgemm_batch_strided, HR_C64, const void *, complex)
NAMES(GEMMT, sgemmt, HR_F32, float, f32)
NAMES(GEMMT, dgemmt, HR_F64, double, f64)
NAMES(GEMMT, cgemmt, HR_C32, const void *, complex)
NAMES(GEMMT, zgemmt, HR_C64, const void *, complex)
NAMES(GEMMT, sgemmtr, HR_F32, float, f32)
NAMES(GEMMT, dgemmtr, HR_F64, double, f64)
NAMES(GEMMT, cgemmtr, HR_C32, const void *, complex)
NAMES(GEMMT, zgemmtr, HR_C64, const void *, complex)
/* NOLINTEND(readability-function-size) */
