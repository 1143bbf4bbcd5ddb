/* SPDX-License-Identifier: MIT */
/* Executors: accelerators that work on their bands of rows. */
#include "filter/piece.h"

#include <stdlib.h>

#include <headrace/view.h>

#include "arrays/array.h"
#include "base/progress.h"

/* An accelerator that works on its band of out, from row `next` on. It has two
 * queues, so that one piece is copied while the other is worked on. */
typedef struct executor {
    hri_call call;
    const hri_filter_job *job;
    hri_progress *progress;
    const hri_filter_tables *tables;
    const hri_filter_band *band;
    hr_queue *queues[2];
    hri_filter_piece pieces[2];
    int64_t next;
    uint64_t count; /* pieces begun so far */
} executor;

/* Wait for a piece, if there is one. */
static hr_status finish_piece(executor *e, hri_filter_piece *piece)
{
    const int64_t elements = (piece->last - piece->first) * e->job->out.cols;
    HRI_TRY(hri_filter_piece_finish(piece));
    hri_progress_add(e->progress, (uint64_t)elements);
    return HR_OK;
}

static hr_status begin_piece(executor *e, hri_filter_piece *piece,
                             hr_queue *queue)
{
    const int64_t first = e->next;
    e->next = hri_filter_piece_end(e->job, e->band, first);
    HRI_TRY(finish_piece(e, piece));
    HRI_TRY(hri_filter_piece_init(piece, e->job, e->band->accelerator, first,
                                  e->next));
    HRI_TRY(hri_filter_piece_launch(piece, e->job, e->tables, queue));
    /* it goes home as soon as it is done */
    return piece->own[1] != NULL ? hr_synchronize_async(piece->out, NULL)
                                 : HR_OK;
}

/* Begin the next piece once the last but one is done. False when nothing is
 * left, something failed, or the program cancelled. */
static bool begin_next(executor *e)
{
    if (e->next >= e->band->last || e->call.error.status != HR_OK ||
        hri_progress_stopped(e->progress)) {
        return false;
    }
    const int half = (int)(e->count % 2);
    e->count++;
    hri_error_keep(&e->call.error,
                   begin_piece(e, &e->pieces[half], e->queues[half]));
    return true;
}

/* Wait for the last pieces, and free what the executor has. */
static void finish_executor(executor *e)
{
    for (uint64_t i = 0; i < 2; i++) { /* the older piece first */
        hri_error_keep(&e->call.error,
                       finish_piece(e, &e->pieces[(e->count + i) % 2]));
    }
    for (int i = 0; i < 2; i++) {
        hr_queue_destroy(e->queues[i]);
    }
}

static hr_status run_executor(void *e)
{
    while (begin_next(e)) {
    }
    return HR_OK;
}

static void run_one_at_a_time(executor *executors, uint32_t count)
{
    bool more = true;
    while (more) {
        more = false;
        for (uint32_t i = 0; i < count; i++) {
            more = begin_next(&executors[i]) || more;
        }
    }
}

/* Open the executors' queues, and let them work. Each keeps its own error. */
static hr_status start_executors(const hri_filter_job *job,
                                 hri_progress *progress, executor *executors,
                                 uint32_t count)
{
    hr_context *context = job->context;
    for (uint32_t i = 0; i < 2 * count; i++) {
        executor *e = &executors[i / 2];
        const ptrdiff_t index = e->band->accelerator - context->accelerators;
        HRI_TRY(hri_queue_open(context, (uint32_t)index, false, "filter",
                               &e->queues[i % 2]));
    }
    if (job->options.one_thread) {
        run_one_at_a_time(executors, count);
    } else {
        (void)hri_progress_call(progress, run_executor, executors, count,
                                sizeof *executors);
    }
    return HR_OK;
}

static hr_status run_executors(const hri_filter_job *job,
                               const hri_filter_tables *tables,
                               const hri_filter_plan *plan,
                               hri_progress *progress, executor *executors)
{
    const uint32_t count = plan->count;
    for (uint32_t i = 0; i < count; i++) {
        const hri_filter_band *s = &plan->bands[i];
        executors[i] = (executor){.job = job,
                                  .progress = progress,
                                  .tables = tables,
                                  .band = s,
                                  .next = s->first};
        /* the first one runs on the calling thread, unless that tells */
        executors[i].call.threads = i > 0 || hri_progress_is_told(progress)
                                        ? &s->accelerator->threads
                                        : NULL;
    }
    const hr_status started = start_executors(job, progress, executors, count);
    for (uint32_t i = 0; i < count; i++) {
        finish_executor(&executors[i]);
    }
    HRI_TRY(started);
    for (uint32_t i = 0; i < count; i++) {
        HRI_TRY(hri_error_raise(&executors[i].call.error));
    }
    return HR_OK;
}

hr_status hri_filter_run(hri_filter_job *job, const hri_filter_plan *plan)
{
    hri_filter_tables tables = {0};
    hri_progress progress;
    hri_progress_init(&progress, "filter", job->options.progress,
                      job->options.progress_data,
                      (double)job->out.rows * (double)job->out.cols);
    if (!hri_progress_tell(&progress, 0.0)) {
        return hri_error_raise(&progress.error);
    }
    hr_status status;
    executor *executors = calloc(plan->count, sizeof *executors);
    if (executors == NULL) {
        status = hri_fail(HR_ERROR_OUT_OF_MEMORY, "filter: out of memory");
        goto done;
    }
    status = hri_filter_job_transpose(job);
    if (status != HR_OK) {
        goto done;
    }
    status = hri_filter_tables_init(&tables, job);
    if (status != HR_OK) {
        goto done;
    }
    status = run_executors(job, &tables, plan, &progress, executors);
done:
    hri_filter_tables_finish(&tables);
    free(executors);
    return hri_progress_end(&progress, status);
}
