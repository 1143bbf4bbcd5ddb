/* SPDX-License-Identifier: MIT */
/* What queues and events of the host have of each other. */
#ifndef HRI_BACKENDS_HOST_QUEUE_H
#define HRI_BACKENDS_HOST_QUEUE_H

#include "backends/host/host.h"

typedef struct host_queue host_queue;
typedef struct host_event host_event;

/* A record of an event: record `number` of a queue, from 1 on. */
typedef struct host_record {
    host_queue *of;
    uint64_t number;
} host_record;

/* queue.c: hold a queue while its records are looked at. Both accept NULL. */
void hri_host_queue_hold(host_queue *queue);
void hri_host_queue_release(host_queue *queue);

/* queue.c: whether the record has been passed, waiting for it if `wait`.
 * Returns the queue's error if the queue failed before the record. */
hr_status hri_host_record_look(host_record record, bool wait, bool *done);

/* event.c: make this the event's last record. The event is held until the
 * record has run. */
void hri_host_event_set(host_event *event, host_record record);
/* The event's last record, with its queue held for the caller. number 0: never
 * recorded. */
host_record hri_host_event_get(host_event *event);
/* The queue has passed that record of the event. */
void hri_host_event_pass(host_event *event, host_record record);

#endif
