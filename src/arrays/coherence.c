/* SPDX-License-Identifier: MIT */
/* Which elements are valid where: fetching what is missing, and what writing
 * makes invalid. */
#include "arrays/array.h"

static int place_count(const hr_array *array)
{
    return 1 + (int)array->context->accelerator_count;
}

/* A box that both sets have in common; false when there is none. */
static bool find_common(const hri_boxes *a, const hri_boxes *b, hri_box *box)
{
    for (size_t i = 0; i < a->count; i++) {
        for (size_t j = 0; j < b->count; j++) {
            *box = hri_box_meet(&a->of[i], &b->of[j]);
            if (!hri_box_is_empty(box)) {
                return true;
            }
        }
    }
    return false;
}

/* Hand out what is wanted and valid at `from`, and strike it out. Carrying may
 * change what is valid there, when it leads to another part of the array. */
static hr_status hand_out(hr_array *array, int from, hri_boxes *wanted,
                          hri_carry carry, void *data)
{
    hri_box box;
    hr_status status = HR_OK;
    while (status == HR_OK &&
           find_common(&array->stores[from].valid, wanted, &box)) {
        status = carry(data, from, &box);
        if (status == HR_OK) {
            status = hri_boxes_remove(wanted, &box);
        }
    }
    return status;
}

/* Bring what is wanted and valid at `from` to the host, then hand it out. */
static hr_status hand_out_over_host(hr_array *array, int from,
                                    hri_boxes *wanted, hri_carry carry,
                                    void *data)
{
    const hri_boxes *valid = &array->stores[from].valid;
    hri_boxes part = {0};
    hr_status status = HR_OK;
    for (size_t i = 0; i < valid->count && status == HR_OK; i++) {
        for (size_t j = 0; j < wanted->count && status == HR_OK; j++) {
            hri_box box = hri_box_meet(&valid->of[i], &wanted->of[j]);
            status = hri_boxes_add(&part, &box);
        }
    }
    if (status == HR_OK && part.count > 0) {
        status = hri_array_fetch(array, HRI_HOST, &part, NULL);
        if (status == HR_OK) {
            status = hand_out(array, HRI_HOST, wanted, carry, data);
        }
    }
    hri_boxes_finish(&part);
    return status;
}

/* How near a place is: itself, siblings on one device, other peers, the host,
 * others. */
typedef enum distance {
    ITSELF,
    SIBLINGS,
    PEERS,
    HOST,
    FAR,
    DISTANCES
} distance;

static distance distance_of(const hr_array *array, int from, int place)
{
    const hr_context *c = array->context;
    if (from == place) {
        return ITSELF;
    }
    if (from == HRI_HOST || place == HRI_HOST) {
        return from == HRI_HOST ? HOST : PEERS;
    }
    const hri_accelerator *a = &c->accelerators[from - 1];
    const hri_accelerator *b = &c->accelerators[place - 1];
    if (!b->device->ops->is_peer(b->device, a->device)) {
        return FAR;
    }
    return a->physical == b->physical ? SIBLINGS : PEERS;
}

hr_status hri_array_gather(hr_array *array, int place, hri_boxes *wanted,
                           hri_carry carry, void *data)
{
    hr_status status = HR_OK;
    for (distance d = ITSELF; d < DISTANCES && status == HR_OK; d++) {
        for (int from = 0;
             from < place_count(array) && status == HR_OK && wanted->count > 0;
             from++) {
            if (distance_of(array, from, place) == d) {
                status = d == FAR ? hand_out_over_host(array, from, wanted,
                                                       carry, data)
                                  : hand_out(array, from, wanted, carry, data);
            }
        }
    }
    return status;
}

/* Fetching: to the same box of another place. */
typedef struct fetching {
    hr_array *array;
    int place;
    hr_queue *queue;
} fetching;

static hr_status carry_home(void *data, int from, const hri_box *box)
{
    const fetching *f = data;
    hr_status status =
        hri_transfer(f->array, from, box, f->array, f->place, box, f->queue);
    return status == HR_OK
               ? hri_boxes_add(&f->array->stores[f->place].valid, box)
               : status;
}

static hr_status find_missing(const hr_array *array, int place,
                              const hri_boxes *region, hri_boxes *missing)
{
    hr_status status = hri_boxes_add_all(missing, region);
    return status == HR_OK
               ? hri_boxes_remove_all(missing, &array->stores[place].valid)
               : status;
}

hr_status hri_array_fetch(hr_array *array, int place, const hri_boxes *region,
                          hr_queue *queue)
{
    fetching f = {array, place, queue};
    hri_boxes missing = {0};
    hr_status status = hri_store_hold(array, place, region, false);
    if (status == HR_OK) {
        status = find_missing(array, place, region, &missing);
    }
    if (status == HR_OK) {
        status = hri_array_gather(array, place, &missing, carry_home, &f);
    }
    hri_boxes_finish(&missing);
    return status;
}

/* Foreseeing: as fetching, but what would be carried is counted. */
typedef struct foreseeing {
    const hr_array *array;
    int place;
    hr_traffic *traffic;
} foreseeing;

static hr_status count_moved(void *data, int from, const hri_box *box)
{
    const foreseeing *f = data;
    const uint64_t bytes = (uint64_t)hri_box_volume(box);
    const bool far = distance_of(f->array, from, f->place) == FAR;
    f->traffic->up += from == HRI_HOST || far ? bytes : 0;
    f->traffic->down += f->place == HRI_HOST || far ? bytes : 0;
    f->traffic->peer +=
        from != HRI_HOST && f->place != HRI_HOST && !far ? bytes : 0;
    return HR_OK;
}

hr_status hri_array_foresee(hr_array *array, int place, const hri_boxes *region,
                            hr_traffic *traffic)
{
    foreseeing f = {array, place, traffic};
    hri_boxes missing = {0};
    hr_status status = find_missing(array, place, region, &missing);
    for (distance d = SIBLINGS; d < DISTANCES && status == HR_OK; d++) {
        for (int from = 0; from < place_count(array) && status == HR_OK;
             from++) {
            if (distance_of(array, from, place) == d) {
                status = hand_out(array, from, &missing, count_moved, &f);
            }
        }
    }
    hri_boxes_finish(&missing);
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
    hri_error_keep(&error, hri_error_raise(&array->error));
    array->error = (hri_error){0};
    if (error.status != HR_OK) {
        hri_uses_forget_failed(array);
    }
    if (error.status != HR_OK && other != NULL) {
        hri_uses_forget_failed(other);
    }
    return hri_error_raise(&error);
}

/* The error of earlier work that nobody has been told of. */
static hr_status tell(hr_array *array)
{
    hr_status status = hri_error_raise(&array->error);
    array->error = (hri_error){0};
    return status;
}

hr_status hri_array_begin(hr_array *array, int place, const hri_boxes *region,
                          bool linear, hr_access access, hr_queue *queue)
{
    hr_status status = hri_store_hold(array, place, region, linear);
    if (status == HR_OK && (access & HR_IN) != 0) {
        status = hri_array_fetch(array, place, region, queue);
    }
    /* what is read first: an error of who wrote it is told */
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
    hr_status status = HR_OK;
    for (size_t i = 0; i < region->count && status == HR_OK && fence != NULL;
         i++) {
        status = hri_uses_add(array, place, &region->of[i], fence, writes);
    }
    for (int p = 0; p < place_count(array) && status == HR_OK && writes; p++) {
        if (p != place) {
            status = hri_boxes_remove_all(&array->stores[p].valid, region);
        }
    }
    return status == HR_OK && writes
               ? hri_boxes_add_all(&array->stores[place].valid, region)
               : status;
}
