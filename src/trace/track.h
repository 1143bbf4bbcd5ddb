/* SPDX-License-Identifier: MIT */
/* Tracks: the queues of traced devices. A command of a queue begins when it was
 * enqueued, the one before has ended and what it waits for is there. So it
 * needs one timestamp, behind it, and a wait for the same device's event needs
 * none. Commands become bars when their times are known. */
#ifndef HRI_TRACE_TRACK_H
#define HRI_TRACE_TRACK_H

#include <pthread.h>
#include <stdatomic.h>

#include "hal/hal.h"
#include "trace/trace.h"

/* ---- timestamps: points of the queues of a traced device, whose times are
 * read later */

typedef struct hri_timestamp {
    struct hri_timestamp *next;
    hri_event *event; /* the device's own */
    atomic_uint users;
} hri_timestamp;

/* The timestamps of a device. */
typedef struct hri_timestamps {
    hri_device *device;
    const hri_device_ops *ops; /* the device's own */
    pthread_mutex_t lock;      /* guards what follows */
    hri_timestamp *idle;
    uint32_t idle_count;
} hri_timestamps;

void hri_timestamps_open(hri_timestamps *timestamps, hri_device *device);
/* Nobody uses a timestamp or an event that holds one any more. */
void hri_timestamps_close(hri_timestamps *timestamps);
/* Have `count` timestamps ready: drivers take long to make them. */
hr_status hri_timestamps_prepare(hri_timestamps *timestamps, uint32_t count);

/* A timestamp that nobody else uses; the first was never recorded.
 * HR_ERROR_OUT_OF_MEMORY and the driver's. */
hr_status hri_timestamp_make(hri_timestamps *timestamps,
                             hri_timestamp **timestamp);
hr_status hri_timestamp_take(hri_timestamps *timestamps,
                             hri_timestamp **timestamp);
/* One more user of a timestamp; one less. The second accepts NULL. */
hri_timestamp *hri_timestamp_keep(hri_timestamp *timestamp);
void hri_timestamp_drop(hri_timestamps *timestamps, hri_timestamp *timestamp);

/* ---- devices and their queues */

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
    bool traced;           /* false: it is of a graph, or the trace has ended */
    hri_span span;         /* begin_ns: when it was enqueued */
    hri_timestamp *end;    /* behind it; NULL: it waits for `source` */
    hri_timestamp *source; /* of this device, that it waits for; NULL: it is
                              another command */
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

/* A track of a queue, in no list yet. NULL: there is no memory. The second
 * function frees it, when all commands have been written. */
hri_track *hri_track_create(hri_traced *traced, hri_queue *queue);
void hri_track_free(hri_track *track);

/* Note when a timestamp is passed by the host's clock. */
hr_status hri_track_set_base(hri_track *track);

/* No timestamp is where the queue ends any more. */
void hri_track_leave(hri_track *track);

/* A timestamp where the queue ends: the one that is there, else a new one.
 * `timed`: the queue passes it from now on, so that the one there will not do
 * if it has been passed. The caller drops it. */
hr_status hri_track_stamp(hri_track *track, bool timed,
                          hri_timestamp **timestamp);

/* A command is about to be enqueued. Then it is, with that status, which the
 * second function returns. It drops command->source. */
void hri_track_begin(hri_track *track, hri_traced_command *command);
hr_status hri_track_end(hri_track *track, hri_traced_command *command,
                        hr_status status);

/* The queue is empty. */
void hri_track_is_over(hri_track *track);

/* Write the oldest commands that have run, at most `limit`. `wait`: wait for
 * them. Errors belong to whoever waits for the queue. */
void hri_track_write(hri_track *track, uint32_t limit, bool wait);

/* Write one command of the device that has run. False: there is none, or
 * another thread looks. Any thread. */
bool hri_traced_write_one(hri_traced *traced);

#endif
