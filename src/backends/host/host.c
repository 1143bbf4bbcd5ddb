/* SPDX-License-Identifier: MIT */
#include "backends/host/host.h"

#include <stdio.h>
#include <stdlib.h>

#include "backends/host/arithmetic.h"
#include "backends/host/compiler.h"
#include "base/cpus.h"
#include "base/machine.h"
#include "base/matrix.h"
#include "base/pages.h"
#include "base/threads.h"
#include "hal/precise.h"

static hr_status host_gemm_now(hri_device *device, const hri_gemm *gemm)
{
    const hri_thread_was was = hri_thread_set_own(); /* as a queue's would be */
    hri_host_line_wait();
    hr_status status = hri_host_gemm(hri_host_pool(device), gemm);
    hri_host_line_leave();
    hri_thread_restore(&was);
    return status;
}

/* ---- the device */

static void host_close(hri_device *device)
{
    if (device != NULL) {
        hri_pool_drop(hri_host_pool(device));
        free(device);
    }
}

static hr_status take_memory(const hri_device *device, size_t bytes,
                             void *(*pages)(size_t bytes), void **out)
{
    unsigned long long most = device->info.allocation_bytes;
    if (bytes > most) { /* the system would promise more than there is */
        return hri_fail(
            HR_ERROR_OUT_OF_MEMORY,
            "host: %zu bytes are more than the memory of %llu bytes", bytes,
            most);
    }
    *out = pages(bytes > 0 ? bytes : 1);
    if (*out == NULL) {
        return hri_fail(HR_ERROR_OUT_OF_MEMORY,
                        "host: the system refused %zu bytes of memory", bytes);
    }
    return HR_OK;
}

static hr_status host_allocate(hri_device *device, size_t bytes,
                               hri_buffer **out)
{
    void *data = NULL;
    host_buffer *buffer = calloc(1, sizeof *buffer);
    if (buffer == NULL) {
        return hri_fail(HR_ERROR_OUT_OF_MEMORY, "host buffer: out of memory");
    }
    hr_status status = take_memory(device, bytes, hri_scattered_pages, &data);
    if (status != HR_OK) {
        free(buffer);
        return status;
    }
    buffer->base = (hri_buffer){.device = device, .bytes = bytes};
    buffer->data = data;
    *out = &buffer->base;
    return HR_OK;
}

static void host_release(hri_buffer *buffer)
{
    if (buffer != NULL) {
        hri_scattered_free(((host_buffer *)buffer)->data);
        free(buffer);
    }
}

static hr_status host_lend(hri_buffer *buffer, void **address)
{
    *address = ((host_buffer *)buffer)->data;
    return HR_OK;
}

static hr_status host_allocate_pinned(hri_device *device, size_t bytes,
                                      void **host)
{
    return take_memory(device, bytes, hri_pages, host);
}

static void host_release_pinned(hri_device *device, void *host)
{
    (void)device;
    free(host);
}

static bool host_is_pinned(hri_device *device, const void *host, size_t bytes)
{
    (void)device, (void)host, (void)bytes;
    return true;
}

static bool host_is_peer(hri_device *device, hri_device *other)
{
    return device->backend == other->backend;
}

static bool host_gemm_offered(hri_device *device, hr_type type, hr_type c_type,
                              hr_compute compute)
{
    (void)device;
    return hri_types_multiply(type, c_type) &&
           (compute == HR_COMPUTE_NATIVE ||
            (compute == HR_COMPUTE_REPRODUCIBLE && type != HR_I8 &&
             hri_host_gemm_is_ordered()) ||
            (compute == HR_COMPUTE_PRECISE && hri_is_precise_type(type) &&
             hri_host_gemm_is_ordered()));
}

static const hri_device_ops host_ops = {
    .close = host_close,
    .check = hri_not_lost,
    .allocate = host_allocate,
    .release = host_release,
    .lend = host_lend,
    .take_back = hri_no_take_back,
    .allocate_pinned = host_allocate_pinned,
    .release_pinned = host_release_pinned,
    .is_pinned = host_is_pinned,
    .create_queue = hri_host_queue_create,
    .create_event = hri_host_event_create,
    .build = hri_host_module_build,
    .load = hri_host_module_load,
    .unload = hri_host_module_unload,
    .destroy_graph = hri_no_destroy_graph,
    .is_peer = host_is_peer,
    .gemm_offered = host_gemm_offered,
    .gemm_variants = hri_one_variant,
    .gemm_now = host_gemm_now,
};

/* The same, but products go through queues alone. */
static hri_device_ops by_queue;

static void begin(void)
{
    hri_host_line_watch_forks();
    by_queue = host_ops;
    by_queue.gemm_now = NULL;
}

static hr_status host_probe(uint32_t *count)
{
    *count = 1;
    return HR_OK;
}

/* The target stays empty where there is no compiler. That is not an error. */
static void describe_compiler(hri_device_info *info)
{
    host_compiler compiler;
    if (hri_host_compiler_find(&compiler) == HR_OK) {
        snprintf(info->compiler, sizeof info->compiler, "%.*s",
                 (int)sizeof info->compiler - 1, compiler.path);
        hri_host_compiler_target(&compiler, info->target, sizeof info->target);
    } else {
        snprintf(info->compiler, sizeof info->compiler, "none: %.*s",
                 (int)sizeof info->compiler - 8, hr_last_error());
    }
}

static hr_status host_describe(uint32_t index, hri_device_info *info)
{
    (void)index;
    *info = (hri_device_info){
        .path = "host", .host = true, .ieee = true, .lends = true};
    hri_machine_name(info->name, sizeof info->name);
    snprintf(info->arithmetic, sizeof info->arithmetic, "%s",
             hri_host_arithmetic_name());
    info->memory_bytes = info->allocation_bytes = hri_memory_bytes();
    info->free_bytes = hri_memory_free();
    describe_compiler(info);
    info->compute_units = hri_thread_count(); /* for contexts by default */
    return HR_OK;
}

static hr_status host_open(uint32_t index, uint32_t threads, hri_device **out)
{
    static atomic_bool begun;
    HRI_TRY(hri_host_arithmetic_load());
    /* Handlers that come later run first: before OpenBLAS's. */
    hri_call_once(&begun, begin);
    host_device *device = calloc(1, sizeof *device);
    if (device == NULL) {
        return hri_fail(HR_ERROR_OUT_OF_MEMORY, "host device: out of memory");
    }
    hr_status status = hri_pool_hold(threads, &device->pool);
    if (status != HR_OK) {
        free(device);
        return status;
    }
    device->base.ops = hri_host_gemm_sets_thread() ? &by_queue : &host_ops;
    device->base.backend = &hri_backend_host;
    status = host_describe(index, &device->base.info);
    device->base.info.compute_units = hri_pool_threads(device->pool);
    *out = &device->base;
    return status;
}

const hri_backend hri_backend_host = {
    .abi = HRI_HAL_ABI,
    .name = "host",
    .probe = host_probe,
    .describe = host_describe,
    .open = host_open,
};
