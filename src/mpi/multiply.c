/* SPDX-License-Identifier: MIT */
/* The product of this process: a sum over panels, on a thread of its own, while
 * the caller's thread brings them. */
#include <stdlib.h>

#include "base/clock.h"
#include "mpi/run.h"

/* Seconds to wait for accelerators that the product has left behind. */
static const double patience = 10.0;

/* ---- its thread */

/* Wait for a panel. False: there is no need any more. */
static bool await_panel(void *argument, int64_t panel)
{
    hri_multiplier *m = argument;
    pthread_mutex_lock(&m->lock);
    while (m->arrived <= panel && !m->stopped) {
        pthread_cond_wait(&m->changed, &m->lock);
    }
    const bool there = m->arrived > panel && !m->stopped;
    pthread_mutex_unlock(&m->lock);
    return there;
}

static void release_panels(void *argument, int64_t panels)
{
    hri_multiplier *m = argument;
    pthread_mutex_lock(&m->lock);
    m->released = panels;
    pthread_cond_broadcast(&m->changed);
    pthread_mutex_unlock(&m->lock);
}

/* As if all processes were as far as this one. */
static bool note_progress(void *argument, double done, double total)
{
    hri_mpi_run *r = argument;
    hri_progress *p = &r->progress;
    const double now = total > 0.0 ? p->total * done / total : 0.0;
    hri_progress_add(p, (uint64_t)now - (uint64_t)r->multiplier.told);
    r->multiplier.told = now;
    return !hri_progress_stopped(p);
}

static hr_status multiply_panels(hri_mpi_run *r)
{
    const hri_mpi_product *x = &r->product;
    hr_gemm_options options = HR_GEMM_OPTIONS_INIT;
    options.compute = r->options.compute;
    options.await = await_panel;
    options.release = release_panels;
    options.terms_data = &r->multiplier;
    if (hri_progress_is_told(&r->progress)) {
        options.progress = note_progress;
        options.progress_data = r;
    }
    const hr_status status =
        hr_gemm_sum(r->context->local, x->alpha, r->plan.panels, r->a, r->b,
                    r->sum == NULL ? x->beta : hr_real(0), r->c, &options);
    return hri_mpi_limited(r->context, status);
}

static void *run_product(void *argument)
{
    hri_mpi_run *r = argument;
    hri_multiplier *m = &r->multiplier;
    const hr_status status = multiply_panels(r);
    pthread_mutex_lock(&m->lock);
    hri_error_keep(&m->error, status);
    pthread_mutex_unlock(&m->lock);
    /* Panels and operands are used again afterwards. */
    const hr_status settled = hr_context_settle(r->context->local, patience);
    pthread_mutex_lock(&m->lock);
    hri_error_keep(&m->error, settled);
    m->ended = true;
    pthread_cond_broadcast(&m->changed);
    pthread_mutex_unlock(&m->lock);
    return NULL;
}

/* ---- the caller's thread */

void hri_multiply_begin(hri_mpi_run *r)
{
    hri_multiplier *m = &r->multiplier;
    pthread_mutex_init(&m->lock, NULL);
    pthread_cond_init(&m->changed, NULL);
    m->ended = r->a == NULL;
    if (m->ended) {
        return;
    }
    m->thread = hri_threads_start(&r->context->threads, run_product, r);
    if (m->thread == NULL) {
        m->ended = true;
        hri_error_keep(&r->error, hri_fail(HR_ERROR_OUT_OF_MEMORY,
                                           "mpi: the system refused a thread"));
    }
}

void hri_multiply_arrived(hri_mpi_run *r, int64_t panels)
{
    hri_multiplier *m = &r->multiplier;
    pthread_mutex_lock(&m->lock);
    m->arrived = panels;
    pthread_cond_broadcast(&m->changed);
    pthread_mutex_unlock(&m->lock);
}

/* Wait until so many panels are not needed any more, or none is. Messages go on
 * meanwhile. */
static hr_status wait_for(hri_mpi_run *r, int64_t panels, bool listens)
{
    enum { LOOK_MS = 1 };
    hri_multiplier *m = &r->multiplier;
    hr_status status = HR_OK;
    pthread_mutex_lock(&m->lock);
    while (m->released < panels && !m->ended) {
        const uint64_t soon_ns = hri_in_ms(LOOK_MS);
        (void)hri_wait_until(&m->changed, &m->lock, soon_ns);
        pthread_mutex_unlock(&m->lock);
        hri_progress_add(&r->progress, 0); /* tells the program */
        status = listens ? hri_mpi_listen(r->context) : HR_OK;
        pthread_mutex_lock(&m->lock);
        if (status != HR_OK) {
            break;
        }
    }
    hri_error_keep(&r->error, hri_error_raise(&m->error));
    pthread_mutex_unlock(&m->lock);
    return status;
}

hr_status hri_multiply_await(hri_mpi_run *r, int64_t panels)
{
    return wait_for(r, panels, true);
}

static void stop_product(hri_multiplier *m)
{
    pthread_mutex_lock(&m->lock);
    m->stopped = true;
    pthread_cond_broadcast(&m->changed);
    pthread_mutex_unlock(&m->lock);
}

hr_status hri_multiply_end(hri_mpi_run *r, bool stop)
{
    hri_multiplier *m = &r->multiplier;
    if (stop) {
        stop_product(m);
    }
    const hri_error before = r->error;
    const hr_status status = wait_for(r, INT64_MAX, !r->context->lost);
    if (status != HR_OK) { /* MPI is lost: the product ends all the same */
        stop_product(m);
        (void)wait_for(r, INT64_MAX, false);
    }
    if (stop && m->error.status == HR_ERROR_CANCELLED) {
        r->error = before; /* why all stop is known elsewhere */
    }
    if (m->thread != NULL) {
        hri_thread_join(m->thread);
    }
    pthread_cond_destroy(&m->changed);
    pthread_mutex_destroy(&m->lock);
    return status;
}
