/* SPDX-License-Identifier: MIT */
#include "backends/opencl/api.h"

#include <stdbool.h>
#include <string.h>

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

static hr_status load(void)
{
    /* Loaders take drivers from where OCL_ICD_VENDORS says. PoCL writes to
     * POCL_CACHE_DIR. */
    hr_status status = hri_library_check_rights("OpenCL");
    status = status == HR_OK ? check_room() : status;
    return status == HR_OK
               ? hri_library_load("libOpenCL.so.1", symbols,
                                  sizeof symbols / sizeof symbols[0], &hri_cl)
               : status;
}

hr_status hri_cl_load(void)
{
    static hri_once once = HRI_ONCE_INIT;
    return hri_once_run(&once, load);
}

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
