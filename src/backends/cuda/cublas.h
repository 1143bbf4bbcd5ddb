/* SPDX-License-Identifier: MIT */
/* cuBLAS, found at run time: see cublas.c. */
#ifndef HRI_BACKENDS_CUDA_CUBLAS_H
#define HRI_BACKENDS_CUDA_CUBLAS_H

#include "backends/cuda/api.h"
#include "hal/hal.h"

typedef struct hri_cuda_queue hri_cuda_queue;
typedef struct hri_cuda_device hri_cuda_device;

typedef struct hri_cublas_object *hri_cublas_handle;

/* A handle with its workspace; one queue has it at a time. */
typedef struct hri_cublas {
    struct hri_cublas *next;
    hri_cublas_handle handle;
    cu_address workspace;
} hri_cublas;

/* Load it, once in the life of the process; HR_ERROR_UNAVAILABLE when it is not
 * there or HEADRACE_CUBLAS is "off". Any thread. */
hr_status hri_cublas_load(void);

/* "cuBLAS 13.1", or "" without it. */
const char *hri_cublas_name(void);

/* The device memory that each queue which multiplies takes for itself; 0
 * without cuBLAS. */
uint64_t hri_cublas_bytes(int capability);

/* Whether cuBLAS has words for a product with m, n, k > 0 and alpha not 0. */
bool hri_cublas_suits(const hri_gemm *gemm);

/* Enqueue such a product. *done is false, and nothing has happened, where
 * cuBLAS turns out not to offer it. The unit's context is current. */
hr_status hri_cublas_gemm(hri_cuda_queue *queue, const hri_gemm *gemm,
                          bool *done);

/* The types whose products hri_device_info.turned means, as bits. */
uint32_t hri_cublas_turned(int capability);
/* Enqueue hri_queue_ops.turn. The unit's context is current. */
hr_status hri_cublas_turn(hri_cuda_queue *queue, const hri_turn *turn);

/* Give a queue's handle, which has nothing to do any more, back to its device.
 */
void hri_cublas_give_back(hri_cuda_queue *queue);
/* Destroy those of a device. The unit's context is current. */
void hri_cublas_destroy(hri_cuda_device *device);

#endif
