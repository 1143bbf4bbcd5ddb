/* SPDX-License-Identifier: MIT */
/* What programs call that use the GPU by hand, and Headrace does not: copies
 * that wait, cublas?gemm and its strided batches, which need no stream and no
 * workspace, and cuBLASXt. FAKE_XT_WRONG in the environment: products are
 * wrong. FAKE_XT_FAIL: those of cuBLASXt fail with that status. */
#include <stdlib.h>
#include <string.h>

#include "backends/cuda/api.h"
#include "base/status.h"
#include "fake_cuda.h"

enum { OK = 0, INVALID = 7 };

cu_result cuMemcpyHtoD_v2(cu_address to, const void *from, size_t bytes);
cu_result cuMemcpyDtoH_v2(void *to, cu_address from, size_t bytes);

cu_result cuMemcpyHtoD_v2(cu_address to, const void *from, size_t bytes)
{
    memcpy((void *)(uintptr_t)to, from, bytes);
    return CU_SUCCESS;
}

cu_result cuMemcpyDtoH_v2(void *to, cu_address from, size_t bytes)
{
    memcpy(to, (const void *)(uintptr_t)from, bytes);
    return CU_SUCCESS;
}

#define PARAMETERS                                                             \
    void *handle, int op_a, int op_b, int m, int n, int k, const void *alpha,  \
        cu_address a, int lda, cu_address b, int ldb, const void *beta,        \
        cu_address c, int ldc
#define PASSED handle, op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc

int cublasSgemm_v2(PARAMETERS);
int cublasDgemm_v2(PARAMETERS);
int cublasCgemm_v2(PARAMETERS);
int cublasZgemm_v2(PARAMETERS);

static int multiply_one(hr_type type, PARAMETERS)
{
    if (handle == NULL || op_a != 0 || op_b != 0 || lda < m || ldb < k ||
        ldc < m) {
        return INVALID;
    }
    const fake_columns x = {m,
                            n,
                            k,
                            alpha,
                            beta,
                            (const void *)(uintptr_t)a,
                            (const void *)(uintptr_t)b,
                            (void *)(uintptr_t)c,
                            lda,
                            ldb,
                            ldc};
    fake_multiply_columns(type, &x);
    return OK;
}

int cublasSgemm_v2(PARAMETERS)
{
    return multiply_one(HR_F32, PASSED);
}

int cublasDgemm_v2(PARAMETERS)
{
    return multiply_one(HR_F64, PASSED);
}

int cublasCgemm_v2(PARAMETERS)
{
    return multiply_one(HR_C32, PASSED);
}

int cublasZgemm_v2(PARAMETERS)
{
    return multiply_one(HR_C64, PASSED);
}

/* ---- many products in one call */

#define BATCH_PARAMETERS                                                       \
    void *handle, int op_a, int op_b, int m, int n, int k, const void *alpha,  \
        cu_address a, int lda, long long step_a, cu_address b, int ldb,        \
        long long step_b, const void *beta, cu_address c, int ldc,             \
        long long step_c, int count
#define BATCH_PASSED                                                           \
    handle, op_a, op_b, m, n, k, alpha, a, lda, step_a, b, ldb, step_b, beta,  \
        c, ldc, step_c, count

int cublasSgemmStridedBatched(BATCH_PARAMETERS);
int cublasDgemmStridedBatched(BATCH_PARAMETERS);
int cublasCgemmStridedBatched(BATCH_PARAMETERS);
int cublasZgemmStridedBatched(BATCH_PARAMETERS);

static int multiply_all(hr_type type, BATCH_PARAMETERS)
{
    static const cu_address sizes[] = {
        [HR_F32] = 4, [HR_F64] = 8, [HR_C32] = 8, [HR_C64] = 16};
    const cu_address size = sizes[type];
    if (count < 1 || step_c < (long long)ldc * (n - 1) + m) {
        return INVALID;
    }
    for (int i = 0; i < count; i++) {
        HRI_TRY(multiply_one(type, handle, op_a, op_b, m, n, k, alpha, a, lda,
                             b, ldb, beta, c, ldc));
        a += (cu_address)step_a * size;
        b += (cu_address)step_b * size;
        c += (cu_address)step_c * size;
    }
    return OK;
}

int cublasSgemmStridedBatched(BATCH_PARAMETERS)
{
    return multiply_all(HR_F32, BATCH_PASSED);
}

int cublasDgemmStridedBatched(BATCH_PARAMETERS)
{
    return multiply_all(HR_F64, BATCH_PASSED);
}

int cublasCgemmStridedBatched(BATCH_PARAMETERS)
{
    return multiply_all(HR_C32, BATCH_PASSED);
}

int cublasZgemmStridedBatched(BATCH_PARAMETERS)
{
    return multiply_all(HR_C64, BATCH_PASSED);
}

/* ---- cuBLASXt */

typedef struct xt_object {
    int gpus, block;
} xt_object;

int cublasXtCreate(xt_object **handle);
int cublasXtDestroy(xt_object *handle);
int cublasXtDeviceSelect(xt_object *handle, int count, int *gpus);
int cublasXtSetBlockDim(xt_object *handle, int block);
int cublasXtSetPinningMemMode(xt_object *handle, int mode);

int cublasXtCreate(xt_object **handle)
{
    *handle = calloc(1, sizeof **handle);
    return *handle != NULL ? OK : 3;
}

int cublasXtDestroy(xt_object *handle)
{
    free(handle);
    return OK;
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
    return count > 0 && !again ? OK : INVALID;
}

int cublasXtSetBlockDim(xt_object *handle, int block)
{
    handle->block = block;
    return block > 0 ? OK : INVALID;
}

int cublasXtSetPinningMemMode(xt_object *handle, int mode)
{
    return handle != NULL && (mode == 0 || mode == 1) ? OK : INVALID;
}

#define XT_PARAMETERS                                                          \
    xt_object *handle, int op_a, int op_b, size_t m, size_t n, size_t k,       \
        const void *alpha, const void *a, size_t lda, const void *b,           \
        size_t ldb, const void *beta, void *c, size_t ldc
#define XT_PASSED                                                              \
    handle, op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc

int cublasXtSgemm(XT_PARAMETERS);
int cublasXtDgemm(XT_PARAMETERS);
int cublasXtCgemm(XT_PARAMETERS);
int cublasXtZgemm(XT_PARAMETERS);

static int multiply_xt(hr_type type, XT_PARAMETERS)
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
    return OK;
}

int cublasXtSgemm(XT_PARAMETERS)
{
    return multiply_xt(HR_F32, XT_PASSED);
}

int cublasXtDgemm(XT_PARAMETERS)
{
    return multiply_xt(HR_F64, XT_PASSED);
}

int cublasXtCgemm(XT_PARAMETERS)
{
    return multiply_xt(HR_C32, XT_PASSED);
}

int cublasXtZgemm(XT_PARAMETERS)
{
    return multiply_xt(HR_C64, XT_PASSED);
}
