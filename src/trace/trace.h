/* SPDX-License-Identifier: MIT */
/* Timelines: a file of what queues and threads did when, in the Trace Event
 * Format, which Perfetto and Chrome open. A process there is an accelerator,
 * and a thread is one of its queues. Process 0 has the host's threads. */
#ifndef HRI_TRACE_TRACE_H
#define HRI_TRACE_TRACE_H

#include <stdbool.h>

#include <headrace/status.h>

#include "base/clock.h"

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
                                  no peer copy */
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
void hri_trace_write_here(hri_trace *trace, const hri_span *span);

/* Write a call of the program that the calling thread has made since begin_ns.
 * `more` is that of hri_span. Nothing happens where `trace` is NULL. Any
 * thread. */
void hri_trace_call(hri_trace *trace, const char *name, uint64_t begin_ns,
                    double flops, const char *more);

/* When something begins that is traced; 0 where nothing is. */
static inline uint64_t hri_trace_now(bool traced)
{
    return traced ? hri_clock_ns() : 0;
}

#endif
