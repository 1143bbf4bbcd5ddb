/* SPDX-License-Identifier: MIT */
#include "support/instant.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hal/backend.h"

long instant_live;

typedef struct instant_device {
    hri_device base; /* first, as in all of these */
    uint32_t index;
} instant_device;

typedef struct instant_buffer {
    hri_buffer base;
    char *memory;
} instant_buffer;

static void *make(size_t bytes)
{
    void *object = calloc(1, bytes);
    instant_live += object != NULL;
    return object;
}

static void discard(void *object)
{
    instant_live -= object != NULL;
    free(object);
}

static hr_status no_memory(void)
{
    return hri_fail(HR_ERROR_OUT_OF_MEMORY, "instant: out of memory");
}

static hr_status unsupported(void)
{
    return hri_fail(HR_ERROR_UNSUPPORTED, "instant: does not multiply");
}

/* ---- events */

static void event_destroy(hri_event *event)
{
    discard(event);
}

static hr_status event_query(hri_event *event, bool *done)
{
    (void)event;
    *done = true;
    return HR_OK;
}

static hr_status event_wait(hri_event *event)
{
    (void)event;
    return HR_OK;
}

static hr_status event_elapsed(hri_event *from, hri_event *to, uint64_t *ns)
{
    (void)from;
    (void)to;
    *ns = 0;
    return HR_OK;
}

static const hri_event_ops event_ops = {
    .destroy = event_destroy,
    .query = event_query,
    .wait = event_wait,
    .elapsed = event_elapsed,
};

/* ---- queues */

static void queue_destroy(hri_queue *queue)
{
    discard(queue);
}

static char *at(const hri_place *place)
{
    char *start = place->buffer != NULL
                      ? ((instant_buffer *)place->buffer)->memory
                      : place->host;
    return start + place->offset;
}

static hr_status queue_copy(hri_queue *queue, const hri_copy *c)
{
    (void)queue;
    for (size_t z = 0; z < c->depth; z++) {
        for (size_t y = 0; y < c->height; y++) {
            memcpy(at(&c->to) + z * c->to_slice + y * c->to_pitch,
                   at(&c->from) + z * c->from_slice + y * c->from_pitch,
                   c->width);
        }
    }
    return HR_OK;
}

static hr_status queue_fill(hri_queue *queue, hri_buffer *buffer, size_t offset,
                            size_t bytes, uint8_t value)
{
    (void)queue;
    memset(((instant_buffer *)buffer)->memory + offset, value, bytes);
    return HR_OK;
}

static hr_status queue_gemm(hri_queue *queue, const hri_gemm *gemm)
{
    (void)queue;
    (void)gemm;
    return unsupported();
}

static hr_status queue_launch(hri_queue *queue, const hri_launch *launch)
{
    (void)queue;
    return hri_fail(HR_ERROR_UNSUPPORTED, "%s does not run here",
                    launch->kernel->name);
}

static hr_status queue_event(hri_queue *queue, hri_event *event)
{
    (void)queue;
    (void)event;
    return HR_OK;
}

static hr_status queue_finish(hri_queue *queue)
{
    (void)queue;
    return HR_OK;
}

static const hri_queue_ops queue_ops = {
    .destroy = queue_destroy,
    .copy = queue_copy,
    .fill = queue_fill,
    .gemm = queue_gemm,
    .pack = hri_no_pack,
    .launch = queue_launch,
    .record = queue_event,
    .wait = queue_event,
    .finish = queue_finish,
    .begin_graph = hri_no_begin_graph,
};

/* ---- devices */

static void device_close(hri_device *device)
{
    discard(device);
}

static hr_status device_allocate(hri_device *device, size_t bytes,
                                 hri_buffer **buffer)
{
    instant_buffer *b = make(sizeof *b);
    char *memory = malloc(bytes);
    if (b == NULL || memory == NULL) {
        discard(b);
        free(memory);
        return no_memory();
    }
    b->base = (hri_buffer){.device = device, .bytes = bytes};
    b->memory = memory;
    *buffer = &b->base;
    return HR_OK;
}

static void device_release(hri_buffer *buffer)
{
    if (buffer != NULL) {
        free(((instant_buffer *)buffer)->memory);
        discard(buffer);
    }
}

static hr_status device_allocate_pinned(hri_device *device, size_t bytes,
                                        void **host)
{
    (void)device;
    *host = make(bytes);
    return *host != NULL ? HR_OK : no_memory();
}

static void device_release_pinned(hri_device *device, void *host)
{
    (void)device;
    discard(host);
}

static bool device_is_pinned(hri_device *device, const void *host, size_t bytes)
{
    (void)device;
    (void)host;
    (void)bytes;
    return true;
}

static hr_status device_create_queue(hri_device *device, bool urgent,
                                     hri_queue **queue)
{
    (void)urgent;
    hri_queue *q = make(sizeof *q);
    if (q == NULL) {
        return no_memory();
    }
    *q = (hri_queue){.ops = &queue_ops, .device = device};
    *queue = q;
    return HR_OK;
}

static hr_status device_create_event(hri_device *device, bool timed,
                                     hri_event **event)
{
    (void)timed;
    hri_event *e = make(sizeof *e);
    if (e == NULL) {
        return no_memory();
    }
    *e = (hri_event){.ops = &event_ops, .device = device};
    *event = e;
    return HR_OK;
}

static bool device_is_peer(hri_device *device, hri_device *other)
{
    return device->backend == other->backend &&
           ((instant_device *)device)->index / 2 ==
               ((instant_device *)other)->index / 2;
}

static bool device_gemm_offered(hri_device *device, hr_type type,
                                hr_type c_type, hr_compute compute)
{
    (void)device;
    (void)type;
    (void)c_type;
    (void)compute;
    return false;
}

static const hri_device_ops device_ops = {
    .close = device_close,
    .check = hri_not_lost,
    .allocate = device_allocate,
    .release = device_release,
    .lend = hri_no_lend,
    .take_back = hri_no_take_back,
    .allocate_pinned = device_allocate_pinned,
    .release_pinned = device_release_pinned,
    .is_pinned = device_is_pinned,
    .create_queue = device_create_queue,
    .create_event = device_create_event,
    .unload = hri_no_unload,
    .destroy_graph = hri_no_destroy_graph,
    .is_peer = device_is_peer,
    .gemm_offered = device_gemm_offered,
    .gemm_variants = hri_one_variant,
};

/* ---- the backend */

static hr_status backend_probe(uint32_t *count)
{
    *count = INSTANT_DEVICES;
    return HR_OK;
}

static hr_status backend_describe(uint32_t index, hri_device_info *info)
{
    *info = (hri_device_info){.memory_bytes = 1 << 30,
                              .free_bytes = 1 << 30,
                              .allocation_bytes = 1 << 30,
                              .compute_units = 1};
    snprintf(info->path, sizeof info->path, "instant:%u", index);
    snprintf(info->name, sizeof info->name, "instant");
    snprintf(info->physical_id, sizeof info->physical_id, "instant:%u", index);
    return HR_OK;
}

static const hri_backend backend;

static hr_status backend_open(uint32_t index, uint32_t threads,
                              hri_device **device)
{
    (void)threads;
    instant_device *d = make(sizeof *d);
    if (d == NULL) {
        return no_memory();
    }
    d->base = (hri_device){.ops = &device_ops, .backend = &backend};
    d->index = index;
    *device = &d->base;
    return backend_describe(index, &d->base.info);
}

static const hri_backend backend = {
    .abi = HRI_HAL_ABI,
    .name = "instant",
    .probe = backend_probe,
    .describe = backend_describe,
    .open = backend_open,
};

const hri_backend *const instant_list[] = {&backend, NULL};
