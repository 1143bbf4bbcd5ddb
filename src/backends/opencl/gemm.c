/* SPDX-License-Identifier: MIT */
/* Products on an OpenCL device: by our kernel, compiled for a device and a
 * type, or by CLBlast where it is asked for and suits. */
#include <stdio.h>

#include "backends/opencl/opencl.h"
#include "base/matrix.h"
#include "base/size.h"
#include "hal/precise.h"

/* kernels/opencl: numbers.cl, and then gemm.cl or tuned.cl */
extern const char hri_cl_gemm_source[], hri_cl_tuned_source[];

/* ---- the kernel */

/* The kernel's build options: see kernels/opencl/gemm.cl. */
typedef struct options {
    int wm, wn, rm, rn, bm, bn, u, v, kc, pad;
    int loads, buffers, mma; /* of the tuned layouts alone */
} options;

/* Measured on an NVIDIA H200 (driver 580, 8192^3; c32 and c64 4096^3), TFLOP/s:
 * f32 43.9, f64 22.5, c32 40.4, c64 18.0, f16 29.8, bf16 27.9, i8 23.0. Steps
 * half or twice as long, and groups half or twice as large, were slower. */
static const options gpu[HRI_CL_TYPES] = {
    [HR_F32] = {16, 16, 8, 8, 1, 1, 4, 4, 16, 4, 0, 0, 0},
    [HR_F64] = {8, 16, 8, 8, 1, 1, 2, 2, 8, 2, 0, 0, 0},
    [HR_C32] = {8, 16, 8, 8, 1, 1, 4, 4, 8, 4, 0, 0, 0},
    [HR_C64] = {8, 16, 4, 4, 1, 1, 2, 2, 4, 2, 0, 0, 0},
    [HR_F16] = {16, 16, 8, 8, 1, 1, 4, 4, 16, 4, 0, 0, 0},
    [HR_BF16] = {16, 16, 8, 8, 1, 1, 4, 4, 16, 4, 0, 0, 0},
    [HR_I8] = {16, 16, 8, 8, 1, 1, 4, 4, 16, 4, 0, 0, 0},
};

/* Layouts of kernels/opencl/tuned.cl. On an H100 (driver 580, 8192^3) the first
 * of f32 and f64 reach 0.97 and 0.83 of cuBLAS, the second 0.93 and 0.38. The
 * second of f64 is for GPUs that lack what the first needs. */
static const options tuned[HRI_CL_LAYOUTS - HRI_CL_TUNED][HRI_CL_TYPES] = {
    {[HR_F32] = {16, 8, 8, 16, 1, 1, 4, 4, 8, 4, 4, 1, 0},
     [HR_F64] = {8, 16, 8, 8, 1, 1, 2, 2, 8, 4, 2, 3, 1}},
    {[HR_F32] = {8, 16, 8, 8, 1, 1, 4, 4, 8, 4, 4, 2, 0},
     [HR_F64] = {8, 16, 8, 8, 1, 1, 2, 2, 8, 2, 2, 2, 0}},
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

/* Sums of 6 rows by 2 vectors (complex: 6 by 1, of two planes) take 12 vector
 * registers. Machines with 16 registers have no room for more beside the
 * factors. A tile is 96 x 128 (complex: 96 x 64). On PoCL 3.1 and 2 cores of a
 * Zen 4 machine this reaches 150 GFLOP/s for f32 at 1024^3. A layout of many
 * items stays below 4. */
static options cpu_options(const hri_cl_unit *unit, hr_type type)
{
    uint64_t width = hri_cl_unit_number(
        unit, is_double(type) ? CL_DEVICE_NATIVE_VECTOR_WIDTH_DOUBLE
                              : CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT);
    int v = width >= 16 ? 16 : width >= 8 ? 8 : width >= 4 ? 4 : 2;
    int rn = hri_is_complex(type) ? v : 2 * v;
    int tile = hri_is_complex(type) ? 64 : 128;
    options o = {1, 1, 6, rn, 16, tile / rn, 1, v, 64, 0, 0, 0, 0};
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
    case HRI_CL_SMALL:
        return (options){8, 8, 4, 4, 1, 1, v, v, 8, v, 0, 0, 0};
    default:
        return tuned[layout - HRI_CL_TUNED][type];
    }
}

bool hri_cl_has_layout(const hri_cl_unit *unit, hri_cl_layout layout,
                       hr_type type)
{
    const options o = options_for(unit, layout, type);
    return o.wm > 0 && (o.mma == 0 || unit->nvidia);
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

/* ---- variants: the unit's layout, and the tuned ones */

uint32_t hri_cl_gemm_variants(hri_device *device, hr_type type,
                              hr_compute compute)
{
    const hri_cl_unit *unit = ((hri_cl_device *)device)->unit;
    uint32_t count = 1;
    if (unit->nvidia && unit->layout == HRI_CL_GPU &&
        compute == HR_COMPUTE_NATIVE && !hri_cl_clblast_wanted()) {
        for (int i = HRI_CL_TUNED; i < HRI_CL_LAYOUTS; i++) {
            count += hri_cl_has_layout(unit, (hri_cl_layout)i, type);
        }
    }
    return count;
}

void hri_cl_choose_variant(hri_device *device, hr_type type, uint32_t variant)
{
    ((hri_cl_device *)device)->unit->variants[type] = variant;
}

/* Whether neighbours of an operand can be read so many at a time. */
static bool is_aligned(const hri_operand *x, hr_type type, int loads)
{
    const bool rows = x->col_stride == 1;
    const int64_t apart = rows ? x->row_stride : x->col_stride;
    return (rows || x->row_stride == 1) && apart % loads == 0 &&
           x->place.offset % (hr_type_size(type) * (size_t)loads) == 0;
}

/* Tell whether a tuned kernel is the better one for a product. Its groups are
 * small: it needs several for each unit of the device. Tiles with an edge take
 * it longer. */
static bool suits_product(const options *o, const hri_gemm *g, uint32_t units)
{
    const int64_t tm = o->wm * o->rm, tn = o->wn * o->rn;
    const int64_t whole = (g->m / tm) * (g->n / tn);
    const int64_t all = hri_ceil_div(g->m, tm) * hri_ceil_div(g->n, tn);
    return whole >= 2 * (int64_t)units && whole >= 8 * (all - whole) &&
           is_aligned(&g->a, g->type, o->loads) &&
           is_aligned(&g->b, g->type, o->loads);
}

/* The layout for a product, and which of a queue's kernels it is. Reproducible
 * products have one order of operations, and no tuned kernel. */
static hri_cl_layout layout_of(const hri_cl_queue *queue, const hri_gemm *g,
                               hri_cl_purpose *purpose)
{
    const hri_cl_unit *unit = ((hri_cl_device *)queue->base.device)->unit;
    const uint32_t variant = unit->variants[g->type];
    *purpose =
        g->compute == HR_COMPUTE_REPRODUCIBLE ? HRI_CL_ORDERED : HRI_CL_PLAIN;
    if (*purpose == HRI_CL_PLAIN && variant > 0) {
        const hri_cl_layout layout = HRI_CL_TUNED + variant - 1;
        const options o = options_for(unit, layout, g->type);
        if (suits_product(&o, g, queue->base.device->info.compute_units)) {
            *purpose = HRI_CL_FASTEST;
            return layout;
        }
    }
    return unit->layout;
}

/* ---- making kernels */

/* The caller holds the unit's lock. */
static hr_status program_of(hri_cl_unit *unit, hri_cl_layout layout,
                            hr_type type, bool ordered, cl_program *program)
{
    cl_program *cached = &unit->programs[layout][type][ordered];
    if (*cached == NULL) {
        const options o = options_for(unit, layout, type);
        char flags[320];
        snprintf(flags, sizeof flags,
                 "-cl-std=CL1.2 -DIN=%d -DWM=%d -DWN=%d -DRM=%d -DRN=%d "
                 "-DBM=%d -DBN=%d -DU=%d -DV=%d -DKC=%d -DPAD=%d "
                 "-DLOADS=%d -DBUFFERS=%d -DMMA=%d "
                 "-DHARDWARE_HALF=%d -DDEPTH=%d",
                 (int)type, o.wm, o.wn, o.rm, o.rn, o.bm, o.bn, o.u, o.v, o.kc,
                 o.pad, o.loads, o.buffers, o.mma, layout == HRI_CL_GPU,
                 ordered ? HRI_ORDERED_DEPTH : 0);
        HRI_TRY(hri_cl_program_build(
            unit, NULL,
            layout < HRI_CL_TUNED ? hri_cl_gemm_source : hri_cl_tuned_source,
            flags, cached));
    }
    *program = *cached;
    return HR_OK;
}

/* A driver may find that a compiled kernel leaves room for fewer items. */
static hr_status check_room(const hri_cl_unit *unit, cl_kernel kernel,
                            size_t items)
{
    size_t most = 0;
    cl_int error = hri_cl.clGetKernelWorkGroupInfo(
        kernel, unit->id, CL_KERNEL_WORK_GROUP_SIZE, sizeof most, &most, NULL);
    if (error == CL_SUCCESS && most < items) {
        return hri_fail(
            HR_ERROR_UNSUPPORTED,
            "%s: the kernel runs at most %zu items in a group, but needs %zu",
            unit->path, most, items);
    }
    return hri_cl_check(error, "clGetKernelWorkGroupInfo");
}

static hr_status create_kernel(hri_cl_unit *unit, hri_cl_layout layout,
                               hr_type type, bool ordered, hri_cl_kernel *out)
{
    cl_program program = NULL;
    const options o = options_for(unit, layout, type);
    pthread_mutex_lock(&unit->lock);
    hr_status status = program_of(unit, layout, type, ordered, &program);
    pthread_mutex_unlock(&unit->lock);
    HRI_TRY(status);
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

/* Make the kernel unless it is there. It has the small layout where the device
 * does not take the one for GPUs. */
static hr_status make_kernel(hri_cl_unit *unit, hri_cl_layout layout,
                             hr_type type, bool ordered, hri_cl_kernel *kernel)
{
    if (kernel->kernel != NULL && kernel->layout == layout) {
        return HR_OK;
    }
    if (kernel->kernel != NULL) {
        hri_cl.clReleaseKernel(kernel->kernel);
        kernel->kernel = NULL;
    }
    hr_status status = create_kernel(unit, layout, type, ordered, kernel);
    if (status != HR_OK && layout == HRI_CL_GPU) {
        status = create_kernel(unit, HRI_CL_SMALL, type, ordered, kernel);
    }
    kernel->layout = layout;
    return status;
}

void hri_cl_programs_release(hri_cl_unit *unit)
{
    cl_program *all = &unit->programs[0][0][0];
    for (size_t i = 0; i < sizeof unit->programs / sizeof *all; i++) {
        if (all[i] != NULL) {
            hri_cl.clReleaseProgram(all[i]);
            all[i] = NULL;
        }
    }
    for (int type = 0; type < HRI_CL_TYPES; type++) {
        if (unit->precise[type] != NULL) {
            hri_cl.clReleaseProgram(unit->precise[type]);
            unit->precise[type] = NULL;
        }
    }
}

/* ---- products */

bool hri_cl_gemm_offered(hri_device *device, hr_type type, hr_type c_type,
                         hr_compute compute)
{
    const hri_cl_unit *unit = ((hri_cl_device *)device)->unit;
    const bool ordered = type != HR_I8 && hri_cl_unit_is_ieee(unit);
    const bool offered = compute == HR_COMPUTE_REPRODUCIBLE ? ordered
                         : compute == HR_COMPUTE_PRECISE
                             ? ordered && hri_is_precise_type(type)
                             : compute == HR_COMPUTE_NATIVE;
    return offered && hri_types_multiply(type, c_type) &&
           (!is_double(type) ||
            hri_cl_unit_number(unit, CL_DEVICE_DOUBLE_FP_CONFIG) != 0);
}

/* The operand's start, counted in its elements. */
static int64_t start_of(const hri_operand *operand, hr_type type)
{
    return (int64_t)(operand->place.offset / hr_type_size(type));
}

static cl_int set_arguments(cl_kernel kernel, const hri_gemm *g,
                            const hri_place *mask)
{
    const hri_factor alpha = hri_factor_of(g->type, g->alpha);
    const hri_factor beta = hri_factor_of(g->type, g->beta);
    const size_t factor_bytes =
        is_double(g->type) ? sizeof alpha.d : sizeof alpha.f;
    const int64_t a = start_of(&g->a, g->type), b = start_of(&g->b, g->type);
    const int64_t c = start_of(&g->c, g->c_type);
    const cl_int flags = hri_gemm_flags(g);
    const cl_mem memory[3] = {hri_cl_memory(g->a.place.buffer),
                              hri_cl_memory(g->b.place.buffer),
                              hri_cl_memory(g->c.place.buffer)};
    cl_mem chosen = mask != NULL ? hri_cl_memory(mask->buffer) : NULL;
    const int64_t mask_start = mask != NULL ? (int64_t)mask->offset : 0;
    /* only ordered products have the last two */
    const cl_uint more = g->compute == HR_COMPUTE_REPRODUCIBLE ? 2 : 0;
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
        {sizeof chosen, &chosen},
        {sizeof mask_start, &mask_start},
    };
    const cl_uint count = sizeof arguments / sizeof arguments[0] - 2 + more;
    for (cl_uint i = 0; i < count; i++) {
        cl_int error = hri_cl.clSetKernelArg(kernel, i, arguments[i].bytes,
                                             arguments[i].value);
        if (error != CL_SUCCESS) {
            return error;
        }
    }
    return CL_SUCCESS;
}

/* mask: see kernels/opencl/gemm.cl; NULL: all of C is wanted. */
static hr_status run_kernel(hri_cl_queue *queue, const hri_gemm *g,
                            const hri_place *mask)
{
    hri_cl_purpose purpose;
    const hri_cl_layout layout = layout_of(queue, g, &purpose);
    hri_cl_kernel *k = &queue->kernels[g->type][purpose];
    HRI_TRY(make_kernel(((hri_cl_device *)queue->base.device)->unit, layout,
                        g->type, purpose == HRI_CL_ORDERED, k));
    cl_int error = set_arguments(k->kernel, g, mask);
    if (error == CL_SUCCESS) {
        const size_t items[2] = {
            (size_t)hri_ceil_div(g->n, (int64_t)k->tile[0]) * k->items[0],
            (size_t)hri_ceil_div(g->m, (int64_t)k->tile[1]) * k->items[1]};
        error = hri_cl.clEnqueueNDRangeKernel(queue->queue, k->kernel, 2, NULL,
                                              items, k->items, 0, NULL, NULL);
    }
    return hri_cl_check(error, "enqueueing a product");
}

static hr_status multiply_one(void *data, const hri_gemm *g)
{
    hri_cl_queue *queue = data;
    if (hri_gemm_only_scales(g)) {
        const hri_gemm scaling = hri_gemm_scaling(g);
        return run_kernel(queue, &scaling, NULL);
    }
    if (g->compute == HR_COMPUTE_PRECISE) {
        return hri_cl_gemm_precise(queue, g, run_kernel);
    }
    const bool ours = g->compute == HR_COMPUTE_REPRODUCIBLE;
    return !ours && hri_cl_clblast_suits(queue, g)
               ? hri_cl_clblast_gemm(queue, g)
               : run_kernel(queue, g, NULL);
}

hr_status hri_cl_gemm(hri_cl_queue *queue, const hri_gemm *g)
{
    HRI_TRY(hri_gemm_check_offered(&queue->base, g));
    if (g->m == 0 || g->n == 0) {
        return HR_OK;
    }
    return g->batch.count > 1 ? hri_gemm_each(queue, g, multiply_one)
                              : multiply_one(queue, g);
}
