/* SPDX-License-Identifier: MIT */
/* A call of the BLAS that may go to accelerators: C := alpha A B + beta C in
 * normal form, everything by columns. A call by rows is that of the transposes,
 * with A and B in each other's place. */
#ifndef BLAS_CALL_H
#define BLAS_CALL_H

#include <stdatomic.h>

#include <headrace/headrace.h>

#define BLAS_API __attribute__((visibility("default")))

/* Integers of names without a suffix. */
#ifdef BLAS_PLAIN_64
typedef int64_t blas_int;
#else
typedef int32_t blas_int;
#endif

/* A name that we stand for. */
typedef struct blas_symbol {
    const char *name; /* "dgemm_" */
    hr_type type;
    _Atomic(void *) next; /* the caller's own; NULL: not looked for yet */
} blas_symbol;

/* How op(X) comes from X. */
typedef enum blas_op {
    BLAS_AS_IS,
    BLAS_TRANSPOSED,
    BLAS_CONJUGATED,
    BLAS_BOTH,
    BLAS_NO_OP /* what was asked for is none of these */
} blas_op;

/* Which elements of C there are. */
typedef enum blas_part {
    BLAS_ALL,
    BLAS_UPPER,
    BLAS_LOWER,
    BLAS_NO_PART
} blas_part;

typedef struct blas_call {
    const blas_symbol *symbol;
    blas_op op_a, op_b;
    blas_part part; /* of C, which is square unless it is all */
    int64_t m, n, k, lda, ldb, ldc;
    hr_scalar alpha, beta;
    const void *a, *b;
    void *c;
    bool no_order; /* of the CBLAS, neither by rows nor by columns */
} blas_call;

static inline bool blas_is_turned(blas_op op)
{
    return op == BLAS_TRANSPOSED || op == BLAS_BOTH;
}

static inline bool blas_is_conjugated(blas_op op)
{
    return op == BLAS_CONJUGATED || op == BLAS_BOTH;
}

/* The rows of a column of C that there are: from the first to before the end.
 */
static inline int64_t blas_first_row(const blas_call *call, int64_t col)
{
    return call->part == BLAS_LOWER ? col : 0;
}

static inline int64_t blas_end_row(const blas_call *call, int64_t col)
{
    return call->part == BLAS_UPPER ? col + 1 : call->m;
}

/* 2 m n k, 8 m n k for complex types, half of it for a triangle. */
double blas_flops(const blas_call *call);

/* Whether the arguments keep the rules of the BLAS; those that do not are for
 * the caller's own to complain about. Where there is none, blas_complain does
 * as the reference does: it calls xerbla_ with the position of the first wrong
 * one. by_rows: as they came. */
bool blas_is_valid(const blas_call *call);
void blas_complain(const blas_call *call, bool cblas, bool by_rows);

/* Whether a call with so many products is looked at at all: most are small, and
 * go straight on. */
bool blas_is_large(double products);

/* What was found out about a call. */
typedef struct blas_verdict {
    bool looked;         /* false: it is one of a call that we make ourselves */
    bool failed;         /* on accelerators */
    bool shared;         /* other threads have their calls, too */
    double planned, own; /* seconds on accelerators, and in the caller's own
                            BLAS; 0: not known */
    const char *why; /* it stays, or failed; NULL: what was done is quicker */
} blas_verdict;

/* Multiply on accelerators, if that is decided; false: C is as it was, and when
 * the caller's own BLAS has done it, blas_stayed is to be called. must: there
 * is nobody else. */
bool blas_take(const blas_call *call, bool must, blas_verdict *verdict);

/* The caller's own BLAS has done it, in so many seconds. */
void blas_stayed(const blas_call *call, const blas_verdict *verdict,
                 double seconds);

/* The same with plain loops: for who has no other BLAS, and accelerators that
 * cannot. */
void blas_plain(const blas_call *call);

/* The program ends: calls stay from now on, and those on accelerators are
 * waited for, a second at most. */
void blas_choose_end(void);

/* In a child, right after the fork: nobody waits for accelerators. */
void blas_choose_renew(void);

double blas_now(void); /* seconds */

#endif
