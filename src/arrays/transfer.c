/* SPDX-License-Identifier: MIT */
/* Copies of boxes between two places. */
#include "arrays/array.h"
#include "hal/backend.h"

/* The default queue that wrote all that a small copy home reads, with nothing
 * behind it. There the copy begins at once, while another stream would first
 * see an event. NULL: there is none. A queue of the caller's does not copy what
 * the caller did not enqueue there: it would keep the copy's error. */
static hri_stream *writer_of(const hr_array *from, int place,
                             const hri_boxes *read, const hr_array *to,
                             const hri_copy *copy)
{
    const hri_store *s = &from->stores[place];
    const hri_fence *written = NULL;
    if (copy->to.buffer != NULL ||
        copy->width * copy->height * copy->depth > HRI_SMALL_BYTES) {
        return NULL;
    }
    for (size_t i = 0; i < s->use_count; i++) {
        const hri_use *use = &s->uses[i];
        if (use->writes && hri_boxes_touch_any(read, &use->box)) {
            if (written != NULL && written != use->fence) {
                return NULL;
            }
            written = use->fence;
        }
    }
    hri_stream *stream =
        written != NULL ? written->accelerator->default_queue.stream : NULL;
    return stream != NULL &&
                   (stream->pending != NULL ? stream->pending : stream->last) ==
                       written &&
                   (to->memory == HRI_MEMORY_SMALL ||
                    !hri_stream_defers(stream, copy))
               ? stream
               : NULL;
}

/* Choose the stream that copies: the caller's if it belongs to one of the
 * places. Else it is the copy queue of the accelerator that gets the box, or
 * that has it when the host gets it. */
static hr_status choose_stream(const hr_context *context, int from, int to,
                               const hr_queue *queue, hri_stream **chosen)
{
    if (queue != NULL) {
        int place = hri_place_of(context, queue->accelerator);
        if (place != HRI_HOST && (place == from || place == to)) {
            *chosen = queue->stream;
            return HR_OK;
        }
    }
    return hri_accelerator_copy_queue(
        hri_accelerator_at(context, to != HRI_HOST ? to : from), chosen);
}

void hri_traffic_add(hr_traffic *traffic, int from, int to, uint64_t bytes)
{
    if (from == HRI_HOST) {
        traffic->up += bytes;
    } else if (to == HRI_HOST) {
        traffic->down += bytes;
    } else if (from != to) {
        traffic->peer += bytes;
    }
}

/* Host memory to host memory: the calling thread copies. */
static hr_status copy_on_host(const hr_array *from, const hri_boxes *read,
                              const hr_array *to, const hri_boxes *written,
                              const hri_copy *copy)
{
    hri_fences fences = {0};
    hr_status status = hri_uses_collect(from, HRI_HOST, read, true, &fences);
    if (status == HR_OK) {
        status = hri_uses_collect(to, HRI_HOST, written, false, &fences);
    }
    if (status == HR_OK) {
        status = hri_fences_wait(&fences);
    }
    if (status == HR_OK) {
        hri_copy_rows(copy);
    }
    hri_fences_finish(&fences);
    return status;
}

hr_status hri_transfer(hr_array *from, int from_place, const hri_boxes *read,
                       hr_array *to, int to_place, const hri_boxes *written,
                       const hri_copy *copy, hr_queue *queue)
{
    if (from_place == HRI_HOST && to_place == HRI_HOST) {
        return copy_on_host(from, read, to, written, copy);
    }
    hr_context *context = from->context;
    hri_stream *const writer =
        queue == NULL ? writer_of(from, from_place, read, to, copy) : NULL;
    hri_stream *chosen = writer;
    hri_fence *fence = NULL;
    hr_status status = writer != NULL ? HR_OK
                                      : choose_stream(context, from_place,
                                                      to_place, queue, &chosen);
    if (status == HR_OK) {
        status = hri_uses_order(from, from_place, read, false, chosen);
    }
    if (status == HR_OK) {
        status = hri_uses_order(to, to_place, written, true, chosen);
    }
    if (status == HR_OK && writer == NULL) { /* else the pending fence moves on
                                                behind the copy */
        status = hri_stream_record_pending(chosen);
    }
    if (status == HR_OK) {
        status = writer != NULL ? hri_stream_copy_now(chosen, copy)
                                : hri_stream_copy(chosen, copy);
    }
    if (status == HR_OK) {
        status = hri_fence_create_recorded(chosen, &fence);
    }
    if (status == HR_OK) {
        status = hri_uses_add(from, from_place, read, fence, false);
    }
    if (status == HR_OK) {
        status = hri_uses_add(to, to_place, written, fence, true);
    }
    hri_fence_drop(fence);
    if (status != HR_OK && chosen != NULL) {
        /* no work may go on that no fence guards; a copy queue is simply made
         * anew */
        if (chosen == chosen->accelerator->copy_queue) {
            hri_accelerator_drop_copy_queue(chosen->accelerator);
        } else {
            hri_stream_settle(chosen);
        }
    } else if (status == HR_OK) {
        hri_traffic_add(&context->moved, from_place, to_place,
                        copy->width * copy->height * copy->depth);
    }
    return status;
}
