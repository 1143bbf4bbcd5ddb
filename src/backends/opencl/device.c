/* SPDX-License-Identifier: MIT */
/* An OpenCL device: its properties, its buffers and pinned memory once it is
 * open, and the backend's entry in the registry. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/opencl/opencl.h"
#include "base/machine.h"

/* ---- what is known without opening it */

/* The free memory. If the driver does not tell, it is all of a GPU's memory.
 * A CPU shares its memory with everything else. */
static uint64_t free_bytes(const hri_cl_unit *unit, bool cpu, uint64_t all)
{
    size_t amd_kib[2] = {0, 0}; /* free, and the largest free block */
    uint64_t free = all;
    if (cpu) {
        free = hri_memory_free();
    } else if (hri_cl_unit_ask(unit, CL_DEVICE_GLOBAL_FREE_MEMORY_AMD,
                               sizeof amd_kib, amd_kib) &&
               amd_kib[0] != 0) {
        free = (uint64_t)amd_kib[0] * 1024;
    }
    return free < all ? free : all;
}

/* The PCI address: domain, bus, device and function. Other backends use it,
 * too. */
static bool find_pci(const hri_cl_unit *unit, uint32_t *pci)
{
    uint32_t bus, slot; /* slot: PCI's devfn */
    if (hri_cl_unit_extension(unit, "cl_khr_pci_bus_info") &&
        hri_cl_unit_ask(unit, CL_DEVICE_PCI_BUS_INFO_KHR, 4 * sizeof *pci,
                        pci)) {
        return true;
    }
    if (!hri_cl_unit_extension(unit, "cl_nv_device_attribute_query") ||
        !hri_cl_unit_ask(unit, CL_DEVICE_PCI_BUS_ID_NV, sizeof bus, &bus) ||
        !hri_cl_unit_ask(unit, CL_DEVICE_PCI_SLOT_ID_NV, sizeof slot, &slot)) {
        return false;
    }
    pci[0] = (uint32_t)hri_cl_unit_number(unit, CL_DEVICE_PCI_DOMAIN_ID_NV);
    pci[1] = bus;
    pci[2] = slot >> 3;
    pci[3] = slot & 7;
    return true;
}

/* The PCI address, else the UUID, else "". */
static void find_physical_id(const hri_cl_unit *unit, hri_device_info *info)
{
    uint32_t pci[4];
    unsigned char uuid[16];
    if (find_pci(unit, pci)) {
        snprintf(info->physical_id, sizeof info->physical_id,
                 "pci:%04x:%02x:%02x.%x", pci[0], pci[1], pci[2], pci[3]);
    } else if (hri_cl_unit_extension(unit, "cl_khr_device_uuid") &&
               hri_cl_unit_ask(unit, CL_DEVICE_UUID_KHR, sizeof uuid, uuid)) {
        int at = snprintf(info->physical_id, sizeof info->physical_id, "uuid:");
        for (ptrdiff_t i = 0; i < 16; i++) {
            snprintf(info->physical_id + at + 2 * i, 3, "%02x", uuid[i]);
        }
    }
}

/* The device's name, cut where it does not fit. */
static void read_name(const hri_cl_unit *unit, char *to, size_t bytes)
{
    char whole[1024];
    bool told = hri_cl_unit_text(unit, CL_DEVICE_NAME, whole, sizeof whole);
    snprintf(to, bytes, "%s", told ? whole + strspn(whole, " ") : "?");
}

/* The target is made of several texts about the driver and its compiler. If one
 * is missing, kernels are not kept. */
static void make_target(const hri_cl_unit *unit, char *to, size_t bytes)
{
    char version[160] = "", name[128] = "", device[160] = "", driver[64] = "";
    cl_platform_id platform = NULL;
    bool told =
        hri_cl_unit_ask(unit, CL_DEVICE_PLATFORM, sizeof platform, &platform) &&
        hri_cl.clGetPlatformInfo(platform, CL_PLATFORM_VERSION,
                                 sizeof version - 1, version,
                                 NULL) == CL_SUCCESS &&
        hri_cl_unit_text(unit, CL_DEVICE_NAME, name, sizeof name) &&
        hri_cl_unit_text(unit, CL_DEVICE_VERSION, device, sizeof device) &&
        hri_cl_unit_text(unit, CL_DRIVER_VERSION, driver, sizeof driver);
    int length = snprintf(to, bytes, "%s, %s, %s, %s, %s", version, name,
                          device, driver, hri_cl_module_options(unit));
    if (!told || length < 0 || (size_t)length >= bytes) {
        to[0] = '\0';
    }
}

static hr_status backend_describe(uint32_t index, hri_device_info *info)
{
    HRI_TRY(hri_check_index(&hri_backend_opencl, index));
    const hri_cl_unit *unit = hri_cl_unit_at(index);
    hri_device_info d = {.staged = true,
                         .ieee = hri_cl_unit_is_ieee(unit) &&
                                 hri_cl_unit_divides(unit)};
    uint64_t type = hri_cl_unit_number(unit, CL_DEVICE_TYPE);
    memcpy(d.path, unit->path, sizeof d.path);
    read_name(unit, d.name, sizeof d.name);
    snprintf(d.arithmetic, sizeof d.arithmetic, "%s", hri_cl_arithmetic_name());
    make_target(unit, d.target, sizeof d.target);
    find_physical_id(unit, &d);
    d.memory_bytes = hri_cl_unit_number(unit, CL_DEVICE_GLOBAL_MEM_SIZE);
    d.emulated = (type & CL_DEVICE_TYPE_CPU) != 0;
    d.packs_precise = true;
    d.caches = hri_cl_unit_is_pocl(unit);
    d.free_bytes = free_bytes(unit, d.emulated, d.memory_bytes);
    d.allocation_bytes = hri_cl_unit_number(unit, CL_DEVICE_MAX_MEM_ALLOC_SIZE);
    d.compute_units =
        (uint32_t)hri_cl_unit_number(unit, CL_DEVICE_MAX_COMPUTE_UNITS);
    if (d.memory_bytes == 0 || d.allocation_bytes == 0) {
        return hri_fail(HR_ERROR_BACKEND,
                        "%s: the OpenCL driver does not say how much memory "
                        "the device has",
                        d.path);
    }
    *info = d;
    return HR_OK;
}

/* ---- the open device */

/* Host memory that the driver allocated. It stays mapped until it is freed. */
struct hri_cl_pinned {
    hri_cl_pinned *next;
    cl_mem memory;
    void *host;
    size_t bytes;
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
    if (device->unit != NULL) {
        hri_cl_unit_release(device->unit);
    }
    free(device);
}

/* The device refused memory: drivers have many codes for this. Other errors are
 * passed on. */
static hr_status fail_refused(const hri_cl_device *device, const char *what,
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
 * that lack of memory shows here and not in the middle of the work. A blocking
 * write may return before it has run, and would then meet what other queues
 * write (Intel's runtime for CPUs does that). So the queue is finished. */
static cl_int make_real(hri_cl_device *device, cl_mem memory, size_t bytes)
{
    const unsigned char zero = 0;
    cl_int error = hri_cl.clEnqueueWriteBuffer(
        device->setup, memory, CL_FALSE, bytes - 1, 1, &zero, 0, NULL, NULL);
    cl_int finished = hri_cl.clFinish(device->setup);
    return error != CL_SUCCESS ? error : finished;
}

/* Make a real buffer of at least one byte. */
static cl_int create_memory(hri_cl_device *device, size_t bytes, cl_mem *out)
{
    cl_int error;
    cl_mem memory = hri_cl.clCreateBuffer(
        device->unit->context, CL_MEM_READ_WRITE, bytes, NULL, &error);
    if (error != CL_SUCCESS) {
        return error;
    }
    error = make_real(device, memory, bytes);
    if (error != CL_SUCCESS) {
        hri_cl.clReleaseMemObject(memory);
        return error;
    }
    *out = memory;
    return CL_SUCCESS;
}

static hr_status device_allocate(hri_device *base, size_t bytes,
                                 hri_buffer **out)
{
    hri_cl_device *device = (hri_cl_device *)base;
    size_t size = bytes > 0 ? bytes : 1;
    if (size > base->info.allocation_bytes) {
        return fail_refused(device, "a buffer", bytes, CL_INVALID_BUFFER_SIZE);
    }
    hri_cl_buffer *buffer = calloc(1, sizeof *buffer);
    if (buffer == NULL) {
        return hri_no_memory(base->info.path);
    }
    buffer->base = (hri_buffer){.device = base, .bytes = bytes};
    cl_int error = create_memory(device, size, &buffer->memory);
    if (error != CL_SUCCESS) {
        free(buffer);
        return fail_refused(device, "a buffer", bytes, error);
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

static cl_int map_pinned(const hri_cl_device *device, hri_cl_pinned *pinned)
{
    cl_int error;
    pinned->memory = hri_cl.clCreateBuffer(
        device->unit->context, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR,
        pinned->bytes, NULL, &error);
    if (error != CL_SUCCESS) {
        return error;
    }
    pinned->host = hri_cl.clEnqueueMapBuffer(
        device->setup, pinned->memory, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0,
        pinned->bytes, 0, NULL, NULL, &error);
    if (error != CL_SUCCESS) {
        hri_cl.clReleaseMemObject(pinned->memory);
    }
    return error;
}

static hr_status device_allocate_pinned(hri_device *base, size_t bytes,
                                        void **host)
{
    hri_cl_device *device = (hri_cl_device *)base;
    hri_cl_pinned *pinned = calloc(1, sizeof *pinned);
    if (pinned == NULL) {
        return hri_no_memory(base->info.path);
    }
    pinned->bytes = bytes > 0 ? bytes : 1;
    cl_int error = map_pinned(device, pinned);
    if (error != CL_SUCCESS) {
        free(pinned);
        return fail_refused(device, "pinned memory", bytes, error);
    }
    pthread_mutex_lock(&device->unit->lock);
    pinned->next = device->unit->pinned;
    device->unit->pinned = pinned;
    pthread_mutex_unlock(&device->unit->lock);
    *host = pinned->host;
    return HR_OK;
}

/* Take what is at this address out of the unit's list. NULL: nothing is. */
static hri_cl_pinned *take_pinned(hri_cl_unit *unit, const void *host)
{
    pthread_mutex_lock(&unit->lock);
    hri_cl_pinned **link = &unit->pinned;
    while (*link != NULL && (*link)->host != host) {
        link = &(*link)->next;
    }
    hri_cl_pinned *pinned = *link;
    if (pinned != NULL) {
        *link = pinned->next;
    }
    pthread_mutex_unlock(&unit->lock);
    return pinned;
}

static void device_release_pinned(hri_device *base, void *host)
{
    hri_cl_device *device = (hri_cl_device *)base;
    hri_cl_pinned *pinned =
        host != NULL ? take_pinned(device->unit, host) : NULL;
    if (pinned == NULL) {
        return;
    }
    hri_cl.clEnqueueUnmapMemObject(device->setup, pinned->memory, host, 0, NULL,
                                   NULL);
    hri_cl.clFinish(device->setup);
    hri_cl.clReleaseMemObject(pinned->memory);
    free(pinned);
}

/* OpenCL does not tell: we know only what allocate_pinned gave. All devices of
 * the unit share its context, and so this memory. NVIDIA's OpenCL copies memory
 * that CUDA page-locked like any other. */
static bool device_is_pinned(hri_device *base, const void *host, size_t bytes)
{
    hri_cl_unit *unit = ((hri_cl_device *)base)->unit;
    const uintptr_t at = (uintptr_t)host;
    bool found = false;
    pthread_mutex_lock(&unit->lock);
    for (const hri_cl_pinned *p = unit->pinned; p != NULL && !found;
         p = p->next) {
        const uintptr_t start = (uintptr_t)p->host;
        found = at >= start && at - start <= p->bytes &&
                bytes <= p->bytes - (at - start);
    }
    pthread_mutex_unlock(&unit->lock);
    return found;
}

/* Only devices that share a context share buffers and events. */
static bool device_is_peer(hri_device *device, hri_device *other)
{
    return other->backend == device->backend &&
           ((hri_cl_device *)device)->unit == ((hri_cl_device *)other)->unit;
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
    .create_queue = hri_cl_queue_create,
    .create_event = hri_cl_event_create,
    .build = hri_cl_module_build,
    .load = hri_cl_module_load,
    .unload = hri_cl_module_unload,
    .destroy_graph = hri_no_destroy_graph,
    .is_peer = device_is_peer,
    .gemm_offered = hri_cl_gemm_offered,
    .gemm_variants = hri_cl_gemm_variants,
    .choose_variant = hri_cl_choose_variant,
};

/* Open device `index`. A device that is the host's CPUs gets `threads` of them.
 * After an error device_close gives back what the device holds. */
static hr_status open_device(uint32_t index, uint32_t threads,
                             hri_cl_device *device)
{
    cl_int error;
    HRI_TRY(backend_describe(index, &device->base.info));
    hri_cl_unit *unit = hri_cl_unit_within(hri_cl_unit_at(index), threads);
    device->base.info.compute_units =
        (uint32_t)hri_cl_unit_number(unit, CL_DEVICE_MAX_COMPUTE_UNITS);
    HRI_TRY(hri_cl_unit_acquire(unit));
    device->unit = unit;
    device->setup =
        hri_cl.clCreateCommandQueue(unit->context, unit->id, 0, &error);
    return hri_cl_check(error, "clCreateCommandQueue");
}

static hr_status backend_open(uint32_t index, uint32_t threads,
                              hri_device **out)
{
    HRI_TRY(hri_cl_clblast_load());
    hri_cl_device *device = calloc(1, sizeof *device);
    if (device == NULL) {
        return hri_no_memory("opencl");
    }
    device->base.ops = &device_ops;
    device->base.backend = &hri_backend_opencl;
    hr_status status = open_device(index, threads, device);
    if (status != HR_OK) {
        device_close(&device->base);
        return status;
    }
    *out = &device->base;
    return HR_OK;
}

const hri_backend hri_backend_opencl = {
    .abi = HRI_HAL_ABI,
    .name = "opencl",
    .probe = hri_cl_unit_count,
    .describe = backend_describe,
    .open = backend_open,
};
