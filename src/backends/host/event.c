/* SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "backends/host/host.h"
#include "base/clock.h"

/* One record of an event; see host.h for who holds it. */
struct host_mark {
    _Atomic uint32_t holders;
    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t completed;
    bool done;
    uint64_t time_ns;
    hri_error error;
};

typedef struct host_event {
    hri_event base;       /* first: see hri_event */
    pthread_mutex_t lock; /* guards last */
    host_mark *last;      /* of the last record; NULL: never recorded */
} host_event;

hr_status hri_host_mark_create(host_mark **out)
{
    host_mark *mark = calloc(1, sizeof *mark);
    if (mark == NULL) {
        return hri_fail(HR_ERROR_OUT_OF_MEMORY, "host event: out of memory");
    }
    atomic_init(&mark->holders, 1);
    pthread_mutex_init(&mark->lock, NULL);
    pthread_cond_init(&mark->completed, NULL);
    *out = mark;
    return HR_OK;
}

void hri_host_mark_hold(host_mark *mark)
{
    atomic_fetch_add(&mark->holders, 1);
}

void hri_host_mark_release(host_mark *mark)
{
    if (mark != NULL && atomic_fetch_sub(&mark->holders, 1) == 1) {
        pthread_cond_destroy(&mark->completed);
        pthread_mutex_destroy(&mark->lock);
        free(mark);
    }
}

void hri_host_mark_complete(host_mark *mark, const hri_error *error)
{
    pthread_mutex_lock(&mark->lock);
    mark->done = true;
    mark->time_ns = hri_clock_ns();
    if (error->status != HR_OK) {
        mark->error = *error;
    }
    pthread_cond_broadcast(&mark->completed);
    pthread_mutex_unlock(&mark->lock);
}

hr_status hri_host_mark_wait(host_mark *mark)
{
    pthread_mutex_lock(&mark->lock);
    while (!mark->done) {
        pthread_cond_wait(&mark->completed, &mark->lock);
    }
    hr_status status = hri_error_raise(&mark->error);
    pthread_mutex_unlock(&mark->lock);
    return status;
}

void hri_host_event_set(hri_event *base, host_mark *mark)
{
    host_event *event = (host_event *)base;
    pthread_mutex_lock(&event->lock);
    host_mark *old = event->last;
    event->last = mark;
    pthread_mutex_unlock(&event->lock);
    hri_host_mark_release(old);
}

host_mark *hri_host_event_get(hri_event *base)
{
    host_event *event = (host_event *)base;
    pthread_mutex_lock(&event->lock);
    host_mark *mark = event->last;
    if (mark != NULL) {
        hri_host_mark_hold(mark);
    }
    pthread_mutex_unlock(&event->lock);
    return mark;
}

static void event_destroy(hri_event *base)
{
    host_event *event = (host_event *)base;
    if (event != NULL) {
        hri_host_mark_release(event->last);
        pthread_mutex_destroy(&event->lock);
        free(event);
    }
}

static hr_status event_query(hri_event *base, bool *done)
{
    hr_status status = HR_OK;
    bool is_done = true;
    host_mark *mark = hri_host_event_get(base);
    if (mark != NULL) {
        pthread_mutex_lock(&mark->lock);
        is_done = mark->done;
        status = hri_error_raise(&mark->error);
        pthread_mutex_unlock(&mark->lock);
        hri_host_mark_release(mark);
    }
    if (status == HR_OK) {
        *done = is_done;
    }
    return status;
}

static hr_status event_wait(hri_event *base)
{
    hr_status status = HR_OK;
    host_mark *mark = hri_host_event_get(base);
    if (mark != NULL) {
        status = hri_host_mark_wait(mark);
        hri_host_mark_release(mark);
    }
    return status;
}

static hr_status time_of(hri_event *base, uint64_t *ns)
{
    host_mark *mark = hri_host_event_get(base);
    if (mark == NULL) {
        return hri_fail(HR_ERROR_INVALID,
                        "host event: it was never recorded, so has no time");
    }
    pthread_mutex_lock(&mark->lock);
    *ns = mark->time_ns;
    pthread_mutex_unlock(&mark->lock);
    hri_host_mark_release(mark);
    return HR_OK;
}

static hr_status event_elapsed(hri_event *from, hri_event *to, uint64_t *ns)
{
    uint64_t start = 0, end = 0;
    hr_status status = time_of(from, &start);
    if (status == HR_OK) {
        status = time_of(to, &end);
    }
    if (status == HR_OK) {
        *ns = end > start ? end - start : 0;
    }
    return status;
}

static const hri_event_ops event_ops = {
    .destroy = event_destroy,
    .query = event_query,
    .wait = event_wait,
    .elapsed = event_elapsed,
};

hr_status hri_host_event_create(hri_device *device, hri_event **out)
{
    host_event *event = calloc(1, sizeof *event);
    if (event == NULL) {
        return hri_fail(HR_ERROR_OUT_OF_MEMORY, "host event: out of memory");
    }
    event->base = (hri_event){.ops = &event_ops, .device = device};
    pthread_mutex_init(&event->lock, NULL);
    *out = &event->base;
    return HR_OK;
}
