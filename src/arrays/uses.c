/* SPDX-License-Identifier: MIT */
/* Who works on what a place holds. */
#include <stdlib.h>

#include "arrays/array.h"

static void drop(hri_store *s, size_t i)
{
    hri_mark_drop(s->uses[i].mark);
    s->uses[i] = s->uses[--s->use_count];
}

/* Forget work that failed. What it should have written has no values. */
static void drop_failed(hri_store *s, size_t i)
{
    if (s->uses[i].writes) {
        (void)hri_boxes_remove(&s->valid, &s->uses[i].box);
    }
    drop(s, i);
}

/* What was only promised is not known to have ended. */
static hr_status ask(const hri_use *use, bool *done)
{
    *done = false;
    return use->mark->promised_by == NULL ? hri_mark_query(use->mark, done)
                                          : HR_OK;
}

void hri_uses_prune(hr_array *array, int place)
{
    hri_store *s = &array->stores[place];
    for (size_t i = s->use_count; i-- > 0;) {
        bool done;
        hr_status status = ask(&s->uses[i], &done);
        if (status != HR_OK) {
            if (s->uses[i].writes) {
                hri_error_keep(&array->error, status);
            }
            drop_failed(s, i);
        } else if (done) {
            drop(s, i);
        }
    }
}

void hri_uses_forget_failed(hr_array *array)
{
    for (uint32_t p = 0; p <= array->context->accelerator_count; p++) {
        hri_store *s = &array->stores[p];
        for (size_t i = s->use_count; i-- > 0;) {
            bool done;
            if (ask(&s->uses[i], &done) != HR_OK) {
                drop_failed(s, i);
            }
        }
    }
}

static bool contains(const hri_boxes *region, const hri_box *box)
{
    bool any = false;
    for (size_t i = 0; i < region->count && !any; i++) {
        any = hri_box_contains(&region->of[i], box);
    }
    return any;
}

/* A queue does its own work in order. What is known to have failed is told
 * to who reads it, and does not matter to who writes all of it anew; of what is
 * still under way whoever waits takes over the error. */
hr_status hri_uses_order(hr_array *array, int place, const hri_boxes *region,
                         bool writes, hri_queue *queue)
{
    hri_store *s = &array->stores[place];
    hr_status status = HR_OK;
    for (size_t i = s->use_count; i-- > 0 && status == HR_OK;) {
        const hri_use *use = &s->uses[i];
        bool done;
        if (use->mark->serial == queue->serial || (!writes && !use->writes) ||
            !hri_boxes_touch_any(region, &use->box)) {
            continue;
        }
        hr_status past = ask(use, &done);
        if (past != HR_OK) {
            status = writes ? HR_OK : past;
            if (writes && use->writes && !contains(region, &use->box)) {
                hri_error_keep(&array->error, past);
            }
            drop_failed(s, i);
        } else if (!done) {
            status = hri_mark_order(queue, use->mark);
        }
    }
    return status;
}

/* Whether whoever waits for work on box waits for the use as well: a write has
 * waited for all before it, and a read comes behind reads of its queue. */
static bool covers(const hri_box *box, uint64_t serial, bool writes,
                   const hri_use *use)
{
    return (writes || (!use->writes && use->mark->serial == serial)) &&
           hri_box_contains(box, &use->box);
}

uint32_t hri_uses_covered(const hr_array *array, int place,
                          const hri_boxes *region, bool writes,
                          const hri_mark *mark)
{
    const hri_store *s = &array->stores[place];
    uint32_t count = 0;
    for (size_t i = 0; i < s->use_count; i++) {
        bool any = false;
        for (size_t j = 0; s->uses[i].mark == mark && j < region->count && !any;
             j++) {
            any = covers(&region->of[j], mark->serial, writes, &s->uses[i]);
        }
        count += any;
    }
    return count;
}

/* Room for one more. Much of it is left free, so that the driver is asked about
 * every use only now and then. */
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

hr_status hri_uses_add(hr_array *array, int place, const hri_box *box,
                       hri_mark *mark, bool writes)
{
    hri_store *s = &array->stores[place];
    for (size_t i = s->use_count; i-- > 0;) {
        if (covers(box, mark->serial, writes, &s->uses[i])) {
            drop(s, i);
        }
    }
    hr_status status = make_room(array, place);
    if (status == HR_OK) {
        hri_mark_hold(mark);
        s->uses[s->use_count++] = (hri_use){*box, mark, writes};
    }
    return status;
}

hr_status hri_uses_collect(const hr_array *array, int place,
                           const hri_boxes *region, bool writes_alone,
                           hri_marks *marks)
{
    const hri_store *s = &array->stores[place];
    hr_status status = HR_OK;
    for (size_t i = 0; i < s->use_count && status == HR_OK; i++) {
        if ((!writes_alone || s->uses[i].writes) &&
            hri_boxes_touch_any(region, &s->uses[i].box)) {
            status = hri_marks_add(marks, s->uses[i].mark);
        }
    }
    return status;
}

hr_status hri_uses_collect_everywhere(const hr_array *array,
                                      const hri_boxes *region,
                                      bool writes_alone, hri_marks *marks)
{
    hr_status status = HR_OK;
    for (uint32_t p = 0;
         p <= array->context->accelerator_count && status == HR_OK; p++) {
        status = hri_uses_collect(array, (int)p, region, writes_alone, marks);
    }
    return status;
}

void hri_uses_drop(hr_array *array, int place)
{
    hri_store *s = &array->stores[place];
    while (s->use_count > 0) {
        drop(s, s->use_count - 1);
    }
}
