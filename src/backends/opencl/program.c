/* SPDX-License-Identifier: MIT */
/* Compiling the gemm kernel for a device and a type. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/opencl/opencl.h"
#include "base/matrix.h"
#include "base/size.h"

/* The kernel's build options, see kernels/opencl/gemm.cl. */
typedef struct options {
    int wm, wn, rm, rn, bm, bn, u, v, kc, pad;
} options;

/* Measured on an NVIDIA H200 (driver 580, 8192^3; c32 and c64 4096^3), TFLOP/s:
 * f32 43.9, f64 22.5, c32 40.4, c64 18.0, f16 29.8, bf16 27.9, i8 23.0. Steps
 * half or twice as long, and groups half or twice as large, were slower. */
static const options gpu[HRI_CL_TYPES] = {
    [HR_F32] = {16, 16, 8, 8, 1, 1, 4, 4, 16, 4},
    [HR_F64] = {8, 16, 8, 8, 1, 1, 2, 2, 8, 2},
    [HR_C32] = {8, 16, 8, 8, 1, 1, 4, 4, 8, 4},
    [HR_C64] = {8, 16, 4, 4, 1, 1, 2, 2, 4, 2},
    [HR_F16] = {16, 16, 8, 8, 1, 1, 4, 4, 16, 4},
    [HR_BF16] = {16, 16, 8, 8, 1, 1, 4, 4, 16, 4},
    [HR_I8] = {16, 16, 8, 8, 1, 1, 4, 4, 16, 4},
};

static bool is_double(hr_type type)
{
    return type == HR_F64 || type == HR_C64;
}

/* Bytes of local memory: both tiles, in planes of real numbers. */
static uint64_t local_bytes(const options *o, hr_type type)
{
    int rows = o->wm * o->rm * o->bm + o->pad;
    int cols = o->wn * o->rn * o->bn + o->pad;
    uint64_t real = is_double(type) ? 8 : 4;
    uint64_t planes = hri_is_complex(type) ? 2 : 1;
    return planes * (uint64_t)(rows + cols) * (uint64_t)o->kc * real;
}

/* Sums of 6 rows by 2 vectors (complex: 6 by 1, of two planes) are 12 vector
 * registers, as many as machines with 16 of them can hold beside what they
 * multiply. A tile is 96 x 128 (complex: 96 x 64). On PoCL 3.1 and 2 cores of a
 * Zen 4 machine this reaches 150 GFLOP/s for f32 at 1024^3, where a layout of
 * many items stays below 4. */
static options cpu_options(const hri_cl_unit *unit, hr_type type)
{
    uint64_t width = hri_cl_unit_number(
        unit, is_double(type) ? CL_DEVICE_NATIVE_VECTOR_WIDTH_DOUBLE
                              : CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT);
    int v = width >= 16 ? 16 : width >= 8 ? 8 : width >= 4 ? 4 : 2;
    int rn = hri_is_complex(type) ? v : 2 * v;
    int tile = hri_is_complex(type) ? 64 : 128;
    options o = {1, 1, 6, rn, 16, tile / rn, 1, v, 64, 0};
    uint64_t room = hri_cl_unit_number(unit, CL_DEVICE_LOCAL_MEM_SIZE);
    while (o.kc > 1 && local_bytes(&o, type) > room) {
        o.kc /= 2;
    }
    return o;
}

static options options_for(const hri_cl_unit *unit, hri_cl_layout layout,
                           hr_type type)
{
    int v = is_double(type) ? 2 : 4;
    switch (layout) {
    case HRI_CL_CPU:
        return cpu_options(unit, type);
    case HRI_CL_GPU:
        return gpu[type];
    default:
        return (options){8, 8, 4, 4, 1, 1, v, v, 8, v};
    }
}

hri_cl_layout hri_cl_layout_for(const hri_cl_unit *unit)
{
    uint64_t room = hri_cl_unit_number(unit, CL_DEVICE_LOCAL_MEM_SIZE);
    if (hri_cl_unit_number(unit, CL_DEVICE_TYPE) & CL_DEVICE_TYPE_CPU) {
        return HRI_CL_CPU;
    }
    return hri_cl_unit_number(unit, CL_DEVICE_MAX_WORK_GROUP_SIZE) >= 256 &&
                   local_bytes(&gpu[HR_F32], HR_F32) <= room
               ? HRI_CL_GPU
               : HRI_CL_SMALL;
}

/* What source says by #line of its line of that number: what stands there of
 * the last directive, and the line behind it. */
static const char *find_place(const char *source, long number, long *line)
{
    const char *place = NULL;
    for (; number > 0 && source != NULL; number--, (*line)++) {
        if (strncmp(source, "#line 1 \"", 9) == 0) {
            place = source + 9;
            *line = 0;
        }
        source = strchr(source, '\n');
        source = source != NULL ? source + 1 : NULL;
    }
    *line -= 1;
    return place;
}

void hri_cl_log_line(const char *from, const char *source, char *to,
                     size_t bytes)
{
    static const char whole[] = "<kernel>:";
    const int length = (int)strcspn(from, "\r\n");
    if (strncmp(from, whole, sizeof whole - 1) == 0) {
        char *rest;
        long line = 0, number = strtol(from + sizeof whole - 1, &rest, 10);
        const char *place = find_place(source, number, &line);
        if (place != NULL) {
            snprintf(to, bytes, "%.*s:%ld%.*s", (int)strcspn(place, "\""),
                     place, line, (int)(from + length - rest), rest);
            return;
        }
    }
    snprintf(to, bytes, "%.*s", length, from);
}

static hr_status build_failed(const hri_cl_unit *unit, cl_program program,
                              cl_int error, const char *source)
{
    char log[4096] = "";
    size_t bytes = 0;
    char *whole = NULL;
    if (hri_cl.clGetProgramBuildInfo(program, unit->id, CL_PROGRAM_BUILD_LOG, 0,
                                     NULL, &bytes) == CL_SUCCESS) {
        whole = calloc(bytes + 1, 1);
    }
    if (whole != NULL) {
        hri_cl.clGetProgramBuildInfo(program, unit->id, CL_PROGRAM_BUILD_LOG,
                                     bytes, whole, NULL);
        hri_cl_log_line(hri_find_error(whole), source, log, sizeof log);
        free(whole);
    }
    return hri_fail(HR_ERROR_BUILD,
                    "opencl:%u:%u: a kernel did not compile (%s): %s",
                    unit->platform_index, unit->device_index,
                    hri_cl_error_name(error), log);
}

hr_status hri_cl_program_build(const hri_cl_unit *unit, cl_context context,
                               const char *source, const char *flags,
                               cl_program *out)
{
    cl_int error;
    cl_program program =
        hri_cl.clCreateProgramWithSource(context, 1, &source, NULL, &error);
    if (error != CL_SUCCESS) {
        return hri_cl_check(error, "clCreateProgramWithSource");
    }
    error = hri_cl.clBuildProgram(program, 1, &unit->id, flags, NULL, NULL);
    if (error != CL_SUCCESS) {
        hr_status status = build_failed(unit, program, error, source);
        hri_cl.clReleaseProgram(program);
        return status;
    }
    *out = program;
    return HR_OK;
}

/* The caller holds the unit's lock. */
static hr_status program_of(hri_cl_unit *unit, hri_cl_layout layout,
                            hr_type type, const options *o, cl_program *program)
{
    cl_program *cached = &unit->programs[layout][type];
    hr_status status = HR_OK;
    if (*cached == NULL) {
        char flags[256];
        snprintf(flags, sizeof flags,
                 "-cl-std=CL1.2 -DIN=%d -DWM=%d -DWN=%d -DRM=%d -DRN=%d "
                 "-DBM=%d -DBN=%d -DU=%d -DV=%d -DKC=%d -DPAD=%d "
                 "-DHARDWARE_HALF=%d",
                 (int)type, o->wm, o->wn, o->rm, o->rn, o->bm, o->bn, o->u,
                 o->v, o->kc, o->pad, layout == HRI_CL_GPU);
        status = hri_cl_program_build(unit, unit->context, hri_cl_gemm_source,
                                      flags, cached);
    }
    if (status == HR_OK) {
        *program = *cached;
    }
    return status;
}

/* A driver may find that a compiled kernel leaves room for fewer items. */
static hr_status check_room(const hri_cl_unit *unit, cl_kernel kernel,
                            size_t items)
{
    size_t most = 0;
    cl_int error = hri_cl.clGetKernelWorkGroupInfo(
        kernel, unit->id, CL_KERNEL_WORK_GROUP_SIZE, sizeof most, &most, NULL);
    if (error == CL_SUCCESS && most < items) {
        return hri_fail(HR_ERROR_UNSUPPORTED,
                        "opencl:%u:%u: the kernel runs in groups of %zu items "
                        "at most, and needs %zu",
                        unit->platform_index, unit->device_index, most, items);
    }
    return hri_cl_check(error, "clGetKernelWorkGroupInfo");
}

static hr_status create_in(hri_cl_unit *unit, hri_cl_layout layout,
                           hr_type type, hri_cl_kernel *out)
{
    cl_program program = NULL;
    options o = options_for(unit, layout, type);
    pthread_mutex_lock(&unit->lock);
    hr_status status = program_of(unit, layout, type, &o, &program);
    pthread_mutex_unlock(&unit->lock);
    if (status != HR_OK) {
        return status;
    }
    cl_int error;
    cl_kernel kernel = hri_cl.clCreateKernel(program, "gemm", &error);
    if (error != CL_SUCCESS) {
        return hri_cl_check(error, "clCreateKernel");
    }
    status = check_room(unit, kernel, (size_t)o.wm * (size_t)o.wn);
    if (status != HR_OK) {
        hri_cl.clReleaseKernel(kernel);
        return status;
    }
    *out = (hri_cl_kernel){
        .kernel = kernel,
        .items = {(size_t)o.wn, (size_t)o.wm},
        .tile = {(size_t)(o.wn * o.rn * o.bn), (size_t)(o.wm * o.rm * o.bm)},
    };
    return HR_OK;
}

hr_status hri_cl_kernel_create(hri_cl_unit *unit, hr_type type,
                               hri_cl_kernel *kernel)
{
    hr_status status = create_in(unit, unit->layout, type, kernel);
    if (status != HR_OK && unit->layout == HRI_CL_GPU) {
        status = create_in(unit, HRI_CL_SMALL, type, kernel);
    }
    return status;
}

void hri_cl_programs_release(hri_cl_unit *unit)
{
    for (int layout = 0; layout < HRI_CL_LAYOUTS; layout++) {
        for (int type = 0; type < HRI_CL_TYPES; type++) {
            if (unit->programs[layout][type] != NULL) {
                hri_cl.clReleaseProgram(unit->programs[layout][type]);
                unit->programs[layout][type] = NULL;
            }
        }
    }
}
