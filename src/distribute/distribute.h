/* SPDX-License-Identifier: MIT */
/* Which accelerators take part, and how many rows each of them gets. Pure: no
 * clock, no lock, no accelerator. */
#ifndef HRI_DISTRIBUTE_DISTRIBUTE_H
#define HRI_DISTRIBUTE_DISTRIBUTE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

/* ---- shares of units */

/* The part of one accelerator: units first to before first + count. */
typedef struct hri_portion {
    double weight;        /* speed in any unit; 0: it takes no part */
    int64_t most;         /* units that its memory holds; INT64_MAX: no limit */
    int64_t first, count; /* out */
    int64_t rest;         /* what rounding down left: distribute.c's own */
    bool full;            /* has all that it can hold: likewise */
} hri_portion;

/* Whether portion `index` can hold these units. What it can hold is a limit for
 * all that is larger. */
typedef hr_status hri_fits(void *data, uint32_t index, int64_t first,
                           int64_t count, bool *fits);

typedef struct hri_distribution {
    int64_t units; /* 1 or more */
    int64_t grain; /* portions are whole grains; the last grain may be short,
                      and counts as whole where memory is concerned */
    hri_portion *portions;
    uint32_t count;
    hri_fits *fits; /* NULL: `most` is the only limit */
    void *data;     /* of fits */
} hri_distribution;

/* Give all units to the portions, in their order.
 *
 * Shares are in proportion to the weights. A portion that would get more than
 * it holds is full, and the others share the rest, in proportion again. Shares
 * are rounded down to grains, and what is left goes grain by grain to the
 * portions that lost most by that, the first of equal ones. The arithmetic is
 * in integers, so the same arguments give the same portions everywhere. More
 * weight never gives fewer units, as long as `fits` is NULL.
 *
 * `fits` is asked of portions as they would be. What does not fit lowers
 * `most`, and all is shared out again.
 *
 * Not *held: together they do not hold the units, and portions are undefined.
 * HR_ERROR_INVALID, in the words of hr_split, when a weight is negative or not
 * finite or all are 0; else only what `fits` returns. */
hr_status hri_distribute(const hri_distribution *d, bool *held);

/* ---- bisection */

/* Whether so many still have a property that fewer have, too. */
typedef hr_status hri_holds(void *data, int64_t count, bool *holds);

/* The largest number from low to below high for which it holds; `low` is not
 * asked for. On an error the best so far. */
hr_status hri_bisect(int64_t low, int64_t high, hri_holds *holds, void *data,
                     int64_t *largest);

/* ---- sets */

typedef struct hri_candidate {
    uint32_t index;  /* the caller's */
    uint32_t device; /* siblings, of one device, have the same number */
    uint32_t ahead;  /* siblings that are faster: hri_choose_set's own */
    double seconds;  /* for all of the work, alone */
} hri_candidate;

typedef struct hri_set {
    uint32_t count; /* the first so many candidates; 0: no set can */
    double seconds; /* predicted; INFINITY: no set can */
} hri_set;

/* Predict what the work takes when these share it. INFINITY: they cannot. */
typedef hr_status hri_predict(void *data, const hri_candidate *set,
                              uint32_t count, double *seconds);

/* Sort the candidates: the fastest first, one of each device before siblings,
 * which gain nothing before others do; of equal ones the first index. Then try
 * the first one, the first two, ... A larger set is taken if it pays
 * (hri_model_pays) beside the best smaller one.
 *
 * set->count in: how many work now, so that another number of them must pay
 * beside that one; 0: none does. */
hr_status hri_choose_set(hri_candidate *candidates, uint32_t count,
                         hri_predict *predict, void *data, hri_set *set);

#endif
