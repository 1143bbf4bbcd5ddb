/* SPDX-License-Identifier: MIT */
/* A track is a queue of a traced device. A command of it begins when it was
 * enqueued, the one before has ended and what it waits for is there. So it
 * needs one timestamp, behind it, and a wait for the same device's event needs
 * none. Commands become bars when their times are known. */
#ifndef HRI_RUNTIME_TRACK_H
#define HRI_RUNTIME_TRACK_H

#include <pthread.h>

#include "runtime/timestamps.h"
#include "runtime/trace.h"

enum {
    HRI_TRACK_CAPACITY = 8192 /* commands that it keeps before it waits; a power
                                 of two */
};

/* A device. */
struct hri_traced {
    hri_traced *next;
    hri_trace *trace; /* NULL: the trace has ended, another may begin */
    uint32_t process;
    const hri_device_ops *ops; /* the device's own */
    hri_device_ops replaced;
    hri_timestamps timestamps;
    pthread_mutex_t lock; /* guards the list of tracks */
    hri_track *tracks;
    atomic_uint made;      /* tracks without a name so far */
    atomic_uint measuring; /* the library measures it */
};

/* The kind of a bar of a device. */
static inline hri_trace_kind hri_traced_kind(const hri_traced *traced,
                                             hri_trace_kind kind)
{
    return atomic_load(&traced->measuring) > 0 ? HRI_TRACE_MEASURE : kind;
}

typedef struct hri_traced_command {
    hri_span span;            /* begin_ns: when it was enqueued */
    hri_timestamp *end;       /* behind it; NULL: it is a wait for */
    hri_timestamp *source;    /* this one */
    _Atomic uint64_t over_ns; /* the program found the queue empty then; 0: it
                                 did not look */
} hri_traced_command;

/* A queue. Its calls come one at a time, and do not wait for a thread that
 * writes bars. */
struct hri_track {
    hri_track *next;
    hri_queue *queue;
    hri_traced *of;
    const hri_queue_ops *ops; /* the queue's own */
    uint32_t thread;          /* 0: it has no bar yet */
    bool graph;          /* commands are kept for a graph, and do not run */
    hri_timestamp *here; /* where the queue ends now; NULL: none is there */
    hri_traced_command *commands;  /* [HRI_TRACK_CAPACITY] a ring */
    atomic_uint enqueued, written; /* commands so far, modulo 2^32 */
    pthread_mutex_t lock; /* guards `written` and what follows, and blocks */
    hri_timestamp *base;  /* has been passed */
    uint64_t base_ns;     /* then, by hri_clock_ns */
    uint64_t end_ns;      /* of the last bar */
};

/* Note when a timestamp is passed by the host's clock. */
hr_status hri_track_set_base(hri_track *track);

/* No timestamp is where the queue ends any more. */
void hri_track_leave(hri_track *track);

/* A timestamp where the queue ends: the one that is there, else a new one.
 * `timed`: the queue passes it from now on, so that the one there will not do
 * if it has been passed. The caller drops it. */
hr_status hri_track_stamp(hri_track *track, bool timed,
                          hri_timestamp **timestamp);

/* A command is about to be enqueued. False: it is not traced. Then it is, with
 * that status, which the second returns. That drops command->source. */
bool hri_track_begin(hri_track *track, hri_traced_command *command);
hr_status hri_track_end(hri_track *track, hri_traced_command *command,
                        bool began, hr_status status);

/* The queue is empty. */
void hri_track_is_over(hri_track *track);

/* Write the oldest commands that have run, at most `limit`. `wait`: wait for
 * them. Errors belong to whoever waits for the queue: this thread's message
 * stays. */
void hri_track_write(hri_track *track, uint32_t limit, bool wait);

/* Write the oldest command if it has run and no other thread writes. */
bool hri_track_write_one(hri_track *track);

/* Free it. All commands have been written. */
void hri_track_free(hri_track *track);

#endif
