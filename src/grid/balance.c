/* SPDX-License-Identifier: MIT */
#include "grid/balance.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "model/learn.h"
#include "model/model.h"
#include "runtime/relay.h"

enum {
    KERNELS = 4, /* that are timed, from the first on */
    SOON = 8,    /* the first steps that are timed are 1 and 1 + SOON ... */
    PERIOD = 64, /* ... and then every so many */
    MOST_STEPS_CHOSEN = 16 /* from one exchange, of our choice */
};

/* A kernel on the inner rows of a band. */
typedef struct timing {
    hri_event *start, *end;
    double rows; /* 0: it was not timed */
} timing;

struct hri_balance {
    uint32_t bands;
    bool timing, pending;    /* this step is timed; one is that is not done */
    int64_t next;            /* the step to be timed */
    double *pace;            /* seconds for a row, of each band; 0: not known */
    hri_learned *learned;    /* the same, as it is learned */
    hri_overheads overheads; /* the most of any */
    timing *timings;         /* [band][kernel] */
};

static timing *timing_of(const hri_balance *b, uint32_t band, size_t kernel)
{
    return &b->timings[band * KERNELS + kernel];
}

void hri_balance_destroy(hri_balance *balance)
{
    if (balance == NULL) {
        return;
    }
    for (uint32_t i = 0;
         balance->timings != NULL && i < balance->bands * KERNELS; i++) {
        timing *t = &balance->timings[i];
        if (t->start != NULL) {
            t->start->ops->destroy(t->start);
        }
        if (t->end != NULL) {
            t->end->ops->destroy(t->end);
        }
    }
    free(balance->timings);
    free(balance->pace);
    free(balance->learned);
    free(balance);
}

static hr_status create_events(const hr_grid *grid, hri_balance *b)
{
    hr_status status = HR_OK;
    for (uint32_t i = 0; i < b->bands && status == HR_OK; i++) {
        hri_accelerator *a =
            &grid->context->accelerators[grid->bands[i].accelerator];
        for (size_t k = 0; k < KERNELS && status == HR_OK; k++) {
            timing *t = timing_of(b, i, k);
            status = hri_relay_event_create(a, &t->start);
            if (status == HR_OK) {
                status = hri_relay_event_create(a, &t->end);
            }
        }
    }
    return status;
}

/* What enqueueing takes, the most of any band's accelerator. */
static hr_status know_overheads(const hr_grid *grid, hri_balance *b)
{
    hr_status status = HR_OK;
    pthread_mutex_lock(&grid->context->lock);
    for (uint32_t i = 0; i < b->bands && status == HR_OK; i++) {
        hri_overheads o;
        status = hri_model_overheads(
            &grid->context->accelerators[grid->bands[i].accelerator], true, &o);
        b->overheads.launch = fmax(b->overheads.launch, o.launch);
        b->overheads.copy = fmax(b->overheads.copy, o.copy);
    }
    pthread_mutex_unlock(&grid->context->lock);
    return status;
}

hr_status hri_balance_create(const hr_grid *grid, hri_balance **balance)
{
    const uint32_t bands = grid->band_count;
    *balance = NULL;
    if (grid->fixed || hri_grid_busy(grid) < 2) {
        return HR_OK;
    }
    hri_balance *b = calloc(1, sizeof *b);
    if (b != NULL) {
        *b = (hri_balance){
            .bands = bands,
            .next = 1,
            .pace = calloc(bands, sizeof *b->pace),
            .learned = calloc(bands, sizeof *b->learned),
            .timings = calloc((size_t)bands * KERNELS, sizeof *b->timings)};
    }
    hr_status status = HR_OK;
    if (b == NULL || b->pace == NULL || b->learned == NULL ||
        b->timings == NULL) {
        status = hri_fail(HR_ERROR_OUT_OF_MEMORY, "grid: out of memory");
    } else {
        status = create_events(grid, b);
    }
    if (status == HR_OK) {
        status = know_overheads(grid, b);
    }
    if (status != HR_OK) {
        hri_balance_destroy(b);
        return status;
    }
    *balance = b;
    return HR_OK;
}

/* ---- timing */

void hri_balance_begin(hr_grid *grid)
{
    hri_balance *b = grid->balance;
    if (b == NULL) {
        return;
    }
    b->timing = !b->pending && (int64_t)grid->state.steps >= b->next;
    for (uint32_t i = 0; b->timing && i < b->bands * KERNELS; i++) {
        b->timings[i].rows = 0;
    }
}

void hri_balance_forget(hr_grid *grid)
{
    if (grid->balance != NULL) {
        grid->balance->timing = grid->balance->pending = false;
    }
}

hri_event *hri_balance_start(hr_grid *grid, size_t kernel, uint32_t band,
                             int64_t rows)
{
    const hri_balance *b = grid->balance;
    if (b == NULL || !b->timing || kernel >= KERNELS || rows < 1) {
        return NULL;
    }
    timing *t = timing_of(b, band, kernel);
    t->rows = (double)rows;
    return t->start;
}

hr_status hri_balance_end(hr_grid *grid, size_t kernel, uint32_t band)
{
    hri_balance *b = grid->balance;
    hri_queue *queue = grid->bands[band].inner->queue;
    b->pending = true;
    return queue->ops->record(queue, timing_of(b, band, kernel)->end);
}

/* Whether all that was timed has run; the first time it is waited for, since
 * bands that were guessed may be far off. */
static bool is_done(const hri_balance *b)
{
    bool done = true;
    for (uint32_t i = 0; i < b->bands * KERNELS && done; i++) {
        hri_event *end = b->timings[i].end;
        if (b->timings[i].rows == 0) {
            continue;
        }
        hr_status status =
            b->next == 1 ? end->ops->wait(end) : end->ops->query(end, &done);
        done = done && status == HR_OK;
    }
    return done;
}

/* Seconds for a row of all kernels that were timed; 0: none was. */
static double pace_of(const hri_balance *b, uint32_t band)
{
    double pace = 0;
    for (size_t k = 0; k < KERNELS; k++) {
        const timing *t = timing_of(b, band, k);
        uint64_t ns = 0;
        if (t->rows > 0 &&
            t->start->ops->elapsed(t->start, t->end, &ns) == HR_OK) {
            pace += (double)ns * 1e-9 / t->rows;
        }
    }
    return pace;
}

/* What was timed beside what was known of it before. */
static void learn(const hr_grid *grid, hri_balance *b)
{
    for (uint32_t i = 0; i < b->bands; i++) {
        const double pace = pace_of(b, i);
        if (pace > 0) {
            const double rows =
                (double)(grid->bands[i].end - grid->bands[i].first);
            hri_model_saw(grid->context->model, HR_ENGINE_GRID,
                          rows * b->pace[i], rows * pace);
            (void)hri_learn(&b->learned[i], pace);
            b->pace[i] = hri_learned_by_now(&b->learned[i]);
        }
    }
    b->pending = false;
    b->next += b->next == 1 ? SOON : PERIOD;
}

/* ---- what follows */

/* Whether the pace of every band that has rows is known. */
static bool is_known(const hr_grid *grid)
{
    bool known = true;
    for (uint32_t i = 0; i < grid->band_count; i++) {
        known = known && (hri_band_is_empty(&grid->bands[i]) ||
                          grid->balance->pace[i] > 0);
    }
    return known;
}

/* What enqueueing a step takes when so many are made from one exchange: a
 * band's launches, and copies with its neighbours. On 2 H200s 47 us for two
 * bands with one and 21 with eight, 122 and 73 for four (2026-11). One band
 * needs no more than a launch. */
static double enqueueing(const hri_balance *b, uint32_t busy, uint32_t steps)
{
    const double exchange = b->overheads.launch + b->overheads.copy;
    return busy > 1 ? busy * exchange + 2 * (busy - 1) * exchange / steps : 0;
}

/* Seconds that a step of these bands takes: the slowest one's, or what it takes
 * to enqueue the work of several. */
static double step_of(const hri_balance *b, const hri_band *bands,
                      uint32_t steps)
{
    uint32_t busy = 0;
    double most = 0;
    for (uint32_t i = 0; i < b->bands; i++) {
        const double seconds =
            (double)(bands[i].end - bands[i].first) * b->pace[i];
        most = seconds > most ? seconds : most;
        busy += !hri_band_is_empty(&bands[i]);
    }
    const double least = enqueueing(b, busy, steps);
    return most > least ? most : least;
}

/* Seconds that moving is taken to cost, at the least. */
static double cost_of(const hr_grid *grid)
{
    double bytes = 0;
    for (uint32_t f = 0; f < grid->field_count; f++) {
        bytes += (double)hri_slab_row_bytes(grid, &grid->fields[f]) *
                 (double)grid->extent.size[0];
    }
    return hri_model_moving() + bytes / hri_guess(HRI_GUESS_LINK);
}

/* Bands for the `most` fastest accelerators by their pace. */
static hr_status lay_out(const hr_grid *grid, uint32_t most, double *weights,
                         hri_band *bands)
{
    const hri_balance *b = grid->balance;
    for (uint32_t i = 0; i < b->bands; i++) {
        uint32_t faster = 0;
        for (uint32_t j = 0; j < b->bands; j++) {
            faster += b->pace[j] > 0 && (b->pace[j] < b->pace[i] ||
                                         (j < i && b->pace[j] == b->pace[i]));
        }
        weights[i] = b->pace[i] > 0 && faster < most ? 1 / b->pace[i] : 0;
    }
    memcpy(bands, grid->bands, b->bands * sizeof *bands);
    pthread_mutex_lock(&grid->context->lock);
    hr_status status = hri_grid_lay_out(grid, weights, false, bands);
    pthread_mutex_unlock(&grid->context->lock);
    return status;
}

/* Give the bands rows by their pace, or all rows to fewer of them, when a step
 * is to be a tenth faster and those to come make up for it: at least as many as
 * were made. */
static hr_status move(hr_grid *grid, int64_t left)
{
    const hri_balance *b = grid->balance;
    const uint32_t deep = grid->wanted > 0 ? grid->wanted : MOST_STEPS_CHOSEN;
    const double least = 0.9, now = step_of(b, grid->bands, deep);
    const double steps = (double)left + (double)grid->state.steps;
    double *weights = calloc(b->bands, sizeof *weights);
    hri_band *bands = calloc(b->bands, sizeof *bands);
    double best = least * now;
    uint32_t used = 0;
    hr_status status = HR_OK;
    if (weights == NULL || bands == NULL) {
        status = hri_fail(HR_ERROR_OUT_OF_MEMORY, "grid: out of memory");
    }
    for (uint32_t n = 1; n <= b->bands && status == HR_OK; n++) {
        if (lay_out(grid, n, weights, bands) == HR_OK && /* else it is full */
            step_of(b, bands, deep) < best) {
            best = step_of(b, bands, deep);
            used = n;
        }
    }
    if (status == HR_OK && used > 0 && (now - best) * steps > cost_of(grid)) {
        status = lay_out(grid, used, weights, bands);
        if (status == HR_OK) {
            status = hr_grid_rebalance(grid, weights);
        }
    }
    free(weights);
    free(bands);
    return status;
}

/* Steps from one exchange, so that a step takes least: what is exchanged, less
 * often, and cells that two bands work out. Where a step takes long, exchanges
 * are hidden behind it. */
static uint32_t best_steps(const hr_grid *grid, const hr_stage *stages,
                           size_t count)
{
    const hri_balance *b = grid->balance;
    const double exchange = b->overheads.launch + b->overheads.copy;
    hri_rows need[HR_MOST_FIELDS], room[HR_MOST_FIELDS];
    uint32_t best = 1;
    int64_t reach = 0;
    double pace = 0, least = INFINITY;
    hri_stages_need(grid, stages, count, 0, 1, need, room);
    for (uint32_t f = 0; f < grid->field_count; f++) {
        reach = hri_max(reach,
                        hri_max(need[f].of[HRI_BEFORE], need[f].of[HRI_AFTER]));
    }
    for (uint32_t i = 0; i < b->bands; i++) {
        pace = b->pace[i] > pace ? b->pace[i] : pace;
    }
    for (uint32_t k = 1; k <= MOST_STEPS_CHOSEN; k *= 2) {
        double cost = step_of(b, grid->bands, k);
        cost += cost < 4 * exchange ? exchange / k : 0;
        cost += pace * (double)reach * (double)(k - 1);
        if (hri_model_pays(cost, least)) {
            least = cost;
            best = k;
        }
    }
    return best;
}

hr_status hri_balance_settle(hr_grid *grid, const hr_stage *stages,
                             size_t count, int64_t left)
{
    hri_balance *b = grid->balance;
    if (b == NULL) {
        return HR_OK;
    }
    b->timing = false;
    if (!b->pending || !is_done(b)) {
        return HR_OK;
    }
    learn(grid, b);
    if (!is_known(grid)) {
        return HR_OK;
    }
    hr_status status = move(grid, left);
    if (status == HR_OK) { /* a move has set them to one */
        const uint32_t steps =
            grid->wanted > 0 ? grid->wanted : best_steps(grid, stages, count);
        status = hri_grid_deepen(grid, stages, count, steps);
    }
    /* where there is no room, all stays as it is */
    return status == HR_ERROR_OUT_OF_MEMORY ? HR_OK : status;
}
