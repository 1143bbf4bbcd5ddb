/* SPDX-License-Identifier: MIT */
/* How operands of tasks travel between the caller's memory and slots: as boxes,
 * in chunks that a copy pool gathers, or gathered at once into pinned memory
 * beside the slot. */
#include "flow/executor.h"
#include "trace/traced.h"

static hri_copy reversed(const hri_copy *copy)
{
    return (hri_copy){.to = copy->from,
                      .from = copy->to,
                      .to_pitch = copy->from_pitch,
                      .from_pitch = copy->to_pitch,
                      .to_slice = copy->from_slice,
                      .from_slice = copy->to_slice,
                      .width = copy->width,
                      .height = copy->height,
                      .depth = copy->depth};
}

void hri_passage_find(const hri_executor *executor, hri_passage *p)
{
    const hri_engine *g = &executor->run->engine;
    const hri_copy box = g->box(g->data, p->side, p->task, p->slot);
    p->copy = p->home ? reversed(&box) : box;
    if (g->gather == NULL) {
        return;
    }
    const size_t bytes = (size_t)hri_copy_bytes(&box);
    const bool in_chunks = executor->staged.of[p->side] &&
                           (box.width < bytes || box.from.host == NULL);
    if (p->pinned == NULL && !in_chunks) {
        return;
    }
    const hri_place host = hri_at_host(p->pinned, 0);
    p->gather = g->gather(g->data, p->side, p->task);
    p->gather.pinned = p->pinned;
    p->copy = (hri_copy){.to = p->home ? host : p->slot,
                         .from = p->home ? p->slot : host,
                         .to_pitch = bytes,
                         .from_pitch = bytes,
                         .width = bytes,
                         .height = 1,
                         .depth = 1};
}

/* ---- pinned memory beside slots */

void *hri_pinned_of(const hri_executor *executor, int side, int32_t slot)
{
    char *first = executor->gathered[side];
    return first != NULL
               ? first + (size_t)slot * executor->run->flow->slot_bytes[side]
               : NULL;
}

/* Note that one more or less thread of the executor uses the caller's memory.
 * False when it must not begin. */
static bool may_gather(hri_executor *executor, bool begin)
{
    hri_run_state *run = executor->run;
    pthread_mutex_lock(&run->lock);
    const bool stopped = hri_is_stopped(executor);
    const bool may = !begin || !stopped;
    executor->gathering += begin && may;
    executor->gathering -= !begin;
    if (!begin && stopped && executor->gathering == 0) { /* watch.c waits */
        pthread_cond_broadcast(&run->ended);
    }
    pthread_mutex_unlock(&run->lock);
    return may;
}

hr_status hri_executor_gather(hri_executor *executor,
                              const hri_passage *passage, bool *done)
{
    const hri_device *device = executor->accelerator->device;
    *done = true;
    if (passage->gather.pinned == NULL) {
        return HR_OK;
    }
    *done = may_gather(executor, true);
    if (!*done) {
        return HR_OK;
    }
    const uint64_t begin_ns = hri_trace_now(hri_is_traced(device));
    const hr_status status = hri_gather_all(
        executor->accelerator, &passage->gather, passage->copy.width, false);
    hri_traced_write_here(device, HRI_TRACE_PACK, "to pinned", begin_ns,
                          passage->copy.width);
    (void)may_gather(executor, false);
    return status;
}
