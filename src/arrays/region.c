/* SPDX-License-Identifier: MIT */
/* Which boxes of its array a view covers. */
#include "arrays/array.h"
#include "base/size.h"

/* The bytes from start to end of the packed array, a box at a time: the rest of
 * a row, whole rows, whole slices, and the same backwards. */
static hr_status add_run(const hr_array *a, int64_t start, int64_t end,
                         hri_boxes *region)
{
    const int64_t rows = a->size[1], bytes = a->size[2];
    hr_status status = HR_OK;
    while (start < end && status == HR_OK) {
        int64_t z = start / bytes / rows, y = start / bytes % rows;
        int64_t x = start % bytes, whole = (end - start) / bytes;
        hri_box box = {{z, y, 0}, {z + 1, y + 1, bytes}};
        if (x > 0 || whole == 0) {
            box.lo[2] = x;
            box.hi[2] = hri_min(bytes, x + end - start);
        } else if (y > 0 || whole < rows) {
            box.hi[1] = hri_min(rows, y + whole);
        } else {
            box.hi[0] = z + whole / rows;
            box.hi[1] = rows;
        }
        start += (box.hi[0] - box.lo[0]) * (box.hi[1] - box.lo[1]) *
                 (box.hi[2] - box.lo[2]);
        status = hri_boxes_append(region, &box);
    }
    return status;
}

/* The one box of a view whose dimensions are those of the array. */
static bool as_box(const hr_view *v, hri_box *box)
{
    const hr_array *a = v->array;
    const int64_t bytes = a->size[2], slice = a->size[1] * bytes;
    const uint32_t last = v->extent.rank - 1;
    bool taken[2] = {false, false};
    const int64_t row = v->offset_bytes / bytes, x = v->offset_bytes % bytes;
    *box = (hri_box){.lo = {row / a->size[1], row % a->size[1], x}};
    box->hi[0] = box->lo[0] + 1;
    box->hi[1] = box->lo[1] + 1;
    box->hi[2] = x + v->extent.size[last] * (int64_t)v->element_bytes;
    if (box->hi[2] > bytes) {
        return false;
    }
    for (uint32_t i = 0; i < last; i++) {
        int64_t count = v->extent.size[i], stride = v->stride_bytes[i];
        if (count == 1) {
            continue;
        }
        int d = stride == bytes && box->lo[1] + count <= a->size[1] ? 1 : 0;
        if ((d == 0 && stride != slice) || taken[d]) {
            return false;
        }
        taken[d] = true;
        box->hi[d] = box->lo[d] + count;
    }
    return true;
}

hr_status hri_view_region(const hr_view *view, hri_boxes *region, bool *linear)
{
    hri_box box;
    *linear = !as_box(view, &box);
    if (!*linear) {
        return hri_boxes_add(region, &box);
    }
    int64_t size[HR_MOST_RANK] = {1, 1, 1}, stride[HR_MOST_RANK] = {0, 0, 0};
    for (uint32_t i = 0; i < view->extent.rank; i++) {
        uint32_t d = HR_MOST_RANK - view->extent.rank + i;
        size[d] = view->extent.size[i];
        stride[d] = view->stride_bytes[i];
    }
    int64_t run = size[2] * (int64_t)view->element_bytes;
    if (stride[1] == run) { /* rows without gaps are one */
        run *= size[1];
        size[1] = 1;
    }
    hr_status status = HR_OK;
    for (int64_t i = 0; i < size[0] * size[1] && status == HR_OK; i++) {
        int64_t start = view->offset_bytes + i / size[1] * stride[0] +
                        i % size[1] * stride[1];
        status = add_run(view->array, start, start + run, region);
    }
    return status;
}
