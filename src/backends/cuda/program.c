/* SPDX-License-Identifier: MIT */
/* Compiling the gemm kernel for a capability and a type, and loading it. */
#include <stdio.h>
#include <stdlib.h>

#include "backends/cuda/cuda.h"

extern const char hri_cuda_gemm_source[]; /* kernels/cuda/gemm.cu */

/* How the kernel is laid out, see there. */
typedef struct layout {
    int wm, wn, rm, rn, v, kc, pad, blocks;
} layout;

/* Those of the OpenCL kernel. NVIDIA H200, CUDA 13.0, 2026-11, 16384^3 for f16,
 * bf16 and i8, 8192^3 for f32 and f64, 4096^3 for c32 and c64, TFLOP/s: f32
 * 41.4, f64 20.0, c32 37.2, c64 18.5, f16 35.1, bf16 35.6, i8 28.6. Where
 * blocks is more than 1 it was 16.4, 29.4 and 29.5 with 1; where it is 1, twice
 * the threads made f32 38.2, f64 2.3, c32 7.8 and i8 29.3. */
static const layout layouts[HRI_CUDA_TYPES] = {
    [HR_F32] = {16, 16, 8, 8, 4, 16, 4, 1},
    [HR_F64] = {8, 16, 8, 8, 2, 8, 2, 1},
    [HR_C32] = {8, 16, 8, 8, 4, 8, 4, 1},
    [HR_C64] = {8, 16, 4, 4, 2, 4, 2, 4},
    [HR_F16] = {16, 16, 8, 8, 4, 16, 4, 2},
    [HR_BF16] = {16, 16, 8, 8, 4, 16, 4, 2},
    [HR_I8] = {16, 16, 8, 8, 4, 16, 4, 1},
};

/* What has been compiled, for the life of the process. */
typedef struct program {
    struct program *next;
    int capability;
    hr_type type;
    char *image;
} program;

static pthread_mutex_t programs_lock = PTHREAD_MUTEX_INITIALIZER;
static program *programs; /* guarded by programs_lock */

static hr_status compile(const char *path, int capability, hr_type type,
                         char **image)
{
    enum { DEFINITIONS = 9 };
    const layout *l = &layouts[type];
    const struct {
        const char *name;
        int value;
    } definitions[DEFINITIONS] = {
        {"IN", (int)type}, {"WM", l->wm},   {"WN", l->wn},
        {"RM", l->rm},     {"RN", l->rn},   {"V", l->v},
        {"KC", l->kc},     {"PAD", l->pad}, {"BLOCKS", l->blocks}};
    char texts[DEFINITIONS][24];
    const char *options[DEFINITIONS + 1];
    for (int i = 0; i < DEFINITIONS; i++) {
        snprintf(texts[i], sizeof texts[i], "-D%s=%d", definitions[i].name,
                 definitions[i].value);
        options[i] = texts[i];
    }
    options[DEFINITIONS] = NULL;
    return hri_nvrtc_compile(path, hri_cuda_gemm_source, capability, options,
                             image, NULL);
}

/* Compile and remember. The list's lock is held. */
static hr_status add_program(const char *path, int capability, hr_type type,
                             const char **image)
{
    program *p = calloc(1, sizeof *p);
    if (p == NULL) {
        return hri_no_memory(path);
    }
    hr_status status = compile(path, capability, type, &p->image);
    if (status != HR_OK) {
        free(p);
        return status;
    }
    p->capability = capability;
    p->type = type;
    p->next = programs;
    programs = p;
    *image = p->image;
    return HR_OK;
}

hr_status hri_cuda_kernel_compile(const char *path, int capability,
                                  hr_type type, const char **image)
{
    hr_status status = HR_OK;
    pthread_mutex_lock(&programs_lock);
    const program *p = programs;
    while (p != NULL && (p->capability != capability || p->type != type)) {
        p = p->next;
    }
    if (p != NULL) {
        *image = p->image;
    } else {
        status = add_program(path, capability, type, image);
    }
    pthread_mutex_unlock(&programs_lock);
    return status;
}

/* The unit's lock is held. */
static hr_status load(hri_cuda_unit *unit, hr_type type)
{
    const layout *l = &layouts[type];
    hri_cuda_kernel *kernel = &unit->kernels[type];
    const char *image;
    cu_module module;
    hr_status status =
        hri_cuda_kernel_compile(unit->path, unit->capability, type, &image);
    if (status == HR_OK) {
        status = hri_cuda_check(unit->path,
                                hri_cuda.cuModuleLoadData(&module, image),
                                "cuModuleLoadData");
    }
    if (status != HR_OK) {
        return status;
    }
    status = hri_cuda_check(
        unit->path,
        hri_cuda.cuModuleGetFunction(&kernel->function, module, "gemm"),
        "cuModuleGetFunction");
    if (status != HR_OK) {
        hri_cuda.cuModuleUnload(module);
        return status;
    }
    kernel->module = module;
    kernel->items[0] = (unsigned)l->wn;
    kernel->items[1] = (unsigned)l->wm;
    kernel->tile[0] = l->wn * l->rn;
    kernel->tile[1] = l->wm * l->rm;
    return HR_OK;
}

hr_status hri_cuda_kernel_get(hri_cuda_unit *unit, hr_type type,
                              hri_cuda_kernel *kernel)
{
    pthread_mutex_lock(&unit->lock);
    hr_status status =
        unit->kernels[type].module == NULL ? load(unit, type) : HR_OK;
    if (status == HR_OK) {
        *kernel = unit->kernels[type];
    }
    pthread_mutex_unlock(&unit->lock);
    return status;
}

void hri_cuda_kernels_release(hri_cuda_unit *unit)
{
    for (int type = 0; type < HRI_CUDA_TYPES; type++) {
        if (unit->kernels[type].module != NULL) {
            hri_cuda.cuModuleUnload(unit->kernels[type].module);
            unit->kernels[type] = (hri_cuda_kernel){0};
        }
    }
}
