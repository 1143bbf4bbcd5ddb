/* SPDX-License-Identifier: MIT */
/* The side by hand for CUDA. It uses the driver's interface in the GPU's
 * primary context, with a stream, memory and a module of its own. */
#include <stdlib.h>
#include <string.h>

#include "backends/cuda/cuda.h"
#include "bench/dialect/dialect.h"

extern const char bench_cuda_text[]; /* by_hand.cu */

/* The GPU's context is current from opening the side until closing it. */
typedef struct cuda_side {
    hri_cuda_unit *unit;
    bool entered;
    cu_stream stream;
    cu_event events[2];
    dialect_problem *problem;
    cu_address arrays[DIALECT_ARRAYS];
    cu_module module;
    cu_function function;
    void *arguments[DIALECT_ARRAYS + 3];
} cuda_side;

static hr_status check(const cuda_side *s, cu_result error, const char *what)
{
    return hri_cuda_check(s->unit->path, error, what);
}

static hr_status prepare(void *data, dialect_problem *p)
{
    cuda_side *s = data;
    cu_result error = CU_SUCCESS;
    s->problem = p;
    for (int i = 0; i < p->count && error == CU_SUCCESS; i++) {
        error = hri_cuda.cuMemAlloc_v2(&s->arrays[i], p->bytes[i]);
        if (error == CU_SUCCESS) {
            error = hri_cuda.cuMemcpyHtoDAsync_v2(s->arrays[i], p->arrays[i],
                                                  p->bytes[i], s->stream);
        }
        s->arguments[i] = &s->arrays[i];
    }
    if (error == CU_SUCCESS) {
        error = hri_cuda.cuStreamSynchronize(s->stream);
    }
    for (int i = 0; i < p->number_count; i++) {
        s->arguments[p->count + i] = &p->numbers[i];
    }
    return check(s, error, "making the arrays");
}

static hr_status make(void *data)
{
    cuda_side *s = data;
    static const char *const options[] = {NULL};
    char *image = NULL;
    size_t bytes = 0;
    hr_status status =
        hri_nvrtc_compile(s->unit->path, NULL, bench_cuda_text,
                          s->unit->capability, options, &image, &bytes);
    if (status == HR_OK) {
        cu_result error = hri_cuda.cuModuleLoadData(&s->module, image);
        if (error == CU_SUCCESS) {
            error = hri_cuda.cuModuleGetFunction(&s->function, s->module,
                                                 s->problem->work->symbol);
        }
        status = check(s, error, "making the kernel");
    }
    free(image);
    return status;
}

static cu_result launch_times(cuda_side *s, int times)
{
    const unsigned *groups = s->problem->groups;
    const unsigned *items = s->problem->work->items;
    cu_result error = CU_SUCCESS;
    for (int i = 0; i < times && error == CU_SUCCESS; i++) {
        error = hri_cuda.cuLaunchKernel(s->function, groups[0], groups[1], 1,
                                        items[0], items[1], 1, 0, s->stream,
                                        s->arguments, NULL);
    }
    return error;
}

static cu_result copy_times(const cuda_side *s, int times)
{
    const int last = s->problem->count - 1;
    cu_result error = CU_SUCCESS;
    for (int i = 0; i < times && error == CU_SUCCESS; i++) {
        error = hri_cuda.cuMemcpyDtoDAsync_v2(
            s->arrays[last], s->arrays[0], s->problem->bytes[last], s->stream);
    }
    return error;
}

static hr_status launch(void *data, int times)
{
    return check(data, launch_times(data, times), "running the kernel");
}

static hr_status wait(void *data)
{
    cuda_side *s = data;
    return check(s, hri_cuda.cuStreamSynchronize(s->stream),
                 "running the kernel");
}

static bool time_launches(void *data, int times, bool copies, double *seconds)
{
    cuda_side *s = data;
    float ms = 0.0f;
    cu_result error = hri_cuda.cuEventRecord(s->events[0], s->stream);
    if (error == CU_SUCCESS) {
        error = copies ? copy_times(s, times) : launch_times(s, times);
    }
    if (error == CU_SUCCESS) {
        error = hri_cuda.cuEventRecord(s->events[1], s->stream);
    }
    if (error == CU_SUCCESS) {
        error = hri_cuda.cuStreamSynchronize(s->stream);
    }
    if (error == CU_SUCCESS) {
        error = hri_cuda.cuEventElapsedTime(&ms, s->events[0], s->events[1]);
    }
    *seconds = (double)ms * 1e-3;
    return check(s, error, "running the kernel") == HR_OK;
}

static hr_status fetch(void *data)
{
    const cuda_side *s = data;
    const int last = s->problem->count - 1;
    cu_result error =
        hri_cuda.cuMemcpyDtoHAsync_v2(s->problem->arrays[last], s->arrays[last],
                                      s->problem->bytes[last], s->stream);
    if (error == CU_SUCCESS) {
        error = hri_cuda.cuStreamSynchronize(s->stream);
    }
    return check(s, error, "fetching the result");
}

static void finish(void *data)
{
    cuda_side *s = data;
    hri_cuda.cuStreamSynchronize(s->stream);
    for (int i = 0; i < DIALECT_ARRAYS; i++) {
        if (s->arrays[i] != 0) {
            hri_cuda.cuMemFree_v2(s->arrays[i]);
        }
    }
    if (s->module != NULL) {
        hri_cuda.cuModuleUnload(s->module);
    }
    memset(s->arrays, 0, sizeof s->arrays);
    s->module = NULL;
}

static void close_side(void *data)
{
    cuda_side *s = data;
    if (s == NULL) {
        return;
    }
    for (int i = 0; i < 2; i++) {
        if (s->events[i] != NULL) {
            hri_cuda.cuEventDestroy_v2(s->events[i]);
        }
    }
    if (s->stream != NULL) {
        hri_cuda.cuStreamDestroy_v2(s->stream);
    }
    if (s->entered) {
        hri_cuda_leave();
    }
    hri_cuda_unit_release(s->unit);
    free(s);
}

static hr_status make_stream(cuda_side *s)
{
    cu_result error = hri_cuda_enter(s->unit);
    s->entered = error == CU_SUCCESS;
    if (s->entered) {
        error = hri_cuda.cuStreamCreate(&s->stream, CU_STREAM_NON_BLOCKING);
    }
    for (int i = 0; i < 2 && error == CU_SUCCESS; i++) {
        error = hri_cuda.cuEventCreate(&s->events[i], CU_EVENT_DEFAULT);
    }
    return check(s, error, "making a stream");
}

hr_status dialect_cuda_open(const hr_accelerator_info *info, dialect_side *side)
{
    uint32_t count = 0;
    hri_cuda_unit *unit = NULL;
    hr_status status = hri_cuda_unit_count(&count);
    for (uint32_t i = 0; i < count && status == HR_OK && unit == NULL; i++) {
        unit = strcmp(hri_cuda_unit_at(i)->path, info->path) == 0
                   ? hri_cuda_unit_at(i)
                   : NULL;
    }
    if (unit == NULL) {
        return hri_fail(HR_ERROR_UNAVAILABLE, "there is no %s", info->path);
    }
    status = hri_cuda_unit_acquire(unit);
    if (status != HR_OK) {
        return status;
    }
    cuda_side *s = calloc(1, sizeof *s);
    if (s == NULL) {
        hri_cuda_unit_release(unit);
        return hri_fail(HR_ERROR_OUT_OF_MEMORY, "out of memory");
    }
    s->unit = unit;
    status = make_stream(s);
    if (status != HR_OK) {
        close_side(s);
        return status;
    }
    *side = (dialect_side){.prepare = prepare,
                           .make = make,
                           .launch = launch,
                           .wait = wait,
                           .time = time_launches,
                           .copies = true,
                           .fetch = fetch,
                           .finish = finish,
                           .close = close_side,
                           .data = s};
    return HR_OK;
}
