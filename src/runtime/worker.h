/* SPDX-License-Identifier: MIT */
/* Workers: the queue of each accelerator for kernels that the library spreads
 * over several accelerators, so that such work of successive calls is in order;
 * and how long kernels took on it. All functions want the context's lock,
 * hri_accelerator_drop_worker the whole context. */
#ifndef HRI_RUNTIME_WORKER_H
#define HRI_RUNTIME_WORKER_H

#include "runtime/stream.h"

/* What a kernel takes for a row of so many points, in seconds; 0: not known. */
typedef struct hri_pace {
    const hr_kernel *kernel;
    int64_t points;
    double seconds; /* the lesser of the last two times */
    double last;
    struct hri_pace *next;
} hri_pace;

struct hri_worker {
    hri_stream *stream;
    hri_fence *last; /* behind all that it was given, held; NULL: nothing yet */
    hri_fence *start; /* right before the kernel that is timed, up to last;
                         held; NULL: none is */
    hri_pace *timed;  /* NULL: none is */
    double rows;
    hri_pace *paces;
};

/* Let the accelerator have a worker. One whose work is known to have failed is
 * replaced. */
hr_status hri_accelerator_worker(hri_accelerator *accelerator);

/* It is given so many rows of a kernel: *start gets a fence right before.
 * Rows count as often as there are accelerators that share the device with it.
 * What went before and is not done by now is timed no more. */
hr_status hri_worker_time(hri_accelerator *accelerator, const hr_kernel *kernel,
                          int64_t points, double rows, hri_fence ***start);

/* It was given something: let a fence stand behind it. When that fails, it has
 * been waited for. */
hr_status hri_worker_fence(hri_accelerator *accelerator);

/* What a row of a kernel takes on the accelerator when it has the device alone,
 * by what is done by now; 0: not known. */
double hri_accelerator_pace(hri_accelerator *accelerator,
                            const hr_kernel *kernel, int64_t points);

/* Wait for it, and free it. None is accepted. */
void hri_accelerator_drop_worker(hri_accelerator *accelerator);

#endif
