/* SPDX-License-Identifier: MIT */
/* Which elements are valid at which place: fetching what is missing, and
 * invalidating what was written elsewhere. */
#include "arrays/array.h"
#include "hal/backend.h"

/* ---- copies of boxes between two places */

typedef struct transfer {
    hr_array *from, *to;
    int from_place, to_place;
    const hri_boxes *read, *written;
    const hri_copy *copy;
} transfer;

/* The default queue that wrote all that a small copy home reads, with nothing
 * behind it. There the copy begins at once, while another stream would first
 * see an event. NULL: there is none. A queue of the caller's does not copy what
 * the caller did not enqueue there: it would keep the copy's error. */
static hri_stream *writer_of(const transfer *t)
{
    const hri_store *s = &t->from->stores[t->from_place];
    const hri_copy *copy = t->copy;
    const hri_fence *written = NULL;
    if (copy->to.buffer != NULL ||
        copy->width * copy->height * copy->depth > HRI_SMALL_BYTES) {
        return NULL;
    }
    for (size_t i = 0; i < s->use_count; i++) {
        const hri_use *use = &s->uses[i];
        if (use->writes && hri_boxes_touch_any(t->read, &use->box)) {
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
                   (t->to->memory == HRI_MEMORY_SMALL ||
                    !hri_stream_defers(stream, copy))
               ? stream
               : NULL;
}

/* Choose the stream that copies: the caller's if it belongs to one of the
 * places. Else it is the copy queue of the accelerator that gets the box, or
 * that has it when the host gets it. */
static hr_status choose_stream(const transfer *t, const hr_queue *queue,
                               hri_stream **chosen)
{
    const hr_context *context = t->from->context;
    const int from = t->from_place, to = t->to_place;
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

/* Count bytes that go from one place to another. */
static void add_traffic(hr_traffic *traffic, int from, int to, uint64_t bytes)
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
static hr_status copy_on_host(const transfer *t)
{
    hri_fences fences = {0};
    hr_status status =
        hri_uses_collect(t->from, HRI_HOST, t->read, true, &fences);
    if (status != HR_OK) {
        goto done;
    }
    status = hri_uses_collect(t->to, HRI_HOST, t->written, false, &fences);
    if (status != HR_OK) {
        goto done;
    }
    status = hri_fences_wait(&fences);
    if (status == HR_OK) {
        hri_copy_rows(t->copy);
    }
done:
    hri_fences_finish(&fences);
    return status;
}

/* at_writer: the stream is writer_of's. Its pending fence then moves on behind
 * the copy. */
static hr_status copy_on_stream(const transfer *t, hri_stream *stream,
                                bool at_writer)
{
    hri_fence *fence = NULL;
    HRI_TRY(hri_uses_order(t->from, t->from_place, t->read, false, stream));
    HRI_TRY(hri_uses_order(t->to, t->to_place, t->written, true, stream));
    if (at_writer) {
        HRI_TRY(hri_stream_copy_now(stream, t->copy));
    } else {
        HRI_TRY(hri_stream_record_pending(stream));
        HRI_TRY(hri_stream_copy(stream, t->copy));
    }
    HRI_TRY(hri_fence_create_recorded(stream, &fence));
    hr_status status =
        hri_uses_add(t->from, t->from_place, t->read, fence, false);
    if (status == HR_OK) {
        status = hri_uses_add(t->to, t->to_place, t->written, fence, true);
    }
    hri_fence_drop(fence);
    return status;
}

hr_status hri_transfer(hr_array *from, int from_place, const hri_boxes *read,
                       hr_array *to, int to_place, const hri_boxes *written,
                       const hri_copy *copy, hr_queue *queue)
{
    const transfer t = {.from = from,
                        .to = to,
                        .from_place = from_place,
                        .to_place = to_place,
                        .read = read,
                        .written = written,
                        .copy = copy};
    if (from_place == HRI_HOST && to_place == HRI_HOST) {
        return copy_on_host(&t);
    }
    hri_stream *stream = queue == NULL ? writer_of(&t) : NULL;
    const bool at_writer = stream != NULL;
    if (!at_writer) {
        HRI_TRY(choose_stream(&t, queue, &stream));
    }
    const hr_status status = copy_on_stream(&t, stream, at_writer);
    if (status == HR_OK) {
        add_traffic(&from->context->moved, from_place, to_place,
                    copy->width * copy->height * copy->depth);
    } else if (stream == stream->accelerator->copy_queue) {
        /* no work may go on that no fence guards; a copy queue is simply made
         * anew */
        hri_accelerator_drop_copy_queue(stream->accelerator);
    } else {
        hri_stream_settle(stream);
    }
    return status;
}

/* ---- from the nearest places */

static int place_count(const hr_array *array)
{
    return 1 + (int)array->context->accelerator_count;
}

/* The destination of boxes that move. */
typedef struct moving {
    hr_array *from, *to;
    int place;             /* the place of `to` */
    const int64_t *shift;  /* from a box to its box in `to`; NULL: the same box,
                              which stays valid at its source */
    hr_queue *queue;       /* the queue that hri_transfer gets */
    hr_traffic *predicted; /* NULL: copy; else only count the bytes here */
} moving;

/* How near a source is: the place itself, a sibling on the same device, another
 * peer, the host, other accelerators. */
typedef enum distance {
    ITSELF,
    SIBLINGS,
    PEERS,
    HOST,
    FAR,
    DISTANCES
} distance;

static distance distance_of(const hr_context *c, int from, int place)
{
    if (from == place) {
        return ITSELF;
    }
    if (from == HRI_HOST || place == HRI_HOST) {
        return from == HRI_HOST ? HOST : PEERS;
    }
    const hri_accelerator *a = hri_accelerator_at(c, from);
    const hri_accelerator *b = hri_accelerator_at(c, place);
    if (!b->device->ops->is_peer(b->device, a->device)) {
        return FAR;
    }
    return a->physical == b->physical ? SIBLINGS : PEERS;
}

void hri_traffic_predict(const hr_context *context, int from, int to,
                         uint64_t bytes, hr_traffic *traffic)
{
    const distance d = distance_of(context, from, to);
    if (d == FAR) {
        add_traffic(traffic, from, HRI_HOST, bytes);
    }
    if (d != ITSELF) {
        add_traffic(traffic, d == FAR ? HRI_HOST : from, to, bytes);
    }
}

static hr_status copy_box(const moving *m, int from, const hri_box *box)
{
    hri_box to_box = *box;
    for (int i = 0; i < HRI_DIMENSIONS && m->shift != NULL; i++) {
        to_box.lo[i] += m->shift[i];
        to_box.hi[i] += m->shift[i];
    }
    const hri_boxes read = hri_boxes_of(box), written = hri_boxes_of(&to_box);
    const hri_copy copy = hri_store_copy(&m->from->stores[from], box,
                                         &m->to->stores[m->place], &to_box);
    HRI_TRY(hri_transfer(m->from, from, &read, m->to, m->place, &written, &copy,
                         m->queue));
    return m->shift == NULL
               ? hri_boxes_add(&m->to->stores[m->place].valid, box)
               : hri_array_end_use(m->to, m->place, &written, HR_OUT, NULL);
}

/* Copy a box, or count its bytes. If there is no copy from `from` to m->place,
 * the box goes through the host. */
static hr_status move_box(const moving *m, int from, const hri_box *box)
{
    const hr_context *c = m->from->context;
    const bool far = distance_of(c, from, m->place) == FAR;
    const hri_boxes boxes = hri_boxes_of(box);
    if (m->predicted != NULL) {
        hri_traffic_predict(c, from, m->place, (uint64_t)hri_box_volume(box),
                            m->predicted);
        return HR_OK;
    }
    if (far) {
        HRI_TRY(hri_array_fetch(m->from, HRI_HOST, &boxes, NULL));
    }
    return copy_box(m, far ? HRI_HOST : from, box);
}

/* Move those wanted boxes that are valid at `from`, and remove them from
 * `wanted`. When they move to another part of the array, the move changes what
 * is valid there. */
static hr_status move_from(const moving *m, int from, hri_boxes *wanted)
{
    hri_box box;
    while (hri_boxes_meet(&m->from->stores[from].valid, wanted, &box)) {
        HRI_TRY(move_box(m, from, &box));
        HRI_TRY(hri_boxes_remove(wanted, &box));
    }
    return HR_OK;
}

/* Move the wanted boxes from the places nearest to m->place that have them, and
 * remove them from `wanted`. What is left has no values anywhere. */
static hr_status move_nearest(const moving *m, hri_boxes *wanted)
{
    for (distance d = ITSELF; d < DISTANCES; d++) {
        for (int from = 0; from < place_count(m->from) && wanted->count > 0;
             from++) {
            if (distance_of(m->from->context, from, m->place) == d) {
                HRI_TRY(move_from(m, from, wanted));
            }
        }
    }
    return HR_OK;
}

static hr_status move_missing(const moving *m, const hri_boxes *boxes)
{
    hri_boxes missing = {0};
    hr_status status = hri_boxes_add_all(&missing, boxes);
    if (status != HR_OK) {
        goto done;
    }
    status = hri_boxes_remove_all(&missing, &m->to->stores[m->place].valid);
    if (status != HR_OK) {
        goto done;
    }
    status = move_nearest(m, &missing);
done:
    hri_boxes_finish(&missing);
    return status;
}

hr_status hri_array_fetch(hr_array *array, int place, const hri_boxes *boxes,
                          hr_queue *queue)
{
    const moving m = {array, array, place, .queue = queue};
    HRI_TRY(hri_store_hold(array, place, boxes));
    return move_missing(&m, boxes);
}

hr_status hri_array_forget(hr_array *array, const hri_boxes *boxes)
{
    for (int p = 0; p < place_count(array); p++) {
        HRI_TRY(hri_boxes_remove_all(&array->stores[p].valid, boxes));
    }
    return HR_OK;
}

hr_status hri_array_predict(hr_array *array, int place, const hri_boxes *boxes,
                            hr_traffic *traffic)
{
    const moving m = {array, array, place, .predicted = traffic};
    return move_missing(&m, boxes);
}

hr_status hri_array_copy(hr_array *from, const hri_box *box, hr_array *to,
                         int place, const hri_box *to_box, hr_queue *queue)
{
    int64_t shift[HRI_DIMENSIONS];
    const moving m = {from, to, place, shift, queue, NULL};
    hri_boxes wanted = {0};
    for (int i = 0; i < HRI_DIMENSIONS; i++) {
        shift[i] = to_box->lo[i] - box->lo[i];
    }
    hr_status status = hri_boxes_add(&wanted, box);
    if (status == HR_OK) {
        status = move_nearest(&m, &wanted);
    }
    hri_boxes_finish(&wanted);
    return status;
}

/* Return the error of earlier work, unless it was told before. */
static hr_status tell_error(hr_array *array)
{
    hr_status status = hri_error_raise(&array->error);
    array->error = (hri_error){0};
    return status;
}

hr_status hri_array_wait(hr_array *array, hr_array *other,
                         const hri_fences *fences)
{
    hr_context *context = array->context;
    hri_error error = {0};
    pthread_mutex_unlock(&context->lock);
    hri_error_keep(&error, hri_fences_wait(fences));
    pthread_mutex_lock(&context->lock);
    hri_error_keep(&error, tell_error(array));
    if (error.status != HR_OK) {
        hri_uses_forget_failed(array);
    }
    if (error.status != HR_OK && other != NULL) {
        hri_uses_forget_failed(other);
    }
    return hri_error_raise(&error);
}

hr_status hri_array_begin_use(hr_array *array, int place,
                              const hri_boxes *boxes, hr_access access,
                              hr_queue *queue)
{
    HRI_TRY(hri_store_hold(array, place, boxes));
    if ((access & HR_IN) != 0) {
        HRI_TRY(hri_array_fetch(array, place, boxes, queue));
        if (queue != NULL) { /* first, since errors of these writes are errors
                                of this work, too */
            HRI_TRY(hri_uses_order(array, place, boxes, false, queue->stream));
        }
        HRI_TRY(tell_error(array));
    }
    return queue != NULL && (access & HR_OUT) != 0
               ? hri_uses_order(array, place, boxes, true, queue->stream)
               : HR_OK;
}

hr_status hri_array_end_use(hr_array *array, int place, const hri_boxes *boxes,
                            hr_access access, hri_fence *fence)
{
    const bool writes = (access & HR_OUT) != 0;
    if (fence != NULL) {
        HRI_TRY(hri_uses_add(array, place, boxes, fence, writes));
    }
    if (!writes) {
        return HR_OK;
    }
    for (int p = 0; p < place_count(array); p++) {
        if (p != place) {
            HRI_TRY(hri_boxes_remove_all(&array->stores[p].valid, boxes));
        }
    }
    return hri_boxes_add_all(&array->stores[place].valid, boxes);
}
