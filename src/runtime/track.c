/* SPDX-License-Identifier: MIT */
#include "runtime/track.h"

#include <stdlib.h>

#include "base/format.h"

/* ---- commands that have run */

/* The command of that number. */
static hri_traced_command *command_of(hri_track *l, uint32_t number)
{
    return &l->commands[number % HRI_TRACK_CAPACITY];
}

/* How many have not been written. */
static uint32_t count(const hri_track *l)
{
    return atomic_load(&l->enqueued) - atomic_load(&l->written);
}

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
    const uint64_t over_ns = atomic_load(&c->over_ns);
    const uint64_t latest_ns = over_ns > 0 ? over_ns : end_ns;
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

/* What the queue is for is known once it has run something. */
static void name_thread(hri_track *l)
{
    hri_traced *t = l->of;
    const char *name = l->queue->name;
    char number[32];
    if (name == NULL) {
        hri_format(number, sizeof number, "queue %u",
                   atomic_fetch_add(&t->made, 1) + 1);
    }
    l->thread =
        hri_trace_thread(t->trace, t->process, name != NULL ? name : number);
}

/* Write the first command, which has run. */
static void write_first(hri_track *l)
{
    enum { BRIEF_NS = 2000 };
    const hri_traced *t = l->of;
    hri_traced_command *c = command_of(l, atomic_load(&l->written));
    hri_span *span = &c->span;
    if (find_end(l, c, &span->end_ns) == HR_OK) {
        span->begin_ns = later(span->begin_ns, l->end_ns);
        span->end_ns = later(span->begin_ns, span->end_ns);
        l->end_ns = span->end_ns;
        if (span->kind != HRI_TRACE_WAIT ||
            span->end_ns - span->begin_ns > BRIEF_NS) {
            if (l->thread == 0) {
                name_thread(l);
            }
            hri_trace_write(t->trace, t->process, l->thread, span);
        }
    }
    drop(l, c);
    atomic_fetch_add(&l->written, 1);
}

void hri_track_write(hri_track *l, uint32_t limit, bool wait)
{
    hri_error kept = {0};
    hri_error_keep(&kept, HR_ERROR_BACKEND);
    pthread_mutex_lock(&l->lock);
    const uint32_t all = count(l);
    uint32_t number = atomic_load(&l->written);
    const uint32_t end = number + (all < limit ? all : limit);
    const hri_traced_command *last = command_of(l, end - 1);
    const bool every =
        number != end && last->end != NULL && has_run(last, wait);
    while (number != end && (every || has_run(command_of(l, number), wait))) {
        write_first(l);
        number++;
    }
    pthread_mutex_unlock(&l->lock);
    (void)hri_error_raise(&kept);
}

bool hri_track_write_one(hri_track *l)
{
    hri_error kept = {0};
    if (pthread_mutex_trylock(&l->lock) != 0) {
        return false;
    }
    hri_error_keep(&kept, HR_ERROR_BACKEND);
    const bool wrote =
        count(l) > 0 && has_run(command_of(l, atomic_load(&l->written)), false);
    if (wrote) {
        write_first(l);
    }
    pthread_mutex_unlock(&l->lock);
    (void)hri_error_raise(&kept);
    return wrote;
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
    if (traced && count(l) == HRI_TRACK_CAPACITY) {
        hri_track_write(l, SOME, true);
    }
    c->span.begin_ns = hri_trace_now(traced);
    c->span.kind = hri_traced_kind(l->of, c->span.kind);
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
        *command_of(l, atomic_load(&l->enqueued)) = *c;
        atomic_fetch_add(&l->enqueued, 1);
    } else {
        drop(l, c);
    }
    (void)hri_error_raise(&kept);
    return status;
}

/* Nothing becomes of it where the last command has been written: its place is
 * set before it is used again. */
void hri_track_is_over(hri_track *l)
{
    atomic_store(&command_of(l, atomic_load(&l->enqueued) - 1)->over_ns,
                 hri_clock_ns());
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
