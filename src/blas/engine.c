/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* sigaltstack */
#include "blas/blas.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

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
static void begin_opening(void)
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
        begin_opening();
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
    begin_opening();
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
