/* SPDX-License-Identifier: MIT */
/* The wrapper's backends, devices and buffers. */
#include <stdlib.h>
#include <string.h>

#include "hal/backend.h"
#include "runtime/runtime.h"
#include "support/fault_internal.h"
#include "test.h"

void *fault_object(size_t bytes)
{
    void *object = calloc(1, bytes);
    if (object == NULL) {
        hri_fail(HR_ERROR_OUT_OF_MEMORY, "fault backend: out of memory");
    }
    return object;
}

static void device_close(hri_device *base)
{
    fault_device *device = (fault_device *)base;
    fault_note(FAULT_CLOSE);
    if (device == NULL) {
        return;
    }
    if (device->objects > 0) {
        (void)fault_breach("a device is closed before its objects");
    }
    device->inner->ops->close(device->inner);
    free(device);
    fault_count_object(NULL, -1);
}

/* Take bytes from what the device pretends to have. */
static hr_status take_memory(fault_device *device, size_t bytes)
{
    uint64_t most = device->base.info.allocation_bytes;
    pthread_mutex_lock(&fault_lock);
    uint64_t used = device->used_bytes;
    bool fits =
        bytes <= most &&
        (device->free_bytes == 0 ||
         (used <= device->free_bytes && bytes <= device->free_bytes - used));
    if (fits) {
        device->used_bytes += bytes;
    }
    pthread_mutex_unlock(&fault_lock);
    return fits ? HR_OK
                : hri_fail(HR_ERROR_OUT_OF_MEMORY,
                           "fault backend: %zu bytes do not fit: %llu are in "
                           "use, the limits are %llu and %llu for one buffer",
                           bytes, (unsigned long long)used,
                           (unsigned long long)device->free_bytes,
                           (unsigned long long)most);
}

static void give_memory(fault_device *device, size_t bytes)
{
    pthread_mutex_lock(&fault_lock);
    device->used_bytes -= bytes;
    pthread_mutex_unlock(&fault_lock);
}

static hr_status device_allocate(hri_device *base, size_t bytes,
                                 hri_buffer **out)
{
    fault_device *device = (fault_device *)base;
    HRI_TRY(fault_enter(base, FAULT_ALLOCATE));
    HRI_TRY(take_memory(device, bytes));
    hr_status status = HR_ERROR_OUT_OF_MEMORY;
    fault_buffer *buffer = fault_object(sizeof *buffer);
    if (buffer == NULL) {
        goto fail;
    }
    status = device->inner->ops->allocate(device->inner, bytes, &buffer->inner);
    if (status != HR_OK) {
        goto fail;
    }
    buffer->base = (hri_buffer){.device = base, .bytes = bytes};
    fault_count_object(device, 1);
    *out = &buffer->base;
    return HR_OK;
fail:
    give_memory(device, bytes);
    free(buffer);
    return status;
}

static void device_release(hri_buffer *base)
{
    fault_buffer *buffer = (fault_buffer *)base;
    fault_note(FAULT_RELEASE);
    if (buffer == NULL) {
        return;
    }
    fault_device *device = (fault_device *)base->device;
    give_memory(device, base->bytes);
    device->inner->ops->release(buffer->inner);
    free(buffer);
    fault_count_object(device, -1);
}

static hr_status device_lend(hri_buffer *base, void **address)
{
    hri_buffer *inner = ((fault_buffer *)base)->inner;
    HRI_TRY(fault_enter(base->device, FAULT_LEND));
    HRI_TRY(inner->device->ops->lend(inner, address));
    fault_count_object((fault_device *)base->device, 1);
    return HR_OK;
}

static hr_status device_take_back(hri_buffer *base, bool written)
{
    hri_buffer *inner = ((fault_buffer *)base)->inner;
    const hr_status status = fault_enter(base->device, FAULT_TAKE_BACK);
    const hr_status taken = inner->device->ops->take_back(inner, written);
    fault_count_object((fault_device *)base->device, -1);
    return status == HR_OK ? taken : status;
}

static hr_status add_pinned(fault_device *device, void *host, size_t bytes)
{
    fault_pinned *pinned = fault_object(sizeof *pinned);
    if (pinned == NULL) {
        device->inner->ops->release_pinned(device->inner, host);
        return HR_ERROR_OUT_OF_MEMORY;
    }
    pthread_mutex_lock(&fault_lock);
    *pinned = (fault_pinned){device->pinned, host, bytes};
    device->pinned = pinned;
    pthread_mutex_unlock(&fault_lock);
    fault_count_object(device, 1);
    return HR_OK;
}

static void remove_pinned(fault_device *device, const void *host)
{
    pthread_mutex_lock(&fault_lock);
    fault_pinned **link = &device->pinned;
    while (*link != NULL && (*link)->host != host) {
        link = &(*link)->next;
    }
    fault_pinned *gone = *link;
    if (gone != NULL) {
        *link = gone->next;
    }
    pthread_mutex_unlock(&fault_lock);
    free(gone);
}

/* Whether device gave this memory as pinned. */
static bool gave_pinned(fault_device *device, const void *host, size_t bytes)
{
    const char *at = host;
    pthread_mutex_lock(&fault_lock);
    const fault_pinned *p = device->pinned;
    while (p != NULL && (at < p->host || at + bytes > p->host + p->bytes)) {
        p = p->next;
    }
    pthread_mutex_unlock(&fault_lock);
    return p != NULL;
}

static hr_status device_allocate_pinned(hri_device *base, size_t bytes,
                                        void **host)
{
    hri_device *inner = fault_inner_device(base);
    HRI_TRY(fault_enter(base, FAULT_ALLOCATE_PINNED));
    HRI_TRY(inner->ops->allocate_pinned(inner, bytes, host));
    return add_pinned((fault_device *)base, *host, bytes);
}

static void device_release_pinned(hri_device *base, void *host)
{
    hri_device *inner = fault_inner_device(base);
    fault_note(FAULT_RELEASE_PINNED);
    remove_pinned((fault_device *)base, host);
    inner->ops->release_pinned(inner, host);
    if (host != NULL) {
        fault_count_object((fault_device *)base, -1);
    }
}

static bool device_is_pinned(hri_device *base, const void *host, size_t bytes)
{
    hri_device *inner = fault_inner_device(base);
    fault_note(FAULT_IS_PINNED);
    if (base->info.staged && !inner->info.staged) {
        return gave_pinned((fault_device *)base, host, bytes);
    }
    return inner->ops->is_pinned(inner, host, bytes);
}

typedef struct fault_module {
    hri_module base;
    hri_module *inner;
} fault_module;

hri_module *fault_inner_module(hri_module *module)
{
    return module != NULL ? ((fault_module *)module)->inner : NULL;
}

/* One of ours around what the inner device built or loaded, if it did. Frees
 * it otherwise. */
static hr_status end_module(hri_device *device, fault_module *module,
                            hr_status status, hri_module **out)
{
    if (status != HR_OK) {
        free(module);
        return status;
    }
    module->base = *module->inner; /* its limits */
    module->base.device = device;
    fault_count_object((fault_device *)device, 1);
    *out = &module->base;
    return HR_OK;
}

static hr_status device_build(hri_device *base, const hr_kernel *kernel,
                              const char *source, hri_image *image,
                              hri_module **out)
{
    hri_device *inner = fault_inner_device(base);
    HRI_TRY(fault_enter(base, FAULT_BUILD));
    fault_module *module = fault_object(sizeof *module);
    if (module == NULL) {
        return HR_ERROR_OUT_OF_MEMORY;
    }
    const hr_status status =
        inner->ops->build(inner, kernel, source, image, &module->inner);
    return end_module(base, module, status, out);
}

static hr_status device_load(hri_device *base, const hr_kernel *kernel,
                             const hri_image *image, hri_module **out)
{
    hri_device *inner = fault_inner_device(base);
    HRI_TRY(fault_enter(base, FAULT_LOAD));
    if (base->info.target[0] == '\0') {
        return fault_breach("an image for a device that gives none");
    }
    fault_module *module = fault_object(sizeof *module);
    if (module == NULL) {
        return HR_ERROR_OUT_OF_MEMORY;
    }
    const hr_status status =
        inner->ops->load(inner, kernel, image, &module->inner);
    return end_module(base, module, status, out);
}

static void device_unload(hri_module *base)
{
    fault_note(FAULT_UNLOAD);
    if (base != NULL) {
        hri_module *inner = fault_inner_module(base);
        inner->device->ops->unload(inner);
        fault_count_object((fault_device *)base->device, -1);
        free(base);
    }
}

static hr_status device_check(hri_device *base)
{
    hri_device *inner = fault_inner_device(base);
    return inner->ops->check(inner);
}

static bool device_is_peer(hri_device *base, hri_device *other)
{
    hri_device *inner = fault_inner_device(base);
    fault_note(FAULT_IS_PEER);
    if (other->ops != base->ops) {
        return false; /* not one of ours: it could not unwrap our buffers */
    }
    return inner->ops->is_peer(inner, fault_inner_device(other));
}

static bool device_gemm_offered(hri_device *base, hr_type type, hr_type c_type,
                                hr_compute compute)
{
    hri_device *inner = fault_inner_device(base);
    fault_note(FAULT_GEMM_OFFERED);
    return !(type == HR_F64 && fault_has_no_double()) &&
           inner->ops->gemm_offered(inner, type, c_type, compute);
}

static hr_status device_gemm_now(hri_device *base, const hri_gemm *gemm)
{
    hri_device *inner = fault_inner_device(base);
    HRI_TRY(fault_enter(base, FAULT_GEMM));
    HRI_TRY(fault_check_gemm(base, gemm));
    hri_error error;
    fault_product((fault_device *)base, gemm);
    return fault_operation(&error) ? hri_error_raise(&error)
                                   : inner->ops->gemm_now(inner, gemm);
}

static const hri_device_ops device_ops = {
    .close = device_close,
    .check = device_check,
    .allocate = device_allocate,
    .release = device_release,
    .lend = device_lend,
    .take_back = device_take_back,
    .allocate_pinned = device_allocate_pinned,
    .release_pinned = device_release_pinned,
    .is_pinned = device_is_pinned,
    .create_queue = fault_create_queue,
    .create_event = fault_create_event,
    .build = device_build,
    .load = device_load,
    .unload = device_unload,
    .destroy_graph = fault_destroy_graph,
    .is_peer = device_is_peer,
    .gemm_offered = device_gemm_offered,
    .gemm_variants = hri_one_variant,
    .gemm_now = device_gemm_now,
};

/* The backend's own slots get no object that could say which backend is meant,
 * so each wrapper has three functions of its own below. */
enum { WRAPPERS = 3 };
static hri_backend wrappers[WRAPPERS];
static const hri_backend *inners[WRAPPERS];

static hr_status wrapped_probe(uint32_t wrapper, uint32_t *count)
{
    HRI_TRY(fault_enter(NULL, FAULT_PROBE));
    return inners[wrapper]->probe(count);
}

static hr_status wrapped_describe(uint32_t wrapper, uint32_t index,
                                  hri_device_info *info)
{
    HRI_TRY(fault_enter(NULL, FAULT_DESCRIBE));
    HRI_TRY(inners[wrapper]->describe(index, info));
    fault_pretend(info);
    return HR_OK;
}

static hr_status wrapped_open(uint32_t wrapper, uint32_t index,
                              uint32_t threads, hri_device **out)
{
    HRI_TRY(fault_enter(NULL, FAULT_OPEN));
    fault_device *device = fault_object(sizeof *device);
    if (device == NULL) {
        return HR_ERROR_OUT_OF_MEMORY;
    }
    const hr_status status =
        inners[wrapper]->open(index, threads, &device->inner);
    if (status != HR_OK) {
        free(device);
        return status;
    }
    device->base = (hri_device){.ops = &device_ops,
                                .backend = &wrappers[wrapper],
                                .info = device->inner->info};
    fault_add_device(device);
    *out = &device->base;
    return HR_OK;
}

static hr_status probe_0(uint32_t *count)
{
    return wrapped_probe(0, count);
}

static hr_status describe_0(uint32_t index, hri_device_info *info)
{
    return wrapped_describe(0, index, info);
}

static hr_status open_0(uint32_t index, uint32_t threads, hri_device **device)
{
    return wrapped_open(0, index, threads, device);
}

static hr_status probe_1(uint32_t *count)
{
    return wrapped_probe(1, count);
}

static hr_status describe_1(uint32_t index, hri_device_info *info)
{
    return wrapped_describe(1, index, info);
}

static hr_status open_1(uint32_t index, uint32_t threads, hri_device **device)
{
    return wrapped_open(1, index, threads, device);
}

static hr_status probe_2(uint32_t *count)
{
    return wrapped_probe(2, count);
}

static hr_status describe_2(uint32_t index, hri_device_info *info)
{
    return wrapped_describe(2, index, info);
}

static hr_status open_2(uint32_t index, uint32_t threads, hri_device **device)
{
    return wrapped_open(2, index, threads, device);
}

static hri_backend wrappers[WRAPPERS] = {
    {.probe = probe_0, .describe = describe_0, .open = open_0},
    {.probe = probe_1, .describe = describe_1, .open = open_1},
    {.probe = probe_2, .describe = describe_2, .open = open_2},
};

const hri_backend *fault_backend_wrap(const hri_backend *inner)
{
    for (uint32_t i = 0; i < WRAPPERS; i++) {
        if (inners[i] == NULL || strcmp(inners[i]->name, inner->name) == 0) {
            inners[i] = inner;
            wrappers[i].abi = inner->abi;
            wrappers[i].name = inner->name;
            return &wrappers[i];
        }
    }
    return NULL;
}

hr_context *fault_backend_context(const char *accelerators,
                                  uint64_t memory_limit)
{
    const hri_backend *list[] = {fault_backend_wrap(&hri_backend_host), NULL};
    hr_context_options options = HR_CONTEXT_OPTIONS_INIT;
    hr_context *context = NULL;
    options.accelerators = accelerators;
    options.memory_limit = memory_limit;
    CHECK(hri_context_create_from(list, &options, &context) == HR_OK);
    return context;
}

void fault_backend_close(hr_context *context)
{
    hr_context_destroy(context);
    CHECK(fault_backend_objects() == 0 && fault_backend_breaches() == 0);
}
