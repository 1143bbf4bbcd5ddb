/* SPDX-License-Identifier: MIT */
/* The OpenCL devices of this machine, and the context of each. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backends/opencl/opencl.h"
#include "base/library.h"

static struct {
    hri_once found;
    hri_cl_unit *units;
    uint32_t count;
    pid_t process; /* that has found them */
} machine = {.found = HRI_ONCE_INIT};

/* Whether we can use it: we need OpenCL 1.2, a compiler and the host's byte
 * order. */
static bool is_usable(const hri_cl_unit *unit)
{
    char version[256] = "";
    hri_cl_unit_text(unit, CL_DEVICE_VERSION, version, sizeof version);
    return hri_cl_unit_number(unit, CL_DEVICE_AVAILABLE) != 0 &&
           hri_cl_unit_number(unit, CL_DEVICE_COMPILER_AVAILABLE) != 0 &&
           hri_cl_unit_number(unit, CL_DEVICE_ENDIAN_LITTLE) != 0 &&
           strncmp(version, "OpenCL ", 7) == 0 &&
           strcmp(version + 7, "1.2") >= 0;
}

static hr_status add_units(cl_platform_id platform, uint32_t index)
{
    cl_flags kinds = CL_DEVICE_TYPE_ALL & ~(cl_flags)CL_DEVICE_TYPE_CUSTOM;
    cl_uint count = 0;
    if (hri_cl.clGetDeviceIDs(platform, kinds, 0, NULL, &count) != CL_SUCCESS ||
        count == 0) {
        return HR_OK; /* CL_DEVICE_NOT_FOUND, or a driver without hardware */
    }
    cl_device_id *ids = calloc(count, sizeof *ids);
    hri_cl_unit *units =
        realloc(machine.units, (machine.count + count) * sizeof *units);
    machine.units = units != NULL ? units : machine.units;
    if (ids == NULL || units == NULL) {
        free(ids);
        return hri_no_memory("opencl");
    }
    if (hri_cl.clGetDeviceIDs(platform, kinds, count, ids, NULL) !=
        CL_SUCCESS) {
        count = 0;
    }
    for (cl_uint i = 0; i < count; i++) {
        hri_cl_unit unit = {.id = ids[i]};
        snprintf(unit.path, sizeof unit.path, "opencl:%u:%u", index, i);
        if (is_usable(&unit)) {
            unit.layout = hri_cl_layout_for(&unit);
            unit.nvidia =
                hri_cl_unit_extension(&unit, "cl_nv_compiler_options");
            units[machine.count++] = unit;
        }
    }
    free(ids);
    return HR_OK;
}

static hr_status find_units(void)
{
    cl_platform_id platforms[64];
    cl_uint count = 0;
    HRI_TRY(hri_cl_load());
    machine.process = getpid();
    cl_int error = hri_cl.clGetPlatformIDs(64, platforms, &count);
    if (error != CL_SUCCESS || count == 0) {
        return hri_fail(HR_ERROR_UNAVAILABLE,
                        "libOpenCL.so.1 is there, but no OpenCL driver (%s)",
                        hri_cl_error_name(error));
    }
    for (cl_uint i = 0; i < count && i < 64; i++) {
        HRI_TRY(add_units(platforms[i], i));
    }
    for (uint32_t i = 0; i < machine.count; i++) {
        pthread_mutex_init(&machine.units[i].lock, NULL);
    }
    return machine.count > 0
               ? HR_OK
               : hri_fail(HR_ERROR_UNAVAILABLE,
                          "OpenCL has %u driver%s, but no device of version "
                          "1.2 or later with a compiler",
                          count, count == 1 ? "" : "s");
}

hr_status hri_cl_unit_count(uint32_t *count)
{
    HRI_TRY(hri_once_run(&machine.found, find_units));
    HRI_TRY(hri_library_check_process("OpenCL", machine.process));
    *count = machine.count;
    return HR_OK;
}

hri_cl_unit *hri_cl_unit_at(uint32_t index)
{
    return &machine.units[index];
}

/* NULL: the driver cannot divide the device, or there is no memory. */
static hri_cl_unit *make_sub_device(const hri_cl_unit *unit, uint32_t threads)
{
    const intptr_t counts[] = {CL_DEVICE_PARTITION_BY_COUNTS, (intptr_t)threads,
                               0, 0};
    hri_cl_unit *sub_device = calloc(1, sizeof *sub_device);
    if (sub_device == NULL ||
        hri_cl.clCreateSubDevices(unit->id, counts, 1, &sub_device->id, NULL) !=
            CL_SUCCESS) {
        free(sub_device);
        return NULL;
    }
    memcpy(sub_device->path, unit->path, sizeof sub_device->path);
    sub_device->layout = unit->layout;
    pthread_mutex_init(&sub_device->lock, NULL);
    return sub_device;
}

static uint64_t compute_units(const hri_cl_unit *unit)
{
    return hri_cl_unit_number(unit, CL_DEVICE_MAX_COMPUTE_UNITS);
}

hri_cl_unit *hri_cl_unit_within(hri_cl_unit *unit, uint32_t threads)
{
    if ((hri_cl_unit_number(unit, CL_DEVICE_TYPE) & CL_DEVICE_TYPE_CPU) == 0 ||
        compute_units(unit) <= threads) {
        return unit;
    }
    pthread_mutex_lock(&unit->lock);
    hri_cl_unit *sub_device = unit->sub_devices;
    while (sub_device != NULL && compute_units(sub_device) != threads) {
        sub_device = sub_device->next;
    }
    if (sub_device == NULL &&
        (sub_device = make_sub_device(unit, threads)) != NULL) {
        sub_device->next = unit->sub_devices;
        unit->sub_devices = sub_device;
    }
    pthread_mutex_unlock(&unit->lock);
    return sub_device != NULL ? sub_device : unit;
}

hr_status hri_cl_unit_acquire(hri_cl_unit *unit)
{
    cl_int error = CL_SUCCESS;
    hr_status status = HR_OK;
    pthread_mutex_lock(&unit->lock);
    if (unit->opens == 0) {
        unit->context =
            hri_cl.clCreateContext(NULL, 1, &unit->id, NULL, NULL, &error);
        status = hri_cl_check(error, "clCreateContext");
    }
    unit->opens += status == HR_OK;
    pthread_mutex_unlock(&unit->lock);
    return status;
}

void hri_cl_unit_release(hri_cl_unit *unit)
{
    pthread_mutex_lock(&unit->lock);
    if (--unit->opens == 0) {
        hri_cl_programs_release(unit);
        hri_cl_clblast_forget();
        hri_cl.clReleaseContext(unit->context);
        unit->context = NULL;
    }
    pthread_mutex_unlock(&unit->lock);
}
