/* SPDX-License-Identifier: MIT */
/* A rectangle of tiles for accelerators of different speed.
 *
 * The rectangle is cut into columns and each column into as many pieces as it
 * has accelerators, so that every piece's area is in proportion to its speed
 * and the pieces are about square: the column-based partition of
 * [Beaumont2001], with columns of neighbours in the order of speed. */
#ifndef HRI_DISTRIBUTE_PARTITION_H
#define HRI_DISTRIBUTE_PARTITION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

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
