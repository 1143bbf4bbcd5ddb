/* SPDX-License-Identifier: MIT */
/* Streams: the queues of arrays. A stream is a queue of an accelerator's with
 * its fences, which are further down.
 *
 * Drivers hold up the caller that enqueues a copy of ordinary memory, and make
 * it slowly. So where the device says that such copies are slow (info.staged),
 * a stream defers: such a copy, and all behind it, become commands that a
 * thread hands on in order. No stream waits for the context's
 * lock. Elsewhere each call goes straight to the accelerator's queue. */
#ifndef HRI_RUNTIME_STREAM_H
#define HRI_RUNTIME_STREAM_H

#include <stdatomic.h>

#include "runtime/runtime.h"

typedef struct hri_node hri_node; /* deferred.c: a deferred command */

/* As long as there are deferred commands, queue and error belong to the thread
 * that hands them on, else to the caller. */
struct hri_stream {
    hri_accelerator *accelerator;
    hri_queue *queue;
    uint64_t serial;    /* its own: a later stream may get its address */
    hri_fence *pending; /* NULL: there is none */
    hri_fence *last;    /* that was recorded, held; NULL: none yet */
    hri_error error;    /* of deferred commands and of fences waited for, that
                           the driver knows nothing of; what comes next is left
                           out, since it would work on what never came */
    bool defers;        /* false: nothing is ever deferred */
    /* deferred.c's; changed with the lock of the accelerator's deferral */
    _Atomic(hri_node *) deferred; /* the first; NULL: all was handed on */
    hri_node *last_deferred;
    hri_thread *thread; /* that hands them on; NULL: nothing was deferred yet */
    bool closed;        /* no more is deferred */
};

/* Any thread. */
hr_status hri_stream_create(hri_accelerator *accelerator, bool urgent,
                            hri_stream **stream);
/* Before it is destroyed, with the context's lock: its pending fence is
 * recorded, or the stream is waited for and the fence has its error. */
void hri_stream_forget(hri_stream *stream);
/* Waits for all of it. NULL is accepted. */
void hri_stream_destroy(hri_stream *stream);

/* What is deferred has its own copy of the launch, its arguments and values. */
hr_status hri_stream_copy(hri_stream *stream, const hri_copy *copy);
hr_status hri_stream_launch(hri_stream *stream, const hri_launch *launch);

/* Let what is enqueued from now on wait for the fence, of whatever accelerator.
 * The calling thread waits where the devices cannot wait for each other. */
hr_status hri_stream_wait(hri_stream *stream, hri_fence *fence);
/* Record the pending fence, if any: before the stream goes on. */
hr_status hri_stream_record_pending(hri_stream *stream);
/* Enqueue the record of a fence that has an event: for hri_fence_record. */
hr_status hri_stream_record(hri_stream *stream, hri_fence *fence);

/* Block the calling thread until all of it has run. */
hr_status hri_stream_finish(hri_stream *stream);
/* The same, without a change to the error that is being told. */
void hri_stream_settle(hri_stream *stream);
/* Whether what was recorded last is known to have failed: a stream that waited
 * for one that failed takes over its error. */
bool hri_stream_has_failed(const hri_stream *stream);

/* Graphs (hal.h), which come behind all that is deferred. */
hr_status hri_stream_begin_graph(hri_stream *stream);
hr_status hri_stream_end_graph(hri_stream *stream, hri_graph **graph);
hr_status hri_stream_run_graph(hri_stream *stream, hri_graph *graph);

/* The copy queue of an accelerator, for copies that no queue of the caller's
 * asked for. It is made on first use, and again after a failure. */
hr_status hri_accelerator_copy_queue(hri_accelerator *accelerator,
                                     hri_stream **stream);
void hri_accelerator_drop_copy_queue(hri_accelerator *accelerator);

/* Workers. With the context's lock; the last with the whole context.
 * Let the accelerator have one. One whose work is known to have failed is
 * replaced. */
hr_status hri_accelerator_default_queue(hri_accelerator *accelerator);
/* Wait for it. */
void hri_accelerator_drop_default_queue(hri_accelerator *accelerator);

/* ---- fences: everything that was enqueued on a stream before now
 *
 * All that may have to wait for a fence hold it.
 *
 * Recording an event costs a driver about as much as a launch, and few launches
 * are waited for one by one. So a fence is pending at first. It is recorded
 * when something has to wait for it, or before its stream goes on with work
 * that its holders need not wait for. Until then a stream has one pending fence
 * for all who ask, and the fence moves on with the stream.
 *
 * Calls want the context's lock. Those marked "any thread" do without, once the
 * fence has been recorded. */

struct hri_fence {
    hri_accelerator *accelerator;
    uint64_t serial;      /* of its stream */
    hri_stream *pending;  /* that has yet to record it; NULL: recorded */
    hri_event *event;     /* the driver's; NULL: pending, or there is none since
                             recording failed: all has run, with this error: */
    hri_error error;      /* of its stream, as far as the event cannot know */
    atomic_bool deferred; /* its record is still a deferred command */
    atomic_uint holders;
};

/* A pending fence behind everything enqueued so far, with one holder more. When
 * any of these three fails, the stream has been waited for: nothing goes on
 * that nobody knows of. */
hr_status hri_fence_create(hri_stream *stream, hri_fence **fence);
/* The same, recorded at once. */
hr_status hri_fence_create_recorded(hri_stream *stream, hri_fence **fence);
/* Record it if it is pending. */
hr_status hri_fence_record(hri_fence *fence);

/* Any thread. */
void hri_fence_hold(hri_fence *fence);
/* Any thread; NULL is accepted. */
void hri_fence_drop(hri_fence *fence);

/* Any thread: block it until the fence has been passed; the error of its stream
 * if that failed. */
hr_status hri_fence_wait(hri_fence *fence);
/* Any thread: whether it has been passed. A pending fence is not known to. */
hr_status hri_fence_query(const hri_fence *fence, bool *done);
/* Any thread: nanoseconds of the device's clock between two fences of one
 * accelerator that have been passed; 0 when `to` was passed first. */
hr_status hri_fence_elapsed(const hri_fence *from, const hri_fence *to,
                            uint64_t *ns);

/* For streams. Any thread: block it until the fence is in the driver's queue.
 */
void hri_fence_await_record(hri_fence *fence);
/* The deferred command has recorded it, or has failed to: then its event is not
 * looked at any more. The error is that of its stream. */
void hri_fence_recorded(hri_fence *fence, const hri_error *error, bool failed);

static inline bool hri_fence_is_deferred(const hri_fence *fence)
{
    return atomic_load(&fence->deferred);
}

/* ---- deferred commands */

typedef enum hri_command_kind {
    HRI_COMMAND_COPY,
    HRI_COMMAND_STAGED_COPY, /* by threads, through pinned memory (staging.h) */
    HRI_COMMAND_LAUNCH,
    HRI_COMMAND_RECORD, /* from here on: also behind an error */
    HRI_COMMAND_WAIT
} hri_command_kind;

/* What a stream is given; of the rest a kind has its own alone. */
typedef struct hri_command {
    hri_command_kind kind;
    const hri_copy *copy;
    const hri_launch *launch;
    hri_fence *fence;
} hri_command;

/* Whether everything has been handed on. */
static inline bool hri_deferred_is_empty(const hri_stream *stream)
{
    return atomic_load(&stream->deferred) == NULL;
}

/* Block the calling thread until then. */
void hri_deferred_drain(hri_stream *stream);
/* Defer a command of a stream that defers. */
hr_status hri_deferred_add(hri_stream *stream, const hri_command *command);
/* Hand everything on, and end the thread. */
void hri_deferred_close(hri_stream *stream);

/* stream.c: hand a command on, now. Errors of deferred commands are kept as the
 * stream's. */
hr_status hri_command_run(hri_stream *stream, const hri_command *command);

void hri_deferral_init(hri_deferral *deferral);
void hri_deferral_finish(hri_deferral *deferral);

#endif
