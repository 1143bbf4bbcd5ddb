/* SPDX-License-Identifier: MIT */
/* Copies of boxes between two places. */
#include "arrays/array.h"

static hri_accelerator *at(const hr_context *context, int place)
{
    return &context->accelerators[place - 1];
}

/* Whose queue copies, and which: the caller's when it is of one of the places,
 * else the carrier of the accelerator that gets the box, or has it. */
static hr_status choose_queue(const hr_context *context, int from, int to,
                              const hr_queue *queue, hri_accelerator **worker,
                              hri_queue **chosen)
{
    if (queue != NULL) {
        int place = hri_place_of(context, queue->accelerator);
        if (place != HRI_HOST && (place == from || place == to)) {
            *worker = queue->accelerator;
            *chosen = queue->queue;
            return HR_OK;
        }
    }
    *worker = at(context, to != HRI_HOST ? to : from);
    return hri_accelerator_carrier(*worker, chosen);
}

static void count(hr_context *context, int from, int to, uint64_t bytes)
{
    if (from == HRI_HOST) {
        context->moved_up += bytes;
    } else if (to == HRI_HOST) {
        context->moved_down += bytes;
    } else if (from != to) {
        context->moved_peer += bytes;
    }
}

hr_status hri_transfer(hr_array *from, int from_place, const hri_box *box,
                       hr_array *to, int to_place, const hri_box *to_box,
                       hr_queue *queue)
{
    hr_context *context = from->context;
    hri_accelerator *worker = NULL;
    hri_queue *chosen = NULL;
    hri_mark *mark = NULL;
    hr_status status =
        choose_queue(context, from_place, to_place, queue, &worker, &chosen);
    if (status == HR_OK) {
        const hri_boxes read = hri_boxes_of(box);
        status = hri_uses_order(from, from_place, &read, false, chosen);
    }
    if (status == HR_OK) {
        const hri_boxes written = hri_boxes_of(to_box);
        status = hri_uses_order(to, to_place, &written, true, chosen);
    }
    if (status == HR_OK) {
        status = hri_queue_set(chosen);
    }
    if (status == HR_OK) {
        const hri_copy copy =
            hri_store_copy(from, from_place, box, to, to_place, to_box);
        status = chosen->ops->copy(chosen, &copy);
    }
    if (status == HR_OK) {
        status = hri_mark_record(worker, chosen, &mark);
    }
    if (status == HR_OK) {
        status = hri_uses_add(from, from_place, box, mark, false);
    }
    if (status == HR_OK) {
        status = hri_uses_add(to, to_place, to_box, mark, true);
    }
    hri_mark_drop(mark);
    if (status != HR_OK && chosen != NULL) {
        /* nothing goes on that nobody knows of; a carrier is made anew */
        if (chosen == worker->carrier) {
            hri_accelerator_drop_carrier(worker);
        } else {
            hri_queue_settle(chosen);
        }
    } else if (status == HR_OK) {
        count(context, from_place, to_place, (uint64_t)hri_box_volume(box));
    }
    return status;
}
