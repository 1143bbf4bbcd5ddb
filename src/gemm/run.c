/* SPDX-License-Identifier: MIT */
#include "gemm/run.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "gemm/lane.h"

enum { THREADS_PER_LANE = 3, PROGRESS_MS = 100 };

typedef struct threads {
    hri_thread **started;
    uint32_t count;
} threads;

static void start(threads *t, void *(*function)(void *), hri_lane *lane)
{
    hri_run_state *run = lane->run;
    pthread_mutex_lock(&run->lock);
    run->threads_running++;
    pthread_mutex_unlock(&run->lock);
    hri_thread *thread =
        hri_threads_start(&lane->accelerator->threads, function, lane);
    if (thread != NULL) {
        t->started[t->count++] = thread;
    } else {
        hri_lane_thread_ends(
            lane, hri_fail(HR_ERROR_OUT_OF_MEMORY,
                           "gemm: the system refused thread %u", t->count + 1));
    }
}

static void start_lane(threads *t, hri_lane *lane)
{
    start(t, hri_worker_main, lane);
    if (!lane->part->in_place) {
        start(t, hri_feeder_main, lane);
        start(t, hri_forwarder_main, lane);
        hri_run_fail(lane->run, hri_crew_start(&lane->up_crew));
        hri_run_fail(lane->run, hri_crew_start(&lane->down_crew));
    }
}

/* Tell the caller how far the work is, and stop everybody when it wants to. The
 * run's lock is held, and let go for the call. */
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

/* Tell how far the work is, from its start until all threads have ended. */
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

/* A product of one tile in place is not worth a thread, unless somebody wants
 * to be told how far it is. */
static bool is_small(const hri_plan *plan)
{
    return plan->part_count == 1 && plan->parts[0].in_place &&
           plan->parts[0].task_count == 1;
}

static void run_threads(hri_run_state *run, threads *t)
{
    for (uint32_t i = 0; i < run->plan->part_count; i++) {
        start_lane(t, &run->lanes[i]);
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
    threads t = {.started = calloc((size_t)plan->part_count * THREADS_PER_LANE,
                                   sizeof(hri_thread *))};
    run.lanes = calloc(plan->part_count, sizeof *run.lanes);
    if (t.started == NULL || run.lanes == NULL) {
        free(t.started);
        free(run.lanes);
        return hri_fail(HR_ERROR_OUT_OF_MEMORY, "gemm: no memory to run");
    }
    pthread_mutex_init(&run.lock, NULL);
    pthread_cond_init(&run.changed, NULL);
    uint32_t ready = 0;
    hr_status status = HR_OK;
    while (ready < plan->part_count && status == HR_OK) {
        uint32_t i = ready++;
        status =
            hri_lane_init(&run.lanes[i], &run, i,
                          accelerators[plan->parts[i].accelerator], &shares[i]);
    }
    hri_run_fail(&run, status);
    if (status == HR_OK && progress == NULL && is_small(plan)) {
        run.threads_running = 1;
        run.go = true;
        hri_worker_main(&run.lanes[0]);
    } else if (status == HR_OK) {
        run_threads(&run, &t);
    }
    for (uint32_t i = 0; i < ready; i++) {
        hri_lane_settle(&run.lanes[i]);
    }
    for (uint32_t i = 0; i < ready; i++) {
        hri_lane_finish(&run.lanes[i]);
    }
    pthread_cond_destroy(&run.changed);
    pthread_mutex_destroy(&run.lock);
    free(run.lanes);
    free(t.started);
    return hri_error_raise(&run.error);
}
