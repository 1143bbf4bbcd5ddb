/* SPDX-License-Identifier: MIT */
/* Runs, from hri_flow_run to the last thread that uses one. */
#include "flow/flow.h"

#include <stdlib.h>
#include <string.h>

#include "base/arithmetic.h"
#include "base/clock.h"
#include "flow/executor.h"

/* What runs keep in a context. */
typedef struct flow_state {
    hri_run_state *abandoned; /* runs that an accelerator has not let go of */
    atomic_bool any;          /* whether there are any */
} flow_state;

/* ---- a run, which may outlive the call */

static void free_run(hri_run_state *run)
{
    free(run->executors);
    free(run->home);
    run->engine.drop(run->engine.data);
    free(run);
}

static hri_run_state *run_create(hr_context *context, const hri_flow *flow,
                                 const hri_engine *engine,
                                 hri_accelerator *const *accelerators,
                                 const hri_run_call *call)
{
    /* abandon_run needs the state, which holds no run in the end */
    static const hri_state_kind kind = {.bytes = sizeof(flow_state)};
    void *state = hri_state_make(context, HRI_STATE_FLOW, &kind);
    hri_run_state *run = state != NULL ? calloc(1, sizeof *run) : NULL;
    if (run == NULL) {
        engine->drop(engine->data);
        return NULL;
    }
    run->flow = flow;
    run->engine = *engine;
    run->executors = calloc(flow->share_count, sizeof *run->executors);
    run->home = calloc((size_t)flow->unit_count, 1);
    if (run->executors == NULL || run->home == NULL) {
        free_run(run);
        return NULL;
    }
    hri_terms_init(run, call->terms);
    pthread_mutex_init(&run->lock, NULL);
    pthread_cond_init(&run->ended, NULL);
    for (uint32_t i = 0; i < flow->share_count; i++) {
        hri_executor_init(&run->executors[i], run, i, accelerators, call);
    }
    return run;
}

/* Free a run whose executors have all settled. Those of a run that was left
 * gave everything back then, unless they were tied. */
static void run_destroy(hri_run_state *run)
{
    for (uint32_t i = 0; i < run->flow->share_count; i++) {
        if (!run->left || run->executors[i].tied) {
            hri_executor_finish(&run->executors[i]);
        }
        for (int c = 0; c < HRI_CHANGES; c++) {
            pthread_cond_destroy(&run->executors[i].changed[c]);
        }
    }
    pthread_cond_destroy(&run->ended);
    pthread_mutex_destroy(&run->lock);
    free_run(run);
}

/* ---- runs that were abandoned */

/* NULL: there was no run yet. */
static flow_state *state_of(const hr_context *context)
{
    return hri_state_find(context, HRI_STATE_FLOW);
}

static hri_run_state *abandoned_of(const hr_context *context)
{
    const flow_state *state = state_of(context);
    return state != NULL ? state->abandoned : NULL;
}

bool hri_runs_hold(const hr_context *context,
                   const hri_accelerator *accelerator)
{
    for (hri_run_state *r = abandoned_of(context); r != NULL; r = r->next) {
        for (uint32_t i = 0; i < r->flow->share_count; i++) {
            const hri_executor *e = &r->executors[i];
            if (e->accelerator == accelerator && e->left_at < HRI_SETTLED) {
                return true;
            }
        }
    }
    return false;
}

static bool has_settled(hri_run_state *run)
{
    pthread_mutex_lock(&run->lock);
    const bool settled = run->settled == run->flow->share_count;
    pthread_mutex_unlock(&run->lock);
    return settled;
}

void hri_runs_collect(hr_context *context)
{
    flow_state *state = state_of(context);
    if (state == NULL || !state->any) {
        return;
    }
    hri_run_state **link = &state->abandoned;
    while (*link != NULL) {
        hri_run_state *run = *link;
        if (has_settled(run)) {
            *link = run->next;
            run_destroy(run);
        } else {
            link = &run->next;
        }
    }
    state->any = state->abandoned != NULL;
}

/* Wait for a moment for a run to settle. */
static void await_one(hri_run_state *run, uint64_t soon_ns)
{
    pthread_mutex_lock(&run->lock);
    if (run->settled < run->flow->share_count) {
        hri_wait_until(&run->ended, &run->lock, soon_ns);
    }
    pthread_mutex_unlock(&run->lock);
}

/* Wait for a moment for threads that nobody will join, which measure. False:
 * there are none. */
static bool await_threads(hr_context *context, uint64_t soon_ns)
{
    for (uint32_t i = 0; i < context->accelerator_count; i++) {
        if (!hri_threads_await_left(&context->accelerators[i].threads,
                                    soon_ns)) {
            return true;
        }
    }
    return false;
}

bool hri_runs_await(hr_context *context, double seconds)
{
    enum { LOOK_MS = 10 };
    const uint64_t start_ns = hri_clock_ns();
    bool any = false;
    hri_runs_collect(context);
    do {
        const uint64_t soon_ns = hri_in_ms(LOOK_MS);
        hri_run_state *run = abandoned_of(context);
        if (run != NULL) {
            await_one(run, soon_ns);
            hri_runs_collect(context);
        }
        any = abandoned_of(context) != NULL;
        any = any || await_threads(context, soon_ns);
    } while (any && hri_seconds_since(start_ns) < seconds);
    return !any;
}

hr_status hri_runs_settle(hr_context *context, const char *call, double seconds)
{
    if (hri_runs_await(context, seconds)) {
        return HR_OK;
    }
    uint32_t i = 0;
    while (i + 1 < context->accelerator_count &&
           !hri_runs_hold(context, &context->accelerators[i]) &&
           context->accelerators[i].threads.left == 0) {
        i++;
    }
    return hri_fail(HR_ERROR_LOST,
                    "%s: %s has not answered since an earlier product", call,
                    context->accelerators[i].path);
}

hr_status hr_context_settle(hr_context *context, double seconds)
{
    HRI_USUAL_ARITHMETIC;
    HRI_TRY(hri_context_check(context, "settle"));
    if (!(seconds >= 0)) {
        return hri_fail(HR_ERROR_INVALID, "settle: %g seconds, not 0 or more",
                        seconds);
    }
    const flow_state *state = state_of(context);
    if (state == NULL || !state->any) {
        return HR_OK;
    }
    pthread_mutex_lock(&context->lock);
    hr_status status = hri_runs_settle(context, "settle", seconds);
    pthread_mutex_unlock(&context->lock);
    return status;
}

bool hri_runs_cancelled(const hr_context *context)
{
    bool any = false;
    for (hri_run_state *r = abandoned_of(context); r != NULL; r = r->next) {
        pthread_mutex_lock(&r->lock);
        any = any || r->error.status == HR_ERROR_CANCELLED;
        pthread_mutex_unlock(&r->lock);
    }
    return any;
}

/* Whether the executor, or a peer that has not settled, may still use what the
 * executor holds: the peer copies panels from it, or waits for an event that
 * would be destroyed. The run's lock is held. */
static bool is_tied(const hri_run_state *run, const hri_executor *executor)
{
    hri_device *device = executor->accelerator->device;
    for (uint32_t i = 0; i < run->flow->share_count; i++) {
        const hri_executor *other = &run->executors[i];
        if (other->left_at < HRI_SETTLED &&
            (other == executor ||
             ((other->feeds || other->steals || executor->failed != HR_OK) &&
              !executor->share->in_place && !other->share->in_place &&
              device->ops->is_peer(device, other->accelerator->device)))) {
            return true;
        }
    }
    return false;
}

/* Leave the run to the executors that have not settled. What is tied to them
 * stays with it. */
static void abandon_run(hr_context *context, hri_run_state *run)
{
    for (uint32_t i = 0; i < run->flow->share_count; i++) {
        hri_executor *e = &run->executors[i];
        if (e->tied) {
            hri_executor_abandon(e);
        } else {
            hri_executor_finish(e);
        }
    }
    flow_state *state = state_of(context);
    run->next = state->abandoned;
    state->abandoned = run;
    state->any = true;
}

/* ---- the call */

uint32_t hri_run_accelerators(hr_context *context, uint32_t most,
                              hri_accelerator **accelerators)
{
    uint32_t count = 0;
    hri_runs_collect(context);
    for (uint32_t i = 0; i < context->accelerator_count && count < most; i++) {
        hri_accelerator *a = &context->accelerators[i];
        if (!hri_runs_hold(context, a) && !hri_accelerator_is_lost(a)) {
            accelerators[count++] = a;
        }
    }
    return count;
}

static void run_threads(hri_run_state *run, const hri_run_call *call,
                        double patience)
{
    for (uint32_t i = 0; i < run->flow->share_count; i++) {
        hri_executor *e = &run->executors[i];
        e->sign_ns = hri_clock_ns();
        hr_status status = hri_executor_start(e, &e->compute_thread,
                                              hri_executor_main, e->brief);
        if (status != HR_OK) {
            hri_run_fail(run, status);
            pthread_mutex_lock(&run->lock);
            e->state = HRI_SETTLED;
            run->settled++;
            run->over = run->settled == run->flow->share_count;
            pthread_mutex_unlock(&run->lock);
        }
    }
    hri_run_watch(run, call, patience);
}

/* Give the run back, or leave it to the threads that have not settled. */
static void leave_run(hr_context *context, hri_run_state *run, bool left)
{
    for (uint32_t i = 0; i < run->flow->share_count; i++) {
        hri_executor *e = &run->executors[i];
        if (e->compute_thread != NULL && e->left_at == HRI_SETTLED) {
            hri_thread_join(e->compute_thread);
        } else if (e->compute_thread != NULL) {
            hri_thread_leave(e->compute_thread);
        }
    }
    if (left) {
        abandon_run(context, run);
    } else {
        run_destroy(run);
    }
}

/* What came of the run. */
static hri_error conclude(hri_run_state *run, hri_run_outcome *outcome)
{
    const hri_flow *flow = run->flow;
    const size_t units = (size_t)flow->unit_count;
    for (uint32_t i = 0; i < flow->share_count && outcome->reports != NULL;
         i++) {
        outcome->reports[i] = run->executors[i].report;
        outcome->reports[i].lost = run->executors[i].lost;
        outcome->reports[i].late = run->executors[i].late;
    }
    if (run->error.status != HR_OK) {
        return run->error;
    }
    outcome->unfinished = memchr(run->home, 0, units) != NULL;
    outcome->lost = run->lost;
    if (outcome->home != NULL) {
        memcpy(outcome->home, run->home, units);
        return (hri_error){0};
    }
    return outcome->unfinished ? run->lost : (hri_error){0};
}

hr_status hri_flow_run(hr_context *context, const hri_flow *flow,
                       const hri_engine *engine,
                       hri_accelerator *const *accelerators,
                       const hri_run_call *call, hri_run_outcome *outcome)
{
    const char *name = engine->call;
    if (flow->share_count == 0) {
        const int64_t units = flow->unit_count; /* drop frees the flow */
        engine->drop(engine->data);
        return units == 0 ? HR_OK
                          : hri_fail(HR_ERROR_LOST,
                                     "%s: no accelerator can be used", name);
    }
    hri_run_state *run = run_create(context, flow, engine, accelerators, call);
    if (run == NULL) {
        return hri_fail(HR_ERROR_OUT_OF_MEMORY, "%s: no memory to run", name);
    }
    hri_terms_asker asker = {.run = run, .terms = call->terms};
    hri_terms_ask(&asker, accelerators[flow->shares[0].accelerator]);
    run_threads(run, call, context->patience);
    hri_terms_end(&asker);
    pthread_mutex_lock(&run->lock);
    const bool left = run->settled < flow->share_count;
    run->left = left;
    for (uint32_t i = 0; i < flow->share_count; i++) {
        run->executors[i].left_at = run->executors[i].state;
    }
    for (uint32_t i = 0; left && i < flow->share_count; i++) {
        run->executors[i].tied = is_tied(run, &run->executors[i]);
    }
    const hri_error error = conclude(run, outcome);
    pthread_mutex_unlock(&run->lock);
    leave_run(context, run, left);
    return hri_error_raise(&error);
}
