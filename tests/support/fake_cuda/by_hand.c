/* SPDX-License-Identifier: MIT */
/* What programs call that use the GPU by hand, and Headrace does not: copies
 * that wait, and cublas?gemm, which need no stream and no workspace.
 * FAKE_XT_WRONG in the environment: products are wrong. */
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
