/* SPDX-License-Identifier: MIT */
/* A track is a queue of a traced device: its commands lie between timestamps,
 * and become bars when their times are known. */
#ifndef HRI_RUNTIME_TRACK_H
#define HRI_RUNTIME_TRACK_H

#include <pthread.h>

#include "runtime/timestamps.h"
#include "runtime/trace.h"

enum { HRI_TRACK_CAPACITY = 8192 /* commands that it keeps before it waits */ };

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
    uint32_t made; /* tracks so far */
};

/* A command of a queue, between two timestamps. */
typedef struct hri_traced_command {
    hri_span span;
    hri_timestamp *begin, *end;
} hri_traced_command;

/* A queue. Its calls come one at a time. */
struct hri_track {
    hri_track *next;
    hri_queue *queue;
    hri_traced *of;
    const hri_queue_ops *ops; /* the queue's own */
    uint32_t thread;
    bool graph;           /* commands are kept for a graph, and do not run */
    hri_timestamp *here;  /* where the queue ends now; NULL: none is there */
    pthread_mutex_t lock; /* guards what follows, and blocks */
    hri_timestamp *base;  /* has been passed */
    uint64_t base_ns;     /* then, by hri_clock_ns */
    hri_timestamp *last;  /* where the last bar ends, or NULL */
    uint64_t end_ns;      /* then */
    hri_traced_command *commands; /* [HRI_TRACK_CAPACITY] a ring */
    uint32_t first, count;
};

/* Note when a timestamp is passed by the host's clock. */
hr_status hri_track_set_base(hri_track *track);

/* No timestamp is where the queue ends any more. */
void hri_track_leave(hri_track *track);

/* A timestamp where the queue ends: the one that is there, unless the queue has
 * passed it, which may have been long ago; else a new one. The caller drops
 * it. */
hr_status hri_track_stamp(hri_track *track, hri_timestamp **timestamp);

/* Make sure that a timestamp is before a command. False: the command is not
 * traced. Then set the one behind it, if the command was enqueued. The second
 * returns the command's own status. */
bool hri_track_begin(hri_track *track, hri_traced_command *command);
hr_status hri_track_end(hri_track *track, hri_traced_command *command,
                        bool began, hr_status status);

/* Write the oldest commands that have run, at most `limit`. `wait`: wait for
 * them. Errors belong to whoever waits for the queue: this thread's message
 * stays. */
void hri_track_write(hri_track *track, uint32_t limit, bool wait);

/* Free it. All commands have been written. */
void hri_track_free(hri_track *track);

#endif
