/* SPDX-License-Identifier: MIT */
/* cuBLAS and cuBLASXt as peers. No header of CUDA is needed: libcublas is
 * opened at run time.
 *
 * cuBLAS is called as a program would use it by hand: buffers stay on one GPU,
 * and for each product come three copies of the driver's that wait, which is
 * what cudaMemcpy calls. Many products are one batched call between three
 * copies. */
#include <stdlib.h>
#include <string.h>

#include "backends/cuda/cuda.h"
#include "base/library.h"
#include "base/status.h"
#include "bench/peers/peer.h"
#include "console/text.h"

bool bench_cublas_start(bench_peer *peer)
{
    return bench_peer_start(peer, NULL, "cublas", NULL);
}

bool bench_xt_start(bench_peer *peer)
{
    const char *program = getenv("HEADRACE_CUBLASXT");
    if (program != NULL && program[0] == '\0') {
        program = NULL;
    }
    return bench_peer_start(peer, program, "cublasxt", NULL);
}

static hr_status load_cublas(const hri_symbol *symbols, size_t count, void *api)
{
    static const char *const names[] = {"libcublas.so.13", "libcublas.so.12",
                                        "libcublas.so.11", NULL};
    const hri_cuda_library library = {"HEADRACE_CUBLAS", names, symbols, count};
    const char *folder;
    return hri_cuda_library_load(&library, api, &folder);
}

/* Name a library by its version, or tell why it could not be loaded. */
static bool name_library(bool loaded, const char *library,
                         int (*get_property)(int, int *), char *name,
                         size_t size)
{
    int major = 0, minor = 0;
    if (!loaded) {
        snprintf(name, size, "%s", hr_last_error());
        name[strcspn(name, "\n")] = '\0';
        return false;
    }
    get_property(0, &major);
    get_property(1, &minor);
    snprintf(name, size, "%s %d.%d", library, major, minor);
    return true;
}

/* A scalar of a type. */
static const void *scalar_of(hr_type type, bool one)
{
    static const double wide[][2] = {{0.0, 0.0}, {1.0, 0.0}};
    static const float narrow[][2] = {{0.0f, 0.0f}, {1.0f, 0.0f}};
    return type == HR_F64 || type == HR_C64 ? (const void *)wide[one]
                                            : narrow[one];
}

/* ---- cuBLAS by hand */

typedef struct by_hand_handle_object *by_hand_handle;

/* Functions of cuBLAS. Matrices are column-major. The scalars have the type of
 * the elements. 0 is success. */
#define BLAS_GEMM(name)                                                        \
    BLAS_SYM(int, name,                                                        \
             (by_hand_handle, int, int, int, int, int, const void *,           \
              cu_address, int, cu_address, int, const void *, cu_address,      \
              int))
#define BLAS_BATCH(name)                                                       \
    BLAS_SYM(int, name,                                                        \
             (by_hand_handle, int, int, int, int, int, const void *,           \
              cu_address, int, long long, cu_address, int, long long,          \
              const void *, cu_address, int, long long, int))
#define BLAS_SYMBOLS                                                           \
    BLAS_SYM(int, cublasGetProperty, (int, int *))                             \
    BLAS_SYM(int, cublasCreate_v2, (by_hand_handle *))                         \
    BLAS_GEMM(cublasSgemm_v2)                                                  \
    BLAS_GEMM(cublasDgemm_v2)                                                  \
    BLAS_GEMM(cublasCgemm_v2)                                                  \
    BLAS_GEMM(cublasZgemm_v2)                                                  \
    BLAS_BATCH(cublasSgemmStridedBatched)                                      \
    BLAS_BATCH(cublasDgemmStridedBatched)                                      \
    BLAS_BATCH(cublasCgemmStridedBatched)                                      \
    BLAS_BATCH(cublasZgemmStridedBatched)

/* Functions of the driver that Headrace does not call. */
#define DRIVER_SYMBOLS                                                         \
    DRIVER_SYM(cu_result, cuMemcpyHtoD_v2, (cu_address, const void *, size_t)) \
    DRIVER_SYM(cu_result, cuMemcpyDtoH_v2, (void *, cu_address, size_t))

typedef struct blas_api {
#define BLAS_SYM(result, name, arguments) result(*name) arguments;
    BLAS_SYMBOLS
#undef BLAS_SYM
} blas_api;

typedef struct driver_api {
#define DRIVER_SYM(result, name, arguments) result(*name) arguments;
    DRIVER_SYMBOLS
#undef DRIVER_SYM
} driver_api;

/* Filled by open_cublas. */
static blas_api blas;
static driver_api driver;

static hr_status load_libraries(void)
{
    static const hri_symbol blas_symbols[] = {
#define BLAS_SYM(result, name, arguments)                                      \
    {#name, offsetof(blas_api, name), REQ},
        BLAS_SYMBOLS
#undef BLAS_SYM
    };
    static const hri_symbol driver_symbols[] = {
#define DRIVER_SYM(result, name, arguments)                                    \
    {#name, offsetof(driver_api, name), REQ},
        DRIVER_SYMBOLS
#undef DRIVER_SYM
    };
    static const char *const names[] = {"libcuda.so.1", NULL};
    static const hri_cuda_library library = {
        "HEADRACE_CUDA", names, driver_symbols,
        sizeof driver_symbols / sizeof driver_symbols[0]};
    const char *folder;
    HRI_TRY(hri_cuda_load());
    HRI_TRY(hri_cuda_library_load(&library, &driver, &folder));
    return load_cublas(blas_symbols,
                       sizeof blas_symbols / sizeof blas_symbols[0], &blas);
}

static bool open_cublas(const char *core, char *name, size_t size)
{
    const bool loaded =
        load_libraries() == HR_OK && hri_cuda.cuInit(0) == CU_SUCCESS;
    (void)core;
    return name_library(loaded, "cuBLAS", blas.cublasGetProperty, name, size);
}

/* A GPU, whose primary context is current, with a handle. They stay until the
 * process ends. */
typedef struct by_hand_gpu {
    bool open;
    int index;
    by_hand_handle handle;
} by_hand_gpu;

static by_hand_gpu gpu;

static bool open_gpu(int index)
{
    cu_device device;
    cu_context context;
    if (gpu.open) {
        return gpu.index == index;
    }
    gpu.open =
        hri_cuda.cuDeviceGet(&device, index) == CU_SUCCESS &&
        hri_cuda.cuDevicePrimaryCtxRetain(&context, device) == CU_SUCCESS &&
        hri_cuda.cuCtxPushCurrent_v2(context) == CU_SUCCESS &&
        blas.cublasCreate_v2(&gpu.handle) == 0;
    gpu.index = index;
    return gpu.open;
}

/* The buffers of A, B and C on the GPU, and the matrices. */
typedef struct by_hand {
    const bench_operands *operands;
    size_t bytes[3];
    cu_address buffers[3];
} by_hand;

static size_t bytes_of(const hr_matrix *m)
{
    return (size_t)m->rows * (size_t)m->cols * hr_type_size(m->type);
}

static bool allocate_buffers(by_hand *x)
{
    const hr_matrix *all[] = {&x->operands->a, &x->operands->b,
                              &x->operands->c};
    for (int i = 0; i < 3; i++) {
        x->bytes[i] = bytes_of(all[i]) * (size_t)x->operands->count;
        if (hri_cuda.cuMemAlloc_v2(&x->buffers[i], x->bytes[i]) != CU_SUCCESS) {
            return false;
        }
    }
    return true;
}

static void free_buffers(by_hand *x)
{
    for (int i = 0; i < 3; i++) {
        if (x->buffers[i] != 0) {
            hri_cuda.cuMemFree_v2(x->buffers[i]);
        }
    }
}

/* Row-major C = A B is column-major C' = B' A'. */
static bool multiply_there(const by_hand *x)
{
    int (*const gemm[])(by_hand_handle, int, int, int, int, int, const void *,
                        cu_address, int, cu_address, int, const void *,
                        cu_address, int) = {
        [HR_F32] = blas.cublasSgemm_v2,
        [HR_F64] = blas.cublasDgemm_v2,
        [HR_C32] = blas.cublasCgemm_v2,
        [HR_C64] = blas.cublasZgemm_v2,
    };
    const bench_operands *o = x->operands;
    const hr_type type = o->a.type;
    const int m = (int)o->c.rows, n = (int)o->c.cols, k = (int)o->a.cols;
    return gemm[type](gpu.handle, 0, 0, n, m, k, scalar_of(type, true),
                      x->buffers[1], n, x->buffers[0], k,
                      scalar_of(type, false), x->buffers[2], n) == 0;
}

static bool multiply_all_there(const by_hand *x)
{
    int (*const gemm[])(by_hand_handle, int, int, int, int, int, const void *,
                        cu_address, int, long long, cu_address, int, long long,
                        const void *, cu_address, int, long long, int) = {
        [HR_F32] = blas.cublasSgemmStridedBatched,
        [HR_F64] = blas.cublasDgemmStridedBatched,
        [HR_C32] = blas.cublasCgemmStridedBatched,
        [HR_C64] = blas.cublasZgemmStridedBatched,
    };
    const bench_operands *o = x->operands;
    const hr_type type = o->a.type;
    const int m = (int)o->c.rows, n = (int)o->c.cols, k = (int)o->a.cols;
    return gemm[type](gpu.handle, 0, 0, n, m, k, scalar_of(type, true),
                      x->buffers[1], n, (long long)k * n, x->buffers[0], k,
                      (long long)m * k, scalar_of(type, false), x->buffers[2],
                      n, (long long)m * n, (int)o->count) == 0;
}

static bool multiply_by_hand(void *data)
{
    const by_hand *x = data;
    const bench_operands *o = x->operands;
    return driver.cuMemcpyHtoD_v2(x->buffers[0], o->a.data, x->bytes[0]) ==
               CU_SUCCESS &&
           driver.cuMemcpyHtoD_v2(x->buffers[1], o->b.data, x->bytes[1]) ==
               CU_SUCCESS &&
           (o->count > 1 ? multiply_all_there(x) : multiply_there(x)) &&
           driver.cuMemcpyDtoH_v2(o->c.data, x->buffers[2], x->bytes[2]) ==
               CU_SUCCESS;
}

/* The first call also makes the buffers. */
static bool time_by_hand(by_hand *x, double *first, double *best)
{
    const double begin = cli_clock();
    const bool good = allocate_buffers(x) && multiply_by_hand(x);
    *first = cli_clock() - begin;
    return good && bench_time_calls(multiply_by_hand, x, best);
}

static bool answer_by_hand(const bench_request *r,
                           const bench_operands *operands)
{
    by_hand x = {.operands = operands};
    int gpus[BENCH_GPUS_MAX];
    double first = 0.0, best = 0.0;
    const char *wrong = NULL;
    if (bench_read_gpus(r->gpus, gpus) == 0 || !open_gpu(gpus[0])) {
        wrong = "it cannot use this GPU";
    } else if (!bench_operands_spoil(operands)) {
        wrong = "cancelled";
    } else if (!time_by_hand(&x, &first, &best)) {
        wrong = "a call of cuBLAS or of the driver failed";
    } else if (!bench_peer_is_right(operands)) {
        wrong = "its product is wrong";
    }
    free_buffers(&x);
    if (wrong != NULL) {
        printf("error %s\n", wrong);
        return false;
    }
    printf("0 %.9f %.9f %.9f\n", first, best, best);
    return true;
}

const bench_library bench_cublas = {open_cublas, answer_by_hand, true};

/* ---- cuBLASXt */

typedef struct xt_handle_object *xt_handle;

/* Functions of cuBLASXt, by the names that the library exports. Matrices are
 * column-major. The scalars have the type of the elements. 0 is success. */
#define XT_GEMM(name)                                                          \
    XT_SYM(int, name,                                                          \
           (xt_handle, int, int, size_t, size_t, size_t, const void *,         \
            const void *, size_t, const void *, size_t, const void *, void *,  \
            size_t))
#define XT_SYMBOLS                                                             \
    XT_SYM(int, cublasGetProperty, (int, int *))                               \
    XT_SYM(int, cublasXtCreate, (xt_handle *))                                 \
    XT_SYM(int, cublasXtDestroy, (xt_handle))                                  \
    XT_SYM(int, cublasXtDeviceSelect, (xt_handle, int, int *))                 \
    XT_SYM(int, cublasXtSetBlockDim, (xt_handle, int))                         \
    XT_SYM(int, cublasXtSetPinningMemMode, (xt_handle, int))                   \
    XT_GEMM(cublasXtSgemm)                                                     \
    XT_GEMM(cublasXtDgemm)                                                     \
    XT_GEMM(cublasXtCgemm)                                                     \
    XT_GEMM(cublasXtZgemm)

typedef struct xt_api {
#define XT_SYM(result, name, arguments) result(*name) arguments;
    XT_SYMBOLS
#undef XT_SYM
} xt_api;

static const hri_symbol xt_symbols[] = {
#define XT_SYM(result, name, arguments) {#name, offsetof(xt_api, name), REQ},
    XT_SYMBOLS
#undef XT_SYM
};

static xt_api xt; /* filled by open_xt */

static bool open_xt(const char *core, char *name, size_t size)
{
    const bool loaded =
        load_cublas(xt_symbols, sizeof xt_symbols / sizeof xt_symbols[0],
                    &xt) == HR_OK;
    (void)core;
    return name_library(loaded, "cuBLASXt", xt.cublasGetProperty, name, size);
}

/* Large ones first: they are the fastest on large matrices. What is much slower
 * than the best so far is not repeated. */
static const int blocks[] = {8192, 4096, 2048};

/* One product. Returns cuBLAS's status. */
static int multiply_xt(xt_handle handle, const bench_operands *o)
{
    int (*const gemm[])(xt_handle, int, int, size_t, size_t, size_t,
                        const void *, const void *, size_t, const void *,
                        size_t, const void *, void *, size_t) = {
        [HR_F32] = xt.cublasXtSgemm,
        [HR_F64] = xt.cublasXtDgemm,
        [HR_C32] = xt.cublasXtCgemm,
        [HR_C64] = xt.cublasXtZgemm,
    };
    const hr_type type = o->a.type;
    const size_t m = (size_t)o->c.rows, n = (size_t)o->c.cols,
                 k = (size_t)o->a.cols;
    return gemm[type](handle, 0, 0, n, m, k, scalar_of(type, true), o->b.data,
                      n, o->a.data, k, scalar_of(type, false), o->c.data, n);
}

/* Time one block dimension. It is not repeated when it is far behind *best
 * after its second run. Returns cuBLAS's status. */
static int time_block(xt_handle handle, const bench_request *r,
                      const bench_operands *operands, int block, double *best)
{
    double first = 0.0, seconds[BENCH_PEER_REPEATS];
    int done = 0;
    HRI_TRY(xt.cublasXtSetBlockDim(handle, block));
    for (int64_t i = 0; i <= r->repeat; i++) {
        const double begin = cli_clock();
        HRI_TRY(multiply_xt(handle, operands));
        const double time = cli_clock() - begin;
        if (i == 0) {
            first = time;
            continue;
        }
        seconds[done++] = time;
        if (*best > 0.0 && time > 1.3 * *best) {
            break;
        }
    }
    double least, median;
    bench_sum_up(seconds, done, &least, &median);
    *best = *best <= 0.0 || least < *best ? least : *best;
    printf("%d %.9f %.9f %.9f\n", block, first, least, median);
    fflush(stdout);
    return 0;
}

static int time_blocks(xt_handle handle, const bench_request *r,
                       const bench_operands *operands, int *gpus, int count)
{
    double best = 0.0;
    HRI_TRY(xt.cublasXtDeviceSelect(handle, count, gpus));
    /* it need not page-lock: we have done so */
    HRI_TRY(xt.cublasXtSetPinningMemMode(handle, 0));
    for (size_t i = 0; i < sizeof blocks / sizeof blocks[0]; i++) {
        HRI_TRY(time_block(handle, r, operands, blocks[i], &best));
    }
    return 0;
}

static int time_xt(const bench_request *r, const bench_operands *operands,
                   int *gpus, int count)
{
    xt_handle handle = NULL;
    HRI_TRY(xt.cublasXtCreate(&handle));
    const int status = time_blocks(handle, r, operands, gpus, count);
    const int destroyed = xt.cublasXtDestroy(handle);
    return status == 0 ? destroyed : status;
}

static bool answer_xt(const bench_request *r, const bench_operands *operands)
{
    int gpus[BENCH_GPUS_MAX];
    const int count = bench_read_gpus(r->gpus, gpus);
    if (count == 0) {
        printf("error this request is not understood\n");
        return false;
    }
    if (!bench_operands_spoil(operands)) {
        printf("error cancelled\n");
        return false;
    }
    const int status = time_xt(r, operands, gpus, count);
    const bool right = status == 0 && bench_peer_is_right(operands);
    if (status != 0) {
        printf("error cuBLASXt returned %d\n", status);
    } else if (!right) {
        printf("error its product is wrong\n");
    }
    return right;
}

const bench_library bench_cublasxt = {open_xt, answer_xt, false};
