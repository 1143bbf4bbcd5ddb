/* SPDX-License-Identifier: MIT */
/* Products on a GPU: by cuBLAS where it offers them, else by our kernel,
 * compiled for a capability and a type. */
#include <stdio.h>
#include <stdlib.h>

#include "backends/cuda/cuda.h"
#include "base/environment.h"
#include "base/matrix.h"
#include "base/size.h"
#include "hal/precise.h"

/* ---- the kernel */

extern const char hri_cuda_gemm_source[]; /* kernels/cuda/gemm.cu */

/* The layout of the kernel: see kernels/cuda/gemm.cu. */
typedef struct layout {
    int wm, wn, rm, rn, v, kc, pad, blocks;
} layout;

/* The layouts of the OpenCL kernel. NVIDIA H200, CUDA 13.0, 2026-11, 16384^3
 * for f16, bf16 and i8, 8192^3 for f32 and f64, 4096^3 for c32 and c64,
 * TFLOP/s: f32 41.4, f64 20.0, c32 37.2, c64 18.5, f16 35.1, bf16 35.6, i8
 * 28.6. Types with blocks above 1 had 16.4, 29.4 and 29.5 with blocks = 1.
 * Types with blocks = 1 had f32 38.2, f64 2.3, c32 7.8 and i8 29.3 with twice
 * the threads. */
static const layout layouts[HRI_CUDA_TYPES] = {
    [HR_F32] = {16, 16, 8, 8, 4, 16, 4, 1},
    [HR_F64] = {8, 16, 8, 8, 2, 8, 2, 1},
    [HR_C32] = {8, 16, 8, 8, 4, 8, 4, 1},
    [HR_C64] = {8, 16, 4, 4, 2, 4, 2, 4},
    [HR_F16] = {16, 16, 8, 8, 4, 16, 4, 2},
    [HR_BF16] = {16, 16, 8, 8, 4, 16, 4, 2},
    [HR_I8] = {16, 16, 8, 8, 4, 16, 4, 1},
};

/* A compiled kernel. It stays for the life of the process. */
typedef struct program {
    struct program *next;
    int capability;
    hr_type type;
    hri_cuda_form form;
    char *image;
} program;

static pthread_mutex_t programs_lock = PTHREAD_MUTEX_INITIALIZER;
static program *programs; /* guarded by programs_lock */

static hr_status compile_program(const char *path, program *p)
{
    enum { DEFINITIONS = 11 };
    const layout *l = &layouts[p->type];
    const struct {
        const char *name;
        int value;
    } definitions[DEFINITIONS] = {
        {"IN", (int)p->type},
        {"WM", l->wm},
        {"WN", l->wn},
        {"RM", l->rm},
        {"RN", l->rn},
        {"V", l->v},
        {"KC", l->kc},
        {"PAD", l->pad},
        {"BLOCKS", l->blocks},
        {"DEPTH", p->form == HRI_CUDA_ORDERED ? HRI_ORDERED_DEPTH : 0},
        {"ADD", p->form == HRI_CUDA_ADD}};
    char texts[DEFINITIONS][24];
    const char *options[DEFINITIONS + 1];
    for (int i = 0; i < DEFINITIONS; i++) {
        snprintf(texts[i], sizeof texts[i], "-D%s=%d", definitions[i].name,
                 definitions[i].value);
        options[i] = texts[i];
    }
    options[DEFINITIONS] = NULL;
    return hri_nvrtc_compile(path, NULL, hri_cuda_gemm_source, p->capability,
                             options, &p->image, NULL);
}

/* Compile and remember. The list's lock is held. */
static hr_status add_program(const char *path, int capability, hr_type type,
                             hri_cuda_form form, const char **image)
{
    program *p = calloc(1, sizeof *p);
    if (p == NULL) {
        return hri_no_memory(path);
    }
    p->capability = capability;
    p->type = type;
    p->form = form;
    hr_status status = compile_program(path, p);
    if (status != HR_OK) {
        free(p);
        return status;
    }
    p->next = programs;
    programs = p;
    *image = p->image;
    return HR_OK;
}

hr_status hri_cuda_kernel_compile(const char *path, int capability,
                                  hr_type type, hri_cuda_form form,
                                  const char **image)
{
    hr_status status = HR_OK;
    pthread_mutex_lock(&programs_lock);
    const program *p = programs;
    while (p != NULL && (p->capability != capability || p->type != type ||
                         p->form != form)) {
        p = p->next;
    }
    if (p != NULL) {
        *image = p->image;
    } else {
        status = add_program(path, capability, type, form, image);
    }
    pthread_mutex_unlock(&programs_lock);
    return status;
}

/* The unit's lock is held. */
static hr_status load_kernel(const hri_cuda_unit *unit, hr_type type,
                             hri_cuda_form form, hri_cuda_kernel *kernel)
{
    const char *image;
    if (kernel->module != NULL) {
        return HR_OK;
    }
    HRI_TRY(hri_cuda_kernel_compile(unit->path, unit->capability, type, form,
                                    &image));
    return hri_cuda_function_load(unit, image, NULL,
                                  form == HRI_CUDA_ADD ? "add" : "gemm",
                                  &kernel->module, &kernel->function);
}

/* A kernel of ours. It is compiled and loaded on first use. The unit's context
 * is current. */
static hr_status get_kernel(hri_cuda_unit *unit, hr_type type,
                            hri_cuda_form form, cu_function *function)
{
    hri_cuda_kernel *kernel = &unit->kernels[type][form];
    pthread_mutex_lock(&unit->lock);
    hr_status status = load_kernel(unit, type, form, kernel);
    *function = kernel->function;
    pthread_mutex_unlock(&unit->lock);
    return status;
}

/* ---- products */

enum { FIRST_WITH_TF32 = 80 }; /* the first capability with tf32 */

void hri_cuda_arithmetic_name(char *text, size_t bytes)
{
    const char *wish = hri_environment("HEADRACE_CUBLAS");
    if (hri_cublas_load() == HR_OK) {
        snprintf(text, bytes, "%s, %s", hri_cublas_name(),
                 hri_nvrtc_load() == HR_OK ? hri_nvrtc_name() : "no NVRTC");
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
        return type == HR_F32 && c_type == HR_F32 &&
               hri_cublas_load() == HR_OK &&
               unit->capability >= FIRST_WITH_TF32;
    }
    if (compute == HR_COMPUTE_REPRODUCIBLE) {
        return type != HR_I8 && hri_types_multiply(type, c_type) &&
               hri_nvrtc_load() == HR_OK;
    }
    if (compute == HR_COMPUTE_PRECISE) {
        return hri_is_precise_type(type) && type == c_type &&
               hri_cuda_precise_compiles(unit->capability);
    }
    /* cuBLAS does not conjugate without transposing, multiplies integers only
     * in few cases, and adds to halves what is a half already */
    const bool incomplete = hri_is_complex(type) || type == HR_I8 ||
                            c_type == HR_F16 || c_type == HR_BF16;
    return hri_types_multiply(type, c_type) &&
           (!incomplete || hri_nvrtc_load() == HR_OK);
}

/* Launch the kernel with the arguments of kernels/cuda/gemm.cu, one block for
 * each tile of C. */
static cu_result launch_kernel(const hri_cuda_queue *queue,
                               cu_function function, const hri_gemm *g,
                               cu_address mask)
{
    const layout *l = &layouts[g->type];
    int64_t across = hri_ceil_div(g->n, l->wn * l->rn);
    int64_t tiles = across * hri_ceil_div(g->m, l->wm * l->rm);
    cu_address a = hri_cuda_address(&g->a.place);
    cu_address b = hri_cuda_address(&g->b.place);
    cu_address c = hri_cuda_address(&g->c.place);
    hri_factor alpha = hri_factor_of(g->type, g->alpha);
    hri_factor beta = hri_factor_of(g->type, g->beta);
    int32_t flags = hri_gemm_flags(g);
    hri_gemm s = *g; /* the driver wants pointers that are not const */
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
                         &across,
                         &mask};
    if (tiles > INT32_MAX) {
        return CU_INVALID_VALUE;
    }
    return hri_cuda.cuLaunchKernel(function, (unsigned)tiles, 1, 1,
                                   (unsigned)l->wn, (unsigned)l->wm, 1, 0,
                                   queue->stream, arguments, NULL);
}

/* mask: see kernels/cuda/gemm.cu; 0: all of C is wanted. */
static hr_status run_kernel(hri_cuda_queue *queue, const hri_gemm *g,
                            cu_address mask)
{
    const hri_cuda_form form = g->compute == HR_COMPUTE_REPRODUCIBLE
                                   ? HRI_CUDA_ORDERED
                                   : HRI_CUDA_PLAIN;
    cu_function kernel;
    if (hri_nvrtc_load() != HR_OK) {
        return hri_fail(HR_ERROR_UNSUPPORTED,
                        "%s: cuBLAS does not multiply %s into %s, and the "
                        "kernel needs NVRTC: %s",
                        queue->unit->path, hr_type_name(g->type),
                        hr_type_name(g->c_type), hr_last_error());
    }
    HRI_TRY(get_kernel(queue->unit, g->type, form, &kernel));
    return hri_cuda_check(queue->unit->path,
                          launch_kernel(queue, kernel, g, mask),
                          "cuLaunchKernel");
}

/* C := 0. */
static cu_result clear_c(const hri_cuda_queue *queue, const hri_gemm *g)
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

/* C := beta C. A and B need not exist. */
static hr_status scale_c(hri_cuda_queue *queue, const hri_gemm *g)
{
    if (g->beta.im == 0 && g->beta.re == 0) {
        return hri_cuda_check(queue->unit->path, clear_c(queue, g),
                              "cuMemsetD2D8Async");
    }
    if (g->beta.im == 0 && g->beta.re == 1) {
        return HR_OK;
    }
    const hri_gemm scaling = hri_gemm_scaling(g);
    return run_kernel(queue, &scaling, 0);
}

/* ---- halves that are added to */

/* Whether cuBLAS would round alpha A B to halves before it adds beta C. */
static bool rounds_twice(const hri_gemm *g)
{
    return (g->c_type == HR_F16 || g->c_type == HR_BF16) && g->beta.re != 0;
}

/* C := sums + beta C. */
static hr_status add_sums(hri_cuda_queue *queue, const hri_gemm *g,
                          cu_address sums)
{
    enum { THREADS = 256 };
    cu_function kernel;
    HRI_TRY(get_kernel(queue->unit, g->type, HRI_CUDA_ADD, &kernel));
    uint32_t count = (uint32_t)g->batch.count;
    uint32_t rows = (uint32_t)g->m, cols = (uint32_t)g->n;
    cu_address c = hri_cuda_address(&g->c.place);
    int64_t c_rows = g->c.row_stride;
    int64_t c_step = g->batch.steps[2] / (int64_t)hr_type_size(g->c_type);
    float beta = (float)g->beta.re;
    void *arguments[] = {&count, &rows,   &cols,   &sums,
                         &c,     &c_rows, &c_step, &beta};
    const unsigned blocks =
        (unsigned)hri_ceil_div((int64_t)count * rows * cols, THREADS);
    return hri_cuda_check(queue->unit->path,
                          hri_cuda.cuLaunchKernel(kernel, blocks, 1, 1, THREADS,
                                                  1, 1, 0, queue->stream,
                                                  arguments, NULL),
                          "cuLaunchKernel");
}

/* A block of a product or a batch: rows, columns and products from some on. */
static hri_gemm block_of(const hri_gemm *g, int64_t row, int64_t col,
                         int64_t product)
{
    const size_t size = hr_type_size(g->type), c_size = hr_type_size(g->c_type);
    const int64_t *steps = g->batch.steps;
    hri_gemm block = *g;
    block.a.place.offset +=
        (size_t)(row * g->a.row_stride) * size + (size_t)(product * steps[0]);
    block.b.place.offset +=
        (size_t)(col * g->b.col_stride) * size + (size_t)(product * steps[1]);
    block.c.place.offset += (size_t)(row * g->c.row_stride + col) * c_size +
                            (size_t)(product * steps[2]);
    return block;
}

static hr_status multiply_one(void *data, const hri_gemm *g);

/* A block whose sums there is room for. */
static hr_status add_block(hri_cuda_queue *queue, const hri_gemm *block,
                           cu_address sums)
{
    hri_gemm g = *block;
    bool done;
    g.c_type = HR_F32;
    g.beta = hr_real(0);
    g.c = (hri_operand){.place = {.host = (void *)(uintptr_t)sums},
                        .row_stride = g.n,
                        .col_stride = 1};
    g.batch.steps[2] = g.m * g.n * (int64_t)sizeof(float);
    HRI_TRY(hri_cublas_gemm(queue, &g, &done));
    if (done) {
        return add_sums(queue, block, sums);
    }
    return block->batch.count > 1 ? hri_gemm_each(queue, block, multiply_one)
                                  : run_kernel(queue, block, 0);
}

/* The length of equal blocks of at most `most`, a multiple of GRAIN: whole
 * tiles of kernels, whose operands begin where those of the product might. */
static int64_t block_length(int64_t all, int64_t most)
{
    enum { GRAIN = 128 };
    const int64_t count = hri_ceil_div(all, most / GRAIN * GRAIN);
    return all <= most ? all
                       : hri_ceil_div(hri_ceil_div(all, count), GRAIN) * GRAIN;
}

/* C := alpha A B + beta C for halves, each rounded once: sums of floats come
 * first. */
static hr_status add_product(hri_cuda_queue *queue, const hri_gemm *g)
{
    enum { WIDE = 4096 }; /* then blocks are 1024 high, or higher */
    const int64_t count = hri_max(g->batch.count, 1);
    const int64_t cols = block_length(g->n, WIDE);
    const int64_t rows = block_length(g->m, HRI_CUBLAS_SUMS / cols);
    const bool whole = rows == g->m && cols == g->n;
    const int64_t products =
        whole ? hri_min(count, HRI_CUBLAS_SUMS / (rows * cols)) : 1;
    cu_address sums;
    HRI_TRY(hri_cublas_sums(queue, &sums));
    for (int64_t p = 0; p < count; p += products) {
        for (int64_t r = 0; r < g->m; r += rows) {
            for (int64_t c = 0; c < g->n; c += cols) {
                hri_gemm block = block_of(g, r, c, p);
                block.m = hri_min(rows, g->m - r);
                block.n = hri_min(cols, g->n - c);
                block.batch.count = hri_min(products, count - p);
                HRI_TRY(add_block(queue, &block, sums));
            }
        }
    }
    return HR_OK;
}

/* By cuBLAS, where that is there and offers it. */
static hr_status multiply_fast(hri_cuda_queue *queue, const hri_gemm *g,
                               bool *done)
{
    if (rounds_twice(g) && hri_cublas_load() == HR_OK) {
        *done = true;
        return add_product(queue, g);
    }
    return hri_cublas_gemm(queue, g, done);
}

static hr_status multiply_one(void *data, const hri_gemm *g)
{
    hri_cuda_queue *queue = data;
    bool done = false;
    if (hri_gemm_only_scales(g)) {
        return scale_c(queue, g);
    }
    if (g->compute == HR_COMPUTE_PRECISE) {
        return hri_cuda_gemm_precise(queue, g, run_kernel);
    }
    if (g->compute != HR_COMPUTE_REPRODUCIBLE) {
        HRI_TRY(multiply_fast(queue, g, &done));
    }
    return done ? HR_OK : run_kernel(queue, g, 0);
}

/* By one call of cuBLAS where it offers that. */
static hr_status multiply_batch(hri_cuda_queue *queue, const hri_gemm *g)
{
    bool done = false;
    if (!hri_gemm_only_scales(g) && g->compute < HR_COMPUTE_REPRODUCIBLE) {
        HRI_TRY(multiply_fast(queue, g, &done));
    }
    return done ? HR_OK : hri_gemm_each(queue, g, multiply_one);
}

hr_status hri_cuda_gemm(hri_cuda_queue *queue, const void *data)
{
    const hri_gemm *g = data;
    HRI_TRY(hri_gemm_check_offered(&queue->base, g));
    if (g->m == 0 || g->n == 0) {
        return HR_OK;
    }
    return g->batch.count > 1 ? multiply_batch(queue, g)
                              : multiply_one(queue, g);
}
