/* SPDX-License-Identifier: MIT */
/* Events: those of the driver, and the sticky error of the queue. */
#include <math.h>
#include <stdlib.h>
#include <sys/prctl.h>

#include "backends/cuda/cuda.h"
#include "base/clock.h"

/* Seconds for which a thread asks for its event before it goes to sleep. A
 * short kernel with its result takes less, and waking up takes as long as that.
 */
static const double awake = 5e-5;

/* Seconds of the shortest sleep between questions, of the longest in the first
 * second, and their part of the time waited so far. The driver can wake a
 * thread itself, but then each event that is recorded interrupts a CPU. On an
 * H200's machine with 16 CPUs the one that had these interrupts took 125
 * microseconds for a product of 256 cubed in double, and the others 68
 * (November 2026). */
static const double least_sleep = 1e-5, most_sleep = 1e-3, sleep_part = 0.05;

/* The state that the last record left. */
typedef struct snapshot {
    uint64_t records;         /* number of records so far */
    bool recorded;            /* in a stream; false: the last record failed */
    bool passed;              /* the stream is known to have passed it */
    hri_sticky_error *sticky; /* of the record's queue, held; NULL: never
                                 recorded */
} snapshot;

typedef struct hri_cuda_event {
    hri_event base;
    hri_cuda_unit *unit;
    cu_event event;
    pthread_mutex_t lock; /* guards what follows */
    snapshot last;
} hri_cuda_event;

static snapshot take(hri_cuda_event *event)
{
    pthread_mutex_lock(&event->lock);
    snapshot s = event->last;
    hri_sticky_hold(s.sticky);
    pthread_mutex_unlock(&event->lock);
    return s;
}

/* Sleep for a part of the time since then. A thread sleeps 50 microseconds
 * longer than it asks for, unless it wants to be exact. */
static void doze(uint64_t since_ns)
{
    enum { EXACT_NS = 1000 };
    const double waited = fmin(hri_seconds_since(since_ns), 100.0);
    const double most = most_sleep * fmax(waited, 1.0);
    const double seconds = fmax(fmin(waited * sleep_part, most), least_sleep);
    const int slack_ns = prctl(PR_GET_TIMERSLACK);
    (void)prctl(PR_SET_TIMERSLACK, (unsigned long)EXACT_NS);
    hri_sleep_ns((uint64_t)(seconds * 1e9));
    if (slack_ns > 0) {
        (void)prctl(PR_SET_TIMERSLACK, (unsigned long)slack_ns);
    }
}

/* Ask the driver whether a recorded event is done, or wait for it. */
static cu_result ask(const hri_cuda_event *event, bool wait)
{
    enum { QUESTIONS = 8 }; /* so often without asking the clock */
    const uint64_t since_ns = wait ? hri_clock_ns() : 0;
    cu_result error = hri_cuda_enter(event->unit);
    if (error != CU_SUCCESS) {
        return error;
    }
    bool tired = false;
    error = hri_cuda.cuEventQuery(event->event);
    for (uint64_t i = 1; wait && error == CU_NOT_READY; i++) {
        tired = tired ||
                (i % QUESTIONS == 0 && hri_seconds_since(since_ns) > awake);
        if (tired) {
            doze(since_ns);
        }
        error = hri_cuda.cuEventQuery(event->event);
    }
    hri_cuda_leave();
    return error;
}

/* Remember that an event is done. The driver takes longer to say that it is
 * (1.2 us on an H200, 2026-11) than that it is not (0.1 us). */
static void keep_passed(hri_cuda_event *event, const snapshot *s)
{
    pthread_mutex_lock(&event->lock);
    event->last.passed |= event->last.records == s->records;
    pthread_mutex_unlock(&event->lock);
}

/* Whether the event is done, waiting for it if `wait`. Returns the queue's
 * error if the queue failed, also when that failure is only found here. */
static hr_status look(hri_event *base, bool wait, bool *done)
{
    hri_cuda_event *event = (hri_cuda_event *)base;
    snapshot s = take(event);
    const bool open = s.recorded && !s.passed;
    cu_result error = open ? ask(event, wait) : CU_SUCCESS;
    if (open && error == CU_SUCCESS) {
        keep_passed(event, &s);
    }
    if (error != CU_SUCCESS && error != CU_NOT_READY) {
        hri_sticky_keep(
            s.sticky, hri_cuda_check(event->unit->path, error, "cuEventQuery"));
    }
    hr_status status =
        error == CU_NOT_READY ? HR_OK : hri_sticky_raise(s.sticky);
    hri_sticky_drop(s.sticky);
    if (status == HR_OK) {
        *done = error != CU_NOT_READY;
    }
    return status;
}

static hr_status event_query(hri_event *base, bool *done)
{
    return look(base, false, done);
}

static hr_status event_wait(hri_event *base)
{
    bool done;
    return look(base, true, &done);
}

/* Check that the event was recorded. Returns the queue's error if the queue
 * failed. */
static hr_status check_recorded(hri_cuda_event *event)
{
    snapshot s = take(event);
    hr_status status = hri_sticky_raise(s.sticky);
    hri_sticky_drop(s.sticky);
    if (status == HR_OK && !s.recorded) {
        return hri_fail(HR_ERROR_INVALID,
                        "%s: the event has no time: it was never recorded",
                        event->unit->path);
    }
    return status;
}

static hr_status event_elapsed(hri_event *from_base, hri_event *to_base,
                               uint64_t *ns)
{
    hri_cuda_event *from = (hri_cuda_event *)from_base;
    hri_cuda_event *to = (hri_cuda_event *)to_base;
    float ms = 0.0f;
    hr_status status = check_recorded(from);
    if (status == HR_OK) {
        status = check_recorded(to);
    }
    if (status != HR_OK) {
        return status;
    }
    cu_result error = hri_cuda_enter(from->unit);
    if (error == CU_SUCCESS) {
        error = hri_cuda.cuEventElapsedTime(&ms, from->event, to->event);
        hri_cuda_leave();
    }
    status = hri_cuda_check(from->unit->path, error, "cuEventElapsedTime");
    if (status == HR_OK) {
        *ns = ms > 0.0f ? (uint64_t)((double)ms * 1e6) : 0;
    }
    return status;
}

static void event_destroy(hri_event *base)
{
    hri_cuda_event *event = (hri_cuda_event *)base;
    if (event == NULL) {
        return;
    }
    if (event->event != NULL && hri_cuda_enter(event->unit) == CU_SUCCESS) {
        hri_cuda.cuEventDestroy_v2(event->event);
        hri_cuda_leave();
    }
    hri_sticky_drop(event->last.sticky);
    pthread_mutex_destroy(&event->lock);
    free(event);
}

static const hri_event_ops event_ops = {
    .destroy = event_destroy,
    .query = event_query,
    .wait = event_wait,
    .elapsed = event_elapsed,
};

/* An H100 records events without times in 0.3 microseconds, and others in 1.2
 * (November 2026). */
hr_status hri_cuda_event_create(hri_device *device, bool timed, hri_event **out)
{
    hri_cuda_unit *unit = ((hri_cuda_device *)device)->unit;
    hri_cuda_event *event = calloc(1, sizeof *event);
    if (event == NULL) {
        return hri_no_memory(unit->path);
    }
    event->base = (hri_event){.ops = &event_ops, .device = device};
    event->unit = unit;
    pthread_mutex_init(&event->lock, NULL);
    cu_result error = hri_cuda_enter(unit);
    if (error == CU_SUCCESS) {
        error = hri_cuda.cuEventCreate(&event->event, timed ? CU_EVENT_DEFAULT
                                                            : CU_EVENT_NO_TIME);
        hri_cuda_leave();
    }
    if (error != CU_SUCCESS) {
        event_destroy(&event->base);
        return hri_cuda_check(unit->path, error, "cuEventCreate");
    }
    *out = &event->base;
    return HR_OK;
}

hr_status hri_cuda_queue_record(hri_queue *queue_base, hri_event *event_base)
{
    hri_cuda_queue *queue = (hri_cuda_queue *)queue_base;
    hri_cuda_event *event = (hri_cuda_event *)event_base;
    if (queue->capturing) {
        return hri_cuda_queue_error(queue, "an event is recorded");
    }
    hri_sticky_hold(queue->sticky);
    pthread_mutex_lock(&event->lock);
    cu_result error = hri_cuda_enter(queue->unit);
    if (error == CU_SUCCESS) {
        error = hri_cuda.cuEventRecord(event->event, queue->stream);
        hri_cuda_leave();
    }
    const snapshot old = event->last;
    event->last = (snapshot){
        .records = old.records + 1,
        .recorded = error == CU_SUCCESS, /* else passed, with the error */
        .sticky = queue->sticky};
    pthread_mutex_unlock(&event->lock);
    hri_sticky_drop(old.sticky);
    return hri_sticky_keep(
        queue->sticky,
        hri_cuda_check(queue->unit->path, error, "cuEventRecord"));
}

hr_status hri_cuda_queue_wait(hri_queue *queue_base, hri_event *event_base)
{
    hri_cuda_queue *queue = (hri_cuda_queue *)queue_base;
    hri_cuda_event *event = (hri_cuda_event *)event_base;
    cu_result error = CU_SUCCESS;
    if (queue->capturing) {
        return hri_cuda_queue_error(queue, "an event is waited for");
    }
    snapshot s = take(event);
    if (s.recorded && !s.passed) {
        error = hri_cuda_enter(queue->unit);
        if (error == CU_SUCCESS) {
            error = hri_cuda.cuStreamWaitEvent(queue->stream, event->event, 0);
            hri_cuda_leave();
        }
    }
    /* Later work would read what never arrived, so the error of the queue that
     * was waited for becomes this one's. */
    hr_status status = hri_sticky_raise(s.sticky);
    hri_sticky_drop(s.sticky);
    if (status != HR_OK) {
        hri_sticky_keep(queue->sticky, status);
        return HR_OK;
    }
    return hri_sticky_keep(
        queue->sticky,
        hri_cuda_check(queue->unit->path, error, "cuStreamWaitEvent"));
}
