/* SPDX-License-Identifier: MIT */
/* Where the panels and tiles of tasks are, in the caller's matrices and in
 * slots, and how they travel. */
#include "gemm/executor.h"

/* A window of the caller's memory, and its layout in a slot. */
typedef struct window {
    const hr_matrix *matrix;
    int64_t row, col, rows, cols;
} window;

static window window_of(const hri_run_state *run, int side,
                        const hri_task *task)
{
    const hri_product *p = &run->product;
    const hri_plan *plan = run->plan;
    const hr_matrix *const matrices[] = {&p->a, &p->b, &p->c};
    hri_plan_start *down = side == HRI_B ? hri_plan_chunk : hri_plan_row;
    hri_plan_start *across = side == HRI_A ? hri_plan_chunk : hri_plan_col;
    int32_t i = side == HRI_B ? task->chunk : task->row;
    int32_t j = side == HRI_A ? task->chunk : task->col;
    window w = {matrices[side], down(plan, i), across(plan, j),
                hri_plan_length(plan, down, i),
                hri_plan_length(plan, across, j)};
    if (side != HRI_C && run->terms[side] != NULL) {
        w.matrix = &run->terms[side][task->chunk]; /* a piece of k begins it */
        *(side == HRI_A ? &w.col : &w.row) = 0;
    }
    return w;
}

static hri_place window_place(const window *w)
{
    const hr_matrix *m = w->matrix;
    int64_t first = w->row * m->row_stride + w->col * m->col_stride;
    return hri_at_host(m->data, (size_t)first * hr_type_size(m->type));
}

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

hri_copy hri_copy_of(const hri_run_state *run, int side, const hri_task *task,
                     hri_place slot, bool home)
{
    if (run->engine.data != NULL) {
        const hri_copy box =
            run->engine.box(run->engine.data, side, task, slot);
        return home ? reversed(&box) : box;
    }
    const window w = window_of(run, side, task);
    const hr_matrix *m = w.matrix;
    size_t size = hr_type_size(m->type);
    bool row_major = m->col_stride == 1;
    int64_t lines = row_major ? w.rows : w.cols;
    int64_t width = row_major ? w.cols : w.rows;
    size_t pitch = (size_t)hri_slot_pitch(width) * size;
    size_t stride = (size_t)(row_major ? m->row_stride : m->col_stride) * size;
    hri_place host = window_place(&w);
    return (hri_copy){
        .to = home ? host : slot,
        .from = home ? slot : host,
        .to_pitch = home ? stride : pitch,
        .from_pitch = home ? pitch : stride,
        .width = (size_t)width * size,
        .height = (size_t)lines,
        .depth = 1,
    };
}

void hri_passage_find(const hri_executor *executor, hri_passage *p)
{
    const hri_run_engine *g = &executor->run->engine;
    p->copy = hri_copy_of(executor->run, p->side, p->task, p->slot, p->home);
    const size_t bytes = (size_t)hri_copy_bytes(&p->copy);
    const void *caller = p->home ? p->copy.to.host : p->copy.from.host;
    const bool pieces = executor->staged.of[p->side] &&
                        (p->copy.width < bytes || caller == NULL); /* no row */
    if (g->data == NULL || (p->pinned == NULL && !pieces)) {
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

hri_operand hri_operand_of(const hri_run_state *run, int side,
                           const hri_task *task, const hri_place *slot,
                           bool packed)
{
    const window w = window_of(run, side, task);
    const hr_matrix *m = w.matrix;
    hri_operand o = {.place = slot != NULL ? *slot : window_place(&w),
                     .row_stride = m->row_stride,
                     .col_stride = m->col_stride,
                     .conjugate = m->conjugate};
    if (packed) {
        o.row_stride = 1;
        o.col_stride = hri_slot_pitch(w.rows);
    } else if (slot != NULL && m->col_stride == 1) {
        o.row_stride = hri_slot_pitch(w.cols);
    } else if (slot != NULL) {
        o.col_stride = hri_slot_pitch(w.rows);
    }
    return o;
}

hri_pack hri_panel_pack(const hri_run_state *run, const hri_task *task,
                        hri_place from, hri_place to)
{
    window w = window_of(run, HRI_A, task);
    return (hri_pack){.type = w.matrix->type,
                      .to = to,
                      .from = from,
                      .rows = w.rows,
                      .cols = w.cols,
                      .to_stride = hri_slot_pitch(w.rows),
                      .from_stride = hri_slot_pitch(w.cols)};
}

hri_staged hri_staged_of(const hri_executor *executor, hri_staged staged)
{
    const hri_plan_shape *s = &executor->run->plan->shape;
    if (executor->run->engine.data != NULL) {
        return staged;
    }
    for (int side = HRI_A; side <= HRI_C && executor->alone; side++) {
        staged.of[side] =
            staged.of[side] && hri_operand_bytes(s, side) < hri_cost_pageable;
    }
    return staged;
}
