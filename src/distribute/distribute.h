/* SPDX-License-Identifier: MIT */
/* Which accelerators take part, and how many rows or which tiles each of them
 * gets. Pure: no clock, no lock, no accelerator. */
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

/* ---- partition.c: a rectangle of tiles for accelerators of different speed
 *
 * The rectangle is cut into columns and each column into as many pieces as it
 * has accelerators, so that every piece's area is in proportion to its speed
 * and the pieces are about square: the column-based partition of
 * [Beaumont2001], with columns of neighbours in the order of speed. */

/* Accelerators, those that are worth most first; of equal ones the first index.
 */
typedef struct hri_ranked {
    double worth;
    uint32_t index;
} hri_ranked;

void hri_rank(hri_ranked *all, uint32_t count);

typedef struct hri_partition {
    uint32_t count; /* pieces */
    uint32_t columns;
    uint32_t *order;   /* [count] accelerators, fastest first */
    uint32_t *first;   /* [columns + 1] where each column starts in order */
    double *edges;     /* [count + columns] row edges inside each column, each
                          column's from 0 to 1 */
    double *col_edges; /* [columns + 1] from 0 to 1 */
} hri_partition;

/* Tiles [row0, row1) x [col0, col1). */
typedef struct hri_rect {
    int32_t row0, row1, col0, col1;
} hri_rect;

/* Cut a rectangle of height : width for accelerators of these speeds (all
 * positive). HR_ERROR_OUT_OF_MEMORY. */
hr_status hri_partition_create(const double *speeds, uint32_t count,
                               double height, double width,
                               hri_partition **partition);
void hri_partition_destroy(hri_partition *partition); /* accepts NULL */

/* How many tile rows (or columns) to cut the rectangle into: from least to
 * most, as few as serve an even balance. *balance is the busiest piece's share
 * over its fair share, at least 1. */
int64_t hri_partition_tiles(const hri_partition *partition, bool rows,
                            int64_t least, int64_t most, double *balance);

/* The tiles of every piece when there are rows x cols of them; rects is indexed
 * by accelerator. Together they hold each tile once; some may be empty. */
void hri_partition_rects(const hri_partition *partition, int64_t rows,
                         int64_t cols, hri_rect *rects);

#endif
