/* SPDX-License-Identifier: MIT */
/* Sets of elements as boxes that do not overlap. */
#ifndef HRI_ARRAYS_BOXES_H
#define HRI_ARRAYS_BOXES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

enum { HRI_DIMENSIONS = 3 };

/* All points p with lo[i] <= p[i] < hi[i]. The box is empty when one hi is not
 * above its lo. */
typedef struct hri_box {
    int64_t lo[HRI_DIMENSIONS], hi[HRI_DIMENSIONS];
} hri_box;

typedef struct hri_boxes {
    hri_box *of; /* no box is empty, no two overlap */
    size_t count, capacity;
    bool linear; /* a place must hold whole rows without gaps, since rows of the
                    view are not rows of the array */
} hri_boxes;

bool hri_box_is_empty(const hri_box *box);
bool hri_box_contains(const hri_box *outer, const hri_box *inner);
/* Whether one box of the set contains the box. */
bool hri_boxes_contain(const hri_boxes *set, const hri_box *box);
/* Whether two boxes share a point. */
bool hri_boxes_touch(const hri_box *a, const hri_box *b);
bool hri_boxes_touch_any(const hri_boxes *set, const hri_box *box);
hri_box hri_box_meet(const hri_box *a, const hri_box *b);
/* A box that is in both sets. False when they have none in common. */
bool hri_boxes_meet(const hri_boxes *a, const hri_boxes *b, hri_box *box);
/* The least box around both. An empty box adds nothing. */
hri_box hri_box_around(const hri_box *a, const hri_box *b);
int64_t hri_box_volume(const hri_box *box);

/* The set of one box, which is borrowed. The set is for reading only. */
static inline hri_boxes hri_boxes_of(const hri_box *box)
{
    return (hri_boxes){.of = (hri_box *)(uintptr_t)box, .count = 1};
}

/* {0} is the empty set. */
void hri_boxes_finish(hri_boxes *set);
/* Make set the union with box, or the rest of set without box. On
 * HR_ERROR_OUT_OF_MEMORY the set stays as it was. */
hr_status hri_boxes_add(hri_boxes *set, const hri_box *box);
hr_status hri_boxes_remove(hri_boxes *set, const hri_box *box);
/* Add a box that overlaps no box of the set. It is joined with the last box if
 * both make one box. The other boxes are not looked at. */
hr_status hri_boxes_append(hri_boxes *set, const hri_box *box);
/* The same with all boxes of another set. After HR_ERROR_OUT_OF_MEMORY a part
 * may have been added. */
hr_status hri_boxes_add_all(hri_boxes *set, const hri_boxes *others);
hr_status hri_boxes_remove_all(hri_boxes *set, const hri_boxes *others);

#endif
