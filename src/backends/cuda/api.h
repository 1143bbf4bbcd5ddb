/* SPDX-License-Identifier: MIT */
/* The part of the CUDA driver's binary interface that we use: types, numbers,
 * and a table of the functions found in libcuda.so.1 at run time. No CUDA
 * headers are needed to build. */
#ifndef HRI_BACKENDS_CUDA_API_H
#define HRI_BACKENDS_CUDA_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/library.h"
#include "base/status.h"

typedef int32_t cu_result, cu_device;
typedef uint64_t cu_address; /* of device memory; never 0 */
typedef struct cu_context_object *cu_context;
typedef struct cu_stream_object *cu_stream;
typedef struct cu_event_object *cu_event;
typedef struct cu_module_object *cu_module;
typedef struct cu_function_object *cu_function;
typedef struct cu_graph_object *cu_graph;
typedef struct cu_graph_exec_object *cu_graph_exec;

/* Results that our code tells apart. The driver knows the names of all. */
enum {
    CU_SUCCESS = 0,
    CU_INVALID_VALUE = 1,
    CU_OUT_OF_MEMORY = 2,
    CU_DEINITIALIZED = 4,
    CU_STUB_LIBRARY = 34,
    CU_DEVICE_UNAVAILABLE = 46,
    CU_NO_DEVICE = 100,
    CU_ECC_UNCORRECTABLE = 214,
    CU_NVLINK_UNCORRECTABLE = 220,
    CU_CONTAINED = 226,
    CU_OPERATING_SYSTEM = 304,
    CU_NOT_FOUND = 500,
    CU_NOT_READY = 600,
    CU_ILLEGAL_ADDRESS = 700,
    CU_LAUNCH_TIMEOUT = 702,
    CU_PEER_ACCESS_ALREADY_ENABLED = 704,
    CU_CONTEXT_IS_DESTROYED = 709,
    CU_ASSERT = 710,
    CU_HARDWARE_STACK_ERROR = 714,
    CU_ILLEGAL_INSTRUCTION = 715,
    CU_MISALIGNED_ADDRESS = 716,
    CU_INVALID_ADDRESS_SPACE = 717,
    CU_INVALID_PC = 718,
    CU_LAUNCH_FAILED = 719,
    CU_TENSOR_MEMORY_LEAK = 721,
    CU_EXTERNAL_DEVICE = 911,
    CU_UNKNOWN = 999
};

/* Attributes for cuDeviceGetAttribute. */
enum {
    CU_ATTRIBUTE_MAX_BLOCK_X = 2, /* y and z follow */
    CU_ATTRIBUTE_MAX_PITCH = 11,
    CU_ATTRIBUTE_MULTIPROCESSORS = 16,
    CU_ATTRIBUTE_PCI_BUS = 33,
    CU_ATTRIBUTE_PCI_DEVICE = 34,
    CU_ATTRIBUTE_PCI_DOMAIN = 50,
    CU_ATTRIBUTE_CAPABILITY_MAJOR = 75,
    CU_ATTRIBUTE_CAPABILITY_MINOR = 76,
    CU_ATTRIBUTE_MAX_SHARED_BYTES = 97 /* of a block that asks for more than
                                          usual */
};

/* Attributes for cuFuncGetAttribute. */
enum {
    CU_FUNCTION_MAX_THREADS = 0,
    CU_FUNCTION_SHARED_BYTES = 1,
    CU_FUNCTION_MAX_DYNAMIC_BYTES = 8
};

enum {
    CU_MEMORY_HOST = 1,
    CU_MEMORY_DEVICE = 2,
    CU_POINTER_MEMORY_TYPE = 2, /* for cuPointerGetAttribute */
    CU_HOST_PORTABLE = 1,       /* pinned for every context */
    CU_STREAM_NON_BLOCKING = 1, /* does not wait for the default stream */
    CU_EVENT_DEFAULT = 0,
    CU_EVENT_NO_TIME = 2,
    CU_CAPTURE_RELAXED = 2 /* other calls stay allowed meanwhile */
};

/* One end of a 2-D copy. */
typedef struct cu_end_2d {
    size_t x, y;
    uint32_t memory; /* CU_MEMORY_... */
    void *host;
    cu_address device;
    void *array;
    size_t pitch;
} cu_end_2d;

typedef struct cu_copy_2d {
    cu_end_2d from, to;
    size_t width, height;
} cu_copy_2d;

/* One end of a 3-D copy; a slice is `height` pitches. */
typedef struct cu_end_3d {
    size_t x, y, z, level;
    uint32_t memory;
    void *host;
    cu_address device;
    void *array;
    cu_context context; /* set only for copies between devices, else NULL */
    size_t pitch, height;
} cu_end_3d;

typedef struct cu_copy_3d {
    cu_end_3d from, to;
    size_t width, height, depth;
} cu_copy_3d;

typedef struct hri_cuda_api {
#define SYM(kind, result, name, args) result(*name) args;
#include "backends/cuda/symbols.inc"
#undef SYM
} hri_cuda_api;

/* Filled by hri_cuda_load, constant from then on. */
extern hri_cuda_api hri_cuda;

/* A library of NVIDIA's, and where to find it. */
typedef struct hri_cuda_library {
    const char *variable;     /* the environment variable with its file, or
                                 "off" */
    const char *const *names; /* tried when the variable is not set; ended by
                                 NULL */
    const hri_symbol *symbols;
    size_t symbol_count;
} hri_cuda_library;

/* Open the library and fill the table. It is the file that the variable names.
 * Without the variable it is the first of `names` that the loader or one of the
 * toolkit's usual folders has. *folder is the folder where it was found, or ""
 * for the loader. HR_ERROR_UNAVAILABLE, with the loader's words, when there is
 * none or it is switched off. */
hr_status hri_cuda_library_load(const hri_cuda_library *library, void *table,
                                const char **folder);

/* Whether the environment variable says "off". */
bool hri_cuda_switched_off(const char *variable);

/* Open the driver. This is done once in the life of the process, with the same
 * answer each time. HR_ERROR_UNAVAILABLE when there is no driver. Any
 * thread. */
hr_status hri_cuda_load(void);

/* "CUDA_ERROR_OUT_OF_MEMORY"; never NULL. */
const char *hri_cuda_error_name(cu_result error);

/* HR_OK for CU_SUCCESS. Otherwise set the error message, with the device's
 * path, the call's name and the error's, and return the status for it. After a
 * fault every error is HR_ERROR_LOST and names that fault (fault.c). */
hr_status hri_cuda_check(const char *path, cu_result error, const char *what);

#endif
