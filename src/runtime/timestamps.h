/* SPDX-License-Identifier: MIT */
/* Timestamps: points of the queues of a traced device, whose times are read
 * later.
 *
 * Drivers take time for each event, and links stand still for a moment. So the
 * events of a traced device hold timestamps: where the program records an event
 * directly behind a command, the event takes the timestamp that the timeline
 * has set there. */
#ifndef HRI_RUNTIME_TIMESTAMPS_H
#define HRI_RUNTIME_TIMESTAMPS_H

#include <pthread.h>
#include <stdatomic.h>

#include "hal/hal.h"

typedef struct hri_timestamp {
    struct hri_timestamp *next;
    hri_event *event; /* the device's own */
    atomic_uint users;
} hri_timestamp;

/* The timestamps of a device. */
typedef struct hri_timestamps {
    hri_device *device;
    const hri_device_ops *ops; /* the device's own */
    pthread_mutex_t lock;      /* guards what follows */
    hri_timestamp *idle;
    uint32_t idle_count;
} hri_timestamps;

void hri_timestamps_open(hri_timestamps *timestamps, hri_device *device);
/* Nobody uses a timestamp or an event that holds one any more. */
void hri_timestamps_close(hri_timestamps *timestamps);
/* Have `count` timestamps ready: drivers take long to make them. */
hr_status hri_timestamps_prepare(hri_timestamps *timestamps, uint32_t count);

/* A timestamp that nobody else uses. HR_ERROR_OUT_OF_MEMORY and the driver's.
 */
hr_status hri_timestamp_take(hri_timestamps *timestamps,
                             hri_timestamp **timestamp);
/* One more user of a timestamp; one less. The second accepts NULL. */
hri_timestamp *hri_timestamp_keep(hri_timestamp *timestamp);
void hri_timestamp_drop(hri_timestamps *timestamps, hri_timestamp *timestamp);

/* An event that holds a timestamp; and whether an event does: one that was
 * created before its device was traced does not. `create` is for tables of
 * functions. */
hr_status hri_stamped_create(hri_timestamps *timestamps, bool timed,
                             hri_event **event);
bool hri_is_stamped(const hri_event *event);
/* Whether the program measures with the event. */
bool hri_stamped_is_timed(const hri_event *event);
/* The timestamp of an event, which the caller drops. */
hri_timestamp *hri_stamped_keep(hri_event *event);
/* The event's elapsed, for pairs of which only one may hold a timestamp. */
hr_status hri_event_elapsed(hri_event *from, hri_event *to, uint64_t *ns);
/* Give an event another timestamp, of which it becomes a user. */
void hri_stamped_set(hri_event *event, hri_timestamp *timestamp);

#endif
