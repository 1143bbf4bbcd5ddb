/* SPDX-License-Identifier: MIT */
#include "runtime/track.h"

#include <stdlib.h>

/* ---- commands that have run */

static bool has_run(const hri_traced_command *c, bool patient)
{
    hri_event *end = c->end->event;
    bool done = false;
    if (patient) {
        (void)end->ops->wait(end);
    }
    (void)end->ops->query(end, &done);
    return done || patient;
}

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* When a timestamp was passed. A queue does one command after the other, but
 * clocks are rounded. */
static hr_status time_of(const hri_track *l, const hri_timestamp *timestamp,
                         uint64_t *ns)
{
    uint64_t since_base = 0;
    const hr_status status =
        timestamp == l->last
            ? HR_OK
            : timestamp->event->ops->elapsed(l->base->event, timestamp->event,
                                             &since_base);
    *ns = timestamp == l->last ? l->end_ns
                               : later(l->base_ns + since_base, l->end_ns);
    return status;
}

/* Take the place of another timestamp. */
static void replace(hri_timestamps *timestamps, hri_timestamp **place,
                    hri_timestamp *timestamp)
{
    hri_timestamp_drop(timestamps, *place);
    *place = hri_timestamp_keep(timestamp);
}

/* Write the first command, whose timestamps have been passed. Drivers take time
 * to tell when: a timestamp is asked once. */
static void write_first(hri_track *l)
{
    enum { BRIEF_NS = 2000, LONG_NS = 500000000 };
    hri_traced *t = l->of;
    hri_traced_command *c = &l->commands[l->first];
    hri_span *span = &c->span;
    if (time_of(l, c->begin, &span->begin_ns) == HR_OK &&
        time_of(l, c->end, &span->end_ns) == HR_OK) {
        span->end_ns = later(span->begin_ns, span->end_ns);
        l->end_ns = span->end_ns;
        replace(&t->timestamps, &l->last, c->end);
        if (span->kind != HRI_TRACE_WAIT ||
            span->end_ns - span->begin_ns > BRIEF_NS) {
            hri_trace_write(t->trace, t->process, l->thread, span);
        }
        if (l->end_ns - l->base_ns > LONG_NS) { /* few digits are counted */
            l->base_ns = l->end_ns;
            replace(&t->timestamps, &l->base, c->end);
        }
    }
    hri_timestamp_drop(&t->timestamps, c->begin);
    hri_timestamp_drop(&t->timestamps, c->end);
    l->first = (l->first + 1) % HRI_TRACK_CAPACITY;
    l->count--;
}

void hri_track_write(hri_track *l, uint32_t limit, bool wait)
{
    hri_error kept = {0};
    hri_error_keep(&kept, HR_ERROR_BACKEND);
    pthread_mutex_lock(&l->lock);
    uint32_t left = l->count < limit ? l->count : limit;
    const uint32_t last =
        (l->first + left + HRI_TRACK_CAPACITY - 1) % HRI_TRACK_CAPACITY;
    const bool every = left > 0 && has_run(&l->commands[last], wait);
    while (left > 0 && (every || has_run(&l->commands[l->first], false))) {
        write_first(l);
        left--;
    }
    pthread_mutex_unlock(&l->lock);
    (void)hri_error_raise(&kept);
}

/* ---- commands that are enqueued */

void hri_track_leave(hri_track *l)
{
    hri_timestamp_drop(&l->of->timestamps, l->here);
    l->here = NULL;
}

hr_status hri_track_stamp(hri_track *l, hri_timestamp **timestamp)
{
    hri_timestamps *timestamps = &l->of->timestamps;
    bool passed = true;
    if (l->here != NULL) {
        hri_event *event = l->here->event;
        if (event->ops->query(event, &passed) == HR_OK && !passed) {
            *timestamp = hri_timestamp_keep(l->here);
            return HR_OK;
        }
    }
    hri_track_leave(l);
    hri_timestamp *made = NULL;
    hr_status status = hri_timestamp_take(timestamps, &made);
    if (status == HR_OK) {
        status = l->ops->record(l->queue, made->event);
    }
    if (status != HR_OK) {
        hri_timestamp_drop(timestamps, made);
        return status;
    }
    l->here = l->graph ? NULL : hri_timestamp_keep(made);
    *timestamp = made;
    return HR_OK;
}

bool hri_track_begin(hri_track *l, hri_traced_command *c)
{
    enum { SOME = 64 };
    const bool traced = !l->graph && l->of->trace != NULL;
    if (traced && l->count == HRI_TRACK_CAPACITY) {
        hri_track_write(l, SOME, true);
    }
    const bool began = traced && hri_track_stamp(l, &c->begin) == HR_OK;
    hri_track_leave(l);
    return began;
}

hr_status hri_track_end(hri_track *l, hri_traced_command *c, bool began,
                        hr_status status)
{
    if (!began) {
        return status;
    }
    hri_error kept = {0}; /* errors of timestamps belong to whoever waits */
    hri_error_keep(&kept, HR_ERROR_BACKEND);
    if (status == HR_OK && hri_track_stamp(l, &c->end) == HR_OK) {
        pthread_mutex_lock(&l->lock);
        l->commands[(l->first + l->count++) % HRI_TRACK_CAPACITY] = *c;
        pthread_mutex_unlock(&l->lock);
    } else {
        hri_timestamp_drop(&l->of->timestamps, c->begin);
    }
    (void)hri_error_raise(&kept);
    return status;
}

hr_status hri_track_set_base(hri_track *l)
{
    hri_timestamp_drop(&l->of->timestamps, l->base);
    l->base = NULL;
    hr_status status = hri_timestamp_take(&l->of->timestamps, &l->base);
    for (int i = 0; i < 2 && status == HR_OK; i++) { /* the first may be slow */
        hri_event *event = l->base->event;
        status = l->ops->record(l->queue, event);
        if (status == HR_OK) {
            status = event->ops->wait(event);
        }
        l->base_ns = hri_clock_ns();
    }
    return status;
}

void hri_track_free(hri_track *l)
{
    hri_track_leave(l);
    hri_timestamp_drop(&l->of->timestamps, l->base);
    hri_timestamp_drop(&l->of->timestamps, l->last);
    pthread_mutex_destroy(&l->lock);
    free(l->commands);
    free(l);
}
