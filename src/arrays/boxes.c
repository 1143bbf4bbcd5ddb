/* SPDX-License-Identifier: MIT */
#include "arrays/boxes.h"

#include <stdlib.h>

#include "base/size.h"

bool hri_box_is_empty(const hri_box *box)
{
    return hri_box_volume(box) == 0;
}

bool hri_box_contains(const hri_box *outer, const hri_box *inner)
{
    bool inside = true;
    for (int i = 0; i < HRI_DIMENSIONS; i++) {
        inside = inside && outer->lo[i] <= inner->lo[i] &&
                 inner->hi[i] <= outer->hi[i];
    }
    return inside || hri_box_is_empty(inner);
}

bool hri_boxes_contain(const hri_boxes *set, const hri_box *box)
{
    bool any = false;
    for (size_t i = 0; i < set->count && !any; i++) {
        any = hri_box_contains(&set->of[i], box);
    }
    return any;
}

hri_box hri_box_meet(const hri_box *a, const hri_box *b)
{
    hri_box both;
    for (int i = 0; i < HRI_DIMENSIONS; i++) {
        both.lo[i] = hri_max(a->lo[i], b->lo[i]);
        both.hi[i] = hri_min(a->hi[i], b->hi[i]);
    }
    return both;
}

bool hri_boxes_touch(const hri_box *a, const hri_box *b)
{
    hri_box both = hri_box_meet(a, b);
    return !hri_box_is_empty(&both);
}

bool hri_boxes_meet(const hri_boxes *a, const hri_boxes *b, hri_box *box)
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

bool hri_boxes_touch_any(const hri_boxes *set, const hri_box *box)
{
    hri_box both;
    const hri_boxes one = hri_boxes_of(box);
    return hri_boxes_meet(set, &one, &both);
}

hri_box hri_box_around(const hri_box *a, const hri_box *b)
{
    if (hri_box_is_empty(a)) {
        return *b;
    }
    if (hri_box_is_empty(b)) {
        return *a;
    }
    hri_box around;
    for (int i = 0; i < HRI_DIMENSIONS; i++) {
        around.lo[i] = hri_min(a->lo[i], b->lo[i]);
        around.hi[i] = hri_max(a->hi[i], b->hi[i]);
    }
    return around;
}

int64_t hri_box_volume(const hri_box *box)
{
    int64_t volume = 1;
    for (int i = 0; i < HRI_DIMENSIONS; i++) {
        volume *= hri_max(box->hi[i] - box->lo[i], 0);
    }
    return volume;
}

void hri_boxes_finish(hri_boxes *set)
{
    free(set->of);
    *set = (hri_boxes){0};
}

/* Make room for so many more boxes. */
static hr_status reserve_boxes(hri_boxes *set, size_t more)
{
    if (set->capacity - set->count >= more) {
        return HR_OK;
    }
    size_t capacity = set->count + more + set->capacity;
    hri_box *of = realloc(set->of, capacity * sizeof *of);
    if (of == NULL) {
        return hri_fail(HR_ERROR_OUT_OF_MEMORY,
                        "arrays: no memory for %zu boxes", capacity);
    }
    set->of = of;
    set->capacity = capacity;
    return HR_OK;
}

/* Whether a and b together are one box, and which box. */
static bool join_boxes(const hri_box *a, const hri_box *b, hri_box *one)
{
    int along = -1;
    for (int i = 0; i < HRI_DIMENSIONS; i++) {
        if (a->lo[i] == b->lo[i] && a->hi[i] == b->hi[i]) {
            continue;
        }
        if (along >= 0 || (a->hi[i] != b->lo[i] && b->hi[i] != a->lo[i])) {
            return false;
        }
        along = i;
    }
    *one = hri_box_around(a, b);
    return true;
}

/* Put in a box that overlaps no other, and join it with neighbours as long as
 * two of them make one box. There must be room. */
static void put_box(hri_boxes *set, hri_box box)
{
    for (size_t i = 0; i < set->count;) {
        if (join_boxes(&set->of[i], &box, &box)) {
            set->of[i] = set->of[--set->count];
            i = 0;
        } else {
            i++;
        }
    }
    set->of[set->count++] = box;
}

enum { MAX_REST = 2 * HRI_DIMENSIONS };

/* What is left of a box without a hole that it overlaps: the parts below and
 * above the hole, along each dimension in turn. */
static size_t cut_out(hri_box box, const hri_box *hole, hri_box rest[MAX_REST])
{
    size_t count = 0;
    for (int i = 0; i < HRI_DIMENSIONS; i++) {
        if (box.lo[i] < hole->lo[i]) {
            rest[count] = box;
            rest[count++].hi[i] = hole->lo[i];
            box.lo[i] = hole->lo[i];
        }
        if (hole->hi[i] < box.hi[i]) {
            rest[count] = box;
            rest[count++].lo[i] = hole->hi[i];
            box.hi[i] = hole->hi[i];
        }
    }
    return count;
}

hr_status hri_boxes_remove(hri_boxes *set, const hri_box *box)
{
    size_t cut = 0;
    for (size_t i = 0; i < set->count; i++) {
        cut += hri_boxes_touch(&set->of[i], box);
    }
    HRI_TRY(reserve_boxes(set, cut * (MAX_REST - 1)));
    hri_box rest[MAX_REST];
    /* what is left goes to the end, and does not touch the hole */
    for (size_t i = set->count; i-- > 0;) {
        hri_box old = set->of[i];
        if (!hri_boxes_touch(&old, box)) {
            continue;
        }
        size_t count = cut_out(old, box, rest);
        set->of[i] = set->of[--set->count];
        for (size_t p = 0; p < count; p++) {
            set->of[set->count++] = rest[p];
        }
    }
    return HR_OK;
}

hr_status hri_boxes_add(hri_boxes *set, const hri_box *box)
{
    if (hri_box_is_empty(box) || hri_boxes_contain(set, box)) {
        return HR_OK;
    }
    /* reserve room for what is left of all boxes and for the new one first, so
     * that a failure loses nothing */
    HRI_TRY(reserve_boxes(set, set->count * (MAX_REST - 1) + 1));
    HRI_TRY(hri_boxes_remove(set, box));
    put_box(set, *box);
    return HR_OK;
}

hr_status hri_boxes_append(hri_boxes *set, const hri_box *box)
{
    if (set->count > 0 &&
        join_boxes(&set->of[set->count - 1], box, &set->of[set->count - 1])) {
        return HR_OK;
    }
    HRI_TRY(reserve_boxes(set, 1));
    set->of[set->count++] = *box;
    return HR_OK;
}

hr_status hri_boxes_add_all(hri_boxes *set, const hri_boxes *others)
{
    for (size_t i = 0; i < others->count; i++) {
        HRI_TRY(hri_boxes_add(set, &others->of[i]));
    }
    return HR_OK;
}

hr_status hri_boxes_remove_all(hri_boxes *set, const hri_boxes *others)
{
    for (size_t i = 0; i < others->count; i++) {
        HRI_TRY(hri_boxes_remove(set, &others->of[i]));
    }
    return HR_OK;
}
