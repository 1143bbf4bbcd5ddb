/* SPDX-License-Identifier: MIT */
/* Arrays over memory of the caller's whose elements are not adjacent. Host
 * memory of the library's has a packed copy of them, which is the home. */
#include <string.h>

#include "arrays/array.h"
#include "base/size.h"
#include "kernels/kernels.h"

/* ---- between the caller's memory and the copy */

/* The caller's element of this number, by rows. */
static char *element_at(const hr_array *a, int64_t number)
{
    int64_t behind = 0;
    for (uint32_t d = a->extent.rank; d-- > 0;) {
        behind += number % a->extent.size[d] * a->strided.stride_bytes[d];
        number /= a->extent.size[d];
    }
    return a->strided.data + behind;
}

/* Copy bytes lo to before hi of the copy's row that starts at `row`: elements,
 * or parts of them. What the caller has already is not written, since it may be
 * constant. */
static void copy_row(const hr_array *a, int64_t row, int64_t lo, int64_t hi,
                     bool home)
{
    const int64_t bytes = (int64_t)a->element_bytes;
    const int64_t step = a->strided.stride_bytes[a->extent.rank - 1];
    char *packed = (char *)a->stores[HRI_HOST].host + row;
    char *theirs = element_at(a, (row + lo) / bytes);
    for (int64_t at = lo; at < hi; theirs += step) {
        const int64_t inside = at % bytes;
        const size_t count = (size_t)hri_min(bytes - inside, hi - at);
        if (!home) {
            memcpy(packed + at, theirs + inside, count);
        } else if (memcmp(theirs + inside, packed + at, count) != 0) {
            memcpy(theirs + inside, packed + at, count);
        }
        at += (int64_t)count;
    }
}

static void copy_boxes(const hr_array *a, const hri_boxes *boxes, bool home)
{
    for (size_t i = 0; i < boxes->count && a->strided.data != NULL; i++) {
        const hri_box *box = &boxes->of[i];
        for (int64_t z = box->lo[0]; z < box->hi[0]; z++) {
            for (int64_t y = box->lo[1]; y < box->hi[1]; y++) {
                copy_row(a, (z * a->size[1] + y) * a->size[2], box->lo[2],
                         box->hi[2], home);
            }
        }
    }
}

void hri_strided_gather(const hr_array *array, const hri_boxes *boxes)
{
    copy_boxes(array, boxes, false);
}

void hri_strided_scatter(const hr_array *array, const hri_boxes *boxes)
{
    copy_boxes(array, boxes, true);
}

/* ---- making them */

/* Whether the strides are those of rows, as hr_array_wrap takes them. */
static bool are_rows(const hr_extent *extent, size_t element_bytes,
                     const int64_t *stride, size_t *row_bytes)
{
    const uint32_t last = extent->rank - 1;
    uint64_t row = 0, expected = 0;
    int64_t pitch = 0, rows = 1;
    bool good =
        hri_mul((uint64_t)extent->size[last], element_bytes, &row) &&
        row <= INT64_MAX &&
        (extent->size[last] == 1 || stride[last] == (int64_t)element_bytes);
    for (uint32_t d = last; d-- > 0;) {
        if (extent->size[d] > 1 && pitch == 0) {
            pitch = stride[d] / rows;
            good = good && pitch >= (int64_t)row;
        }
        good = good && (extent->size[d] == 1 ||
                        (hri_mul((uint64_t)pitch, (uint64_t)rows, &expected) &&
                         (uint64_t)stride[d] == expected));
        rows *= extent->size[d];
    }
    *row_bytes = (size_t)pitch;
    return good;
}

/* Check that the distance between any two elements is one of 2^62 bytes or
 * less. */
static hr_status check_span(const hr_extent *extent, const int64_t *stride)
{
    const uint64_t most = (uint64_t)1 << 62;
    uint64_t span = 0;
    bool fits = true;
    for (uint32_t d = 0; d < extent->rank; d++) {
        const uint64_t step =
            stride[d] < 0 ? 0 - (uint64_t)stride[d] : (uint64_t)stride[d];
        uint64_t bytes = 0;
        fits = fits && hri_mul(step, (uint64_t)extent->size[d] - 1, &bytes) &&
               hri_add(span, bytes, &span) && span <= most;
    }
    if (!fits) {
        return hri_fail(HR_ERROR_INVALID,
                        "array: the strides take elements more than 2^62 "
                        "bytes apart");
    }
    return HR_OK;
}

/* Give an array without a home the packed copy. */
static hr_status fill_copy(hr_array *a, const void *data, const int64_t *stride)
{
    const hri_box box = hri_array_box(a);
    const hri_boxes all = hri_boxes_of(&box);
    a->home = HRI_HOST;
    a->strided.data = (char *)(uintptr_t)data;
    memcpy(a->strided.stride_bytes, stride, a->extent.rank * sizeof *stride);
    pthread_mutex_lock(&a->context->lock);
    hr_status status = hri_store_hold(a, HRI_HOST, &all);
    if (status == HR_OK) {
        hri_strided_gather(a, &all);
        status = hri_boxes_add(&a->stores[HRI_HOST].valid, &box);
    }
    pthread_mutex_unlock(&a->context->lock);
    return status;
}

hr_status hr_array_wrap_strided(hr_context *context, const void *data,
                                const char *type, size_t element_bytes,
                                hr_extent extent, const int64_t *stride_bytes,
                                hr_array **array)
{
    hr_array *a = NULL;
    size_t row_bytes;
    if (data == NULL || stride_bytes == NULL) {
        return hri_fail(HR_ERROR_INVALID, data == NULL
                                              ? "array: data is NULL"
                                              : "array: the strides are NULL");
    }
    if (hr_extent_count(extent) > 0 &&
        are_rows(&extent, element_bytes, stride_bytes, &row_bytes)) {
        return hr_array_wrap_typed(context, data, type, element_bytes, extent,
                                   row_bytes, array);
    }
    HRI_TRY(hr_array_create_anywhere(context, element_bytes, extent,
                                     array != NULL ? &a : NULL));
    a->type = hri_element_name(type, element_bytes);
    hr_status status = check_span(&extent, stride_bytes);
    if (status == HR_OK) {
        status = fill_copy(a, data, stride_bytes);
    }
    if (status != HR_OK) {
        hr_array_destroy(a);
        return status;
    }
    *array = a;
    return HR_OK;
}
