/* SPDX-License-Identifier: MIT */
/* Products on a GPU: cuBLAS where it has words for them, else our kernel. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "backends/cuda/cuda.h"
#include "backends/cuda/nvrtc.h"
#include "base/size.h"

/* Bits of the kernel's flags. */
enum { CONJUGATE_A = 1, CONJUGATE_B = 2, READ_C = 4, NARROW_C = 8 };

enum { FIRST_WITH_TF32 = 80 }; /* capability */

/* A factor in the accumulation type: a pair of its numbers. */
typedef union factor {
    float f[2];
    double d[2];
    uint32_t u[2];
} factor;

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
    switch (type) {
    case HR_F32:
    case HR_F64:
        return c_type == type;
    case HR_C32:
    case HR_C64: /* cuBLAS does not conjugate what is not transposed */
        return c_type == type && has_kernel();
    case HR_F16:
    case HR_BF16:
        return c_type == type || c_type == HR_F32;
    case HR_I8: /* of these cuBLAS takes too few */
        return c_type == HR_I32 && has_kernel();
    default:
        return false;
    }
}

/* An integer modulo 2^32, of any size. */
static uint32_t wrap(double x)
{
    return (uint32_t)(int64_t)fmod(x, 0x1p32);
}

static factor factor_of(hr_type type, hr_scalar x)
{
    switch (type) {
    case HR_F64:
    case HR_C64:
        return (factor){.d = {x.re, x.im}};
    case HR_I8:
        return (factor){.u = {wrap(x.re), 0}};
    default:
        return (factor){.f = {(float)x.re, (float)x.im}};
    }
}

static int32_t flags_of(const hri_gemm *g)
{
    return (g->a.conjugate ? CONJUGATE_A : 0) |
           (g->b.conjugate ? CONJUGATE_B : 0) |
           (g->beta.re != 0 || g->beta.im != 0 ? READ_C : 0) |
           (g->c_type == g->type ? NARROW_C : 0);
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
    factor alpha = factor_of(g->type, g->alpha);
    factor beta = factor_of(g->type, g->beta);
    int32_t flags = flags_of(g);
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
static hr_status scale(hri_cuda_queue *queue, const hri_gemm *gemm)
{
    hri_gemm g = *gemm;
    if (g.beta.im == 0 && g.beta.re == 0) {
        return hri_cuda_check(queue->unit->path, clear(queue, &g),
                              "cuMemsetD2D8Async");
    }
    if (g.beta.im == 0 && g.beta.re == 1) {
        return HR_OK;
    }
    g.k = 0;
    g.alpha = hr_real(0);
    g.a = g.b = g.c;
    g.a.conjugate = g.b.conjugate = false;
    return run_kernel(queue, &g);
}

static hr_status multiply(hri_cuda_queue *queue, const hri_gemm *g)
{
    bool done = false;
    hr_status status = HR_OK;
    if (g->k == 0 || (g->alpha.re == 0 && g->alpha.im == 0)) {
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
    if (!hri_cuda_gemm_offered(queue->base.device, g->type, g->c_type,
                               g->compute)) {
        return hri_fail(HR_ERROR_UNSUPPORTED,
                        "%s: no product of %s into %s in compute mode %d",
                        unit->path, hr_type_name(g->type),
                        hr_type_name(g->c_type), (int)g->compute);
    }
    if (g->m == 0 || g->n == 0) {
        return HR_OK;
    }
    cu_result error = hri_cuda_enter(unit);
    if (error != CU_SUCCESS) {
        return hri_cuda_check(unit->path, error, "cuCtxPushCurrent");
    }
    hr_status status = multiply(queue, g);
    hri_cuda_leave();
    return status;
}
