/* SPDX-License-Identifier: MIT */
/* The host as a device: what its files share.
 *
 * Buffers are ordinary memory. A queue is a thread with a list of commands. It
 * numbers its records and knows which of them it has passed. An event is its
 * last record: a queue and a number. A command that waits for an event copies
 * the record. So it does not matter when the event is recorded again or
 * destroyed. */
#ifndef HRI_BACKENDS_HOST_HOST_H
#define HRI_BACKENDS_HOST_HOST_H

#include "base/pool.h"
#include "hal/backend.h"

typedef struct host_device {
    hri_device base; /* first: see hri_device */
    hri_pool *pool;  /* the process's pool: all devices share the CPUs */
} host_device;

static inline hri_pool *hri_host_pool(const hri_device *device)
{
    return ((const host_device *)device)->pool;
}

typedef struct host_buffer {
    hri_buffer base; /* first: see hri_buffer */
    unsigned char *data;
} host_buffer;

typedef struct host_launch host_launch;

/* The address of a place in host memory or in a buffer of the host. */
static inline unsigned char *hri_host_address(const hri_place *place)
{
    unsigned char *start = place->buffer != NULL
                               ? ((host_buffer *)place->buffer)->data
                               : place->host;
    return start + place->offset;
}

/* host.c: carry out a command now. Only one product at a time runs in the whole
 * process. */
hr_status hri_host_multiply(hri_device *device, const hri_gemm *gemm);
void hri_host_copy(const hri_copy *copy);
void hri_host_pack(const hri_pack *pack);

/* launch.c: a kernel with its arguments, which a pool will run once. */
hr_status hri_host_launch_create(hri_pool *pool, const hri_launch *launch,
                                 host_launch **out);
void hri_host_launch_run(host_launch *launch);
void hri_host_launch_destroy(host_launch *launch);

/* queue.c: functions of hri_device_ops. */
hr_status hri_host_queue_create(hri_device *device, bool urgent,
                                hri_queue **queue);
hr_status hri_host_event_create(hri_device *device, hri_event **event);

#endif
