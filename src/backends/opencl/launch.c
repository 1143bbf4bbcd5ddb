/* SPDX-License-Identifier: MIT */
/* Kernels of the caller's. */
#include <stdlib.h>

#include "backends/opencl/opencl.h"

typedef struct hri_cl_module {
    hri_module base;
    cl_program program;
    cl_kernel kernel;
    size_t most_items; /* of a group */
} hri_cl_module;

hr_status hri_cl_module_build(hri_device *base, const hr_kernel *kernel,
                              const char *source, hri_module **out)
{
    const hri_cl_device *device = (hri_cl_device *)base;
    hri_cl_module *module = calloc(1, sizeof *module);
    if (module == NULL) {
        return hri_fail(HR_ERROR_OUT_OF_MEMORY, "%s: no memory for %s",
                        base->info.path, kernel->name);
    }
    module->base.device = base;
    hr_status status =
        hri_cl_program_build(device->unit, device->context, source,
                             "-cl-std=CL1.2", &module->program);
    if (status == HR_OK) {
        cl_int error;
        module->kernel =
            hri_cl.clCreateKernel(module->program, kernel->name, &error);
        status = hri_cl_check(error, "clCreateKernel");
    }
    if (status == HR_OK) {
        status = hri_cl_check(
            hri_cl.clGetKernelWorkGroupInfo(
                module->kernel, device->unit->id, CL_KERNEL_WORK_GROUP_SIZE,
                sizeof module->most_items, &module->most_items, NULL),
            "clGetKernelWorkGroupInfo");
    }
    if (status != HR_OK) {
        hri_cl_module_unload(&module->base);
        return status;
    }
    *out = &module->base;
    return HR_OK;
}

void hri_cl_module_unload(hri_module *base)
{
    hri_cl_module *module = (hri_cl_module *)base;
    if (module == NULL) {
        return;
    }
    if (module->kernel != NULL) {
        hri_cl.clReleaseKernel(module->kernel);
    }
    if (module->program != NULL) {
        hri_cl.clReleaseProgram(module->program);
    }
    free(module);
}

/* A view is its buffer and its shape, which starts where the view does. */
static cl_int set_view(cl_kernel kernel, cl_uint *at,
                       const hri_kernel_argument *a, size_t element_bytes)
{
    cl_mem memory = hri_cl_memory(a->place.buffer);
    hr_shape shape = a->shape;
    shape.start += (int64_t)(a->place.offset / element_bytes);
    cl_int error =
        hri_cl.clSetKernelArg(kernel, (*at)++, sizeof memory, &memory);
    return error == CL_SUCCESS
               ? hri_cl.clSetKernelArg(kernel, (*at)++, sizeof shape, &shape)
               : error;
}

static cl_int set_arguments(cl_kernel kernel, const hri_launch *l)
{
    const hr_parameter *p = l->kernel->parameters();
    cl_uint at = 0;
    cl_int error =
        hri_cl.clSetKernelArg(kernel, at++, sizeof l->domain, &l->domain);
    for (uint32_t i = 0; i < l->kernel->parameter_count && error == CL_SUCCESS;
         i++) {
        const hri_kernel_argument *a = &l->arguments[i];
        error = p[i].kind == HR_PARAMETER_VIEW
                    ? set_view(kernel, &at, a, p[i].bytes)
                    : hri_cl.clSetKernelArg(kernel, at++, a->bytes, a->value);
    }
    return error;
}

hr_status hri_cl_launch(const hri_cl_queue *queue, const hri_launch *l)
{
    const hri_cl_module *module = (const hri_cl_module *)l->module;
    size_t items[HR_MOST_RANK], tile[HR_MOST_RANK], wanted = 1;
    for (uint32_t i = 0; i < l->rank; i++) { /* the last dimension is x */
        uint32_t d = l->rank - 1 - i;
        tile[i] = (size_t)l->domain.tile[d];
        items[i] = tile[i] * (size_t)l->domain.tiles[d];
        wanted *= tile[i];
    }
    if (wanted > module->most_items) {
        return hri_fail(HR_ERROR_COMPUTE_DOMAIN,
                        "%s: %s has tiles of %zu items, but %zu are the most",
                        queue->base.device->info.path, l->kernel->name, wanted,
                        module->most_items);
    }
    cl_int error = set_arguments(module->kernel, l);
    if (error == CL_SUCCESS) {
        error =
            hri_cl.clEnqueueNDRangeKernel(queue->queue, module->kernel, l->rank,
                                          NULL, items, tile, 0, NULL, NULL);
    }
    if (error == CL_SUCCESS) {
        error = hri_cl.clFlush(queue->queue);
    }
    return hri_cl_check(error, "launching a kernel");
}
