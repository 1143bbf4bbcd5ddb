/* SPDX-License-Identifier: MIT */
/** @file queue.h
 *  Queues and events: work that an accelerator does in order, and points in it
 *  that others wait for.
 *
 *  A call that enqueues work returns before the work has run. A queue works in
 *  order. Between queues only events, and the arrays that both use, make an
 *  order. When work on a queue fails, the queue skips what follows. Whatever
 *  call waits for that work returns the error; other queues go on. Queues,
 *  events and arrays are destroyed before their context. */
#ifndef HEADRACE_QUEUE_H
#define HEADRACE_QUEUE_H

#include <stdbool.h>

#include <headrace/context.h>
#include <headrace/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/** An accelerator's work, in order. */
typedef struct hr_queue hr_queue;

/** A point in one queue or in several. */
typedef struct hr_event hr_event;

/** A queue on accelerator index, 0 <= index < hr_accelerator_count.
 *
 * @owner   *queue is the caller's, to be given to hr_queue_destroy before the
 *          context is destroyed. Written only on success.
 * @errors  HR_ERROR_INVALID for NULL or an index out of range;
 *          HR_ERROR_OUT_OF_MEMORY; HR_ERROR_BACKEND.
 * @threads Any thread. A queue may be used by several threads. */
HR_API HR_NODISCARD hr_status hr_queue_create(hr_context *context,
                                              uint32_t index, hr_queue **queue);

/** The default queue of accelerator index, 0 <= index < hr_accelerator_count.
 *
 *  Split launches (split.h) use it too, so these and launches on it run in the
 *  order of the calls.
 *
 *  After a failure the next launch, hr_prefetch or hr_queue_wait that knows of
 *  it starts the queue anew, and nothing more is skipped.
 *
 * @owner   *queue is the context's, and lives as long. Written only on success.
 * @errors  As hr_queue_create.
 * @threads As hr_queue_create. Calls for one accelerator give the same
 *          queue. */
HR_API HR_NODISCARD hr_status hr_queue_default(hr_context *context,
                                               uint32_t index,
                                               hr_queue **queue);

/** Wait for everything enqueued, and free the queue. NULL is accepted. Leaves a
 *  default queue alone, and does not wait for it.
 * @threads Any thread, when no other call on the queue is running. */
HR_API void hr_queue_destroy(hr_queue *queue);

/** The index of its accelerator in the context.
 * @threads Any thread. */
HR_API uint32_t hr_queue_accelerator(const hr_queue *queue);

/** Start what has been enqueued, if the driver has held it back.
 *
 * @errors  HR_ERROR_INVALID for NULL; the queue's error, if it is known.
 * @threads Any thread. */
HR_API HR_NODISCARD hr_status hr_queue_flush(hr_queue *queue);

/** Block until everything enqueued has run.
 *
 * @errors  HR_ERROR_INVALID for NULL; the queue's error.
 * @threads Any thread. */
HR_API HR_NODISCARD hr_status hr_queue_finish(hr_queue *queue);

/** An event behind everything enqueued so far.
 *
 * @owner   *event is the caller's, to be given to hr_event_destroy; it outlives
 *          the queue. Written only on success.
 * @errors  HR_ERROR_INVALID for NULL; HR_ERROR_OUT_OF_MEMORY; the queue's
 *          error, if it is known.
 * @threads Any thread. */
HR_API HR_NODISCARD hr_status hr_queue_record(hr_queue *queue,
                                              hr_event **event);

/** Let what is enqueued from now on wait for event, of any queue of the same
 *  context. The call blocks only where the accelerators cannot wait for each
 *  other. These are different devices, except two GPUs of CUDA that can copy
 *  from each other's memory.
 *
 * @errors  HR_ERROR_INVALID for NULL or an event of another context; the
 *          queue's error, if it is known.
 * @threads Any thread. */
HR_API HR_NODISCARD hr_status hr_queue_wait(hr_queue *queue, hr_event *event);

/** Free an event, after its functions have run. NULL is accepted.
 * @threads Any thread but those that run functions of hr_event_then, when no
 *          other call on the event is running. */
HR_API void hr_event_destroy(hr_event *event);

/** Whether everything before the event has run.
 *
 * @owner   *done is written only on success.
 * @errors  HR_ERROR_INVALID for NULL; the queue's error, when it failed.
 * @threads Any thread. */
HR_API HR_NODISCARD hr_status hr_event_query(hr_event *event, bool *done);

/** Block until everything before the event has run.
 *
 * @errors  HR_ERROR_INVALID for NULL; the queue's error, when it failed.
 * @threads Any thread; several may wait for one event. */
HR_API HR_NODISCARD hr_status hr_event_wait(hr_event *event);

/** Seconds of the accelerator's clock between two events of hr_queue_record.
 * Both have passed, on queues of one accelerator. 0 when `to` passed first.
 *
 * @owner   *seconds is written only on success.
 * @errors  HR_ERROR_INVALID for NULL, two events of different accelerators, an
 *          event that is itself of several queues, or one that has not passed.
 * @threads Any thread. */
HR_API HR_NODISCARD hr_status hr_event_elapsed(hr_event *from, hr_event *to,
                                               double *seconds);

/** Receives an event's status, as hr_event_wait would return it. */
typedef void (*hr_event_function)(void *data, hr_status status);

/** Call function(data, status) once, when the event has passed or its queue has
 *  failed. A thread of the library makes the call. Functions of one event run
 *  side by side. They may call the library, except hr_event_destroy of their
 *  own event.
 *
 * @owner   data must stay until the function has returned: hr_event_destroy
 *          waits for it.
 * @errors  HR_ERROR_INVALID for NULL; HR_ERROR_OUT_OF_MEMORY.
 * @threads Any thread. */
HR_API HR_NODISCARD hr_status hr_event_then(hr_event *event,
                                            hr_event_function function,
                                            void *data);

#ifdef __cplusplus
}
#endif
#endif
