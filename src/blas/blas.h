/* SPDX-License-Identifier: MIT */
/* What the files of this folder share. */
#ifndef BLAS_BLAS_H
#define BLAS_BLAS_H

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
    _Atomic(void *) next; /* the fallback BLAS; NULL: not looked for yet */
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

/* A call that may go to accelerators: C := alpha A B + beta C in normal form,
 * everything by columns. A call by rows is that of the transposes, with A and B
 * in each other's place. */
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

static inline bool blas_is_transposed(blas_op op)
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
 * the fallback BLAS to complain about. Where there is none, blas_complain does
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
    double planned, own; /* seconds on accelerators, and in the fallback BLAS
                            BLAS; 0: not known */
    const char *why; /* it stays, or failed; NULL: what was done is quicker */
} blas_verdict;

/* Multiply on accelerators, if that is decided; false: C is as it was, and when
 * the fallback BLAS has done it, blas_stayed is to be called. must: there
 * is nobody else. */
bool blas_take(const blas_call *call, bool must, blas_verdict *verdict);

/* The fallback BLAS has done it, in so many seconds. */
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

/* ---- target.c: to which target a call goes: accelerators, or the fallback
 * BLAS */

typedef struct blas_target {
    bool accelerators;
    bool retry; /* the slower one is tried again */
} blas_target;

/* By what a call takes on accelerators over what it takes in the fallback BLAS
 * BLAS. Accelerators must promise to be faster by 3 per cent. Where neither
 * side is twice as fast as the other, two calls in a row, of at least 32, and
 * of so many that they cost at most 1.6 per cent, go to the slower one, so that
 * it is not judged for ever by a moment when others were at work. `number`
 * counts the calls for which sides are asked for, from 0. */
blas_target blas_target_of(double ratio, unsigned number);

/* ---- fallback.c: the BLAS that the program would have without us */

/* What `name` is elsewhere: in a library that the program has loaded, else in
 * one of the system; where HEADRACE_BLAS_LIBRARY is set, in that alone. What it
 * is in is not unloaded any more. NULL: nowhere. Any thread. */
void *blas_find(const char *name);

/* What the program itself uses for `name`, be it of its own; NULL: that is
 * ours, or nothing. Any thread. */
void *blas_find_used(const char *name);

/* The same, and in libraries that plug-ins have for themselves. */
void *blas_find_loaded(const char *name);

/* ---- engine.c: the context that calls share, which lives as long as the
 * process */

/* Begin to open it, on a thread of its own. Any thread. */
void blas_engine_begin(void);

/* While it is being opened, which takes processors from calls. Any thread. */
bool blas_engine_is_opening(void);

/* The context; NULL while it is not open, or cannot be. wait: until that is
 * known, or ten seconds. A process that was forked from one that had begun has
 * none: threads and drivers do not come along. Any thread. */
hr_context *blas_engine(bool wait);

/* Carry out a call that keeps the rules and whose C has elements. NULL, or why
 * it failed; then C is as it was before. */
const char *blas_engine_run(hr_context *context, const blas_call *call);

/* op(A), op(B) and C as they are; part of C is all of it. */
typedef struct blas_operands {
    hr_matrix a, b, c;
} blas_operands;

blas_operands blas_operands_of(const blas_call *call);

/* ---- triangle.c */

/* A call for a triangle of C (gemmt), of one row or more: squares beside the
 * diagonal are products, and small ones on it are taken out of a product of
 * their own. NULL, or why it failed. */
const char *blas_triangle(hr_context *context, const blas_call *call,
                          const blas_operands *operands);

/* What its products take as planned; negative: they cannot be. */
double blas_triangle_seconds(hr_context *context, const blas_call *call,
                             const blas_operands *operands);

/* ---- log.c: what HEADRACE_LOG asks for: "calls", "summary", "file=PATH", with
 * commas between them; "1" is both, on the standard error */

/* What became of a call. */
typedef enum blas_outcome {
    BLAS_STAYED,      /* with the fallback BLAS, after a look */
    BLAS_ACCELERATED, /* on accelerators */
    BLAS_FELL_BACK    /* to the fallback BLAS, since that failed */
} blas_outcome;

/* In a child, right after the fork. */
void blas_log_renew(void);

/* A call that was looked at. Any thread. */
void blas_log_call(const blas_call *call, blas_outcome outcome, double seconds,
                   const blas_verdict *verdict);

/* A line that is of no call. */
void blas_log(const char *format, ...) __attribute__((format(printf, 1, 2)));

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

/* Let element i be x and so many times what it was, which is not read where
 * that is 0. */
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
