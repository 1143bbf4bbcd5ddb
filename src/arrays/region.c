/* SPDX-License-Identifier: MIT */
/* The boxes of the array that views cover. */
#include "arrays/array.h"
#include "base/size.h"

/* ---- views whose rows are rows of the array */

/* Steps along one axis of the array: slices, or rows of a slice. Those of
 * distance 1 make a run. */
typedef struct axis {
    int64_t start, run;
    uint32_t count; /* of the steps that lead from run to run */
    int64_t size[HR_MAX_RANK], step[HR_MAX_RANK];
} axis;

/* Add a dimension of the view. Those behind it have been added. */
static void add_steps(axis *x, int64_t size, int64_t step)
{
    if (step == x->run && x->count == 0) {
        x->run *= size;
    } else {
        x->size[x->count] = size;
        x->step[x->count++] = step;
    }
}

static int64_t count_runs(const axis *x)
{
    int64_t runs = 1;
    for (uint32_t i = 0; i < x->count; i++) {
        runs *= x->size[i];
    }
    return runs;
}

/* Where run number n begins. */
static int64_t start_of(const axis *x, int64_t n)
{
    int64_t start = x->start;
    for (uint32_t i = 0; i < x->count; i++) {
        start += n % x->size[i] * x->step[i];
        n /= x->size[i];
    }
    return start;
}

/* Find the steps of a view over slices and over rows, and the bytes of each
 * row. False: rows of the view are not rows of the array. */
static bool find_axes(const hr_view *v, axis *slices, axis *rows, hri_box *row)
{
    const int64_t *size = v->array->size;
    const int64_t bytes = size[2], slice = size[1] * bytes;
    const uint32_t last = v->extent.rank - 1;
    const int64_t x = v->offset_bytes % bytes;
    const int64_t width = v->extent.size[last] * (int64_t)v->element_bytes;
    int64_t end;
    *slices = (axis){.start = v->offset_bytes / slice, .run = 1};
    *rows = (axis){.start = v->offset_bytes / bytes % size[1], .run = 1};
    *row = (hri_box){.lo = {0, 0, x}, .hi = {0, 0, x + width}};
    end = rows->start;
    for (uint32_t i = last; i-- > 0;) {
        const int64_t count = v->extent.size[i], step = v->stride_bytes[i];
        if (count == 1) {
            continue;
        }
        if (step <= 0 || step % bytes != 0) {
            return false;
        }
        if (step % slice == 0) {
            add_steps(slices, count, step / slice);
        } else if (step == bytes && rows->start == 0 && end == 0 &&
                   count % size[1] == 0) { /* all rows of several slices */
            add_steps(rows, size[1], 1);
            add_steps(slices, count / size[1], 1);
            end = size[1] - 1;
        } else {
            add_steps(rows, count, step / bytes);
            end += (count - 1) * (step / bytes);
        }
    }
    return x + width <= bytes && end < size[1];
}

/* Add the boxes of all runs of slices and rows. */
static hr_status add_boxes(const axis *slices, const axis *rows, hri_box box,
                           hri_boxes *region)
{
    const int64_t outer = count_runs(slices), inner = count_runs(rows);
    hr_status status = HR_OK;
    for (int64_t i = 0; i < outer && status == HR_OK; i++) {
        box.lo[0] = start_of(slices, i);
        box.hi[0] = box.lo[0] + slices->run;
        for (int64_t j = 0; j < inner && status == HR_OK; j++) {
            box.lo[1] = start_of(rows, j);
            box.hi[1] = box.lo[1] + rows->run;
            status = hri_boxes_append(region, &box);
        }
    }
    return status;
}

/* ---- other views */

/* Add the bytes from start to end of the packed array, one box at a time: the
 * rest of a row, whole rows, whole slices, then whole rows and a part of
 * one. */
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

/* Dimensions without gaps between their elements count as one run. */
static hr_status add_runs(const hr_view *v, hri_boxes *region)
{
    axis runs = {.start = v->offset_bytes, .run = (int64_t)v->element_bytes};
    hr_status status = HR_OK;
    for (uint32_t i = v->extent.rank; i-- > 0;) {
        if (v->extent.size[i] > 1) {
            add_steps(&runs, v->extent.size[i], v->stride_bytes[i]);
        }
    }
    const int64_t count = count_runs(&runs);
    for (int64_t i = 0; i < count && status == HR_OK; i++) {
        const int64_t start = start_of(&runs, i);
        status = add_run(v->array, start, start + runs.run, region);
    }
    return status;
}

hr_status hri_view_region(const hr_view *view, hri_boxes *region)
{
    axis slices, rows;
    hri_box row;
    region->linear = !find_axes(view, &slices, &rows, &row);
    return region->linear ? add_runs(view, region)
                          : add_boxes(&slices, &rows, row, region);
}
