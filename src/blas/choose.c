/* SPDX-License-Identifier: MIT */
/* Where a call goes. It compares two times. The time on accelerators is the
 * plan's, corrected by how earlier plans turned out. The time in the fallback
 * BLAS is the one seen in earlier calls. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/environment.h"
#include "blas/blas.h"
#include "model/learn.h"

/* Calls with fewer products than this are not looked at: 0.27 GFLOP, which take
 * some milliseconds. */
static const double usual_least = 512.0 * 512.0 * 512.0;

/* Opening accelerators takes up to a second or two. It begins when the calls
 * that were looked at have taken `soon` seconds. A call that takes `patience`
 * seconds or more waits until they are open. */
static const double soon = 1.0, patience = 2.0;

enum { TYPES = HR_C64 + 1, PLANS = 64 };

/* What the plan predicted for calls of one shape. */
typedef struct predicted {
    hr_type type;
    blas_op op_a, op_b;
    blas_part part;
    int64_t m, n, k;
    bool reads; /* the old C */
    double seconds;
} predicted;

static struct {
    bool forced;
    double least;
    pthread_mutex_t lock;      /* guards what follows */
    hri_learned own[TYPES];    /* seconds for a flop in the fallback BLAS */
    hri_learned factor[TYPES]; /* seconds of calls over those of their plans; 0:
                                  none yet, taken as 1 */
    double passed; /* seconds that the fallback BLAS took for calls that were
                      looked at */
    predicted plans[PLANS];
    size_t planned;
} state = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Calls that wait for accelerators or work there; and, by type, the number of
 * calls for which a target was chosen while there were no such calls. */
static atomic_int waiting;
static atomic_uint chosen[TYPES];

static atomic_bool ending;

/* Whether this thread is inside a call. The fallback BLAS, and the CBLAS that
 * Headrace multiplies with on the host, may themselves call names that are
 * ours. Those calls are not looked at. */
static _Thread_local bool inside;

__attribute__((constructor)) static void read_settings(void)
{
    const char *force = hri_environment("HEADRACE_BLAS_FORCE");
    const char *least = hri_environment("HEADRACE_BLAS_MIN_FLOPS");
    char *end = NULL;
    const double flops =
        least != NULL && least[0] != '\0' ? strtod(least, &end) : 0.0;
    state.forced = force != NULL && strcmp(force, "1") == 0;
    state.least = usual_least;
    if (end != NULL && *end == '\0' && flops >= 0.0) {
        state.least = flops / 2.0;
    } else if (end != NULL) {
        blas_log("HEADRACE_BLAS_MIN_FLOPS is \"%.64s\", not a number of "
                 "operations; the default %.3g is used",
                 least, 2.0 * usual_least);
    }
    if (force != NULL && force[0] != '\0' && strcmp(force, "0") != 0 &&
        !state.forced) {
        blas_log("HEADRACE_BLAS_FORCE is \"%.64s\", not 1; no call is forced",
                 force);
    }
    if (state.forced) {
        state.least = 0.0;
    }
}

void blas_choose_end(void)
{
    const struct timespec tenth = {0, 100 * 1000 * 1000};
    atomic_store(&ending, true);
    for (int i = 0; i < 10 && atomic_load(&waiting) > 0; i++) {
        (void)nanosleep(&tenth, NULL);
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
    return products >= state.least;
}

/* ---- what a call takes */

/* An assumption until a call has been timed. */
static double guess(hr_type type)
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

static double own_seconds(const blas_call *call)
{
    const hr_type type = call->symbol->type;
    pthread_mutex_lock(&state.lock);
    const double own = hri_learned_by_now(&state.own[type]);
    pthread_mutex_unlock(&state.lock);
    return blas_flops(call) * (own > 0.0 ? own : guess(type));
}

/* Whether the last call went to the same target. The threads of a BLAS look for
 * more work for some 0.1 s after a call, on CPUs that the other target
 * needs. */
static bool is_settled(bool accelerators)
{
    enum { NEITHER, OWN, ACCELERATORS };
    static atomic_int last = NEITHER;
    const int target = accelerators ? ACCELERATORS : OWN;
    return atomic_exchange(&last, target) == target;
}

static void learn(const blas_call *call, double seconds)
{
    const double flops = blas_flops(call);
    if (flops <= 0.0 || seconds <= 0.0) {
        return;
    }
    const bool settled = is_settled(false) && !blas_engine_is_opening();
    hri_learned *own = &state.own[call->symbol->type];
    pthread_mutex_lock(&state.lock);
    if (settled || own->last == 0.0) {
        (void)hri_learn(own, seconds / flops);
    }
    state.passed += seconds;
    pthread_mutex_unlock(&state.lock);
}

static bool is_same(const predicted *f, const predicted *other)
{
    return f->type == other->type && f->op_a == other->op_a &&
           f->op_b == other->op_b && f->part == other->part &&
           f->m == other->m && f->n == other->n && f->k == other->k &&
           f->reads == other->reads;
}

static double plan(hr_context *context, const blas_call *call)
{
    hr_gemm_report report = HR_GEMM_REPORT_INIT;
    const blas_operands o = blas_operands_of(call);
    if (call->part != BLAS_ALL) {
        return blas_triangle_seconds(context, call, &o);
    }
    hr_status status = hr_gemm_plan(context, call->alpha, o.a, o.b, call->beta,
                                    o.c, NULL, &report);
    return status == HR_OK ? report.seconds : -1.0;
}

/* Seconds on accelerators. Negative: they cannot do it. */
static double planned_seconds(hr_context *context, const blas_call *call)
{
    predicted f = {call->symbol->type,
                   call->op_a,
                   call->op_b,
                   call->part,
                   call->m,
                   call->n,
                   call->k,
                   !blas_is_zero(call->beta),
                   0.0};
    bool known = false;
    pthread_mutex_lock(&state.lock);
    for (size_t i = 0; i < PLANS && !known; i++) {
        known = is_same(&state.plans[i], &f);
        f.seconds = known ? state.plans[i].seconds : 0.0;
    }
    const double factor = state.factor[f.type].value;
    pthread_mutex_unlock(&state.lock);
    if (!known) {
        f.seconds = plan(context, call);
    }
    if (!known && f.seconds >= 0.0) {
        pthread_mutex_lock(&state.lock);
        state.plans[state.planned++ % PLANS] = f;
        pthread_mutex_unlock(&state.lock);
    }
    return f.seconds * (factor > 0.0 ? factor : 1.0);
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
    const double passed = state.passed + own;
    pthread_mutex_unlock(&state.lock);
    if (own >= patience) {
        return blas_engine(true);
    }
    if (passed >= soon) {
        blas_engine_begin();
    }
    return blas_engine(false);
}

/* The context to run on. NULL: the fallback BLAS does the call, and v->why may
 * say why. */
static hr_context *choose(const blas_call *call, blas_verdict *v)
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
    const double ahead = (double)atomic_load(&waiting);
    const double ratio = v->planned * (1.0 + ahead) / v->own;
    const hr_type type = call->symbol->type;
    const unsigned number = /* nothing is tried again while others wait */
        ahead > 0.0 ? 0 : atomic_fetch_add(&chosen[type], 1);
    const blas_target target = blas_target_of(ratio, number);
    if (!target.accelerators) {
        v->why = target.retry  ? "to measure the fallback BLAS again"
                 : ahead > 0.0 ? "accelerators are busy with other calls"
                               : "accelerators would not be 3 % faster";
        return NULL;
    }
    return context;
}

/* Compare the plan with what the call took. Until the first call has been timed
 * the factor is 1. Calls that come right after one to the other target do not
 * count. */
static void learn_factor(hr_type type, double seconds, double planned)
{
    pthread_mutex_lock(&state.lock);
    hri_learned *factor = &state.factor[type];
    const double before = factor->value > 0.0 ? factor->value : 1.0;
    if (is_settled(true) || factor->last == 0.0) {
        factor->value = before;
        (void)hri_learn(factor, seconds / planned * before);
    }
    pthread_mutex_unlock(&state.lock);
}

static bool run(hr_context *context, const blas_call *call, blas_verdict *v)
{
    const uint64_t start = hri_clock_ns();
    atomic_fetch_add(&waiting, 1);
    inside = true;
    v->why = blas_engine_run(context, call);
    inside = false;
    const bool alone = atomic_fetch_sub(&waiting, 1) == 1;
    const double seconds = hri_seconds_since(start);
    v->failed = v->why != NULL;
    blas_log_call(call, v->failed ? BLAS_FELL_BACK : BLAS_ACCELERATED, seconds,
                  v);
    if (!v->failed && alone && v->planned > 0.0) {
        learn_factor(call->symbol->type, seconds, v->planned);
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
        context = choose(call, verdict);
    }
    const bool done = context != NULL && run(context, call, verdict);
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
        blas_log_call(call, BLAS_STAYED, seconds, verdict);
    }
    if (!verdict->shared) {
        learn(call, seconds);
    }
}
