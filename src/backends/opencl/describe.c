/* SPDX-License-Identifier: MIT */
/* What is known of an OpenCL device without opening it. */
#include <stdio.h>
#include <string.h>

#include "backends/opencl/opencl.h"

/* Memory that the host can still give, MemAvailable of /proc/meminfo; 0 when
 * it cannot be read. */
static uint64_t host_available(void)
{
    char line[128];
    unsigned long long kib = 0;
    FILE *file = fopen("/proc/meminfo", "r");
    if (file == NULL) {
        return 0;
    }
    while (fgets(line, sizeof line, file) != NULL &&
           sscanf(line, "MemAvailable: %llu", &kib) != 1) {
    }
    fclose(file);
    return (uint64_t)kib * 1024;
}

/* A GPU's whole memory where the driver does not tell what is free of it; a
 * CPU's is shared with everything else. */
static uint64_t free_bytes(const hri_cl_unit *unit, bool cpu, uint64_t all)
{
    size_t amd_kib[2] = {0, 0}; /* free, and the largest free block */
    uint64_t free = 0;
    if (cpu) {
        free = host_available();
    } else if (hri_cl.clGetDeviceInfo(
                   unit->id, CL_DEVICE_GLOBAL_FREE_MEMORY_AMD, sizeof amd_kib,
                   amd_kib, NULL) == CL_SUCCESS) {
        free = (uint64_t)amd_kib[0] * 1024;
    }
    return free != 0 && free < all ? free : all;
}

static void pci_id(hri_device_info *info, uint32_t domain, uint32_t bus,
                   uint32_t device, uint32_t function)
{
    snprintf(info->physical_id, sizeof info->physical_id,
             "pci:%04x:%02x:%02x.%x", domain, bus, device, function);
}

static bool nvidia_pci_id(const hri_cl_unit *unit, hri_device_info *info)
{
    uint32_t bus, slot;
    if (!hri_cl_unit_extension(unit, "cl_nv_device_attribute_query") ||
        hri_cl.clGetDeviceInfo(unit->id, CL_DEVICE_PCI_BUS_ID_NV, sizeof bus,
                               &bus, NULL) != CL_SUCCESS ||
        hri_cl.clGetDeviceInfo(unit->id, CL_DEVICE_PCI_SLOT_ID_NV, sizeof slot,
                               &slot, NULL) != CL_SUCCESS) {
        return false;
    }
    uint32_t domain =
        (uint32_t)hri_cl_unit_number(unit, CL_DEVICE_PCI_DOMAIN_ID_NV);
    pci_id(info, domain, bus, slot >> 3, slot & 7); /* slot: PCI's devfn */
    return true;
}

/* The PCI address, which other backends know too; else the UUID; else "". */
static void physical_id(const hri_cl_unit *unit, hri_device_info *info)
{
    uint32_t pci[4]; /* domain, bus, device, function */
    unsigned char uuid[16];
    if (hri_cl_unit_extension(unit, "cl_khr_pci_bus_info") &&
        hri_cl.clGetDeviceInfo(unit->id, CL_DEVICE_PCI_BUS_INFO_KHR, sizeof pci,
                               pci, NULL) == CL_SUCCESS) {
        pci_id(info, pci[0], pci[1], pci[2], pci[3]);
    } else if (!nvidia_pci_id(unit, info) &&
               hri_cl_unit_extension(unit, "cl_khr_device_uuid") &&
               hri_cl.clGetDeviceInfo(unit->id, CL_DEVICE_UUID_KHR, sizeof uuid,
                                      uuid, NULL) == CL_SUCCESS) {
        int at = snprintf(info->physical_id, sizeof info->physical_id, "uuid:");
        for (ptrdiff_t i = 0; i < 16; i++) {
            snprintf(info->physical_id + at + 2 * i, 3, "%02x", uuid[i]);
        }
    }
}

/* A text of the device, cut where it does not fit. */
static void text(const hri_cl_unit *unit, cl_uint what, char *to, size_t bytes)
{
    char whole[1024] = "";
    if (!hri_cl_unit_text(unit, what, whole, sizeof whole)) {
        strcpy(whole, "?");
    }
    const char *start = whole + strspn(whole, " ");
    snprintf(to, bytes, "%s", start);
}

/* Drivers tell of themselves and of their compiler in several texts; without
 * one of them nothing is kept. */
static void target(const hri_cl_unit *unit, char *to, size_t bytes)
{
    char version[160] = "", name[128] = "", device[160] = "", driver[64] = "";
    cl_platform_id platform = NULL;
    bool told =
        hri_cl.clGetDeviceInfo(unit->id, CL_DEVICE_PLATFORM, sizeof platform,
                               &platform, NULL) == CL_SUCCESS &&
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

hr_status hri_cl_describe(const hri_cl_unit *unit, hri_device_info *info)
{
    hri_device_info d = {.staged = true};
    uint64_t type = hri_cl_unit_number(unit, CL_DEVICE_TYPE);
    snprintf(d.path, sizeof d.path, "opencl:%u:%u", unit->platform_index,
             unit->device_index);
    text(unit, CL_DEVICE_NAME, d.name, sizeof d.name);
    snprintf(d.arithmetic, sizeof d.arithmetic, "%s", hri_cl_arithmetic_name());
    target(unit, d.target, sizeof d.target);
    physical_id(unit, &d);
    d.memory_bytes = hri_cl_unit_number(unit, CL_DEVICE_GLOBAL_MEM_SIZE);
    d.emulated = (type & CL_DEVICE_TYPE_CPU) != 0;
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
