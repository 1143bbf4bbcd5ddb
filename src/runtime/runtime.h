/* SPDX-License-Identifier: MIT */
/* Contexts and their accelerators, as the engines see them. */
#ifndef HRI_RUNTIME_RUNTIME_H
#define HRI_RUNTIME_RUNTIME_H

#include <pthread.h>

#include <headrace/context.h>

#include "base/pool.h"
#include "hal/hal.h"

typedef struct hri_block hri_block; /* a buffer kept for reuse */

/* An accelerator of a context: a device, or a virtual share of one. */
typedef struct hri_accelerator {
    hri_device *device;
    char path[48];     /* "host", "host#2", "opencl:0:1#0" */
    uint32_t physical; /* equal for virtual accelerators of one device */
    struct hri_accelerator *sibling; /* the next on the same device, in a ring;
                                        NULL or itself when there is none */
    bool in_place;         /* plain "host": multiplies in the caller's memory */
    uint64_t memory_limit; /* bytes of buffers it may hold; 0 when in_place */
    uint64_t memory_used;  /* bytes of buffers that exist, cached ones too */
    uint64_t memory_peak;  /* the most memory_used has been */
    uint64_t pinned_used;  /* bytes of pinned memory that exist */
    uint64_t allocations;  /* device and pinned allocations made so far */
    double rates[HR_I32 + 1]; /* flop/s by type of A, 0: not measured yet */
    double up, down;          /* link, bytes/s, 0: not measured yet */
    hri_block *blocks;        /* buffers and pinned areas, in use or cached */
} hri_accelerator;

struct hr_context {
    pthread_mutex_t lock; /* one engine call at a time */
    hri_accelerator *accelerators;
    uint32_t accelerator_count;
    hr_accelerator_info *machine; /* what hr_machine_describe tells */
    uint32_t machine_count;
    hri_pool *pool; /* threads for work on the host */
    hr_log_function log;
    void *log_data;
    pthread_mutex_t log_lock;
};

/* hr_context_create over a given list of backends, for tests. */
hr_status hri_context_create_from(const hri_backend *const *backends,
                                  const hr_context_options *options,
                                  hr_context **context);

/* One line to the context's log, if it has one. Any thread. */
void hri_log(hr_context *context, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* A buffer of exactly `bytes` bytes: a cached one, else a new one. Cached
 * buffers of other sizes are freed first when the limit or the device would
 * not take it. HR_ERROR_OUT_OF_MEMORY with the numbers when it does not fit.
 * The caller holds the context's lock. */
hr_status hri_accelerator_allocate(hri_accelerator *accelerator, uint64_t bytes,
                                   hri_buffer **buffer);
/* Back to the cache; NULL is accepted. */
void hri_accelerator_release(hri_accelerator *accelerator, hri_buffer *buffer);

/* The same for pinned host memory, which no limit counts. */
hr_status hri_accelerator_allocate_pinned(hri_accelerator *accelerator,
                                          uint64_t bytes, void **host);
void hri_accelerator_release_pinned(hri_accelerator *accelerator, void *host);

/* The rate of products of this type, flop/s: measured on first use with a small
 * product of random numbers (some milliseconds), and kept. The caller holds
 * the context's lock. */
hr_status hri_accelerator_rate(hri_accelerator *accelerator, hr_type type,
                               hr_type c_type, double *flops_per_second);

/* The speed of its host link into *up and *down, likewise. */
hr_status hri_accelerator_link(hri_accelerator *accelerator);

#endif
