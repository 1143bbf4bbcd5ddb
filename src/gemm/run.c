/* SPDX-License-Identifier: MIT */
#include "gemm/run.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "gemm/executor.h"

enum { THREADS_PER_EXECUTOR = 3, PROGRESS_MS = 100 };

typedef struct threads {
    hri_thread **started;
    uint32_t count;
} threads;

static void start(threads *t, void *(*function)(void *), hri_executor *executor)
{
    hri_run_state *run = executor->run;
    pthread_mutex_lock(&run->lock);
    run->threads_running++;
    pthread_mutex_unlock(&run->lock);
    hri_thread *thread =
        hri_threads_start(&executor->accelerator->threads, function, executor);
    if (thread != NULL) {
        t->started[t->count++] = thread;
    } else {
        hri_executor_thread_ends(executor,
                                 hri_fail(HR_ERROR_OUT_OF_MEMORY,
                                          "gemm: the system refused thread %u",
                                          t->count + 1));
    }
}

static void start_executor(threads *t, hri_executor *executor)
{
    start(t, hri_compute_main, executor);
    if (!executor->part->in_place) {
        start(t, hri_feeder_main, executor);
        start(t, hri_forwarder_main, executor);
        hri_run_fail(executor->run, hri_copy_pool_start(&executor->up_pool));
        hri_run_fail(executor->run, hri_copy_pool_start(&executor->down_pool));
    }
}

/* Call the program's progress function, and stop all threads when it says so.
 * The run's lock is held, and released for the call. */
static void tell(hri_run_state *run)
{
    const hri_product *p = run->product;
    double total = hri_product_flops(p->a.type, p->m, p->n, p->k);
    double done = run->flops_done;
    if (run->progress == NULL || run->error.status != HR_OK) {
        return;
    }
    pthread_mutex_unlock(&run->lock);
    bool go_on = run->progress(run->progress_data, done, total);
    pthread_mutex_lock(&run->lock);
    if (!go_on && run->threads_running > 0) {
        hr_status status =
            hri_fail(HR_ERROR_CANCELLED, "gemm: cancelled after %.0f per cent",
                     100.0 * run->flops_done / total);
        pthread_mutex_unlock(&run->lock);
        hri_run_fail(run, status);
        pthread_mutex_lock(&run->lock);
    }
}

/* Wait for a tenth of a second, or until all threads have ended. */
static void pause_watching(hri_run_state *run)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += PROGRESS_MS * 1000000L;
    until.tv_sec += until.tv_nsec / 1000000000L;
    until.tv_nsec %= 1000000000L;
    int woken = 0;
    while (run->threads_running > 0 && woken != ETIMEDOUT) {
        woken = pthread_cond_timedwait(&run->changed, &run->lock, &until);
    }
}

/* Report progress from the start until all threads have ended. */
static void watch(hri_run_state *run)
{
    pthread_mutex_lock(&run->lock);
    do {
        tell(run);
        pause_watching(run);
    } while (run->threads_running > 0);
    tell(run);
    pthread_mutex_unlock(&run->lock);
}

/* Whether the plan is one product in place and needs no thread. It does need
 * one if progress must be reported. */
static bool is_small(const hri_plan *plan)
{
    return plan->part_count == 1 && plan->parts[0].in_place &&
           plan->parts[0].task_count == 1;
}

static void run_threads(hri_run_state *run, threads *t)
{
    for (uint32_t i = 0; i < run->plan->part_count; i++) {
        start_executor(t, &run->executors[i]);
    }
    pthread_mutex_lock(&run->lock);
    run->go = true;
    pthread_cond_broadcast(&run->changed);
    pthread_mutex_unlock(&run->lock);
    watch(run);
    for (uint32_t i = 0; i < t->count; i++) {
        hri_thread_join(t->started[i]);
    }
}

hr_status hri_run(const hri_product *product, const hri_plan *plan,
                  hri_accelerator *const *accelerators,
                  hr_progress_function progress, void *progress_data,
                  hri_run_share *shares)
{
    hri_run_state run = {.product = product,
                         .plan = plan,
                         .progress = progress,
                         .progress_data = progress_data};
    threads t = {.started =
                     calloc((size_t)plan->part_count * THREADS_PER_EXECUTOR,
                            sizeof(hri_thread *))};
    run.executors = calloc(plan->part_count, sizeof *run.executors);
    if (t.started == NULL || run.executors == NULL) {
        free(t.started);
        free(run.executors);
        return hri_fail(HR_ERROR_OUT_OF_MEMORY, "gemm: no memory to run");
    }
    pthread_mutex_init(&run.lock, NULL);
    pthread_cond_init(&run.changed, NULL);
    uint32_t ready = 0;
    hr_status status = HR_OK;
    while (ready < plan->part_count && status == HR_OK) {
        uint32_t i = ready++;
        status = hri_executor_init(&run.executors[i], &run, i,
                                   accelerators[plan->parts[i].accelerator],
                                   &shares[i]);
    }
    hri_run_fail(&run, status);
    if (status == HR_OK && progress == NULL && is_small(plan)) {
        run.threads_running = 1;
        run.go = true;
        hri_compute_main(&run.executors[0]);
    } else if (status == HR_OK) {
        run_threads(&run, &t);
    }
    for (uint32_t i = 0; i < ready; i++) {
        hri_executor_settle(&run.executors[i]);
    }
    for (uint32_t i = 0; i < ready; i++) {
        hri_executor_finish(&run.executors[i]);
    }
    pthread_cond_destroy(&run.changed);
    pthread_mutex_destroy(&run.lock);
    free(run.executors);
    free(t.started);
    return hri_error_raise(&run.error);
}
