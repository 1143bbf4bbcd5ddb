/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* sigaltstack */
#include "blas/blas.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/arithmetic.h"
#include "base/clock.h"

/* ---- opening */

enum { MAX_MS = 10000 }; /* that a call waits for the context */

typedef enum phase { CLOSED, OPENING, OPEN, FAILED, FORKED } phase;

static struct {
    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t changed;
    phase phase;
    hr_context *context;
} engine = {.lock = PTHREAD_MUTEX_INITIALIZER,
            .changed = PTHREAD_COND_INITIALIZER};

/* Wait until the context is open or has failed. The lock is held. The opening
 * may never end: if a constructor makes the call, it holds the loader's lock,
 * which drivers need. */
static void wait_until_known(void)
{
    const uint64_t until_ns = hri_in_ms(MAX_MS);
    while (engine.phase == OPENING &&
           hri_wait_until(&engine.changed, &engine.lock, until_ns)) {
    }
}

/* Wait when the program ends while drivers are being opened: they crash
 * otherwise. */
static void end_opening(void)
{
    pthread_mutex_lock(&engine.lock);
    wait_until_known();
    pthread_mutex_unlock(&engine.lock);
}

static void *open_context(void *unused)
{
    hr_context *context = NULL;
    stack_t stack; /* for signals: LLVM, in OpenCL drivers, has its own */
    const uint64_t start = hri_clock_ns();
    (void)unused;
    (void)sigaltstack(NULL, &stack);
    hr_status status = hr_context_create(NULL, &context);
    (void)sigaltstack(&stack, NULL);
    if (status == HR_OK) {
        blas_log("accelerators opened in %.3g s", hri_seconds_since(start));
        (void)atexit(blas_choose_end); /* runs before the exit of libraries that
                                          it uses */
    } else {
        blas_log("no accelerators: %s", hr_last_error());
    }
    pthread_mutex_lock(&engine.lock);
    engine.context = context;
    engine.phase = status == HR_OK ? OPEN : FAILED;
    pthread_cond_broadcast(&engine.changed);
    pthread_mutex_unlock(&engine.lock);
    return NULL;
}

/* Begin to open the context unless that has begun. The lock is held. Signals
 * are left to the program's threads. */
static void begin(void)
{
    pthread_t thread;
    sigset_t all, before;
    if (engine.phase != CLOSED) {
        return;
    }
    (void)atexit(end_opening);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    engine.phase = OPENING;
    if (pthread_create(&thread, NULL, open_context, NULL) == 0) {
        pthread_detach(thread);
    } else {
        engine.phase = FAILED;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

hr_context *blas_engine(bool wait)
{
    pthread_mutex_lock(&engine.lock);
    if (wait) {
        begin();
        wait_until_known();
    }
    hr_context *context = engine.phase == OPEN ? engine.context : NULL;
    pthread_mutex_unlock(&engine.lock);
    return context;
}

const char *blas_engine_absence(void)
{
    pthread_mutex_lock(&engine.lock);
    const phase now = engine.phase;
    pthread_mutex_unlock(&engine.lock);
    return now == FORKED ? "the process was forked after accelerators were "
                           "opened"
                         : "no accelerators are open";
}

bool blas_engine_is_opening(void)
{
    pthread_mutex_lock(&engine.lock);
    const bool opening = engine.phase == OPENING;
    pthread_mutex_unlock(&engine.lock);
    return opening;
}

void blas_engine_begin(void)
{
    pthread_mutex_lock(&engine.lock);
    begin();
    pthread_mutex_unlock(&engine.lock);
}

/* ---- forks */

static void before_fork(void)
{
    pthread_mutex_lock(&engine.lock);
}

static void after_fork(void)
{
    pthread_mutex_unlock(&engine.lock);
}

/* Threads that held other locks are missing in the child, so the locks are made
 * anew. */
static void in_child(void)
{
    pthread_mutex_init(&engine.lock, NULL);
    pthread_cond_init(&engine.changed, NULL);
    blas_choose_renew();
    blas_log_renew();
    if (engine.phase != CLOSED) {
        engine.phase = FORKED;
    }
}

__attribute__((constructor)) static void watch_forks(void)
{
    (void)pthread_atfork(before_fork, after_fork, in_child);
}

/* ---- calls */

static hr_matrix operand(const void *data, hr_type type, blas_op op,
                         int64_t rows, int64_t cols, int64_t ld)
{
    const bool transposed = blas_is_transposed(op);
    hr_matrix m = hr_matrix_column_major(data, type, transposed ? cols : rows,
                                         transposed ? rows : cols, ld);
    if (transposed) {
        m = hr_matrix_transpose(m);
    }
    return blas_is_conjugated(op) ? hr_matrix_conjugate(m) : m;
}

blas_operands blas_operands_of(const blas_call *call)
{
    const hr_type type = call->symbol->type;
    return (blas_operands){
        operand(call->a, type, call->op_a, call->m, call->k, call->lda),
        operand(call->b, type, call->op_b, call->k, call->n, call->ldb),
        hr_matrix_column_major(call->c, type, call->m, call->n, call->ldc)};
}

/* Whether a failure may leave C half done, so that C must be copied first. Work
 * in place does not fail once it has begun. */
static bool may_fail(const hr_context *context)
{
    hr_accelerator_info info = HR_ACCELERATOR_INFO_INIT;
    for (uint32_t i = 0; i < hr_accelerator_count(context); i++) {
        if (hr_accelerator_describe(context, i, &info) != HR_OK ||
            !info.in_place) {
            return true;
        }
    }
    return false;
}

static hr_matrices matrices_of(const blas_call *call, int which,
                               hr_matrix first)
{
    return (hr_matrices){.matrix = first,
                         .stride = call->batch.strides[which],
                         .list = call->batch.lists[which]};
}

blas_matrices blas_matrices_of(const blas_call *call)
{
    const blas_operands o = blas_operands_of(call);
    return (blas_matrices){matrices_of(call, 0, o.a), matrices_of(call, 1, o.b),
                           matrices_of(call, 2, o.c)};
}

/* Copy the elements of C that one product computes, to or from `copy`. */
static void copy_columns(const blas_call *call, char *copy, bool back)
{
    const size_t element = hr_type_size(call->symbol->type);
    for (int64_t j = 0; j < call->n; j++) {
        const int64_t row = blas_first_row(call, j);
        const size_t bytes = (size_t)(blas_end_row(call, j) - row) * element;
        char *column =
            (char *)call->c + (size_t)(row + j * call->ldc) * element;
        char *kept = copy + (size_t)(row + j * call->m) * element;
        memcpy(back ? column : kept, back ? kept : column, bytes);
    }
}

/* The same for all products of a call. */
static void copy_results(const blas_call *call, char *copy, bool back)
{
    const size_t bytes =
        (size_t)call->m * (size_t)call->n * hr_type_size(call->symbol->type);
    for (int64_t i = 0; i < blas_count(call); i++) {
        const blas_call one = blas_product_at(call, i);
        copy_columns(&one, copy + (size_t)i * bytes, back);
    }
}

static const char *multiply_batch(hr_context *context, const blas_call *call)
{
    const blas_matrices m = blas_matrices_of(call);
    hr_status status = hr_gemm_batch(context, call->batch.count, call->alpha,
                                     m.a, m.b, call->beta, m.c, NULL);
    return status == HR_OK ? NULL : hr_last_error();
}

static const char *multiply(hr_context *context, const blas_call *call)
{
    const blas_operands o = blas_operands_of(call);
    if (call->batch.kind != BLAS_SINGLE) {
        return multiply_batch(context, call);
    }
    if (call->part != BLAS_ALL) {
        return blas_triangle(context, call, &o);
    }
    hr_status status =
        hr_gemm(context, call->alpha, o.a, o.b, call->beta, o.c, NULL);
    return status == HR_OK ? NULL : hr_last_error();
}

/* Seconds to wait for accelerators that a product has left behind. */
static const double patience = 10.0;

const char *blas_engine_run(hr_context *context, const blas_call *call)
{
    HRI_USUAL_ARITHMETIC;
    char *old = NULL;
    if ((!blas_is_zero(call->beta) || call->part != BLAS_ALL) &&
        may_fail(context)) {
        old =
            malloc((size_t)call->m * (size_t)call->n *
                   (size_t)blas_count(call) * hr_type_size(call->symbol->type));
        if (old == NULL) {
            return "no memory for a copy of C";
        }
        copy_results(call, old, false);
    }
    const char *why = multiply(context, call);
    /* Its memory is the caller's afterwards. */
    if (hr_context_settle(context, patience) != HR_OK) {
        why = hr_last_error();
    }
    if (why != NULL && old != NULL) {
        copy_results(call, old, true);
    }
    free(old);
    return why;
}
