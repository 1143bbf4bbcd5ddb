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

static hr_status check(const hr_view *view, const char *what, const void *out)
{
    if (view->array == NULL) {
        return hri_fail(HR_ERROR_INVALID, "%s: the view belongs to no array",
                        what);
    }
    return out != NULL
               ? HR_OK
               : hri_fail(HR_ERROR_INVALID, "%s: the result is NULL", what);
}

hr_status hr_view_section(hr_view view, const int64_t *origin, hr_extent extent,
                          hr_view *section)
{
    hr_status status = check(&view, "section", section);
    if (status != HR_OK) {
        return status;
    }
    if (origin == NULL || extent.rank != view.extent.rank) {
        return origin == NULL
                   ? hri_fail(HR_ERROR_INVALID, "section: the origin is NULL")
                   : hri_fail(
                         HR_ERROR_INVALID,
                         "section: the extent has rank %u, but the view has %u",
                         extent.rank, view.extent.rank);
    }
    hr_view out = view;
    out.extent = extent;
    for (uint32_t i = 0; i < extent.rank; i++) {
        int64_t size = view.extent.size[i];
        if (origin[i] < 0 || extent.size[i] < 1 || origin[i] > size ||
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
    hr_status status = check(&view, "projection", projection);
    if (status != HR_OK) {
        return status;
    }
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

/* Whether its elements lie next to each other in the array's order. */
static bool is_packed(const hr_view *view)
{
    int64_t stride[HR_MAX_RANK];
    const int64_t bytes =
        hri_packed_strides(view->extent, view->element_bytes, stride);
    for (uint32_t i = 0; i < view->extent.rank; i++) {
        if (view->extent.size[i] > 1 && view->stride_bytes[i] != stride[i]) {
            return false;
        }
    }
    const hr_array *a = view->array; /* if it spans rows: have these gaps? */
    return view->offset_bytes % a->size[2] + bytes <= a->size[2] ||
           a->stores[HRI_HOST].pitch == (size_t)a->size[2];
}

hr_status hr_view_reshape(hr_view view, hr_extent extent, hr_view *reshaped)
{
    hr_status status = check(&view, "reshape", reshaped);
    if (status != HR_OK) {
        return status;
    }
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
    if (!is_packed(&view)) {
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
    hr_status status = check(&view, "reinterpretation", other);
    if (status != HR_OK) {
        return status;
    }
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

/* ---- the boxes of views */

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

/* The one box of a view with the same dimensions as the array. */
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

hr_status hri_view_region(const hr_view *view, hri_boxes *region)
{
    hri_box box;
    region->linear = !as_box(view, &box);
    if (!region->linear) {
        return hri_boxes_add(region, &box);
    }
    int64_t size[HR_MAX_RANK] = {1, 1, 1}, stride[HR_MAX_RANK] = {0, 0, 0};
    for (uint32_t i = 0; i < view->extent.rank; i++) {
        uint32_t d = HR_MAX_RANK - view->extent.rank + i;
        size[d] = view->extent.size[i];
        stride[d] = view->stride_bytes[i];
    }
    int64_t run = size[2] * (int64_t)view->element_bytes;
    if (stride[1] == run) { /* rows without gaps count as one */
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
