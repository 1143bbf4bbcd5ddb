/* SPDX-License-Identifier: MIT */
/* What follows from the measured speeds of bands: other bands, and how many
 * steps are made from one exchange. */
#include "grid/step.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "distribute/distribute.h"
#include "grid/bands.h"
#include "model/model.h"

enum {
    SOON = 8,    /* steps 1 and 1 + SOON are the first ones that are timed */
    PERIOD = 64, /* then one step in so many is timed */
    MAX_STEPS_CHOSEN = 16 /* from one exchange, if the caller does not choose */
};

/* Learn from what was timed, and compare it with what was expected. */
static void learn_rows(const hr_grid *grid, hri_timing *b)
{
    for (uint32_t i = 0; i < b->count; i++) {
        const double row_seconds = hri_timing_row(b, i);
        if (row_seconds > 0) {
            const double rows =
                (double)(grid->bands[i].end - grid->bands[i].first);
            hri_model_saw(grid->context->model, HR_ENGINE_GRID,
                          rows * hri_timing_row_seconds(b, i),
                          rows * row_seconds);
            (void)hri_learn(&b->bands[i].row, row_seconds);
        }
    }
    b->pending = false;
    b->next += b->next == 1 ? SOON : PERIOD;
}

/* ---- decisions */

/* Whether the seconds for a row are known for every band that has rows. */
static bool is_known(const hr_grid *grid)
{
    bool known = true;
    for (uint32_t i = 0; i < grid->band_count; i++) {
        known = known && (hri_band_is_empty(&grid->bands[i]) ||
                          hri_timing_row_seconds(grid->timing, i) > 0);
    }
    return known;
}

/* Seconds to enqueue a step when `steps` steps are made from one exchange: a
 * band's launches, and copies with its neighbours. On 2 H200s this took 47 us
 * for two bands with one step and 21 with eight, and 122 and 73 for four bands
 * (2026-11). A single band only needs its launches, which do not count. */
static double enqueueing(const hri_timing *b, uint32_t busy, uint32_t steps)
{
    const double exchange = b->overheads.launch + b->overheads.copy;
    return busy > 1 ? busy * exchange + 2 * (busy - 1) * exchange / steps : 0;
}

/* Seconds for a step of these bands: those of the slowest band, or those for
 * enqueueing the work of several. */
static double step_of(const hri_timing *b, const hri_band *bands,
                      uint32_t steps)
{
    uint32_t busy = 0;
    double most = 0;
    for (uint32_t i = 0; i < b->count; i++) {
        const double seconds = (double)(bands[i].end - bands[i].first) *
                               hri_timing_row_seconds(b, i);
        most = seconds > most ? seconds : most;
        busy += !hri_band_is_empty(&bands[i]);
    }
    const double least = enqueueing(b, busy, steps);
    return most > least ? most : least;
}

/* An estimate of the seconds that moving all rows takes. */
static double cost_of(const hr_grid *grid)
{
    double bytes = 0;
    for (uint32_t f = 0; f < grid->field_count; f++) {
        bytes += (double)hri_storage_row_bytes(grid, &grid->fields[f]) *
                 (double)grid->extent.size[0];
    }
    return hri_model_moving + bytes / hri_guess(HRI_GUESS_LINK);
}

/* What to choose a grid's bands from. */
typedef struct choice {
    hr_grid *grid;
    uint32_t steps; /* from one exchange, as assumed for predictions */
    double *weights;
    hri_band *bands; /* only their rows are used */
} choice;

/* Lay out bands for the accelerators of a set by their speeds. */
static hr_status lay_out(const choice *c, const hri_candidate *set,
                         uint32_t count)
{
    const hri_timing *b = c->grid->timing;
    memset(c->weights, 0, b->count * sizeof *c->weights);
    for (uint32_t i = 0; i < count; i++) {
        c->weights[set[i].index] = 1 / hri_timing_row_seconds(b, set[i].index);
    }
    pthread_mutex_lock(&c->grid->context->lock);
    hr_status status = hri_grid_lay_out(c->grid, c->weights, false, c->bands);
    pthread_mutex_unlock(&c->grid->context->lock);
    return status;
}

static hr_status predict(void *data, const hri_candidate *set, uint32_t count,
                         double *seconds)
{
    const choice *c = data;
    *seconds = lay_out(c, set, count) == HR_OK /* else memory is too small */
                   ? step_of(c->grid->timing, c->bands, c->steps)
                   : INFINITY;
    return HR_OK;
}

/* List the accelerators with known speeds. */
static uint32_t list_candidates(const hr_grid *grid, hri_candidate *all)
{
    const hri_timing *b = grid->timing;
    uint32_t count = 0;
    for (uint32_t i = 0; i < b->count; i++) {
        const double row_seconds = hri_timing_row_seconds(b, i);
        if (row_seconds > 0) {
            all[count++] = (hri_candidate){
                .index = i, .device = i, .seconds = row_seconds};
        }
    }
    return count;
}

/* Give the bands rows by their speeds, possibly with fewer or more bands. This
 * is done when steps become clearly faster, and the time gained makes up for
 * the move. The steps to come are assumed to be at least as many as those
 * made. */
static hr_status rebalance(choice *c, hri_candidate *all, int64_t left)
{
    hr_grid *grid = c->grid;
    const double now = step_of(grid->timing, grid->bands, c->steps);
    const double steps = (double)left + (double)grid->state.steps;
    hri_set set = {.count = hri_grid_busy_bands(grid)};
    HRI_TRY(hri_choose_set(all, list_candidates(grid, all), predict, c, &set));
    if (set.count == 0 || !hri_model_pays(set.seconds, now) ||
        (now - set.seconds) * steps <= cost_of(grid)) {
        return HR_OK;
    }
    HRI_TRY(lay_out(c, all, set.count));
    return hri_grid_rebalance(grid, c->weights);
}

static hr_status move_bands(hr_grid *grid, int64_t left)
{
    const uint32_t bands = grid->band_count;
    choice c = {.grid = grid,
                .steps = grid->wanted > 0 ? grid->wanted : MAX_STEPS_CHOSEN,
                .weights = calloc(bands, sizeof *c.weights),
                .bands = calloc(bands, sizeof *c.bands)};
    hri_candidate *all = calloc(bands, sizeof *all);
    hr_status status = HR_OK;
    if (c.weights == NULL || c.bands == NULL || all == NULL) {
        status = hri_fail(HR_ERROR_OUT_OF_MEMORY, "grid: out of memory");
    } else {
        status = rebalance(&c, all, left);
    }
    free(c.weights);
    free(c.bands);
    free(all);
    return status;
}

/* The number of steps from one exchange with which a step takes least. More
 * steps need fewer exchanges, but two bands both compute some cells. Exchanges
 * are hidden behind a step that takes long. */
static uint32_t best_steps(const hr_grid *grid, const hr_phase *phases,
                           size_t count)
{
    const hri_timing *b = grid->timing;
    const double exchange = b->overheads.launch + b->overheads.copy;
    hri_rows need[HR_MAX_FIELDS], room[HR_MAX_FIELDS];
    uint32_t best = 1;
    int64_t reach = 0;
    double row_seconds = 0, least = INFINITY;
    hri_phases_need(grid, phases, count, 0, 1, need, room);
    for (uint32_t f = 0; f < grid->field_count; f++) {
        reach = hri_max(reach,
                        hri_max(need[f].of[HRI_BEFORE], need[f].of[HRI_AFTER]));
    }
    for (uint32_t i = 0; i < b->count; i++) {
        row_seconds = fmax(row_seconds, hri_timing_row_seconds(b, i));
    }
    for (uint32_t k = 1; k <= MAX_STEPS_CHOSEN; k *= 2) {
        double cost = step_of(b, grid->bands, k);
        cost += cost < 4 * exchange ? exchange / k : 0;
        cost += row_seconds * (double)reach * (double)(k - 1);
        if (hri_model_pays(cost, least)) {
            least = cost;
            best = k;
        }
    }
    return best;
}

hr_status hri_balance_settle(hr_grid *grid, const hr_phase *phases,
                             size_t count, int64_t left)
{
    hri_timing *b = grid->timing;
    if (b == NULL) {
        return HR_OK;
    }
    b->on = false;
    if (!b->pending || !hri_timing_is_done(b)) {
        return HR_OK;
    }
    learn_rows(grid, b);
    if (!is_known(grid)) {
        return HR_OK;
    }
    hr_status status = move_bands(grid, left);
    if (status == HR_OK) { /* a move has set the number to one */
        const uint32_t steps =
            grid->wanted > 0 ? grid->wanted : best_steps(grid, phases, count);
        status = hri_grid_widen(grid, phases, count, steps);
    }
    /* without memory everything stays as it is */
    return status == HR_ERROR_OUT_OF_MEMORY ? HR_OK : status;
}
