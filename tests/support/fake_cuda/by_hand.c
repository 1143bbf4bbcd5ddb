/* SPDX-License-Identifier: MIT */
/* What programs call that use the GPU by hand, and Headrace does not: copies
 * that wait, and cublas?gemm and its strided batches, which need no stream and
 * no workspace. FAKE_XT_WRONG in the environment: products are wrong. */
#include <stdlib.h>
#include <string.h>

#include "backends/cuda/api.h"
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

static int multiply(hr_type type, PARAMETERS)
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
    return multiply(HR_F32, PASSED);
}

int cublasDgemm_v2(PARAMETERS)
{
    return multiply(HR_F64, PASSED);
}

int cublasCgemm_v2(PARAMETERS)
{
    return multiply(HR_C32, PASSED);
}

int cublasZgemm_v2(PARAMETERS)
{
    return multiply(HR_C64, PASSED);
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
    int error =
        count < 1 || step_c < (long long)ldc * (n - 1) + m ? INVALID : OK;
    for (int i = 0; i < count && error == OK; i++) {
        error = multiply(type, handle, op_a, op_b, m, n, k, alpha, a, lda, b,
                         ldb, beta, c, ldc);
        a += (cu_address)step_a * size;
        b += (cu_address)step_b * size;
        c += (cu_address)step_c * size;
    }
    return error;
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
