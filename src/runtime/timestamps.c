/* SPDX-License-Identifier: MIT */
#include "runtime/timestamps.h"

#include <stdlib.h>

#include "hal/backend.h"

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
    hr_status status = HR_OK;
    while (timestamps->idle_count < count && status == HR_OK) {
        hri_timestamp *timestamp = NULL;
        status = hri_timestamp_make(timestamps, &timestamp);
        hri_timestamp_drop(timestamps, timestamp);
    }
    return status;
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
