/* SPDX-License-Identifier: MIT */
/* Which elements are valid at which place: fetching what is missing, and
 * invalidating what was written elsewhere. */
#include "arrays/array.h"

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
        hri_traffic_add(traffic, from, HRI_HOST, bytes);
    }
    if (d != ITSELF) {
        hri_traffic_add(traffic, d == FAR ? HRI_HOST : from, to, bytes);
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
    hr_status status = hri_transfer(m->from, from, &read, m->to, m->place,
                                    &written, &copy, m->queue);
    if (status != HR_OK) {
        return status;
    }
    return m->shift == NULL
               ? hri_boxes_add(&m->to->stores[m->place].valid, box)
               : hri_array_end(m->to, m->place, &written, HR_OUT, NULL);
}

/* Copy a box, or count its bytes. If there is no copy from `from` to m->place,
 * the box goes through the host. */
static hr_status move_box(const moving *m, int from, const hri_box *box)
{
    const hr_context *c = m->from->context;
    const bool far = distance_of(c, from, m->place) == FAR;
    const int last = far ? HRI_HOST : from;
    const hri_boxes part = hri_boxes_of(box);
    if (m->predicted != NULL) {
        hri_traffic_predict(c, from, m->place, (uint64_t)hri_box_volume(box),
                            m->predicted);
        return HR_OK;
    }
    hr_status status =
        far ? hri_array_fetch(m->from, HRI_HOST, &part, NULL) : HR_OK;
    return status == HR_OK ? copy_box(m, last, box) : status;
}

/* Move those wanted boxes that are valid at `from`, and remove them from
 * `wanted`. When they move to another part of the array, the move changes what
 * is valid there. */
static hr_status move_from(const moving *m, int from, hri_boxes *wanted)
{
    hri_box box;
    hr_status status = HR_OK;
    while (status == HR_OK &&
           hri_boxes_meet(&m->from->stores[from].valid, wanted, &box)) {
        status = move_box(m, from, &box);
        if (status == HR_OK) {
            status = hri_boxes_remove(wanted, &box);
        }
    }
    return status;
}

/* Move the wanted boxes from the places nearest to m->place that have them, and
 * remove them from `wanted`. What is left has no values anywhere. */
static hr_status move_nearest(const moving *m, hri_boxes *wanted)
{
    hr_status status = HR_OK;
    for (distance d = ITSELF; d < DISTANCES && status == HR_OK; d++) {
        for (int from = 0; from < place_count(m->from) && status == HR_OK &&
                           wanted->count > 0;
             from++) {
            if (distance_of(m->from->context, from, m->place) == d) {
                status = move_from(m, from, wanted);
            }
        }
    }
    return status;
}

static hr_status move_missing(const moving *m, const hri_boxes *region)
{
    hri_boxes missing = {0};
    hr_status status = hri_boxes_add_all(&missing, region);
    if (status == HR_OK) {
        status = hri_boxes_remove_all(&missing, &m->to->stores[m->place].valid);
    }
    if (status == HR_OK) {
        status = move_nearest(m, &missing);
    }
    hri_boxes_finish(&missing);
    return status;
}

hr_status hri_array_fetch(hr_array *array, int place, const hri_boxes *region,
                          hr_queue *queue)
{
    const moving m = {array, array, place, .queue = queue};
    hr_status status = hri_store_hold(array, place, region);
    return status == HR_OK ? move_missing(&m, region) : status;
}

hr_status hri_array_forget(hr_array *array, const hri_boxes *region)
{
    hr_status status = HR_OK;
    for (int p = 0; p < place_count(array) && status == HR_OK; p++) {
        status = hri_boxes_remove_all(&array->stores[p].valid, region);
    }
    return status;
}

hr_status hri_array_predict(hr_array *array, int place, const hri_boxes *region,
                            hr_traffic *traffic)
{
    const moving m = {array, array, place, .predicted = traffic};
    return move_missing(&m, region);
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
static hr_status tell(hr_array *array)
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
    hri_error_keep(&error, tell(array));
    if (error.status != HR_OK) {
        hri_uses_forget_failed(array);
    }
    if (error.status != HR_OK && other != NULL) {
        hri_uses_forget_failed(other);
    }
    return hri_error_raise(&error);
}

hr_status hri_array_begin(hr_array *array, int place, const hri_boxes *region,
                          hr_access access, hr_queue *queue)
{
    hr_status status = hri_store_hold(array, place, region);
    if (status == HR_OK && (access & HR_IN) != 0) {
        status = hri_array_fetch(array, place, region, queue);
    }
    /* wait for the writes first: their errors are this work's, too */
    if (status == HR_OK && queue != NULL && (access & HR_IN) != 0) {
        status = hri_uses_order(array, place, region, false, queue->stream);
    }
    if (status == HR_OK && (access & HR_IN) != 0) {
        status = tell(array);
    }
    if (status == HR_OK && queue != NULL && (access & HR_OUT) != 0) {
        status = hri_uses_order(array, place, region, true, queue->stream);
    }
    return status;
}

hr_status hri_array_end(hr_array *array, int place, const hri_boxes *region,
                        hr_access access, hri_fence *fence)
{
    const bool writes = (access & HR_OUT) != 0;
    hr_status status = fence != NULL
                           ? hri_uses_add(array, place, region, fence, writes)
                           : HR_OK;
    for (int p = 0; p < place_count(array) && status == HR_OK && writes; p++) {
        if (p != place) {
            status = hri_boxes_remove_all(&array->stores[p].valid, region);
        }
    }
    return status == HR_OK && writes
               ? hri_boxes_add_all(&array->stores[place].valid, region)
               : status;
}
