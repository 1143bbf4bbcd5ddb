/* SPDX-License-Identifier: MIT */
/* Streams, which are the queues of arrays. A stream is a queue of an
 * accelerator with fences (see below).
 *
 * Drivers block the caller that enqueues a copy of ordinary memory, and copy it
 * slowly. So where the device says that such copies are slow (info.staged), a
 * stream defers them: such a copy and everything after it become commands,
 * which a thread gives to the driver in order. No stream waits for the
 * context's lock. On other devices each call goes straight to the accelerator's
 * queue. */
#ifndef HRI_RUNTIME_STREAM_H
#define HRI_RUNTIME_STREAM_H

#include <stdatomic.h>

#include "runtime/runtime.h"

enum { HRI_FENCES_BEFORE = 4 }; /* that a stream knows to wait for */

typedef struct hri_node hri_node; /* deferred.c: a deferred command */

/* As long as there are deferred commands, queue, error, busy and before belong
 * to the thread that runs them. Else they belong to the caller. */
struct hri_stream {
    hri_accelerator *accelerator;
    hri_queue *queue;
    uint64_t serial;    /* a number of its own: a later stream may get its
                           address */
    hri_fence *pending; /* NULL: there is none */
    hri_fence *last;    /* the fence recorded last, held; NULL: none yet */
    uint64_t records;   /* fences recorded so far */
    bool grown;         /* something was enqueued behind the last one */
    hri_error error;    /* an error of deferred commands or of fences waited
                           for. The driver does not know it, so later commands
                           are skipped here: their input never came */
    bool defers;        /* false: nothing is ever deferred */
    bool busy; /* the queue may have to wait for more than the link and the
                  fences of `before` */
    hri_fence *before[HRI_FENCES_BEFORE]; /* fences of the accelerator or of
                                             peers that the queue may have to
                                             wait for; held; NULL from the first
                                             free one on */
    /* fields of deferred.c; changed with the lock of the accelerator's
     * deferral */
    _Atomic(hri_node *) deferred; /* the first command; NULL: all have run */
    hri_node *last_deferred;
    hri_thread *thread; /* the thread that runs them; NULL: nothing was deferred
                           yet */
    bool closed;        /* nothing more will be deferred */
};

/* Any thread. */
hr_status hri_stream_create(hri_accelerator *accelerator, bool urgent,
                            hri_stream **stream);
/* Called before the stream is destroyed, with the context's lock. Its pending
 * fence is recorded. If that fails, the stream has run and the fence has its
 * error. */
void hri_stream_end_pending(hri_stream *stream);
/* Wait for all its work, then destroy it. NULL is accepted. */
void hri_stream_destroy(hri_stream *stream);

/* True: a copy would be deferred, since the driver may block the caller. */
bool hri_stream_defers(const hri_stream *stream, const hri_copy *copy);
/* A deferred launch has its own copy of the arguments, values and epilogue. */
hr_status hri_stream_copy(hri_stream *stream, const hri_copy *copy);
/* The same for a copy that is known not to be deferred. */
hr_status hri_stream_copy_now(hri_stream *stream, const hri_copy *copy);
hr_status hri_stream_launch(hri_stream *stream, const hri_launch *launch);

/* Make later work of the stream wait for the fence, which may belong to any
 * accelerator. The calling thread waits where the devices cannot wait for each
 * other. */
hr_status hri_stream_wait(hri_stream *stream, hri_fence *fence);
/* Record the pending fence, if any. Call this before the stream gets more
 * work. */
hr_status hri_stream_record_pending(hri_stream *stream);

/* Block the calling thread until all work of the stream has run. */
hr_status hri_stream_finish(hri_stream *stream);
/* The same, but the error message of this thread stays as it is. */
void hri_stream_settle(hri_stream *stream);
/* Whether the fence recorded last is known to have failed. A stream that waited
 * for a failed fence has that error, too. */
bool hri_stream_has_failed(const hri_stream *stream);

/* Graphs (hal.h). They come after all deferred commands. */
hr_status hri_stream_begin_graph(hri_stream *stream);
hr_status hri_stream_end_graph(hri_stream *stream, hri_graph **graph);
hr_status hri_stream_run_graph(hri_stream *stream, hri_graph *graph);

/* The copy queue of an accelerator, for copies that no queue of the caller's
 * asked for. It is made on first use, and again after a failure. */
hr_status hri_accelerator_copy_queue(hri_accelerator *accelerator,
                                     hri_stream **stream);
void hri_accelerator_drop_copy_queue(hri_accelerator *accelerator);

/* The default queue of an accelerator (runtime.h). It is made on first use, and
 * again after a failure. The caller holds the context's lock, and for the
 * second function has the whole context to itself. */
hr_status hri_accelerator_default_queue(hri_accelerator *accelerator,
                                        hri_stream **stream);
/* Wait for its work, then destroy it. */
void hri_accelerator_drop_default_queue(hri_accelerator *accelerator);

/* ---- fences: a fence stands for everything that was enqueued on a stream
 * before
 *
 * Whatever may have to wait for a fence holds it.
 *
 * Recording an event costs a driver about as much as a launch, and few launches
 * are waited for one by one. So a fence is pending at first. It is recorded
 * when something has to wait for it, or before its stream gets work that its
 * holders need not wait for. Until then a stream has one pending fence for all
 * callers of hri_fence_create, and the fence moves on with the stream.
 *
 * The caller holds the context's lock. Functions marked "any thread" need no
 * lock once the fence has been recorded. */

struct hri_fence {
    hri_accelerator *accelerator;
    uint64_t serial;      /* of the fence's stream */
    uint64_t number;      /* how many fences of it were recorded before */
    hri_stream *pending;  /* the stream that has yet to record it; NULL:
                             recorded */
    hri_event *event;     /* the driver's event. NULL: the fence is pending, or
                             recording failed and all work has run */
    hri_error error;      /* an error of its stream that the event cannot
                             know, or why recording failed */
    atomic_bool deferred; /* the command that records it is still deferred */
    atomic_uint holders;
};

/* The pending fence behind everything enqueued so far, with one holder more.
 * When any of these four functions fails, the stream has been waited for: no
 * work goes on that no fence guards. */
hr_status hri_fence_create(hri_stream *stream, hri_fence **fence);
/* The same, but recorded at once. */
hr_status hri_fence_create_recorded(hri_stream *stream, hri_fence **fence);
/* The same for a wait, not to measure time: nothing is recorded if nothing came
 * behind the last fence. */
hr_status hri_fence_create_end(hri_stream *stream, hri_fence **fence);
/* Record it if it is pending. */
hr_status hri_fence_record(hri_fence *fence);

/* Any thread. */
void hri_fence_hold(hri_fence *fence);
/* Any thread; NULL is accepted. */
void hri_fence_drop(hri_fence *fence);

/* Any thread: block it until the fence has been passed. Returns the stream's
 * error, if it failed. */
hr_status hri_fence_wait(hri_fence *fence);
/* Any thread: whether it has been passed. The answer for a pending fence is
 * no. */
hr_status hri_fence_query(const hri_fence *fence, bool *done);
/* Any thread: nanoseconds of the device's clock between two fences of one
 * accelerator that have been passed. 0 when `to` was passed first. */
hr_status hri_fence_elapsed(const hri_fence *from, const hri_fence *to,
                            uint64_t *ns);

/* For streams. Any thread: block it until the driver's queue has the record. */
void hri_fence_await_record(hri_fence *fence);
/* The deferred command has recorded the fence, or failed to. After a failure
 * the event is not used any more. The error is that of its stream. */
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
    HRI_COMMAND_RECORD, /* this kind and later ones also run after an error */
    HRI_COMMAND_WAIT
} hri_command_kind;

/* A command of a stream. Each kind uses only its own fields. */
typedef struct hri_command {
    hri_command_kind kind;
    const hri_copy *copy;
    const hri_launch *launch;
    hri_fence *fence;
} hri_command;

/* Whether all deferred commands have run. */
static inline bool hri_deferred_is_empty(const hri_stream *stream)
{
    return atomic_load(&stream->deferred) == NULL;
}

/* Block the calling thread until all deferred commands have run. */
void hri_deferred_drain(hri_stream *stream);
/* Defer a command of a stream that defers. */
hr_status hri_deferred_add(hri_stream *stream, const hri_command *command);
/* Run all deferred commands, then end the thread. */
void hri_deferred_close(hri_stream *stream);

void hri_deferral_init(hri_deferral *deferral);
void hri_deferral_finish(hri_deferral *deferral);

/* ---- command.c */

/* Run a command now, but no staged copy, which deferred.c runs. The stream
 * keeps errors of deferred commands. */
hr_status hri_command_run(hri_stream *stream, const hri_command *command);
/* The queue may have to wait for more than fences. */
void hri_stream_set_busy(hri_stream *stream);
/* The queue waits for no fence. */
void hri_stream_forget_waits(hri_stream *stream);
/* Wait for what may hold up the queue, except the link. */
hr_status hri_stream_await_link(hri_stream *stream);

#endif
