/* SPDX-License-Identifier: MIT */
/* The part of OpenCL's binary interface that we use: types and constants of the
 * OpenCL 1.2 specification, and a table of the functions found in
 * libOpenCL.so.1 at run time. No OpenCL headers are needed to build. */
#ifndef HRI_BACKENDS_OPENCL_API_H
#define HRI_BACKENDS_OPENCL_API_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

typedef int32_t cl_int;
typedef uint32_t cl_uint, cl_bool;
typedef uint64_t cl_ulong, cl_flags;
typedef struct cl_platform_object *cl_platform_id;
typedef struct cl_device_object *cl_device_id;
typedef struct cl_context_object *cl_context;
typedef struct cl_queue_object *cl_command_queue;
typedef struct cl_mem_object *cl_mem;
typedef struct cl_program_object *cl_program;
typedef struct cl_kernel_object *cl_kernel;
typedef struct cl_event_object *cl_event;

/* Errors that our code tells apart. api.c has the names of all. */
enum {
    CL_SUCCESS = 0,
    CL_DEVICE_NOT_FOUND = -1,
    CL_DEVICE_NOT_AVAILABLE = -2,
    CL_COMPILER_NOT_AVAILABLE = -3,
    CL_MEM_OBJECT_ALLOCATION_FAILURE = -4,
    CL_OUT_OF_RESOURCES = -5,
    CL_OUT_OF_HOST_MEMORY = -6,
    CL_BUILD_PROGRAM_FAILURE = -11,
    CL_MAP_FAILURE = -12,
    CL_INVALID_COMMAND_QUEUE = -36,
    CL_INVALID_KERNEL_NAME = -46,
    CL_INVALID_BUFFER_SIZE = -61,
    CL_PLATFORM_NOT_FOUND_KHR = -1001,
    CL_MEMORY_FAULT_NV = -9999
};

enum {
    CL_PLATFORM_VERSION = 0x0901,
    CL_DEVICE_TYPE = 0x1000,
    CL_DEVICE_MAX_COMPUTE_UNITS = 0x1002,
    CL_DEVICE_MAX_WORK_GROUP_SIZE = 0x1004,
    CL_DEVICE_MAX_WORK_ITEM_SIZES = 0x1005,
    CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT = 0x103A,
    CL_DEVICE_NATIVE_VECTOR_WIDTH_DOUBLE = 0x103B,
    CL_DEVICE_MAX_MEM_ALLOC_SIZE = 0x1010,
    CL_DEVICE_GLOBAL_MEM_SIZE = 0x101F,
    CL_DEVICE_LOCAL_MEM_SIZE = 0x1023,
    CL_DEVICE_SINGLE_FP_CONFIG = 0x101B,
    CL_DEVICE_ENDIAN_LITTLE = 0x1026,
    CL_DEVICE_AVAILABLE = 0x1027,
    CL_DEVICE_COMPILER_AVAILABLE = 0x1028,
    CL_DEVICE_NAME = 0x102B,
    CL_DRIVER_VERSION = 0x102D,
    CL_DEVICE_VERSION = 0x102F,
    CL_DEVICE_EXTENSIONS = 0x1030,
    CL_DEVICE_PLATFORM = 0x1031,
    CL_DEVICE_DOUBLE_FP_CONFIG = 0x1032,
    CL_DEVICE_OPENCL_C_VERSION = 0x103D,
    CL_DEVICE_PCI_BUS_ID_NV = 0x4008,
    CL_DEVICE_PCI_SLOT_ID_NV = 0x4009,
    CL_DEVICE_PCI_DOMAIN_ID_NV = 0x400A,
    CL_DEVICE_GLOBAL_FREE_MEMORY_AMD = 0x4039,
    CL_DEVICE_UUID_KHR = 0x106A,
    CL_DEVICE_PCI_BUS_INFO_KHR = 0x410F,
    CL_PROGRAM_BINARY_SIZES = 0x1165,
    CL_PROGRAM_BINARIES = 0x1166,
    CL_PROGRAM_NUM_KERNELS = 0x1167,
    CL_PROGRAM_BUILD_LOG = 0x1183,
    CL_BUFFER_CREATE_TYPE_REGION = 0x1220,
    CL_KERNEL_WORK_GROUP_SIZE = 0x11B0,
    CL_KERNEL_LOCAL_MEM_SIZE = 0x11B2,
    CL_EVENT_COMMAND_EXECUTION_STATUS = 0x11D3,
    CL_PROFILING_COMMAND_END = 0x1283
};

enum {
    CL_COMPLETE = 0,
    CL_FALSE = 0,
    CL_TRUE = 1,
    CL_DEVICE_TYPE_CPU = 1 << 1,
    CL_DEVICE_PARTITION_BY_COUNTS = 0x1087,
    CL_DEVICE_TYPE_CUSTOM = 1 << 4,
    CL_QUEUE_PROFILING_ENABLE = 1 << 1,
    CL_FP_DENORM = 1 << 0,
    CL_FP_INF_NAN = 1 << 1,
    CL_FP_ROUND_TO_NEAREST = 1 << 2,
    CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT = 1 << 7,
    CL_MEM_READ_WRITE = 1 << 0,
    CL_MEM_READ_ONLY = 1 << 2,
    CL_MEM_ALLOC_HOST_PTR = 1 << 4,
    CL_MEM_COPY_HOST_PTR = 1 << 5,
    CL_MAP_READ = 1 << 0,
    CL_MAP_WRITE = 1 << 1
};

typedef struct cl_buffer_region {
    size_t origin, size;
} cl_buffer_region;

#define CL_DEVICE_TYPE_ALL ((cl_flags)0xFFFFFFFF)

typedef struct hri_cl_api {
#define SYM(kind, result, name, args) result(*name) args;
#include "backends/opencl/symbols.inc"
#undef SYM
} hri_cl_api;

/* Filled by hri_cl_load, constant from then on. */
extern hri_cl_api hri_cl;

/* Open the loader. This is done once in the life of the process, with the same
 * answer each time. HR_ERROR_UNAVAILABLE when there is no loader. Any
 * thread. */
hr_status hri_cl_load(void);

/* "CL_OUT_OF_RESOURCES"; never NULL. */
const char *hri_cl_error_name(cl_int error);

/* HR_OK for CL_SUCCESS. Otherwise set the error message, with the call's name
 * and the error's, and return the status for it. */
hr_status hri_cl_check(cl_int error, const char *what);

#endif
