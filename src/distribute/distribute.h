/* SPDX-License-Identifier: MIT */
/* Which accelerators take part, and how many rows or which tiles each of them
 * gets. These are pure functions: no clock, no lock, no accelerator. */
#ifndef HRI_DISTRIBUTE_DISTRIBUTE_H
#define HRI_DISTRIBUTE_DISTRIBUTE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

/* ---- shares of units */

/* The share of one accelerator: units first to before first + count. */
typedef struct hri_share {
    double weight;        /* speed in any unit; 0: gets nothing */
    int64_t most;         /* the most units its memory holds; INT64_MAX: no
                             limit */
    int64_t first, count; /* out */
    int64_t rest;         /* what rounding down left; used by distribute.c
                             only */
    bool full;            /* has its limit; used by distribute.c only */
} hri_share;

/* Whether share `index` can hold these units. If it cannot hold some number,
 * it can hold no larger number. */
typedef hr_status hri_fits(void *data, uint32_t index, int64_t first,
                           int64_t count, bool *fits);

typedef struct hri_distribution {
    const char *caller; /* begins messages */
    int64_t units;      /* 1 or more */
    int64_t grain;      /* shares are whole grains; the last grain may be short,
                           and counts as whole against `most` */
    hri_share *shares;
    uint32_t count;
    hri_fits *fits; /* NULL: `most` is the only limit */
    void *data;     /* for fits */
} hri_distribution;

/* Give all units to the shares, in order.
 *
 * Shares are in proportion to the weights. A share that would get more than
 * it holds is full. The others share the rest, in proportion again. Shares are
 * rounded down to grains. What is left goes grain by grain to the shares that
 * lost most by rounding, the first of equal ones. The arithmetic is in
 * integers, so the same arguments give the same shares everywhere. More
 * weight never gives fewer units, as long as `fits` is NULL.
 *
 * `fits` is asked about the shares that result. Where one does not fit, its
 * `most` is lowered and all units are distributed again.
 *
 * *held is false when the shares together do not hold the units. The shares
 * are undefined then. HR_ERROR_INVALID when a weight is negative or not finite,
 * or all are 0. Otherwise the only errors are those
 * of `fits`. */
hr_status hri_distribute(const hri_distribution *d, bool *held);

/* ---- bisection */

/* Whether `count` has a property. If a number has it, all smaller ones must
 * have it, too. */
typedef hr_status hri_holds(void *data, int64_t count, bool *holds);

/* The largest number from low to below high that has the property. `low` is
 * assumed to have it. After an error, the largest found so far. */
hr_status hri_bisect(int64_t low, int64_t high, hri_holds *holds, void *data,
                     int64_t *largest);

/* ---- sets */

typedef struct hri_candidate {
    uint32_t index;  /* the caller's own number for it */
    uint32_t device; /* siblings on one device have the same number */
    uint32_t ahead;  /* number of faster siblings; used by hri_choose_set
                        only */
    double seconds;  /* for all of the work, alone */
} hri_candidate;

typedef struct hri_set {
    uint32_t count; /* how many of the sorted candidates; 0: no set can do it */
    double seconds; /* predicted; INFINITY: no set can do it */
} hri_set;

/* Predict the time of the work when this set shares it. INFINITY: it cannot. */
typedef hr_status hri_predict(void *data, const hri_candidate *set,
                              uint32_t count, double *seconds);

/* Sort the candidates: the fastest first, and one of each device before its
 * siblings, which gain nothing before others do. Of equal ones the lower index
 * is first. Then try the first one, the first two, ... A larger set is taken if
 * it pays (hri_model_pays) beside the best smaller one.
 *
 * On input, set->count is the number that works now, 0 if none: another number
 * must pay beside this one. */
hr_status hri_choose_set(hri_candidate *candidates, uint32_t count,
                         hri_predict *predict, void *data, hri_set *set);

/* ---- partition.c: a rectangle of tiles for accelerators of different speed
 *
 * The rectangle is cut into columns, and each column into one box for each of
 * its accelerators. Every box's area is in proportion to its speed, and the
 * boxes are about square. This is the column-based partition of
 * [Beaumont2001]. Accelerators in one column are neighbours in the order of
 * speed. */

/* Sort accelerators by value, the largest first. Of equal ones the lower index
 * is first. */
typedef struct hri_ranked {
    double worth;
    uint32_t index;
} hri_ranked;

void hri_rank(hri_ranked *all, uint32_t count);

typedef struct hri_partition {
    uint32_t count; /* boxes */
    uint32_t columns;
    uint32_t *order;   /* [count] accelerators, fastest first */
    uint32_t *first;   /* [columns + 1] where each column starts in `order` */
    double *edges;     /* [count + columns] row edges in each column, from 0 to
                          1 */
    double *col_edges; /* [columns + 1] column edges, from 0 to 1 */
} hri_partition;

/* Tiles [row0, row1) x [col0, col1). */
typedef struct hri_tile_box {
    int32_t row0, row1, col0, col1;
} hri_tile_box;

/* Cut a rectangle of height : width for accelerators of these speeds (all
 * positive). HR_ERROR_OUT_OF_MEMORY. */
hr_status hri_partition_create(const double *speeds, uint32_t count,
                               double height, double width,
                               hri_partition **partition);
void hri_partition_destroy(hri_partition *partition); /* accepts NULL */

/* The number of tile rows (or columns) to cut the rectangle into, from least to
 * most: as few as balance well. *balance is the share of the busiest box over
 * its fair share, at least 1. */
int64_t hri_partition_tiles(const hri_partition *partition, bool rows,
                            int64_t least, int64_t most, double *balance);

/* The tiles of every box when there are rows x cols of them. boxes is indexed
 * by accelerator. Together the boxes hold each tile once. Some may be
 * empty. */
void hri_partition_boxes(const hri_partition *partition, int64_t rows,
                         int64_t cols, hri_tile_box *boxes);

#endif
