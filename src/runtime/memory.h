/* SPDX-License-Identifier: MIT */
/* What the rest of the runtime needs of memory.c and pools.c beyond runtime.h.
 */
#ifndef HRI_RUNTIME_MEMORY_H
#define HRI_RUNTIME_MEMORY_H

#include "runtime/runtime.h"

/* How many bytes of buffers could be allocated now, in buffers of any size:
 * the limit less what is in use and what gemm takes. Cached blocks do not
 * count, they give way. */
uint64_t hri_accelerator_room(const hri_accelerator *accelerator);

/* Free every cached block, pinned ones too. */
void hri_accelerator_trim(hri_accelerator *accelerator);

/* Free every block, in use or not: before the device is closed. */
void hri_accelerator_drop(hri_accelerator *accelerator);

/* For fences: an event of the pool, or a new one; and back, when all that waits
 * for it has been enqueued. Any thread. */
hr_status hri_events_take(hri_accelerator *accelerator, hri_event **event);
void hri_events_give(hri_accelerator *accelerator, hri_event *event);

/* The pools of queues and events. They are closed when no fence is left. */
void hri_pools_init(hri_accelerator *accelerator);
void hri_pools_close(hri_accelerator *accelerator);

#endif
