/* SPDX-License-Identifier: MIT */
/* Memory of accelerators: allocation under a limit, with a cache. Allocating
 * and page-locking take longer than many a product. And host memory for the
 * caller, page-locked where that makes copies faster. */
#include <stdlib.h>

#include "base/arithmetic.h"
#include "base/pages.h"
#include "hal/backend.h"
#include "runtime/runtime.h"

enum {
    MIN_SMALL = 8 << 10,  /* bytes of the least small area */
    SMALL_LIMIT = 4 << 20 /* of all of them together */
};

typedef enum block_kind {
    BUFFER,
    PINNED, /* an area of pinned memory for an engine */
    SMALL,  /* one for an array's few bytes on the host */
    KINDS
} block_kind;

/* The list of the accelerator starts with the block that was released last. */
struct hri_block {
    hri_block *next;
    block_kind kind;
    hri_buffer *buffer; /* NULL: it is no buffer */
    void *host;         /* NULL: it is one */
    uint64_t bytes;
    bool used; /* false: it is in the cache */
};

static uint64_t *used_bytes(hri_accelerator *accelerator, block_kind kind)
{
    uint64_t *const used[KINDS] = {&accelerator->memory_used,
                                   &accelerator->pinned_used,
                                   &accelerator->small_used};
    return used[kind];
}

/* Unlink *link from the list and give its memory back to the device. The lock
 * is held, and released for the device's call. */
static void free_block(hri_accelerator *accelerator, hri_block **link)
{
    hri_block *block = *link;
    hri_device *device = accelerator->device;
    *link = block->next;
    *used_bytes(accelerator, block->kind) -= block->bytes;
    pthread_mutex_unlock(&accelerator->memory_lock);
    if (block->buffer != NULL) {
        device->ops->release(block->buffer);
    } else {
        device->ops->release_pinned(device, block->host);
    }
    free(block);
    pthread_mutex_lock(&accelerator->memory_lock);
}

/* The cached block of this kind that was released longest ago, or NULL. */
static hri_block **oldest_cached(hri_accelerator *accelerator, block_kind kind)
{
    hri_block **oldest = NULL;
    for (hri_block **link = &accelerator->blocks; *link != NULL;
         link = &(*link)->next) {
        if (!(*link)->used && (*link)->kind == kind) {
            oldest = link;
        }
    }
    return oldest;
}

/* Free every cached block. False: there was none. The lock is held. */
static bool trim(hri_accelerator *accelerator)
{
    hri_block **link;
    bool any = false;
    for (int i = 0; i < KINDS; i++) {
        while ((link = oldest_cached(accelerator, (block_kind)i)) != NULL) {
            free_block(accelerator, link);
            any = true;
        }
    }
    return any;
}

void hri_accelerator_trim(hri_accelerator *accelerator)
{
    pthread_mutex_lock(&accelerator->memory_lock);
    (void)trim(accelerator);
    pthread_mutex_unlock(&accelerator->memory_lock);
}

void hri_memory_init(hri_accelerator *accelerator)
{
    pthread_mutex_init(&accelerator->memory_lock, NULL);
}

void hri_memory_finish(hri_accelerator *accelerator)
{
    pthread_mutex_lock(&accelerator->memory_lock);
    while (accelerator->blocks != NULL) {
        free_block(accelerator, &accelerator->blocks);
    }
    pthread_mutex_unlock(&accelerator->memory_lock);
    pthread_mutex_destroy(&accelerator->memory_lock);
}

/* The lock is held. */
static uint64_t held_bytes(const hri_accelerator *accelerator)
{
    uint64_t held = 0;
    for (const hri_block *b = accelerator->blocks; b != NULL; b = b->next) {
        held += b->used && b->kind == BUFFER ? b->bytes : 0;
    }
    return held;
}

uint64_t hri_accelerator_held(hri_accelerator *accelerator)
{
    pthread_mutex_lock(&accelerator->memory_lock);
    const uint64_t held = held_bytes(accelerator);
    pthread_mutex_unlock(&accelerator->memory_lock);
    return held;
}

static uint64_t limit_of(const hri_accelerator *accelerator)
{
    return accelerator->call_limit > 0 ? accelerator->call_limit
                                       : accelerator->memory_limit;
}

void hri_accelerator_limit(hri_accelerator *accelerator, uint64_t bytes)
{
    pthread_mutex_lock(&accelerator->memory_lock);
    accelerator->call_limit = bytes;
    pthread_mutex_unlock(&accelerator->memory_lock);
}

void hri_accelerator_trim_to_limit(hri_accelerator *accelerator)
{
    const uint64_t own = accelerator->device->info.gemm_bytes;
    pthread_mutex_lock(&accelerator->memory_lock);
    if (accelerator->memory_used + own > limit_of(accelerator)) {
        (void)trim(accelerator);
    }
    pthread_mutex_unlock(&accelerator->memory_lock);
}

/* The lock is held. */
static uint64_t room_of(const hri_accelerator *accelerator)
{
    const uint64_t used =
        accelerator->device->info.gemm_bytes + held_bytes(accelerator);
    const uint64_t limit = limit_of(accelerator);
    return limit > used ? limit - used : 0;
}

uint64_t hri_accelerator_room(hri_accelerator *accelerator)
{
    pthread_mutex_lock(&accelerator->memory_lock);
    const uint64_t room = room_of(accelerator);
    pthread_mutex_unlock(&accelerator->memory_lock);
    return room;
}

/* Take a cached block of exactly this size; NULL when there is none. */
static hri_block *reuse(hri_accelerator *accelerator, uint64_t bytes,
                        block_kind kind)
{
    for (hri_block *b = accelerator->blocks; b != NULL; b = b->next) {
        if (!b->used && b->bytes == bytes && b->kind == kind) {
            b->used = true;
            return b;
        }
    }
    return NULL;
}

static hr_status ask_device(hri_accelerator *accelerator, uint64_t bytes,
                            hri_block *block)
{
    hri_device *device = accelerator->device;
    return block->kind == BUFFER
               ? device->ops->allocate(device, bytes, &block->buffer)
               : device->ops->allocate_pinned(device, bytes, &block->host);
}

/* Get a new block from the device. If the device is out of memory, free the
 * cache and try once more. The lock is held, and released for the device's
 * calls: they may take long. The bytes count before that. */
static hr_status make_block(hri_accelerator *accelerator, uint64_t bytes,
                            block_kind kind, hri_block **out)
{
    hri_block *block = calloc(1, sizeof *block);
    if (block == NULL) {
        return hri_no_memory(accelerator->path);
    }
    block->kind = kind;
    *used_bytes(accelerator, kind) += bytes;
    pthread_mutex_unlock(&accelerator->memory_lock);
    hr_status status = ask_device(accelerator, bytes, block);
    pthread_mutex_lock(&accelerator->memory_lock);
    if (status == HR_ERROR_OUT_OF_MEMORY && trim(accelerator)) {
        pthread_mutex_unlock(&accelerator->memory_lock);
        status = ask_device(accelerator, bytes, block);
        pthread_mutex_lock(&accelerator->memory_lock);
    }
    if (status != HR_OK) {
        *used_bytes(accelerator, kind) -= bytes;
        free(block);
        return status;
    }
    block->bytes = bytes;
    block->used = true;
    block->next = accelerator->blocks;
    accelerator->blocks = block;
    accelerator->allocations++;
    if (accelerator->memory_used > accelerator->memory_peak) {
        accelerator->memory_peak = accelerator->memory_used;
    }
    *out = block;
    return HR_OK;
}

/* Check that the limits allow the block after the cache is freed. */
static hr_status check_fits(const hri_accelerator *accelerator, uint64_t bytes)
{
    uint64_t room = room_of(accelerator);
    uint64_t largest = accelerator->device->info.allocation_bytes;
    if (bytes == 0 || bytes > SIZE_MAX) {
        return hri_fail(HR_ERROR_INVALID, "%s: a buffer cannot have %llu bytes",
                        accelerator->path, (unsigned long long)bytes);
    }
    if (bytes > room) {
        return hri_fail(HR_ERROR_OUT_OF_MEMORY,
                        "%s: a buffer of %llu byte%s does not fit into the "
                        "%llu left of the limit of %llu byte%s",
                        accelerator->path, (unsigned long long)bytes,
                        hri_plural(bytes), (unsigned long long)room,
                        (unsigned long long)limit_of(accelerator),
                        hri_plural(limit_of(accelerator)));
    }
    if (bytes > largest) {
        return hri_fail(HR_ERROR_OUT_OF_MEMORY,
                        "%s: a buffer of %llu bytes is more than the device's "
                        "largest of %llu bytes",
                        accelerator->path, (unsigned long long)bytes,
                        (unsigned long long)largest);
    }
    return HR_OK;
}

/* A cached block of exactly this size, else a new one. The lock is held. Cached
 * blocks of its kind are freed first, oldest first. Buffers and small areas are
 * freed until the limit allows the new one. Other pinned areas have no limit,
 * so all are freed: the cache holds what the last run needed. */
static hr_status obtain(hri_accelerator *accelerator, uint64_t bytes,
                        block_kind kind, hri_block **block)
{
    hri_block **oldest;
    uint64_t most = kind == SMALL ? SMALL_LIMIT - bytes : 0; /* bytes that may
                                                       exist beside it */
    *block = reuse(accelerator, bytes, kind);
    if (*block != NULL) {
        return HR_OK;
    }
    if (kind == BUFFER) {
        HRI_TRY(check_fits(accelerator, bytes));
        most = limit_of(accelerator) - accelerator->device->info.gemm_bytes -
               bytes;
    }
    while (*used_bytes(accelerator, kind) > most &&
           (oldest = oldest_cached(accelerator, kind)) != NULL) {
        free_block(accelerator, oldest);
    }
    if (kind == SMALL && accelerator->small_used > most) {
        return hri_fail(HR_ERROR_OUT_OF_MEMORY,
                        "%s: arrays have all of its small pinned areas",
                        accelerator->path);
    }
    return make_block(accelerator, bytes, kind, block);
}

hr_status hri_accelerator_allocate(hri_accelerator *accelerator, uint64_t bytes,
                                   hri_buffer **buffer)
{
    hri_block *block;
    pthread_mutex_lock(&accelerator->memory_lock);
    hr_status status = obtain(accelerator, bytes, BUFFER, &block);
    pthread_mutex_unlock(&accelerator->memory_lock);
    if (status == HR_OK) {
        *buffer = block->buffer;
    }
    return status;
}

hr_status hri_accelerator_allocate_pinned(hri_accelerator *accelerator,
                                          uint64_t bytes, void **host)
{
    hri_block *block;
    if (bytes == 0 || bytes > SIZE_MAX) {
        return hri_fail(HR_ERROR_INVALID,
                        "%s: pinned memory cannot have %llu bytes",
                        accelerator->path, (unsigned long long)bytes);
    }
    pthread_mutex_lock(&accelerator->memory_lock);
    hr_status status = obtain(accelerator, bytes, PINNED, &block);
    pthread_mutex_unlock(&accelerator->memory_lock);
    if (status == HR_OK) {
        *host = block->host;
    }
    return status;
}

/* True: the block is this buffer, or has this byte of host memory. */
static bool is_of(const hri_block *block, const hri_buffer *buffer,
                  const void *host)
{
    const uintptr_t at = (uintptr_t)host, start = (uintptr_t)block->host;
    return block->kind == BUFFER ? block->buffer == buffer
                                 : at >= start && at - start < block->bytes;
}

/* Put the used block with this buffer or area into the cache. Nothing is done
 * where both are NULL. */
static void release(hri_accelerator *accelerator, const hri_buffer *buffer,
                    const void *host)
{
    pthread_mutex_lock(&accelerator->memory_lock);
    for (hri_block **link = &accelerator->blocks; *link != NULL;
         link = &(*link)->next) {
        hri_block *block = *link;
        if (block->used && is_of(block, buffer, host)) {
            block->used = false;
            *link = block->next;
            block->next = accelerator->blocks;
            accelerator->blocks = block;
            break;
        }
    }
    pthread_mutex_unlock(&accelerator->memory_lock);
}

void hri_accelerator_release(hri_accelerator *accelerator, hri_buffer *buffer)
{
    release(accelerator, buffer, NULL);
}

void hri_accelerator_release_pinned(hri_accelerator *accelerator, void *host)
{
    release(accelerator, NULL, host);
}

/* ---- small areas */

void *hri_accelerator_take_small(hri_accelerator *accelerator, size_t bytes)
{
    hri_block *block = NULL;
    uint64_t size = MIN_SMALL;
    if (accelerator->in_place || !accelerator->device->info.staged ||
        accelerator->device->info.emulated || bytes > HRI_SMALL_BYTES) {
        return NULL;
    }
    while (size < bytes + HRI_SCATTER_BYTES) { /* few sizes, to be used again */
        size *= 2;
    }
    pthread_mutex_lock(&accelerator->memory_lock);
    hr_status status = obtain(accelerator, size, SMALL, &block);
    pthread_mutex_unlock(&accelerator->memory_lock);
    return status == HR_OK ? (char *)block->host + hri_scatter() : NULL;
}

/* ---- host memory for the caller */

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
