/* SPDX-License-Identifier: MIT */
/* Copies of boxes between two places. */
#include "arrays/array.h"

static hri_accelerator *at(const hr_context *context, int place)
{
    return &context->accelerators[place - 1];
}

bool hri_transfer_is_direct(const hr_context *context, int from, int to)
{
    if (from == HRI_HOST || to == HRI_HOST) {
        return true;
    }
    hri_device *device = at(context, to)->device;
    return from == to ||
           device->ops->is_peer(device, at(context, from)->device);
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

static hr_status enqueue(const hr_array *from, int from_place,
                         const hri_box *box, const hr_array *to, int to_place,
                         const hri_box *to_box, hri_queue *queue)
{
    const hri_copy copy = {
        .to = hri_store_place(to, to_place, to_box),
        .from = hri_store_place(from, from_place, box),
        .to_pitch = hri_store_pitch(to, to_place),
        .to_slice = hri_store_slice(to, to_place),
        .from_pitch = hri_store_pitch(from, from_place),
        .from_slice = hri_store_slice(from, from_place),
        .width = (size_t)(box->hi[2] - box->lo[2]),
        .height = (size_t)(box->hi[1] - box->lo[1]),
        .depth = (size_t)(box->hi[0] - box->lo[0]),
    };
    return queue->ops->copy(queue, &copy);
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
        status = hri_uses_order(from, from_place, box, false, chosen);
    }
    if (status == HR_OK) {
        status = hri_uses_order(to, to_place, to_box, true, chosen);
    }
    if (status == HR_OK) {
        status = enqueue(from, from_place, box, to, to_place, to_box, chosen);
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
