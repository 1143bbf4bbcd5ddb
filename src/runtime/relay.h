/* SPDX-License-Identifier: MIT */
/* Relays: queues and events around those of a device that never hold their
 * caller. They hand on at once what they are given, until a copy comes that the
 * driver would hold the caller for, or pieces of which threads have to copy
 * (stage.h); that, and all behind it, is noted, and a thread of the queue's
 * works through it.
 *
 * They keep to the contract of hal.h, except that they decline fill, gemm and
 * turn, which no array asks for; and may be told to wait for each other's
 * events, whatever has been handed on yet. Events of relays are for relays. No
 * call waits for the context's lock. */
#ifndef HRI_RUNTIME_RELAY_H
#define HRI_RUNTIME_RELAY_H

#include "runtime/runtime.h"

/* A record of an event. Waits that are still only noted hold the one that they
 * mean, so that the event may be recorded again. */
typedef struct hri_point {
    hri_accelerator *accelerator; /* whose relay.lock guards what follows */
    hri_event *inner;
    bool noted;             /* its queue has yet to record it */
    hri_error error;        /* of its queue, there */
    uint32_t holders;       /* the event, and whoever waits */
    struct hri_point *next; /* while nobody holds it */
} hri_point;

typedef struct hri_relay_event {
    hri_event base; /* first: see hri_event */
    hri_accelerator *accelerator;
    hri_point *point; /* of the last record */
} hri_relay_event;

void hri_relay_init(hri_relay *relay);
/* Nothing is under way, and all queues and events have been destroyed. */
void hri_relay_finish(hri_relay *relay);

hr_status hri_relay_queue_create(hri_accelerator *accelerator, bool urgent,
                                 hri_queue **queue);
hr_status hri_relay_event_create(hri_accelerator *accelerator,
                                 hri_event **event);

/* point.c: what queues do with events. The event's last record, held: */
hri_point *hri_point_of(hri_relay_event *event);
void hri_point_drop(hri_point *point);
/* A new one, which the event holds: it has been noted only, or is recorded
 * before anybody hears of it. */
hr_status hri_point_renew(hri_relay_event *event, bool noted);
bool hri_point_is_noted(hri_point *point);
/* Block until it has been recorded. */
void hri_point_await(hri_point *point);
/* Its queue has recorded it, with this error; and the error. */
void hri_point_recorded(hri_point *point, const hri_error *error);
hr_status hri_point_raise(hri_point *point);

#endif
