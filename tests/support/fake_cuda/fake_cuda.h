/* SPDX-License-Identifier: MIT */
/* A library that looks like NVIDIA's driver, cuBLAS and NVRTC in one, so that
 * the CUDA backend can be tested where there is no GPU. Device memory is memory
 * of the host, and everything has run when its call returns. HEADRACE_CUDA,
 * HEADRACE_CUBLAS and HEADRACE_NVRTC name it. What it pretends comes from
 * FAKE_CUDA_DEVICES, FAKE_CUDA_VERSION, FAKE_CUDA_INIT (the result of cuInit),
 * FAKE_CUDA_PEERS and FAKE_CUDA_FAULT (the name of a kernel of the program's)
 * in the environment, or from its state:
 *
 *     fake_cuda_state *(*get)(void) = dlsym(library, "fake_cuda_get"); */
#ifndef FAKE_CUDA_H
#define FAKE_CUDA_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "headrace/matrix.h"

enum { FAKE_CUDA_MAX_DEVICES = 8 };

typedef struct fake_cuda_state {
    int devices, version, init_result, capability;
    int peers; /* whether they may be */
    uint64_t memory_bytes;
    /* The next call of this function fails with this result. */
    const char *fail_name;
    int fail_result;
    /* A fault: every call in a context fails with it, whatever the device, and
     * no device is described, and no primary context given. 0: none. */
    atomic_int sticky;
    const char *fault_kernel; /* a launch of it makes that fault, in place of
                                 running; NULL: none does */
    int fault_result;         /* with this error */
    const char *build_log;    /* NULL: everything compiles */
    atomic_long calls;        /* of the driver's functions */
    atomic_long records;      /* of events */
    atomic_long not_ready;    /* so many questions of events are answered with
                                 "not yet", */
    void (*asked)(void);      /* after this was called, if it is not NULL */
    atomic_long launches;     /* of the program's kernels */
    atomic_long urgent;       /* streams of the greatest priority, ever made */
    atomic_long objects;      /* memory, streams, events, modules, handles */
    atomic_long retained;     /* primary contexts */
    atomic_long library_products, kernel_products;
    atomic_long batches; /* of cuBLAS */
} fake_cuda_state;

fake_cuda_state *fake_cuda_get(void);

/* gemm.c: a plain product of any strides; what is added up is a double, or an
 * integer modulo 2^32. */
typedef struct fake_operand {
    void *start;
    int64_t row_stride, col_stride;
    bool conjugate;
} fake_operand;

typedef struct fake_product {
    hr_type type, c_type;
    int64_t m, n, k;
    double alpha[2], beta[2];
    fake_operand a, b, c;
    const uint8_t *mask; /* of ordered products: elements of C that are wanted;
                            NULL: all are */
} fake_product;

void fake_multiply(const fake_product *product);
/* The same as cuBLAS 13 does it on an H200: alpha A B becomes a half before it
 * is added to one. */
void fake_multiply_as_cublas(const fake_product *product);
/* C := sums + beta C for halves; `count` matrices of rows x cols. */
typedef struct fake_sums {
    hr_type type;
    int64_t count, rows, cols;
    const float *sums;
    uint16_t *c;
    int64_t c_rows, c_step;
    float beta;
} fake_sums;
void fake_add(const fake_sums *s);
/* precise.c: kernel number `step` of find_lines, convert_lines,
 * multiply_residues and make_numbers. */
void fake_precise_step(int step, int parts, void **arguments);
/* The same with the roundings of HR_COMPUTE_REPRODUCIBLE. False: no memory. */
bool fake_multiply_ordered(const fake_product *product);

/* C := alpha A B + beta C, all by columns, as BLAS functions are told. With
 * FAKE_XT_WRONG in the environment it is wrong. */
typedef struct fake_columns {
    int64_t m, n, k;
    const void *alpha, *beta;
    const void *a, *b;
    void *c;
    int64_t lda, ldb, ldc;
} fake_columns;
void fake_multiply_columns(hr_type type, const fake_columns *columns);

/* A factor as it is passed in for a type of A and B. */
void fake_factor(hr_type type, const void *factor, double out[2]);

#endif
