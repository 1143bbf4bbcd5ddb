/* SPDX-License-Identifier: MIT */
/* cuBLASXt as a peer. No header of CUDA is needed: libcublas is opened at run
 * time. */
#include <stdlib.h>
#include <string.h>

#include "bench/peers/peer.h"
#include "console/text.h"

bool bench_xt_start(bench_peer *peer)
{
    const char *program = getenv("HEADRACE_CUBLASXT");
    if (program != NULL && program[0] == '\0') {
        program = NULL;
    }
    return bench_peer_start(peer, program, "cublasxt", NULL);
}

/* ---- the library */

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

static const hri_symbol symbols[] = {
#define XT_SYM(result, name, arguments) {#name, offsetof(xt_api, name), REQ},
    XT_SYMBOLS
#undef XT_SYM
};

static xt_api xt; /* filled by open_xt */

static bool open_xt(const char *core, char *name, size_t size)
{
    int major = 0, minor = 0;
    (void)core;
    if (bench_cublas_load(symbols, sizeof symbols / sizeof symbols[0], &xt) !=
        HR_OK) {
        snprintf(name, size, "%s", hr_last_error());
        name[strcspn(name, "\n")] = '\0';
        return false;
    }
    xt.cublasGetProperty(0, &major);
    xt.cublasGetProperty(1, &minor);
    snprintf(name, size, "cuBLASXt %d.%d", major, minor);
    return true;
}

/* ---- products */

/* Large ones first: they are the fastest on large matrices. What is much slower
 * than the best so far is not repeated. */
static const int blocks[] = {8192, 4096, 2048};

/* One product. Row-major C = A B is column-major C' = B' A'. Returns cuBLAS's
 * status. */
static int multiply(xt_handle handle, const bench_operands *o)
{
    static const double one[] = {1.0, 0.0}, zero[] = {0.0, 0.0};
    static const float onef[] = {1.0f, 0.0f}, zerof[] = {0.0f, 0.0f};
    int (*const gemm[])(xt_handle, int, int, size_t, size_t, size_t,
                        const void *, const void *, size_t, const void *,
                        size_t, const void *, void *, size_t) = {
        [HR_F32] = xt.cublasXtSgemm,
        [HR_F64] = xt.cublasXtDgemm,
        [HR_C32] = xt.cublasXtCgemm,
        [HR_C64] = xt.cublasXtZgemm,
    };
    const bool wide = o->a.type == HR_F64 || o->a.type == HR_C64;
    const size_t m = (size_t)o->c.rows, n = (size_t)o->c.cols,
                 k = (size_t)o->a.cols;
    return gemm[o->a.type](
        handle, 0, 0, n, m, k, wide ? (const void *)one : onef, o->b.data, n,
        o->a.data, k, wide ? (const void *)zero : zerof, o->c.data, n);
}

/* Time one block dimension. It is not repeated when it is far behind *best
 * after its second run. Returns cuBLAS's status. */
static int time_block(xt_handle handle, const bench_request *r,
                      const bench_operands *operands, int block, double *best)
{
    double first = 0.0, seconds[BENCH_PEER_REPEATS];
    int done = 0;
    int status = xt.cublasXtSetBlockDim(handle, block);
    for (int64_t i = 0; i <= r->repeat && status == 0; i++) {
        double begin = cli_clock();
        status = multiply(handle, operands);
        double time = cli_clock() - begin;
        if (i == 0) {
            first = time;
            continue;
        }
        seconds[done++] = time;
        if (*best > 0.0 && time > 1.3 * *best) {
            break;
        }
    }
    if (status == 0) {
        double least, median;
        bench_sum_up(seconds, done, &least, &median);
        *best = *best <= 0.0 || least < *best ? least : *best;
        printf("%d %.9f %.9f %.9f\n", block, first, least, median);
        fflush(stdout);
    }
    return status;
}

static int time_all(const bench_request *r, const bench_operands *operands,
                    int *gpus, int count)
{
    xt_handle handle = NULL;
    double best = 0.0;
    int status = xt.cublasXtCreate(&handle);
    if (status == 0) {
        status = xt.cublasXtDeviceSelect(handle, count, gpus);
    }
    if (status == 0) { /* it need not page-lock: we have done so */
        status = xt.cublasXtSetPinningMemMode(handle, 0);
    }
    for (size_t i = 0; i < sizeof blocks / sizeof blocks[0] && status == 0;
         i++) {
        status = time_block(handle, r, operands, blocks[i], &best);
    }
    if (handle != NULL) {
        int destroyed = xt.cublasXtDestroy(handle);
        status = status == 0 ? destroyed : status;
    }
    return status;
}

static bool answer(const bench_request *r, const bench_operands *operands)
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
    const int status = time_all(r, operands, gpus, count);
    const bool right = status == 0 && bench_peer_is_right(operands);
    if (status != 0) {
        printf("error cuBLASXt returned %d\n", status);
    } else if (!right) {
        printf("error its product is wrong\n");
    }
    return right;
}

const bench_library bench_cublasxt = {open_xt, answer, false};
