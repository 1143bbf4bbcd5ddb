/* SPDX-License-Identifier: MIT */
/* A backend around another one, for tests. It fails calls on request, pretends,
 * counts, and checks that its caller keeps to the contract of hal/hal.h.
 *
 *   const hri_backend *list[] = {fault_backend_wrap(&hri_backend_host), NULL};
 *   fault_backend_reset();
 *   fault_backend_fail_call(17, HR_ERROR_BACKEND);
 *   status = hri_context_create_from(list, &options, &context);
 *
 * All wrapped backends share one state of settings and counts. Settings are
 * made while no call is under way. The other functions may be called at any
 * time. */
#ifndef FAULT_BACKEND_H
#define FAULT_BACKEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hal/hal.h"

typedef enum fault_slot {
    /* Those that return a status: they count as calls, and can fail. */
    FAULT_PROBE,
    FAULT_DESCRIBE,
    FAULT_OPEN,
    FAULT_ALLOCATE,
    FAULT_ALLOCATE_PINNED,
    FAULT_LEND,
    FAULT_TAKE_BACK,
    FAULT_CREATE_QUEUE,
    FAULT_CREATE_EVENT,
    FAULT_COPY,
    FAULT_FILL,
    FAULT_GEMM,
    FAULT_PACK,
    FAULT_LAUNCH,
    FAULT_BUILD,
    FAULT_LOAD,
    FAULT_RECORD,
    FAULT_WAIT,
    FAULT_FINISH,
    FAULT_BEGIN_GRAPH,
    FAULT_END_GRAPH,
    FAULT_RUN_GRAPH,
    FAULT_EVENT_QUERY,
    FAULT_EVENT_WAIT,
    FAULT_EVENT_ELAPSED,
    /* Those that cannot. */
    FAULT_CLOSE,
    FAULT_RELEASE,
    FAULT_RELEASE_PINNED,
    FAULT_UNLOAD,
    FAULT_DESTROY_GRAPH,
    FAULT_DESTROY_QUEUE,
    FAULT_DESTROY_EVENT,
    FAULT_IS_PINNED,
    FAULT_IS_PEER,
    FAULT_GEMM_OFFERED,
    FAULT_SLOTS
} fault_slot;

/* "copy", "allocate" ... */
const char *fault_slot_name(fault_slot slot);

/* The backend around inner, with inner's name, instead of what was wrapped
 * before under that name. NULL for a fourth name in a program. */
const hri_backend *fault_backend_wrap(const hri_backend *inner);

/* A context of these accelerators of the wrapped host, with this limit of the
 * memory of each. 0: the library's own limit. */
hr_context *fault_backend_context(const char *accelerators,
                                  uint64_t memory_limit);

/* Destroy a context, and check that nothing of the wrapped backends is left and
 * that the contract was kept. */
void fault_backend_close(hr_context *context);

/* No faults, nothing pretended, and counts from zero. */
void fault_backend_reset(void);

typedef enum fault_way {
    FAULT_CALL,      /* a call does nothing and returns the status; finish and
                        event wait do wait first, and a graph is ended */
    FAULT_OPERATION, /* a copy, fill, product, launch or run of a graph returns
                        HR_OK but fails later. It does not happen, nor do those
                        after it on its queue. The queue's events and finish
                        return the status */
    FAULT_LOSS,      /* from a call on, every one returns HR_ERROR_LOST */
    FAULT_HOOK,      /* before a call goes on, what fault_backend_at says */
    FAULT_MEMORY,    /* fault_backend_refuses says yes */
    FAULT_WAYS
} fault_way;

/* One of the calls that can fail, of the operations, or of the allocations. */
typedef struct fault_point {
    uint64_t path;   /* from fault_backend_path; 0: any, over all devices */
    uint64_t number; /* its number since the reset, or, with a path, since this
                      was set, from 1; 0: none */
} fault_point;

void fault_backend_inject(fault_way way, fault_point point, hr_status status);
/* Whether it has come. */
bool fault_backend_came(fault_way way);

static inline void fault_backend_fail_call(uint64_t call, hr_status status)
{
    fault_backend_inject(FAULT_CALL, (fault_point){0, call}, status);
}

static inline void fault_backend_lose(uint64_t call)
{
    fault_backend_inject(FAULT_LOSS, (fault_point){0, call}, HR_ERROR_LOST);
}

static inline void fault_backend_fail_operation(uint64_t operation,
                                                hr_status status)
{
    fault_backend_inject(FAULT_OPERATION, (fault_point){0, operation}, status);
}

/* Before that call goes on, hook is called on its thread, which may hold locks
 * of the engine. */
void fault_backend_at(fault_point point, void (*hook)(void *data), void *data);

/* For programs in whose place malloc and its like are called: whether this
 * allocation fails. */
bool fault_backend_refuses(void);

/* Until the reset, remember where calls come from, at most 65536. */
void fault_backend_trace(void);
/* Where number `index` (from 0) of those that can fail in this way came from:
 * the same for all that the same functions make at the same places. 0: there
 * are not so many. */
uint64_t fault_backend_path(fault_way way, size_t index);

/* Hold a device up, so that others steal its work. `device` is its number in
 * the order of opening, from 0, since the reset. Its products wait in the call
 * until others have been given `others` products. They stop waiting when a
 * fault or the hook has happened, or when no call has been made for a tenth of
 * a second. Where the test drives the clock (support/simulate.h), that means
 * that nothing more happens without this product. */
void fault_backend_hold(uint32_t device, uint64_t others);

/* From its call number `call` on, counted from now, every call on the device
 * waits, as if the device hung. fault_backend_let_go lets them go on. 0: none.
 */
void fault_backend_stick(uint32_t device, uint64_t call);
void fault_backend_let_go(void);
/* Whether a call waits. */
bool fault_backend_sticks(void);

/* Products of the device number `device`, 0 to 3, take so long that it does so
 * much, by base/clock.h, in the call that enqueues them. 0: as long as they
 * take. */
void fault_backend_rate(uint32_t device, double flops_per_second);

/* From now on copies wait in the call, until they may pass again. */
void fault_backend_stop_copies(bool stop);
/* Wait until copies of all these devices, bits of their numbers, wait there. */
void fault_backend_await_stopped(uint32_t wanted);

/* Devices described or opened from now on say that they are staged, that only
 * what their allocate_pinned gave is pinned, and that products reach it. */
void fault_backend_pretend_staged(bool staged);

/* And that they want A packed for products of these types, bits as in
 * hri_device_info. */
void fault_backend_pretend_packed(uint32_t types);

/* And that they have no double: f64 is not multiplied. */
void fault_backend_pretend_no_double(bool none);

/* Events of the device number `device`, 0 to 3, say that so much time passed
 * between any two. 0: the real time. */
void fault_backend_pretend_time(uint32_t device, uint64_t time_ns);

/* Devices described or opened from now on have this much memory free, and take
 * no larger buffer. Both limits are enforced. 0: the real ones. */
void fault_backend_limit(uint64_t free_bytes, uint64_t allocation_bytes);

/* Calls that can fail, operations, and calls of one slot since the reset. */
uint64_t fault_backend_calls(void);
uint64_t fault_backend_operations(void);
uint64_t fault_backend_count(fault_slot slot);

/* Bytes of copies enqueued since the reset. */
typedef enum fault_direction {
    FAULT_UP,    /* host memory to buffer */
    FAULT_DOWN,  /* buffer to host memory */
    FAULT_PEER,  /* between buffers of two devices */
    FAULT_LOCAL, /* between buffers of one device */
    FAULT_DIRECTIONS
} fault_direction;
uint64_t fault_backend_bytes(fault_direction direction);

/* Of copies by devices that pretend to be staged, the bytes of the largest one
 * with memory that is not pinned. */
uint64_t fault_backend_largest_ordinary(void);

/* Devices, buffers, pinned areas, queues, events, modules and graphs that now
 * exist. */
uint64_t fault_backend_objects(void);

/* Breaches of the contract since the reset: areas outside their buffers,
 * devices closed before their objects, devices that are not peers, ... Each is
 * printed on stderr, and returned as HR_ERROR_INVALID where there is a
 * status. */
uint64_t fault_backend_breaches(void);

#endif
