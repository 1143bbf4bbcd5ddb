/* SPDX-License-Identifier: MIT */
/* What the peer needs of cuBLASXt and of the driver, and its operands. */
#ifndef CUBLASXT_H
#define CUBLASXT_H

#include <stdbool.h>
#include <stddef.h>

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

/* Page-locked memory for all GPUs; NULL when there is none. */
void *xt_allocate_pinned(size_t bytes);
void xt_free_pinned(void *memory);

typedef enum xt_type { XT_F32, XT_F64, XT_C32, XT_C64 } xt_type;

bool xt_find_type(const char *name, xt_type *type); /* "f32" ... */

/* C := A B with A[m,k], B[k,n], C[m,n], all row-major and packed. */
typedef struct xt_problem {
    size_t m, n, k;
    xt_type type;
    bool pinned;
} xt_problem;

typedef struct xt_operands {
    xt_problem problem;
    void *a, *b, *c;
} xt_operands;

/* Allocate and fill them with random numbers, on several threads, unless they
 * are those of the same problem already; C in any case. */
bool xt_operands_prepare(xt_operands *operands, const xt_problem *problem);

/* Whether some elements of C are what they should be. */
bool xt_operands_check(const xt_operands *operands, const xt_problem *problem,
                       int samples);

void xt_operands_free(xt_operands *operands); /* accepts a zeroed one */

/* One product. Returns cuBLAS's status. */
int xt_multiply(xt_handle handle, const xt_problem *problem,
                const xt_operands *operands);

#endif
