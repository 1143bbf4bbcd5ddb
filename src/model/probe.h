/* SPDX-License-Identifier: MIT */
/* Measuring: the one loop that tries jobs of growing size, and timing single
 * jobs by an accelerator's clock. */
#ifndef HRI_MODEL_PROBE_H
#define HRI_MODEL_PROBE_H

#include "runtime/runtime.h"

/* A kind of job that can have any size. */
typedef struct hri_trial {
    /* Prepare tries of `size` units. Optional, as is finish. */
    hr_status (*prepare)(void *data, int64_t size);
    /* Run one try to its end. A job with a clock of its own sets *seconds,
     * which is 0 before. */
    hr_status (*run)(void *data, double *seconds);
    /* Called after the tries of a size, also when prepare failed: wait, and
     * release what prepare took. */
    hr_status (*finish)(void *data);
    int64_t first, most; /* the smallest and the largest size to try */
    int64_t growth;      /* the ratio of a size to the size before */
    double enough;       /* seconds: a longer try may be the last one */
    /* The operations of a size. If it is set, tries go on until two in a row
     * that take `enough` have the same rate, to a twentieth. May be NULL. */
    double (*work)(const void *data, int64_t size);
    double most_seconds; /* with `work`: no further try where all tries and two
                            more would take longer than this */
} hri_trial;

typedef struct hri_probed {
    int64_t size;   /* the largest size tried, or with `work` the one with the
                       highest rate; 0: there was no room for any */
    double seconds; /* its shortest try, more than 0 */
    bool settled;   /* larger sizes were not left out for lack of memory */
} hri_probed;

/* The name of its queues. */
static const char hri_measure_name[] = "measure";

/* Call function with a copy of the job, which has so many bytes, and copy it
 * back, also after an error. What the accelerators do meanwhile is measuring:
 * timelines show it apart from the call that wants to know.
 *
 * It is called on another thread. When that shows no sign of work for so long
 * that one of the accelerators must hang, all of them are lost, and this
 * returns HR_ERROR_LOST. The function then goes on with its copy, and the
 * context stays (hri_runs_await). So it uses only what lies there, what stays
 * as long as the context, and what it frees itself. If one was lost before, the
 * function is not called. Measuring within measuring is called
 * directly. */
hr_status hri_measure(hri_accelerator *const *accelerators, uint32_t count,
                      hr_status (*function)(void *job), void *job,
                      size_t bytes);

/* Each try of hri_probe is a sign of work. So is this, in other loops. */
void hri_measure_sign(void);

/* Times of this length do not depend much on latency or on a clock's steps. */
static const double hri_long_enough = 2e-3;

/* The same for times that include an engine's launches. */
static const double hri_long_for_launches = 1e-2;

/* Try larger and larger jobs until one takes long enough or does not fit. The
 * first try of each size may build kernels. Lack of memory is not an error;
 * other errors are returned. */
hr_status hri_probe(const hri_trial *trial, void *data, hri_probed *found);

/* The copy of so many bytes in one chunk. */
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

/* A queue of the accelerator and two events to time jobs with, and memory for
 * jobs. */
typedef struct hri_stopwatch {
    hri_accelerator *accelerator;
    hri_queue *queue;
    hri_event *start, *end;
    hri_place places[3]; /* at most; neither buffer nor host: not taken */
} hri_stopwatch;

hr_status hri_stopwatch_open(hri_accelerator *accelerator, hri_stopwatch *w);

/* Wait for the queue, and free the accelerator's cached memory, since engines
 * need other sizes. A stopwatch that is open in part is accepted. */
void hri_stopwatch_close(hri_stopwatch *w);

/* Take a buffer, or pinned host memory. */
hr_status hri_stopwatch_take(hri_stopwatch *w, int place, uint64_t bytes,
                             bool host);

/* Wait for the queue, and release what was taken. */
hr_status hri_stopwatch_clear(hri_stopwatch *w);

/* The seconds of one product or one copy; the other is NULL. 0: the device's
 * clock has not moved. */
hr_status hri_stopwatch_time(const hri_stopwatch *w, const hri_gemm *gemm,
                             const hri_copy *copy, double *seconds);

#endif
