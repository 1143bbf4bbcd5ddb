/* SPDX-License-Identifier: MIT */
/* C: what processes have computed of it comes to those that have it, in strips
 * of its columns. */
#include <stdlib.h>

#include "base/pages.h"
#include "base/size.h"
#include "mpi/run.h"
#include "mpi/sum.h"

/* What one process computes of a strip, for the processes that have it. */
static hr_status list_strip(hri_mpi_run *r, int64_t strip)
{
    const hri_mpi_plan *plan = r->plan;
    const size_t width = hr_type_size(r->product->sum_type);
    const int64_t places = (int64_t)plan->rows * plan->cols * plan->depth;
    const int own = r->context->rank;
    hri_messages *m = &r->strips;
    hr_status status = HR_OK;
    hri_messages_clear(m);
    for (int64_t i = 0; i < places && status == HR_OK; i++) {
        hri_message message = {.operand = &r->product->c,
                               .part = hri_mpi_part_of_c(plan, i, strip),
                               .kind = HRI_MESSAGE_C,
                               .place = i,
                               .owner = own,
                               .peer = plan->rank[i]};
        status = hri_messages_add(&m->in, &message, r->context, width);
        for (int rank = 0;
             i == r->place && rank < r->context->count && status == HR_OK;
             rank++) {
            message.owner = message.peer = rank;
            status = rank == own ? HR_OK
                                 : hri_messages_add(&m->out, &message,
                                                    r->context, width);
        }
    }
    return status == HR_OK ? hri_messages_place(m) : status;
}

/* Where this process's sum has the part. */
static hri_mpi_place place_of_sum(const hri_mpi_run *r, int64_t strip)
{
    const hri_mpi_operand *c = &r->product->c;
    const int64_t width = (int64_t)hr_type_size(r->product->sum_type);
    int64_t before = 0;
    for (int64_t s = 0; s < strip; s++) {
        const hri_mpi_part part = hri_mpi_part_of_c(r->plan, r->place, s);
        before += c->m.transposed ? hri_mpi_part_rows(c, part)
                                  : hri_mpi_part_cols(c, part);
    }
    char *data = r->sum + before * r->c.col_stride * width;
    return c->m.transposed ? (hri_mpi_place){data, r->c.col_stride, 1}
                           : (hri_mpi_place){data, 1, r->c.col_stride};
}

/* Add up what has come for this process's elements of a part of C. */
static void add_up(const hri_mpi_run *r, int64_t face, int64_t strip,
                   bool summed)
{
    const char **terms = r->terms;
    const hri_mpi_product *x = r->product;
    hri_mpi_sum sum = {
        .type = x->c.m.type, .term_type = x->sum_type, .beta = x->beta};
    hri_mpi_boxes boxes;
    hri_mpi_box box;
    for (int i = 0; i < r->strips.in.count; i++) { /* in the order of depth */
        const hri_message *m = &r->strips.in.of[i];
        if (m->place % ((int64_t)r->plan->rows * r->plan->cols) == face) {
            terms[sum.count++] = m->at.data;
        }
    }
    sum.count = summed ? sum.count : 0;
    hri_mpi_boxes_begin(&boxes, &x->c, hri_mpi_part_of_c(r->plan, face, strip),
                        r->context->rank);
    while (hri_mpi_boxes_next(&boxes, &box)) {
        hri_mpi_sum_box(&sum, &box, terms);
    }
}

/* Pack what owners get of this process's sum, and what it gets itself. */
static void pack_sums(const hri_mpi_run *r, int64_t strip)
{
    const size_t width = hr_type_size(r->product->sum_type);
    if (r->place < 0) {
        return;
    }
    const hri_mpi_place sum = place_of_sum(r, strip);
    for (int i = 0; i < r->strips.out.count; i++) {
        hri_message_pack(&r->strips.out.of[i], &sum, width);
    }
    for (int i = 0; i < r->strips.in.count; i++) {
        const hri_message *m = &r->strips.in.of[i];
        if (m->peer == r->context->rank) {
            hri_message_pack(m, &sum, width);
        }
    }
}

hr_status hri_strips_bring(hri_mpi_run *r, bool summed)
{
    const hri_mpi_plan *plan = r->plan;
    hr_status status = HR_OK;
    for (int64_t s = 0; s < plan->strips && status == HR_OK; s++) {
        hri_error_keep(&r->error, list_strip(r, s));
        if (summed) {
            pack_sums(r, s);
            status = hri_messages_start(&r->strips, r->context);
        }
        if (status == HR_OK && summed) {
            status = hri_messages_await(&r->strips, r->context, &r->error);
        }
        if (status == HR_OK) {
            status = hri_messages_end(&r->strips, r->context);
        }
        for (int64_t i = 0; i < plan->rows * plan->cols && status == HR_OK;
             i++) {
            add_up(r, i, s, summed);
        }
    }
    return status;
}

/* Where this process's part of C goes. */
static hr_status place_c(hri_mpi_run *r)
{
    const hri_mpi_product *x = r->product;
    const bool t = x->c.m.transposed;
    hri_mpi_part part = hri_mpi_part_of_c(r->plan, r->place, 0);
    hri_mpi_boxes boxes;
    hri_mpi_box box = {0};
    if (r->plan->in_place) {
        hri_mpi_boxes_begin(&boxes, &x->c, part, r->context->rank);
        (void)hri_mpi_boxes_next(&boxes, &box); /* the others lie behind it */
        r->c = hri_mpi_part_view(&x->c, hri_mpi_place_owned(&box),
                                 hri_mpi_part_rows(&x->c, part),
                                 hri_mpi_part_cols(&x->c, part));
        return HR_OK;
    }
    const int64_t rows =
        t ? hri_mpi_part_cols(&x->c, part) : hri_mpi_part_rows(&x->c, part);
    int64_t cols = 0;
    for (int64_t s = 0; s < r->plan->strips; s++) {
        part = hri_mpi_part_of_c(r->plan, r->place, s);
        cols +=
            t ? hri_mpi_part_rows(&x->c, part) : hri_mpi_part_cols(&x->c, part);
    }
    const size_t bytes = (size_t)(rows * cols) * hr_type_size(x->sum_type);
    r->sum = hri_pages(bytes > 0 ? bytes : 1);
    r->c = hr_matrix_column_major(r->sum, x->sum_type, rows, cols,
                                  hri_max(1, rows));
    return r->sum != NULL ? HR_OK
                          : hri_fail(HR_ERROR_OUT_OF_MEMORY,
                                     "mpi: no %zu bytes for sums", bytes);
}

hr_status hri_strips_prepare(hri_mpi_run *r)
{
    hr_status status = HR_OK;
    r->terms = calloc((size_t)r->plan->depth, sizeof *r->terms);
    if (r->terms == NULL) {
        return hri_fail(HR_ERROR_OUT_OF_MEMORY, "mpi: no memory for sums");
    }
    for (int64_t s = 0; s < r->plan->strips && status == HR_OK; s++) {
        status = list_strip(r, s);
    }
    return status == HR_OK && r->place >= 0 && !hri_mpi_is_empty(r->product)
               ? place_c(r)
               : status;
}

/* As those of panels. */
void hri_strips_finish(hri_mpi_run *r)
{
    if (!r->context->lost) {
        hri_messages_finish(&r->strips);
    }
    free(r->sum);
    free(r->terms);
}
