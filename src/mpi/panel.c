/* SPDX-License-Identifier: MIT */
/* Panels of A and B: their messages, and where they lie. */
#include <stdlib.h>

#include "base/pages.h"
#include "base/size.h"
#include "mpi/run.h"

/* Whether the process, or every one, has all of a part as one box. */
static bool is_one_box(const hri_mpi_operand *o, hri_mpi_part part, int owner,
                       hri_mpi_place *at)
{
    hri_mpi_boxes boxes;
    hri_mpi_box box;
    hri_mpi_boxes_begin(&boxes, o, part, owner);
    if (!hri_mpi_boxes_next(&boxes, &box) ||
        box.rows != hri_mpi_part_rows(o, part) ||
        box.cols != hri_mpi_part_cols(o, part)) {
        return false;
    }
    *at = hri_mpi_place_owned(&box);
    return true;
}

static bool is_here(const hri_mpi_run *r, const hri_mpi_operand *o,
                    hri_mpi_part part, hri_mpi_place *at)
{
    return is_one_box(o, part, r->context->rank, at) ||
           is_one_box(o, part, r->context->count, at);
}

static size_t bytes_of(const hri_mpi_operand *o, hri_mpi_part part)
{
    return (size_t)(hri_mpi_part_rows(o, part) * hri_mpi_part_cols(o, part)) *
           o->element_bytes;
}

/* Where the parts of this process's panel go. */
static hr_status place_panel(const hri_mpi_run *r, hri_mpi_panel *p,
                             hri_mpi_part a, hri_mpi_part b)
{
    const hri_mpi_product *x = r->product;
    const bool a_here = is_here(r, &x->a, a, &p->a);
    const bool b_here = is_here(r, &x->b, b, &p->b);
    const size_t a_bytes =
        a_here ? 0 : hri_round_up_bytes(bytes_of(&x->a, a), 64);
    const size_t bytes = a_bytes + (b_here ? 0 : bytes_of(&x->b, b));
    if (bytes > p->memory_bytes) {
        free(p->memory);
        p->memory = hri_pages(bytes);
        p->memory_bytes = p->memory != NULL ? bytes : 0;
        if (p->memory == NULL) {
            return hri_fail(HR_ERROR_OUT_OF_MEMORY,
                            "mpi: no %zu bytes for a panel", bytes);
        }
    }
    if (!a_here) {
        p->a = (hri_mpi_place){p->memory, 1,
                               hri_max(1, hri_mpi_part_rows(&x->a, a))};
    }
    if (!b_here) {
        p->b = (hri_mpi_place){p->memory + a_bytes, 1,
                               hri_max(1, hri_mpi_part_rows(&x->b, b))};
    }
    return HR_OK;
}

static hr_status add(const hri_mpi_run *r, hri_message_list *list,
                     const hri_message *m, const hri_mpi_place *part)
{
    const size_t bytes = m->operand->element_bytes;
    const int before = list->count;
    const hr_status status = hri_messages_add(list, m, r->context, bytes);
    if (list->count > before) {
        hri_message_place(&list->of[before], part, bytes);
    }
    return status;
}

/* The messages of a part: what this process receives for its own, which lies at
 * `at`, or what it sends to the process at `place`. */
static hr_status list_part(const hri_mpi_run *r, hri_messages *m,
                           const hri_mpi_operand *o, hri_mpi_part part,
                           int kind, int64_t place, const hri_mpi_place *at)
{
    const int own = r->context->rank, needs = r->plan->rank[place];
    hri_message message = {
        .operand = o, .part = part, .kind = kind, .place = place};
    hr_status status = HR_OK;
    if (needs != own) {
        message.owner = own;
        message.peer = needs;
        return add(r, &m->out, &message, NULL);
    }
    for (int rank = 0; rank < r->context->count && status == HR_OK; rank++) {
        message.owner = message.peer = rank;
        status = rank == own ? HR_OK : add(r, &m->in, &message, at);
    }
    return status;
}

/* Find where the panel goes, and list its messages. */
static hr_status list_panel(const hri_mpi_run *r, hri_mpi_panel *p,
                            int64_t number)
{
    const hri_mpi_plan *plan = r->plan;
    hri_messages *m = &p->messages;
    const int64_t places = (int64_t)plan->rows * plan->cols * plan->depth;
    hr_status status =
        r->place >= 0
            ? place_panel(r, p, hri_mpi_part_of_a(plan, r->place, number),
                          hri_mpi_part_of_b(plan, r->place, number))
            : HR_OK;
    hri_messages_clear(m);
    for (int64_t i = 0; i < places && status == HR_OK; i++) {
        status =
            list_part(r, m, &r->product->a, hri_mpi_part_of_a(plan, i, number),
                      HRI_MESSAGE_A, i, &p->a);
        if (status == HR_OK) {
            status = list_part(r, m, &r->product->b,
                               hri_mpi_part_of_b(plan, i, number),
                               HRI_MESSAGE_B, i, &p->b);
        }
    }
    return status == HR_OK ? hri_messages_place(m) : status;
}

/* Bring what this process has of its own part there, unless it lies there. */
static void bring(const hri_mpi_run *r, const hri_mpi_operand *o,
                  hri_mpi_part part, hri_mpi_place at)
{
    hri_mpi_place here;
    if (!is_here(r, o, part, &here)) {
        hri_mpi_part_bring(o, part, r->context->rank, NULL, at);
        hri_mpi_part_bring(o, part, r->context->count, NULL,
                           at); /* every process has it */
    }
}

static hri_mpi_panel *panel_of(hri_mpi_run *r, int64_t number)
{
    return &r->panels[number % r->plan->buffers];
}

void hri_mpi_panel_find(hri_mpi_run *r, int64_t number, hri_mpi_place at[2])
{
    hri_mpi_panel *p = panel_of(r, number);
    (void)place_panel(r, p, hri_mpi_part_of_a(r->plan, r->place, number),
                      hri_mpi_part_of_b(r->plan, r->place, number));
    at[0] = p->a;
    at[1] = p->b;
}

hr_status hri_mpi_panel_post(hri_mpi_run *r, int64_t number)
{
    hri_mpi_panel *p = panel_of(r, number);
    const hri_mpi_product *x = r->product;
    hr_status status = hri_messages_end(&p->messages, r->context);
    if (status != HR_OK) {
        return status;
    }
    hri_error_keep(&r->error, list_panel(r, p, number));
    for (int i = 0; i < p->messages.out.count; i++) {
        const hri_message *m = &p->messages.out.of[i];
        if (!m->in_place) {
            hri_message_pack(m, NULL, m->operand->element_bytes);
        }
    }
    status = hri_messages_start(&p->messages, r->context);
    if (status == HR_OK && r->place >= 0) {
        const hri_mpi_part a = hri_mpi_part_of_a(r->plan, r->place, number);
        const hri_mpi_part b = hri_mpi_part_of_b(r->plan, r->place, number);
        bring(r, &x->a, a, p->a);
        bring(r, &x->b, b, p->b);
    }
    hri_mpi_memory *memory = &r->context->memory;
    const int64_t at = number % r->plan->buffers;
    int *stop = &memory->stop[at], *stops = &memory->stops[at];
    *stop = r->error.status != HR_OK || hri_progress_stopped(&r->progress);
    return status == HR_OK
               ? hri_mpi_check(r->context,
                               MPI_Iallreduce(stop, stops, 1, MPI_INT, MPI_MAX,
                                              r->context->comm, &p->question),
                               "MPI_Iallreduce")
               : status;
}

hr_status hri_mpi_panel_complete(hri_mpi_run *r, int64_t number, bool *stops)
{
    hri_mpi_panel *p = panel_of(r, number);
    hr_status status = hri_messages_await(&p->messages, r->context, &r->error);
    if (status == HR_OK) {
        status = hri_mpi_wait(r->context, 1, &p->question);
    }
    for (int i = 0; i < p->messages.in.count && status == HR_OK; i++) {
        const hri_message *m = &p->messages.in.of[i];
        if (!m->in_place) {
            hri_mpi_part_bring(m->operand, m->part, m->owner, m->at.data,
                               m->kind == HRI_MESSAGE_A ? p->a : p->b);
        }
    }
    *stops =
        *stops || (status == HR_OK &&
                   r->context->memory.stops[number % r->plan->buffers] != 0);
    return status;
}

hr_status hri_mpi_panels_end(hri_mpi_run *r)
{
    hr_status status = HR_OK;
    for (int64_t i = 0; i < r->plan->buffers && status == HR_OK; i++) {
        status = hri_messages_end(&r->panels[i].messages, r->context);
    }
    return status;
}

static void take_kept(hri_mpi_kept *kept, char **memory, size_t *bytes)
{
    *memory = kept->memory;
    *bytes = kept->bytes;
    *kept = (hri_mpi_kept){NULL, 0};
}

static void keep(hri_mpi_kept *kept, char **memory, size_t bytes)
{
    if (*memory != NULL) {
        *kept = (hri_mpi_kept){*memory, bytes};
    }
    *memory = NULL;
}

hr_status hri_mpi_panels_prepare(hri_mpi_run *r)
{
    hr_status status = HR_OK;
    for (int i = 0; i < HRI_MPI_PANELS; i++) {
        hri_mpi_panel *p = &r->panels[i];
        take_kept(&r->context->panels[i], &p->memory, &p->memory_bytes);
        take_kept(&r->context->messages[i], &p->messages.memory,
                  &p->messages.memory_bytes);
    }
    for (int64_t t = 0; t < r->plan->panels && status == HR_OK; t++) {
        status = list_panel(r, panel_of(r, t), t);
    }
    return status;
}

/* When MPI is lost, messages may still come: their memory stays. */
void hri_mpi_panels_finish(hri_mpi_run *r)
{
    for (int i = 0; i < HRI_MPI_PANELS; i++) {
        hri_mpi_panel *p = &r->panels[i];
        if (!r->context->lost) {
            keep(&r->context->panels[i], &p->memory, p->memory_bytes);
            keep(&r->context->messages[i], &p->messages.memory,
                 p->messages.memory_bytes);
            hri_messages_finish(&p->messages);
        }
    }
}
