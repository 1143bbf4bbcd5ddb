/* SPDX-License-Identifier: MIT */
/* Precise products on a GPU (hri_gemm in hal.h, src/hal/precise.inc).
 *
 * Packing takes two kernels for each slice of k: one finds what is known of
 * lines, and one makes their residues. A product takes two for each block of C:
 * sums of products of residues, and numbers from these. Where lines may not be
 * rounded, the kernel of reproducible products makes the elements. */
#include <stdio.h>
#include <stdlib.h>

#include "backends/cuda/cuda.h"
#include "base/matrix.h"
#include "base/size.h"
#include "hal/precise.h"

extern const char hri_cuda_precise_source[]; /* kernels/cuda/precise.cu and
                                                others: cmake/kernels.cmake */

enum {
    HOPPER = 90,
    ITEMS = 256, /* as in the kernels */
    FOUND = 8,
    LINES = 32,
    STEPS = 64,
    BLOCK_LINES = 64,
    BLOCK_WIDTH = 128
};

/* ---- kernels */

/* How multiply_residues is launched. */
typedef struct shape {
    int64_t rows, cols; /* of a tile */
    unsigned threads;
    int shared; /* bytes */
    bool stays; /* blocks of threads make one tile after another */
} shape;

static shape shape_for(int capability)
{
    enum { HOPPER_BYTES = 4 * 6 * 8192 + 1024 };
    return capability == HOPPER ? (shape){128, 256, 384, HOPPER_BYTES, true}
                                : (shape){64, 64, ITEMS, 0, false};
}

bool hri_cuda_precise_compiles(int capability)
{
    enum { FIRST = 70, FIRST_FOR_HOPPER = 12 }; /* a capability, an NVRTC */
    return capability >= FIRST &&
           hri_nvrtc_major() >= (capability == HOPPER ? FIRST_FOR_HOPPER : 1);
}

hr_status hri_cuda_precise_compile(const char *path, int capability,
                                   hr_type type, char **image)
{
    const bool wide = type == HR_F64 || type == HR_C64;
    char parts[16];
    snprintf(parts, sizeof parts, "-DPARTS=%d", hri_precise_parts(type));
    const char *const options[] = {"--gpu-architecture=sm_90a",
                                   wide ? "-DWIDE=1" : "-DWIDE=0", parts, NULL};
    return hri_nvrtc_compile(path, NULL, hri_cuda_precise_source, capability,
                             options + (capability != HOPPER), image, NULL);
}

static hr_status load_steps(const hri_cuda_unit *unit, const char *image,
                            hri_cuda_precise *p)
{
    static const char *const names[HRI_CUDA_STEPS] = {
        [HRI_CUDA_FIND_LINES] = "find_lines",
        [HRI_CUDA_CONVERT_LINES] = "convert_lines",
        [HRI_CUDA_MULTIPLY_RESIDUES] = "multiply_residues",
        [HRI_CUDA_MAKE_NUMBERS] = "make_numbers"};
    const shape s = shape_for(unit->capability);
    cu_result error = hri_cuda.cuModuleLoadData(&p->module, image);
    for (int i = 0; i < HRI_CUDA_STEPS && error == CU_SUCCESS; i++) {
        error = hri_cuda.cuModuleGetFunction(&p->steps[i], p->module, names[i]);
    }
    if (error == CU_SUCCESS && s.shared > 0) {
        error = hri_cuda.cuFuncSetAttribute(
            p->steps[HRI_CUDA_MULTIPLY_RESIDUES], CU_FUNCTION_MAX_DYNAMIC_BYTES,
            s.shared);
    }
    return hri_cuda_check(unit->path, error, "loading a kernel");
}

/* The unit's lock is held. */
static hr_status make_steps(const hri_cuda_unit *unit, hr_type type,
                            hri_cuda_precise *p)
{
    char *image = NULL;
    if (p->module != NULL) {
        return HR_OK;
    }
    HRI_TRY(
        hri_cuda_precise_compile(unit->path, unit->capability, type, &image));
    const hr_status status = load_steps(unit, image, p);
    free(image);
    if (status != HR_OK && p->module != NULL) {
        hri_cuda.cuModuleUnload(p->module);
        p->module = NULL;
    }
    return status;
}

void hri_cuda_precise_unload(hri_cuda_unit *unit)
{
    for (int type = 0; type < HRI_CUDA_TYPES; type++) {
        if (unit->precise[type].module != NULL) {
            hri_cuda.cuModuleUnload(unit->precise[type].module);
            unit->precise[type] = (hri_cuda_precise){0};
        }
    }
}

static hr_status enqueue(const hri_cuda_queue *queue, hr_type type,
                         hri_cuda_step step, const unsigned groups[2],
                         unsigned threads, void **arguments)
{
    hri_cuda_unit *unit = queue->unit;
    hri_cuda_precise *p = &unit->precise[type];
    pthread_mutex_lock(&unit->lock);
    const hr_status status = make_steps(unit, type, p);
    pthread_mutex_unlock(&unit->lock);
    HRI_TRY(status);
    const unsigned shared = step == HRI_CUDA_MULTIPLY_RESIDUES
                                ? (unsigned)shape_for(unit->capability).shared
                                : 0;
    return hri_cuda_check(unit->path,
                          hri_cuda.cuLaunchKernel(
                              p->steps[step], groups[0], groups[1], 1, threads,
                              1, 1, shared, queue->stream, arguments, NULL),
                          "cuLaunchKernel");
}

/* ---- packing */

static hr_status pack_slice(const hri_cuda_queue *queue, const hri_pack *p,
                            hri_precise_slice *slice, uint64_t at)
{
    int side = p->side, conjugate = p->from.conjugate;
    i32 lines = (i32)p->rows, width = (i32)slice->width;
    i64 across = p->from.row_stride * slice->parts;
    i64 along = p->from.col_stride * slice->parts;
    i64 start = slice->first * along, none = 0;
    cu_address from = hri_cuda_address(&p->from.place);
    cu_address residues = hri_cuda_address(&p->to) + at;
    cu_address known = residues + hri_precise_known(slice, side, p->rows);
    void *found[] = {&slice->form, &from,  &start, &across,
                     &along,       &lines, &known, &none};
    void *made[] = {&slice->form, &side,     &from,      &start, &across,
                    &along,       &lines,    &conjugate, &width, &known,
                    &none,        &residues, &none};
    const unsigned groups = (unsigned)hri_ceil_div(p->rows, LINES);
    const unsigned steps = (unsigned)hri_ceil_div(slice->width, STEPS);
    const unsigned found_in = (unsigned)hri_ceil_div(p->rows, FOUND);
    HRI_TRY(enqueue(queue, p->type, HRI_CUDA_FIND_LINES,
                    (unsigned[2]){found_in, 1}, ITEMS, found));
    return enqueue(queue, p->type, HRI_CUDA_CONVERT_LINES,
                   (unsigned[2]){groups, steps}, ITEMS, made);
}

hr_status hri_cuda_pack_precise(hri_cuda_queue *queue, const hri_pack *p)
{
    hri_precise_slice slice = {0};
    uint64_t at = 0;
    while (hri_precise_next(p->type, p->cols, &slice)) {
        HRI_TRY(pack_slice(queue, p, &slice, at));
        at += hri_precise_size(&slice, p->side, p->rows);
    }
    return HR_OK;
}

/* ---- products */

/* A block of C over one slice of k. */
typedef struct block {
    const hri_gemm *gemm;
    hri_precise_slice *slice;
    cu_address packed[2]; /* where the slice begins */
    int64_t row, rows, col, cols;
} block;

/* As in kernels/cuda/precise_dots.cu. */
typedef struct task {
    i32 row, rows, a_blocks, col, cols, b_blocks, steps;
    cu_address a, b, to;
} task;

static hr_status multiply_residues(const hri_cuda_queue *queue, const block *b)
{
    const hri_gemm *g = b->gemm;
    const int parts = b->slice->parts;
    const shape s = shape_for(queue->unit->capability);
    task t = {
        .row = (i32)b->row,
        .rows = (i32)b->rows,
        .a_blocks = (i32)hri_ceil_div(g->m, BLOCK_LINES),
        .col = (i32)b->col * parts,
        .cols = (i32)b->cols * parts,
        .b_blocks = (i32)hri_ceil_div(g->n * parts, BLOCK_LINES),
        .steps = (i32)(b->slice->width / BLOCK_WIDTH),
        .a = b->packed[0],
        .b = b->packed[1],
        .to = hri_cuda_address(&g->scratch),
    };
    i32 tiles = (i32)(hri_ceil_div(t.rows, s.rows) *
                      hri_ceil_div(t.cols, s.cols) * b->slice->form.moduli);
    const i32 most = (i32)queue->base.device->info.compute_units;
    void *arguments[] = {&b->slice->form, &t, &tiles};
    const i32 groups = s.stays ? (i32)hri_min(tiles, most) : tiles;
    return enqueue(queue, g->type, HRI_CUDA_MULTIPLY_RESIDUES,
                   (unsigned[2]){(unsigned)groups, 1}, s.threads, arguments);
}

static cu_address mask_of(const block *b)
{
    return hri_cuda_address(&b->gemm->scratch) +
           (cu_address)(b->slice->form.moduli * b->rows * b->cols *
                        b->slice->parts);
}

static hr_status make_numbers(const hri_cuda_queue *queue, const block *b)
{
    const hri_gemm *g = b->gemm;
    const int parts = b->slice->parts;
    hri_factor alpha = hri_factor_of(g->type, g->alpha);
    hri_factor beta = hri_factor_of(g->type, hri_precise_beta(g, b->slice));
    const bool wide = b->slice->form.wide;
    i32 rows = (i32)b->rows, cols = (i32)b->cols;
    cu_address residues = hri_cuda_address(&g->scratch), mask = mask_of(b);
    cu_address known[2] = {b->packed[0] + hri_precise_known(b->slice, 0, g->m),
                           b->packed[1] + hri_precise_known(b->slice, 1, g->n)};
    cu_address c = hri_cuda_address(&g->c.place);
    i64 none = 0, row = b->row, col = b->col;
    i64 stride = g->c.row_stride * parts;
    i64 start = row * stride + col * parts;
    void *arguments[] = {&b->slice->form,
                         &rows,
                         &cols,
                         &residues,
                         &none,
                         &known[0],
                         &row,
                         &known[1],
                         &col,
                         &c,
                         &start,
                         &stride,
                         wide ? (void *)&alpha.d[0] : &alpha.f[0],
                         wide ? (void *)&alpha.d[1] : &alpha.f[1],
                         wide ? (void *)&beta.d[0] : &beta.f[0],
                         wide ? (void *)&beta.d[1] : &beta.f[1],
                         &mask,
                         &none};
    return enqueue(queue, g->type, HRI_CUDA_MAKE_NUMBERS,
                   (unsigned[2]){(unsigned)hri_ceil_div(b->cols, ITEMS),
                                 (unsigned)b->rows},
                   ITEMS, arguments);
}

/* The elements that are not rounded. */
static hr_status multiply_in_order(hri_cuda_queue *queue, const block *b,
                                   hri_cuda_ordered_function *ordered)
{
    const hri_gemm g = hri_precise_ordered(b->gemm, b->slice, b->row, b->rows,
                                           b->col, b->cols);
    return ordered(queue, &g, mask_of(b));
}

static hr_status multiply_slice(hri_cuda_queue *queue, block *b,
                                hri_cuda_ordered_function *ordered)
{
    const hri_gemm *g = b->gemm;
    int64_t rows = g->m, cols = g->n;
    hri_precise_block(g->type, &rows, &cols);
    for (b->row = 0; b->row < g->m; b->row += rows) {
        for (b->col = 0; b->col < g->n; b->col += cols) {
            b->rows = hri_min(rows, g->m - b->row);
            b->cols = hri_min(cols, g->n - b->col);
            HRI_TRY(multiply_residues(queue, b));
            HRI_TRY(make_numbers(queue, b));
            HRI_TRY(multiply_in_order(queue, b, ordered));
        }
    }
    return HR_OK;
}

hr_status hri_cuda_gemm_precise(hri_cuda_queue *queue, const hri_gemm *g,
                                hri_cuda_ordered_function *ordered)
{
    hri_precise_slice slice = {0};
    block b = {.gemm = g,
               .slice = &slice,
               .packed = {hri_cuda_address(&g->packed[0]),
                          hri_cuda_address(&g->packed[1])}};
    if (!hri_gemm_is_packed(g)) {
        return hri_fail(HR_ERROR_UNSUPPORTED,
                        "%s: operands of a precise product are not packed",
                        queue->unit->path);
    }
    while (hri_precise_next(g->type, g->k, &slice)) {
        HRI_TRY(multiply_slice(queue, &b, ordered));
        b.packed[0] += hri_precise_size(&slice, 0, g->m);
        b.packed[1] += hri_precise_size(&slice, 1, g->n);
    }
    return HR_OK;
}
