/* SPDX-License-Identifier: MIT */
/* What the peer needs of cuBLASXt and of the driver. */
#ifndef BENCH_CUBLASXT_H
#define BENCH_CUBLASXT_H

#include <stdbool.h>
#include <stddef.h>

#include "bench/operands.h"

typedef struct xt_handle_object *xt_handle;

/* Functions of cuBLASXt, under the names that the library exports. Matrices are
 * column-major; the scalars' type is that of the elements. 0 is success. */
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

extern xt_api xt; /* filled by xt_open */

/* Find cuBLAS (HEADRACE_CUBLAS, else where it usually is) and the driver
 * (HEADRACE_CUDA, else libcuda.so.1). *sentence is the version, or why not. */
bool xt_open(char *sentence, size_t size);

/* Page-locked memory for all GPUs. */
extern const bench_memory xt_pinned;

#endif
