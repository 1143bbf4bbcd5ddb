/* SPDX-License-Identifier: MIT */
/* The side by hand for CUDA. It uses the driver's interface in the GPU's
 * primary context, with a stream, memory and a module of its own. */
#include <stdlib.h>
#include <string.h>

#include "backends/cuda/cuda.h"
#include "base/status.h"
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

static hr_status status_of(const cuda_side *s, cu_result error,
                           const char *what)
{
    return hri_cuda_check(s->unit->path, error, what);
}

static hr_status wait_for_launches(void *data)
{
    const cuda_side *s = data;
    return status_of(s, hri_cuda.cuStreamSynchronize(s->stream),
                     "cuStreamSynchronize");
}

static hr_status prepare_arrays(void *data, dialect_problem *p)
{
    cuda_side *s = data;
    s->problem = p;
    for (int i = 0; i < p->count; i++) {
        cu_result error = hri_cuda.cuMemAlloc_v2(&s->arrays[i], p->bytes[i]);
        HRI_TRY(status_of(s, error, "cuMemAlloc"));
        error = hri_cuda.cuMemcpyHtoDAsync_v2(s->arrays[i], p->arrays[i],
                                              p->bytes[i], s->stream);
        HRI_TRY(status_of(s, error, "cuMemcpyHtoDAsync"));
        s->arguments[i] = &s->arrays[i];
    }
    for (int i = 0; i < p->number_count; i++) {
        s->arguments[p->count + i] = &p->numbers[i];
    }
    return wait_for_launches(s);
}

static hr_status load_kernel(cuda_side *s, const char *image)
{
    HRI_TRY(status_of(s, hri_cuda.cuModuleLoadData(&s->module, image),
                      "cuModuleLoadData"));
    return status_of(s,
                     hri_cuda.cuModuleGetFunction(&s->function, s->module,
                                                  s->problem->work->symbol),
                     "cuModuleGetFunction");
}

static hr_status make_kernel(void *data)
{
    cuda_side *s = data;
    static const char *const options[] = {NULL};
    char *image = NULL;
    size_t bytes = 0;
    HRI_TRY(hri_nvrtc_compile(s->unit->path, NULL, bench_cuda_text,
                              s->unit->capability, options, &image, &bytes));
    const hr_status status = load_kernel(s, image);
    free(image);
    return status;
}

static hr_status launch_kernel(void *data, int times)
{
    cuda_side *s = data;
    const unsigned *groups = s->problem->groups;
    const unsigned *items = s->problem->work->items;
    for (int i = 0; i < times; i++) {
        const cu_result error = hri_cuda.cuLaunchKernel(
            s->function, groups[0], groups[1], 1, items[0], items[1], 1, 0,
            s->stream, s->arguments, NULL);
        if (error != CU_SUCCESS) {
            return status_of(s, error, "cuLaunchKernel");
        }
    }
    return HR_OK;
}

static hr_status copy_first(void *data, int times)
{
    const cuda_side *s = data;
    const int last = s->problem->count - 1;
    for (int i = 0; i < times; i++) {
        const cu_result error = hri_cuda.cuMemcpyDtoDAsync_v2(
            s->arrays[last], s->arrays[0], s->problem->bytes[last], s->stream);
        HRI_TRY(status_of(s, error, "cuMemcpyDtoDAsync"));
    }
    return HR_OK;
}

static hr_status record_event(const cuda_side *s, int i)
{
    return status_of(s, hri_cuda.cuEventRecord(s->events[i], s->stream),
                     "cuEventRecord");
}

static hr_status time_enqueued(cuda_side *s, int times,
                               hr_status (*enqueue)(void *data, int times),
                               double *seconds)
{
    float ms = 0.0f;
    HRI_TRY(record_event(s, 0));
    HRI_TRY(enqueue(s, times));
    HRI_TRY(record_event(s, 1));
    HRI_TRY(wait_for_launches(s));
    HRI_TRY(status_of(
        s, hri_cuda.cuEventElapsedTime(&ms, s->events[0], s->events[1]),
        "cuEventElapsedTime"));
    *seconds = (double)ms * 1e-3;
    return HR_OK;
}

static hr_status time_launches(void *data, int times, double *seconds)
{
    return time_enqueued(data, times, launch_kernel, seconds);
}

static hr_status time_copies(void *data, int times, double *seconds)
{
    return time_enqueued(data, times, copy_first, seconds);
}

static hr_status fetch_result(void *data)
{
    cuda_side *s = data;
    const int last = s->problem->count - 1;
    const cu_result error =
        hri_cuda.cuMemcpyDtoHAsync_v2(s->problem->arrays[last], s->arrays[last],
                                      s->problem->bytes[last], s->stream);
    HRI_TRY(status_of(s, error, "cuMemcpyDtoHAsync"));
    return wait_for_launches(s);
}

static void free_problem(void *data)
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

static hr_status open_stream(cuda_side *s)
{
    HRI_TRY(status_of(s, hri_cuda_enter(s->unit), "entering the context"));
    s->entered = true;
    HRI_TRY(status_of(
        s, hri_cuda.cuStreamCreate(&s->stream, CU_STREAM_NON_BLOCKING),
        "cuStreamCreate"));
    for (int i = 0; i < 2; i++) {
        HRI_TRY(status_of(
            s, hri_cuda.cuEventCreate(&s->events[i], CU_EVENT_DEFAULT),
            "cuEventCreate"));
    }
    return HR_OK;
}

/* The GPU with this path. */
static hr_status find_unit(const char *path, hri_cuda_unit **unit)
{
    uint32_t count = 0;
    HRI_TRY(hri_cuda_unit_count(&count));
    for (uint32_t i = 0; i < count; i++) {
        *unit = hri_cuda_unit_at(i);
        if (strcmp((*unit)->path, path) == 0) {
            return HR_OK;
        }
    }
    return hri_fail(HR_ERROR_UNAVAILABLE, "there is no %s", path);
}

hr_status dialect_cuda_open(const hr_accelerator_info *info, dialect_side *side)
{
    hri_cuda_unit *unit = NULL;
    HRI_TRY(find_unit(info->path, &unit));
    HRI_TRY(hri_cuda_unit_acquire(unit));
    cuda_side *s = calloc(1, sizeof *s);
    if (s == NULL) {
        hri_cuda_unit_release(unit);
        return hri_fail(HR_ERROR_OUT_OF_MEMORY, "out of memory");
    }
    s->unit = unit;
    const hr_status status = open_stream(s);
    if (status != HR_OK) {
        close_side(s);
        return status;
    }
    *side = (dialect_side){.prepare = prepare_arrays,
                           .make = make_kernel,
                           .launch = launch_kernel,
                           .wait = wait_for_launches,
                           .time = time_launches,
                           .time_copies = time_copies,
                           .fetch = fetch_result,
                           .finish = free_problem,
                           .close = close_side,
                           .data = s};
    return HR_OK;
}
