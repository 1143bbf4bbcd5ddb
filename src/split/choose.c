/* SPDX-License-Identifier: MIT */
/* Which accelerators share a launch, and how: the set and the bands with the
 * least time foreseen. Sets are the quickest one alone, the quickest two, ...
 */
#include <math.h>
#include <stdlib.h>

#include "split/split.h"

/* What one more accelerator must gain at least: what they take from each other
 * of the host's memory is not foreseen. */
static const double clearly_less = 0.9;

/* An accelerator in the order in which sets grow. */
typedef struct candidate {
    uint32_t index;         /* of its runner */
    uint32_t brother;       /* how many alike are quicker */
    double alone;           /* seconds for all rows */
    double whole, row, run; /* fixed ones, and those for a row: in all, and of
                               the kernel */
} candidate;

static int compare(const void *left, const void *right)
{
    const candidate *a = left, *b = right;
    if (a->brother != b->brother) { /* they gain nothing before others do */
        return a->brother < b->brother ? -1 : 1;
    }
    if (a->alone != b->alone) {
        return a->alone < b->alone ? -1 : 1;
    }
    return a->index < b->index ? -1 : a->index > b->index;
}

static hri_accelerator *accelerator_of(const hri_splitting *s,
                                       const candidate *c)
{
    return s->runners[c->index].accelerator;
}

static hr_status rank(const hri_splitting *s, candidate *all)
{
    const double rows = (double)s->domain.size[0];
    const hr_band everything = {.count = s->domain.size[0]};
    for (uint32_t i = 0; i < s->count; i++) {
        hri_cost c;
        hr_status status = hri_split_cost(s, i, &everything, &c);
        if (status != HR_OK) {
            return status;
        }
        const double sum = c.link[HRI_PINNED] + c.link[HRI_STAGED] + c.run;
        all[i] = (candidate){.index = i,
                             .alone = sum,
                             .whole = c.whole,
                             .row = (sum - c.whole) / rows,
                             .run = c.run / rows};
    }
    qsort(all, s->count, sizeof *all, compare);
    for (uint32_t i = 0; i < s->count; i++) {
        for (uint32_t j = 0; j < i; j++) {
            all[i].brother += hri_accelerators_alike(
                accelerator_of(s, &all[j]), accelerator_of(s, &all[i]));
        }
    }
    qsort(all, s->count, sizeof *all, compare);
    return HR_OK;
}

static double row_of(const candidate *c, bool in_place)
{
    return in_place ? c->run : c->row;
}

/* The time at which the accelerators of a set are done together, some of which
 * may not even begin by then. */
static double level(const hri_splitting *s, const candidate *set,
                    uint32_t count, bool in_place)
{
    double time = INFINITY;
    for (uint32_t round = 0; round <= count; round++) {
        double rows = (double)s->domain.size[0], rate = 0;
        for (uint32_t i = 0; i < count; i++) {
            if (set[i].whole < time) {
                rows += set[i].whole / row_of(&set[i], in_place);
                rate += 1 / row_of(&set[i], in_place);
            }
        }
        time = rows / rate;
    }
    return time;
}

/* Weights of a set, by what rows take when they are there already, or when they
 * have to come. */
static void weigh(const hri_splitting *s, const candidate *set, uint32_t count,
                  bool in_place, double *weights)
{
    const double time = level(s, set, count, in_place);
    for (uint32_t i = 0; i < s->count; i++) {
        weights[i] = 0;
    }
    for (uint32_t i = 0; i < count; i++) {
        weights[set[i].index] =
            fmax(0, (time - set[i].whole) / row_of(&set[i], in_place));
    }
}

static void keep(const hri_splitting *s, const double *weights)
{
    for (uint32_t i = 0; i < s->count; i++) {
        s->runners[i].weight = weights[i];
    }
}

/* What a set would take; INFINITY when it has not the memory for it and that
 * matters. */
static hr_status try_set(hri_splitting *s, const candidate *all, uint32_t count,
                         bool in_place, bool limited, double *weights,
                         double *seconds)
{
    hr_bound bound;
    bool fits = true;
    *seconds = INFINITY;
    weigh(s, all, count, in_place, weights);
    hr_status status =
        limited ? hri_split_fit(s, weights, &fits) : hri_split_cut(s, weights);
    return status == HR_OK && fits ? hri_split_foresee(s, seconds, &bound)
                                   : status;
}

/* Try sets of one, two, ...; the runners' weights are those of the best, which
 * takes *least. */
static hr_status grow(hri_splitting *s, const candidate *all, bool limited,
                      double *weights, double *least)
{
    for (uint32_t count = 1; count <= s->count; count++) {
        double before = *least;
        for (int in_place = 0; in_place < 2; in_place++) {
            double seconds;
            hr_status status = try_set(s, all, count, in_place != 0, limited,
                                       weights, &seconds);
            if (status != HR_OK) {
                return status;
            }
            if (seconds < *least && seconds < clearly_less * before) {
                *least = seconds;
                keep(s, weights);
            }
        }
    }
    return HR_OK;
}

/* Where no set has the memory, launching will tell who has not. */
static hr_status choose(hri_splitting *s, const candidate *all, double *weights)
{
    double least = INFINITY;
    hr_status status = grow(s, all, true, weights, &least);
    if (status == HR_OK && isinf(least)) {
        status = grow(s, all, false, weights, &least);
    }
    for (uint32_t i = 0; i < s->count; i++) {
        weights[i] = s->runners[i].weight;
    }
    return status == HR_OK ? hri_split_cut(s, weights) : status;
}

hr_status hri_split_choose(hri_splitting *s)
{
    candidate *all = calloc(s->count, sizeof *all);
    double *weights = calloc(s->count, sizeof *weights);
    hr_status status = HR_OK;
    if (all == NULL || weights == NULL) {
        status = hri_fail(HR_ERROR_OUT_OF_MEMORY,
                          "%s: no memory to choose from %u accelerators",
                          s->kernel->name, s->count);
    }
    if (status == HR_OK) {
        status = rank(s, all);
    }
    if (status == HR_OK) {
        status = choose(s, all, weights);
    }
    free(all);
    free(weights);
    return status;
}
