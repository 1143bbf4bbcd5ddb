/* SPDX-License-Identifier: MIT */
/* Ordinary memory to and from accelerators that copy it slowly: through a ring
 * of pinned pieces, so that the host copies one piece while others travel. */
#ifndef HRI_GEMM_STAGE_H
#define HRI_GEMM_STAGE_H

#include "runtime/runtime.h"

enum { HRI_RING_PIECES = 4, HRI_RING_PIECE_BYTES = 4 << 20 };

/* One ring serves one direction and one thread at a time. */
typedef struct hri_ring {
    hri_accelerator *accelerator;
    void *pinned[HRI_RING_PIECES];
    hri_event *events[HRI_RING_PIECES]; /* the last copy that used the piece */
    uint32_t next;
} hri_ring;

/* HR_ERROR_OUT_OF_MEMORY. hri_ring_finish also takes what a failed init left.
 * The caller holds the context's lock for both. */
hr_status hri_ring_init(hri_ring *ring, hri_accelerator *accelerator);
/* Nothing is under way in the ring. */
void hri_ring_finish(hri_ring *ring);

/* Copy a box (depth 1) from host memory into a buffer: returns when the last
 * piece has been read from the caller's memory and enqueued on queue. */
hr_status hri_ring_up(hri_ring *ring, hri_queue *queue, const hri_copy *copy);

/* Copy a box (depth 1) from a buffer into host memory: returns when it is all
 * there. */
hr_status hri_ring_down(hri_ring *ring, hri_queue *queue, const hri_copy *copy);

#endif
