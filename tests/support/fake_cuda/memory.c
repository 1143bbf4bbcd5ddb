/* SPDX-License-Identifier: MIT */
/* The fake driver's memory: device memory, and host memory where it is pinned.
 * Copies must lie inside. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "driver.h"

typedef struct area {
    struct area *next;
    cu_context context; /* NULL: memory of the caller's that is registered */
    char *start;
    size_t bytes;
    bool own; /* of cuMemHostAlloc */
} area;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of areas, used */
static area *areas;

static area *find_area(const void *at)
{
    area *a = areas;
    while (a != NULL && ((const char *)at < a->start ||
                         (const char *)at >= a->start + a->bytes)) {
        a = a->next;
    }
    return a;
}

/* Whether the current context reaches all these bytes of device memory. */
static bool can_reach(cu_address address, size_t bytes)
{
    const char *start = (const char *)(uintptr_t)address;
    pthread_mutex_lock(&lock);
    const area *a = find_area(start);
    bool inside = a != NULL && a->context != NULL &&
                  bytes <= (size_t)(a->start + a->bytes - start);
    bool ours = inside && (a->context == fake_current() ||
                           (fake_current()->peers >> a->context->device) & 1);
    pthread_mutex_unlock(&lock);
    return ours;
}

/* Memory of a context, or when that is NULL of the caller at *start. */
static cu_result add_area(cu_context context, size_t bytes, void **start)
{
    const uint64_t limit = fake_cuda_get()->memory_bytes;
    cu_result error = CU_OUT_OF_MEMORY;
    pthread_mutex_lock(&lock);
    const uint64_t used = context != NULL ? context->used : 0;
    if (bytes > limit || used + bytes > limit) {
        goto done;
    }
    area *a = malloc(sizeof *a);
    void *memory = context == NULL
                       ? *start
                       : aligned_alloc(256, (bytes + 255) / 256 * 256);
    if (a == NULL || memory == NULL) {
        free(a);
        goto done;
    }
    *a = (area){areas, context, memory, bytes, false};
    areas = a;
    *start = memory;
    if (context != NULL) {
        context->used += bytes;
    }
    fake_cuda_get()->objects++;
    error = CU_SUCCESS;
done:
    pthread_mutex_unlock(&lock);
    return error;
}

static cu_result remove_area(void *start)
{
    cu_result error = CU_INVALID_VALUE;
    pthread_mutex_lock(&lock);
    area **link = &areas;
    while (*link != NULL && (*link)->start != start) {
        link = &(*link)->next;
    }
    if (*link != NULL) {
        area *a = *link;
        *link = a->next;
        if (a->context != NULL) {
            a->context->used -= a->bytes;
            free(a->start);
        }
        free(a);
        fake_cuda_get()->objects--;
        error = CU_SUCCESS;
    }
    pthread_mutex_unlock(&lock);
    return error;
}

cu_result cuMemGetInfo_v2(size_t *free_bytes, size_t *total)
{
    HRI_TRY(fake_enter_context("cuMemGetInfo"));
    *total = fake_cuda_get()->memory_bytes;
    *free_bytes = fake_cuda_get()->memory_bytes - fake_current()->used;
    return CU_SUCCESS;
}

cu_result cuMemAlloc_v2(cu_address *address, size_t bytes)
{
    void *memory = NULL;
    HRI_TRY(fake_enter_context("cuMemAlloc"));
    const cu_result error = add_area(fake_current(), bytes, &memory);
    *address = (cu_address)(uintptr_t)memory;
    return error;
}

cu_result cuMemFree_v2(cu_address address)
{
    fake_cuda_get()->calls++;
    return remove_area((void *)(uintptr_t)address);
}

cu_result cuMemHostRegister_v2(void *host, size_t bytes, unsigned flags)
{
    HRI_TRY(fake_enter_context("cuMemHostRegister"));
    return flags == CU_HOST_PORTABLE ? add_area(NULL, bytes, &host)
                                     : CU_INVALID_VALUE;
}

/* Whether it is what cuMemHostAlloc gave. */
static bool is_own(const void *host)
{
    pthread_mutex_lock(&lock);
    const area *a = find_area(host);
    bool own = a != NULL && a->own;
    pthread_mutex_unlock(&lock);
    return own;
}

cu_result cuMemHostUnregister(void *host)
{
    fake_cuda_get()->calls++;
    return is_own(host) ? CU_INVALID_VALUE : remove_area(host);
}

cu_result cuMemHostAlloc(void **host, size_t bytes, unsigned flags)
{
    void *memory = bytes <= fake_cuda_get()->memory_bytes
                       ? aligned_alloc(256, (bytes + 255) / 256 * 256)
                       : NULL;
    cu_result error = memory == NULL
                          ? CU_OUT_OF_MEMORY
                          : cuMemHostRegister_v2(memory, bytes, flags);
    if (error != CU_SUCCESS) {
        free(memory);
        return error;
    }
    pthread_mutex_lock(&lock);
    find_area(memory)->own = true;
    pthread_mutex_unlock(&lock);
    *host = memory;
    return CU_SUCCESS;
}

cu_result cuMemFreeHost(void *host)
{
    fake_cuda_get()->calls++;
    HRI_TRY(remove_area(host));
    free(host);
    return CU_SUCCESS;
}

cu_result cuPointerGetAttribute(void *value, int attribute, cu_address address)
{
    HRI_TRY(fake_enter_context("cuPointerGetAttribute"));
    pthread_mutex_lock(&lock);
    const area *a = find_area((const void *)(uintptr_t)address);
    const bool known = a != NULL && attribute == 2;
    if (known) {
        *(unsigned *)value =
            a->context == NULL ? CU_MEMORY_HOST : CU_MEMORY_DEVICE;
    }
    pthread_mutex_unlock(&lock);
    return known ? CU_SUCCESS : CU_INVALID_VALUE;
}

typedef struct row {
    void *to;
    const void *from;
    size_t bytes;
} row;

static void run_row(const void *arguments)
{
    const row *r = arguments;
    memcpy(r->to, r->from, r->bytes);
}

static cu_result copy_row(cu_stream stream, void *to, const void *from,
                          size_t bytes)
{
    const row r = {to, from, bytes};
    return fake_do(stream, run_row, &r, sizeof r);
}

cu_result cuMemcpyHtoDAsync_v2(cu_address to, const void *from, size_t bytes,
                               cu_stream stream)
{
    HRI_TRY(fake_enter_stream("cuMemcpyHtoDAsync", stream));
    return can_reach(to, bytes)
               ? copy_row(stream, (void *)(uintptr_t)to, from, bytes)
               : CU_INVALID_VALUE;
}

cu_result cuMemcpyDtoHAsync_v2(void *to, cu_address from, size_t bytes,
                               cu_stream stream)
{
    HRI_TRY(fake_enter_stream("cuMemcpyDtoHAsync", stream));
    return can_reach(from, bytes)
               ? copy_row(stream, to, (const void *)(uintptr_t)from, bytes)
               : CU_INVALID_VALUE;
}

static cu_result copy_between(const char *name, cu_address to, cu_address from,
                              size_t bytes, cu_stream stream)
{
    HRI_TRY(fake_enter_stream(name, stream));
    return can_reach(to, bytes) && can_reach(from, bytes)
               ? copy_row(stream, (void *)(uintptr_t)to,
                          (const void *)(uintptr_t)from, bytes)
               : CU_INVALID_VALUE;
}

cu_result cuMemcpyDtoDAsync_v2(cu_address to, cu_address from, size_t bytes,
                               cu_stream stream)
{
    return copy_between("cuMemcpyDtoDAsync", to, from, bytes, stream);
}

cu_result cuMemcpyPeerAsync(cu_address to, cu_context to_context,
                            cu_address from, cu_context from_context,
                            size_t bytes, cu_stream stream)
{
    return to_context == from_context
               ? CU_INVALID_VALUE
               : copy_between("cuMemcpyPeerAsync", to, from, bytes, stream);
}

static char *start_of(const cu_end_3d *end)
{
    return end->memory == CU_MEMORY_HOST ? end->host
                                         : (char *)(uintptr_t)end->device;
}

static bool is_good(const cu_copy_3d *c, const cu_end_3d *end)
{
    size_t most = 300;
    size_t reach =
        ((c->depth - 1) * end->height + c->height - 1) * end->pitch + c->width;
    return end->pitch >= c->width && end->pitch <= most &&
           (c->depth == 1 || end->height >= c->height) && end->x == 0 &&
           end->y == 0 && end->z == 0 && end->level == 0 &&
           end->array == NULL &&
           (end->memory == CU_MEMORY_HOST || can_reach(end->device, reach));
}

static void run_box(const void *arguments)
{
    const cu_copy_3d *c = arguments;
    for (size_t z = 0; z < c->depth; z++) {
        for (size_t y = 0; y < c->height; y++) {
            memcpy(start_of(&c->to) + (z * c->to.height + y) * c->to.pitch,
                   start_of(&c->from) +
                       (z * c->from.height + y) * c->from.pitch,
                   c->width);
        }
    }
}

static cu_result copy_box(cu_stream stream, const cu_copy_3d *c)
{
    return is_good(c, &c->from) && is_good(c, &c->to)
               ? fake_do(stream, run_box, c, sizeof *c)
               : CU_INVALID_VALUE;
}

static cu_end_3d end_of_2d(const cu_end_2d *end)
{
    return (cu_end_3d){.x = end->x,
                       .y = end->y,
                       .memory = end->memory,
                       .host = end->host,
                       .device = end->device,
                       .array = end->array,
                       .pitch = end->pitch};
}

cu_result cuMemcpy2DAsync_v2(const cu_copy_2d *copy, cu_stream stream)
{
    HRI_TRY(fake_enter_stream("cuMemcpy2DAsync", stream));
    const cu_copy_3d box = {end_of_2d(&copy->from), end_of_2d(&copy->to),
                            copy->width, copy->height, 1};
    return copy_box(stream, &box);
}

cu_result cuMemcpy3DAsync_v2(const cu_copy_3d *copy, cu_stream stream)
{
    HRI_TRY(fake_enter_stream("cuMemcpy3DAsync", stream));
    return copy->from.context == NULL && copy->to.context == NULL
               ? copy_box(stream, copy)
               : CU_INVALID_VALUE;
}

cu_result cuMemcpy3DPeerAsync(const cu_copy_3d *copy, cu_stream stream)
{
    HRI_TRY(fake_enter_stream("cuMemcpy3DPeerAsync", stream));
    return copy->from.context != NULL && copy->to.context != NULL
               ? copy_box(stream, copy)
               : CU_INVALID_VALUE;
}

typedef struct rows {
    char *to;
    unsigned char value;
    size_t pitch, width, height;
} rows;

static void run_rows(const void *arguments)
{
    const rows *r = arguments;
    for (size_t y = 0; y < r->height; y++) {
        memset(r->to + y * r->pitch, r->value, r->width);
    }
}

cu_result cuMemsetD2D8Async(cu_address to, size_t pitch, unsigned char value,
                            size_t width, size_t height, cu_stream stream)
{
    const rows r = {(char *)(uintptr_t)to, value, pitch, width, height};
    HRI_TRY(fake_enter_stream("cuMemsetD2D8Async", stream));
    return pitch >= width && can_reach(to, (height - 1) * pitch + width)
               ? fake_do(stream, run_rows, &r, sizeof r)
               : CU_INVALID_VALUE;
}

cu_result cuMemsetD8Async(cu_address to, unsigned char value, size_t bytes,
                          cu_stream stream)
{
    return cuMemsetD2D8Async(to, bytes, value, bytes, 1, stream);
}
