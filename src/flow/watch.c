/* SPDX-License-Identifier: MIT */
/* What the caller of hri_flow_run does while executors work: it reports
 * progress, and decides when to go on without an executor that is late. It
 * calls no device, so nothing that a device does can hold it up.
 *
 * An executor is late when its task takes far longer than planned and the
 * others have waited for it, at once or, where chunks of k keep all in step, a
 * moment for each task.
 *
 * When an accelerator is lost:
 * 1. A call returns HR_ERROR_LOST (hri_executor_fail), or it is late or silent
 *    (lose_late, below).
 * 2. The run halts (hri_run_halt_without): no executor begins anything, and
 *    copies to accelerators stop. What was begun ends and goes home.
 * 3. This thread waits until the executors have settled, or have had time
 *    enough (may_leave).
 * 4. A copy pool that is left touches no memory of the caller's again
 *    (hri_copy_pool_release_memory).
 * 5. hri_flow_run says what is home. The context keeps what is left behind
 *    until its threads have settled (abandon_run); the next product, or
 *    hr_context_destroy, collects it.
 * 6. The engine plans the rest for the other accelerators, in a new run
 *    (multiply_rest of gemm.c). hr_gemm_sum does not: its terms are gone. */
#include <math.h>

#include "base/clock.h"
#include "base/size.h"
#include "flow/executor.h"

enum { TICK_MS = 20 };

/* A longer one says nothing: this thread, too, may have waited for a CPU. */
static const uint64_t longest_tick_ns = 2 * TICK_MS * 1000000;

/* After so long the process was stopped. */
static const uint64_t stopped_ns = 1000000000;

/* Times the context's patience. After the caller cancelled, or an executor was
 * lost, it has so long to end copies of the caller's memory. */
static const double grace = 5.0;

/* An executor that shows no sign of work for so long does not answer: times the
 * context's patience, and times what a task of its should take. */
static const double most_patience = 100.0, most_tasks = 100.0;

/* So much longer when a CPU has been at it: it may be compiling. PoCL takes 12
 * seconds of two CPUs for CLBlast's kernels of a type (Intel Xeon, November
 * 2026). */
static const double compiling = 10.0;

/* The others wait for so many executors twice as long: their threads may have
 * to wait for a CPU. */
static const double crowd = 50.0;

/* An executor is slow when a task takes so many times what it should. */
static const double slow = 1.5;

/* One that is slow is late only if it also had the time: where the CPU does its
 * work, so many times the CPU time of a task, which varies with what else runs
 * there. One that the others wait for again and again is late if its tasks took
 * so many times as long on average. */
static const double far_slower = 3.0;

typedef struct watcher {
    hri_run_state *run;
    const hri_run_call *call;
    double patience; /* the context's, in seconds: for which others are idle
                        before they do the tasks of a late accelerator */
    uint64_t start_ns, now_ns;
    uint64_t tick_ns; /* since the last look */
    uint64_t stop_ns; /* when the run was seen to have stopped; 0: it has not */
    double slowness;  /* how much longer tasks take than planned */
    uint64_t cpu_ns;  /* CPU time of the process at the last tick; 0: nobody
                         has asked */
} watcher;

static uint32_t executors(const hri_run_state *run)
{
    return run->flow->share_count;
}

/* ---- progress */

/* Call the program's progress function, and stop all threads when it says so.
 * The run's lock is held, and released for the call. */
static void tell_progress(const watcher *w)
{
    hri_run_state *run = w->run;
    hri_progress *progress = w->call->progress;
    const double done = w->call->flops_before + run->flops_done;
    if (!hri_progress_is_told(progress) || run->error.status != HR_OK) {
        return;
    }
    pthread_mutex_unlock(&run->lock);
    const bool go_on = hri_progress_tell(progress, done);
    pthread_mutex_lock(&run->lock);
    if (!go_on && run->settled < executors(run)) {
        pthread_mutex_unlock(&run->lock);
        hri_run_fail(run, hri_error_raise(&progress->error));
        pthread_mutex_lock(&run->lock);
    }
}

/* Wait until all executors have settled, or the next tick. */
static void pause_watching(hri_run_state *run)
{
    const uint64_t next_ns = hri_in_ms(TICK_MS);
    while (run->settled < executors(run) &&
           hri_wait_until(&run->ended, &run->lock, next_ns)) {
    }
}

/* ---- executors that are late */

/* Seconds that one of the executor's tasks should take, with its panels. */
static double planned_task(const hri_executor *e)
{
    const double seconds = fmax(e->share->seconds, e->run->flow->seconds);
    return seconds / (double)hri_max(e->share->task_count, 1);
}

/* How much longer than planned the executor's tasks took. 0: none has ended. */
static double slowness_of(const hri_executor *e)
{
    const double planned = e->share->seconds * (double)e->collected /
                           (double)hri_max(e->share->task_count, 1);
    return e->collected > 0 ? e->report.seconds_busy / planned : 0.0;
}

/* How much longer tasks take than planned, by executors that have ended
 * some. */
static double least_slowness(const hri_run_state *run)
{
    double least = 0.0;
    for (uint32_t i = 0; i < executors(run); i++) {
        const double own = slowness_of(&run->executors[i]);
        if (own > 0.0) {
            least = least == 0.0 ? own : fmin(least, own);
        }
    }
    return fmax(least, 1.0);
}

static bool has_ended(const hri_executor *e)
{
    return e->state >= HRI_DONE || e->idle;
}

/* Whether the executor works, and longer on a task than it should. */
static bool is_slow(const watcher *w, const hri_executor *e)
{
    return !e->share->in_place && e->state == HRI_WORKING && !has_ended(e) &&
           hri_executor_silence(e, w->now_ns) >
               slow * planned_task(e) * w->slowness;
}

/* Whether the CPU does the executor's work. */
static bool is_on_cpu(const hri_executor *e)
{
    const hri_device_info *info = &e->accelerator->device->info;
    return info->host || info->emulated;
}

/* Whether the CPU was at it since its last sign: on a busy machine it may get a
 * small part of one. */
static bool is_busy(const watcher *w, const hri_executor *e)
{
    const double idle = 0.02; /* of the time, at most */
    return is_on_cpu(e) &&
           (double)e->cpu_ns * 1e-9 > idle * hri_executor_silence(e, w->now_ns);
}

static double most_silent(const watcher *w, const hri_executor *e)
{
    const double most =
        most_patience * w->patience + most_tasks * planned_task(e);
    return is_busy(w, e) ? compiling * most : most;
}

/* Whether an executor has shown no sign of work for longer than any plan
 * allows. Those that wait for others need not, unless all do, and then they are
 * given twice the time: the others may be lost before. */
static bool is_silent(const watcher *w, const hri_executor *e)
{
    const bool others = e->idle; /* not its device */
    for (uint32_t i = 0; i < executors(w->run) && others; i++) {
        const hri_executor *other = &w->run->executors[i];
        if (hri_executor_silence(other, w->now_ns) <= most_silent(w, other)) {
            return false;
        }
    }
    return !e->share->in_place && e->state < HRI_SETTLED &&
           hri_executor_silence(e, w->now_ns) >
               (others ? 2 : 1) * most_silent(w, e);
}

/* Seconds for which all executors that are not slow have waited for those that
 * are. Below 0: one of them works, or none is slow. */
static double seconds_waited(const watcher *w)
{
    const hri_run_state *run = w->run;
    uint64_t since_ns = 0;
    bool any = false;
    for (uint32_t i = 0; i < executors(run); i++) {
        const hri_executor *e = &run->executors[i];
        if (is_slow(w, e)) {
            any = true;
        } else if (!has_ended(e)) {
            return -1.0;
        } else if (e->idle_ns > since_ns) {
            since_ns = e->idle_ns;
        }
    }
    return any && since_ns > 0 && w->now_ns > since_ns
               ? (double)(w->now_ns - since_ns) * 1e-9
               : -1.0;
}

static bool works_on_cpu(const hri_executor *e)
{
    return is_on_cpu(e) && e->state == HRI_WORKING && !has_ended(e);
}

/* Share the CPU time that the process got since the last tick among the
 * executors that work with it. What other threads of the program took counts,
 * too. If no executor works with it, nobody asks: asking takes 0.3
 * microseconds. */
static void share_cpu(watcher *w)
{
    uint32_t working = 0;
    for (uint32_t i = 0; i < executors(w->run); i++) {
        working += works_on_cpu(&w->run->executors[i]);
    }
    const uint64_t cpu_ns = working > 0 ? hri_clock_cpu_ns() : 0;
    const uint64_t got_ns =
        working > 0 && w->cpu_ns > 0 ? cpu_ns - w->cpu_ns : 0;
    for (uint32_t i = 0; i < executors(w->run); i++) {
        hri_executor *e = &w->run->executors[i];
        if (e->cpu_sign_ns != e->sign_ns) {
            e->cpu_sign_ns = e->sign_ns;
            e->cpu_ns = 0;
        }
        e->cpu_ns += works_on_cpu(e) ? got_ns / working : 0;
    }
    w->cpu_ns = cpu_ns;
}

/* Whether an executor that is slow had the time for its task all the same: on a
 * busy machine the CPU may be with others. */
static bool had_time(const watcher *w, const hri_executor *e)
{
    uint32_t running = 0;
    for (uint32_t i = 0; i < executors(w->run); i++) {
        running += is_on_cpu(&w->run->executors[i]);
    }
    const double cpus =
        fmax(1.0, (double)e->accelerator->device->info.compute_units /
                      (double)running);
    return !is_on_cpu(e) || (double)e->cpu_ns * 1e-9 > far_slower *
                                                           planned_task(e) *
                                                           w->slowness * cpus;
}

static void lose_executor(const watcher *w, hri_executor *e, bool late)
{
    hri_error why = {0};
    hri_error_keep(&why, hri_fail(HR_ERROR_LOST,
                                  "%s: %s %s %.2g seconds; a task of its "
                                  "should take %.2g",
                                  w->run->engine.call, e->accelerator->path,
                                  late ? "is late: it has been at work for"
                                       : "has not answered for",
                                  hri_executor_silence(e, w->now_ns),
                                  planned_task(e)));
    e->late = late;
    hri_run_halt_without(e, &why);
}

/* Whether an executor for which the others wait is late: they have waited long
 * enough, at once or, where chunks of k keep all in step, a moment for each of
 * its tasks. waited: seconds as above. */
static bool is_late(const watcher *w, const hri_executor *e, double waited,
                    double enough)
{
    return waited > enough || ((double)e->awaited_ns * 1e-9 > enough &&
                               slowness_of(e) > far_slower * w->slowness);
}

/* Lose the executors that are late, and those that do not answer. The run's
 * lock is held. */
static void lose_late(watcher *w)
{
    hri_run_state *run = w->run;
    const double elapsed = (double)(w->now_ns - w->start_ns) * 1e-9;
    const double patience = w->patience * (1.0 + executors(run) / crowd);
    share_cpu(w);
    const double others = seconds_waited(w),
                 enough = fmax(patience, elapsed / 20);
    if (run->error.status != HR_OK || run->halted) {
        return;
    }
    for (uint32_t i = 0; i < executors(run); i++) {
        hri_executor *e = &run->executors[i];
        const bool awaited = others >= 0.0 && is_slow(w, e) && had_time(w, e);
        e->awaited_ns += awaited ? w->tick_ns : 0;
        const bool late = awaited && is_late(w, e, others, enough);
        if (late || is_silent(w, e)) {
            lose_executor(w, e, !is_silent(w, e));
        }
    }
}

/* ---- the end */

/* Whether the call may return although the executor has not settled. */
static bool may_leave(const watcher *w, hri_executor *e)
{
    const hri_run_state *run = w->run;
    const double since = (double)(w->now_ns - w->stop_ns) * 1e-9;
    if (e->state == HRI_SETTLED) {
        return true;
    }
    if (w->stop_ns == 0 || e->share->in_place) {
        return false;
    }
    if (run->error.status == HR_ERROR_CANCELLED || e->lost) {
        return since > grace * w->patience ||
               (e->lost && e->state > HRI_SETTING_UP && !e->feeds &&
                !e->loading && hri_copy_pool_wind_down(&e->up_pool) &&
                hri_copy_pool_wind_down(&e->down_pool));
    }
    return since > most_silent(w, e);
}

static bool may_return(const watcher *w)
{
    for (uint32_t i = 0; i < executors(w->run); i++) {
        if (!may_leave(w, &w->run->executors[i])) {
            return false;
        }
    }
    return true;
}

/* Let no thread of an executor that has not settled touch the caller's memory
 * again. A tile of which half is home, or may be, is lost if its old values are
 * needed: a lost device may have copied what it does not confirm. The run's
 * lock is held, and released for a moment. */
static void let_go_of_memory(const watcher *w)
{
    hri_run_state *run = w->run;
    for (uint32_t i = 0; i < executors(run); i++) {
        hri_executor *e = &run->executors[i];
        if (e->state == HRI_SETTING_UP) {
            continue;
        }
        while (e->gathering > 0) { /* a moment: it waits for no device */
            pthread_cond_wait(&run->ended, &run->lock);
        }
        const bool whole = hri_copy_pool_wind_down(&e->down_pool);
        if (e->state != HRI_SETTLED) {
            pthread_mutex_unlock(&run->lock);
            hri_copy_pool_release_memory(&e->up_pool);
            hri_copy_pool_release_memory(&e->down_pool);
            pthread_mutex_lock(&run->lock);
        }
        if (!whole && run->flow->reads_result) {
            hri_error_keep(&run->error, hri_error_raise(&run->lost));
        }
    }
}

static void skip_time(uint64_t *stamp_ns, uint64_t since_ns, uint64_t away_ns)
{
    *stamp_ns += *stamp_ns > 0 && *stamp_ns <= since_ns ? away_ns : 0;
}

/* Look at the clock. When this thread has not looked for long, the process was
 * stopped, or the program took that long to hear of progress: such time counts
 * for nobody. The run's lock is held. */
static void look_at_clock(watcher *w)
{
    const uint64_t since_ns = w->now_ns, tick_ns = hri_clock_ns() - since_ns;
    const uint64_t away_ns = tick_ns > stopped_ns ? tick_ns : 0;
    w->now_ns += tick_ns;
    w->tick_ns = tick_ns < longest_tick_ns ? tick_ns : longest_tick_ns;
    skip_time(&w->start_ns, since_ns, away_ns);
    skip_time(&w->stop_ns, since_ns, away_ns);
    for (uint32_t i = 0; i < executors(w->run) && away_ns > 0; i++) {
        skip_time(&w->run->executors[i].sign_ns, since_ns, away_ns);
        skip_time(&w->run->executors[i].idle_ns, since_ns, away_ns);
    }
    w->slowness = least_slowness(w->run);
}

void hri_run_watch(hri_run_state *run, const hri_run_call *call,
                   double patience)
{
    const uint64_t start_ns = hri_clock_ns();
    watcher w = {.run = run,
                 .call = call,
                 .patience = patience,
                 .start_ns = start_ns,
                 .now_ns = start_ns};
    hri_wait_awake(&run->over,
                   run->executors[0].brief ? hri_brief_moment : 0.0);
    hri_lock_soon(&run->lock);
    for (;;) {
        look_at_clock(&w);
        lose_late(&w);
        if (w.stop_ns == 0 && (run->error.status != HR_OK || run->halted)) {
            w.stop_ns = w.now_ns;
        }
        if (may_return(&w)) {
            break;
        }
        pause_watching(run);
        if (call->progress != NULL && hri_progress_is_due(call->progress)) {
            tell_progress(&w);
        }
    }
    let_go_of_memory(&w);
    pthread_mutex_unlock(&run->lock);
}
