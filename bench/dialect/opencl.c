/* SPDX-License-Identifier: MIT */
/* The side by hand for OpenCL, with buffers, queue and kernels of its own. */
#include <stdlib.h>
#include <string.h>

#include "backends/opencl/opencl.h"
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

static hr_status prepare(void *data, dialect_problem *p)
{
    opencl_side *s = data;
    cl_int error = CL_SUCCESS;
    s->problem = p;
    for (int i = 0; i < p->count && error == CL_SUCCESS; i++) {
        s->arrays[i] = hri_cl.clCreateBuffer(
            s->unit->context, CL_MEM_READ_WRITE, p->bytes[i], NULL, &error);
        if (error == CL_SUCCESS) {
            error = hri_cl.clEnqueueWriteBuffer(s->queue, s->arrays[i], CL_TRUE,
                                                0, p->bytes[i], p->arrays[i], 0,
                                                NULL, NULL);
        }
    }
    return hri_cl_check(error, "making the arrays");
}

static hr_status make(void *data)
{
    opencl_side *s = data;
    const dialect_problem *p = s->problem;
    cl_int error = CL_SUCCESS;
    hr_status status = hri_cl_program_build(s->unit, NULL, bench_opencl_text,
                                            "-cl-std=CL1.2", &s->program);
    if (status != HR_OK) {
        return status;
    }
    s->kernel = hri_cl.clCreateKernel(s->program, p->work->symbol, &error);
    for (int i = 0; i < p->count && error == CL_SUCCESS; i++) {
        error = hri_cl.clSetKernelArg(s->kernel, (cl_uint)i, sizeof(cl_mem),
                                      &s->arrays[i]);
    }
    for (int i = 0; i < p->number_count && error == CL_SUCCESS; i++) {
        error = hri_cl.clSetKernelArg(s->kernel, (cl_uint)(p->count + i),
                                      sizeof(int), &p->numbers[i]);
    }
    return hri_cl_check(error, "making the kernel");
}

static hr_status launch(void *data, int times)
{
    const opencl_side *s = data;
    const dialect_problem *p = s->problem;
    const unsigned *items = p->work->items;
    cl_int error = CL_SUCCESS;
    const size_t all[] = {(size_t)p->groups[0] * items[0],
                          (size_t)p->groups[1] * items[1]};
    const size_t group[] = {items[0], items[1]};
    for (int i = 0; i < times && error == CL_SUCCESS; i++) {
        error =
            hri_cl.clEnqueueNDRangeKernel(s->queue, s->kernel, p->of[0].rank,
                                          NULL, all, group, 0, NULL, NULL);
    }
    return hri_cl_check(error, "running the kernel");
}

static hr_status wait(void *data)
{
    return hri_cl_check(hri_cl.clFinish(((opencl_side *)data)->queue),
                        "running the kernel");
}

static cl_int elapsed(cl_event events[2], double *seconds)
{
    cl_ulong ns[2] = {0, 0};
    cl_int error = CL_SUCCESS;
    for (int i = 0; i < 2 && error == CL_SUCCESS; i++) {
        error = hri_cl.clGetEventProfilingInfo(
            events[i], CL_PROFILING_COMMAND_END, sizeof ns[i], &ns[i], NULL);
    }
    *seconds = (double)(ns[1] - ns[0]) * 1e-9;
    return error;
}

static bool record(const opencl_side *s, cl_event *event)
{
    return hri_cl_check(
               hri_cl.clEnqueueMarkerWithWaitList(s->queue, 0, NULL, event),
               "clEnqueueMarkerWithWaitList") == HR_OK;
}

static bool time_launches(void *data, int times, bool copies, double *seconds)
{
    cl_event events[2] = {NULL, NULL};
    (void)copies;
    const bool good =
        record(data, &events[0]) && launch(data, times) == HR_OK &&
        record(data, &events[1]) && wait(data) == HR_OK &&
        hri_cl_check(elapsed(events, seconds), "running the kernel") == HR_OK;
    for (int i = 0; i < 2; i++) {
        if (events[i] != NULL) {
            hri_cl.clReleaseEvent(events[i]);
        }
    }
    return good;
}

static hr_status fetch(void *data)
{
    const opencl_side *s = data;
    const int last = s->problem->count - 1;
    return hri_cl_check(
        hri_cl.clEnqueueReadBuffer(s->queue, s->arrays[last], CL_TRUE, 0,
                                   s->problem->bytes[last],
                                   s->problem->arrays[last], 0, NULL, NULL),
        "fetching the result");
}

static void finish(void *data)
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
    hr_status status = hri_cl_unit_count(&count);
    for (uint32_t i = 0; i < count && status == HR_OK; i++) {
        *unit = hri_cl_unit_at(i);
        if (strcmp((*unit)->path, path) == 0) {
            return HR_OK;
        }
    }
    return status != HR_OK
               ? status
               : hri_fail(HR_ERROR_UNAVAILABLE, "there is no %s", path);
}

hr_status dialect_opencl_open(const hr_accelerator_info *info,
                              dialect_side *side)
{
    opencl_side *s = calloc(1, sizeof *s);
    if (s == NULL) {
        return hri_fail(HR_ERROR_OUT_OF_MEMORY, "out of memory");
    }
    hri_cl_unit *unit = NULL;
    hr_status status = find_unit(info->path, &unit);
    if (status == HR_OK) {
        status = hri_cl_unit_acquire(unit);
    }
    if (status == HR_OK) {
        cl_int error;
        s->unit = unit;
        s->queue = hri_cl.clCreateCommandQueue(
            unit->context, unit->id, CL_QUEUE_PROFILING_ENABLE, &error);
        status = hri_cl_check(error, "clCreateCommandQueue");
    }
    if (status != HR_OK) {
        close_side(s);
        return status;
    }
    *side = (dialect_side){.prepare = prepare,
                           .make = make,
                           .launch = launch,
                           .wait = wait,
                           .time = time_launches,
                           .fetch = fetch,
                           .finish = finish,
                           .close = close_side,
                           .data = s};
    return HR_OK;
}
