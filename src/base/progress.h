/* SPDX-License-Identifier: MIT */
/* What a long call tells the program of its progress, and whether it shall go
 * on. The program's function is called by the thread of the call alone: at the
 * start, about ten times a second, and at the end.
 *
 * The call's thread watches while others work (hri_progress_call), or tells
 * between two pieces of its own work (hri_progress_add). Threads look at a flag
 * before each piece, so a cancelled call ends with the pieces under way.
 * Engines make smaller pieces when there is a function: a filter plans lower
 * ones, a band of a launch runs as if it streamed, and a grid waits after
 * rounds of steps. Without a function nothing of this happens. */
#ifndef HRI_BASE_PROGRESS_H
#define HRI_BASE_PROGRESS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "base/status.h"

/* Milliseconds between two calls of the function: 100. Only tests change it. */
extern uint32_t hri_progress_ms;

static inline double hri_progress_seconds(void)
{
    return (double)hri_progress_ms / 1000.0;
}

typedef struct hri_progress {
    const char *call;              /* messages begin with it */
    hr_progress_function function; /* NULL: none */
    void *data;
    double total;
    pthread_t caller;
    double told;               /* how much is done, as told last, */
    uint64_t told_ns;          /* and when; 0: not yet */
    hri_error error;           /* HR_ERROR_CANCELLED: the program said so */
    atomic_uint_fast64_t done; /* by all threads */
    atomic_bool stopped;       /* the program said so */
} hri_progress;

/* The calling thread is that of the call. Without a function, or with a total
 * of 0, nothing is told. */
void hri_progress_init(hri_progress *p, const char *call,
                       hr_progress_function function, void *data, double total);

/* Whether anything is told. */
static inline bool hri_progress_is_told(const hri_progress *p)
{
    return p->function != NULL;
}

/* ---- the thread of the call */

/* Tell the program that so much is done. What it is told never falls, and is
 * not all before the end. False: the call shall stop, and error says why. */
bool hri_progress_tell(hri_progress *p, double done);

/* Whether it is time to tell. */
bool hri_progress_is_due(const hri_progress *p);

/* Call function for each of `count` arguments as hri_threads_call does. This
 * thread tells meanwhile. So all of them should have threads. */
hr_status hri_progress_call(hri_progress *p,
                            hr_status (*function)(void *argument),
                            void *arguments, size_t count, size_t bytes);

/* The half of that behind hri_threads_begin_calls. */
hr_status hri_progress_end_calls(hri_progress *p, void *arguments, size_t count,
                                 size_t bytes);

/* The call ends. After HR_OK: HR_ERROR_CANCELLED when it was told to stop. Else
 * all is done, and the program is told so. */
hr_status hri_progress_end(hri_progress *p, hr_status status);

/* ---- any thread */

/* So much more is done. The thread of the call tells the program, if it is
 * time. */
void hri_progress_add(hri_progress *p, uint64_t done);

/* Whether the call shall stop. */
static inline bool hri_progress_stopped(const hri_progress *p)
{
    return p->stopped;
}

/* After HR_OK: HR_ERROR_CANCELLED if it shall stop. */
hr_status hri_progress_status(const hri_progress *p, hr_status status);

/* ---- rounds of work that the call waits for */

/* How many more items to do before the next wait, so that it comes soon: twice
 * as many while a round is short. */
typedef struct hri_rounds {
    int64_t items;
    uint64_t start_ns;
} hri_rounds;

/* The items of the next round, which begins: at most so many. */
int64_t hri_rounds_next(hri_rounds *r, int64_t most);

#endif
