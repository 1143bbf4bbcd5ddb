/* SPDX-License-Identifier: MIT */
/* Fences: everything that was enqueued on a stream (stream.h) before now. All
 * that may have to wait for a fence hold it.
 *
 * Recording an event costs a driver about as much as a launch, and few launches
 * are waited for one by one. So a fence is pending at first. It is recorded
 * when something has to wait for it, or before its stream goes on with work
 * that its holders need not wait for. Until then a stream has one pending fence
 * for all who ask, and the fence moves on with the stream.
 *
 * Calls want the context's lock. Those marked "any thread" do without, once the
 * fence has been recorded. */
#ifndef HRI_RUNTIME_FENCE_H
#define HRI_RUNTIME_FENCE_H

#include <stdatomic.h>

#include "runtime/runtime.h"

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
/* The stream of a pending fence goes, and has run with this status. */
void hri_fence_abandon(hri_fence *fence, hr_status status);

static inline bool hri_fence_is_deferred(const hri_fence *fence)
{
    return atomic_load(&fence->deferred);
}

#endif
