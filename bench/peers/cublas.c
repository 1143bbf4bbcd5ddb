/* SPDX-License-Identifier: MIT */
/* cuBLAS as a program would use it by hand, as a peer: buffers that stay on one
 * GPU, and for each product three copies of the driver's that wait, which is
 * what cudaMemcpy calls. Many products are one batched call between three
 * copies. No header of CUDA is needed. */
#include <string.h>

#include "backends/cuda/cuda.h"
#include "base/library.h"
#include "bench/peers/peer.h"
#include "console/text.h"

bool bench_cublas_start(bench_peer *peer)
{
    return bench_peer_start(peer, NULL, "cublas", NULL);
}

hr_status bench_cublas_load(const hri_symbol *symbols, size_t count, void *api)
{
    static const char *const names[] = {"libcublas.so.13", "libcublas.so.12",
                                        "libcublas.so.11", NULL};
    const hri_cuda_library library = {"HEADRACE_CUBLAS", names, symbols, count};
    const char *folder;
    return hri_cuda_library_load(&library, api, &folder);
}

/* ---- the libraries */

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

/* Filled by open_libraries. */
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
    hr_status status = hri_cuda_load();
    if (status == HR_OK) {
        status = hri_cuda_library_load(&library, &driver, &folder);
    }
    return status == HR_OK
               ? bench_cublas_load(blas_symbols,
                                   sizeof blas_symbols / sizeof blas_symbols[0],
                                   &blas)
               : status;
}

static bool open_libraries(const char *core, char *name, size_t size)
{
    int major = 0, minor = 0;
    (void)core;
    if (load_libraries() != HR_OK || hri_cuda.cuInit(0) != CU_SUCCESS) {
        snprintf(name, size, "%s", hr_last_error());
        name[strcspn(name, "\n")] = '\0';
        return false;
    }
    blas.cublasGetProperty(0, &major);
    blas.cublasGetProperty(1, &minor);
    snprintf(name, size, "cuBLAS %d.%d", major, minor);
    return true;
}

/* ---- products */

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

static bool allocate(by_hand *x)
{
    const hr_matrix *all[] = {&x->operands->a, &x->operands->b,
                              &x->operands->c};
    bool good = true;
    for (int i = 0; i < 3 && good; i++) {
        x->bytes[i] = bytes_of(all[i]) * (size_t)x->operands->count;
        good =
            hri_cuda.cuMemAlloc_v2(&x->buffers[i], x->bytes[i]) == CU_SUCCESS;
    }
    return good;
}

static void release(by_hand *x)
{
    for (int i = 0; i < 3; i++) {
        if (x->buffers[i] != 0) {
            hri_cuda.cuMemFree_v2(x->buffers[i]);
        }
    }
}

/* The scalars of a type. */
static const void *scalar(hr_type type, bool one)
{
    static const double wide[][2] = {{0.0, 0.0}, {1.0, 0.0}};
    static const float narrow[][2] = {{0.0f, 0.0f}, {1.0f, 0.0f}};
    return type == HR_F64 || type == HR_C64 ? (const void *)wide[one]
                                            : narrow[one];
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
    return gemm[type](gpu.handle, 0, 0, n, m, k, scalar(type, true),
                      x->buffers[1], n, x->buffers[0], k, scalar(type, false),
                      x->buffers[2], n) == 0;
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
    return gemm[type](gpu.handle, 0, 0, n, m, k, scalar(type, true),
                      x->buffers[1], n, (long long)k * n, x->buffers[0], k,
                      (long long)m * k, scalar(type, false), x->buffers[2], n,
                      (long long)m * n, (int)o->count) == 0;
}

static bool multiply(void *data)
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
static bool time_all(by_hand *x, double *first, double *best)
{
    const double begin = cli_clock();
    const bool good = allocate(x) && multiply(x);
    *first = cli_clock() - begin;
    return good && bench_time_calls(multiply, x, best);
}

static bool answer(const bench_request *r, const bench_operands *operands)
{
    by_hand x = {.operands = operands};
    int gpus[BENCH_GPUS_MAX];
    double first = 0.0, best = 0.0;
    const char *wrong = NULL;
    if (bench_read_gpus(r->gpus, gpus) == 0 || !open_gpu(gpus[0])) {
        wrong = "it cannot use this GPU";
    } else if (!bench_operands_spoil(operands)) {
        wrong = "cancelled";
    } else if (!time_all(&x, &first, &best)) {
        wrong = "a call of cuBLAS or of the driver failed";
    } else if (!bench_peer_is_right(operands)) {
        wrong = "its product is wrong";
    }
    release(&x);
    if (wrong != NULL) {
        printf("error %s\n", wrong);
        return false;
    }
    printf("0 %.9f %.9f %.9f\n", first, best, best);
    return true;
}

const bench_library bench_cublas = {open_libraries, answer, true};
