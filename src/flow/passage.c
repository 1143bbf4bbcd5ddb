/* SPDX-License-Identifier: MIT */
/* How operands of tasks travel between the caller's memory and slots. */
#include "flow/executor.h"

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
    const bool pieces = executor->staged.of[p->side] &&
                        (box.width < bytes || box.from.host == NULL);
    if (p->pinned == NULL && !pieces) {
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
