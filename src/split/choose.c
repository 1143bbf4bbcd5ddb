/* SPDX-License-Identifier: MIT */
/* Choosing which accelerators share a launch: the set and the bands with the
 * least predicted time. */
#include <math.h>
#include <stdlib.h>

#include "split/split.h"

/* Seconds that a row takes at least. A clock may have seen none. */
static const double least_row = 1e-15;

/* The seconds of an accelerator. */
typedef struct row_cost {
    double whole;  /* for views that it gets whole, whatever its rows */
    double row[2]; /* for a row that must be copied, and for one that is
                      there */
} row_cost;

typedef struct choice {
    hri_splitting *split;
    hri_candidate *candidates;
    row_cost *row_costs; /* [participants] */
    double *weights;
    bool *in_place; /* [set size]: bands are better if laid out as if all rows
                       were there */
    hri_hold hold;  /* what accelerators must have memory for */
} choice;

/* The first participant that shares a device with this one. */
static uint32_t device_of(const hri_splitting *s, uint32_t i)
{
    uint32_t first = 0;
    while (!hri_accelerators_same_kind(s->participants[first].accelerator,
                                       s->participants[i].accelerator)) {
        first++;
    }
    return first;
}

static hr_status list_candidates(const choice *c)
{
    const hri_splitting *s = c->split;
    const double rows = (double)s->domain.size[0];
    const hr_band everything = {.count = s->domain.size[0]};
    for (uint32_t i = 0; i < s->count; i++) {
        hri_participant *p = &s->participants[i];
        hri_cost cost;
        p->chunk = 0;
        if (c->hold == HRI_HOLD_CHUNKS) {
            HRI_TRY(hri_split_find_chunk(s, i, &everything, &p->chunk));
        }
        HRI_TRY(hri_split_cost(s, i, &everything, &cost));
        const double home = cost.home[HRI_PINNED] + cost.home[HRI_STAGED];
        const double up = cost.link[HRI_PINNED] + cost.link[HRI_STAGED] - home;
        const double sum =
            hri_split_seconds(p, &everything, up, home, cost.run);
        c->row_costs[i] =
            (row_cost){.whole = cost.whole,
                       .row = {fmax((sum - cost.whole) / rows, least_row),
                               fmax(cost.run / rows, least_row)}};
        c->candidates[i] = (hri_candidate){
            .index = i, .device = device_of(s, i), .seconds = sum};
    }
    return HR_OK;
}

/* The time at which all accelerators of a set are done. One that does not have
 * its whole views by then gets no rows. */
static double level_time(const choice *c, const hri_candidate *set,
                         uint32_t count, bool in_place)
{
    double time = INFINITY;
    for (uint32_t round = 0; round <= count; round++) {
        double rows = (double)c->split->domain.size[0], rate = 0;
        for (uint32_t i = 0; i < count; i++) {
            const row_cost *p = &c->row_costs[set[i].index];
            if (p->whole < time) {
                rows += p->whole / p->row[in_place];
                rate += 1 / p->row[in_place];
            }
        }
        time = rows / rate;
    }
    return time;
}

/* Set weights for a set, by the time for rows that are there, or for rows that
 * must be copied. */
static void weigh_set(const choice *c, const hri_candidate *set, uint32_t count,
                      bool in_place)
{
    const double time = level_time(c, set, count, in_place);
    for (uint32_t i = 0; i < c->split->count; i++) {
        c->weights[i] = 0;
    }
    for (uint32_t i = 0; i < count; i++) {
        const row_cost *p = &c->row_costs[set[i].index];
        c->weights[set[i].index] =
            fmax(0, (time - p->whole) / p->row[in_place]);
    }
}

/* Predict the time of the bands of a set. INFINITY when it has not enough
 * memory. */
static hr_status try_bands(const choice *c, const hri_candidate *set,
                           uint32_t count, bool in_place, double *seconds)
{
    hr_bound bound;
    bool held;
    *seconds = INFINITY;
    weigh_set(c, set, count, in_place);
    HRI_TRY(hri_split_cut(c->split, c->weights, c->hold, &held));
    if (!held) {
        return HR_OK;
    }
    if (c->hold != HRI_HOLD_ALL) {
        HRI_TRY(hri_split_find_chunks(c->split));
    }
    return hri_split_predict(c->split, seconds, &bound);
}

static hr_status predict_set(void *data, const hri_candidate *set,
                             uint32_t count, double *seconds)
{
    const choice *c = data;
    double in_place = INFINITY;
    HRI_TRY(try_bands(c, set, count, false, seconds));
    HRI_TRY(try_bands(c, set, count, true, &in_place));
    c->in_place[count - 1] = in_place < *seconds;
    *seconds = fmin(in_place, *seconds);
    return HR_OK;
}

/* Choose among the sets that have so much memory. */
static hr_status choose_with(choice *c, hri_hold hold, hri_set *set)
{
    *set = (hri_set){0};
    c->hold = hold;
    HRI_TRY(list_candidates(c));
    return hri_choose_set(c->candidates, c->split->count, predict_set, c, set);
}

/* Bands stream only if no set of accelerators has memory for all. If no set has
 * it for chunks, hri_split_require_chunks reports which accelerator lacks it.
 */
static hr_status choose_bands(choice *c)
{
    hri_set set;
    double seconds;
    HRI_TRY(choose_with(c, HRI_HOLD_ALL, &set));
    if (set.count == 0) {
        HRI_TRY(choose_with(c, HRI_HOLD_CHUNKS, &set));
    }
    if (set.count == 0) {
        HRI_TRY(choose_with(c, HRI_HOLD_ANY, &set));
    }
    const uint32_t count = set.count > 0 ? set.count : 1;
    return try_bands(c, c->candidates, count, c->in_place[count - 1], &seconds);
}

hr_status hri_split_choose(hri_splitting *s)
{
    choice c = {.split = s,
                .candidates = calloc(s->count, sizeof *c.candidates),
                .row_costs = calloc(s->count, sizeof *c.row_costs),
                .weights = calloc(s->count, sizeof *c.weights),
                .in_place = calloc(s->count, sizeof *c.in_place)};
    hr_status status;
    if (c.candidates == NULL || c.row_costs == NULL || c.weights == NULL ||
        c.in_place == NULL) {
        status = hri_fail(HR_ERROR_OUT_OF_MEMORY,
                          "%s: no memory to choose from %u accelerator%s",
                          hri_split_name(s), s->count, hri_plural(s->count));
    } else {
        status = choose_bands(&c);
    }
    free(c.candidates);
    free(c.row_costs);
    free(c.weights);
    free(c.in_place);
    return status;
}
