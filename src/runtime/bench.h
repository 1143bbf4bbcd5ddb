/* SPDX-License-Identifier: MIT */
/* Timing single jobs of an accelerator. */
#ifndef HRI_RUNTIME_BENCH_H
#define HRI_RUNTIME_BENCH_H

#include "runtime/runtime.h"

typedef struct hri_bench {
    hri_accelerator *accelerator;
    hri_queue *queue;
    hri_event *start, *end;
} hri_bench;

hr_status hri_bench_open(hri_accelerator *accelerator, hri_bench *b);

/* Waits for the queue, and frees the accelerator's cached memory: engines need
 * other sizes. Accepts one that is open in part. */
void hri_bench_close(hri_bench *b);

/* The shortest time of a few tries of one gemm or one copy (the other is NULL)
 * in seconds, more than 0. The first try may build kernels. */
hr_status hri_bench_time(const hri_bench *b, const hri_gemm *gemm,
                         const hri_copy *copy, double *seconds);

#endif
