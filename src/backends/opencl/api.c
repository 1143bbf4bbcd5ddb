/* SPDX-License-Identifier: MIT */
/* OpenCL itself: opening it, its errors, and questions about devices. */
#include <stdlib.h>
#include <string.h>

#include "backends/opencl/opencl.h"
#include "base/cpus.h"
#include "base/library.h"

static const hri_symbol symbols[] = {
#define SYM(kind, result, name, args) {#name, offsetof(hri_cl_api, name), kind},
#include "backends/opencl/symbols.inc"
#undef SYM
};

hri_cl_api hri_cl;

/* PoCL and its compiler take 512 MiB with one thread and 20 MiB more for each
 * other one (PoCL 3.1 on an AMD EPYC, November 2026). With less PoCL ends the
 * process, or leaves no room for our own threads. */
static hr_status check_room(void)
{
    const size_t each = (size_t)64 << 20;
    return hri_library_check_room("OpenCL's drivers",
                                  (12 + (size_t)hri_cpu_count()) * each);
}

static hr_status load_opencl(void)
{
    /* Loaders take drivers from where OCL_ICD_VENDORS says. PoCL writes to
     * POCL_CACHE_DIR. */
    HRI_TRY(hri_library_check_rights("OpenCL"));
    HRI_TRY(check_room());
    return hri_library_load("libOpenCL.so.1", symbols,
                            sizeof symbols / sizeof symbols[0], &hri_cl);
}

hr_status hri_cl_load(void)
{
    static hri_once once = HRI_ONCE_INIT;
    return hri_once_run(&once, load_opencl);
}

/* ---- errors */

static const struct {
    cl_int error;
    const char *name;
} error_names[] = {
    {0, "CL_SUCCESS"},
    {-1, "CL_DEVICE_NOT_FOUND"},
    {-2, "CL_DEVICE_NOT_AVAILABLE"},
    {-3, "CL_COMPILER_NOT_AVAILABLE"},
    {-4, "CL_MEM_OBJECT_ALLOCATION_FAILURE"},
    {-5, "CL_OUT_OF_RESOURCES"},
    {-6, "CL_OUT_OF_HOST_MEMORY"},
    {-7, "CL_PROFILING_INFO_NOT_AVAILABLE"},
    {-8, "CL_MEM_COPY_OVERLAP"},
    {-11, "CL_BUILD_PROGRAM_FAILURE"},
    {-12, "CL_MAP_FAILURE"},
    {-13, "CL_MISALIGNED_SUB_BUFFER_OFFSET"},
    {-14, "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST"},
    {-15, "CL_COMPILE_PROGRAM_FAILURE"},
    {-16, "CL_LINKER_NOT_AVAILABLE"},
    {-17, "CL_LINK_PROGRAM_FAILURE"},
    {-30, "CL_INVALID_VALUE"},
    {-31, "CL_INVALID_DEVICE_TYPE"},
    {-32, "CL_INVALID_PLATFORM"},
    {-33, "CL_INVALID_DEVICE"},
    {-34, "CL_INVALID_CONTEXT"},
    {-35, "CL_INVALID_QUEUE_PROPERTIES"},
    {-36, "CL_INVALID_COMMAND_QUEUE"},
    {-37, "CL_INVALID_HOST_PTR"},
    {-38, "CL_INVALID_MEM_OBJECT"},
    {-42, "CL_INVALID_BINARY"},
    {-43, "CL_INVALID_BUILD_OPTIONS"},
    {-44, "CL_INVALID_PROGRAM"},
    {-45, "CL_INVALID_PROGRAM_EXECUTABLE"},
    {-46, "CL_INVALID_KERNEL_NAME"},
    {-47, "CL_INVALID_KERNEL_DEFINITION"},
    {-48, "CL_INVALID_KERNEL"},
    {-49, "CL_INVALID_ARG_INDEX"},
    {-50, "CL_INVALID_ARG_VALUE"},
    {-51, "CL_INVALID_ARG_SIZE"},
    {-52, "CL_INVALID_KERNEL_ARGS"},
    {-53, "CL_INVALID_WORK_DIMENSION"},
    {-54, "CL_INVALID_WORK_GROUP_SIZE"},
    {-55, "CL_INVALID_WORK_ITEM_SIZE"},
    {-56, "CL_INVALID_GLOBAL_OFFSET"},
    {-57, "CL_INVALID_EVENT_WAIT_LIST"},
    {-58, "CL_INVALID_EVENT"},
    {-59, "CL_INVALID_OPERATION"},
    {-61, "CL_INVALID_BUFFER_SIZE"},
    {-63, "CL_INVALID_GLOBAL_WORK_SIZE"},
    {-64, "CL_INVALID_PROPERTY"},
    {-1001, "CL_PLATFORM_NOT_FOUND_KHR"},
    {-9999, "illegal access in a kernel (NVIDIA -9999)"},
};

const char *hri_cl_error_name(cl_int error)
{
    for (size_t i = 0; i < sizeof error_names / sizeof error_names[0]; i++) {
        if (error_names[i].error == error) {
            return error_names[i].name;
        }
    }
    return "an unknown OpenCL error";
}

/* After CL_OUT_OF_RESOURCES, and after the faults that NVIDIA's driver reports
 * as CL_INVALID_COMMAND_QUEUE, nothing in the context works any more. They
 * count as a lost device. */
static hr_status status_of(cl_int error)
{
    switch (error) {
    case CL_MEM_OBJECT_ALLOCATION_FAILURE:
    case CL_OUT_OF_HOST_MEMORY:
    case CL_INVALID_BUFFER_SIZE:
        return HR_ERROR_OUT_OF_MEMORY;
    case CL_DEVICE_NOT_AVAILABLE:
    case CL_OUT_OF_RESOURCES:
    case CL_INVALID_COMMAND_QUEUE:
    case CL_MEMORY_FAULT_NV:
        return HR_ERROR_LOST;
    case CL_DEVICE_NOT_FOUND:
    case CL_PLATFORM_NOT_FOUND_KHR:
        return HR_ERROR_UNAVAILABLE;
    case CL_COMPILER_NOT_AVAILABLE:
        return HR_ERROR_UNSUPPORTED;
    case CL_BUILD_PROGRAM_FAILURE:
        return HR_ERROR_BUILD;
    default:
        return HR_ERROR_BACKEND;
    }
}

hr_status hri_cl_check(cl_int error, const char *what)
{
    if (error == CL_SUCCESS) {
        return HR_OK;
    }
    return hri_fail(status_of(error), "OpenCL: %s failed with %s (%d)", what,
                    hri_cl_error_name(error), (int)error);
}

/* ---- questions about devices */

bool hri_cl_unit_ask(const hri_cl_unit *unit, cl_uint what, size_t bytes,
                     void *answer)
{
    return hri_cl.clGetDeviceInfo(unit->id, what, bytes, answer, NULL) ==
           CL_SUCCESS;
}

uint64_t hri_cl_unit_number(const hri_cl_unit *unit, cl_uint what)
{
    uint64_t number = 0; /* little-endian: 4 and 8 bytes both fit */
    return hri_cl_unit_ask(unit, what, sizeof number, &number) ? number : 0;
}

bool hri_cl_unit_text(const hri_cl_unit *unit, cl_uint what, char *text,
                      size_t bytes)
{
    memset(text, 0, bytes);
    return hri_cl_unit_ask(unit, what, bytes - 1, text);
}

bool hri_cl_unit_is_ieee(const hri_cl_unit *unit)
{
    const uint64_t wanted =
        CL_FP_DENORM | CL_FP_INF_NAN | CL_FP_ROUND_TO_NEAREST;
    return (hri_cl_unit_number(unit, CL_DEVICE_SINGLE_FP_CONFIG) & wanted) ==
           wanted;
}

bool hri_cl_unit_divides(const hri_cl_unit *unit)
{
    return (hri_cl_unit_number(unit, CL_DEVICE_SINGLE_FP_CONFIG) &
            CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT) != 0;
}

bool hri_cl_unit_is_pocl(const hri_cl_unit *unit)
{
    char version[256] = "";
    hri_cl_unit_text(unit, CL_DEVICE_VERSION, version, sizeof version);
    return strstr(version, "PoCL") != NULL || strstr(version, "pocl") != NULL;
}

bool hri_cl_unit_extension(const hri_cl_unit *unit, const char *name)
{
    size_t bytes = 0, length = strlen(name);
    bool found = false;
    if (hri_cl.clGetDeviceInfo(unit->id, CL_DEVICE_EXTENSIONS, 0, NULL,
                               &bytes) != CL_SUCCESS) {
        return false;
    }
    char *list = calloc(bytes + 1, 1);
    if (list != NULL &&
        hri_cl_unit_ask(unit, CL_DEVICE_EXTENSIONS, bytes, list)) {
        for (const char *at = list; !found && (at = strstr(at, name)) != NULL;
             at += length) {
            found = (at == list || at[-1] == ' ') &&
                    (at[length] == ' ' || at[length] == '\0');
        }
    }
    free(list);
    return found;
}
