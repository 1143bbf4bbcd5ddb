/* SPDX-License-Identifier: MIT */
#include "runtime/stamped.h"

#include <stdlib.h>

#include "hal/backend.h"
#include "runtime/trace.h"

/* An event of a traced device, and the timestamp that it holds. */
typedef struct stamped_event {
    hri_event base;
    hri_timestamps *timestamps;
    bool timed;
    pthread_mutex_t lock; /* guards timestamp: threads poll events */
    hri_timestamp *timestamp;
} stamped_event;

static void stamped_destroy(hri_event *event)
{
    stamped_event *e = (stamped_event *)event;
    if (e != NULL) {
        hri_timestamp_drop(e->timestamps, e->timestamp);
        pthread_mutex_destroy(&e->lock);
        free(e);
    }
}

static hr_status stamped_query(hri_event *event, bool *done)
{
    hri_timestamp *timestamp = hri_stamped_keep(event);
    const hr_status status =
        timestamp->event->ops->query(timestamp->event, done);
    hri_timestamp_drop(((stamped_event *)event)->timestamps, timestamp);
    return status;
}

/* Bars are made while the thread waits anyway: drivers take a microsecond or
 * two to tell when a command ended. Where asking fails, what runs may still use
 * memory of the caller: so it waits, which tells of errors too. */
static hr_status stamped_wait(hri_event *event)
{
    hri_timestamp *timestamp = hri_stamped_keep(event);
    hri_event *own = timestamp->event;
    bool done = false;
    hr_status status = own->ops->query(own, &done);
    while (status == HR_OK && !done && hri_traced_write_one(event->device)) {
        status = own->ops->query(own, &done);
    }
    if (status != HR_OK || !done) {
        status = own->ops->wait(own);
    }
    hri_timestamp_drop(((stamped_event *)event)->timestamps, timestamp);
    return status;
}

hr_status hri_event_elapsed(hri_event *from, hri_event *to, uint64_t *ns)
{
    hri_event *const events[] = {from, to};
    hri_timestamp *timestamps[2] = {NULL, NULL};
    hri_event *own[2];
    for (int i = 0; i < 2; i++) {
        timestamps[i] =
            hri_is_stamped(events[i]) ? hri_stamped_keep(events[i]) : NULL;
        own[i] = timestamps[i] != NULL ? timestamps[i]->event : events[i];
    }
    const hr_status status = own[0]->ops->elapsed(own[0], own[1], ns);
    for (int i = 0; i < 2; i++) {
        if (timestamps[i] != NULL) {
            hri_timestamp_drop(((stamped_event *)events[i])->timestamps,
                               timestamps[i]);
        }
    }
    return status;
}

static const hri_event_ops event_ops = {.destroy = stamped_destroy,
                                        .query = stamped_query,
                                        .wait = stamped_wait,
                                        .elapsed = hri_event_elapsed};

hr_status hri_stamped_create(hri_timestamps *timestamps, bool timed,
                             hri_event **event)
{
    stamped_event *e = calloc(1, sizeof *e);
    if (e == NULL) {
        return hri_no_memory_for(timestamps->device->info.path, "an event");
    }
    e->base = (hri_event){.ops = &event_ops, .device = timestamps->device};
    e->timestamps = timestamps;
    e->timed = timed;
    const hr_status status = hri_timestamp_make(timestamps, &e->timestamp);
    if (status != HR_OK) {
        free(e);
        return status;
    }
    pthread_mutex_init(&e->lock, NULL);
    *event = &e->base;
    return HR_OK;
}

bool hri_is_stamped(const hri_event *event)
{
    return event->ops == &event_ops;
}

bool hri_stamped_is_timed(const hri_event *event)
{
    return ((const stamped_event *)event)->timed;
}

hri_timestamp *hri_stamped_keep(hri_event *event)
{
    stamped_event *e = (stamped_event *)event;
    pthread_mutex_lock(&e->lock);
    hri_timestamp *timestamp = hri_timestamp_keep(e->timestamp);
    pthread_mutex_unlock(&e->lock);
    return timestamp;
}

void hri_stamped_set(hri_event *event, hri_timestamp *timestamp)
{
    stamped_event *e = (stamped_event *)event;
    pthread_mutex_lock(&e->lock);
    hri_timestamp *before = e->timestamp;
    e->timestamp = hri_timestamp_keep(timestamp);
    pthread_mutex_unlock(&e->lock);
    hri_timestamp_drop(e->timestamps, before);
}
