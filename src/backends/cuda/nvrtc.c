/* SPDX-License-Identifier: MIT */
/* NVRTC: opening it, and compiling source for a device. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/cuda/cuda.h"

typedef struct nvrtc_program_object *nvrtc_program;

enum { MAX_OPTIONS = 32, MAX_TARGETS = 128 };

typedef struct nvrtc_api {
#define SYM(kind, result, name, args) result(*name) args;
#include "backends/cuda/nvrtc.inc"
#undef SYM
} nvrtc_api;

static const hri_symbol symbols[] = {
#define SYM(kind, result, name, args) {#name, offsetof(nvrtc_api, name), kind},
#include "backends/cuda/nvrtc.inc"
#undef SYM
};

/* Written once, by find_nvrtc. */
static nvrtc_api api;
static char library_name[32];
static int library_major;

/* NVRTC opens a second library of its version by name. The loader does not find
 * it in the toolkit's folder, so it is opened here first. */
static void open_companion(const char *folder, int major, int minor)
{
    char path[256];
    snprintf(path, sizeof path, "%slibnvrtc-builtins.so.%d.%d", folder, major,
             minor);
    (void)dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

static hr_status find_nvrtc(void)
{
    static const char *const names[] = {"libnvrtc.so.13", "libnvrtc.so.12",
                                        "libnvrtc.so.11.2", NULL};
    static const hri_cuda_library library = {
        "HEADRACE_NVRTC", names, symbols, sizeof symbols / sizeof symbols[0]};
    const char *folder;
    int major = 0, minor = 0;
    HRI_TRY(hri_cuda_library_load(&library, &api, &folder));
    if (api.nvrtcVersion(&major, &minor) != 0) {
        return hri_fail(HR_ERROR_UNAVAILABLE,
                        "NVRTC does not tell its version");
    }
    if (folder[0] != '\0') {
        open_companion(folder, major, minor);
    }
    library_major = major;
    snprintf(library_name, sizeof library_name, "NVRTC %d.%d", major, minor);
    return HR_OK;
}

hr_status hri_nvrtc_load(void)
{
    static hri_once once = HRI_ONCE_INIT;
    return hri_once_run(&once, find_nvrtc);
}

const char *hri_nvrtc_name(void)
{
    return hri_nvrtc_load() == HR_OK ? library_name : "";
}

int hri_nvrtc_major(void)
{
    return hri_nvrtc_load() == HR_OK ? library_major : 0;
}

/* The best target that the compiler knows for a device: its capability, else
 * the largest below it. 0 for a device that is too old. */
static int target_for(int capability)
{
    int targets[MAX_TARGETS], count = 0, best = 0;
    if (api.nvrtcGetNumSupportedArchs(&count) != 0 || count > MAX_TARGETS ||
        api.nvrtcGetSupportedArchs(targets) != 0) {
        return capability;
    }
    for (int i = 0; i < count; i++) {
        if (targets[i] <= capability && targets[i] > best) {
            best = targets[i];
        }
    }
    return best;
}

static hr_status build_failed(const char *path, const hr_kernel *kernel,
                              nvrtc_program program, int error)
{
    size_t bytes = 0;
    char *log = NULL;
    if (api.nvrtcGetProgramLogSize(program, &bytes) == 0) {
        log = calloc(bytes + 1, 1);
    }
    if (log != NULL) {
        (void)api.nvrtcGetProgramLog(program, log);
    }
    hr_status status = hri_build_failed(
        path, kernel, api.nvrtcGetErrorString(error), log, NULL);
    free(log);
    return status;
}

/* Fetch the machine code or PTX of a program that has been compiled. */
static hr_status fetch_code(const char *path, nvrtc_program program,
                            bool machine_code, char **image, size_t *bytes)
{
    int error = machine_code ? api.nvrtcGetCUBINSize(program, bytes)
                             : api.nvrtcGetPTXSize(program, bytes);
    char *text = error == 0 ? calloc(*bytes + 1, 1) : NULL;
    if (text != NULL) {
        error = machine_code ? api.nvrtcGetCUBIN(program, text)
                             : api.nvrtcGetPTX(program, text);
    }
    if (text != NULL && error == 0) {
        *image = text;
        return HR_OK;
    }
    free(text);
    return hri_fail(error != 0 ? HR_ERROR_BACKEND : HR_ERROR_OUT_OF_MEMORY,
                    "%s: NVRTC gives no code: %s", path,
                    error != 0 ? api.nvrtcGetErrorString(error)
                               : "out of host memory");
}

hr_status hri_nvrtc_compile(const char *path, const hr_kernel *kernel,
                            const char *source, int capability,
                            const char *const *options, char **image,
                            size_t *bytes)
{
    const char *all[MAX_OPTIONS];
    char target_option[48];
    size_t size = 0;
    nvrtc_program program = NULL;
    HRI_TRY(hri_nvrtc_load());
    int target = target_for(capability), count = 0;
    if (target == 0) {
        return hri_fail(
            HR_ERROR_UNSUPPORTED,
            "%s: %s no longer compiles for devices of capability %d.%d", path,
            library_name, capability / 10, capability % 10);
    }
    const bool named = options[0] != NULL &&
                       strncmp(options[0], "--gpu-architecture=", 19) == 0;
    snprintf(target_option, sizeof target_option, "--gpu-architecture=%s_%d",
             target == capability ? "sm" : "compute", target);
    if (!named) {
        all[count++] = target_option;
    }
    while (*options != NULL && count < MAX_OPTIONS) {
        all[count++] = *options++;
    }
    int error =
        api.nvrtcCreateProgram(&program, source, "kernel.cu", 0, NULL, NULL);
    if (error != 0) {
        return hri_fail(HR_ERROR_BACKEND, "%s: nvrtcCreateProgram failed: %s",
                        path, api.nvrtcGetErrorString(error));
    }
    error = api.nvrtcCompileProgram(program, count, all);
    hr_status status =
        error != 0
            ? build_failed(path, kernel, program, error)
            : fetch_code(path, program, target == capability, image, &size);
    api.nvrtcDestroyProgram(&program);
    HRI_TRY(status);
    if (bytes != NULL) {
        *bytes = size;
    }
    return HR_OK;
}
