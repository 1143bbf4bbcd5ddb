/* SPDX-License-Identifier: MIT */
/* The work that uses what a place holds. */
#include <stdlib.h>

#include "arrays/array.h"

static void drop_use(hri_store *s, size_t i)
{
    hri_fence_drop(s->uses[i].fence);
    s->uses[i] = s->uses[--s->use_count];
}

/* Forget work that failed. What it should have written has no values. Perhaps
 * only the question failed, and the work goes on: nothing may overtake it. */
static void drop_failed(hri_store *s, size_t i)
{
    (void)hri_fence_wait(s->uses[i].fence);
    if (s->uses[i].writes) {
        (void)hri_boxes_remove(&s->valid, &s->uses[i].box);
    }
    drop_use(s, i);
}

/* Forget work that has ended. *error, unless NULL, keeps the error of a
 * write. */
static void prune_store(hri_store *s, hri_error *error)
{
    for (size_t i = s->use_count; i-- > 0;) {
        bool done;
        hr_status status = hri_fence_query(s->uses[i].fence, &done);
        if (status != HR_OK) {
            if (s->uses[i].writes && error != NULL) {
                hri_error_keep(error, status);
            }
            drop_failed(s, i);
        } else if (done) {
            drop_use(s, i);
        }
    }
}

void hri_uses_prune(hr_array *array, int place)
{
    prune_store(&array->stores[place], &array->error);
}

void hri_uses_forget_failed(hr_array *array)
{
    for (uint32_t p = 0; p <= array->context->accelerator_count; p++) {
        prune_store(&array->stores[p], NULL);
    }
}

/* The stream's own work is in order already. An earlier write that is known to
 * have failed makes a read fail. It does not matter to a write that replaces
 * all of it. If the earlier work is still under way, the stream waits for it
 * and takes over its error. */
hr_status hri_uses_order(hr_array *array, int place, const hri_boxes *boxes,
                         bool writes, hri_stream *stream)
{
    hri_store *s = &array->stores[place];
    for (size_t i = s->use_count; i-- > 0;) {
        const hri_use *use = &s->uses[i];
        bool done;
        if (use->fence->serial == stream->serial || (!writes && !use->writes) ||
            !hri_boxes_touch_any(boxes, &use->box)) {
            continue;
        }
        const hr_status past = hri_fence_query(use->fence, &done);
        if (past == HR_OK && !done) {
            HRI_TRY(hri_stream_wait(stream, use->fence));
        }
        if (past == HR_OK) {
            continue;
        }
        if (writes && use->writes && !hri_boxes_contain(boxes, &use->box)) {
            hri_error_keep(&array->error, past);
        }
        drop_failed(s, i);
        if (!writes) {
            return past;
        }
    }
    return HR_OK;
}

/* Whether waiting for work on box includes waiting for the use. A write has
 * waited for all uses before it. A read comes after earlier reads of its
 * queue. */
static bool covers(const hri_box *box, uint64_t serial, bool writes,
                   const hri_use *use)
{
    return (writes || (!use->writes && use->fence->serial == serial)) &&
           hri_box_contains(box, &use->box);
}

uint32_t hri_uses_covered(const hr_array *array, int place,
                          const hri_boxes *boxes, bool writes,
                          const hri_fence *fence)
{
    const hri_store *s = &array->stores[place];
    uint32_t count = 0;
    for (size_t i = 0; i < s->use_count; i++) {
        bool any = false;
        for (size_t j = 0; j < boxes->count && !any; j++) {
            any = s->uses[i].fence == fence &&
                  covers(&boxes->of[j], fence->serial, writes, &s->uses[i]);
        }
        count += any;
    }
    return count;
}

/* Make room for one more. Half of the room stays free, so that the driver is
 * rarely asked whether uses have ended. */
static hr_status make_room(hr_array *array, int place)
{
    hri_store *s = &array->stores[place];
    if (s->use_count < s->use_capacity) {
        return HR_OK;
    }
    hri_uses_prune(array, place);
    if (s->use_count < (s->use_capacity + 1) / 2) {
        return HR_OK;
    }
    size_t capacity = s->use_capacity * 2 + 8;
    hri_use *uses = realloc(s->uses, capacity * sizeof *uses);
    if (uses == NULL) {
        return hri_fail(HR_ERROR_OUT_OF_MEMORY,
                        "arrays: no memory for %zu uses", capacity);
    }
    s->uses = uses;
    s->use_capacity = capacity;
    return HR_OK;
}

static hr_status add_use(hr_array *array, int place, const hri_box *box,
                         hri_fence *fence, bool writes)
{
    hri_store *s = &array->stores[place];
    for (size_t i = s->use_count; i-- > 0;) {
        if (covers(box, fence->serial, writes, &s->uses[i])) {
            drop_use(s, i);
        }
    }
    HRI_TRY(make_room(array, place));
    hri_fence_hold(fence);
    s->uses[s->use_count++] = (hri_use){*box, fence, writes};
    return HR_OK;
}

hr_status hri_uses_add(hr_array *array, int place, const hri_boxes *boxes,
                       hri_fence *fence, bool writes)
{
    for (size_t i = 0; i < boxes->count; i++) {
        HRI_TRY(add_use(array, place, &boxes->of[i], fence, writes));
    }
    return HR_OK;
}

hr_status hri_uses_collect(const hr_array *array, int place,
                           const hri_boxes *boxes, bool writes_alone,
                           hri_fences *fences)
{
    for (int p = 0; p <= (int)array->context->accelerator_count; p++) {
        const hri_store *s = &array->stores[p];
        const bool meant = place == p || place == HRI_NOWHERE;
        for (size_t i = 0; meant && i < s->use_count; i++) {
            if ((!writes_alone || s->uses[i].writes) &&
                hri_boxes_touch_any(boxes, &s->uses[i].box)) {
                HRI_TRY(hri_fences_add(fences, s->uses[i].fence));
            }
        }
    }
    return HR_OK;
}

void hri_uses_drop(hr_array *array, int place)
{
    hri_store *s = &array->stores[place];
    while (s->use_count > 0) {
        drop_use(s, s->use_count - 1);
    }
}
