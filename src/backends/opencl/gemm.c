/* SPDX-License-Identifier: MIT */
/* Products on an OpenCL device: our kernel, or CLBlast where it is asked for
 * and suits. */
#include <math.h>

#include "backends/opencl/clblast.h"
#include "backends/opencl/opencl.h"
#include "base/size.h"

/* Bits of the kernel's flags. */
enum { CONJUGATE_A = 1, CONJUGATE_B = 2, READ_C = 4, NARROW_C = 8 };

/* A factor in the accumulation type: a pair of its numbers. */
typedef union factor {
    float f[2];
    double d[2];
    uint32_t u[2];
} factor;

bool hri_cl_gemm_offered(hri_device *device, hr_type type, hr_type c_type,
                         hr_compute compute)
{
    const hri_cl_unit *unit = ((hri_cl_device *)device)->unit;
    if (compute != HR_COMPUTE_NATIVE) {
        return false;
    }
    switch (type) {
    case HR_F64:
    case HR_C64:
        return c_type == type &&
               hri_cl_unit_number(unit, CL_DEVICE_DOUBLE_FP_CONFIG) != 0;
    case HR_F32:
    case HR_C32:
        return c_type == type;
    case HR_F16:
    case HR_BF16:
        return c_type == type || c_type == HR_F32;
    case HR_I8:
        return c_type == HR_I32;
    default:
        return false;
    }
}

/* An integer modulo 2^32, of any size. */
static uint32_t wrap(double x)
{
    return (uint32_t)(int64_t)fmod(x, 0x1p32);
}

/* Returns the factor's bytes. */
static size_t convert(hr_type type, hr_scalar x, factor *out)
{
    switch (type) {
    case HR_F64:
    case HR_C64:
        *out = (factor){.d = {x.re, x.im}};
        return sizeof out->d;
    case HR_I8:
        *out = (factor){.u = {wrap(x.re), 0}};
        return sizeof out->u;
    default:
        *out = (factor){.f = {(float)x.re, (float)x.im}};
        return sizeof out->f;
    }
}

static cl_int flags_of(const hri_gemm *g)
{
    return (g->a.conjugate ? CONJUGATE_A : 0) |
           (g->b.conjugate ? CONJUGATE_B : 0) |
           (g->beta.re != 0 || g->beta.im != 0 ? READ_C : 0) |
           (g->c_type == g->type ? NARROW_C : 0);
}

/* Where the operand starts, counted in its elements. */
static int64_t start_of(const hri_operand *operand, hr_type type)
{
    return (int64_t)(operand->place.offset / hr_type_size(type));
}

static cl_int set_arguments(cl_kernel kernel, const hri_gemm *g)
{
    factor alpha, beta;
    size_t factor_bytes = convert(g->type, g->alpha, &alpha);
    convert(g->type, g->beta, &beta);
    const int64_t a = start_of(&g->a, g->type), b = start_of(&g->b, g->type);
    const int64_t c = start_of(&g->c, g->c_type);
    const cl_int flags = flags_of(g);
    const cl_mem memory[3] = {hri_cl_memory(g->a.place.buffer),
                              hri_cl_memory(g->b.place.buffer),
                              hri_cl_memory(g->c.place.buffer)};
    const struct {
        size_t bytes;
        const void *value;
    } arguments[] = {
        {sizeof g->m, &g->m},
        {sizeof g->n, &g->n},
        {sizeof g->k, &g->k},
        {sizeof memory[0], &memory[0]},
        {sizeof a, &a},
        {sizeof g->a.row_stride, &g->a.row_stride},
        {sizeof g->a.col_stride, &g->a.col_stride},
        {sizeof memory[1], &memory[1]},
        {sizeof b, &b},
        {sizeof g->b.row_stride, &g->b.row_stride},
        {sizeof g->b.col_stride, &g->b.col_stride},
        {sizeof memory[2], &memory[2]},
        {sizeof c, &c},
        {sizeof g->c.row_stride, &g->c.row_stride},
        {factor_bytes, &alpha},
        {factor_bytes, &beta},
        {sizeof flags, &flags},
    };
    cl_int error = CL_SUCCESS;
    for (cl_uint i = 0;
         i < sizeof arguments / sizeof arguments[0] && error == CL_SUCCESS;
         i++) {
        error = hri_cl.clSetKernelArg(kernel, i, arguments[i].bytes,
                                      arguments[i].value);
    }
    return error;
}

static hr_status run_kernel(hri_cl_queue *queue, const hri_gemm *g)
{
    hri_cl_kernel *k = &queue->kernels[g->type];
    if (k->kernel == NULL) {
        hri_cl_unit *unit = ((hri_cl_device *)queue->base.device)->unit;
        hr_status status = hri_cl_kernel_create(unit, g->type, k);
        if (status != HR_OK) {
            return status;
        }
    }
    cl_int error = set_arguments(k->kernel, g);
    if (error == CL_SUCCESS) {
        const size_t items[2] = {
            (size_t)hri_ceil_div(g->n, (int64_t)k->tile[0]) * k->items[0],
            (size_t)hri_ceil_div(g->m, (int64_t)k->tile[1]) * k->items[1]};
        error = hri_cl.clEnqueueNDRangeKernel(queue->queue, k->kernel, 2, NULL,
                                              items, k->items, 0, NULL, NULL);
    }
    return hri_cl_check(error, "enqueueing a product");
}

hr_status hri_cl_gemm(hri_cl_queue *queue, const hri_gemm *gemm)
{
    hri_gemm g = *gemm;
    if (!hri_cl_gemm_offered(queue->base.device, g.type, g.c_type, g.compute)) {
        return hri_fail(HR_ERROR_UNSUPPORTED,
                        "%s: no product of %s into %s in compute mode %d",
                        queue->base.device->info.path, hr_type_name(g.type),
                        hr_type_name(g.c_type), (int)g.compute);
    }
    if (g.m == 0 || g.n == 0) {
        return HR_OK;
    }
    if (g.k == 0 || (g.alpha.re == 0 && g.alpha.im == 0)) {
        /* Only C counts; A and B may be nowhere. */
        g.k = 0;
        g.alpha = hr_real(0);
        g.a = g.b = g.c;
        g.a.conjugate = g.b.conjugate = false;
    } else if (hri_cl_clblast_suits(queue, &g)) {
        return hri_cl_clblast_gemm(queue, &g);
    }
    return run_kernel(queue, &g);
}
