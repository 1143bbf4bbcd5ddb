/* SPDX-License-Identifier: MIT */
/* Products on an OpenCL device: our kernel, or CLBlast where it is asked for
 * and suits. */
#include "backends/opencl/opencl.h"
#include "base/matrix.h"
#include "base/size.h"

bool hri_cl_gemm_offered(hri_device *device, hr_type type, hr_type c_type,
                         hr_compute compute)
{
    const hri_cl_unit *unit = ((hri_cl_device *)device)->unit;
    const bool wide = type == HR_F64 || type == HR_C64;
    return compute == HR_COMPUTE_NATIVE && hri_types_multiply(type, c_type) &&
           (!wide || hri_cl_unit_number(unit, CL_DEVICE_DOUBLE_FP_CONFIG) != 0);
}

/* Where the operand starts, counted in its elements. */
static int64_t start_of(const hri_operand *operand, hr_type type)
{
    return (int64_t)(operand->place.offset / hr_type_size(type));
}

static cl_int set_arguments(cl_kernel kernel, const hri_gemm *g)
{
    const hri_factor alpha = hri_factor_of(g->type, g->alpha);
    const hri_factor beta = hri_factor_of(g->type, g->beta);
    const bool wide = g->type == HR_F64 || g->type == HR_C64;
    const size_t factor_bytes = wide ? sizeof alpha.d : sizeof alpha.f;
    const int64_t a = start_of(&g->a, g->type), b = start_of(&g->b, g->type);
    const int64_t c = start_of(&g->c, g->c_type);
    const cl_int flags = hri_gemm_flags(g);
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

hr_status hri_cl_gemm(hri_cl_queue *queue, const hri_gemm *g)
{
    hr_status status = hri_gemm_check_offered(&queue->base, g);
    if (status != HR_OK || g->m == 0 || g->n == 0) {
        return status;
    }
    if (hri_gemm_only_scales(g)) {
        const hri_gemm scaling = hri_gemm_scaling(g);
        return run_kernel(queue, &scaling);
    }
    return hri_cl_clblast_suits(queue, g) ? hri_cl_clblast_gemm(queue, g)
                                          : run_kernel(queue, g);
}
