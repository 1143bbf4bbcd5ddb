/* SPDX-License-Identifier: MIT */
/* The calls that step a grid, and the one that moves rows between its bands. */
#include <stdlib.h>
#include <string.h>

#include "base/arithmetic.h"
#include "base/format.h"
#include "base/hash.h"
#include "base/progress.h"
#include "base/size.h"
#include "grid/bands.h"
#include "grid/step.h"
#include "trace/nvtx.h"
#include "trace/trace.h"

enum { FIRST_STEPS = 2 }; /* then halos have their final width */

static hr_status check_steps(const hr_grid *grid, const hr_phase *phases,
                             size_t count, int64_t steps)
{
    if (grid == NULL || (phases == NULL && count > 0)) {
        return hri_fail(HR_ERROR_INVALID, "grid: %s is NULL",
                        grid == NULL ? "the grid" : "the list of phases");
    }
    if (steps < 0) {
        return hri_fail(HR_ERROR_INVALID, "grid: %lld steps, not 0 or more",
                        (long long)steps);
    }
    HRI_TRY(hri_context_check(grid->context, "grid"));
    HRI_TRY(hri_error_raise(&grid->error));
    return hri_phases_check(grid, phases, count);
}

/* A hash of what all parts must be given alike. */
static uint64_t hash_of(const hr_grid *grid, const hr_phase *phases,
                        size_t count, int64_t steps, int64_t every)
{
    uint64_t hash = hri_hash(HRI_HASH_INIT, &steps, sizeof steps);
    hash = hri_hash(hash, &every, sizeof every);
    for (size_t i = 0; i < count && phases != NULL; i++) {
        const hr_phase *p = &phases[i];
        const char *name = p->kernel != NULL ? p->kernel->name : "";
        hash = hri_hash(hash, name, strlen(name) + 1);
        if (p->kernel == NULL) {
            hash = hri_hash(hash, p->swap, sizeof p->swap);
        }
        hash = hri_hash(hash, &p->extent.rank, sizeof p->extent.rank);
        for (uint32_t d = 0; d < grid->extent.rank && p->extent.rank > 0; d++) {
            hash = hri_hash(hash, &p->extent.size[d], sizeof(int64_t));
            hash = hri_hash(hash, &p->origin[d], sizeof(int64_t));
        }
        for (size_t a = 0; a < p->argument_count && p->arguments != NULL; a++) {
            const hr_argument *x = &p->arguments[a];
            const int how = 2 * (int)x->access + (int)x->near;
            hash = hri_hash(hash, &x->field, sizeof x->field);
            hash = hri_hash(hash, &how, sizeof how);
        }
    }
    return hash;
}

/* Check the steps for all parts of a grid. They agree on which fields other
 * parts must bring, since some may have written what others have not. *told:
 * whether any part tells its progress. */
static hr_status check_parts(hr_grid *grid, const hr_phase *phases,
                             size_t count, int64_t steps, int64_t every,
                             hr_status status, bool *told)
{
    if (status == HR_OK) {
        status = check_steps(grid, phases, count, steps);
    }
    if (grid == NULL || !hri_grid_is_part(grid)) {
        return status;
    }
    const int64_t hash =
        (int64_t)(hash_of(grid, phases, count, steps, every) & INT64_MAX);
    hri_agreement a = {{0, *told}, {hash, -hash}};
    for (uint32_t f = 0; f < grid->field_count; f++) {
        a.any[0] |= (uint64_t)grid->fields[f].far_stale << f;
    }
    HRI_TRY(hri_grid_agree(grid, status, &a));
    for (uint32_t f = 0; f < grid->field_count; f++) {
        grid->fields[f].far_stale = (a.any[0] >> f & 1) != 0;
    }
    *told = a.any[1] != 0;
    return a.least[0] == -a.least[1]
               ? HR_OK
               : hri_fail(HR_ERROR_INVALID,
                          "grid: the parts were given different steps, phases "
                          "or fields");
}

/* Enqueue the next of `left` steps: one, or as graphs. *done counts them. */
static hr_status enqueue_next(hr_grid *grid, const hr_phase *phases,
                              size_t count, int64_t left, bool graphs,
                              int64_t *done)
{
    *done = 0;
    if (graphs) {
        HRI_TRY(hri_replay_steps(grid, phases, count, left, done));
    }
    if (*done > 0) {
        return HR_OK;
    }
    *done = 1;
    hri_timing_begin(grid);
    pthread_mutex_lock(&grid->context->lock);
    const hr_status status = hri_grid_run_step(grid, phases, count, HR_OK);
    pthread_mutex_unlock(&grid->context->lock);
    return status;
}

/* Enqueue `steps` steps, after which `more` will follow, and count them in *n,
 * with one that fails. */
static hr_status enqueue_all(hr_grid *grid, const hr_phase *phases,
                             size_t count, int64_t steps, int64_t more,
                             int64_t *n)
{
    for (*n = 0; *n < steps;) {
        int64_t done;
        const hr_status status = enqueue_next(grid, phases, count, steps - *n,
                                              *n == FIRST_STEPS, &done);
        *n += done;
        HRI_TRY(status);
        HRI_TRY(hri_balance_settle(grid, phases, count, steps - *n + more));
    }
    return HR_OK;
}

/* The same. Other parts wait for each step, also for those after an error. */
static hr_status enqueue_steps(hr_grid *grid, const hr_phase *phases,
                               size_t count, int64_t steps, int64_t more)
{
    int64_t n;
    const hr_status status = enqueue_all(grid, phases, count, steps, more, &n);
    for (; n < steps && hri_grid_is_part(grid); n++) {
        pthread_mutex_lock(&grid->context->lock);
        (void)hri_grid_run_step(grid, phases, count, status);
        pthread_mutex_unlock(&grid->context->lock);
    }
    return hri_grid_keep_error(grid, status);
}

/* What a call tells, and how many steps it makes between. */
typedef struct telling {
    hri_progress progress;
    hri_rounds rounds;
    bool any;    /* progress is told, here or in another part */
    bool agreed; /* all parts know of the error */
} telling;

/* Make steps. If progress is told, wait for some steps before the next ones, so
 * that the program can cancel between them. */
static hr_status make_steps(hr_grid *grid, const hr_phase *phases, size_t count,
                            int64_t steps, telling *t)
{
    hr_status status = HR_OK;
    if (!t->any) {
        return enqueue_steps(grid, phases, count, steps, 0);
    }
    for (int64_t n = 0; n < steps;) {
        hri_agreement a = {{0}, {hri_rounds_next(&t->rounds, steps - n), 0}};
        status = hri_grid_agree(grid, status, &a);
        t->agreed = status != HR_OK;
        if (t->agreed) {
            break;
        }
        const int64_t now = a.least[0];
        t->rounds.items = now;
        n += now;
        status = enqueue_steps(grid, phases, count, now, steps - n);
        if (status == HR_OK) {
            status = hri_grid_finish(grid);
        }
        if (status == HR_OK) {
            hri_progress_add(&t->progress, (uint64_t)now);
            status = hri_progress_status(&t->progress, status);
        }
    }
    return status;
}

/* Before steps: check them, and tell that none is done. status: of what was
 * checked before. every: steps between calls of a function. */
static hr_status begin_steps(hr_grid *grid, const hr_phase *phases,
                             size_t count, int64_t steps, int64_t every,
                             hr_status status, telling *t)
{
    t->any = grid != NULL && grid->progress != NULL;
    t->agreed = false;
    HRI_TRY(check_parts(grid, phases, count, steps, every, status, &t->any));
    t->rounds = (hri_rounds){0};
    hri_progress_init(&t->progress, "grid", grid->progress, grid->progress_data,
                      (double)steps);
    (void)hri_progress_tell(&t->progress, 0.0);
    status = hri_progress_status(&t->progress, HR_OK);
    return t->any ? hri_grid_agree(grid, status, NULL) : status;
}

/* Step the grid. The phases have been checked. */
static hr_status step_grid(hr_grid *grid, const hr_phase *phases, size_t count,
                           int64_t steps, telling *t)
{
    char text[64];
    if (grid->wanted > 0) {
        HRI_TRY(hri_grid_widen(grid, phases, count, grid->wanted));
    }
    const uint64_t start_ns = hri_trace_now(grid->context->trace != NULL);
    hri_range_begin("hr_grid_step");
    hr_status status = make_steps(grid, phases, count, steps, t);
    if (hri_grid_is_part(grid)) {
        status = t->agreed ? status : hri_grid_agree(grid, status, NULL);
        status = status == HR_ERROR_CANCELLED
                     ? status
                     : hri_grid_keep_error(grid, status);
    }
    hri_format(text, sizeof text, ",\"steps\":%lld,\"enqueued\":%s",
               (long long)steps,
               hri_progress_is_told(&t->progress) ? "false" : "true");
    hri_trace_call(grid->context->trace, "hr_grid_step", start_ns, 0, text);
    hri_range_end();
    return status;
}

hr_status hr_grid_step(hr_grid *grid, const hr_phase *phases, size_t count,
                       int64_t steps)
{
    HRI_USUAL_ARITHMETIC;
    telling t;
    HRI_TRY(begin_steps(grid, phases, count, steps, steps, HR_OK, &t));
    return hri_progress_end(&t.progress,
                            step_grid(grid, phases, count, steps, &t));
}

static hr_status call_function(hr_grid *grid, int64_t done,
                               hr_grid_function function, void *data)
{
    if (function(data, grid, done)) {
        return hri_grid_agree(grid, HR_OK, NULL);
    }
    hr_status status = hri_error_raise(&grid->error); /* may be the reason */
    if (status == HR_OK) {
        status = hri_fail(HR_ERROR_CANCELLED,
                          "grid: ended by the caller after %lld steps",
                          (long long)done);
    }
    return hri_grid_agree(grid, status, NULL);
}

/* Step the grid, and call the function after each `every` steps. */
static hr_status step_and_call(hr_grid *grid, const hr_phase *phases,
                               size_t count, int64_t steps, int64_t every,
                               hr_grid_function function, void *data,
                               telling *t)
{
    for (int64_t done = 0; done < steps;) {
        const int64_t next = hri_min(every, steps - done);
        if (done > 0) { /* the function may have changed them */
            HRI_TRY(
                check_parts(grid, phases, count, next, every, HR_OK, &t->any));
        }
        HRI_TRY(step_grid(grid, phases, count, next, t));
        done += next;
        if (next == every) {
            HRI_TRY(call_function(grid, done, function, data));
        }
    }
    return HR_OK;
}

hr_status hr_grid_run(hr_grid *grid, const hr_phase *phases, size_t count,
                      int64_t steps, int64_t every, hr_grid_function function,
                      void *data)
{
    HRI_USUAL_ARITHMETIC;
    telling t;
    hr_status status = HR_OK;
    if (every < 1 || function == NULL) {
        status =
            hri_fail(HR_ERROR_INVALID,
                     function == NULL
                         ? "grid: the function is NULL"
                         : "grid: a call after every %lld steps, not 1 or more",
                     (long long)every);
    }
    HRI_TRY(begin_steps(grid, phases, count, steps, every, status, &t));
    return hri_progress_end(
        &t.progress,
        step_and_call(grid, phases, count, steps, every, function, data, &t));
}

hr_status hr_grid_set_progress(hr_grid *grid, hr_progress_function function,
                               void *data)
{
    if (grid == NULL) {
        return hri_fail(HR_ERROR_INVALID, "grid: the grid is NULL");
    }
    grid->progress = function;
    grid->progress_data = data;
    return HR_OK;
}

/* There is a weight for each accelerator of the caller's list. */
hr_status hr_grid_rebalance(hr_grid *grid, const double *weights)
{
    HRI_USUAL_ARITHMETIC;
    if (grid == NULL || weights == NULL) {
        return hri_fail(HR_ERROR_INVALID, "grid: %s",
                        grid == NULL ? "the grid is NULL"
                                     : "the weights are NULL");
    }
    HRI_TRY(hri_error_raise(&grid->error));
    double *own = calloc(grid->band_count, sizeof *own); /* of bands */
    if (own == NULL) {
        return hri_fail(HR_ERROR_OUT_OF_MEMORY, "grid: out of memory");
    }
    for (uint32_t b = 0; b < grid->band_count; b++) {
        own[b] = weights[grid->bands[b].given];
    }
    const hr_status status = hri_grid_rebalance(grid, own);
    free(own);
    return status;
}
