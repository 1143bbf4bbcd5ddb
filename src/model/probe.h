/* SPDX-License-Identifier: MIT */
/* Measuring: the one loop that tries jobs, and the timing of single ones by an
 * accelerator's own clock. */
#ifndef HRI_MODEL_PROBE_H
#define HRI_MODEL_PROBE_H

#include "runtime/runtime.h"

/* A job of any size that is tried. */
typedef struct hri_trial {
    /* Get ready for tries of so many units. Optional, as is finish. */
    hr_status (*prepare)(void *data, int64_t size);
    /* One try, to its end. *seconds is 0 before, and is what it took if the job
     * has a clock of its own. */
    hr_status (*run)(void *data, double *seconds);
    /* After the tries of a size, also when getting ready failed: wait, and give
     * back what prepare took. */
    hr_status (*finish)(void *data);
    int64_t first, most; /* sizes that are tried, */
    int64_t growth;      /* each so many times the one before, */
    double enough;       /* until a try takes so many seconds */
} hri_trial;

typedef struct hri_probed {
    int64_t size; /* the largest that was tried; 0: there is no room for any */
    double seconds; /* the shortest try of it, more than 0 */
    bool settled;   /* it was not for want of memory that no larger one was */
} hri_probed;

/* What takes at least so long is not ruled by latency or a clock's steps. */
static const double hri_long_enough = 2e-3;

/* And so long, by that of an engine's launches. */
static const double hri_long_for_launches = 1e-2;

/* Try larger and larger jobs until one takes long enough or does not fit. The
 * first try of each may build kernels. Errors other than want of memory are
 * returned. */
hr_status hri_probe(const hri_trial *trial, void *data, hri_probed *found);

/* The copy of so many bytes in one piece. */
static inline hri_copy hri_flat_copy(hri_place to, hri_place from, size_t bytes)
{
    return (hri_copy){.to = to,
                      .from = from,
                      .to_pitch = bytes,
                      .from_pitch = bytes,
                      .width = bytes,
                      .height = 1,
                      .depth = 1};
}

/* A queue of the accelerator's and two events to time jobs with, and memory
 * that jobs work on. */
typedef struct hri_stopwatch {
    hri_accelerator *accelerator;
    hri_queue *queue;
    hri_event *start, *end;
    hri_place places[3]; /* at most; without any: not taken */
} hri_stopwatch;

hr_status hri_stopwatch_open(hri_accelerator *accelerator, hri_stopwatch *w);

/* Waits for the queue, and frees the accelerator's cached memory: engines need
 * other sizes. Accepts one that is open in part. */
void hri_stopwatch_close(hri_stopwatch *w);

/* A buffer, or pinned host memory. */
hr_status hri_stopwatch_take(hri_stopwatch *w, int place, uint64_t bytes,
                             bool host);

/* Wait for the queue, and give back what was taken. */
hr_status hri_stopwatch_clear(hri_stopwatch *w);

/* Seconds of one product or one copy, the other is NULL; 0: the device's clock
 * has not moved. */
hr_status hri_stopwatch_time(const hri_stopwatch *w, const hri_gemm *gemm,
                             const hri_copy *copy, double *seconds);

#endif
