/* SPDX-License-Identifier: MIT */
#include "filter/cost.h"

#include <math.h>
#include <stdlib.h>

#include "arrays/array.h"
#include "arrays/launch.h"
#include "base/size.h"
#include "base/status.h"
#include "distribute/distribute.h"
#include "filter/piece.h"
#include "filter/rate.h"
#include "model/links.h"

/* Enqueueing, waking up, and waiting for a piece. */
static const double piece_seconds = 1e-4;

enum { PIECES = 4 }; /* of a share, beside its ends */

/* Rows of an end: few, but not so few that most of what it reads is what its
 * neighbour reads too. */
static int64_t end_rows(const hri_filter_job *job)
{
    const int64_t block = hri_filter_block(job);
    const int64_t rows = hri_max(8 * job->window->reach, 256);
    return hri_ceil_div(rows, block) * block;
}

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

/* Bytes a second to the accelerator and back, as pictures travel: through crews
 * where ordinary memory does. What is not known is measured. */
static hr_status know_link(const hri_filter_job *job, hri_accelerator *a,
                           double *up, double *down)
{
    pthread_mutex_lock(&job->context->lock);
    hr_status status = hri_accelerator_link(a);
    if (status == HR_OK && a->device->info.staged) {
        status = hri_links_know(job->context);
    }
    const hri_link *staged = &a->links[HRI_STAGED];
    const bool crews = a->device->info.staged && staged->up > 0.0;
    *up = crews ? staged->up : a->up;
    *down = crews ? staged->down : a->down;
    pthread_mutex_unlock(&job->context->lock);
    return status;
}

static hr_status know_share(const hri_filter_job *job, double same,
                            hri_share *share)
{
    hri_accelerator *a = share->accelerator;
    const double products = (double)job->out.cols * hri_filter_products(job);
    const double bytes =
        (double)job->in.cols * (double)hr_type_size(job->in.type);
    double up, down;
    hr_status status = hri_filter_rate(job, a, &share->rate);
    share->rate /= same;
    share->compute = products / share->rate;
    if (status == HR_OK && !a->in_place && job->views[0].array == NULL) {
        status = know_link(job, a, &up, &down);
        share->link = same * bytes / (up < down ? up : down);
    }
    share->row = share->compute > share->link ? share->compute : share->link;
    return status;
}

/* The fastest first; of equal ones, which are in one list, the first. */
static int by_row(const void *x, const void *y)
{
    const hri_share *a = x, *b = y;
    if (a->row != b->row) {
        return a->row < b->row ? -1 : 1;
    }
    return (a->accelerator > b->accelerator) -
           (a->accelerator < b->accelerator);
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
            const double share = rows / speed / s->row;
            own += s->link * (fmin(share, (double)end_rows(job)) +
                              2.0 * (double)job->window->reach);
        }
        most = own > most ? own : most;
    }
    return most;
}

/* Pieces that are asked whether they fit. */
typedef struct piece_room {
    const hri_filter_job *job;
    const hri_accelerator *accelerator;
    uint64_t bytes;
} piece_room;

static hr_status holds_blocks(void *data, int64_t blocks, bool *holds)
{
    const piece_room *r = data;
    const int64_t rows = blocks * hri_filter_block(r->job);
    *holds = hri_filter_piece_bytes(r->job, r->accelerator, rows) <= r->bytes;
    return HR_OK;
}

/* The most rows, in whole blocks, whose pieces fit into `room` bytes; 0: none.
 */
static int64_t rows_that_fit(const hri_filter_job *job,
                             const hri_accelerator *a, int64_t rows,
                             uint64_t room)
{
    piece_room r = {job, a, room};
    const int64_t block = hri_filter_block(job);
    int64_t most = 0;
    (void)hri_bisect(0, hri_ceil_div(rows, block) + 1, holds_blocks, &r, &most);
    return most * block;
}

/* Bytes that an array asks for, for rows [first, last) of a view, unless they
 * are held already. */
static uint64_t bytes_to_come(const hri_filter_job *job, int which,
                              const hri_accelerator *a, int64_t first,
                              int64_t last)
{
    const hr_view *view = &job->views[which];
    const hr_array *array = view->array;
    const hri_box *held = &array->stores[hri_place_of(job->context, a)].held;
    const int64_t row = array->size[2], top = view->offset_bytes / row;
    return held->lo[1] <= top + first && top + last <= held->hi[1]
               ? 0
               : (uint64_t)(last - first) * (uint64_t)row;
}

/* What pictures in arrays take of a share's room: all of its rows stay. */
static uint64_t bytes_that_stay(const hri_filter_job *job, const hri_share *s)
{
    const int64_t reach = job->window->reach;
    uint64_t bytes = 0;
    if (job->views[0].array != NULL) {
        pthread_mutex_lock(&job->context->lock);
        bytes =
            bytes_to_come(job, 0, s->accelerator,
                          hri_max(job->top + s->first - reach, 0),
                          hri_min(job->top + s->last + reach, job->in.rows)) +
            bytes_to_come(job, 1, s->accelerator, s->first, s->last);
        pthread_mutex_unlock(&job->context->lock);
    }
    return bytes;
}

int64_t hri_share_piece(const hri_filter_job *job, const hri_share *s,
                        int64_t next)
{
    const int64_t block = hri_filter_block(job);
    int64_t rows = s->ends;
    if (next > s->first && s->last - next > s->ends) {
        rows = hri_ceil_div(s->last - next - s->ends, block) * block;
        rows = hri_min(rows, s->height);
    }
    return hri_min(next + rows, s->last);
}

/* The ends of a share, and the height of what is between them: pieces that are
 * alike, and none of them lower than an end. */
static int64_t cut_into_pieces(const hri_filter_job *job, hri_share *s)
{
    const int64_t block = hri_filter_block(job);
    const int64_t rows = s->last - s->first, least = end_rows(job);
    const int64_t between = rows - 2 * least;
    if (between < least) { /* one piece, or two halves */
        s->ends = between < 0 ? rows : hri_ceil_div(rows, 2 * block) * block;
        return s->ends;
    }
    s->ends = least;
    return hri_ceil_div(between, hri_min(between / least, PIECES));
}

/* How many rows at a time: a few pieces, so that they come while others are
 * worked on. */
static hr_status set_height(const hri_filter_job *job, hri_share *s)
{
    const int64_t rows = s->last - s->first;
    s->height = s->ends = rows;
    if (in_place(s)) {
        return HR_OK;
    }
    const uint64_t stay = bytes_that_stay(job, s);
    int64_t wanted = rows;
    if (job->views[0].array == NULL) { /* else nothing comes or goes */
        wanted = cut_into_pieces(job, s);
    }
    s->height = rows_that_fit(job, s->accelerator, wanted,
                              s->room > stay ? s->room - stay : 0);
    s->ends = hri_min(s->ends, s->height);
    const uint64_t needed =
        stay +
        hri_filter_piece_bytes(job, s->accelerator, hri_filter_block(job));
    return s->height > 0
               ? HR_OK
               : hri_fail(HR_ERROR_OUT_OF_MEMORY,
                          "filter: %s may hold %llu bytes more, but %lld rows "
                          "of pictures in arrays, and what it works with, take "
                          "%llu",
                          s->accelerator->path, (unsigned long long)s->room,
                          (long long)rows, (unsigned long long)needed);
}

/* Give the first `count` their rows, in whole blocks. What does not fit into
 * memory at once comes in lower pieces, so memory limits no share. */
static hr_status cut(const hri_filter_job *job, hri_filter_plan *plan)
{
    bool held;
    const hri_distribution d = {.units = job->out.rows,
                                .grain = hri_filter_block(job),
                                .portions =
                                    calloc(plan->count, sizeof(hri_portion)),
                                .count = plan->count};
    if (d.portions == NULL) {
        return hri_fail(HR_ERROR_OUT_OF_MEMORY, "filter: out of memory");
    }
    for (uint32_t i = 0; i < plan->count; i++) {
        d.portions[i].weight = 1.0 / plan->shares[i].row;
        d.portions[i].most = INT64_MAX;
    }
    hr_status status = hri_distribute(&d, &held);
    for (uint32_t i = 0; i < plan->count && status == HR_OK; i++) {
        hri_share *s = &plan->shares[i];
        s->first = d.portions[i].first;
        s->last = s->first + d.portions[i].count;
        if (s->last > s->first) {
            status = set_height(job, s);
        }
    }
    free(d.portions);
    return status;
}

/* Whether the accelerator can do any of it: there must be room for a block of
 * rows, and for what a strip works in. */
static hr_status check_room(const hri_filter_job *job, hri_share *s)
{
    const hri_accelerator *a = s->accelerator;
    const uint64_t scratch = hri_filter_piece_scratch(job, a);
    if (scratch > HRI_MOST_TILE_BYTES) {
        return hri_fail(HR_ERROR_UNSUPPORTED,
                        "filter: %lld separable filters of %lld weights would "
                        "work in %llu bytes, more than %d",
                        (long long)job->factors.rank,
                        (long long)hri_filter_extent(job),
                        (unsigned long long)scratch, HRI_MOST_TILE_BYTES);
    }
    if (in_place(s)) {
        return HR_OK;
    }
    const uint64_t least =
        hri_filter_piece_bytes(job, a, hri_filter_block(job));
    pthread_mutex_lock(&job->context->lock);
    s->room = hri_accelerator_room(a);
    pthread_mutex_unlock(&job->context->lock);
    return least <= s->room
               ? HR_OK
               : hri_fail(HR_ERROR_OUT_OF_MEMORY,
                          "filter: %s may hold %llu bytes more, but %llu are "
                          "the least for rows of %lld elements and a reach of "
                          "%lld",
                          a->path, (unsigned long long)s->room,
                          (unsigned long long)least, (long long)job->in.cols,
                          (long long)job->window->reach);
}

/* Those that can take part: plan->shares. Returns how many. */
static hr_status list_shares(const hri_filter_job *job,
                             hri_accelerator *const *accelerators,
                             uint32_t count, hri_filter_plan *plan,
                             uint32_t *found)
{
    hr_status status = HR_OK, refused = HR_OK;
    *found = 0;
    for (uint32_t i = 0; i < count && status == HR_OK; i++) {
        hri_share *s = &plan->shares[*found];
        *s = (hri_share){.accelerator = accelerators[i]};
        const hr_status fits = check_room(job, s);
        if (fits == HR_OK) {
            status = know_share(
                job, sharers(accelerators, count, accelerators[i]), s);
            ++*found;
        }
        refused = fits != HR_OK ? fits : refused;
    }
    return status != HR_OK || *found > 0 ? status : refused;
}

/* What a set is predicted from: its candidates are the first shares. */
typedef struct choice {
    const hri_filter_job *job;
    const hri_share *shares;
} choice;

static hr_status predict(void *data, const hri_candidate *set, uint32_t count,
                         double *seconds)
{
    const choice *c = data;
    (void)set;
    *seconds = seconds_of(c->job, c->shares, count);
    return HR_OK;
}

/* How many of the first take part. */
static hr_status choose(const hri_filter_job *job, uint32_t count,
                        hri_filter_plan *plan)
{
    choice c = {job, plan->shares};
    hri_set set = {0};
    hri_candidate *all = calloc(count, sizeof *all);
    if (all == NULL) {
        return hri_fail(HR_ERROR_OUT_OF_MEMORY, "filter: out of memory");
    }
    for (uint32_t i = 0; i < count; i++) { /* siblings slow each other, which
                                              their rows tell already */
        all[i] = (hri_candidate){
            .index = i, .device = i, .seconds = plan->shares[i].row};
    }
    hr_status status = hri_choose_set(all, count, predict, &c, &set);
    plan->count = set.count > 0 ? set.count : 1;
    plan->seconds = set.seconds;
    free(all);
    return status;
}

hr_status hri_filter_plan_make(const hri_filter_job *job,
                               hri_accelerator *const *accelerators,
                               uint32_t count, hri_filter_plan *plan)
{
    hr_status status = list_shares(job, accelerators, count, plan, &count);
    if (status != HR_OK) {
        return status;
    }
    qsort(plan->shares, count, sizeof plan->shares[0], by_row);
    status = choose(job, count, plan);
    const hri_share *s = &plan->shares[0];
    plan->bound = s->link > s->compute ? HR_BOUND_LINK : HR_BOUND_COMPUTE;
    return status == HR_OK ? cut(job, plan) : status;
}
