/* SPDX-License-Identifier: MIT */
/* Host memory for the caller, page-locked where that makes copies faster. */
#include <stdlib.h>

#include "base/arithmetic.h"
#include "base/pages.h"
#include "runtime/runtime.h"

/* device is NULL for ordinary memory. */
typedef struct hri_area {
    struct hri_area *next;
    hri_device *device;
    void *memory;
} hri_area;

/* The device that page-locks memory: the first one with staged copies, or
 * NULL. */
static hri_device *find_device(const hr_context *context)
{
    for (uint32_t i = 0; i < context->accelerator_count; i++) {
        hri_accelerator *a = &context->accelerators[i];
        if (!a->in_place && a->device->info.staged) {
            return a->device;
        }
    }
    return NULL;
}

static hr_status fill_area(hri_area *area, size_t bytes)
{
    if (area->device != NULL) {
        return area->device->ops->allocate_pinned(area->device, bytes,
                                                  &area->memory);
    }
    area->memory = hri_pages(bytes);
    if (area->memory == NULL) {
        return hri_fail(HR_ERROR_OUT_OF_MEMORY,
                        "pinned memory: no %zu bytes of host memory", bytes);
    }
    return HR_OK;
}

hr_status hr_allocate_pinned(hr_context *context, size_t bytes, void **memory)
{
    HRI_USUAL_ARITHMETIC;
    if (context == NULL || memory == NULL) {
        return hri_fail(HR_ERROR_INVALID, "pinned memory: %s is NULL",
                        context == NULL ? "the context" : "memory");
    }
    if (bytes == 0) {
        *memory = NULL;
        return HR_OK;
    }
    hri_area *area = calloc(1, sizeof *area);
    if (area == NULL) {
        return hri_fail(HR_ERROR_OUT_OF_MEMORY, "pinned memory: out of memory");
    }
    pthread_mutex_lock(&context->lock);
    area->device = find_device(context);
    hr_status status = fill_area(area, bytes);
    if (status == HR_OK) {
        area->next = context->areas;
        context->areas = area;
        *memory = area->memory;
    } else {
        free(area);
    }
    pthread_mutex_unlock(&context->lock);
    return status;
}

void hr_free_pinned(hr_context *context, void *memory)
{
    if (context == NULL || memory == NULL) {
        return;
    }
    pthread_mutex_lock(&context->lock);
    hri_area **link = &context->areas;
    while (*link != NULL && (*link)->memory != memory) {
        link = &(*link)->next;
    }
    hri_area *area = *link;
    if (area != NULL) {
        *link = area->next;
        if (area->device != NULL) {
            area->device->ops->release_pinned(area->device, area->memory);
        } else {
            free(area->memory);
        }
        free(area);
    }
    pthread_mutex_unlock(&context->lock);
}

void hri_areas_free(hr_context *context)
{
    while (context->areas != NULL) {
        hr_free_pinned(context, context->areas->memory);
    }
}
