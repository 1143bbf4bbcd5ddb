/* SPDX-License-Identifier: MIT */
/* Products on a GPU: cuBLAS where it has words for them, else our kernel. */
#include <stdio.h>
#include <stdlib.h>

#include "backends/cuda/cuda.h"
#include "base/matrix.h"
#include "base/size.h"

enum { FIRST_WITH_TF32 = 80 }; /* capability */

static bool has_cublas(void)
{
    return hri_cublas_name()[0] != '\0';
}

static bool has_kernel(void)
{
    return hri_nvrtc_name()[0] != '\0';
}

void hri_cuda_arithmetic_name(char *text, size_t bytes)
{
    const char *wish = getenv("HEADRACE_CUBLAS");
    if (has_cublas()) {
        snprintf(text, bytes, "%s, %s", hri_cublas_name(),
                 has_kernel() ? hri_nvrtc_name() : "no NVRTC");
    } else {
        snprintf(text, bytes, "%s%s", hri_nvrtc_name(),
                 hri_cuda_switched_off("HEADRACE_CUBLAS") ? ""
                 : wish == NULL || wish[0] == '\0'
                     ? ", no cuBLAS"
                     : ", since HEADRACE_CUBLAS names no cuBLAS that can be "
                       "loaded");
    }
}

bool hri_cuda_gemm_offered(hri_device *device, hr_type type, hr_type c_type,
                           hr_compute compute)
{
    const hri_cuda_unit *unit = ((hri_cuda_device *)device)->unit;
    if (compute == HR_COMPUTE_TF32) {
        return type == HR_F32 && c_type == HR_F32 && has_cublas() &&
               unit->capability >= FIRST_WITH_TF32;
    }
    /* cuBLAS does not conjugate what is not transposed, and takes too few
     * products of integers */
    const bool incomplete = hri_is_complex(type) || type == HR_I8;
    return hri_types_multiply(type, c_type) && (!incomplete || has_kernel());
}

/* Launch the kernel: the arguments are those of kernels/cuda/gemm.cu, a block
 * for each tile of C. */
static cu_result launch(const hri_cuda_queue *queue,
                        const hri_cuda_kernel *kernel, const hri_gemm *g)
{
    int64_t across = hri_ceil_div(g->n, kernel->tile[0]);
    int64_t tiles = across * hri_ceil_div(g->m, kernel->tile[1]);
    cu_address a = hri_cuda_address(&g->a.place);
    cu_address b = hri_cuda_address(&g->b.place);
    cu_address c = hri_cuda_address(&g->c.place);
    hri_factor alpha = hri_factor_of(g->type, g->alpha);
    hri_factor beta = hri_factor_of(g->type, g->beta);
    int32_t flags = hri_gemm_flags(g);
    hri_gemm s = *g; /* the driver wants pointers to what it may write */
    void *arguments[] = {&s.m,
                         &s.n,
                         &s.k,
                         &a,
                         &s.a.row_stride,
                         &s.a.col_stride,
                         &b,
                         &s.b.row_stride,
                         &s.b.col_stride,
                         &c,
                         &s.c.row_stride,
                         &alpha,
                         &beta,
                         &flags,
                         &across};
    if (tiles > INT32_MAX) {
        return CU_INVALID_VALUE;
    }
    return hri_cuda.cuLaunchKernel(kernel->function, (unsigned)tiles, 1, 1,
                                   kernel->items[0], kernel->items[1], 1, 0,
                                   queue->stream, arguments, NULL);
}

static hr_status run_kernel(hri_cuda_queue *queue, const hri_gemm *g)
{
    hri_cuda_kernel kernel;
    hr_status status = hri_nvrtc_load();
    if (status != HR_OK) {
        return hri_fail(HR_ERROR_UNSUPPORTED,
                        "%s: this product of %s into %s is beyond cuBLAS, and "
                        "without NVRTC there is no kernel for it: %s",
                        queue->unit->path, hr_type_name(g->type),
                        hr_type_name(g->c_type), hr_last_error());
    }
    status = hri_cuda_kernel_get(queue->unit, g->type, &kernel);
    return status == HR_OK
               ? hri_cuda_check(queue->unit->path, launch(queue, &kernel, g),
                                "cuLaunchKernel")
               : status;
}

/* C becomes zero. */
static cu_result clear(const hri_cuda_queue *queue, const hri_gemm *g)
{
    const size_t element = hr_type_size(g->c_type);
    const size_t width = (size_t)g->n * element;
    const size_t pitch = (size_t)g->c.row_stride * element;
    const cu_address start = hri_cuda_address(&g->c.place);
    if (g->m == 1 || pitch == width) {
        return hri_cuda.cuMemsetD8Async(start, 0, width * (size_t)g->m,
                                        queue->stream);
    }
    return hri_cuda.cuMemsetD2D8Async(start, pitch, 0, width, (size_t)g->m,
                                      queue->stream);
}

/* C := beta C; A and B may be nowhere. */
static hr_status scale(hri_cuda_queue *queue, const hri_gemm *g)
{
    if (g->beta.im == 0 && g->beta.re == 0) {
        return hri_cuda_check(queue->unit->path, clear(queue, g),
                              "cuMemsetD2D8Async");
    }
    if (g->beta.im == 0 && g->beta.re == 1) {
        return HR_OK;
    }
    const hri_gemm scaling = hri_gemm_scaling(g);
    return run_kernel(queue, &scaling);
}

static hr_status multiply(hri_cuda_queue *queue, const hri_gemm *g)
{
    bool done = false;
    hr_status status = HR_OK;
    if (hri_gemm_only_scales(g)) {
        return scale(queue, g);
    }
    if (hri_cublas_suits(g)) {
        status = hri_cublas_gemm(queue, g, &done);
    }
    return status != HR_OK || done ? status : run_kernel(queue, g);
}

hr_status hri_cuda_gemm(hri_cuda_queue *queue, const hri_gemm *g)
{
    hri_cuda_unit *unit = queue->unit;
    hr_status status = hri_gemm_check_offered(&queue->base, g);
    if (status != HR_OK || g->m == 0 || g->n == 0) {
        return status;
    }
    status =
        hri_cuda_check(unit->path, hri_cuda_enter(unit), "cuCtxPushCurrent");
    if (status == HR_OK) {
        status = multiply(queue, g);
        hri_cuda_leave();
    }
    return status;
}
