/* SPDX-License-Identifier: MIT */
/* Launches of a box of a domain, with windows of views. */
#ifndef HRI_ARRAYS_LAUNCH_H
#define HRI_ARRAYS_LAUNCH_H

#include <headrace/kernel.h>

#include "runtime/runtime.h"

/* The limit of a TILE argument. No device has more. The sum of all is kept in
 * 32 bits (CUDA), and each thread has them once (host). */
enum { HRI_MAX_TILE_BYTES = 1 << 28 };

/* What a kernel is told of a view: it starts at element `first` of something
 * larger, and indices count in the larger one. */
typedef struct hri_window {
    int64_t first[HR_MAX_KERNEL_RANK];
    int64_t extent[HR_MAX_KERNEL_RANK]; /* of the larger one */
} hri_window;

/* The box of a domain from first on and before end. It may lie outside of the
 * extent. All three have the same rank. */
typedef struct hri_launch_box {
    hr_extent domain;
    int64_t first[HR_MAX_KERNEL_RANK], end[HR_MAX_KERNEL_RANK];
    int64_t step[HR_MAX_KERNEL_RANK]; /* points of an item; 1 in the last
                                         dimension */
    const hr_extent *tile;            /* in items; NULL: choose a usual tile */
    const hri_window *windows; /* of each argument; NULL: views are whole */
    hri_fence **start; /* out: a fence right before the kernel, held by the
                          caller; NULL: not wanted */
    const hri_epilogue *epilogue; /* NULL: none; for the host alone */
    struct hri_chunks *chunks; /* the call that this launch is a chunk of, for
                                  the checker; the caller tells what is found;
                                  NULL: there is none */
    bool kept; /* in a graph: the views are in place already, and uses are
                  noted when the graph is run */
} hri_launch_box;

/* The box that is the whole domain. */
hri_launch_box hri_launch_box_of(hr_extent domain);

/* tile.c: set rank and domain of a launch to those of a box. The launch's
 * kernel is set. A box without a tile gets one of the usual extent. */
hr_status hri_tile_choose(hri_launch *launch, const hri_launch_box *box,
                          bool host);

/* Whether the launch's module can run its tiles and has the memory for them.
 * Tiles that Headrace has chosen (`ours`) are made smaller until it can. The
 * host has no module and runs all tiles. */
hr_status hri_tile_fit(hri_launch *launch, bool ours,
                       const hr_argument *arguments);

/* launch.c: give a view of a higher rank the parameter's rank, if its elements
 * allow it. Other arguments stay as they are. */
void hri_argument_flatten(const hr_parameter *parameter, hr_argument *argument);

/* launch.c: hr_launch in a box. If the box has windows, views have their
 * parameters' rank. Kernel and list are not NULL. If queue is NULL, the launch
 * is only checked against the rules that need no accelerator. The caller holds
 * the context's lock. */
hr_status hri_launch_in_box(hr_context *context, hr_queue *queue,
                            const hr_kernel *kernel, const hri_launch_box *box,
                            const hr_argument *arguments, size_t count);

#endif
