/* SPDX-License-Identifier: MIT */
/* A GPU: its properties, its buffers and pinned memory once it is open, and the
 * backend's entry in the registry. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/cuda/cuda.h"
#include "base/pages.h"

static hr_status ask_driver(const hri_cuda_unit *unit, hri_device_info *info)
{
    hri_device_info d = {.staged = true,
                         .reaches = true,
                         .ieee = true,
                         .lends = true,
                         .proceeds = true};
    size_t bytes = 0;
    memcpy(d.path, unit->path, sizeof d.path);
    HRI_TRY(hri_cuda_check(unit->path,
                           hri_cuda.cuDeviceTotalMem_v2(&bytes, unit->id),
                           "cuDeviceTotalMem"));
    HRI_TRY(hri_cuda_check(
        unit->path,
        hri_cuda.cuDeviceGetName(d.name, (int)sizeof d.name - 1, unit->id),
        "cuDeviceGetName"));
    /* In the form that the OpenCL backend uses, so that a card known through
     * both is recognised. */
    snprintf(d.physical_id, sizeof d.physical_id, "pci:%04x:%02x:%02x.0",
             (unsigned)hri_cuda_unit_number(unit, CU_ATTRIBUTE_PCI_DOMAIN),
             (unsigned)hri_cuda_unit_number(unit, CU_ATTRIBUTE_PCI_BUS),
             (unsigned)hri_cuda_unit_number(unit, CU_ATTRIBUTE_PCI_DEVICE));
    hri_cuda_module_target(unit, d.target, sizeof d.target);
    hri_cuda_arithmetic_name(d.arithmetic, sizeof d.arithmetic);
    d.memory_bytes = d.free_bytes = d.allocation_bytes = bytes;
    d.gemm_bytes = hri_cublas_bytes(unit->capability);
    d.packed = hri_cublas_packed(unit->capability);
    d.packs_precise = true;
    d.compute_units =
        (uint32_t)hri_cuda_unit_number(unit, CU_ATTRIBUTE_MULTIPROCESSORS);
    *info = d;
    return HR_OK;
}

/* Ask for what the unit describes. After a fault the driver need not answer,
 * and what it said before still holds. The unit's lock is held. */
static hr_status describe_unit(hri_cuda_unit *unit)
{
    hr_status status = hri_cuda_fault_check(unit->path);
    if (status == HR_OK) {
        status = ask_driver(unit, &unit->described);
    }
    return status == HR_ERROR_LOST && unit->described.path[0] != '\0' ? HR_OK
                                                                      : status;
}

static hr_status backend_describe(uint32_t index, hri_device_info *info)
{
    HRI_TRY(hri_check_index(&hri_backend_cuda, index));
    hri_cuda_unit *unit = hri_cuda_unit_at(index);
    pthread_mutex_lock(&unit->lock);
    hr_status status = describe_unit(unit);
    if (status == HR_OK) {
        *info = unit->described;
    }
    pthread_mutex_unlock(&unit->lock);
    return status;
}

static void device_close(hri_device *base)
{
    hri_cuda_device *device = (hri_cuda_device *)base;
    if (device == NULL) {
        return;
    }
    if (hri_cuda_enter(device->unit) == CU_SUCCESS) {
        hri_cublas_destroy(device);
        hri_cuda_leave();
    }
    hri_cuda_unit_release(device->unit);
    pthread_mutex_destroy(&device->lock);
    free(device);
}

/* Ask what is free now. Only a context can tell. */
static hr_status ask_free(hri_cuda_device *device)
{
    size_t free_bytes = 0, total = 0;
    hri_device_info *info = &device->base.info;
    cu_result error = hri_cuda_enter(device->unit);
    if (error == CU_SUCCESS) {
        error = hri_cuda.cuMemGetInfo_v2(&free_bytes, &total);
        hri_cuda_leave();
    }
    if (error == CU_SUCCESS && free_bytes < info->memory_bytes) {
        info->free_bytes = free_bytes;
    }
    return hri_cuda_check(info->path, error, "cuMemGetInfo");
}

/* The device refused memory. Other errors are passed on. */
static hr_status fail_refused(const hri_cuda_device *device, const char *what,
                              size_t bytes, cu_result error)
{
    const hri_device_info *info = &device->base.info;
    if ((error != CU_OUT_OF_MEMORY && error != CU_INVALID_VALUE &&
         error != CU_OPERATING_SYSTEM) ||
        hri_cuda_fault_cause() != NULL) {
        return hri_cuda_check(info->path, error, what);
    }
    return hri_fail(HR_ERROR_OUT_OF_MEMORY,
                    "%s: %s of %zu bytes was refused with %s (the device has "
                    "%llu bytes, %llu were free when it was opened)",
                    info->path, what, bytes, hri_cuda_error_name(error),
                    (unsigned long long)info->memory_bytes,
                    (unsigned long long)info->free_bytes);
}

static hr_status device_check(hri_device *device)
{
    return hri_cuda_fault_check(device->info.path);
}

static hr_status device_allocate(hri_device *base, size_t bytes,
                                 hri_buffer **out)
{
    hri_cuda_device *device = (hri_cuda_device *)base;
    hri_cuda_buffer *buffer = calloc(1, sizeof *buffer);
    if (buffer == NULL) {
        return hri_no_memory(base->info.path);
    }
    buffer->base = (hri_buffer){.device = base, .bytes = bytes};
    cu_result error = hri_cuda_enter(device->unit);
    if (error == CU_SUCCESS) {
        error = hri_cuda.cuMemAlloc_v2(&buffer->memory, bytes > 0 ? bytes : 1);
        hri_cuda_leave();
    }
    if (error != CU_SUCCESS) {
        free(buffer);
        return fail_refused(device, "a buffer", bytes, error);
    }
    *out = &buffer->base;
    return HR_OK;
}

static void device_release(hri_buffer *base)
{
    hri_cuda_buffer *buffer = (hri_cuda_buffer *)base;
    if (buffer == NULL) {
        return;
    }
    if (hri_cuda_enter(((hri_cuda_device *)base->device)->unit) == CU_SUCCESS) {
        hri_cuda.cuMemFree_v2(buffer->memory);
        hri_cuda_leave();
    }
    free(buffer);
}

static hr_status device_lend(hri_buffer *base, void **address)
{
    const hri_cuda_unit *unit = ((hri_cuda_device *)base->device)->unit;
    HRI_TRY(
        hri_cuda_check(unit->path, hri_cuda_enter(unit), "cuCtxPushCurrent"));
    *address = (void *)(uintptr_t)((hri_cuda_buffer *)base)->memory;
    return HR_OK;
}

/* cuMemcpyHtoD, too, may return before the bytes have come. */
static hr_status device_take_back(hri_buffer *base, bool written)
{
    const hri_cuda_unit *unit = ((hri_cuda_device *)base->device)->unit;
    const cu_result error =
        written ? hri_cuda.cuStreamSynchronize(NULL) : CU_SUCCESS;
    hri_cuda_leave();
    return hri_cuda_check(unit->path, error, "cuStreamSynchronize");
}

/* Allocate large pages and register them with the driver: its own allocation
 * takes ten times as long. It is used where registering is not offered. */
static cu_result allocate_host(size_t bytes, void **host)
{
    void *memory = hri_pages(bytes);
    if (memory == NULL) {
        return CU_OUT_OF_MEMORY;
    }
    if (hri_cuda.cuMemHostRegister_v2(memory, bytes, CU_HOST_PORTABLE) ==
        CU_SUCCESS) {
        *host = memory;
        return CU_SUCCESS;
    }
    free(memory);
    return hri_cuda.cuMemHostAlloc(host, bytes, CU_HOST_PORTABLE);
}

static hr_status device_allocate_pinned(hri_device *base, size_t bytes,
                                        void **host)
{
    hri_cuda_device *device = (hri_cuda_device *)base;
    void *memory = NULL;
    cu_result error = hri_cuda_enter(device->unit);
    if (error == CU_SUCCESS) {
        error = allocate_host(bytes > 0 ? bytes : 1, &memory);
        hri_cuda_leave();
    }
    if (error != CU_SUCCESS) {
        return fail_refused(device, "pinned memory", bytes, error);
    }
    *host = memory;
    return HR_OK;
}

static void device_release_pinned(hri_device *base, void *host)
{
    if (host == NULL ||
        hri_cuda_enter(((hri_cuda_device *)base)->unit) != CU_SUCCESS) {
        return;
    }
    if (hri_cuda.cuMemHostUnregister(host) == CU_SUCCESS) {
        free(host);
    } else { /* allocated by the driver */
        hri_cuda.cuMemFreeHost(host);
    }
    hri_cuda_leave();
}

/* Whether the driver knows this byte as host memory that it allocated or
 * registered. For other memory its answer is an error. */
static bool is_known(const void *host)
{
    unsigned kind = 0;
    return hri_cuda.cuPointerGetAttribute(&kind, CU_POINTER_MEMORY_TYPE,
                                          (cu_address)(uintptr_t)host) ==
               CU_SUCCESS &&
           kind == CU_MEMORY_HOST;
}

/* If both ends are pinned, what lies between them is taken to be pinned. */
static bool device_is_pinned(hri_device *base, const void *host, size_t bytes)
{
    if (hri_cuda_enter(((hri_cuda_device *)base)->unit) != CU_SUCCESS) {
        return false;
    }
    bool pinned = is_known(host) &&
                  (bytes <= 1 || is_known((const char *)host + (bytes - 1)));
    hri_cuda_leave();
    return pinned;
}

static bool device_is_peer(hri_device *device, hri_device *other)
{
    return other->backend == device->backend &&
           hri_cuda_units_are_peers(((hri_cuda_device *)device)->unit,
                                    ((hri_cuda_device *)other)->unit);
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
    .create_queue = hri_cuda_queue_create,
    .create_event = hri_cuda_event_create,
    .build = hri_cuda_module_build,
    .load = hri_cuda_module_load,
    .unload = hri_cuda_module_unload,
    .destroy_graph = hri_cuda_graph_destroy,
    .is_peer = device_is_peer,
    .gemm_offered = hri_cuda_gemm_offered,
    .gemm_variants = hri_one_variant,
};

static hr_status backend_open(uint32_t index, uint32_t threads,
                              hri_device **out)
{
    (void)threads;
    hri_device_info info;
    HRI_TRY(backend_describe(index, &info));
    hri_cuda_unit *unit = hri_cuda_unit_at(index);
    HRI_TRY(hri_cuda_fault_check(unit->path));
    HRI_TRY(hri_cuda_unit_acquire(unit));
    hri_cuda_device *device = calloc(1, sizeof *device);
    if (device == NULL) {
        hri_cuda_unit_release(unit);
        return hri_no_memory(unit->path);
    }
    device->base = (hri_device){
        .ops = &device_ops, .backend = &hri_backend_cuda, .info = info};
    device->unit = unit;
    pthread_mutex_init(&device->lock, NULL);
    hr_status status = ask_free(device);
    if (status != HR_OK) {
        device_close(&device->base);
        return status;
    }
    *out = &device->base;
    return HR_OK;
}

const hri_backend hri_backend_cuda = {
    .abi = HRI_HAL_ABI,
    .name = "cuda",
    .probe = hri_cuda_unit_count,
    .describe = backend_describe,
    .open = backend_open,
};
