/* SPDX-License-Identifier: MIT */
/* Timestamps: points of the queues of a traced device, whose times are read
 * later. */
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

/* A timestamp that nobody else uses; the first was never recorded.
 * HR_ERROR_OUT_OF_MEMORY and the driver's. */
hr_status hri_timestamp_make(hri_timestamps *timestamps,
                             hri_timestamp **timestamp);
hr_status hri_timestamp_take(hri_timestamps *timestamps,
                             hri_timestamp **timestamp);
/* One more user of a timestamp; one less. The second accepts NULL. */
hri_timestamp *hri_timestamp_keep(hri_timestamp *timestamp);
void hri_timestamp_drop(hri_timestamps *timestamps, hri_timestamp *timestamp);

#endif
