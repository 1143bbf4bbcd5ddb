/* SPDX-License-Identifier: MIT */
/* Views as values: windows into windows, and the boxes of the array that they
 * cover. */
#include "arrays/array.h"
#include "base/size.h"

int64_t hri_packed_strides(hr_extent extent, size_t element_bytes,
                           int64_t stride[HR_MAX_RANK])
{
    int64_t bytes = (int64_t)element_bytes;
    for (uint32_t i = extent.rank; i-- > 0;) {
        stride[i] = bytes;
        bytes *= extent.size[i];
    }
    return bytes;
}

hr_view hr_view_of(hr_array *array)
{
    hr_view v = {.array = array};
    if (array != NULL) {
        v.extent = array->extent;
        v.element_bytes = array->element_bytes;
        v.type = array->type;
        (void)hri_packed_strides(v.extent, v.element_bytes, v.stride_bytes);
    }
    return v;
}

static hr_status check_view(const hr_view *view, const char *what,
                            const void *out)
{
    if (view->array == NULL) {
        return hri_fail(HR_ERROR_INVALID, "%s: the view belongs to no array",
                        what);
    }
    if (out == NULL) {
        return hri_fail(HR_ERROR_INVALID, "%s: the result is NULL", what);
    }
    return HR_OK;
}

hr_status hr_view_section(hr_view view, const int64_t *origin, hr_extent extent,
                          hr_view *section)
{
    HRI_TRY(check_view(&view, "section", section));
    if (origin == NULL) {
        return hri_fail(HR_ERROR_INVALID, "section: the origin is NULL");
    }
    if (extent.rank != view.extent.rank) {
        return hri_fail(HR_ERROR_INVALID,
                        "section: the extent has rank %u, but the view has %u",
                        extent.rank, view.extent.rank);
    }
    hr_view out = view;
    out.extent = extent;
    for (uint32_t i = 0; i < extent.rank; i++) {
        int64_t size = view.extent.size[i];
        if (extent.size[i] < 1) {
            return hri_fail(HR_ERROR_INVALID,
                            "section: the extent has size %lld in dimension "
                            "%u, not 1 or more",
                            (long long)extent.size[i], i);
        }
        if (origin[i] < 0 || origin[i] > size ||
            extent.size[i] > size - origin[i]) {
            return hri_fail(HR_ERROR_INVALID,
                            "section: %lld elements from %lld on exceed "
                            "dimension %u, which has %lld",
                            (long long)extent.size[i], (long long)origin[i], i,
                            (long long)size);
        }
        out.offset_bytes += origin[i] * view.stride_bytes[i];
    }
    *section = out;
    return HR_OK;
}

hr_status hr_view_project(hr_view view, int64_t index, hr_view *projection)
{
    HRI_TRY(check_view(&view, "projection", projection));
    if (view.extent.rank < 2) {
        return hri_fail(HR_ERROR_INVALID,
                        "projection: the view has rank 1, not 2 or more");
    }
    if (index < 0 || index >= view.extent.size[0]) {
        return hri_fail(HR_ERROR_INVALID,
                        "projection: index %lld is outside a dimension of %lld",
                        (long long)index, (long long)view.extent.size[0]);
    }
    hr_view out = {.array = view.array,
                   .offset_bytes =
                       view.offset_bytes + index * view.stride_bytes[0],
                   .element_bytes = view.element_bytes,
                   .type = view.type,
                   .extent = {.rank = view.extent.rank - 1}};
    for (uint32_t i = 0; i < out.extent.rank; i++) {
        out.extent.size[i] = view.extent.size[i + 1];
        out.stride_bytes[i] = view.stride_bytes[i + 1];
    }
    *projection = out;
    return HR_OK;
}

/* Tell how view i of a list differs from view 0. HR_OK: it does not. */
static hr_status check_pair(const hr_view *views, uint32_t i)
{
    const hr_view *a = &views[0], *b = &views[i];
    bool same = a->array == b->array && a->element_bytes == b->element_bytes &&
                a->extent.rank == b->extent.rank;
    for (uint32_t d = 0; d < a->extent.rank && same; d++) {
        same = a->extent.size[d] == b->extent.size[d] &&
               a->stride_bytes[d] == b->stride_bytes[d];
    }
    if (!same) {
        return hri_fail(HR_ERROR_INVALID,
                        "list: views 0 and %u are not of one array, with the "
                        "same extent and strides",
                        i);
    }
    const int64_t step = views[1].offset_bytes - a->offset_bytes;
    const int64_t distance = b->offset_bytes - views[i - 1].offset_bytes;
    if (distance != step) {
        return hri_fail(HR_ERROR_INVALID,
                        "list: view %u is %lld bytes behind the one before, "
                        "but view 1 is %lld",
                        i, (long long)distance, (long long)step);
    }
    return HR_OK;
}

hr_status hr_view_list(const hr_view *views, uint32_t count, hr_view *list)
{
    if (views == NULL || count == 0) {
        return hri_fail(HR_ERROR_INVALID, views == NULL
                                              ? "list: the views are NULL"
                                              : "list: there are 0 views");
    }
    const hr_view *first = &views[0];
    HRI_TRY(check_view(first, "list", list));
    if (first->extent.rank >= HR_MAX_RANK) {
        return hri_fail(HR_ERROR_INVALID,
                        "list: the views have rank %u, not 1 to %d",
                        first->extent.rank, HR_MAX_RANK - 1);
    }
    for (uint32_t i = 1; i < count; i++) {
        HRI_TRY(check_pair(views, i));
    }
    hr_view out = *first;
    out.extent.rank++;
    out.extent.size[0] = count;
    out.stride_bytes[0] = count > 1
                              ? views[1].offset_bytes - first->offset_bytes
                              : first->stride_bytes[0] * first->extent.size[0];
    for (uint32_t d = 0; d < first->extent.rank; d++) {
        out.extent.size[d + 1] = first->extent.size[d];
        out.stride_bytes[d + 1] = first->stride_bytes[d];
    }
    *list = out;
    return HR_OK;
}

/* Whether so many bytes of a view from its first element on lie next to each
 * other at each place: they are in one row, or rows have no gaps. */
static bool is_unbroken(const hr_view *v, int64_t bytes)
{
    const hr_array *a = v->array;
    return a == NULL || v->offset_bytes % a->size[2] + bytes <= a->size[2] ||
           a->stores[HRI_HOST].pitch == (size_t)a->size[2];
}

/* Join dimension d of a view with the one behind it. False: elements of the two
 * are not at equal distances. Those of the last dimension stay adjacent. */
static bool join_dimensions(hr_view *v, uint32_t d)
{
    int64_t *size = v->extent.size, *stride = v->stride_bytes;
    const bool last = d + 2 == v->extent.rank;
    const bool inner = size[d + 1] > 1 || last;
    if (size[d] > 1 && inner &&
        (stride[d] != size[d + 1] * stride[d + 1] ||
         (last && !is_unbroken(v, size[d] * stride[d])))) {
        return false;
    }
    stride[d] = inner ? stride[d + 1] : stride[d];
    size[d] *= size[d + 1];
    v->extent.rank--;
    for (uint32_t i = d + 1; i < v->extent.rank; i++) {
        size[i] = size[i + 1];
        stride[i] = stride[i + 1];
    }
    return true;
}

bool hri_view_flatten(hr_view *view, uint32_t from, uint32_t rank)
{
    hr_view flat = *view;
    bool joined = true;
    while (flat.extent.rank > rank && joined) {
        joined = join_dimensions(&flat, from);
    }
    *view = joined ? flat : *view;
    return joined;
}

hr_view hri_view_in_space(hr_view view)
{
    if (view.extent.rank == 2) {
        view.extent = hr_extent3(view.extent.size[0], 1, view.extent.size[1]);
        view.stride_bytes[2] = view.stride_bytes[1];
        view.stride_bytes[1] = view.stride_bytes[0];
    }
    return view;
}

bool hri_view_is_packed(const hr_view *view)
{
    int64_t stride[HR_MAX_RANK];
    const int64_t bytes =
        hri_packed_strides(view->extent, view->element_bytes, stride);
    for (uint32_t i = 0; i < view->extent.rank; i++) {
        if (view->extent.size[i] > 1 && view->stride_bytes[i] != stride[i]) {
            return false;
        }
    }
    return is_unbroken(view, bytes);
}

hr_status hr_view_reshape(hr_view view, hr_extent extent, hr_view *reshaped)
{
    HRI_TRY(check_view(&view, "reshape", reshaped));
    int64_t count = hr_extent_count(extent);
    if (count == 0) {
        return hri_fail(HR_ERROR_INVALID,
                        "reshape: the extent has no elements, or 2^63 or more; "
                        "the view has %lld",
                        (long long)hr_extent_count(view.extent));
    }
    if (count > hr_extent_count(view.extent)) {
        return hri_fail(
            HR_ERROR_INVALID,
            "reshape: the extent has %lld elements, but the view has %lld",
            (long long)count, (long long)hr_extent_count(view.extent));
    }
    if (!hri_view_is_packed(&view)) {
        return hri_fail(HR_ERROR_INVALID,
                        "reshape: there are gaps between the view's rows");
    }
    hr_view out = view;
    out.extent = extent;
    (void)hri_packed_strides(extent, view.element_bytes, out.stride_bytes);
    *reshaped = out;
    return HR_OK;
}

hr_status hr_view_reinterpret(hr_view view, size_t element_bytes,
                              hr_view *other)
{
    HRI_TRY(check_view(&view, "reinterpretation", other));
    const uint32_t last = view.extent.rank - 1;
    const int64_t row = view.extent.size[last] * (int64_t)view.element_bytes;
    const int64_t bytes = (int64_t)element_bytes;
    bool fits = bytes > 0 && row % bytes == 0 && view.offset_bytes % bytes == 0;
    for (uint32_t i = 0; i < last && fits; i++) {
        fits = view.extent.size[i] == 1 || view.stride_bytes[i] % bytes == 0;
    }
    if (!fits) {
        return hri_fail(HR_ERROR_INVALID,
                        "reinterpretation: rows of %lld byte%s do not divide "
                        "into elements of %zu",
                        (long long)row, hri_plural((uint64_t)row),
                        element_bytes);
    }
    hr_view out = view;
    out.element_bytes = element_bytes;
    out.type = NULL;
    out.extent.size[last] = row / bytes;
    out.stride_bytes[last] = bytes;
    *other = out;
    return HR_OK;
}

/* ---- boxes of the array: of views whose rows are rows of it */

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

/* The begin of run number n. */
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
                           hri_boxes *boxes)
{
    const int64_t outer = count_runs(slices), inner = count_runs(rows);
    for (int64_t i = 0; i < outer; i++) {
        box.lo[0] = start_of(slices, i);
        box.hi[0] = box.lo[0] + slices->run;
        for (int64_t j = 0; j < inner; j++) {
            box.lo[1] = start_of(rows, j);
            box.hi[1] = box.lo[1] + rows->run;
            HRI_TRY(hri_boxes_append(boxes, &box));
        }
    }
    return HR_OK;
}

/* ---- boxes of other views */

/* Add the bytes from start to end of the packed array, one box at a time: the
 * rest of a row, whole rows, whole slices, then whole rows and a part of
 * one. */
static hr_status add_run(const hr_array *a, int64_t start, int64_t end,
                         hri_boxes *boxes)
{
    const int64_t rows = a->size[1], bytes = a->size[2];
    while (start < end) {
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
        HRI_TRY(hri_boxes_append(boxes, &box));
    }
    return HR_OK;
}

/* Dimensions without gaps between their elements count as one run. */
static hr_status add_runs(const hr_view *v, hri_boxes *boxes)
{
    axis runs = {.start = v->offset_bytes, .run = (int64_t)v->element_bytes};
    for (uint32_t i = v->extent.rank; i-- > 0;) {
        if (v->extent.size[i] > 1) {
            add_steps(&runs, v->extent.size[i], v->stride_bytes[i]);
        }
    }
    const int64_t count = count_runs(&runs);
    for (int64_t i = 0; i < count; i++) {
        const int64_t start = start_of(&runs, i);
        HRI_TRY(add_run(v->array, start, start + runs.run, boxes));
    }
    return HR_OK;
}

hr_status hri_view_boxes(const hr_view *view, hri_boxes *boxes)
{
    axis slices, rows;
    hri_box row;
    boxes->linear = !find_axes(view, &slices, &rows, &row);
    return boxes->linear ? add_runs(view, boxes)
                         : add_boxes(&slices, &rows, row, boxes);
}
