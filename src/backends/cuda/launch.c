/* SPDX-License-Identifier: MIT */
/* The caller's kernels. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/cuda/cuda.h"
#include "base/size.h"

typedef struct hri_cuda_module {
    hri_module base;
    cu_module module;
    cu_function function;
} hri_cuda_module;

/* An option that is added here must be added to the target below. Those of
 * reproducible kernels need not, since their source says that they are. */
static const char *const options[] = {NULL};
static const char *const reproducible_options[] = {
    "--fmad=false", "--ftz=false", "--prec-div=true", "--prec-sqrt=true", NULL};

/* Machine code is for a capability, and any NVRTC's will do. So the target does
 * not name its version: opening NVRTC takes longer than loading kept code. It
 * names the driver's, since the driver compiles PTX and may be too old for
 * machine code. */
void hri_cuda_module_target(const hri_cuda_unit *unit, char *text, size_t bytes)
{
    int version = 0;
    text[0] = '\0';
    if (hri_cuda.cuDriverGetVersion(&version) == CU_SUCCESS) {
        snprintf(text, bytes, "CUDA %d, capability %d", version,
                 unit->capability);
    }
}

/* Find the limits of the function's blocks. From now on a launch may ask for
 * all of the shared memory. */
static cu_result find_limits(const hri_cuda_unit *unit, hri_cuda_module *module)
{
    int items = 1, bytes = 0;
    cu_function f = module->function;
    cu_result error =
        hri_cuda.cuFuncGetAttribute(&items, CU_FUNCTION_MAX_THREADS, f);
    if (error != CU_SUCCESS) {
        return error;
    }
    error = hri_cuda.cuFuncGetAttribute(&bytes, CU_FUNCTION_SHARED_BYTES, f);
    if (error != CU_SUCCESS) {
        return error;
    }
    bytes = hri_cuda_unit_number(unit, CU_ATTRIBUTE_MAX_SHARED_BYTES) - bytes;
    module->base.most_items = items;
    module->base.most_bytes = (uint64_t)bytes;
    for (int i = 0; i < HR_MAX_KERNEL_RANK; i++) {
        module->base.most_tile[i] =
            hri_cuda_unit_number(unit, CU_ATTRIBUTE_MAX_BLOCK_X + i);
    }
    return hri_cuda.cuFuncSetAttribute(f, CU_FUNCTION_MAX_DYNAMIC_BYTES, bytes);
}

static hr_status get_function(const hri_cuda_unit *unit,
                              const hr_kernel *kernel, const char *ours,
                              cu_module loaded, cu_function *function)
{
    char *theirs =
        kernel != NULL ? hri_kernel_function(HRI_KERNEL_PREFIX, kernel) : NULL;
    const char *name = kernel != NULL ? theirs : ours;
    if (name == NULL) {
        return hri_no_memory(unit->path);
    }
    cu_result error = hri_cuda.cuModuleGetFunction(function, loaded, name);
    free(theirs);
    return error == CU_NOT_FOUND && kernel != NULL
               ? hri_build_lacks(unit->path, kernel, hri_cuda_error_name(error))
               : hri_cuda_check(unit->path, error, "cuModuleGetFunction");
}

hr_status hri_cuda_function_load(const hri_cuda_unit *unit, const void *image,
                                 const hr_kernel *kernel, const char *ours,
                                 cu_module *module, cu_function *function)
{
    cu_module loaded;
    cu_result error = hri_cuda.cuModuleLoadData(&loaded, image);
    if (error != CU_SUCCESS) {
        return hri_cuda_check(unit->path, error, "cuModuleLoadData");
    }
    hr_status status = get_function(unit, kernel, ours, loaded, function);
    if (status != HR_OK) {
        hri_cuda.cuModuleUnload(loaded);
        return status;
    }
    *module = loaded;
    return HR_OK;
}

/* The unit's context is current. */
static hr_status load_module(const hri_cuda_unit *unit, const hr_kernel *kernel,
                             const hri_image *image, hri_cuda_module *module)
{
    HRI_TRY(hri_cuda_function_load(unit, image->bytes, kernel, NULL,
                                   &module->module, &module->function));
    return hri_cuda_check(unit->path, find_limits(unit, module),
                          "asking for a kernel's limits");
}

hr_status hri_cuda_module_load(hri_device *base, const hr_kernel *kernel,
                               const hri_image *image, hri_module **out)
{
    const hri_cuda_unit *unit = ((hri_cuda_device *)base)->unit;
    hri_cuda_module *module = calloc(1, sizeof *module);
    if (module == NULL) {
        return hri_no_memory_for(unit->path, kernel->name);
    }
    module->base.device = base;
    hr_status status =
        hri_cuda_check(unit->path, hri_cuda_enter(unit), "cuCtxPushCurrent");
    if (status != HR_OK) {
        goto fail;
    }
    status = load_module(unit, kernel, image, module);
    hri_cuda_leave();
    if (status != HR_OK) {
        goto fail;
    }
    *out = &module->base;
    return HR_OK;
fail:
    hri_cuda_module_unload(&module->base);
    return status;
}

hr_status hri_cuda_module_build(hri_device *base, const hr_kernel *kernel,
                                const char *source, hri_image *image,
                                hri_module **out)
{
    const hri_cuda_unit *unit = ((hri_cuda_device *)base)->unit;
    hri_image built = {0};
    char *code = NULL;
    HRI_TRY(
        hri_nvrtc_compile(unit->path, kernel, source, unit->capability,
                          kernel->reproducible ? reproducible_options : options,
                          &code, &built.count));
    built.bytes = code;
    hr_status status = hri_cuda_module_load(base, kernel, &built, out);
    if (status != HR_OK || image == NULL) {
        free(code);
        return status;
    }
    *image = built;
    return HR_OK;
}

void hri_cuda_module_unload(hri_module *base)
{
    hri_cuda_module *module = (hri_cuda_module *)base;
    if (module == NULL) {
        return;
    }
    const hri_cuda_unit *unit = ((hri_cuda_device *)base->device)->unit;
    if (module->module != NULL && hri_cuda_enter(unit) == CU_SUCCESS) {
        hri_cuda.cuModuleUnload(module->module);
        hri_cuda_leave();
    }
    free(module);
}

/* What cuLaunchKernel gets for each argument. */
typedef struct passed {
    cu_address views[HR_MAX_PARAMETERS];
    unsigned tiles[HR_MAX_PARAMETERS]; /* the offset of tile memory */
    void *pointers[1 + 2 * HR_MAX_PARAMETERS];
    unsigned tile_bytes;
} passed;

static void pass_arguments(const hri_launch *l, const hr_domain *domain,
                           passed *x)
{
    const hr_parameter *p = l->kernel->parameters(l->kernel);
    size_t at = 0;
    x->pointers[at++] = (void *)(uintptr_t)domain;
    for (uint32_t i = 0; i < l->kernel->parameter_count; i++) {
        const hri_kernel_argument *a = &l->arguments[i];
        if (p[i].kind == HR_PARAMETER_VIEW) {
            x->views[i] = hri_cuda_address(&a->place);
            x->pointers[at++] = &x->views[i];
            x->pointers[at++] = (void *)(uintptr_t)&a->shape;
        } else if (p[i].kind == HR_PARAMETER_VALUE) {
            x->pointers[at++] = (void *)(uintptr_t)a->value;
        } else {
            x->tiles[i] = x->tile_bytes;
            x->pointers[at++] = &x->tiles[i];
            x->tile_bytes +=
                (unsigned)hri_round_up_bytes(a->bytes, HRI_TILE_ALIGNMENT);
        }
    }
}

/* Launch the blocks from number first on, at most `most` of them in each
 * dimension but x. */
static cu_result launch_blocks(const hri_cuda_queue *queue, const hri_launch *l,
                               const int64_t *first, int64_t most)
{
    const hri_cuda_module *module = (const hri_cuda_module *)l->module;
    hr_domain domain = l->domain;
    passed x = {.tile_bytes = 0};
    unsigned blocks[HR_MAX_KERNEL_RANK] = {1, 1, 1},
             items[HR_MAX_KERNEL_RANK] = {1, 1, 1};
    memcpy(domain.number, first, sizeof domain.number);
    for (uint32_t i = 0; i < l->rank; i++) { /* the last dimension is x */
        const uint32_t d = l->rank - 1 - i;
        const int64_t left = domain.tiles[d] - first[d];
        blocks[i] = (unsigned)(i > 0 ? hri_min(left, most) : left);
        items[i] = (unsigned)domain.tile[d];
    }
    pass_arguments(l, &domain, &x);
    return hri_cuda.cuLaunchKernel(
        module->function, blocks[0], blocks[1], blocks[2], items[0], items[1],
        items[2], x.tile_bytes, queue->stream, x.pointers, NULL);
}

/* Dimensions before the last one are y and z, which have few blocks. So a large
 * domain takes several launches. */
static cu_result launch_tiles(const hri_cuda_queue *queue, const hri_launch *l)
{
    enum { MAX_BLOCKS = 65535 };
    const uint32_t last = l->rank - 1;
    const int64_t *tiles = l->domain.tiles;
    int64_t first[HR_MAX_KERNEL_RANK] = {0};
    while (first[0] < (last > 0 ? tiles[0] : 1)) {
        cu_result error = launch_blocks(queue, l, first, MAX_BLOCKS);
        if (error != CU_SUCCESS) {
            return error;
        }
        uint32_t d = last > 0 ? last - 1 : 0;
        first[d] += MAX_BLOCKS;
        if (d > 0 && first[d] >= tiles[d]) {
            first[d] = 0;
            first[d - 1] += MAX_BLOCKS;
        }
    }
    return CU_SUCCESS;
}

hr_status hri_cuda_launch(const hri_cuda_queue *queue, const hri_launch *l)
{
    hri_cuda_note_launch(queue->unit, l->kernel->name);
    cu_result error = hri_cuda_enter(queue->unit);
    if (error == CU_SUCCESS) {
        error = launch_tiles(queue, l);
        hri_cuda_leave();
    }
    return hri_cuda_check(queue->unit->path, error, "cuLaunchKernel");
}
