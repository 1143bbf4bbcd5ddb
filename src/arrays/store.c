/* SPDX-License-Identifier: MIT */
/* The memory of places. */
#include <stdlib.h>

#include "arrays/array.h"
#include "base/pages.h"
#include "base/size.h"

hri_box hri_array_box(const hr_array *array)
{
    const int64_t *size = array->size;
    return (hri_box){{0, 0, 0}, {size[0], size[1], size[2]}};
}

size_t hri_array_bytes(const hr_array *array)
{
    const hri_box box = hri_array_box(array);
    return (size_t)hri_box_volume(&box);
}

/* The grain, in bytes, that parts of rows are rounded to. With it elements keep
 * their alignment, and lie a whole number of elements of the array apart. */
static int64_t grain_of(const hr_array *array)
{
    const int64_t alignment = 16, bytes = (int64_t)array->element_bytes;
    int64_t grain = bytes;
    while (grain % alignment != 0) {
        grain *= 2;
    }
    return grain;
}

int hri_place_of(const hr_context *context, const hri_accelerator *accelerator)
{
    return accelerator->in_place
               ? HRI_HOST
               : 1 + (int)(accelerator - context->accelerators);
}

/* Writing small results home costs a kernel next to nothing, while copying them
 * behind it takes as long as a short kernel. */
int hri_place_for(const hr_array *array, const hri_accelerator *accelerator,
                  hr_access access)
{
    const hri_device *device = accelerator->device;
    return array->results && access == HR_OUT && device->info.reaches &&
                   device->ops == array->lender->device->ops
               ? HRI_HOST
               : hri_place_of(array->context, accelerator);
}

/* The address where a box starts. */
static hri_place place_in(const hri_store *s, const hri_box *box)
{
    size_t offset = (size_t)(box->lo[0] - s->held.lo[0]) * s->slice +
                    (size_t)(box->lo[1] - s->held.lo[1]) * s->pitch +
                    (size_t)(box->lo[2] - s->held.lo[2]);
    return s->buffer != NULL ? hri_at(s->buffer, offset)
                             : hri_at_host(s->host, offset);
}

hri_copy hri_store_copy(const hri_store *from, const hri_box *box,
                        const hri_store *to, const hri_box *to_box)
{
    return (hri_copy){
        .to = place_in(to, to_box),
        .from = place_in(from, box),
        .to_pitch = to->pitch,
        .to_slice = to->slice,
        .from_pitch = from->pitch,
        .from_slice = from->slice,
        .width = (size_t)(box->hi[2] - box->lo[2]),
        .height = (size_t)(box->hi[1] - box->lo[1]),
        .depth = (size_t)(box->hi[0] - box->lo[0]),
    };
}

/* Views of array rows step over rows or over slices. So do linear views, where
 * rows of the array may have gaps between them. */
hri_place hri_view_at(const hr_view *view, bool linear, int place,
                      int64_t stride[HR_MAX_RANK])
{
    const hr_array *a = view->array;
    const hri_store *s = &a->stores[place];
    const int64_t row = view->offset_bytes / a->size[2];
    const hri_box first = {
        .lo = {row / a->size[1], row % a->size[1],
               view->offset_bytes % a->size[2]},
    };
    for (uint32_t i = 0; i < view->extent.rank; i++) {
        const int64_t step = view->stride_bytes[i], bytes = a->size[2];
        const int64_t slice = bytes * a->size[1];
        const bool last = i + 1 == view->extent.rank;
        stride[i] = last || step % bytes != 0 ? step
                    : linear || step % slice != 0
                        ? step / bytes * (int64_t)s->pitch
                        : step / slice * (int64_t)s->slice;
    }
    return place_in(s, &first);
}

/* Get small pinned memory for the array from the first accelerator that has
 * such memory. */
static void *borrow_small(hr_array *array, size_t bytes)
{
    const hr_context *c = array->context;
    void *memory = NULL;
    for (uint32_t i = 0; i < c->accelerator_count && memory == NULL; i++) {
        array->lender = &c->accelerators[i];
        memory = hri_accelerator_take_small(array->lender, bytes);
    }
    return memory;
}

/* Make the host hold the whole array. */
static hr_status hold_on_host(hr_array *array)
{
    void **host = &array->stores[HRI_HOST].host;
    if (*host != NULL) {
        return HR_OK;
    }
    const size_t bytes = hri_array_bytes(array);
    *host = borrow_small(array, bytes);
    array->memory = HRI_MEMORY_SMALL;
    if (*host == NULL) {
        *host = hri_scattered_pages(bytes);
        array->memory = HRI_MEMORY_PAGES;
    }
    if (*host == NULL) {
        array->memory = HRI_MEMORY_NONE;
        return hri_fail(HR_ERROR_OUT_OF_MEMORY,
                        "array: no %zu bytes of host memory", bytes);
    }
    return HR_OK;
}

/* The box to hold: around the boxes and around what is held already. */
static hri_box widen(const hr_array *array, int place, const hri_boxes *boxes)
{
    hri_box around = array->stores[place].held;
    for (size_t i = 0; i < boxes->count; i++) {
        around = hri_box_around(&around, &boxes->of[i]);
    }
    const int64_t grain = grain_of(array);
    around.lo[2] -= around.lo[2] % grain;
    around.hi[2] = hri_min(hri_round_up(around.hi[2], grain), array->size[2]);
    if (boxes->linear) {
        around.lo[1] = around.lo[2] = 0;
        around.hi[1] = array->size[1];
        around.hi[2] = array->size[2];
    }
    return around;
}

/* Whether a place other than the host holds all of the boxes. A linear set also
 * needs rows that follow each other as in the array. */
static bool is_held(const hr_array *array, int place, const hri_boxes *boxes)
{
    const hri_store *s = &array->stores[place];
    bool all = s->buffer != NULL;
    for (size_t i = 0; i < boxes->count && all; i++) {
        all = hri_box_contains(&s->held, &boxes->of[i]);
    }
    const bool whole_rows = s->held.lo[1] == 0 && s->held.lo[2] == 0 &&
                            s->held.hi[1] == array->size[1] &&
                            s->held.hi[2] == array->size[2];
    return all && (whole_rows || !boxes->linear);
}

/* Wait for all work at a place. What failed leaves no values, and the array
 * keeps its error. Fails when work may still be under way. */
static hr_status wait_for_place(hr_array *array, int place)
{
    hri_fences fences = {0};
    const hri_boxes all = hri_boxes_of(&array->stores[place].held);
    hr_status status = hri_uses_collect(array, place, &all, false, &fences);
    if (status == HR_OK) {
        const hr_status waited = hri_fences_wait(&fences);
        hri_uses_prune(array, place);
        status = array->stores[place].use_count > 0 ? waited : HR_OK;
    }
    hri_fences_finish(&fences);
    return status;
}

/* Copy what is valid from the old memory to the new. */
static hr_status bring_over(const hr_array *array, int place,
                            const hri_store *old)
{
    hri_accelerator *a = hri_accelerator_at(array->context, place);
    hri_stream *stream = NULL;
    hri_error error = {0};
    HRI_TRY(hri_accelerator_copy_queue(a, &stream));
    for (size_t i = 0; i < old->valid.count; i++) {
        const hri_box *box = &old->valid.of[i];
        const hri_copy copy =
            hri_store_copy(old, box, &array->stores[place], box);
        hri_error_keep(&error, hri_stream_copy(stream, &copy));
        if (error.status != HR_OK) {
            break;
        }
    }
    hri_error_keep(&error, hri_stream_finish(stream));
    if (error.status != HR_OK) {
        hri_accelerator_drop_copy_queue(a);
    }
    return hri_error_raise(&error);
}

/* The bytes of a box with rows that lie `pitch` bytes apart. UINT64_MAX when
 * there are too many. */
static uint64_t bytes_of(const hri_box *box, size_t pitch)
{
    uint64_t rows, bytes;
    return hri_mul((uint64_t)(box->hi[0] - box->lo[0]),
                   (uint64_t)(box->hi[1] - box->lo[1]), &rows) &&
                   hri_mul(rows, pitch, &bytes)
               ? bytes
               : UINT64_MAX;
}

/* The distance from row to row at a place that holds this box. */
static size_t pitch_of(const hr_array *array, const hri_box *held)
{
    const int64_t width = held->hi[2] - held->lo[2], grain = grain_of(array);
    const bool whole = width == array->size[2];
    return (size_t)(whole ? width : hri_round_up(width, grain));
}

/* Give a place other memory, and move what is valid there. This is rare. */
static hr_status move_store(hr_array *array, int place, hri_box held)
{
    hri_accelerator *a = hri_accelerator_at(array->context, place);
    hri_store *s = &array->stores[place];
    const size_t pitch = pitch_of(array, &held);
    hri_buffer *buffer = NULL;
    if (s->buffer != NULL) {
        HRI_TRY(wait_for_place(array, place));
    }
    HRI_TRY(hri_accelerator_allocate(a, bytes_of(&held, pitch), &buffer));
    const hri_store old = *s;
    s->buffer = buffer;
    s->held = held;
    s->pitch = pitch;
    s->slice = pitch * (size_t)(held.hi[1] - held.lo[1]);
    if (old.buffer == NULL) {
        return HR_OK;
    }
    const hr_status status = bring_over(array, place, &old);
    if (status != HR_OK) {
        *s = old;
    }
    hri_accelerator_release(a, status == HR_OK ? old.buffer : buffer);
    return status;
}

uint64_t hri_store_lack(const hr_array *array, int place,
                        const hri_boxes *boxes, uint64_t *freed)
{
    const hri_store *s = &array->stores[place];
    *freed = 0;
    if (place == HRI_HOST || is_held(array, place, boxes)) {
        return 0;
    }
    const hri_box held = widen(array, place, boxes);
    *freed = s->buffer != NULL ? bytes_of(&s->held, s->pitch) : 0;
    return bytes_of(&held, pitch_of(array, &held));
}

hr_status hri_store_hold(hr_array *array, int place, const hri_boxes *boxes)
{
    if (place == HRI_HOST) {
        return hold_on_host(array);
    }
    return is_held(array, place, boxes)
               ? HR_OK
               : move_store(array, place, widen(array, place, boxes));
}

void hri_store_release(hr_array *array, int place)
{
    hri_store *s = &array->stores[place];
    hri_uses_drop(array, place);
    if (s->buffer != NULL) {
        hri_accelerator_release(hri_accelerator_at(array->context, place),
                                s->buffer);
    }
    hri_boxes_finish(&s->valid);
    free(s->uses);
    *s = (hri_store){0};
}
