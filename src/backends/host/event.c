/* SPDX-License-Identifier: MIT */
/* Events of queues, see host.h. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "backends/host/host.h"
#include "backends/host/queue.h"
#include "base/clock.h"

struct host_event {
    hri_event base;           /* first: see hri_event */
    _Atomic uint32_t holders; /* its owner, and commands that record it */
    pthread_mutex_t lock;     /* guards what follows */
    host_record last;         /* its queue is held; number 0: never recorded */
    uint64_t time_ns;         /* when the last record was passed */
};

void hri_host_event_set(host_event *event, host_record record)
{
    hri_host_queue_hold(record.of);
    atomic_fetch_add(&event->holders, 1);
    pthread_mutex_lock(&event->lock);
    host_queue *old = event->last.of;
    event->last = record;
    pthread_mutex_unlock(&event->lock);
    hri_host_queue_release(old);
}

host_record hri_host_event_get(host_event *event)
{
    pthread_mutex_lock(&event->lock);
    const host_record record = event->last;
    hri_host_queue_hold(record.of);
    pthread_mutex_unlock(&event->lock);
    return record;
}

static void release_event(host_event *event)
{
    if (atomic_fetch_sub(&event->holders, 1) == 1) {
        hri_host_queue_release(event->last.of);
        pthread_mutex_destroy(&event->lock);
        free(event);
    }
}

void hri_host_event_pass(host_event *event, host_record record)
{
    pthread_mutex_lock(&event->lock);
    if (event->last.of == record.of && event->last.number == record.number) {
        event->time_ns = hri_clock_ns();
    }
    pthread_mutex_unlock(&event->lock);
    release_event(event);
}

static void event_destroy(hri_event *base)
{
    if (base != NULL) {
        release_event((host_event *)base);
    }
}

/* Whether the event is done, waiting for it if `wait`. */
static hr_status look(hri_event *base, bool wait, bool *done)
{
    const host_record record = hri_host_event_get((host_event *)base);
    if (record.number == 0) {
        *done = true;
        return HR_OK;
    }
    hr_status status = hri_host_record_look(record, wait, done);
    hri_host_queue_release(record.of);
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

static hr_status time_of(hri_event *base, uint64_t *ns)
{
    host_event *event = (host_event *)base;
    pthread_mutex_lock(&event->lock);
    const bool recorded = event->last.number != 0;
    *ns = event->time_ns;
    pthread_mutex_unlock(&event->lock);
    return recorded
               ? HR_OK
               : hri_fail(HR_ERROR_INVALID,
                          "host: the event has no time: it was never recorded");
}

static hr_status event_elapsed(hri_event *from, hri_event *to, uint64_t *ns)
{
    return hri_elapsed(time_of, from, to, ns);
}

static const hri_event_ops event_ops = {
    .destroy = event_destroy,
    .query = event_query,
    .wait = event_wait,
    .elapsed = event_elapsed,
};

hr_status hri_host_event_create(hri_device *device, bool timed, hri_event **out)
{
    (void)timed; /* all are */
    host_event *event = calloc(1, sizeof *event);
    if (event == NULL) {
        return hri_fail(HR_ERROR_OUT_OF_MEMORY, "host event: out of memory");
    }
    event->base = (hri_event){.ops = &event_ops, .device = device};
    atomic_init(&event->holders, 1);
    pthread_mutex_init(&event->lock, NULL);
    *out = &event->base;
    return HR_OK;
}
