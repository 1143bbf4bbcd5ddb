/* SPDX-License-Identifier: MIT */
#include "support/fake.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hal/backend.h"
#include "runtime/runtime.h"
#include "test.h"

fake_world fake;

typedef struct fake_device {
    hri_device base; /* first, as in all of these */
    fake_device_state *figures;
    uint64_t clock_ns;
} fake_device;

typedef struct fake_buffer {
    hri_buffer base;
    char *memory; /* NULL: what is copied is forgotten */
} fake_buffer;

typedef struct fake_event {
    hri_event base;
    uint64_t time_ns;
} fake_event;

static fake_device_state *figures_of(const hri_device *device)
{
    return ((const fake_device *)device)->figures;
}

/* Count a call that may fail, and fail when it is its turn. */
static hr_status count_call(void)
{
    fake.calls++;
    return fake.calls == fake.fail_call
               ? hri_fail(fake.fail_with, "fake: call %ld fails", fake.calls)
               : HR_OK;
}

/* A zeroed object; NULL when memory runs out. */
static void *make_object(size_t bytes)
{
    void *object = calloc(1, bytes);
    fake.live += object != NULL;
    return object;
}

static void free_object(void *object)
{
    fake.live -= object != NULL;
    free(object);
}

static hr_status no_memory(void)
{
    return hri_fail(HR_ERROR_OUT_OF_MEMORY, "fake: out of memory");
}

static void event_destroy(hri_event *event)
{
    free_object(event);
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
    return count_call();
}

static hr_status event_elapsed(hri_event *from, hri_event *to, uint64_t *ns)
{
    *ns = ((fake_event *)to)->time_ns - ((fake_event *)from)->time_ns;
    return count_call();
}

static const hri_event_ops event_ops = {
    .destroy = event_destroy,
    .query = event_query,
    .wait = event_wait,
    .elapsed = event_elapsed,
};

/* So much work at so much a second goes by on the clock; 0: at once. */
static void advance_clock(hri_queue *queue, double work, double rate)
{
    const double seconds = rate > 0 ? work / rate : 0;
    ((fake_device *)queue->device)->clock_ns += (uint64_t)(seconds * 1e9 + 0.5);
}

/* NULL in a buffer that forgets. */
static char *address_of(const hri_place *place)
{
    char *start = place->buffer != NULL
                      ? ((const fake_buffer *)place->buffer)->memory
                      : place->host;
    return start != NULL ? start + place->offset : NULL;
}

static void queue_destroy(hri_queue *queue)
{
    free_object(queue);
}

static hr_status queue_copy(hri_queue *queue, const hri_copy *c)
{
    char *to = address_of(&c->to), *from = address_of(&c->from);
    for (size_t z = 0; to != NULL && from != NULL && z < c->depth; z++) {
        for (size_t y = 0; y < c->height; y++) {
            memcpy(to + z * c->to_slice + y * c->to_pitch,
                   from + z * c->from_slice + y * c->from_pitch, c->width);
        }
    }
    advance_clock(queue, (double)c->width * (double)c->height,
                  figures_of(queue->device)->link);
    return count_call();
}

static hr_status queue_fill(hri_queue *queue, hri_buffer *buffer, size_t offset,
                            size_t bytes, uint8_t value)
{
    const hri_place place = hri_at(buffer, offset);
    (void)queue;
    if (address_of(&place) != NULL) {
        memset(address_of(&place), value, bytes);
    }
    return count_call();
}

static hr_status queue_gemm(hri_queue *queue, const hri_gemm *gemm)
{
    fake_device_state *state = figures_of(queue->device);
    double flops = 2.0 * (double)gemm->m * (double)gemm->n * (double)gemm->k;
    double slower = state->variant == state->fastest ? 1.0 : 2.0;
    state->gemms++;
    if (state->broken != 0 && state->variant == state->broken) {
        return hri_fail(HR_ERROR_BUILD, "fake: variant %u does not compile",
                        state->variant);
    }
    advance_clock(queue, slower * flops, state->flops);
    return count_call();
}

static hr_status queue_record(hri_queue *queue, hri_event *event)
{
    ((fake_event *)event)->time_ns = ((fake_device *)queue->device)->clock_ns;
    return count_call();
}

static hr_status queue_wait(hri_queue *queue, hri_event *event)
{
    (void)queue, (void)event;
    return count_call();
}

static hr_status queue_finish(hri_queue *queue)
{
    (void)queue;
    return count_call();
}

static const hri_queue_ops queue_ops = {
    .destroy = queue_destroy,
    .copy = queue_copy,
    .fill = queue_fill,
    .gemm = queue_gemm,
    .record = queue_record,
    .wait = queue_wait,
    .finish = queue_finish,
    .begin_graph = hri_no_begin_graph,
};

static void device_close(hri_device *device)
{
    free_object(device);
}

static hr_status device_allocate(hri_device *device, size_t bytes,
                                 hri_buffer **out)
{
    fake_device_state *figures = figures_of(device);
    HRI_TRY(count_call());
    if (figures->held_bytes + bytes > figures->info.memory_bytes) {
        return no_memory();
    }
    fake_buffer *buffer = make_object(sizeof *buffer);
    char *memory = figures->keeps ? malloc(bytes) : NULL;
    if (buffer == NULL || (figures->keeps && memory == NULL)) {
        free_object(buffer);
        free(memory);
        return no_memory();
    }
    buffer->base = (hri_buffer){.device = device, .bytes = bytes};
    buffer->memory = memory;
    figures->held_bytes += bytes;
    if (figures->held_bytes > figures->most_bytes) {
        figures->most_bytes = figures->held_bytes;
    }
    *out = &buffer->base;
    return HR_OK;
}

static void device_release(hri_buffer *buffer)
{
    if (buffer != NULL) {
        figures_of(buffer->device)->held_bytes -= buffer->bytes;
        free(((fake_buffer *)buffer)->memory);
        free_object(buffer);
    }
}

static hr_status device_allocate_pinned(hri_device *device, size_t bytes,
                                        void **host)
{
    (void)device;
    HRI_TRY(count_call());
    void *memory = make_object(bytes);
    if (memory == NULL) {
        return no_memory();
    }
    *host = memory;
    return HR_OK;
}

static void device_release_pinned(hri_device *device, void *host)
{
    (void)device;
    free_object(host);
}

static bool device_is_pinned(hri_device *device, const void *host, size_t bytes)
{
    (void)device, (void)host, (void)bytes;
    return true;
}

static hr_status device_create_queue(hri_device *device, bool urgent,
                                     hri_queue **out)
{
    (void)urgent;
    HRI_TRY(count_call());
    hri_queue *queue = make_object(sizeof *queue);
    if (queue == NULL) {
        return no_memory();
    }
    *queue = (hri_queue){.ops = &queue_ops, .device = device};
    *out = queue;
    return HR_OK;
}

static hr_status device_create_event(hri_device *device, bool timed,
                                     hri_event **out)
{
    (void)timed;
    HRI_TRY(count_call());
    fake_event *event = make_object(sizeof *event);
    if (event == NULL) {
        return no_memory();
    }
    event->base = (hri_event){.ops = &event_ops, .device = device};
    *out = &event->base;
    return HR_OK;
}

static bool device_is_peer(hri_device *device, hri_device *other)
{
    const fake_device_state *a = figures_of(device), *b = figures_of(other);
    return a == b || (a->peers != 0 && a->peers == b->peers);
}

static bool device_gemm_offered(hri_device *device, hr_type type,
                                hr_type c_type, hr_compute compute)
{
    return figures_of(device)->flops > 0 && type == c_type &&
           compute == HR_COMPUTE_NATIVE &&
           (type == HR_F32 || (type == HR_F64 && !figures_of(device)->no_f64));
}

static uint32_t device_gemm_variants(hri_device *device, hr_type type,
                                     hr_compute compute)
{
    return type == HR_F32 && compute == HR_COMPUTE_NATIVE
               ? figures_of(device)->variants
               : 1;
}

static void device_choose_variant(hri_device *device, hr_type type,
                                  uint32_t variant)
{
    figures_of(device)->variant = type == HR_F32 ? variant : 0;
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
    .gemm_variants = device_gemm_variants,
    .choose_variant = device_choose_variant,
};

static hr_status probe_backend(fake_backend_state *figures, uint32_t *count)
{
    figures->probes++;
    HRI_TRY(count_call());
    if (figures->probe_fails != HR_OK) {
        return hri_fail(figures->probe_fails, "fake: no driver");
    }
    *count = figures->count;
    return HR_OK;
}

static hr_status describe_device(fake_backend_state *figures, uint32_t index,
                                 hri_device_info *info)
{
    figures->describes++;
    HRI_TRY(count_call());
    if ((int)index == figures->describe_fails) {
        return hri_fail(HR_ERROR_BACKEND, "fake: device %u is mute", index);
    }
    *info = figures->devices[index].info;
    return HR_OK;
}

static hr_status open_device(uint32_t backend, uint32_t index, hri_device **out)
{
    fake_device_state *figures = &fake.backends[backend].devices[index];
    HRI_TRY(count_call());
    if (figures->open_fails != HR_OK) {
        return hri_fail(figures->open_fails, "fake: %s is busy",
                        figures->info.path);
    }
    fake_device *device = make_object(sizeof *device);
    if (device == NULL) {
        return no_memory();
    }
    device->base = (hri_device){.ops = &device_ops,
                                .backend = &fake_backends[backend],
                                .info = figures->info};
    device->figures = figures;
    *out = &device->base;
    return HR_OK;
}

/* Functions of a backend are not told which backend they belong to. */
static hr_status probe_0(uint32_t *count)
{
    return probe_backend(&fake.backends[0], count);
}
static hr_status probe_1(uint32_t *count)
{
    return probe_backend(&fake.backends[1], count);
}
static hr_status probe_2(uint32_t *count)
{
    return probe_backend(&fake.backends[2], count);
}
static hr_status describe_0(uint32_t index, hri_device_info *info)
{
    return describe_device(&fake.backends[0], index, info);
}
static hr_status describe_1(uint32_t index, hri_device_info *info)
{
    return describe_device(&fake.backends[1], index, info);
}
static hr_status describe_2(uint32_t index, hri_device_info *info)
{
    return describe_device(&fake.backends[2], index, info);
}
static hr_status open_0(uint32_t index, uint32_t threads, hri_device **device)
{
    (void)threads;
    return open_device(0, index, device);
}
static hr_status open_1(uint32_t index, uint32_t threads, hri_device **device)
{
    (void)threads;
    return open_device(1, index, device);
}
static hr_status open_2(uint32_t index, uint32_t threads, hri_device **device)
{
    (void)threads;
    return open_device(2, index, device);
}

hri_backend fake_backends[FAKE_BACKENDS] = {
    {HRI_HAL_ABI, "cuda", probe_0, describe_0, open_0},
    {HRI_HAL_ABI, "opencl", probe_1, describe_1, open_1},
    {HRI_HAL_ABI, "host", probe_2, describe_2, open_2},
};

const hri_backend *const fake_list[] = {
    &fake_backends[0],
    &fake_backends[1],
    &fake_backends[2],
    NULL,
};

static fake_device_state *add_device(uint32_t backend, const char *path,
                                     const char *physical,
                                     uint64_t memory_bytes, uint64_t free_bytes)
{
    fake_backend_state *figures = &fake.backends[backend];
    fake_device_state *device = &figures->devices[figures->count++];
    hri_device_info *info = &device->info;
    snprintf(info->path, sizeof info->path, "%s", path);
    snprintf(info->name, sizeof info->name, "device of %s", path);
    snprintf(info->arithmetic, sizeof info->arithmetic, "none");
    snprintf(info->physical_id, sizeof info->physical_id, "%s", physical);
    info->memory_bytes = memory_bytes;
    info->free_bytes = free_bytes;
    info->allocation_bytes = memory_bytes;
    info->compute_units = 4;
    device->flops = 1e12;
    device->link = 1e9;
    device->variants = 1;
    return device;
}

static void forget_all(void)
{
    memset(&fake, 0, sizeof fake);
    for (int i = 0; i < FAKE_BACKENDS; i++) {
        fake.backends[i].describe_fails = -1;
        fake_backends[i].abi = HRI_HAL_ABI;
    }
}

void fake_reset_instant(void)
{
    forget_all();
    for (uint32_t i = 0; i < FAKE_DEVICES; i++) {
        char name[32];
        snprintf(name, sizeof name, "cuda:%u", i);
        fake_device_state *device = add_device(0, name, name, 1 << 30, 1 << 30);
        device->flops = device->link = 0;
        device->keeps = true;
        device->peers = 1 + i / 2;
    }
}

void fake_reset(void)
{
    forget_all();
    add_device(0, "cuda:0", "pci:1", 1000000, 900000);
    add_device(0, "cuda:1", "pci:2", 1000000, 900000);
    add_device(1, "opencl:0:0", "pci:1", 1000000, 900000);
    add_device(1, "opencl:1:0", "", 4000000, 2000000);
    add_device(2, "host", "", 8000000, 4000000);
    fake.backends[1].devices[1].info.emulated = true;
    fake.backends[2].devices[0].info.host = true;
}

hr_context *fake_context(const char *accelerators, uint64_t memory_limit)
{
    hr_context_options options = HR_CONTEXT_OPTIONS_INIT;
    hr_context *context = NULL;
    options.accelerators = accelerators;
    options.memory_limit = memory_limit;
    fake_reset();
    CHECK(hri_context_create_from(fake_list, &options, &context) == HR_OK);
    return context;
}
