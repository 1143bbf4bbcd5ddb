/* SPDX-License-Identifier: MIT */
/* What the files of this folder share. */
#ifndef BLAS_BLAS_H
#define BLAS_BLAS_H

#include <stdatomic.h>

#include <headrace/headrace.h>

#include "blas/log.h"

#define BLAS_API __attribute__((visibility("default")))

/* The integers of names without a suffix. */
#ifdef BLAS_PLAIN_64
typedef int64_t blas_int;
#else
typedef int32_t blas_int;
#endif

/* A name of the BLAS that this library has. */
typedef struct blas_symbol {
    const char *name; /* "dgemm_" */
    hr_type type;
    _Atomic(void *) next; /* the function in the fallback BLAS; NULL: not looked
                             for yet */
} blas_symbol;

/* How op(X) comes from X. */
typedef enum blas_op {
    BLAS_AS_IS,
    BLAS_TRANSPOSED,
    BLAS_CONJUGATED,
    BLAS_BOTH,
    BLAS_NO_OP /* the argument is none of these */
} blas_op;

/* Which elements of C the call computes. */
typedef enum blas_uplo {
    BLAS_ALL,
    BLAS_UPPER,
    BLAS_LOWER,
    BLAS_NO_UPLO
} blas_uplo;

/* How several products come in one call. */
typedef enum blas_kind { BLAS_SINGLE, BLAS_STRIDED, BLAS_GROUPED } blas_kind;

/* The products of such a call, or of one of its groups. */
typedef struct blas_batch {
    blas_kind kind; /* BLAS_SINGLE: there is one product, and nothing else here
                       counts */
    int64_t count;
    int64_t strides[3];    /* elements from a matrix to the next one */
    void *const *lists[3]; /* of groups: where each matrix is */
    bool no_groups;        /* the number of groups is negative */
} blas_batch;

/* A call that may go to accelerators: C := alpha A B + beta C with everything
 * by columns. A call by rows becomes one of the transposes: A and B change
 * places. */
typedef struct blas_call {
    const blas_symbol *symbol;
    blas_op op_a, op_b;
    blas_uplo uplo; /* of C; C is square unless this is all of it */
    int64_t m, n, k, lda, ldb, ldc;
    hr_scalar alpha, beta;
    const void *a, *b;
    void *c;
    blas_batch batch;
    bool no_order; /* a CBLAS call whose order is neither rows nor columns */
} blas_call;

static inline bool blas_is_transposed(blas_op op)
{
    return op == BLAS_TRANSPOSED || op == BLAS_BOTH;
}

static inline bool blas_is_conjugated(blas_op op)
{
    return op == BLAS_CONJUGATED || op == BLAS_BOTH;
}

/* The rows of a column of C that the call computes: from the first to before
 * the end. */
static inline int64_t blas_first_row(const blas_call *call, int64_t col)
{
    return call->uplo == BLAS_LOWER ? col : 0;
}

static inline int64_t blas_end_row(const blas_call *call, int64_t col)
{
    return call->uplo == BLAS_UPPER ? col + 1 : call->m;
}

/* How many products it has. */
static inline int64_t blas_count(const blas_call *call)
{
    return call->batch.kind == BLAS_SINGLE ? 1 : call->batch.count;
}

/* Product `index` of a call, as a call of its own. */
blas_call blas_product_at(const blas_call *call, int64_t index);

/* 2 m n k, 8 m n k for complex types, half of it for a triangle, times the
 * number of products. */
double blas_flops(const blas_call *call);

/* Whether the arguments keep the rules of the BLAS. The fallback BLAS reports
 * those that do not. If there is none, blas_complain does what the reference
 * does: it calls xerbla_ with the position of the first wrong argument.
 * by_rows: the call was by rows. */
bool blas_is_valid(const blas_call *call);
void blas_complain(const blas_call *call, bool cblas, bool by_rows);

/* A call with so many products is worth a look. Most calls are small
 * and go straight to the fallback BLAS. */
bool blas_is_large(double products);

/* What is known of a call when it is decided where it goes. */
typedef struct blas_verdict {
    bool looked;         /* false: a call made inside another one, not looked
                            at */
    bool failed;         /* accelerators were tried and failed */
    bool shared;         /* other threads make calls at the same time */
    double planned, own; /* seconds on accelerators, and in the fallback BLAS;
                            0: not known */
    const char *why; /* why the fallback BLAS does it, or accelerators failed;
                        NULL: accelerators did it */
} blas_verdict;

/* Multiply on accelerators, if that is decided. false: C is as it was. Let the
 * fallback BLAS do the call, then call blas_stayed. must: there is no fallback
 * BLAS. */
bool blas_take(const blas_call *call, bool must, blas_verdict *verdict);

/* Note that the fallback BLAS has done the call, and the seconds it took. */
void blas_stayed(const blas_call *call, const blas_verdict *verdict,
                 double seconds);

/* The program ends. From now on calls go to the fallback BLAS. This waits for
 * calls on accelerators, a second at most. */
void blas_choose_end(void);

/* Called in a child right after the fork: no call waits for accelerators
 * there. */
void blas_choose_renew(void);

/* ---- fallback.c: the BLAS that the program would have without us */

/* What `name` stands for elsewhere: in a library that the program has loaded,
 * else in one of the system. If HEADRACE_BLAS_LIBRARY is set, only that
 * library counts. The library stays loaded from then on. NULL: nowhere. Any
 * thread. */
void *blas_find_fallback(const char *name);

/* What the program itself uses for `name`, which may be its own function. NULL:
 * this is ours, or there is none. Any thread. */
void *blas_find_used(const char *name);

/* The same, also in libraries that plug-ins have loaded for themselves. */
void *blas_find_loaded(const char *name);

/* ---- engine.c: the context that all calls share, for the life of the
 * process */

/* Begin to open the context, on a thread of its own. Any thread. */
void blas_engine_begin(void);

/* Whether the context is being opened. Opening takes CPUs from calls. Any
 * thread. */
bool blas_engine_is_opening(void);

/* The context. NULL while it is not open, or when it cannot be opened. wait:
 * wait for it, ten seconds at most. A child forked after the opening began has
 * no context, since threads and drivers do not survive a fork. Any thread. */
hr_context *blas_engine(bool wait);

/* Why blas_engine gave no context. Any thread. */
const char *blas_engine_absence(void);

/* ---- multiply.c: calls that keep the rules, with a C that has elements */

/* The seconds that a call takes on accelerators as planned. Negative: it cannot
 * be planned. */
double blas_plan(hr_context *context, const blas_call *call);

/* Carry it out on accelerators. Returns NULL, or why it failed. Then C is as it
 * was before. */
const char *blas_multiply(hr_context *context, const blas_call *call);

/* Multiply with plain loops, if there is no fallback BLAS and accelerators
 * fail. */
void blas_plain(const blas_call *call);

/* ---- elements of any of the four types, as scalars */

static inline hr_scalar blas_get(hr_type type, const void *data, int64_t i)
{
    const float *single = data;
    const double *wide = data;
    switch (type) {
    case HR_F32:
        return (hr_scalar){single[i], 0.0};
    case HR_F64:
        return (hr_scalar){wide[i], 0.0};
    case HR_C32:
        return (hr_scalar){single[2 * i], single[2 * i + 1]};
    default:
        return (hr_scalar){wide[2 * i], wide[2 * i + 1]};
    }
}

static inline hr_scalar blas_times(hr_scalar x, hr_scalar y)
{
    return (hr_scalar){x.re * y.re - x.im * y.im, x.re * y.im + x.im * y.re};
}

static inline bool blas_is_zero(hr_scalar s)
{
    return s.re == 0.0 && s.im == 0.0;
}

/* Set element i to x plus a multiple of what it was. If the factor is 0 the
 * old value is not read. */
static inline void blas_update(hr_type type, void *data, int64_t i, hr_scalar x,
                               hr_scalar beta)
{
    float *single = data;
    double *wide = data;
    if (!blas_is_zero(beta)) {
        const hr_scalar old = blas_times(beta, blas_get(type, data, i));
        x.re += old.re;
        x.im += old.im;
    }
    switch (type) {
    case HR_F32:
        single[i] = (float)x.re;
        break;
    case HR_F64:
        wide[i] = x.re;
        break;
    case HR_C32:
        single[2 * i] = (float)x.re;
        single[2 * i + 1] = (float)x.im;
        break;
    default:
        wide[2 * i] = x.re;
        wide[2 * i + 1] = x.im;
        break;
    }
}

#endif
