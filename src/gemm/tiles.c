/* SPDX-License-Identifier: MIT */
/* The engine of one product: tiles of C, and panels of A and B, in the caller's
 * matrices and in slots. */
#include <stdlib.h>
#include <string.h>

#include "gemm/call.h"

/* What the run keeps of the product. */
typedef struct tiles {
    hri_product product;
    hri_plan *plan;      /* held */
    hr_matrix *terms[2]; /* [chunks] of A and B; NULL: those of the product */
} tiles;

/* A window of the caller's memory. */
typedef struct window {
    const hr_matrix *matrix;
    int64_t row, col, rows, cols;
} window;

static window window_of(const tiles *t, int side, const hri_task *task)
{
    const hri_product *p = &t->product;
    const hri_plan *plan = t->plan;
    const hr_matrix *const matrices[] = {&p->a, &p->b, &p->c};
    hri_plan_start *down = side == HRI_B ? hri_plan_chunk : hri_plan_row;
    hri_plan_start *across = side == HRI_A ? hri_plan_chunk : hri_plan_col;
    int32_t i = side == HRI_B ? task->chunk : task->row;
    int32_t j = side == HRI_A ? task->chunk : task->col;
    window w = {matrices[side], down(plan, i), across(plan, j),
                hri_plan_length(plan, down, i),
                hri_plan_length(plan, across, j)};
    if (side != HRI_C && t->terms[side] != NULL) {
        w.matrix = &t->terms[side][task->chunk]; /* a chunk begins it */
        *(side == HRI_A ? &w.col : &w.row) = 0;
    }
    return w;
}

static hri_place place_of(const window *w)
{
    const hr_matrix *m = w->matrix;
    int64_t first = w->row * m->row_stride + w->col * m->col_stride;
    return hri_at_host(m->data, (size_t)first * hr_type_size(m->type));
}

static hri_copy box_of(const void *data, int side, const hri_task *task,
                       hri_place slot)
{
    const window w = window_of(data, side, task);
    const hr_matrix *m = w.matrix;
    size_t size = hr_type_size(m->type);
    bool row_major = m->col_stride == 1;
    int64_t width = row_major ? w.cols : w.rows;
    return (hri_copy){
        .to = slot,
        .from = place_of(&w),
        .to_pitch = (size_t)hri_slot_pitch(width) * size,
        .from_pitch =
            (size_t)(row_major ? m->row_stride : m->col_stride) * size,
        .width = (size_t)width * size,
        .height = (size_t)(row_major ? w.rows : w.cols),
        .depth = 1,
    };
}

static bool is_precise(const tiles *t)
{
    return t->product.compute == HR_COMPUTE_PRECISE;
}

/* An operand of the product, in a slot, or in the caller's memory where it has
 * none. A packed panel of A lies by columns, unless it is one of residues. */
static hri_operand operand_of(const tiles *t, int side, const hri_flow_task *f)
{
    const window w = window_of(t, side, f->task);
    const hr_matrix *m = w.matrix;
    const bool by_columns =
        side == HRI_A && f->packed[HRI_A] != NULL && !is_precise(t);
    const hri_place *slot = by_columns ? f->packed[side] : f->places[side];
    hri_operand o = {.place = slot != NULL ? *slot : place_of(&w),
                     .row_stride = m->row_stride,
                     .col_stride = m->col_stride,
                     .conjugate = m->conjugate};
    if (by_columns) {
        o.row_stride = 1;
        o.col_stride = hri_slot_pitch(w.rows);
    } else if (slot != NULL && m->col_stride == 1) {
        o.row_stride = hri_slot_pitch(w.cols);
    } else if (slot != NULL) {
        o.col_stride = hri_slot_pitch(w.rows);
    }
    return o;
}

static hr_status run_task(const void *data, const hri_flow_task *f)
{
    const tiles *t = data;
    const hri_product *p = &t->product;
    hri_gemm gemm = {
        .type = p->a.type,
        .c_type = p->c.type,
        .compute = p->compute,
        .m = hri_plan_length(t->plan, hri_plan_row, f->task->row),
        .n = hri_plan_length(t->plan, hri_plan_col, f->task->col),
        .k = hri_plan_length(t->plan, hri_plan_chunk, f->task->chunk),
        .alpha = p->alpha,
        .beta = hri_task_is_first(f->task) ? p->beta : hr_real(1.0),
        .a = operand_of(t, HRI_A, f),
        .b = operand_of(t, HRI_B, f),
        .c = operand_of(t, HRI_C, f),
    };
    if (is_precise(t) && f->packed[HRI_A] != NULL) {
        gemm.packed[0] = *f->packed[HRI_A];
        gemm.packed[1] = *f->packed[HRI_B];
        gemm.scratch = f->scratch;
    }
    return f->queue->ops->gemm(f->queue, &gemm);
}

/* Pack a panel: rows of it are those of A, or columns of B. */
static hr_status pack_panel(const void *data, int side, const hri_task *task,
                            hri_queue *queue, hri_place from, hri_place to)
{
    const tiles *t = data;
    const window w = window_of(data, side, task);
    const hri_place *places[HRI_SIDES] = {NULL};
    places[side] = &from;
    const hri_flow_task f = {.task = task,
                             .places = {places[0], places[1], places[2]}};
    hri_pack packing = {.type = w.matrix->type,
                        .compute = t->product.compute,
                        .side = side,
                        .from = operand_of(t, side, &f),
                        .to = to,
                        .rows = w.rows,
                        .cols = w.cols,
                        .to_stride = hri_slot_pitch(w.rows)};
    if (side == HRI_B) {
        const int64_t stride = packing.from.row_stride;
        packing.from.row_stride = packing.from.col_stride;
        packing.from.col_stride = stride;
        packing.rows = w.cols;
        packing.cols = w.rows;
    }
    return queue->ops->pack(queue, &packing);
}

static double flops_of_task(const void *data, const hri_task *task)
{
    const tiles *t = data;
    return hri_product_flops(
        t->product.a.type, hri_plan_length(t->plan, hri_plan_row, task->row),
        hri_plan_length(t->plan, hri_plan_col, task->col),
        hri_plan_length(t->plan, hri_plan_chunk, task->chunk));
}

static void drop_tiles(void *data)
{
    tiles *t = data;
    free(t->terms[HRI_A]);
    free(t->terms[HRI_B]);
    hri_plan_destroy(t->plan);
    free(t);
}

/* The caller may free its matrices' descriptions while accelerators hang. */
static bool keep_terms(tiles *t, const hri_terms *terms)
{
    const size_t bytes = (size_t)terms->come.count * sizeof(hr_matrix);
    for (int side = HRI_A; side <= HRI_B; side++) {
        t->terms[side] = malloc(bytes);
        if (t->terms[side] == NULL) {
            return false;
        }
        memcpy(t->terms[side], side == HRI_A ? terms->a : terms->b, bytes);
    }
    return true;
}

hr_status hri_tiles_engine(const hri_product *product, hri_plan *plan,
                           const hri_terms *terms, hri_engine *engine)
{
    tiles *t = calloc(1, sizeof *t);
    if (t == NULL) {
        return hri_fail(HR_ERROR_OUT_OF_MEMORY, "gemm: no memory to run");
    }
    t->product = *product;
    t->plan = hri_plan_hold(plan);
    if (terms != NULL && !keep_terms(t, terms)) {
        drop_tiles(t);
        return hri_fail(HR_ERROR_OUT_OF_MEMORY, "gemm: no memory to run");
    }
    *engine = (hri_engine){.call = "gemm",
                           .data = t,
                           .box = box_of,
                           .pack = pack_panel,
                           .run = run_task,
                           .flops = flops_of_task,
                           .drop = drop_tiles};
    return HR_OK;
}
