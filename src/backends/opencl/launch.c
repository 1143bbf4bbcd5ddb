/* SPDX-License-Identifier: MIT */
/* Compiling kernels, and launching the caller's. */
#include <stdlib.h>
#include <string.h>

#include "backends/opencl/opencl.h"

typedef struct hri_cl_module {
    hri_module base;
    cl_program program;
    cl_kernel kernel;
} hri_cl_module;

/* The compiler's log, which the caller frees. NULL where the driver does not
 * give it. */
static char *log_of(const hri_cl_unit *unit, cl_program program)
{
    size_t bytes = 0;
    if (hri_cl.clGetProgramBuildInfo(program, unit->id, CL_PROGRAM_BUILD_LOG, 0,
                                     NULL, &bytes) != CL_SUCCESS) {
        return NULL;
    }
    char *log = calloc(bytes + 1, 1);
    if (log != NULL) {
        hri_cl.clGetProgramBuildInfo(program, unit->id, CL_PROGRAM_BUILD_LOG,
                                     bytes, log, NULL);
    }
    return log;
}

hr_status hri_cl_program_build(const hri_cl_unit *unit, const hr_kernel *kernel,
                               const char *source, const char *flags,
                               cl_program *out)
{
    cl_int error;
    cl_program program = hri_cl.clCreateProgramWithSource(
        unit->context, 1, &source, NULL, &error);
    if (error != CL_SUCCESS) {
        return hri_cl_check(error, "clCreateProgramWithSource");
    }
    error = hri_cl.clBuildProgram(program, 1, &unit->id, flags, NULL, NULL);
    if (error != CL_SUCCESS) {
        char *log = log_of(unit, program);
        hr_status status = hri_build_failed(
            unit->path, kernel, hri_cl_error_name(error), log, source);
        free(log);
        hri_cl.clReleaseProgram(program);
        return status;
    }
    *out = program;
    return HR_OK;
}

/* Devices may have sub-groups from OpenCL C 2.0 on. 3.0 tells by macros which
 * devices do. PoCL gets none: version 5 crashes on kernels that only ask for
 * the width. Division and square roots are correctly rounded where the device
 * can do so, as they are on CUDA and the host. */
const char *hri_cl_module_options(const hri_cl_unit *unit)
{
    static const char *const options[2][2] = {
        {"-cl-std=CL1.2",
         "-cl-std=CL1.2 -cl-fp32-correctly-rounded-divide-sqrt"},
        {"-cl-std=CL3.0 -DHR_SUBGROUPS", "-cl-std=CL3.0 -DHR_SUBGROUPS "
                                         "-cl-fp32-correctly-rounded-divide-"
                                         "sqrt"}};
    char language[256] = "";
    hri_cl_unit_text(unit, CL_DEVICE_OPENCL_C_VERSION, language,
                     sizeof language);
    const bool recent =
        strncmp(language, "OpenCL C 3", 10) == 0 && !hri_cl_unit_is_pocl(unit);
    return options[recent][hri_cl_unit_divides(unit)];
}

/* Find the limits of the kernel's work-groups. */
static cl_int find_limits(const hri_cl_unit *unit, hri_cl_module *module)
{
    size_t items = 0, sizes[8] = {0};
    uint64_t own = 0;
    cl_int error = hri_cl.clGetKernelWorkGroupInfo(module->kernel, unit->id,
                                                   CL_KERNEL_WORK_GROUP_SIZE,
                                                   sizeof items, &items, NULL);
    if (error != CL_SUCCESS) {
        return error;
    }
    error = hri_cl.clGetKernelWorkGroupInfo(module->kernel, unit->id,
                                            CL_KERNEL_LOCAL_MEM_SIZE,
                                            sizeof own, &own, NULL);
    if (error != CL_SUCCESS) {
        return error;
    }
    error = hri_cl.clGetDeviceInfo(unit->id, CL_DEVICE_MAX_WORK_ITEM_SIZES,
                                   sizeof sizes, sizes, NULL);
    if (error != CL_SUCCESS) {
        return error;
    }
    const uint64_t all = hri_cl_unit_number(unit, CL_DEVICE_LOCAL_MEM_SIZE);
    module->base.most_items = (int64_t)items;
    module->base.most_bytes = all > own ? all - own : 0;
    for (int i = 0; i < HR_MAX_KERNEL_RANK; i++) {
        module->base.most_tile[i] = (int64_t)sizes[i];
    }
    return CL_SUCCESS;
}

/* The kernel whose function has this prefix before its name. */
static cl_kernel find_kernel(cl_program program, const char *prefix,
                             const hr_kernel *kernel, cl_int *error)
{
    char *name = hri_kernel_function(prefix, kernel);
    *error = CL_OUT_OF_HOST_MEMORY;
    cl_kernel found =
        name != NULL ? hri_cl.clCreateKernel(program, name, error) : NULL;
    free(name);
    return *error == CL_SUCCESS ? found : NULL;
}

/* PoCL has a macro for each of OpenCL's functions, such as _cl_step for step.
 * So a kernel of that name gets that name. */
static hr_status make_kernel(hri_cl_module *module, const hr_kernel *kernel)
{
    const hri_cl_unit *unit = ((hri_cl_device *)module->base.device)->unit;
    cl_int error;
    module->kernel =
        find_kernel(module->program, HRI_KERNEL_PREFIX, kernel, &error);
    if (error == CL_INVALID_KERNEL_NAME) {
        module->kernel = find_kernel(module->program, HRI_KERNEL_PREFIX "_cl_",
                                     kernel, &error);
    }
    if (error == CL_INVALID_KERNEL_NAME) {
        return hri_build_lacks(unit->path, kernel, hri_cl_error_name(error));
    }
    if (error == CL_SUCCESS) {
        error = find_limits(unit, module);
    }
    return hri_cl_check(error, "making a kernel");
}

/* Make the module of a program's kernel. The program then belongs to the
 * module. */
static hr_status create_module(hri_device *base, const hr_kernel *kernel,
                               cl_program program, hri_module **out)
{
    hri_cl_module *module = calloc(1, sizeof *module);
    if (module == NULL) {
        hri_cl.clReleaseProgram(program);
        return hri_no_memory_for(base->info.path, kernel->name);
    }
    module->base.device = base;
    module->program = program;
    hr_status status = make_kernel(module, kernel);
    if (status != HR_OK) {
        hri_cl_module_unload(&module->base);
        return status;
    }
    *out = &module->base;
    return HR_OK;
}

/* The program's machine code. It has no bytes where the driver does not give
 * it. */
static hri_image image_of(cl_program program)
{
    hri_image image = {0};
    if (hri_cl.clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES,
                                sizeof image.count, &image.count,
                                NULL) == CL_SUCCESS &&
        image.count > 0) {
        image.bytes = malloc(image.count);
    }
    if (image.bytes != NULL &&
        hri_cl.clGetProgramInfo(program, CL_PROGRAM_BINARIES,
                                sizeof image.bytes, &image.bytes,
                                NULL) != CL_SUCCESS) {
        free(image.bytes);
        image.bytes = NULL;
    }
    return image;
}

hr_status hri_cl_module_build(hri_device *base, const hr_kernel *kernel,
                              const char *source, hri_image *image,
                              hri_module **out)
{
    const hri_cl_unit *unit = ((hri_cl_device *)base)->unit;
    cl_program program = NULL;
    HRI_TRY(hri_cl_program_build(unit, kernel, source,
                                 hri_cl_module_options(unit), &program));
    HRI_TRY(create_module(base, kernel, program, out));
    if (image != NULL) {
        *image = image_of(program);
    }
    return HR_OK;
}

hr_status hri_cl_module_load(hri_device *base, const hr_kernel *kernel,
                             const hri_image *image, hri_module **out)
{
    const hri_cl_unit *unit = ((hri_cl_device *)base)->unit;
    const unsigned char *bytes = image->bytes;
    cl_int error, state;
    cl_program program = hri_cl.clCreateProgramWithBinary(
        unit->context, 1, &unit->id, &image->count, &bytes, &state, &error);
    if (error != CL_SUCCESS) {
        return hri_cl_check(error, "clCreateProgramWithBinary");
    }
    error = hri_cl.clBuildProgram(program, 1, &unit->id,
                                  hri_cl_module_options(unit), NULL, NULL);
    if (error != CL_SUCCESS) {
        hri_cl.clReleaseProgram(program);
        return hri_cl_check(error, "clBuildProgram");
    }
    return create_module(base, kernel, program, out);
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

/* Pass a view: its buffer, and its shape, which holds the offset of its first
 * element. */
static cl_int set_view(cl_kernel kernel, cl_uint *at,
                       const hri_kernel_argument *a, const hr_parameter *p)
{
    cl_mem memory = hri_cl_memory(a->place.buffer);
    hr_list_shape shape = a->shape;
    shape.start += (int64_t)(a->place.offset / p->bytes);
    cl_int error =
        hri_cl.clSetKernelArg(kernel, (*at)++, sizeof memory, &memory);
    if (error != CL_SUCCESS) {
        return error;
    }
    return hri_cl.clSetKernelArg(kernel, (*at)++, hri_shape_bytes(p), &shape);
}

static cl_int set_arguments(cl_kernel kernel, const hri_launch *l)
{
    const hr_parameter *p = l->kernel->parameters(l->kernel);
    cl_uint at = 0;
    cl_int error =
        hri_cl.clSetKernelArg(kernel, at++, sizeof l->domain, &l->domain);
    for (uint32_t i = 0; i < l->kernel->parameter_count; i++) {
        const hri_kernel_argument *a = &l->arguments[i];
        if (error != CL_SUCCESS) {
            return error;
        }
        error = p[i].kind == HR_PARAMETER_VIEW
                    ? set_view(kernel, &at, a, &p[i])
                    : hri_cl.clSetKernelArg(kernel, at++, a->bytes, a->value);
    }
    return error;
}

hr_status hri_cl_launch(const hri_cl_queue *queue, const hri_launch *l)
{
    const hri_cl_module *module = (const hri_cl_module *)l->module;
    size_t items[HR_MAX_KERNEL_RANK], tile[HR_MAX_KERNEL_RANK];
    for (uint32_t i = 0; i < l->rank; i++) { /* the last dimension is x */
        uint32_t d = l->rank - 1 - i;
        tile[i] = (size_t)l->domain.tile[d];
        items[i] = tile[i] * (size_t)l->domain.tiles[d];
    }
    cl_int error = set_arguments(module->kernel, l);
    if (error != CL_SUCCESS) {
        goto done;
    }
    error = hri_cl.clEnqueueNDRangeKernel(queue->queue, module->kernel, l->rank,
                                          NULL, items, tile, 0, NULL, NULL);
    if (error != CL_SUCCESS) {
        goto done;
    }
    error = hri_cl.clFlush(queue->queue);
    if (error != CL_SUCCESS) { /* no work may go on that no event guards */
        hri_cl.clFinish(queue->queue);
    }
done:
    return hri_cl_check(error, "launching a kernel");
}
