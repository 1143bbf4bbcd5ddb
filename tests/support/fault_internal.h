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

typedef struct fault_queue {
    hri_queue base; /* first: see hri_queue */
    hri_queue *inner;
    hri_error error; /* of an operation that failed on request */
    bool graph;      /* one has been begun here */
} fault_queue;

/* Guards the state and the objects' mutable fields; held for moments only. */
extern pthread_mutex_t fault_lock;

/* Count a call on a device, or on the backend when device is NULL;
 * the status that it must fail with, else HR_OK. Waits while the device is
 * stuck. */
hr_status fault_enter(const hri_device *device, fault_slot slot);
/* The same for a call that cannot fail. */
void fault_note(fault_slot slot);
/* The next number of a device. */
uint32_t fault_next_device(void);
/* Count a product. Wait if it is to be held up, and as long as it takes. */
void fault_product(fault_device *device, const hri_gemm *gemm);
/* Count an operation; whether it must fail later, with *error then set. */
bool fault_operation(hri_error *error);
/* A copy of this device is about to be enqueued: waits while copies are
 * stopped. */
void fault_pass_copy(const fault_device *device);
/* A copy of so many bytes from or to ordinary memory has been enqueued. */
void fault_count_ordinary(uint64_t bytes);
void fault_count_bytes(fault_direction direction, uint64_t bytes);
/* One more object, or one fewer, of device (NULL: a device itself). */
void fault_count_object(fault_device *device, int change);
/* A breach of the contract: tell, count, and return HR_ERROR_INVALID. */
hr_status fault_breach(const char *what);
/* Whether devices pretend to have no double. */
bool fault_has_no_double(void);
/* What is pretended to go by between events of this device; 0: nothing is. */
uint64_t fault_time(const fault_device *device);
/* Change *info to what is pretended. */
void fault_pretend(hri_device_info *info, uint64_t *free_bytes);

/* fault_check.c: HR_OK, or a breach. */
hr_status fault_check_copy(hri_device *device, const hri_copy *copy);
hr_status fault_check_fill(hri_device *device, const hri_place *place,
                           size_t bytes);
hr_status fault_check_pack(hri_device *device, const hri_pack *pack);
hr_status fault_check_gemm(hri_device *device, const hri_gemm *gemm);
/* Whether device may use buffers and events of other. */
bool fault_may_use(hri_device *device, hri_device *other);

/* fault_backend.c: whether device gave this memory as pinned. */
bool fault_gave_pinned(fault_device *device, const void *host, size_t bytes);

/* fault_queue.c: the slots of the device. */
hri_module *fault_inner_module(hri_module *module); /* NULL stays NULL */
hr_status fault_create_queue(hri_device *device, bool urgent,
                             hri_queue **queue);
hr_status fault_create_event(hri_device *device, bool timed, hri_event **event);

void fault_destroy_graph(hri_graph *graph);

static inline hri_device *fault_inner_device(hri_device *device)
{
    return ((fault_device *)device)->inner;
}

#endif
