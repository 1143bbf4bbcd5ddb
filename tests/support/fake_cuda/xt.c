/* SPDX-License-Identifier: MIT */
/* The fake cuBLASXt. FAKE_XT_FAIL in the environment: products fail with that
 * status; FAKE_XT_WRONG: they are wrong. */
#include <stddef.h>
#include <stdlib.h>

#include "fake_cuda.h"

typedef struct xt_object {
    int gpus, block;
} xt_object;

enum { INVALID = 7 };

int cublasXtCreate(xt_object **handle);
int cublasXtDestroy(xt_object *handle);
int cublasXtDeviceSelect(xt_object *handle, int count, int *gpus);
int cublasXtSetBlockDim(xt_object *handle, int block);
int cublasXtSetPinningMemMode(xt_object *handle, int mode);

int cublasXtCreate(xt_object **handle)
{
    *handle = calloc(1, sizeof **handle);
    return *handle != NULL ? 0 : 3;
}

int cublasXtDestroy(xt_object *handle)
{
    free(handle);
    return 0;
}

int cublasXtDeviceSelect(xt_object *handle, int count, int *gpus)
{
    for (int i = 0; i < count; i++) {
        if (gpus[i] < 0 || gpus[i] >= fake_cuda_get()->devices) {
            return INVALID;
        }
    }
    bool again = handle->gpus != 0; /* once for a handle */
    handle->gpus = count;
    return count > 0 && !again ? 0 : INVALID;
}

int cublasXtSetBlockDim(xt_object *handle, int block)
{
    handle->block = block;
    return block > 0 ? 0 : INVALID;
}

int cublasXtSetPinningMemMode(xt_object *handle, int mode)
{
    return handle != NULL && (mode == 0 || mode == 1) ? 0 : INVALID;
}

#define PARAMETERS                                                             \
    xt_object *handle, int op_a, int op_b, size_t m, size_t n, size_t k,       \
        const void *alpha, const void *a, size_t lda, const void *b,           \
        size_t ldb, const void *beta, void *c, size_t ldc
#define PASSED handle, op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc

int cublasXtSgemm(PARAMETERS);
int cublasXtDgemm(PARAMETERS);
int cublasXtCgemm(PARAMETERS);
int cublasXtZgemm(PARAMETERS);

static int multiply(hr_type type, PARAMETERS)
{
    const char *fail = getenv("FAKE_XT_FAIL");
    if (handle->gpus == 0 || handle->block == 0 || op_a != 0 || op_b != 0 ||
        fail != NULL) {
        return fail != NULL ? atoi(fail) : INVALID;
    }
    const fake_columns x = {
        (int64_t)m, (int64_t)n, (int64_t)k,   alpha,        beta,        a,
        b,          c,          (int64_t)lda, (int64_t)ldb, (int64_t)ldc};
    fake_multiply_columns(type, &x);
    return 0;
}

int cublasXtSgemm(PARAMETERS)
{
    return multiply(HR_F32, PASSED);
}

int cublasXtDgemm(PARAMETERS)
{
    return multiply(HR_F64, PASSED);
}

int cublasXtCgemm(PARAMETERS)
{
    return multiply(HR_C32, PASSED);
}

int cublasXtZgemm(PARAMETERS)
{
    return multiply(HR_C64, PASSED);
}
