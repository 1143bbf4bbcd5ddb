/* SPDX-License-Identifier: MIT */
/* The host as a device: what its files share.
 *
 * Buffers are ordinary memory. A queue is a thread with a list of commands. It
 * numbers its records, and says which it has passed. An event is its last
 * record: a number of a queue. A command that waits for an event has that
 * record, so a later one, or the end of the event, changes nothing for it. */
#ifndef HRI_BACKENDS_HOST_HOST_H
#define HRI_BACKENDS_HOST_HOST_H

#include "base/pool.h"
#include "hal/backend.h"

typedef struct host_device {
    hri_device base; /* first: see hri_device */
    hri_pool *pool;  /* the process's: all devices share the CPUs */
} host_device;

static inline hri_pool *hri_host_pool(const hri_device *device)
{
    return ((const host_device *)device)->pool;
}

typedef struct host_buffer {
    hri_buffer base; /* first: see hri_buffer */
    unsigned char *data;
} host_buffer;

typedef struct host_queue host_queue;
typedef struct host_launch host_launch;

/* The address of a place in host memory or in a buffer of the host. */
static inline unsigned char *hri_host_address(const hri_place *place)
{
    unsigned char *start = place->buffer != NULL
                               ? ((host_buffer *)place->buffer)->data
                               : place->host;
    return start + place->offset;
}

/* copy.c: copy the boxes of *copy now. */
void hri_host_copy(const hri_copy *copy);
void hri_host_turn(const hri_turn *turn);

/* launch.c: a kernel with its arguments, ready to run once by a pool. */
hr_status hri_host_launch_create(hri_pool *pool, const hri_launch *launch,
                                 host_launch **out);
void hri_host_launch_run(host_launch *launch);
void hri_host_launch_destroy(host_launch *launch);

/* queue.c, event.c: the slots of the device. */
hr_status hri_host_queue_create(hri_device *device, bool urgent,
                                hri_queue **queue);
hr_status hri_host_event_create(hri_device *device, hri_event **event);

/* host.c: multiply now, one product at a time in the whole process. */
hr_status hri_host_multiply(hri_device *device, const hri_gemm *gemm);

/* A record of an event: record `number`, from 1 on, of a queue. */
typedef struct hri_host_record {
    host_queue *of;
    uint64_t number;
} hri_host_record;

/* queue.c: who looks at records of a queue holds it. Both accept NULL. */
void hri_host_queue_hold(host_queue *queue);
void hri_host_queue_release(host_queue *queue);
/* Whether the record has been passed, blocking until then if so wanted; the
 * queue's error if that failed before. */
hr_status hri_host_record_look(hri_host_record record, bool wait, bool *done);

/* event.c: let the event be this record. The event is held until it has run: */
void hri_host_event_set(hri_event *event, hri_host_record record);
/* The queue has come to that record of the event. */
void hri_host_event_pass(hri_event *event, hri_host_record record);
/* Its last record, whose queue is held for the caller; number 0: never
 * recorded. */
hri_host_record hri_host_event_get(hri_event *event);

#endif
