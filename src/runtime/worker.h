/* SPDX-License-Identifier: MIT */
/* Workers: the queue of each accelerator for kernels that the library spreads
 * over several accelerators, so that such work of successive calls is in order;
 * and which of it is being timed. All functions want the context's lock,
 * hri_accelerator_drop_worker the whole context. */
#ifndef HRI_RUNTIME_WORKER_H
#define HRI_RUNTIME_WORKER_H

#include "runtime/stream.h"

struct hri_worker {
    hri_stream *stream;
    hri_fence *last; /* behind all that it was given, held; NULL: nothing yet */
    hri_fence *start; /* right before the kernel that is timed, up to last;
                         held; NULL: none is */
    const hr_kernel *kernel; /* that is timed (src/model); NULL: none is */
    int64_t points;          /* of its rows, */
    double rows;             /* and how many */
};

/* Let the accelerator have a worker. One whose work is known to have failed is
 * replaced. */
hr_status hri_accelerator_worker(hri_accelerator *accelerator);

/* It was given something: let a fence stand behind it. When that fails, it has
 * been waited for. */
hr_status hri_worker_fence(hri_accelerator *accelerator);

/* Wait for it, and free it. None is accepted. */
void hri_accelerator_drop_worker(hri_accelerator *accelerator);

#endif
