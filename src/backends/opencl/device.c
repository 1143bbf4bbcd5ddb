/* SPDX-License-Identifier: MIT */
/* An opened OpenCL device: buffers and pinned memory; the backend's entry in
 * the registry. */
#include <stdlib.h>

#include "backends/opencl/opencl.h"

/* Host memory of the driver, kept mapped for as long as it is ours. */
struct hri_cl_pinned {
    hri_cl_pinned *next;
    cl_mem memory;
    void *host;
};

static void device_close(hri_device *base)
{
    hri_cl_device *device = (hri_cl_device *)base;
    if (device == NULL) {
        return;
    }
    if (device->setup != NULL) {
        hri_cl.clReleaseCommandQueue(device->setup);
    }
    if (device->context != NULL) {
        hri_cl_unit_release(device->unit);
    }
    free(device);
}

/* Drivers have many words for too little memory; other errors are forwarded. */
static hr_status refused(const hri_cl_device *device, const char *what,
                         size_t bytes, cl_int error)
{
    const hri_device_info *info = &device->base.info;
    switch (error) {
    case CL_MEM_OBJECT_ALLOCATION_FAILURE:
    case CL_OUT_OF_RESOURCES:
    case CL_OUT_OF_HOST_MEMORY:
    case CL_INVALID_BUFFER_SIZE:
    case CL_MAP_FAILURE:
        return hri_fail(HR_ERROR_OUT_OF_MEMORY,
                        "%s: %s of %zu bytes was refused with %s (the device "
                        "has %llu bytes, one buffer at most %llu)",
                        info->path, what, bytes, hri_cl_error_name(error),
                        (unsigned long long)info->memory_bytes,
                        (unsigned long long)info->allocation_bytes);
    default:
        return hri_cl_check(error, what);
    }
}

/* Drivers put off the allocation until a buffer is first used. Use it now, so
 * that lack of memory shows here and not in the middle of the work. */
static cl_int make_real(hri_cl_device *device, cl_mem memory, size_t bytes)
{
    const unsigned char zero = 0;
    return hri_cl.clEnqueueWriteBuffer(device->setup, memory, CL_TRUE,
                                       bytes - 1, 1, &zero, 0, NULL, NULL);
}

static hr_status device_allocate(hri_device *base, size_t bytes,
                                 hri_buffer **out)
{
    hri_cl_device *device = (hri_cl_device *)base;
    size_t size = bytes > 0 ? bytes : 1;
    if (size > base->info.allocation_bytes) {
        return refused(device, "a buffer", bytes, CL_INVALID_BUFFER_SIZE);
    }
    hri_cl_buffer *buffer = calloc(1, sizeof *buffer);
    if (buffer == NULL) {
        return hri_no_memory(base->info.path);
    }
    cl_int error;
    buffer->base = (hri_buffer){.device = base, .bytes = bytes};
    buffer->memory = hri_cl.clCreateBuffer(device->context, CL_MEM_READ_WRITE,
                                           size, NULL, &error);
    if (error == CL_SUCCESS) {
        error = make_real(device, buffer->memory, size);
        if (error != CL_SUCCESS) {
            hri_cl.clReleaseMemObject(buffer->memory);
        }
    }
    if (error != CL_SUCCESS) {
        free(buffer);
        return refused(device, "a buffer", bytes, error);
    }
    *out = &buffer->base;
    return HR_OK;
}

static void device_release(hri_buffer *base)
{
    hri_cl_buffer *buffer = (hri_cl_buffer *)base;
    if (buffer != NULL) {
        hri_cl.clReleaseMemObject(buffer->memory);
        free(buffer);
    }
}

static hr_status device_allocate_pinned(hri_device *base, size_t bytes,
                                        void **host)
{
    hri_cl_device *device = (hri_cl_device *)base;
    size_t size = bytes > 0 ? bytes : 1;
    cl_int error;
    hri_cl_pinned *pinned = calloc(1, sizeof *pinned);
    if (pinned == NULL) {
        return hri_no_memory(base->info.path);
    }
    pinned->memory = hri_cl.clCreateBuffer(
        device->context, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, size, NULL,
        &error);
    if (error == CL_SUCCESS) {
        pinned->host = hri_cl.clEnqueueMapBuffer(
            device->setup, pinned->memory, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE,
            0, size, 0, NULL, NULL, &error);
        if (error != CL_SUCCESS) {
            hri_cl.clReleaseMemObject(pinned->memory);
        }
    }
    if (error != CL_SUCCESS) {
        free(pinned);
        return refused(device, "pinned memory", bytes, error);
    }
    pinned->next = device->pinned;
    device->pinned = pinned;
    *host = pinned->host;
    return HR_OK;
}

static void device_release_pinned(hri_device *base, void *host)
{
    hri_cl_device *device = (hri_cl_device *)base;
    hri_cl_pinned **link = &device->pinned;
    while (host != NULL && *link != NULL && (*link)->host != host) {
        link = &(*link)->next;
    }
    hri_cl_pinned *pinned = host != NULL ? *link : NULL;
    if (pinned == NULL) {
        return;
    }
    *link = pinned->next;
    hri_cl.clEnqueueUnmapMemObject(device->setup, pinned->memory, host, 0, NULL,
                                   NULL);
    hri_cl.clFinish(device->setup);
    hri_cl.clReleaseMemObject(pinned->memory);
    free(pinned);
}

/* OpenCL does not tell: only what allocate_pinned gave is known. */
static bool device_is_pinned(hri_device *base, const void *host, size_t bytes)
{
    (void)host, (void)bytes;
    return !base->info.staged;
}

/* Buffers and events are shared within a context only. */
static bool device_is_peer(hri_device *device, hri_device *other)
{
    return other->ops == device->ops && ((hri_cl_device *)device)->context ==
                                            ((hri_cl_device *)other)->context;
}

static const hri_device_ops device_ops = {
    .close = device_close,
    .allocate = device_allocate,
    .release = device_release,
    .allocate_pinned = device_allocate_pinned,
    .release_pinned = device_release_pinned,
    .is_pinned = device_is_pinned,
    .create_queue = hri_cl_queue_create,
    .create_event = hri_cl_event_create,
    .build = hri_cl_module_build,
    .load = hri_cl_module_load,
    .unload = hri_cl_module_unload,
    .destroy_graph = hri_no_destroy_graph,
    .is_peer = device_is_peer,
    .gemm_offered = hri_cl_gemm_offered,
};

hr_status hri_cl_device_open(hri_cl_unit *unit, hri_device **out)
{
    cl_int error;
    hri_cl_device *device = calloc(1, sizeof *device);
    if (device == NULL) {
        return hri_no_memory("opencl");
    }
    device->base.ops = &device_ops;
    device->base.backend = &hri_backend_opencl;
    device->unit = unit;
    hr_status status = hri_cl_describe(unit, &device->base.info);
    if (status == HR_OK) {
        status = hri_cl_unit_acquire(unit, &device->context);
    }
    if (status == HR_OK) {
        device->setup =
            hri_cl.clCreateCommandQueue(device->context, unit->id, 0, &error);
        status = hri_cl_check(error, "clCreateCommandQueue");
    }
    if (status != HR_OK) {
        device_close(&device->base);
        return status;
    }
    *out = &device->base;
    return HR_OK;
}

static hr_status backend_describe(uint32_t index, hri_device_info *info)
{
    hr_status status = hri_check_index(&hri_backend_opencl, index);
    return status == HR_OK ? hri_cl_describe(hri_cl_unit_at(index), info)
                           : status;
}

static hr_status backend_open(uint32_t index, hri_device **device)
{
    hr_status status = hri_check_index(&hri_backend_opencl, index);
    return status == HR_OK ? hri_cl_device_open(hri_cl_unit_at(index), device)
                           : status;
}

const hri_backend hri_backend_opencl = {
    .abi = HRI_HAL_ABI,
    .name = "opencl",
    .probe = hri_cl_unit_count,
    .describe = backend_describe,
    .open = backend_open,
};
