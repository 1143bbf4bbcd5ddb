/* SPDX-License-Identifier: MIT */
/* The host as a device: what its files share.
 *
 * Buffers are ordinary memory. A queue is a thread with a list of commands. A
 * record of an event makes a mark, which the event, the command that will
 * complete it and the commands that wait for it hold together: so a later
 * record of the same event, or its end, changes nothing for them. */
#ifndef HRI_BACKENDS_HOST_HOST_H
#define HRI_BACKENDS_HOST_HOST_H

#include "hal/backend.h"

typedef struct host_buffer {
    hri_buffer base; /* first: see hri_buffer */
    unsigned char *data;
} host_buffer;

typedef struct host_mark host_mark;
typedef struct host_launch host_launch;

/* machine.c: describe this machine; cannot fail. */
void hri_host_describe(hri_device_info *info);

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

/* launch.c: a kernel with its arguments, ready to run once. */
hr_status hri_host_launch_create(const hri_launch *launch, host_launch **out);
void hri_host_launch_run(host_launch *launch);
void hri_host_launch_destroy(host_launch *launch);

/* queue.c, event.c: the slots of the device. */
hr_status hri_host_queue_create(hri_device *device, bool urgent,
                                hri_queue **queue);
hr_status hri_host_event_create(hri_device *device, hri_event **event);

/* host.c: multiply now, one product at a time in the whole process. */
hr_status hri_host_multiply(const hri_gemm *gemm);
/* host.c: call function(data, 0 .. count - 1) by all threads, so many. */
uint32_t hri_host_thread_count(void);
void hri_host_share_out(int64_t count, void (*function)(void *, int64_t),
                        void *data);

/* event.c: a new mark, held once; HR_ERROR_OUT_OF_MEMORY. */
hr_status hri_host_mark_create(host_mark **mark);
/* Hold it once more, and let it go. */
void hri_host_mark_hold(host_mark *mark);
void hri_host_mark_release(host_mark *mark); /* accepts NULL */
/* Everything before the mark has run; error is that of its queue. */
void hri_host_mark_complete(host_mark *mark, const hri_error *error);
/* Block until complete; returns its queue's error. */
hr_status hri_host_mark_wait(host_mark *mark);

/* event.c: let the event stand for mark (which it then holds), and the mark
 * that it stands for, held for the caller; NULL when never recorded. */
void hri_host_event_set(hri_event *event, host_mark *mark);
host_mark *hri_host_event_get(hri_event *event);

#endif
