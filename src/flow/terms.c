/* SPDX-License-Identifier: MIT */
/* The terms of a sum of products. One thread asks the program for one after
 * another. Feeders (feed.c) and compute threads wait until they have come, and
 * a term is released when all executors have run its tasks. */
#include "base/size.h"
#include "flow/executor.h"

hr_status hri_terms_await(const hri_run_terms *terms, const char *call,
                          int64_t term)
{
    return terms->await == NULL || terms->await(terms->data, term)
               ? HR_OK
               : hri_fail(HR_ERROR_CANCELLED,
                          "%s: cancelled before term %lld came", call,
                          (long long)term);
}

/* ---- with the run */

void hri_terms_init(hri_run_state *run, const hri_run_terms *terms)
{
    run->come = terms != NULL && terms->await != NULL ? 0 : INT64_MAX;
    if (terms != NULL) {
        run->release = terms->release;
        run->release_data = terms->data;
    }
}

/* ---- the thread that asks */

static bool is_over(hri_run_state *run)
{
    pthread_mutex_lock(&run->lock);
    const bool over = run->error.status != HR_OK || run->halted;
    pthread_mutex_unlock(&run->lock);
    return over;
}

static void *ask_for_terms(void *argument)
{
    const hri_terms_asker *a = argument;
    hri_run_state *run = a->run;
    for (int64_t t = 0; t < a->terms->count && !is_over(run); t++) {
        const hr_status status = hri_terms_await(a->terms, run->engine.call, t);
        if (status != HR_OK) {
            if (!is_over(run)) { /* else that is why it did not come */
                hri_run_fail(run, status);
            }
            break;
        }
        pthread_mutex_lock(&run->lock);
        run->come = t + 1;
        hri_run_wake_all(run);
        pthread_mutex_unlock(&run->lock);
    }
    return NULL;
}

void hri_terms_ask(hri_terms_asker *a, hri_accelerator *accelerator)
{
    if (a->terms == NULL || a->terms->await == NULL) {
        return;
    }
    a->thread = hri_threads_start(&accelerator->threads, ask_for_terms, a);
    if (a->thread == NULL) {
        hri_run_fail(a->run, hri_fail(HR_ERROR_OUT_OF_MEMORY,
                                      "%s: the system refused a thread",
                                      a->run->engine.call));
    }
}

void hri_terms_end(const hri_terms_asker *a)
{
    hri_run_state *run = a->run;
    pthread_mutex_lock(&run->lock);
    if (run->release != NULL) {
        run->release(run->release_data, a->terms->count);
    }
    run->release = NULL; /* threads that are left behind call it no more */
    pthread_mutex_unlock(&run->lock);
    if (a->thread != NULL) {
        hri_thread_join(a->thread);
    }
}

/* ---- executors */

void hri_terms_wait(hri_executor *executor, int64_t term)
{
    hri_run_state *run = executor->run;
    pthread_mutex_lock(&run->lock);
    executor->awaits = true;
    while (run->come <= term && !hri_is_stopped(executor)) {
        pthread_cond_wait(&executor->changed[HRI_ENQUEUED], &run->lock);
    }
    executor->awaits = false;
    hri_executor_note_work(executor);
    pthread_mutex_unlock(&run->lock);
}

/* Each executor's tasks follow each other term by term. */
void hri_terms_release(hri_run_state *run)
{
    int64_t least = run->flow->chunks;
    if (run->release == NULL) {
        return;
    }
    for (uint32_t i = 0; i < run->flow->share_count; i++) {
        const hri_executor *e = &run->executors[i];
        const int64_t tasks = e->share->task_count / run->flow->chunks;
        least = hri_min(least, e->collected / tasks);
    }
    if (least > run->released) {
        run->released = least;
        run->release(run->release_data, least);
    }
}
