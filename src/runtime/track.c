/* SPDX-License-Identifier: MIT */
#include "runtime/track.h"

#include <stdlib.h>

/* ---- commands that have run */

static bool has_run(const hri_traced_command *c, bool patient)
{
    hri_event *event = (c->end != NULL ? c->end : c->source)->event;
    bool done = false;
    if (patient) {
        (void)event->ops->wait(event);
    }
    (void)event->ops->query(event, &done);
    return done || patient;
}

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* When a timestamp was passed. */
static hr_status time_of(const hri_track *l, const hri_timestamp *timestamp,
                         uint64_t *ns)
{
    uint64_t since_base = 0;
    const hr_status status = timestamp->event->ops->elapsed(
        l->base->event, timestamp->event, &since_base);
    *ns = l->base_ns + since_base;
    return status;
}

/* A command cannot end before it was enqueued, nor after the program found it
 * over. Where it seems so, the clocks of host and device have drifted. */
static uint64_t set_clock(hri_track *l, const hri_traced_command *c,
                          uint64_t end_ns)
{
    const uint64_t latest_ns = c->over_ns > 0 ? c->over_ns : end_ns;
    const uint64_t right_ns =
        later(c->span.begin_ns, end_ns < latest_ns ? end_ns : latest_ns);
    l->base_ns += right_ns - end_ns;
    return right_ns;
}

/* Make the timestamp the base, at times: few digits are counted since it. */
static void move_base(hri_track *l, hri_timestamp *timestamp, uint64_t ns)
{
    enum { LONG_NS = 500000000 };
    if (ns - l->base_ns > LONG_NS) {
        hri_timestamp_drop(&l->of->timestamps, l->base);
        l->base = hri_timestamp_keep(timestamp);
        l->base_ns = ns;
    }
}

/* When a command ended that has run. */
static hr_status find_end(hri_track *l, const hri_traced_command *c,
                          uint64_t *ns)
{
    const bool waits = c->end == NULL;
    const hr_status status = time_of(l, waits ? c->source : c->end, ns);
    if (status == HR_OK && !waits) {
        *ns = set_clock(l, c, *ns);
        move_base(l, c->end, *ns);
    }
    return status;
}

static void drop(hri_track *l, const hri_traced_command *c)
{
    hri_timestamp_drop(&l->of->timestamps, c->end);
    hri_timestamp_drop(&l->of->timestamps, c->source);
}

/* Write the first command, which has run. */
static void write_first(hri_track *l)
{
    enum { BRIEF_NS = 2000 };
    const hri_traced *t = l->of;
    hri_traced_command *c = &l->commands[l->first];
    hri_span *span = &c->span;
    if (find_end(l, c, &span->end_ns) == HR_OK) {
        span->begin_ns = later(span->begin_ns, l->end_ns);
        span->end_ns = later(span->begin_ns, span->end_ns);
        l->end_ns = span->end_ns;
        if (span->kind != HRI_TRACE_WAIT ||
            span->end_ns - span->begin_ns > BRIEF_NS) {
            hri_trace_write(t->trace, t->process, l->thread, span);
        }
    }
    drop(l, c);
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
    const bool every = left > 0 && l->commands[last].end != NULL &&
                       has_run(&l->commands[last], wait);
    while (left > 0 && (every || has_run(&l->commands[l->first], wait))) {
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

/* Whether the timestamp where the queue ends will do. */
static bool is_here(const hri_track *l, bool timed)
{
    bool passed = true;
    if (l->here == NULL || !timed) {
        return l->here != NULL;
    }
    hri_event *event = l->here->event;
    return event->ops->query(event, &passed) == HR_OK && !passed;
}

hr_status hri_track_stamp(hri_track *l, bool timed, hri_timestamp **timestamp)
{
    hri_timestamps *timestamps = &l->of->timestamps;
    hri_timestamp *made = NULL;
    if (is_here(l, timed)) {
        *timestamp = hri_timestamp_keep(l->here);
        return HR_OK;
    }
    hri_track_leave(l);
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
    c->span.begin_ns = hri_trace_now(traced);
    hri_track_leave(l);
    return traced;
}

hr_status hri_track_end(hri_track *l, hri_traced_command *c, bool began,
                        hr_status status)
{
    hri_error kept = {0}; /* errors of timestamps belong to whoever waits */
    hri_error_keep(&kept, HR_ERROR_BACKEND);
    if (began && status == HR_OK &&
        (c->source != NULL || hri_track_stamp(l, false, &c->end) == HR_OK)) {
        pthread_mutex_lock(&l->lock);
        l->commands[(l->first + l->count++) % HRI_TRACK_CAPACITY] = *c;
        pthread_mutex_unlock(&l->lock);
    } else {
        drop(l, c);
    }
    (void)hri_error_raise(&kept);
    return status;
}

void hri_track_is_over(hri_track *l)
{
    pthread_mutex_lock(&l->lock);
    if (l->count > 0) {
        const uint32_t last = (l->first + l->count - 1) % HRI_TRACK_CAPACITY;
        l->commands[last].over_ns = hri_clock_ns();
    }
    pthread_mutex_unlock(&l->lock);
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
    pthread_mutex_destroy(&l->lock);
    free(l->commands);
    free(l);
}
