/* SPDX-License-Identifier: MIT */
/* cuBLAS: opening it, handles with a workspace of ours, and products.
 *
 * A handle belongs to one queue at a time. It goes back to the device when the
 * queue ends, so that a second run need not make one. We give it its workspace,
 * so cuBLAS allocates nothing during a product, and the memory that it takes is
 * known beforehand (hri_device_info.gemm_bytes). */
#include <stdio.h>
#include <stdlib.h>

#include "backends/cuda/cuda.h"
#include "base/size.h"

typedef struct cublas_api {
#define SYM(kind, result, name, args) result(*name) args;
#include "backends/cuda/cublas.inc"
#undef SYM
} cublas_api;

static const hri_symbol symbols[] = {
#define SYM(kind, result, name, args) {#name, offsetof(cublas_api, name), kind},
#include "backends/cuda/cublas.inc"
#undef SYM
};

/* Values of its interface. */
enum {
    SUCCESS = 0,
    ALLOC_FAILED = 3,
    ARCH_MISMATCH = 8,
    NOT_SUPPORTED = 15,
    MAJOR = 0,
    MINOR = 1,
    OP_NONE = 0,
    OP_TRANSPOSE = 1,
    OP_CONJUGATE = 2, /* and transpose */
    DATA_F32 = 0,
    DATA_F64 = 1,
    DATA_F16 = 2,
    DATA_I8 = 3,
    DATA_C32 = 4,
    DATA_C64 = 5,
    DATA_I32 = 10,
    DATA_BF16 = 14,
    COMPUTE_F32 = 68,
    COMPUTE_F32_PEDANTIC = 69,
    COMPUTE_F64 = 70,
    COMPUTE_F64_PEDANTIC = 71,
    COMPUTE_I32 = 72,
    COMPUTE_TF32 = 77,
    DEFAULT_ALGORITHM = -1,
    MATH_DEFAULT = 0,
    MATH_FULL_REDUCTION = 16 /* partial sums are never halves */
};

/* Written once, by find_cublas. */
static cublas_api api;
static char library_name[32];

static hr_status find_cublas(void)
{
    static const char *const names[] = {"libcublas.so.13", "libcublas.so.12",
                                        "libcublas.so.11", NULL};
    static const hri_cuda_library library = {
        "HEADRACE_CUBLAS", names, symbols, sizeof symbols / sizeof symbols[0]};
    const char *folder;
    int major = 0, minor = 0;
    HRI_TRY(hri_cuda_library_load(&library, &api, &folder));
    if (api.cublasGetProperty(MAJOR, &major) != SUCCESS ||
        api.cublasGetProperty(MINOR, &minor) != SUCCESS) {
        return hri_fail(HR_ERROR_UNAVAILABLE,
                        "cuBLAS does not tell its version");
    }
    snprintf(library_name, sizeof library_name, "cuBLAS %d.%d", major, minor);
    return HR_OK;
}

hr_status hri_cublas_load(void)
{
    static hri_once once = HRI_ONCE_INIT;
    return hri_once_run(&once, find_cublas);
}

const char *hri_cublas_name(void)
{
    return hri_cublas_load() == HR_OK ? library_name : "";
}

static const size_t SUMS_BYTES = HRI_CUBLAS_SUMS * sizeof(float);

/* The size that its manual recommends. */
static size_t workspace_bytes(int capability)
{
    return (size_t)(capability >= 90 ? 32 : 4) << 20;
}

/* A handle also takes memory for itself, with or without a workspace of ours:
 * 64 MiB on an H200 (cuBLAS 13.1, 2026-11). For older devices its manual says 8
 * MiB; this is not measured. */
uint64_t hri_cublas_bytes(int capability)
{
    const uint64_t kept = (uint64_t)(capability >= 90 ? 64 : 16) << 20;
    return hri_cublas_load() == HR_OK
               ? kept + workspace_bytes(capability) + SUMS_BYTES
               : 0;
}

/* The error may be that of earlier work in the stream. */
static hr_status check_call(const hri_cuda_queue *queue, int error,
                            const char *what)
{
    if (error == SUCCESS) {
        return HR_OK;
    }
    const char *path = queue->unit->path;
    cu_result earlier = hri_cuda.cuStreamQuery(queue->stream);
    if (earlier != CU_SUCCESS && earlier != CU_NOT_READY) {
        return hri_cuda_check(path, earlier, what);
    }
    return hri_fail(
        error == ALLOC_FAILED ? HR_ERROR_OUT_OF_MEMORY : HR_ERROR_BACKEND,
        "%s: %s failed with status %d of cuBLAS", path, what, error);
}

/* ---- handles */

static void destroy_handle(hri_cublas *blas)
{
    if (blas->handle != NULL) {
        api.cublasDestroy_v2(blas->handle);
    }
    if (blas->workspace != 0) {
        hri_cuda.cuMemFree_v2(blas->workspace);
    }
    free(blas);
}

static hr_status create_handle(const hri_cuda_queue *queue, hri_cublas **out)
{
    const hri_cuda_unit *unit = queue->unit;
    const size_t bytes = workspace_bytes(unit->capability);
    hri_cublas *blas = calloc(1, sizeof *blas);
    if (blas == NULL) {
        return hri_no_memory(unit->path);
    }
    hr_status status = hri_cuda_check(
        unit->path,
        hri_cuda.cuMemAlloc_v2(&blas->workspace, bytes + SUMS_BYTES),
        "allocating a workspace for cuBLAS");
    if (status != HR_OK) {
        goto fail;
    }
    blas->sums = blas->workspace + bytes;
    status =
        check_call(queue, api.cublasCreate_v2(&blas->handle), "cublasCreate");
    if (status != HR_OK) {
        goto fail;
    }
    status = check_call(
        queue,
        api.cublasSetMathMode(blas->handle, MATH_DEFAULT | MATH_FULL_REDUCTION),
        "cublasSetMathMode");
    if (status != HR_OK) {
        goto fail;
    }
    *out = blas;
    return HR_OK;
fail:
    destroy_handle(blas);
    return status;
}

/* Give the queue a handle unless it has one: an idle one, else a new one. The
 * queue keeps it also after an error, and gives it back in the end. Setting the
 * stream resets the workspace, so the workspace is set after it. */
static hr_status take_handle(hri_cuda_queue *queue)
{
    if (queue->blas != NULL) {
        return HR_OK;
    }
    hri_cuda_device *device = (hri_cuda_device *)queue->base.device;
    pthread_mutex_lock(&device->lock);
    hri_cublas *blas = device->idle;
    device->idle = blas != NULL ? blas->next : NULL;
    pthread_mutex_unlock(&device->lock);
    if (blas == NULL) {
        HRI_TRY(create_handle(queue, &blas));
    }
    queue->blas = blas;
    HRI_TRY(check_call(queue,
                       api.cublasSetStream_v2(blas->handle, queue->stream),
                       "cublasSetStream"));
    return check_call(queue,
                      api.cublasSetWorkspace_v2(
                          blas->handle, (void *)(uintptr_t)blas->workspace,
                          workspace_bytes(queue->unit->capability)),
                      "cublasSetWorkspace");
}

hr_status hri_cublas_sums(hri_cuda_queue *queue, cu_address *sums)
{
    HRI_TRY(take_handle(queue));
    *sums = queue->blas->sums;
    return HR_OK;
}

void hri_cublas_give_back(hri_cuda_queue *queue)
{
    hri_cuda_device *device = (hri_cuda_device *)queue->base.device;
    if (queue->blas != NULL) {
        pthread_mutex_lock(&device->lock);
        queue->blas->next = device->idle;
        device->idle = queue->blas;
        pthread_mutex_unlock(&device->lock);
        queue->blas = NULL;
    }
}

void hri_cublas_destroy(hri_cuda_device *device)
{
    while (device->idle != NULL) {
        hri_cublas *next = device->idle->next;
        destroy_handle(device->idle);
        device->idle = next;
    }
}

/* ---- products */

/* An operand in column-major order. There, a row-major matrix is its own
 * transpose. */
typedef struct side {
    int operation;
    int64_t ld;
    const void *start;
} side;

static bool is_row_major(const hri_operand *o)
{
    return o->col_stride == 1;
}

static side side_of(const hri_operand *o, int64_t rows, int64_t cols)
{
    bool row_major = is_row_major(o);
    return (side){
        .operation = row_major      ? OP_NONE
                     : o->conjugate ? OP_CONJUGATE
                                    : OP_TRANSPOSE,
        .ld = row_major ? hri_max(o->row_stride, cols)
                        : hri_max(o->col_stride, rows),
        .start = (const void *)(uintptr_t)hri_cuda_address(&o->place),
    };
}

/* cuBLAS writes columns, so C' := B' A' is what makes C in rows. */
typedef struct call {
    side a, b, c;
    int64_t m, n, k;
} call;

static call call_of(const hri_gemm *g)
{
    return (call){
        .a = side_of(&g->b, g->k, g->n),
        .b = side_of(&g->a, g->m, g->k),
        .c = side_of(&g->c, g->m, g->n),
        .m = g->n,
        .n = g->m,
        .k = g->k,
    };
}

/* Whether the integers suit cuBLAS: sizes, strides and addresses are multiples
 * of four, and alpha and beta do not scale. */
static bool suits_integers(const hri_gemm *g, const call *c)
{
    const uint64_t all = (uint64_t)(uintptr_t)c->a.start |
                         (uint64_t)(uintptr_t)c->b.start | (uint64_t)c->a.ld |
                         (uint64_t)c->b.ld | (uint64_t)c->m | (uint64_t)c->n |
                         (uint64_t)c->k | (uint64_t)c->c.ld;
    return all % 4 == 0 && g->alpha.re == 1 &&
           (g->beta.re == 0 || g->beta.re == 1);
}

/* Whether the sizes fit into 32 bits, as the older functions need. */
static bool are_short(const int64_t *sizes, size_t count)
{
    bool all = true;
    for (size_t i = 0; i < count; i++) {
        all = all && sizes[i] <= INT32_MAX;
    }
    return all;
}

/* Elements from an operand of a batch to the next one. */
static long long step_of(const hri_gemm *g, int which)
{
    const hr_type type = which == 2 ? g->c_type : g->type;
    return g->batch.steps[which] / (long long)hr_type_size(type);
}

/* Whether cuBLAS has the function for this batch. The steps of integers must
 * suit it, too. */
static bool suits_batch(const hri_gemm *g, bool shorts)
{
    const bool fours = (step_of(g, 0) | step_of(g, 1)) % 4 == 0;
    return (api.cublasGemmStridedBatchedEx_64 != NULL ||
            (api.cublasGemmStridedBatchedEx != NULL && shorts &&
             g->batch.count <= INT32_MAX)) &&
           (g->type != HR_I8 || fours);
}

/* Whether cuBLAS is there and offers this product, or this batch. */
static bool suits_product(const hri_gemm *g)
{
    if (hri_cublas_load() != HR_OK || (g->a.conjugate && is_row_major(&g->a)) ||
        (g->b.conjugate && is_row_major(&g->b))) {
        return false;
    }
    const call c = call_of(g);
    const int64_t sizes[] = {c.m, c.n, c.k, c.a.ld, c.b.ld, c.c.ld};
    const bool shorts = are_short(sizes, 6);
    return (g->batch.count > 1 ? suits_batch(g, shorts)
                               : api.cublasGemmEx_64 != NULL || shorts) &&
           (g->type != HR_I8 || suits_integers(g, &c));
}

static int data_type(hr_type type)
{
    static const int types[] = {
        [HR_F32] = DATA_F32, [HR_F64] = DATA_F64, [HR_C32] = DATA_C32,
        [HR_C64] = DATA_C64, [HR_F16] = DATA_F16, [HR_BF16] = DATA_BF16,
        [HR_I8] = DATA_I8,   [HR_I32] = DATA_I32,
    };
    return types[type];
}

/* CUBLAS_COMPUTE_..._PEDANTIC keeps cuBLAS from tf32 and from emulation,
 * whatever its own environment variables say. It also keeps it from making
 * three real products instead of the four of a complex one, which our error
 * bound does not allow. f64 is not pedantic: it would be 25 per cent slower
 * (46.5 instead of 61.8 TFLOP/s at 8192^3; f32 51 both ways; H200, cuBLAS 13.1,
 * 2026-11). Nor are f16 and bf16, which would lose the tensor cores. */
static int compute_type(const hri_gemm *g)
{
    switch (g->type) {
    case HR_F64:
        return COMPUTE_F64;
    case HR_C64:
        return COMPUTE_F64_PEDANTIC;
    case HR_C32:
        return COMPUTE_F32_PEDANTIC;
    case HR_I8:
        return COMPUTE_I32;
    case HR_F32:
        return g->compute == HR_COMPUTE_TF32 ? COMPUTE_TF32
                                             : COMPUTE_F32_PEDANTIC;
    default:
        return COMPUTE_F32;
    }
}

static int multiply_one(const hri_cublas *blas, const hri_gemm *g)
{
    const call c = call_of(g);
    const hri_factor alpha = hri_factor_of(g->type, g->alpha);
    const hri_factor beta = hri_factor_of(g->type, g->beta);
    const int type = data_type(g->type), c_type = data_type(g->c_type);
    void *out = (void *)(uintptr_t)hri_cuda_address(&g->c.place);
    if (api.cublasGemmEx_64 != NULL) {
        return api.cublasGemmEx_64(
            blas->handle, c.a.operation, c.b.operation, c.m, c.n, c.k, &alpha,
            c.a.start, type, c.a.ld, c.b.start, type, c.b.ld, &beta, out,
            c_type, c.c.ld, compute_type(g), DEFAULT_ALGORITHM);
    }
    return api.cublasGemmEx(blas->handle, c.a.operation, c.b.operation,
                            (int)c.m, (int)c.n, (int)c.k, &alpha, c.a.start,
                            type, (int)c.a.ld, c.b.start, type, (int)c.b.ld,
                            &beta, out, c_type, (int)c.c.ld, compute_type(g),
                            DEFAULT_ALGORITHM);
}

/* As in `multiply`, A and B have changed places. */
static int multiply_batch(const hri_cublas *blas, const hri_gemm *g)
{
    const call c = call_of(g);
    const hri_factor alpha = hri_factor_of(g->type, g->alpha);
    const hri_factor beta = hri_factor_of(g->type, g->beta);
    const int type = data_type(g->type), c_type = data_type(g->c_type);
    void *out = (void *)(uintptr_t)hri_cuda_address(&g->c.place);
    if (api.cublasGemmStridedBatchedEx_64 != NULL) {
        return api.cublasGemmStridedBatchedEx_64(
            blas->handle, c.a.operation, c.b.operation, c.m, c.n, c.k, &alpha,
            c.a.start, type, c.a.ld, step_of(g, 1), c.b.start, type, c.b.ld,
            step_of(g, 0), &beta, out, c_type, c.c.ld, step_of(g, 2),
            g->batch.count, compute_type(g), DEFAULT_ALGORITHM);
    }
    return api.cublasGemmStridedBatchedEx(
        blas->handle, c.a.operation, c.b.operation, (int)c.m, (int)c.n,
        (int)c.k, &alpha, c.a.start, type, (int)c.a.ld, step_of(g, 1),
        c.b.start, type, (int)c.b.ld, step_of(g, 0), &beta, out, c_type,
        (int)c.c.ld, step_of(g, 2), (int)g->batch.count, compute_type(g),
        DEFAULT_ALGORITHM);
}

hr_status hri_cublas_gemm(hri_cuda_queue *queue, const hri_gemm *g, bool *done)
{
    const bool batch = g->batch.count > 1;
    *done = suits_product(g);
    if (!*done) {
        return HR_OK;
    }
    HRI_TRY(take_handle(queue));
    int error =
        batch ? multiply_batch(queue->blas, g) : multiply_one(queue->blas, g);
    *done = error != NOT_SUPPORTED && error != ARCH_MISMATCH;
    return *done ? check_call(queue, error,
                              batch ? "cublasGemmStridedBatchedEx"
                                    : "cublasGemmEx")
                 : HR_OK;
}

/* ---- transposed packing */

/* On an H200 f32 has 52.5 TFLOP/s with A by columns and 51.4 by rows (4096 x
 * 4096 x 8192, 52.4 and 51.5 for 2048 x 2048), f64 53.2 and 55.9, tf32 239 and
 * 355 (cuBLAS 13.1, 2026-11). Packing a panel goes at 3.5 TB/s. Other kinds of
 * GPUs have not been measured. */
uint32_t hri_cublas_packed(int capability)
{
    return hri_cublas_load() == HR_OK && api.cublasSgeam != NULL &&
                   capability == 90
               ? 1u << HR_F32
               : 0;
}

hr_status hri_cublas_pack(hri_cuda_queue *queue, const void *data)
{
    const hri_pack *t = data;
    const float one = 1.0f, zero = 0.0f;
    const float *from =
        (const float *)(uintptr_t)hri_cuda_address(&t->from.place);
    float *to = (float *)(uintptr_t)hri_cuda_address(&t->to);
    const int64_t from_stride = t->from.row_stride;
    const int64_t sizes[] = {t->rows, t->cols, t->to_stride, from_stride};
    if (t->type != HR_F32 || api.cublasSgeam == NULL || !are_short(sizes, 4)) {
        return hri_fail(
            HR_ERROR_UNSUPPORTED,
            "%s: transposed packing of %s, %lld x %lld, is not offered",
            queue->unit->path, hr_type_name(t->type), (long long)t->rows,
            (long long)t->cols);
    }
    HRI_TRY(take_handle(queue));
    /* seen by columns, the result is a rows x cols matrix: `from` transposed */
    return check_call(queue,
                      api.cublasSgeam(queue->blas->handle, OP_TRANSPOSE,
                                      OP_NONE, (int)t->rows, (int)t->cols, &one,
                                      from, (int)from_stride, &zero, to,
                                      (int)t->to_stride, to, (int)t->to_stride),
                      "cublasSgeam");
}
