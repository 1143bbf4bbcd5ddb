/* SPDX-License-Identifier: MIT */
#include "trace/track.h"

#include <stdlib.h>

#include "base/format.h"
#include "hal/backend.h"

/* ---- timestamps */

void hri_timestamps_open(hri_timestamps *timestamps, hri_device *device)
{
    *timestamps = (hri_timestamps){.device = device, .ops = device->ops};
    pthread_mutex_init(&timestamps->lock, NULL);
}

void hri_timestamps_close(hri_timestamps *timestamps)
{
    while (timestamps->idle != NULL) {
        hri_timestamp *timestamp = timestamps->idle;
        timestamps->idle = timestamp->next;
        timestamp->event->ops->destroy(timestamp->event);
        free(timestamp);
    }
    pthread_mutex_destroy(&timestamps->lock);
}

hr_status hri_timestamp_make(hri_timestamps *timestamps,
                             hri_timestamp **timestamp)
{
    hri_timestamp *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return hri_no_memory_for(timestamps->device->info.path, "a timeline");
    }
    made->users = 1;
    const hr_status status =
        timestamps->ops->create_event(timestamps->device, true, &made->event);
    if (status != HR_OK) {
        free(made);
        return status;
    }
    *timestamp = made;
    return HR_OK;
}

hr_status hri_timestamps_prepare(hri_timestamps *timestamps, uint32_t count)
{
    while (timestamps->idle_count < count) {
        hri_timestamp *timestamp = NULL;
        HRI_TRY(hri_timestamp_make(timestamps, &timestamp));
        hri_timestamp_drop(timestamps, timestamp);
    }
    return HR_OK;
}

hr_status hri_timestamp_take(hri_timestamps *timestamps,
                             hri_timestamp **timestamp)
{
    pthread_mutex_lock(&timestamps->lock);
    hri_timestamp *idle = timestamps->idle;
    if (idle != NULL) {
        timestamps->idle = idle->next;
        timestamps->idle_count--;
        idle->users = 1;
        *timestamp = idle;
    }
    pthread_mutex_unlock(&timestamps->lock);
    return idle != NULL ? HR_OK : hri_timestamp_make(timestamps, timestamp);
}

hri_timestamp *hri_timestamp_keep(hri_timestamp *timestamp)
{
    timestamp->users++;
    return timestamp;
}

void hri_timestamp_drop(hri_timestamps *timestamps, hri_timestamp *timestamp)
{
    if (timestamp != NULL && atomic_fetch_sub(&timestamp->users, 1) == 1) {
        pthread_mutex_lock(&timestamps->lock);
        timestamp->next = timestamps->idle;
        timestamps->idle = timestamp;
        timestamps->idle_count++;
        pthread_mutex_unlock(&timestamps->lock);
    }
}

/* ---- commands that have run */

/* The command of that number. */
static hri_traced_command *command_of(hri_track *track, uint32_t number)
{
    return &track->commands[number % HRI_TRACK_CAPACITY];
}

/* How many have not been written. */
static uint32_t count_unwritten(const hri_track *track)
{
    return atomic_load(&track->enqueued) - atomic_load(&track->written);
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
static hr_status find_time(const hri_track *track,
                           const hri_timestamp *timestamp, uint64_t *ns)
{
    uint64_t since_base = 0;
    HRI_TRY(timestamp->event->ops->elapsed(track->base->event, timestamp->event,
                                           &since_base));
    *ns = track->base_ns + since_base;
    return HR_OK;
}

/* When a command ended that has run. A command cannot end before it was
 * enqueued, nor after the program found it over. If it seems so, the clocks
 * of host and device have drifted. At times the command's timestamp becomes the
 * base: few digits are counted since it. */
static hr_status find_end(hri_track *track, const hri_traced_command *c,
                          uint64_t *ns)
{
    enum { LONG_NS = 500000000 };
    if (c->end == NULL) {
        return find_time(track, c->source, ns);
    }
    uint64_t end_ns = 0;
    HRI_TRY(find_time(track, c->end, &end_ns));
    const uint64_t over_ns = atomic_load(&c->over_ns);
    const uint64_t latest_ns = over_ns > 0 ? over_ns : end_ns;
    *ns = later(c->span.begin_ns, end_ns < latest_ns ? end_ns : latest_ns);
    track->base_ns += *ns - end_ns;
    if (*ns - track->base_ns > LONG_NS) {
        hri_timestamp_drop(&track->of->timestamps, track->base);
        track->base = hri_timestamp_keep(c->end);
        track->base_ns = *ns;
    }
    return HR_OK;
}

static void drop_timestamps(hri_track *track, const hri_traced_command *c)
{
    hri_timestamp_drop(&track->of->timestamps, c->end);
    hri_timestamp_drop(&track->of->timestamps, c->source);
}

/* What the queue is for is known once it has run something. */
static void name_thread(hri_track *track)
{
    hri_traced *t = track->of;
    const char *name = track->queue->name;
    char number[32];
    if (name == NULL) {
        hri_format(number, sizeof number, "queue %u",
                   atomic_fetch_add(&t->made, 1) + 1);
    }
    track->thread =
        hri_trace_thread(t->trace, t->process, name != NULL ? name : number);
}

/* Write the first command, which has run. */
static void write_first(hri_track *track)
{
    enum { BRIEF_NS = 2000 };
    const hri_traced *t = track->of;
    hri_traced_command *c = command_of(track, atomic_load(&track->written));
    hri_span *span = &c->span;
    if (find_end(track, c, &span->end_ns) == HR_OK) {
        span->begin_ns = later(span->begin_ns, track->end_ns);
        span->end_ns = later(span->begin_ns, span->end_ns);
        track->end_ns = span->end_ns;
        if (span->kind != HRI_TRACE_WAIT ||
            span->end_ns - span->begin_ns > BRIEF_NS) {
            if (track->thread == 0) {
                name_thread(track);
            }
            hri_trace_write(t->trace, t->process, track->thread, span);
        }
    }
    drop_timestamps(track, c);
    atomic_fetch_add(&track->written, 1);
}

void hri_track_write(hri_track *track, uint32_t limit, bool wait)
{
    pthread_mutex_lock(&track->lock);
    const uint32_t all = count_unwritten(track);
    uint32_t number = atomic_load(&track->written);
    const uint32_t end = number + (all < limit ? all : limit);
    const hri_traced_command *last = command_of(track, end - 1);
    const bool every =
        number != end && last->end != NULL && has_run(last, wait);
    while (number != end &&
           (every || has_run(command_of(track, number), wait))) {
        write_first(track);
        number++;
    }
    pthread_mutex_unlock(&track->lock);
}

/* Write the oldest command if it has run and no other thread writes. */
static bool write_one(hri_track *track)
{
    if (pthread_mutex_trylock(&track->lock) != 0) {
        return false;
    }
    const bool wrote =
        count_unwritten(track) > 0 &&
        has_run(command_of(track, atomic_load(&track->written)), false);
    if (wrote) {
        write_first(track);
    }
    pthread_mutex_unlock(&track->lock);
    return wrote;
}

bool hri_traced_write_one(hri_traced *t)
{
    bool wrote = false;
    if (pthread_mutex_trylock(&t->lock) != 0) {
        return false;
    }
    for (hri_track *track = t->tracks; track != NULL && !wrote;
         track = track->next) {
        wrote = write_one(track);
    }
    pthread_mutex_unlock(&t->lock);
    return wrote;
}

/* ---- commands that are enqueued */

void hri_track_leave(hri_track *track)
{
    hri_timestamp_drop(&track->of->timestamps, track->here);
    track->here = NULL;
}

/* Whether the timestamp where the queue ends will do. */
static bool is_here(const hri_track *track, bool timed)
{
    bool passed = true;
    if (track->here == NULL || !timed) {
        return track->here != NULL;
    }
    hri_event *event = track->here->event;
    return event->ops->query(event, &passed) == HR_OK && !passed;
}

hr_status hri_track_stamp(hri_track *track, bool timed,
                          hri_timestamp **timestamp)
{
    hri_timestamps *timestamps = &track->of->timestamps;
    hri_timestamp *made = NULL;
    if (is_here(track, timed)) {
        *timestamp = hri_timestamp_keep(track->here);
        return HR_OK;
    }
    hri_track_leave(track);
    HRI_TRY(hri_timestamp_take(timestamps, &made));
    const hr_status status = track->ops->record(track->queue, made->event);
    if (status != HR_OK) {
        hri_timestamp_drop(timestamps, made);
        return status;
    }
    track->here = track->graph ? NULL : hri_timestamp_keep(made);
    *timestamp = made;
    return HR_OK;
}

void hri_track_begin(hri_track *track, hri_traced_command *c)
{
    enum { SOME = 64 };
    c->traced = !track->graph && track->of->trace != NULL;
    if (c->traced && count_unwritten(track) == HRI_TRACK_CAPACITY) {
        hri_track_write(track, SOME, true);
    }
    c->span.begin_ns = hri_trace_now(c->traced);
    c->span.kind = hri_traced_kind(track->of, c->span.kind);
    hri_track_leave(track);
}

/* Errors of timestamps belong to whoever waits. */
hr_status hri_track_end(hri_track *track, hri_traced_command *c,
                        hr_status status)
{
    if (c->traced && status == HR_OK &&
        (c->source != NULL ||
         hri_track_stamp(track, false, &c->end) == HR_OK)) {
        *command_of(track, atomic_load(&track->enqueued)) = *c;
        atomic_fetch_add(&track->enqueued, 1);
    } else {
        drop_timestamps(track, c);
    }
    return status;
}

/* Nothing becomes of it where the last command has been written: its place is
 * set before it is used again. */
void hri_track_is_over(hri_track *track)
{
    atomic_store(&command_of(track, atomic_load(&track->enqueued) - 1)->over_ns,
                 hri_clock_ns());
}

/* ---- a track */

hri_track *hri_track_create(hri_traced *traced, hri_queue *queue)
{
    hri_track *track = calloc(1, sizeof *track);
    hri_traced_command *commands = calloc(HRI_TRACK_CAPACITY, sizeof *commands);
    if (track == NULL || commands == NULL) {
        free(track);
        free(commands);
        return NULL;
    }
    track->queue = queue;
    track->of = traced;
    track->ops = queue->ops;
    track->commands = commands;
    pthread_mutex_init(&track->lock, NULL);
    return track;
}

hr_status hri_track_set_base(hri_track *track)
{
    hri_timestamp_drop(&track->of->timestamps, track->base);
    track->base = NULL;
    HRI_TRY(hri_timestamp_take(&track->of->timestamps, &track->base));
    hri_event *event = track->base->event;
    for (int i = 0; i < 2; i++) { /* the first may be slow */
        HRI_TRY(track->ops->record(track->queue, event));
        HRI_TRY(event->ops->wait(event));
        track->base_ns = hri_clock_ns();
    }
    return HR_OK;
}

void hri_track_free(hri_track *track)
{
    hri_track_leave(track);
    hri_timestamp_drop(&track->of->timestamps, track->base);
    pthread_mutex_destroy(&track->lock);
    free(track->commands);
    free(track);
}
