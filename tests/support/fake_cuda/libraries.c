/* SPDX-License-Identifier: MIT */
/* The fake cuBLAS and the fake NVRTC. The machine code of the latter is a line
 * of text: the definitions that it was given. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/cuda/api.h"
#include "base/status.h"
#include "fake_cuda.h"

typedef struct hri_cublas_object *hri_cublas_handle;
typedef struct nvrtc_program_object *nvrtc_program;

#define SYM(kind, result, name, args) result name args;
#include "backends/cuda/cublas.inc"
#include "backends/cuda/nvrtc.inc"
#undef SYM

enum { OK = 0, INVALID = 7, EXECUTION_FAILED = 13, NOT_SUPPORTED = 15 };

struct hri_cublas_object {
    cu_stream stream;
    void *workspace;
};

int cublasGetProperty(int what, int *value)
{
    *value = what == 0 ? 99 : 1;
    return OK;
}

int cublasCreate_v2(hri_cublas_handle *handle)
{
    *handle = calloc(1, sizeof **handle);
    fake_cuda_get()->objects++;
    return *handle != NULL ? OK : 3;
}

int cublasDestroy_v2(hri_cublas_handle handle)
{
    fake_cuda_get()->objects--;
    free(handle);
    return OK;
}

int cublasSetStream_v2(hri_cublas_handle handle, cu_stream stream)
{
    handle->stream = stream;
    handle->workspace = NULL; /* as the real one does */
    return OK;
}

int cublasSetWorkspace_v2(hri_cublas_handle handle, void *memory, size_t bytes)
{
    handle->workspace = bytes >= 1 << 20 ? memory : NULL;
    return OK;
}

int cublasSetMathMode(hri_cublas_handle handle, int mode)
{
    (void)handle;
    return mode == 16 ? OK : INVALID;
}

static hr_type type_of(int data)
{
    static const hr_type types[16] = {
        [0] = HR_F32, [1] = HR_F64, [2] = HR_F16,  [3] = HR_I8,
        [4] = HR_C32, [5] = HR_C64, [10] = HR_I32, [14] = HR_BF16};
    return types[data];
}

static long long size_of(int data)
{
    static const long long sizes[16] = {[0] = 4, [1] = 8,  [2] = 2,  [3] = 1,
                                        [4] = 8, [5] = 16, [10] = 4, [14] = 2};
    return sizes[data];
}

/* A column-major operand under an operation. */
static fake_operand operand_of(const void *start, int operation, int64_t ld)
{
    fake_operand o = {.start = (void *)(uintptr_t)start,
                      .row_stride = operation == 0 ? 1 : ld,
                      .col_stride = operation == 0 ? ld : 1,
                      .conjugate = operation == 2};
    return o;
}

static int least_ld(int operation, int64_t rows, int64_t cols)
{
    return (int)(operation == 0 ? rows : cols);
}

int cublasGemmEx_64(hri_cublas_handle handle, int op_a, int op_b, int64_t m,
                    int64_t n, int64_t k, const void *alpha, const void *a,
                    int a_type, int64_t lda, const void *b, int b_type,
                    int64_t ldb, const void *beta, void *c, int c_type,
                    int64_t ldc, int compute, int algorithm)
{
    uint64_t fours = (uint64_t)(uintptr_t)a | (uint64_t)(uintptr_t)b |
                     (uint64_t)lda | (uint64_t)ldb | (uint64_t)m | (uint64_t)k;
    if (handle->workspace == NULL || handle->stream == NULL ||
        a_type != b_type || algorithm != -1 || lda < least_ld(op_a, m, k) ||
        ldb < least_ld(op_b, k, n) || ldc < m || m < 1 || n < 1 || k < 1) {
        return INVALID;
    }
    if (fake_cuda_get()->sticky != 0) {
        return EXECUTION_FAILED;
    }
    if (a_type == 3 && (fours % 4 != 0 || compute != 72)) {
        return NOT_SUPPORTED;
    }
    fake_product p = {.type = type_of(a_type),
                      .c_type = type_of(c_type),
                      .m = m,
                      .n = n,
                      .k = k,
                      .a = operand_of(a, op_a, lda),
                      .b = operand_of(b, op_b, ldb),
                      .c = operand_of(c, 0, ldc)};
    fake_factor(p.type, alpha, p.alpha);
    fake_factor(p.type, beta, p.beta);
    fake_multiply_as_cublas(&p);
    fake_cuda_get()->library_products++;
    return OK;
}

int cublasGemmEx(hri_cublas_handle handle, int op_a, int op_b, int m, int n,
                 int k, const void *alpha, const void *a, int a_type, int lda,
                 const void *b, int b_type, int ldb, const void *beta, void *c,
                 int c_type, int ldc, int compute, int algorithm)
{
    return cublasGemmEx_64(handle, op_a, op_b, m, n, k, alpha, a, a_type, lda,
                           b, b_type, ldb, beta, c, c_type, ldc, compute,
                           algorithm);
}

int cublasGemmStridedBatchedEx_64(hri_cublas_handle handle, int op_a, int op_b,
                                  int64_t m, int64_t n, int64_t k,
                                  const void *alpha, const void *a, int a_type,
                                  int64_t lda, long long step_a, const void *b,
                                  int b_type, int64_t ldb, long long step_b,
                                  const void *beta, void *c, int c_type,
                                  int64_t ldc, long long step_c, int64_t count,
                                  int compute, int algorithm)
{
    const long long size = size_of(a_type);
    const long long c_size = size_of(c_type);
    if (count < 1 || step_c < ldc * (n - 1) + m) {
        return INVALID;
    }
    for (int64_t i = 0; i < count; i++) {
        HRI_TRY(cublasGemmEx_64(
            handle, op_a, op_b, m, n, k, alpha,
            (const char *)a + i * step_a * size, a_type, lda,
            (const char *)b + i * step_b * size, b_type, ldb, beta,
            (char *)c + i * step_c * c_size, c_type, ldc, compute, algorithm));
    }
    fake_cuda_get()->batches++;
    return OK;
}

int cublasGemmStridedBatchedEx(hri_cublas_handle handle, int op_a, int op_b,
                               int m, int n, int k, const void *alpha,
                               const void *a, int a_type, int lda,
                               long long step_a, const void *b, int b_type,
                               int ldb, long long step_b, const void *beta,
                               void *c, int c_type, int ldc, long long step_c,
                               int count, int compute, int algorithm)
{
    return cublasGemmStridedBatchedEx_64(
        handle, op_a, op_b, m, n, k, alpha, a, a_type, lda, step_a, b, b_type,
        ldb, step_b, beta, c, c_type, ldc, step_c, count, compute, algorithm);
}

int cublasSgeam(hri_cublas_handle handle, int op_a, int op_b, int m, int n,
                const float *alpha, const float *a, int lda, const float *beta,
                const float *b, int ldb, float *c, int ldc)
{
    if (handle->workspace == NULL || op_a != 1 || op_b != 0 || *alpha != 1 ||
        *beta != 0 || b != c || ldb != ldc || lda < n || ldc < m || m < 1 ||
        n < 1) {
        return INVALID;
    }
    if (fake_cuda_get()->sticky != 0) {
        return EXECUTION_FAILED;
    }
    for (size_t col = 0; col < (size_t)n; col++) {
        for (size_t row = 0; row < (size_t)m; row++) {
            c[col * (size_t)ldc + row] = a[row * (size_t)lda + col];
        }
    }
    return OK;
}

struct nvrtc_program_object {
    char text[512];
    bool broken; /* it has the error of tests/kernels/broken.c */
};

const char *nvrtcGetErrorString(int error)
{
    return error == 6 ? "NVRTC_ERROR_COMPILATION" : "NVRTC_ERROR";
}

int nvrtcVersion(int *major, int *minor)
{
    *major = 99;
    *minor = 2;
    return 0;
}

int nvrtcGetNumSupportedArchs(int *count)
{
    *count = 2;
    return 0;
}

int nvrtcGetSupportedArchs(int *list)
{
    list[0] = 80;
    list[1] = 90;
    return 0;
}

int nvrtcCreateProgram(nvrtc_program *program, const char *source,
                       const char *name, int headers, const char *const *texts,
                       const char *const *names)
{
    (void)name, (void)headers, (void)texts, (void)names;
    *program = calloc(1, sizeof **program);
    if (*program != NULL) {
        (*program)->broken = strstr(source, " = ONE;") != NULL;
    }
    return *program != NULL && strstr(source, "__global__") != NULL ? 0 : 3;
}

int nvrtcCompileProgram(nvrtc_program program, int count,
                        const char *const *options)
{
    for (int i = 0; i < count; i++) {
        strncat(program->text, options[i],
                sizeof program->text - strlen(program->text) - 1);
        strncat(program->text, " ",
                sizeof program->text - strlen(program->text) - 1);
    }
    return fake_cuda_get()->build_log != NULL || program->broken ? 6 : 0;
}

int nvrtcDestroyProgram(nvrtc_program *program)
{
    free(*program);
    *program = NULL;
    return 0;
}

static const char *log_text(nvrtc_program program)
{
    const char *log = fake_cuda_get()->build_log;
    return log != NULL ? log
           : program->broken
               ? "broken.c(12): error: identifier \"ONE\" is undefined"
               : "";
}

int nvrtcGetProgramLogSize(nvrtc_program program, size_t *bytes)
{
    *bytes = strlen(log_text(program)) + 1;
    return 0;
}

int nvrtcGetProgramLog(nvrtc_program program, char *log)
{
    strcpy(log, log_text(program));
    return 0;
}

int nvrtcGetPTXSize(nvrtc_program program, size_t *bytes)
{
    *bytes = strlen(program->text) + 1;
    return 0;
}

int nvrtcGetPTX(nvrtc_program program, char *text)
{
    strcpy(text, program->text);
    return 0;
}

int nvrtcGetCUBINSize(nvrtc_program program, size_t *bytes)
{
    return nvrtcGetPTXSize(program, bytes);
}

int nvrtcGetCUBIN(nvrtc_program program, char *text)
{
    return nvrtcGetPTX(program, text);
}
