/* SPDX-License-Identifier: MIT */
/* What the threads of a run tell each other: that it may start, errors, and
 * signs of work. */
#include "base/clock.h"
#include "flow/executor.h"

/* ---- errors */

/* Stop the copies that nobody needs. After an error these are all; when the run
 * is halted, panels. An executor that is not set up yet will see that it must
 * not begin. Once the run was left, others have given the copy pools back. The
 * run's lock is held. */
static void stop_copies(hri_run_state *run, bool all)
{
    for (uint32_t i = 0; i < run->flow->share_count && !run->left; i++) {
        hri_executor *e = &run->executors[i];
        if (e->state == HRI_SETTING_UP) {
            continue;
        }
        hri_copy_pool_stop(&e->up_pool);
        if (all) {
            hri_copy_pool_stop(&e->down_pool);
        } else if (e->lost) {
            hri_copy_pool_wind_down(&e->down_pool);
        }
    }
}

void hri_run_wake_all(hri_run_state *run)
{
    for (uint32_t i = 0; i < run->flow->share_count; i++) {
        for (int c = 0; c < HRI_CHANGES; c++) {
            pthread_cond_broadcast(&run->executors[i].changed[c]);
        }
    }
}

void hri_run_fail(hri_run_state *run, hr_status status)
{
    pthread_mutex_lock(&run->lock);
    const bool first = run->error.status == HR_OK;
    hri_error_keep(&run->error, status);
    if (first) {
        stop_copies(run, true);
        hri_run_wake_all(run);
    }
    pthread_mutex_unlock(&run->lock);
}

void hri_run_halt_without(hri_executor *executor, const hri_error *why)
{
    hri_run_state *run = executor->run;
    executor->lost = true;
    if (run->lost.status == HR_OK) {
        run->lost = *why;
    }
    run->halted = true;
    stop_copies(run, false);
    hri_run_wake_all(run);
}

void hri_executor_fail(hri_executor *executor, hr_status status)
{
    hri_run_state *run = executor->run;
    hri_error why = {0};
    if (status == HR_OK) {
        return;
    }
    hri_error_keep(&why, status);
    pthread_mutex_lock(&run->lock);
    executor->failed = status;
    const bool others = !executor->share->in_place; /* may do its tiles */
    const bool halts =
        others && status == HR_ERROR_LOST && run->error.status == HR_OK;
    if (halts) {
        (void)hri_accelerator_note_status(executor->accelerator, status);
        hri_run_halt_without(executor, &why);
    }
    const bool halted = others && run->halted;
    pthread_mutex_unlock(&run->lock);
    if (!halts && !halted) {
        hri_run_fail(run, hri_error_raise(&why));
    }
}

bool hri_executor_stopped(hri_executor *executor)
{
    hri_run_state *run = executor->run;
    pthread_mutex_lock(&run->lock);
    const bool stopped = hri_is_stopped(executor);
    pthread_mutex_unlock(&run->lock);
    return stopped;
}

/* ---- signs of work */

void hri_executor_note_work(hri_executor *executor)
{
    executor->sign_ns = hri_clock_ns();
}

void hri_executor_set_idle(hri_executor *executor, bool idle)
{
    if (idle != executor->idle) {
        executor->idle = idle;
        executor->idle_ns = hri_clock_ns();
        executor->sign_ns = executor->idle_ns;
    }
}

double hri_executor_silence(const hri_executor *executor, uint64_t now_ns)
{
    return now_ns > executor->sign_ns && !executor->awaits
               ? (double)(now_ns - executor->sign_ns) * 1e-9
               : 0.0;
}

bool hri_executor_await_start(hri_executor *executor)
{
    hri_run_state *run = executor->run;
    pthread_mutex_lock(&run->lock);
    while (!run->go && run->error.status == HR_OK && !run->halted) {
        pthread_cond_wait(&executor->changed[HRI_ENQUEUED], &run->lock);
    }
    const bool go = run->go && run->error.status == HR_OK;
    pthread_mutex_unlock(&run->lock);
    return go;
}
