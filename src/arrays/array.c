/* SPDX-License-Identifier: MIT */
/* Making and freeing arrays. */
#include "arrays/array.h"

#include <stdlib.h>
#include <string.h>

#include "base/pages.h"
#include "base/size.h"
#include "kernels/kernels.h"

hr_extent hr_extent1(int64_t size)
{
    return (hr_extent){1, {size}};
}

hr_extent hr_extent2(int64_t rows, int64_t cols)
{
    return (hr_extent){2, {rows, cols}};
}

hr_extent hr_extent3(int64_t slices, int64_t rows, int64_t cols)
{
    return (hr_extent){3, {slices, rows, cols}};
}

hr_extent hr_extent_of(uint32_t rank, const int64_t *size)
{
    hr_extent extent = {.rank = 0};
    if (rank <= HR_MAX_RANK && size != NULL) {
        extent.rank = rank;
        memcpy(extent.size, size, rank * sizeof *size);
    }
    return extent;
}

int64_t hr_extent_count(hr_extent extent)
{
    uint64_t count = 1;
    if (extent.rank < 1 || extent.rank > HR_MAX_RANK) {
        return 0;
    }
    for (uint32_t i = 0; i < extent.rank; i++) {
        if (extent.size[i] < 1 ||
            !hri_mul(count, (uint64_t)extent.size[i], &count) ||
            count > INT64_MAX) {
            return 0;
        }
    }
    return (int64_t)count;
}

/* ---- making them */

static const uint64_t most_bytes = (uint64_t)1 << 62;

static hr_status check_array(const void *context, size_t element_bytes,
                             const hr_extent *extent, const void *array)
{
    if (context == NULL || array == NULL) {
        return hri_fail(HR_ERROR_INVALID, "array: %s is NULL",
                        context == NULL ? "the context or queue" : "array");
    }
    if (extent->rank < 1 || extent->rank > HR_MAX_RANK) {
        return hri_fail(HR_ERROR_INVALID, "array: the rank is %u, not 1 to %d",
                        extent->rank, HR_MAX_RANK);
    }
    for (uint32_t i = 0; i < extent->rank; i++) {
        if (extent->size[i] < 1) {
            return hri_fail(HR_ERROR_INVALID,
                            "array: dimension %u has size %lld, not 1 or more",
                            i, (long long)extent->size[i]);
        }
    }
    uint64_t count = (uint64_t)hr_extent_count(*extent), bytes = 0;
    if (element_bytes == 0) {
        return hri_fail(HR_ERROR_INVALID,
                        "array: elements of 0 bytes, not 1 or more");
    }
    if (count == 0) { /* it cannot be counted */
        return hri_fail(HR_ERROR_INVALID,
                        "array: 2^63 or more elements, of %zu byte%s each",
                        element_bytes, hri_plural(element_bytes));
    }
    if (!hri_mul(count, element_bytes, &bytes) || bytes > most_bytes) {
        return hri_fail(HR_ERROR_INVALID,
                        "array: %llu element%s of %zu byte%s take more than "
                        "2^62 bytes",
                        (unsigned long long)count, hri_plural(count),
                        element_bytes, hri_plural(element_bytes));
    }
    return HR_OK;
}

/* Whether rows so many bytes apart end within the largest array. */
static bool spans(const hr_array *a, size_t pitch)
{
    uint64_t bytes = pitch;
    return hri_mul(bytes, (uint64_t)a->size[0], &bytes) &&
           hri_mul(bytes, (uint64_t)a->size[1], &bytes) && bytes <= most_bytes;
}

/* Set the distance from row to row in host memory. */
static void set_pitch(hr_array *a, size_t pitch)
{
    a->stores[HRI_HOST].pitch = pitch;
    a->stores[HRI_HOST].slice = pitch * (size_t)a->size[1];
}

/* Make an array with its home on the host. `out` is the caller's pointer to
 * check. */
static hr_status make_array(hr_context *context, size_t element_bytes,
                            hr_extent extent, hr_array *const *out,
                            hr_array **array)
{
    HRI_TRY(check_array(context, element_bytes, &extent, out));
    hr_array *a = calloc(1, sizeof *a);
    hri_store *stores =
        calloc((size_t)context->accelerator_count + 1, sizeof *stores);
    if (a == NULL || stores == NULL) {
        free(a);
        free(stores);
        return hri_fail(HR_ERROR_OUT_OF_MEMORY, "array: out of memory");
    }
    *a = (hr_array){.context = context,
                    .extent = extent,
                    .element_bytes = element_bytes,
                    .size = {1, 1, 1},
                    .home = HRI_HOST,
                    .stores = stores};
    for (uint32_t i = 0; i < extent.rank; i++) { /* leading ones: slices */
        const uint32_t behind = extent.rank - 1 - i;
        a->size[behind < HRI_DIMENSIONS ? HRI_DIMENSIONS - 1 - behind : 0] *=
            extent.size[i];
    }
    a->size[HRI_DIMENSIONS - 1] *= (int64_t)element_bytes;
    set_pitch(a, (size_t)a->size[HRI_DIMENSIONS - 1]);
    *array = a;
    return HR_OK;
}

/* Give the array to the caller, unless something failed. */
static hr_status give_array(hr_status status, hr_array *a, hr_array **array)
{
    if (status != HR_OK) {
        hr_array_destroy(a);
    } else {
        *array = a;
    }
    return status;
}

hr_status hr_array_create(hr_queue *queue, size_t element_bytes,
                          hr_extent extent, hr_array **array)
{
    hr_array *a = NULL;
    HRI_TRY(make_array(queue != NULL ? queue->context : NULL, element_bytes,
                       extent, array, &a));
    const hri_box box = hri_array_box(a);
    hri_boxes all = hri_boxes_of(&box);
    all.linear = true;
    a->home = hri_place_of(queue->context, queue->accelerator);
    pthread_mutex_lock(&a->context->lock);
    const hr_status status = hri_store_hold(a, a->home, &all);
    pthread_mutex_unlock(&a->context->lock);
    return give_array(status, a, array);
}

hr_status hr_array_create_staging(hr_queue *queue, size_t element_bytes,
                                  hr_extent extent, hr_array **array)
{
    hr_array *a = NULL;
    HRI_TRY(make_array(queue != NULL ? queue->context : NULL, element_bytes,
                       extent, array, &a));
    hri_device *device = queue->accelerator->device;
    a->memory = HRI_MEMORY_PINNED;
    a->pinned_by = device;
    const hr_status status = device->ops->allocate_pinned(
        device, hri_array_bytes(a), &a->stores[HRI_HOST].host);
    return give_array(status, a, array);
}

hr_status(hr_array_wrap)(hr_context *context, const void *data,
                         size_t element_bytes, hr_extent extent,
                         size_t row_bytes, hr_array **array)
{
    return hr_array_wrap_typed(context, data, NULL, element_bytes, extent,
                               row_bytes, array);
}

/* Make the caller's memory the host memory of an array. */
static hr_status wrap_memory(hr_array *a, const void *data, const char *type,
                             size_t row_bytes)
{
    const hri_box box = hri_array_box(a);
    if (data == NULL) {
        return hri_fail(HR_ERROR_INVALID, "array: data is NULL");
    }
    if (row_bytes != 0 && row_bytes < (size_t)a->size[2]) {
        return hri_fail(HR_ERROR_INVALID,
                        "array: a row is %zu byte%s, but rows are %zu apart",
                        (size_t)a->size[2], hri_plural((uint64_t)a->size[2]),
                        row_bytes);
    }
    if (!spans(a, row_bytes)) {
        return hri_fail(HR_ERROR_INVALID,
                        "array: rows that are %zu bytes apart take more than "
                        "2^62 bytes",
                        row_bytes);
    }
    a->stores[HRI_HOST].host = (void *)(uintptr_t)data;
    a->memory = HRI_MEMORY_BORROWED;
    a->type = hri_element_name(type, a->element_bytes);
    if (row_bytes != 0) {
        set_pitch(a, row_bytes);
    }
    return hri_boxes_add(&a->stores[HRI_HOST].valid, &box);
}

hr_status hr_array_wrap_typed(hr_context *context, const void *data,
                              const char *type, size_t element_bytes,
                              hr_extent extent, size_t row_bytes,
                              hr_array **array)
{
    hr_array *a = NULL;
    HRI_TRY(make_array(context, element_bytes, extent, array, &a));
    return give_array(wrap_memory(a, data, type, row_bytes), a, array);
}

hr_status hr_array_create_anywhere(hr_context *context, size_t element_bytes,
                                   hr_extent extent, hr_array **array)
{
    hr_array *a = NULL;
    HRI_TRY(make_array(context, element_bytes, extent, array, &a));
    a->home = HRI_NOWHERE;
    *array = a;
    return HR_OK;
}

hr_status hri_array_create_results(hr_context *context, size_t element_bytes,
                                   hr_extent extent, hr_array **array)
{
    hr_array *a = NULL;
    HRI_TRY(hr_array_create_anywhere(context, element_bytes, extent, &a));
    const hri_box box = hri_array_box(a);
    const hri_boxes all = hri_boxes_of(&box);
    pthread_mutex_lock(&context->lock);
    const hr_status status = hri_store_hold(a, HRI_HOST, &all);
    pthread_mutex_unlock(&context->lock);
    a->results = a->memory == HRI_MEMORY_SMALL;
    return give_array(status, a, array);
}

/* ---- freeing them */

static void destroy_array(void *data)
{
    hr_array *array = data;
    hr_context *context = array->context;
    const hri_box box = hri_array_box(array);
    const hri_boxes all = hri_boxes_of(&box);
    hri_fences fences = {0};
    const int places = 1 + (int)context->accelerator_count;
    pthread_mutex_lock(&context->lock);
    bool listed =
        hri_uses_collect(array, HRI_NOWHERE, &all, false, &fences) == HR_OK;
    if (listed) { /* other threads may use the context meanwhile */
        pthread_mutex_unlock(&context->lock);
        (void)hri_fences_wait(&fences);
        pthread_mutex_lock(&context->lock);
    }
    hri_fences_finish(&fences);
    void *host = array->stores[HRI_HOST].host;
    for (int p = 0; p < places; p++) {
        for (size_t i = 0; i < array->stores[p].use_count && !listed; i++) {
            (void)hri_fence_record(array->stores[p].uses[i].fence);
            (void)hri_fence_wait(array->stores[p].uses[i].fence);
        }
        hri_store_release(array, p);
    }
    pthread_mutex_unlock(&context->lock);
    if (array->memory == HRI_MEMORY_PAGES) {
        hri_scattered_free(host);
    } else if (array->memory == HRI_MEMORY_PINNED) {
        array->pinned_by->ops->release_pinned(array->pinned_by, host);
    } else if (array->memory == HRI_MEMORY_SMALL) {
        hri_accelerator_release_pinned(array->lender, host);
    }
    free(array->stores);
    free(array);
}

void hr_array_destroy(hr_array *array)
{
    if (array != NULL) {
        hri_keep_message(destroy_array, array);
    }
}

/* ---- asking them */

hr_extent hr_array_extent(const hr_array *array)
{
    return array->extent;
}

size_t hr_array_element_bytes(const hr_array *array)
{
    return array->element_bytes;
}

void *hr_array_data(const hr_array *array)
{
    pthread_mutex_lock(&array->context->lock);
    void *data = array->strided.data != NULL ? array->strided.data
                                             : array->stores[HRI_HOST].host;
    pthread_mutex_unlock(&array->context->lock);
    return data;
}

hr_traffic hr_context_traffic(hr_context *context)
{
    hr_traffic traffic = {0};
    if (context != NULL) {
        pthread_mutex_lock(&context->lock);
        traffic = context->moved;
        pthread_mutex_unlock(&context->lock);
    }
    return traffic;
}
