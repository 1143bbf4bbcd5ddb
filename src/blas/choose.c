/* SPDX-License-Identifier: MIT */
/* Choosing a target for a call. Two times are compared. The time on
 * accelerators is the plan's, corrected by how earlier plans turned out. The
 * time in the fallback BLAS is the one seen in earlier calls. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/environment.h"
#include "base/format.h"
#include "blas/rates.h"
#include "blas/threshold.h"

/* Calls with fewer products than this are not looked at: 0.27 GFLOP, which take
 * some milliseconds. */
static const double usual_least = 512.0 * 512.0 * 512.0;

enum { TYPES = HR_C64 + 1, KINDS = 2 }; /* products alone, and batches */

static struct {
    bool forced;
    double least;
    pthread_mutex_t lock; /* guards what follows */
    blas_rates rates[KINDS][TYPES];
    double passed; /* seconds that the fallback BLAS took for calls that were
                      looked at */
    blas_plans plans;
} state = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Calls that wait for accelerators or work there; and, by kind and type, the
 * number of calls for which a target was chosen while there were no such calls.
 */
static atomic_int waiting;
static atomic_uint chosen[KINDS][TYPES];
static atomic_int last = BLAS_LAST_NONE; /* target */

static atomic_bool ending;

/* Whether this thread is inside a call. The fallback BLAS, and the CBLAS that
 * Headrace multiplies with on the host, may themselves call names that are
 * ours. Those calls are not looked at. */
static _Thread_local bool inside;

__attribute__((constructor)) static void read_settings(void)
{
    const blas_threshold asked = blas_threshold_read(2.0 * usual_least);
    state.forced = asked.forced;
    state.least = asked.flops / 2.0;
}

void blas_choose_end(void)
{
    enum { TENTH_NS = 100000000 };
    atomic_store(&ending, true);
    for (int i = 0; i < 10 && atomic_load(&waiting) > 0; i++) {
        hri_sleep_ns(TENTH_NS);
    }
}

void blas_choose_renew(void)
{
    pthread_mutex_init(&state.lock, NULL);
    atomic_store(&waiting, 0);
    inside = false;
}

bool blas_is_large(double products)
{
    const bool large = products >= state.least;
    if (!large) {
        blas_log_small();
    }
    return large;
}

/* ---- what a call takes */

/* The seconds of a flop in the fallback BLAS, until a call has been timed. */
static double guess_flop_seconds(hr_type type)
{
    static atomic_uint known; /* 0: not asked yet */
    unsigned count = atomic_load_explicit(&known, memory_order_relaxed);
    if (count == 0) {
        count = hr_thread_count(NULL);
        atomic_store_explicit(&known, count, memory_order_relaxed);
    }
    return hri_guess_processor(type == HR_F32 || type == HR_C32) /
           (double)count;
}

static int kind_of(const blas_call *call)
{
    return call->batch.kind != BLAS_SINGLE;
}

/* What was learned from such calls. */
static blas_rates *rates_of(const blas_call *call)
{
    return &state.rates[kind_of(call)][call->symbol->type];
}

static double own_seconds(const blas_call *call)
{
    const hr_type type = call->symbol->type;
    pthread_mutex_lock(&state.lock);
    const double seconds = blas_own_seconds(rates_of(call), blas_flops(call),
                                            guess_flop_seconds(type));
    pthread_mutex_unlock(&state.lock);
    return seconds;
}

static void learn_own(const blas_call *call, double seconds)
{
    const double flops = blas_flops(call);
    if (flops <= 0.0 || seconds <= 0.0) {
        return;
    }
    const bool settled =
        blas_is_settled(&last, false) && !blas_engine_is_opening();
    pthread_mutex_lock(&state.lock);
    blas_learn_own(rates_of(call), flops, seconds, settled);
    state.passed += seconds;
    pthread_mutex_unlock(&state.lock);
}

/* Seconds on accelerators. Negative: they cannot do it. */
static double planned_seconds(hr_context *context, const blas_call *call)
{
    const hr_type type = call->symbol->type;
    blas_planned p = {type,
                      call->op_a,
                      call->op_b,
                      call->uplo,
                      call->m,
                      call->n,
                      call->k,
                      kind_of(call) * blas_count(call),
                      !blas_is_zero(call->beta),
                      0.0};
    pthread_mutex_lock(&state.lock);
    const bool known = blas_plans_find(&state.plans, &p);
    pthread_mutex_unlock(&state.lock);
    if (!known) {
        p.seconds = blas_plan(context, call);
    }
    pthread_mutex_lock(&state.lock);
    if (!known && p.seconds >= 0.0) {
        blas_plans_keep(&state.plans, &p);
    }
    const double seconds = blas_planned_seconds(rates_of(call), p.seconds);
    pthread_mutex_unlock(&state.lock);
    return seconds;
}

/* ---- deciding */

/* Inside a parallel region of OpenMP each thread makes its own calls, and the
 * program's BLAS knows how to share the CPUs. */
static bool is_in_parallel_region(void)
{
    static _Atomic(void *) known;
    int (*in_parallel)(void) = NULL;
    void *found = atomic_load(&known);
    if (found == NULL) {
        found = blas_find_loaded("omp_in_parallel");
        atomic_store(&known, found);
    }
    memcpy(&in_parallel, &found, sizeof in_parallel);
    return in_parallel != NULL && in_parallel() != 0;
}

/* The context. Begin to open it, or wait for it, when the call is worth
 * that. */
static hr_context *context_for(double own)
{
    pthread_mutex_lock(&state.lock);
    const blas_opening opening = blas_opening_for(own, state.passed);
    pthread_mutex_unlock(&state.lock);
    if (opening == BLAS_OPEN) {
        blas_engine_begin();
    }
    return blas_engine(opening == BLAS_OPEN_AND_WAIT);
}

/* The context to run on. NULL: the fallback BLAS does the call, and v->why may
 * say why. */
static hr_context *choose_context(const blas_call *call, blas_verdict *v)
{
    if (is_in_parallel_region()) {
        v->shared = true;
        v->why = "inside a parallel region";
        return NULL;
    }
    hr_context *context = context_for(v->own);
    if (context == NULL) {
        v->why = blas_engine_absence();
        return NULL;
    }
    v->planned = planned_seconds(context, call);
    if (v->planned < 0.0) {
        v->why = "the accelerators cannot run this call";
        return NULL;
    }
    const int ahead = atomic_load(&waiting);
    const double ratio = blas_ratio(v->planned, v->own, ahead);
    const unsigned number =
        blas_next_number(&chosen[kind_of(call)][call->symbol->type], ahead);
    const blas_target target = blas_target_of(ratio, number);
    if (!target.accelerators) {
        v->why = target.retry ? "to measure the fallback BLAS again"
                 : ahead > 0  ? "accelerators are busy with other calls"
                              : "accelerators would not be 3 % faster";
        return NULL;
    }
    return context;
}

static void learn_factor(const blas_call *call, double seconds, double planned)
{
    const bool settled = blas_is_settled(&last, true);
    pthread_mutex_lock(&state.lock);
    blas_learn_factor(rates_of(call), seconds, planned, settled);
    pthread_mutex_unlock(&state.lock);
}

/* A time for the log; "-" when it is not known. */
static void write_time(double seconds, char *text, size_t size)
{
    if (seconds > 0.0) {
        hri_format(text, size, "%.3g", seconds);
    } else {
        hri_format(text, size, "-");
    }
}

static void log_call(const blas_call *call, blas_outcome outcome,
                     double seconds, const blas_verdict *verdict)
{
    static const char letters[] = "NTRC"; /* of operations */
    char planned[32], own[32], times[32] = "";
    if (!blas_log_is_wanted()) {
        return;
    }
    if (call->batch.kind != BLAS_SINGLE) {
        hri_format(times, sizeof times, " %lld of",
                   (long long)call->batch.count);
    }
    blas_log_count(outcome, seconds, blas_flops(call));
    write_time(verdict->planned, planned, sizeof planned);
    write_time(verdict->own, own, sizeof own);
    blas_log("%s%s %c%c %lld x %lld x %lld: %s, %.3g s (predicted %s, the "
             "fallback BLAS %s)%s%s",
             call->symbol->name, times, letters[call->op_a],
             letters[call->op_b], (long long)call->m, (long long)call->n,
             (long long)call->k, blas_outcome_name(outcome), seconds, planned,
             own, verdict->why != NULL ? ": " : "",
             verdict->why != NULL ? verdict->why : "");
}

static bool run_call(hr_context *context, const blas_call *call,
                     blas_verdict *v)
{
    const uint64_t start = hri_clock_ns();
    atomic_fetch_add(&waiting, 1);
    inside = true;
    v->why = blas_multiply(context, call);
    inside = false;
    const bool alone = atomic_fetch_sub(&waiting, 1) == 1;
    const double seconds = hri_seconds_since(start);
    v->failed = v->why != NULL;
    log_call(call, v->failed ? BLAS_FELL_BACK : BLAS_ACCELERATED, seconds, v);
    if (!v->failed && alone && v->planned > 0.0) {
        learn_factor(call, seconds, v->planned);
    }
    return !v->failed;
}

bool blas_take(const blas_call *call, bool must, blas_verdict *verdict)
{
    *verdict = (blas_verdict){.looked = !inside && !hr_thread_is_own()};
    if (!verdict->looked) {
        return false;
    }
    verdict->own = own_seconds(call);
    hr_context *context = NULL;
    if (atomic_load(&ending)) {
        verdict->why = "the program ends";
    } else if (state.forced || must) {
        context = blas_engine(true);
        verdict->why = blas_engine_absence();
    } else {
        context = choose_context(call, verdict);
    }
    const bool done = context != NULL && run_call(context, call, verdict);
    inside = !done; /* the fallback BLAS may itself call names that are ours */
    return done;
}

void blas_stayed(const blas_call *call, const blas_verdict *verdict,
                 double seconds)
{
    if (!verdict->looked) {
        return;
    }
    inside = false;
    if (!verdict->failed) {
        log_call(call, BLAS_STAYED, seconds, verdict);
    }
    if (!verdict->shared) {
        learn_own(call, seconds);
    }
}
