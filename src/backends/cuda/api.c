/* SPDX-License-Identifier: MIT */
#include "backends/cuda/cuda.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/environment.h"

static const hri_symbol symbols[] = {
#define SYM(kind, result, name, args)                                          \
    {#name, offsetof(hri_cuda_api, name), kind},
#include "backends/cuda/symbols.inc"
#undef SYM
};

hri_cuda_api hri_cuda;

bool hri_cuda_switched_off(const char *variable)
{
    const char *wish = hri_environment(variable);
    return wish != NULL && strcmp(wish, "off") == 0;
}

static hr_status load_from(const char *folder, const char *name,
                           const hri_cuda_library *library, void *table)
{
    char path[256];
    const char *file = name;
    if (folder[0] != '\0') {
        snprintf(path, sizeof path, "%s%s", folder, name);
        file = path;
    }
    return hri_library_load(file, library->symbols, library->symbol_count,
                            table);
}

hr_status hri_cuda_library_load(const hri_cuda_library *library, void *table,
                                const char **folder)
{
    static const char *const folders[] = {
        "", "/usr/local/cuda/lib64/",
        "/usr/local/cuda/targets/x86_64-linux/lib/"};
    const char *wish = hri_environment(library->variable);
    hri_error first = {0};
    if (hri_cuda_switched_off(library->variable)) {
        return hri_fail(HR_ERROR_UNAVAILABLE, "%s is off", library->variable);
    }
    *folder = "";
    if (wish != NULL && wish[0] != '\0') {
        return load_from("", wish, library, table);
    }
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
        for (const char *const *name = library->names; *name != NULL; name++) {
            hr_status status = load_from(folders[i], *name, library, table);
            if (status == HR_OK) {
                *folder = folders[i];
                return HR_OK;
            }
            hri_error_keep(&first, status);
        }
    }
    return hri_error_raise(&first);
}

static hr_status load_driver(void)
{
    static const char *const names[] = {"libcuda.so.1", NULL};
    static const hri_cuda_library driver = {"HEADRACE_CUDA", names, symbols,
                                            sizeof symbols / sizeof symbols[0]};
    const char *folder;
    /* The driver loads what CUDA_INJECTION64_PATH names, and writes to
     * CUDA_CACHE_PATH. */
    HRI_TRY(hri_library_check_rights("CUDA"));
    return hri_cuda_library_load(&driver, &hri_cuda, &folder);
}

hr_status hri_cuda_load(void)
{
    static hri_once once = HRI_ONCE_INIT;
    return hri_once_run(&once, load_driver);
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
 * its context, which the whole process shares. So they count as a lost
 * device. After many of them no device works any more (fault.c). */
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
    case CU_TENSOR_MEMORY_LEAK:
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
    if (hri_cuda_keep_fault(path, error)) {
        return hri_fail(HR_ERROR_LOST,
                        "%s: %s failed with %s (%d), as %s; only a new process "
                        "can use NVIDIA's GPUs",
                        path, what, hri_cuda_error_name(error), (int)error,
                        hri_cuda_fault_cause());
    }
    HRI_TRY(hri_cuda_fault_check(path));
    return hri_fail(status_of(error), "%s: %s failed with %s (%d)", path, what,
                    hri_cuda_error_name(error), (int)error);
}
