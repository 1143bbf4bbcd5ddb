/* SPDX-License-Identifier: MIT */
#include "filter/cost.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/size.h"
#include "base/status.h"
#include "filter/piece.h"
#include "filter/rate.h"
#include "runtime/links.h"
#include "runtime/memory.h"

/* Enqueueing, waking up, and waiting for a piece. */
static const double piece_seconds = 1e-4;

/* By how much an accelerator more must pay. */
static const double clearly_faster = 0.95;

enum { PIECES = 4 }; /* of a share: the first comes, and the last goes, alone */

static bool in_place(const hri_share *s)
{
    return s->accelerator->in_place;
}

/* How many of these accelerators are one device. */
static double sharers(hri_accelerator *const *accelerators, uint32_t count,
                      const hri_accelerator *a)
{
    double same = 0.0;
    for (uint32_t i = 0; i < count; i++) {
        same += accelerators[i]->physical == a->physical;
    }
    return same;
}

static hr_status know_link(hri_accelerator *a, hr_context *context)
{
    hr_status status = HR_OK;
    if (!a->in_place && a->up == 0.0) {
        pthread_mutex_lock(&context->lock);
        status = hri_link_measure(a);
        pthread_mutex_unlock(&context->lock);
    }
    return status;
}

static hr_status know_share(const hri_filter_job *job, double same,
                            hri_share *share)
{
    hri_accelerator *a = share->accelerator;
    const double elements = (double)job->out.rows * (double)job->out.cols;
    hr_status status = hri_filter_rate(
        job, a, elements * hri_filter_products(job), &share->rate);
    if (status == HR_OK) {
        status = know_link(a, job->context);
    }
    if (status != HR_OK) {
        return status;
    }
    const double bytes =
        (double)job->in.cols * (double)hr_type_size(job->in.type);
    share->rate /= same;
    share->compute =
        (double)job->out.cols * hri_filter_products(job) / share->rate;
    share->link =
        a->in_place ? 0.0 : same * bytes / (a->up < a->down ? a->up : a->down);
    share->row = share->compute > share->link ? share->compute : share->link;
    return HR_OK;
}

/* The fastest first. */
static int by_row(const void *x, const void *y)
{
    const double a = ((const hri_share *)x)->row;
    const double b = ((const hri_share *)y)->row;
    return (a > b) - (a < b);
}

/* Seconds that the first `count` take together: bands as their speeds are, and
 * for each what it reads and makes of its neighbours' rows. */
static double seconds_of(const hri_filter_job *job, const hri_share *shares,
                         uint32_t count)
{
    double speed = 0.0, most = 0.0;
    for (uint32_t i = 0; i < count; i++) {
        speed += 1.0 / shares[i].row;
    }
    const double rows = (double)job->out.rows;
    for (uint32_t i = 0; i < count; i++) {
        const hri_share *s = &shares[i];
        double own = rows / speed + piece_seconds;
        if (!in_place(s)) { /* the first comes and the last goes alone */
            own += s->link * (rows / speed / s->row / PIECES +
                              2.0 * (double)job->window->reach);
        }
        most = own > most ? own : most;
    }
    return most;
}

/* The most rows, in whole blocks, whose pieces fit into `room` bytes; 0: none.
 */
static int64_t rows_that_fit(const hri_filter_job *job,
                             const hri_accelerator *a, int64_t rows,
                             uint64_t room)
{
    const int64_t block = hri_filter_block(job);
    int64_t low = 0, high = hri_ceil_div(rows, block);
    while (low < high) {
        const int64_t middle = low + (high - low + 1) / 2;
        if (hri_piece_bytes(job, a, middle * block) <= room) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    return low * block;
}

/* How many rows at a time: a few pieces, so that they come while others are
 * worked on, but not so low that most of each is what neighbours have too. */
static hr_status set_height(const hri_filter_job *job, hri_share *s)
{
    const int64_t rows = s->last - s->first;
    s->height = rows;
    if (in_place(s)) {
        return HR_OK;
    }
    const int64_t least = hri_max(8 * job->window->reach, 256);
    const int64_t wanted =
        hri_min(hri_max(hri_ceil_div(rows, PIECES), least), rows);
    hr_context *context = job->context;
    pthread_mutex_lock(&context->lock);
    const uint64_t room = hri_accelerator_room(s->accelerator);
    pthread_mutex_unlock(&context->lock);
    s->height = rows_that_fit(job, s->accelerator, wanted, room);
    return s->height > 0
               ? HR_OK
               : hri_fail(HR_ERROR_OUT_OF_MEMORY,
                          "filter: %s may hold %llu bytes more, but %llu are "
                          "the least for rows of %lld elements and a reach of "
                          "%lld",
                          s->accelerator->path, (unsigned long long)room,
                          (unsigned long long)hri_piece_bytes(
                              job, s->accelerator, hri_filter_block(job)),
                          (long long)job->in.cols,
                          (long long)job->window->reach);
}

/* Give the first `count` their rows, in whole blocks. */
static hr_status cut(const hri_filter_job *job, hri_filter_plan *plan)
{
    double speed = 0.0, before = 0.0;
    const int64_t rows = job->out.rows;
    const int64_t block = hri_filter_block(job);
    const int64_t blocks = hri_ceil_div(rows, block);
    hr_status status = HR_OK;
    int64_t first = 0;
    for (uint32_t i = 0; i < plan->count; i++) {
        speed += 1.0 / plan->shares[i].row;
    }
    for (uint32_t i = 0; i < plan->count && status == HR_OK; i++) {
        hri_share *s = &plan->shares[i];
        before += 1.0 / s->row;
        const int64_t last =
            i + 1 == plan->count
                ? blocks
                : (int64_t)((double)blocks * before / speed + 0.5);
        s->first = first;
        s->last = hri_min(last * block, rows);
        first = s->last;
        if (s->last > s->first) {
            status = set_height(job, s);
        }
    }
    return status;
}

hr_status hri_filter_plan_make(const hri_filter_job *job,
                               hri_accelerator *const *accelerators,
                               uint32_t count, hri_filter_plan *plan)
{
    hr_status status = HR_OK;
    for (uint32_t i = 0; i < count && status == HR_OK; i++) {
        plan->shares[i] = (hri_share){.accelerator = accelerators[i]};
        status = know_share(job, sharers(accelerators, count, accelerators[i]),
                            &plan->shares[i]);
    }
    if (status != HR_OK) {
        return status;
    }
    qsort(plan->shares, count, sizeof plan->shares[0], by_row);
    plan->count = 1;
    plan->seconds = seconds_of(job, plan->shares, 1);
    for (uint32_t i = 2; i <= count; i++) {
        const double seconds = seconds_of(job, plan->shares, i);
        if (seconds < clearly_faster * plan->seconds) {
            plan->count = i;
            plan->seconds = seconds;
        }
    }
    const hri_share *s = &plan->shares[0];
    plan->bound = s->link > s->compute ? HR_BOUND_LINK : HR_BOUND_COMPUTE;
    return cut(job, plan);
}
