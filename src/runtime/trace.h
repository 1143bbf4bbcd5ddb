/* SPDX-License-Identifier: MIT */
/* Timelines: a file of what queues and threads did when, in the Trace Event
 * Format, which Perfetto and Chrome open. A process there is an accelerator,
 * and a thread is one of its queues. Process 0 has the host's threads.
 *
 * A device is traced by other tables of functions (traced.c). They set a
 * timestamp behind each command. So commands of a device that was never traced
 * cost nothing. */
#ifndef HRI_RUNTIME_TRACE_H
#define HRI_RUNTIME_TRACE_H

#include "base/clock.h"
#include "runtime/runtime.h"

typedef enum hri_trace_kind {
    HRI_TRACE_CALL,    /* a call of the program */
    HRI_TRACE_COMPUTE, /* a kernel, a product or packing */
    HRI_TRACE_UP,      /* a copy from host memory */
    HRI_TRACE_DOWN,    /* a copy to host memory */
    HRI_TRACE_PEER,    /* a copy to another device */
    HRI_TRACE_INSIDE,  /* a copy or fill inside a device's memory */
    HRI_TRACE_PACK,    /* a thread copies from or to pinned memory */
    HRI_TRACE_WAIT,    /* a queue waits for another one */
    HRI_TRACE_MEASURE  /* the library measures: none of this is a call's */
} hri_trace_kind;

enum { HRI_TRACE_NAME = 64 };

/* One bar of a timeline. */
typedef struct hri_span {
    hri_trace_kind kind;
    char name[HRI_TRACE_NAME];
    uint64_t begin_ns, end_ns; /* of hri_clock_ns */
    uint64_t bytes;            /* moved; 0: none */
    double flops;              /* done; 0: none, or not known */
    uint32_t to;               /* the process that a peer copy goes to; 0: it is
                                  none */
    const char *more;          /* further members of a JSON object, each behind
                                  a comma; NULL: none */
} hri_span;

/* A file that is written. */
typedef struct hri_trace hri_trace;

/* Begin the file, or go on with it: all contexts of a process that name one
 * path write to one file. HR_ERROR_IO. The second function completes the file
 * when nobody else holds it. HR_ERROR_IO when anything could not be written.
 * NULL is accepted. Any thread. */
hr_status hri_trace_hold(const char *path, hri_trace **trace);
hr_status hri_trace_drop(hri_trace *trace);

/* A new process of the timeline, and a new thread of a process. Any thread. */
uint32_t hri_trace_process(hri_trace *trace, const char *name);
uint32_t hri_trace_thread(hri_trace *trace, uint32_t process, const char *name);

/* Write a bar. Any thread. */
void hri_trace_write(hri_trace *trace, uint32_t process, uint32_t thread,
                     const hri_span *span);

/* Write a bar of the calling thread, which ends now. Any thread. */
void hri_trace_here(hri_trace *trace, const hri_span *span);

/* ---- traced.c */

/* Trace all work on a device from now on: of queues that it makes later, and of
 * these. `path` is the accelerator's. The caller has the device to itself.
 * HR_ERROR_OUT_OF_MEMORY. */
hr_status hri_traced_begin(hri_device *device, hri_trace *trace,
                           const char *path);
hr_status hri_traced_queue(hri_queue *queue);
/* Wait for all traced queues, write what they did, and trace no more. The
 * tables stay until the device is closed, since the device's events do. Nothing
 * happens to a device that is not traced. */
void hri_traced_end(hri_device *device);
/* Give the device and its queues their own tables back. Its events are gone, or
 * none was created since it is traced. */
void hri_traced_close(hri_device *device);
bool hri_is_traced(const hri_device *device);

/* When something begins that is traced; 0 where nothing is. */
static inline uint64_t hri_trace_now(bool traced)
{
    return traced ? hri_clock_ns() : 0;
}

/* Write what the calling thread does for a traced device, from begin_ns until
 * now. Nothing happens to a device that is not traced. Any thread. */
void hri_traced_here(const hri_device *device, hri_trace_kind kind,
                     const char *what, uint64_t begin_ns, uint64_t bytes);

/* Whatever a device does from now on is of the kind "measure", on all queues
 * and threads, until measuring ends as often as it began. Nothing happens to a
 * device that is not traced. Any thread. */
void hri_traced_measure(const hri_device *device);
void hri_traced_measured(const hri_device *device);

/* Write one command that has run of a traced device. False: there is none, or
 * another thread looks. Any thread. */
bool hri_traced_write_one(hri_device *device);

/* Write what the queues of all traced devices have done so far. Any thread. */
void hri_traced_write_all(void);

/* Write a call of the program that the calling thread has made since begin_ns.
 * Nothing happens without a trace. `more` is that of hri_span. Any thread. */
void hri_traced_call(hr_context *context, const char *name, uint64_t begin_ns,
                     double flops, const char *more);

#endif
