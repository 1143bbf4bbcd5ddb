/* SPDX-License-Identifier: MIT */
/* Devices that are traced. Other tables of functions take the place of the
 * device's and its queues' own, and set a timestamp behind each command. So
 * commands of a device that was never traced cost nothing. */
#ifndef HRI_TRACE_TRACED_H
#define HRI_TRACE_TRACED_H

#include "hal/hal.h"
#include "trace/trace.h"

/* Trace all work on a device from now on: of queues that it makes later, and of
 * these. `path` is the accelerator's. The caller has the device to itself.
 * HR_ERROR_OUT_OF_MEMORY. */
hr_status hri_traced_begin(hri_device *device, hri_trace *trace,
                           const char *path);
/* Nothing happens to a queue that is traced. */
hr_status hri_traced_queue(hri_queue *queue);
/* Wait for all traced queues, write what they did, and trace no more. The
 * tables stay until the device is closed, since the device's events do. Nothing
 * happens to a device that is not traced. */
void hri_traced_end(hri_device *device);
/* Give the device and its queues their own tables back. Its events are gone, or
 * none was created since it is traced. */
void hri_traced_close(hri_device *device);
bool hri_is_traced(const hri_device *device);

/* Write what the calling thread does for a traced device, from begin_ns until
 * now. Nothing happens to a device that is not traced. Any thread. */
void hri_traced_write_here(const hri_device *device, hri_trace_kind kind,
                           const char *what, uint64_t begin_ns, uint64_t bytes);

/* Whatever a device does from now on is of the kind "measure", on all queues
 * and threads, until measuring ends as often as it began. Nothing happens to a
 * device that is not traced. Any thread. */
void hri_traced_begin_measuring(const hri_device *device);
void hri_traced_end_measuring(const hri_device *device);

/* The `elapsed` of events of a device that may be traced: one of the two may
 * have been created before that. */
hr_status hri_event_elapsed(hri_event *from, hri_event *to, uint64_t *ns);

#endif
