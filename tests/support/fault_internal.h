/* SPDX-License-Identifier: MIT */
/* What the files of the wrapper backend share. */
#ifndef FAULT_INTERNAL_H
#define FAULT_INTERNAL_H

#include <pthread.h>

#include "base/status.h"
#include "support/fault_backend.h"

typedef struct fault_pinned {
    struct fault_pinned *next;
    const char *host;
    size_t bytes;
} fault_pinned;

typedef struct fault_device {
    hri_device base; /* first: see hri_device */
    hri_device *inner;
    uint32_t number;      /* in the order of opening since the reset */
    uint64_t products;    /* under fault_lock */
    uint64_t free_bytes;  /* the limit, 0: none */
    uint64_t used_bytes;  /* guarded by fault_lock, as is objects */
    uint64_t objects;     /* made on this device and not yet gone */
    fault_pinned *pinned; /* areas that exist; under fault_lock */
} fault_device;

typedef struct fault_buffer {
    hri_buffer base; /* first: see hri_buffer */
    hri_buffer *inner;
} fault_buffer;

/* ---- fault_state.c */

/* Guards the state and the objects' mutable fields; held for moments only. */
extern pthread_mutex_t fault_lock;

/* Count a call on a device, or on the backend when device is NULL;
 * the status that it must fail with, else HR_OK. Waits while the device is
 * stuck. */
hr_status fault_enter(const hri_device *device, fault_slot slot);
/* The same for a call that cannot fail. */
void fault_note(fault_slot slot);
/* Count a product. Wait if it is to be held up, and as long as it takes. */
void fault_product(fault_device *device, const hri_gemm *gemm);
/* Count an operation; whether it must fail later, with *error then set. */
bool fault_operation(hri_error *error);
/* A copy of this device is about to be enqueued: waits while copies are
 * stopped. */
void fault_pass_copy(const fault_device *device);
/* A copy of so many bytes has been enqueued, or one with ordinary memory. */
void fault_count_copy(fault_direction direction, uint64_t bytes, bool ordinary);
/* One more object, or one fewer, of device (NULL: a device itself). */
void fault_count_object(fault_device *device, int change);
/* A breach of the contract: tell, count, and return HR_ERROR_INVALID. */
hr_status fault_breach(const char *what);
/* Whether devices pretend to have no double. */
bool fault_has_no_double(void);
/* What is pretended to go by between events of this device; 0: nothing is. */
uint64_t fault_time(const fault_device *device);
/* Change *info to what is pretended. */
void fault_pretend(hri_device_info *info);
/* A device is opened: count and number it, and let it pretend. */
void fault_add_device(fault_device *device);

/* ---- fault_backend.c */

/* Zeroed memory for an object of the wrapper's. NULL: there is none, which is
 * said. */
void *fault_object(size_t bytes);
hri_module *fault_inner_module(hri_module *module); /* NULL stays NULL */

/* ---- fault_queue.c: the slots of the device, and HR_OK or a breach */

hr_status fault_create_queue(hri_device *device, bool urgent,
                             hri_queue **queue);
hr_status fault_create_event(hri_device *device, bool timed, hri_event **event);
void fault_destroy_graph(hri_graph *graph);
hr_status fault_check_gemm(hri_device *device, const hri_gemm *gemm);

static inline hri_device *fault_inner_device(hri_device *device)
{
    return ((fault_device *)device)->inner;
}

#endif
