/* SPDX-License-Identifier: MIT */
#include "backends/cuda/api.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/library.h"

enum { OPT = false, REQ = true };

static const hri_symbol symbols[] = {
#define SYM(kind, result, name, args)                                          \
    {#name, offsetof(hri_cuda_api, name), kind},
#include "backends/cuda/symbols.inc"
#undef SYM
};

hri_cuda_api hri_cuda;
static hri_error load_error;

bool hri_cuda_switched_off(const char *variable)
{
    const char *wish = getenv(variable);
    return wish != NULL && strcmp(wish, "off") == 0;
}

/* The first of names in a folder. */
static hr_status open_in(const char *folder, const char *const *names,
                         void **library)
{
    hr_status status = HR_ERROR_UNAVAILABLE;
    for (; *names != NULL && status != HR_OK; names++) {
        char path[256];
        const char *const only[] = {path, NULL};
        snprintf(path, sizeof path, "%s%s", folder, *names);
        status = hri_library_open(only, library);
    }
    return status;
}

hr_status hri_cuda_open_library(const char *variable, const char *const *names,
                                void **library, const char **folder)
{
    static const char *const folders[] = {
        "/usr/local/cuda/lib64/", "/usr/local/cuda/targets/x86_64-linux/lib/"};
    const char *wish = getenv(variable);
    hri_error first = {0};
    *folder = "";
    if (wish != NULL && wish[0] != '\0') {
        const char *const only[] = {wish, NULL};
        return hri_library_open(only, library);
    }
    const char *const *name = names;
    for (; *name != NULL; name++) {
        const char *const only[] = {*name, NULL};
        hr_status status = hri_library_open(only, library);
        if (status == HR_OK) {
            return HR_OK;
        }
        hri_error_keep(&first, status);
    }
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
        if (open_in(folders[i], names, library) == HR_OK) {
            *folder = folders[i];
            return HR_OK;
        }
    }
    return hri_error_raise(&first);
}

static void load(void)
{
    static const char *const names[] = {"libcuda.so.1", NULL};
    const char *wish = getenv("HEADRACE_CUDA"), *folder;
    void *library = NULL;
    hr_status status =
        hri_cuda_switched_off("HEADRACE_CUDA")
            ? hri_fail(HR_ERROR_UNAVAILABLE, "switched off by HEADRACE_CUDA")
            : hri_cuda_open_library("HEADRACE_CUDA", names, &library, &folder);
    if (status == HR_OK) {
        const char *name = wish != NULL && wish[0] != '\0' ? wish : names[0];
        status =
            hri_library_resolve(library, name, symbols,
                                sizeof symbols / sizeof symbols[0], &hri_cuda);
    }
    hri_error_keep(&load_error, status);
}

hr_status hri_cuda_load(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load);
    return hri_error_raise(&load_error);
}

const char *hri_cuda_error_name(cu_result error)
{
    const char *name = NULL;
    if (hri_cuda.cuGetErrorName(error, &name) != CU_SUCCESS || name == NULL) {
        return "an unknown CUDA error";
    }
    return name;
}

/* After most errors of code that ran on the device, nothing works any more in
 * its context, which the whole process shares. */
static hr_status status_of(cu_result error)
{
    switch (error) {
    case CU_OUT_OF_MEMORY:
        return HR_ERROR_OUT_OF_MEMORY;
    case CU_DEINITIALIZED:
    case CU_ECC_UNCORRECTABLE:
    case CU_NVLINK_UNCORRECTABLE:
    case CU_CONTAINED:
    case CU_ILLEGAL_ADDRESS:
    case CU_LAUNCH_TIMEOUT:
    case CU_CONTEXT_IS_DESTROYED:
    case CU_ASSERT:
    case CU_HARDWARE_STACK_ERROR:
    case CU_ILLEGAL_INSTRUCTION:
    case CU_MISALIGNED_ADDRESS:
    case CU_INVALID_ADDRESS_SPACE:
    case CU_INVALID_PC:
    case CU_LAUNCH_FAILED:
    case CU_EXTERNAL_DEVICE:
    case CU_UNKNOWN:
        return HR_ERROR_LOST;
    case CU_DEVICE_UNAVAILABLE:
    case CU_NO_DEVICE:
    case CU_STUB_LIBRARY:
        return HR_ERROR_UNAVAILABLE;
    default:
        return HR_ERROR_BACKEND;
    }
}

hr_status hri_cuda_check(const char *path, cu_result error, const char *what)
{
    if (error == CU_SUCCESS) {
        return HR_OK;
    }
    return hri_fail(status_of(error), "%s: %s failed with %s (%d)", path, what,
                    hri_cuda_error_name(error), (int)error);
}
