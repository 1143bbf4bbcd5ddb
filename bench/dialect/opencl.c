/* SPDX-License-Identifier: MIT */
/* The side by hand for OpenCL, with buffers, queue and kernels of its own. */
#include <stdlib.h>
#include <string.h>

#include "backends/opencl/opencl.h"
#include "base/status.h"
#include "bench/dialect/dialect.h"

extern const char bench_opencl_text[]; /* by_hand.cl */

typedef struct opencl_side {
    hri_cl_unit *unit;
    cl_command_queue queue;
    dialect_problem *problem;
    cl_mem arrays[DIALECT_ARRAYS];
    cl_program program;
    cl_kernel kernel;
} opencl_side;

static hr_status prepare_arrays(void *data, dialect_problem *p)
{
    opencl_side *s = data;
    s->problem = p;
    for (int i = 0; i < p->count; i++) {
        cl_int error;
        s->arrays[i] = hri_cl.clCreateBuffer(
            s->unit->context, CL_MEM_READ_WRITE, p->bytes[i], NULL, &error);
        HRI_TRY(hri_cl_check(error, "clCreateBuffer"));
        error = hri_cl.clEnqueueWriteBuffer(s->queue, s->arrays[i], CL_TRUE, 0,
                                            p->bytes[i], p->arrays[i], 0, NULL,
                                            NULL);
        HRI_TRY(hri_cl_check(error, "clEnqueueWriteBuffer"));
    }
    return HR_OK;
}

static hr_status set_argument(const opencl_side *s, int i, size_t size,
                              const void *value)
{
    return hri_cl_check(
        hri_cl.clSetKernelArg(s->kernel, (cl_uint)i, size, value),
        "clSetKernelArg");
}

static hr_status make_kernel(void *data)
{
    opencl_side *s = data;
    const dialect_problem *p = s->problem;
    cl_int error;
    HRI_TRY(hri_cl_program_build(s->unit, NULL, bench_opencl_text,
                                 "-cl-std=CL1.2", &s->program));
    s->kernel = hri_cl.clCreateKernel(s->program, p->work->symbol, &error);
    HRI_TRY(hri_cl_check(error, "clCreateKernel"));
    for (int i = 0; i < p->count; i++) {
        HRI_TRY(set_argument(s, i, sizeof(cl_mem), &s->arrays[i]));
    }
    for (int i = 0; i < p->number_count; i++) {
        HRI_TRY(set_argument(s, p->count + i, sizeof(int), &p->numbers[i]));
    }
    return HR_OK;
}

static hr_status launch_kernel(void *data, int times)
{
    const opencl_side *s = data;
    const dialect_problem *p = s->problem;
    const unsigned *items = p->work->items;
    const size_t all[] = {(size_t)p->groups[0] * items[0],
                          (size_t)p->groups[1] * items[1]};
    const size_t group[] = {items[0], items[1]};
    for (int i = 0; i < times; i++) {
        const cl_int error =
            hri_cl.clEnqueueNDRangeKernel(s->queue, s->kernel, p->of[0].rank,
                                          NULL, all, group, 0, NULL, NULL);
        if (error != CL_SUCCESS) {
            return hri_cl_check(error, "clEnqueueNDRangeKernel");
        }
    }
    return HR_OK;
}

static hr_status wait_for_launches(void *data)
{
    return hri_cl_check(hri_cl.clFinish(((opencl_side *)data)->queue),
                        "clFinish");
}

static hr_status record_event(const opencl_side *s, cl_event *event)
{
    return hri_cl_check(
        hri_cl.clEnqueueMarkerWithWaitList(s->queue, 0, NULL, event),
        "clEnqueueMarkerWithWaitList");
}

static hr_status time_between(opencl_side *s, int times, cl_event events[2],
                              double *seconds)
{
    cl_ulong ns[2] = {0, 0};
    HRI_TRY(record_event(s, &events[0]));
    HRI_TRY(launch_kernel(s, times));
    HRI_TRY(record_event(s, &events[1]));
    HRI_TRY(wait_for_launches(s));
    for (int i = 0; i < 2; i++) {
        const cl_int error = hri_cl.clGetEventProfilingInfo(
            events[i], CL_PROFILING_COMMAND_END, sizeof ns[i], &ns[i], NULL);
        HRI_TRY(hri_cl_check(error, "clGetEventProfilingInfo"));
    }
    *seconds = (double)(ns[1] - ns[0]) * 1e-9;
    return HR_OK;
}

static hr_status time_launches(void *data, int times, double *seconds)
{
    cl_event events[2] = {NULL, NULL};
    const hr_status status = time_between(data, times, events, seconds);
    for (int i = 0; i < 2; i++) {
        if (events[i] != NULL) {
            hri_cl.clReleaseEvent(events[i]);
        }
    }
    return status;
}

static hr_status fetch_result(void *data)
{
    const opencl_side *s = data;
    const int last = s->problem->count - 1;
    return hri_cl_check(
        hri_cl.clEnqueueReadBuffer(s->queue, s->arrays[last], CL_TRUE, 0,
                                   s->problem->bytes[last],
                                   s->problem->arrays[last], 0, NULL, NULL),
        "clEnqueueReadBuffer");
}

static void free_problem(void *data)
{
    opencl_side *s = data;
    hri_cl.clFinish(s->queue);
    for (int i = 0; i < DIALECT_ARRAYS; i++) {
        if (s->arrays[i] != NULL) {
            hri_cl.clReleaseMemObject(s->arrays[i]);
            s->arrays[i] = NULL;
        }
    }
    if (s->kernel != NULL) {
        hri_cl.clReleaseKernel(s->kernel);
    }
    if (s->program != NULL) {
        hri_cl.clReleaseProgram(s->program);
    }
    s->kernel = NULL;
    s->program = NULL;
}

static void close_side(void *data)
{
    opencl_side *s = data;
    if (s == NULL) {
        return;
    }
    if (s->queue != NULL) {
        hri_cl.clReleaseCommandQueue(s->queue);
    }
    if (s->unit != NULL) {
        hri_cl_unit_release(s->unit);
    }
    free(s);
}

/* The device with this path. */
static hr_status find_unit(const char *path, hri_cl_unit **unit)
{
    uint32_t count = 0;
    HRI_TRY(hri_cl_unit_count(&count));
    for (uint32_t i = 0; i < count; i++) {
        *unit = hri_cl_unit_at(i);
        if (strcmp((*unit)->path, path) == 0) {
            return HR_OK;
        }
    }
    return hri_fail(HR_ERROR_UNAVAILABLE, "there is no %s", path);
}

/* Acquire the device, and make a queue. */
static hr_status open_queue(opencl_side *s, hri_cl_unit *unit)
{
    cl_int error;
    HRI_TRY(hri_cl_unit_acquire(unit));
    s->unit = unit;
    s->queue = hri_cl.clCreateCommandQueue(unit->context, unit->id,
                                           CL_QUEUE_PROFILING_ENABLE, &error);
    return hri_cl_check(error, "clCreateCommandQueue");
}

hr_status dialect_opencl_open(const hr_accelerator_info *info,
                              dialect_side *side)
{
    hri_cl_unit *unit = NULL;
    HRI_TRY(find_unit(info->path, &unit));
    opencl_side *s = calloc(1, sizeof *s);
    if (s == NULL) {
        return hri_fail(HR_ERROR_OUT_OF_MEMORY, "out of memory");
    }
    const hr_status status = open_queue(s, unit);
    if (status != HR_OK) {
        close_side(s);
        return status;
    }
    *side = (dialect_side){.prepare = prepare_arrays,
                           .make = make_kernel,
                           .launch = launch_kernel,
                           .wait = wait_for_launches,
                           .time = time_launches,
                           .fetch = fetch_result,
                           .finish = free_problem,
                           .close = close_side,
                           .data = s};
    return HR_OK;
}
