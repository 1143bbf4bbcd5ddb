/* SPDX-License-Identifier: MIT */
/* Precise products on an OpenCL device (hri_gemm in hal.h,
 * src/hal/precise.inc).
 *
 * Packing takes two kernels for each slice of k: one finds what is known of
 * lines, and one makes their residues. A product takes two for each block of C:
 * sums of products of residues, and numbers from these. Where lines may not be
 * rounded, the kernel of reproducible products makes the elements. */
#include <stdio.h>

#include "backends/opencl/opencl.h"
#include "base/matrix.h"
#include "base/size.h"
#include "hal/precise.h"

extern const char hri_cl_precise_source[]; /* kernels/opencl/precise.cl and
                                              others: cmake/kernels.cmake */

enum {
    ITEMS = 256,
    FOUND = 8,
    LINES = 32,
    STEPS = 64,
    EDGE = 64
}; /* as there */

/* ---- kernels */

/* The caller holds the unit's lock. */
static hr_status program_of(hri_cl_unit *unit, hr_type type,
                            cl_program *program)
{
    if (unit->precise[type] == NULL) {
        char flags[64];
        snprintf(flags, sizeof flags, "-cl-std=CL1.2 -DWIDE=%d -DPARTS=%d",
                 type == HR_F64 || type == HR_C64, hri_precise_parts(type));
        HRI_TRY(hri_cl_program_build(unit, NULL, hri_cl_precise_source, flags,
                                     &unit->precise[type]));
    }
    *program = unit->precise[type];
    return HR_OK;
}

static hr_status make_kernel(hri_cl_queue *queue, hr_type type,
                             hri_cl_step step)
{
    static const char *const names[HRI_CL_STEPS] = {
        [HRI_CL_FIND_LINES] = "find_lines",
        [HRI_CL_CONVERT_LINES] = "convert_lines",
        [HRI_CL_MULTIPLY_RESIDUES] = "multiply_residues",
        [HRI_CL_MAKE_NUMBERS] = "make_numbers"};
    hri_cl_unit *unit = ((hri_cl_device *)queue->base.device)->unit;
    cl_program program = NULL;
    cl_int error;
    if (queue->precise[type][step] != NULL) {
        return HR_OK;
    }
    pthread_mutex_lock(&unit->lock);
    const hr_status status = program_of(unit, type, &program);
    pthread_mutex_unlock(&unit->lock);
    HRI_TRY(status);
    queue->precise[type][step] =
        hri_cl.clCreateKernel(program, names[step], &error);
    return hri_cl_check(error, "clCreateKernel");
}

void hri_cl_precise_release(hri_cl_queue *queue)
{
    for (int type = 0; type < HRI_CL_TYPES; type++) {
        for (int i = 0; i < HRI_CL_STEPS; i++) {
            if (queue->precise[type][i] != NULL) {
                hri_cl.clReleaseKernel(queue->precise[type][i]);
            }
        }
    }
}

typedef struct argument {
    size_t bytes;
    const void *value;
} argument;

/* Enqueue a kernel with `items` items along each dimension, the first of which
 * has groups of ITEMS. */
static hr_status enqueue(hri_cl_queue *queue, hr_type type, hri_cl_step step,
                         const argument *arguments, cl_uint count,
                         const size_t groups[3])
{
    HRI_TRY(make_kernel(queue, type, step));
    cl_kernel kernel = queue->precise[type][step];
    for (cl_uint i = 0; i < count; i++) {
        HRI_TRY(
            hri_cl_check(hri_cl.clSetKernelArg(kernel, i, arguments[i].bytes,
                                               arguments[i].value),
                         "clSetKernelArg"));
    }
    const size_t local[3] = {ITEMS, 1, 1};
    const size_t items[3] = {groups[0] * ITEMS, groups[1], groups[2]};
    return hri_cl_check(hri_cl.clEnqueueNDRangeKernel(queue->queue, kernel, 3,
                                                      NULL, items, local, 0,
                                                      NULL, NULL),
                        "enqueueing a step of a precise product");
}

/* The form of a slice as a buffer. It lives until the kernels that were given
 * it have run, so the caller releases it at once. */
static hr_status make_form(const hri_cl_queue *queue,
                           const hri_precise_slice *slice, cl_mem *form)
{
    const hri_cl_unit *unit = ((hri_cl_device *)queue->base.device)->unit;
    precise_form copy = slice->form;
    cl_int error;
    *form = hri_cl.clCreateBuffer(unit->context,
                                  CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR,
                                  sizeof copy, &copy, &error);
    return hri_cl_check(error, "clCreateBuffer");
}

/* ---- packing */

static hr_status pack_slice(hri_cl_queue *queue, const hri_pack *p,
                            const hri_precise_slice *slice, cl_mem form,
                            uint64_t at)
{
    const size_t size = hr_type_size(p->type) / (size_t)slice->parts;
    cl_mem from = hri_cl_memory(p->from.place.buffer);
    cl_mem to = hri_cl_memory(p->to.buffer);
    const cl_int side = p->side, lines = (cl_int)p->rows;
    const cl_int conjugate = p->from.conjugate;
    const cl_int width = (cl_int)slice->width;
    const int64_t across = p->from.row_stride * slice->parts;
    const int64_t along = p->from.col_stride * slice->parts;
    const int64_t start =
        (int64_t)(p->from.place.offset / size) + slice->first * along;
    const uint64_t known_at =
        p->to.offset + at + hri_precise_known(slice, p->side, p->rows);
    const int64_t known = (int64_t)(known_at / sizeof(precise_line));
    const int64_t residues = (int64_t)((p->to.offset + at) / sizeof(u32));
    const argument found[] = {{sizeof form, &form},   {sizeof from, &from},
                              {sizeof start, &start}, {sizeof across, &across},
                              {sizeof along, &along}, {sizeof lines, &lines},
                              {sizeof to, &to},       {sizeof known, &known}};
    const argument made[] = {
        {sizeof form, &form},        {sizeof side, &side},
        {sizeof from, &from},        {sizeof start, &start},
        {sizeof across, &across},    {sizeof along, &along},
        {sizeof lines, &lines},      {sizeof conjugate, &conjugate},
        {sizeof width, &width},      {sizeof to, &to},
        {sizeof known, &known},      {sizeof to, &to},
        {sizeof residues, &residues}};
    const size_t groups = (size_t)hri_ceil_div(p->rows, LINES);
    HRI_TRY(enqueue(queue, p->type, HRI_CL_FIND_LINES, found,
                    sizeof found / sizeof found[0],
                    (size_t[3]){(size_t)hri_ceil_div(p->rows, FOUND), 1, 1}));
    return enqueue(
        queue, p->type, HRI_CL_CONVERT_LINES, made,
        sizeof made / sizeof made[0],
        (size_t[3]){groups, (size_t)hri_ceil_div(slice->width, STEPS), 1});
}

hr_status hri_cl_pack_precise(hri_cl_queue *queue, const hri_pack *p)
{
    hri_precise_slice slice = {0};
    uint64_t at = 0;
    while (hri_precise_next(p->type, p->cols, &slice)) {
        cl_mem form;
        HRI_TRY(make_form(queue, &slice, &form));
        const hr_status status = pack_slice(queue, p, &slice, form, at);
        hri_cl.clReleaseMemObject(form);
        HRI_TRY(status);
        at += hri_precise_size(&slice, p->side, p->rows);
    }
    return HR_OK;
}

/* ---- products */

/* A block of C over one slice of k. */
typedef struct block {
    const hri_gemm *gemm;
    const hri_precise_slice *slice;
    uint64_t at[2]; /* bytes where the slice begins in packed A and B */
    int64_t row, rows, col, cols;
} block;

static hr_status multiply_residues(hri_cl_queue *queue, const block *b,
                                   cl_mem form)
{
    const hri_gemm *g = b->gemm;
    const hri_precise_slice *slice = b->slice;
    const int parts = slice->parts;
    cl_mem a = hri_cl_memory(g->packed[0].buffer);
    cl_mem c = hri_cl_memory(g->packed[1].buffer);
    cl_mem to = hri_cl_memory(g->scratch.buffer);
    const int64_t a_start = (int64_t)((g->packed[0].offset + b->at[0]) / 4);
    const int64_t b_start = (int64_t)((g->packed[1].offset + b->at[1]) / 4);
    const int64_t to_start = (int64_t)g->scratch.offset;
    const cl_int row = (cl_int)b->row, rows = (cl_int)b->rows;
    const cl_int a_lines = (cl_int)g->m, b_lines = (cl_int)(g->n * parts);
    const cl_int col = (cl_int)(b->col * parts);
    const cl_int cols = (cl_int)(b->cols * parts);
    const cl_int width = (cl_int)slice->width;
    const argument arguments[] = {{sizeof form, &form},
                                  {sizeof row, &row},
                                  {sizeof rows, &rows},
                                  {sizeof a_lines, &a_lines},
                                  {sizeof col, &col},
                                  {sizeof cols, &cols},
                                  {sizeof b_lines, &b_lines},
                                  {sizeof width, &width},
                                  {sizeof a, &a},
                                  {sizeof a_start, &a_start},
                                  {sizeof c, &c},
                                  {sizeof b_start, &b_start},
                                  {sizeof to, &to},
                                  {sizeof to_start, &to_start}};
    return enqueue(queue, g->type, HRI_CL_MULTIPLY_RESIDUES, arguments,
                   sizeof arguments / sizeof arguments[0],
                   (size_t[3]){(size_t)hri_ceil_div(cols, EDGE),
                               (size_t)hri_ceil_div(rows, EDGE),
                               (size_t)slice->form.moduli});
}

static hri_place mask_of(const block *b)
{
    hri_place mask = b->gemm->scratch;
    mask.offset +=
        (size_t)(b->slice->form.moduli * b->rows * b->cols * b->slice->parts);
    return mask;
}

static hr_status make_numbers(hri_cl_queue *queue, const block *b, cl_mem form)
{
    const hri_gemm *g = b->gemm;
    const hri_precise_slice *slice = b->slice;
    const size_t size = hr_type_size(g->type) / (size_t)slice->parts;
    const hri_factor alpha = hri_factor_of(g->type, g->alpha);
    const hri_factor beta =
        hri_factor_of(g->type, hri_precise_beta(g, b->slice));
    const bool wide = slice->form.wide != 0;
    const void *factors[4];
    for (int i = 0; i < 2; i++) {
        factors[i] = wide ? (const void *)&alpha.d[i] : &alpha.f[i];
        factors[2 + i] = wide ? (const void *)&beta.d[i] : &beta.f[i];
    }
    uint64_t known[2];
    const int64_t first[2] = {b->row, b->col}, lines[2] = {g->m, g->n};
    for (int side = 0; side < 2; side++) {
        known[side] = (g->packed[side].offset + b->at[side] +
                       hri_precise_known(slice, side, lines[side])) /
                          sizeof(precise_line) +
                      (uint64_t)first[side];
    }
    const hri_place mask = mask_of(b);
    const cl_mem memory[5] = {
        hri_cl_memory(g->scratch.buffer), hri_cl_memory(g->packed[0].buffer),
        hri_cl_memory(g->packed[1].buffer), hri_cl_memory(g->c.place.buffer),
        hri_cl_memory(mask.buffer)};
    const cl_int rows = (cl_int)b->rows, cols = (cl_int)b->cols;
    const int64_t residues = (int64_t)g->scratch.offset;
    const int64_t stride = g->c.row_stride * slice->parts;
    const int64_t start = (int64_t)(g->c.place.offset / size) +
                          b->row * stride + b->col * slice->parts;
    const int64_t mask_start = (int64_t)mask.offset;
    const argument arguments[] = {{sizeof form, &form},
                                  {sizeof rows, &rows},
                                  {sizeof cols, &cols},
                                  {sizeof memory[0], &memory[0]},
                                  {sizeof residues, &residues},
                                  {sizeof memory[1], &memory[1]},
                                  {sizeof known[0], &known[0]},
                                  {sizeof memory[2], &memory[2]},
                                  {sizeof known[1], &known[1]},
                                  {sizeof memory[3], &memory[3]},
                                  {sizeof start, &start},
                                  {sizeof stride, &stride},
                                  {size, factors[0]},
                                  {size, factors[1]},
                                  {size, factors[2]},
                                  {size, factors[3]},
                                  {sizeof memory[4], &memory[4]},
                                  {sizeof mask_start, &mask_start}};
    return enqueue(
        queue, g->type, HRI_CL_MAKE_NUMBERS, arguments,
        sizeof arguments / sizeof arguments[0],
        (size_t[3]){(size_t)hri_ceil_div(b->cols, ITEMS), (size_t)b->rows, 1});
}

/* The elements that are not rounded. */
static hr_status multiply_in_order(hri_cl_queue *queue, const block *b,
                                   hri_cl_ordered_function *ordered)
{
    const hri_place mask = mask_of(b);
    const hri_gemm g = hri_precise_ordered(b->gemm, b->slice, b->row, b->rows,
                                           b->col, b->cols);
    return ordered(queue, &g, &mask);
}

static hr_status multiply_block(hri_cl_queue *queue, const block *b,
                                cl_mem form, hri_cl_ordered_function *ordered)
{
    HRI_TRY(multiply_residues(queue, b, form));
    HRI_TRY(make_numbers(queue, b, form));
    return multiply_in_order(queue, b, ordered);
}

static hr_status multiply_slice(hri_cl_queue *queue, block *b, cl_mem form,
                                hri_cl_ordered_function *ordered)
{
    const hri_gemm *g = b->gemm;
    int64_t rows = g->m, cols = g->n;
    hri_precise_block(g->type, &rows, &cols);
    for (b->row = 0; b->row < g->m; b->row += rows) {
        for (b->col = 0; b->col < g->n; b->col += cols) {
            b->rows = hri_min(rows, g->m - b->row);
            b->cols = hri_min(cols, g->n - b->col);
            HRI_TRY(multiply_block(queue, b, form, ordered));
        }
    }
    return HR_OK;
}

hr_status hri_cl_gemm_precise(hri_cl_queue *queue, const hri_gemm *g,
                              hri_cl_ordered_function *ordered)
{
    hri_precise_slice slice = {0};
    block b = {.gemm = g, .slice = &slice};
    if (!hri_gemm_is_packed(g)) {
        return hri_fail(HR_ERROR_UNSUPPORTED,
                        "%s: operands of a precise product are not packed",
                        queue->base.device->info.path);
    }
    while (hri_precise_next(g->type, g->k, &slice)) {
        cl_mem form;
        HRI_TRY(make_form(queue, &slice, &form));
        const hr_status status = multiply_slice(queue, &b, form, ordered);
        hri_cl.clReleaseMemObject(form);
        HRI_TRY(status);
        b.at[0] += hri_precise_size(&slice, 0, g->m);
        b.at[1] += hri_precise_size(&slice, 1, g->n);
    }
    return HR_OK;
}
