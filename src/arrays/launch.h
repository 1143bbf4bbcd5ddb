/* SPDX-License-Identifier: MIT */
/* Launches of a part of a domain, with windows of views. */
#ifndef HRI_ARRAYS_LAUNCH_H
#define HRI_ARRAYS_LAUNCH_H

#include <headrace/kernel.h>

#include "runtime/runtime.h"

/* Of a TILE argument. More than any device has; the sum of all is kept in 32
 * bits (CUDA), and once for each thread (host). */
enum { HRI_MAX_TILE_BYTES = 1 << 28 };

/* What a kernel is told of a view: that it is the elements from `first` on of
 * something larger, all of which indices count. */
typedef struct hri_window {
    int64_t first[HR_MAX_RANK];
    int64_t extent[HR_MAX_RANK]; /* of the whole */
} hri_window;

/* The points from first to before end of a domain of this extent, which they
 * may also lie outside of; all count as one rank. */
typedef struct hri_part {
    hr_extent domain;
    int64_t first[HR_MAX_RANK], end[HR_MAX_RANK];
    int64_t step[HR_MAX_RANK]; /* points of an item; 1 in the last dimension */
    const hr_extent *tile;     /* of items; NULL: a usual one */
    const hri_window *windows; /* of each argument; NULL: views are whole */
    hri_fence **start; /* gets a fence right before the kernel, held, unless it
                          is NULL */
    bool kept; /* in a graph: its views are there already, and whoever runs the
                  graph tells others of it */
} hri_part;

/* All of a domain. */
hri_part hri_part_of(hr_extent domain);

/* tile.c: set rank and domain of a launch, whose kernel is set, to those of a
 * part, in its tiles or, when it has none, in those of a usual extent. */
hr_status hri_tile_choose(hri_launch *launch, const hri_part *part, bool host);

/* Whether the launch's module takes its tiles and memory of the tile; tiles
 * that are ours are made smaller. The host, without a module, takes all. */
hr_status hri_tile_fit(hri_launch *launch, bool ours,
                       const hr_argument *arguments);

/* launch.c: hr_launch of a part, whose kernel and list are not NULL. Where the
 * queue is NULL, it is only checked, as far as the rules need no accelerator.
 * The caller holds the context's lock. */
hr_status hri_launch_part(hr_context *context, hr_queue *queue,
                          const hr_kernel *kernel, const hri_part *part,
                          const hr_argument *arguments, size_t count);

#endif
