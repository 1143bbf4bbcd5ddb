/* SPDX-License-Identifier: MIT */
/* Timing single jobs of an accelerator. */
#ifndef HRI_MODEL_PROBE_H
#define HRI_MODEL_PROBE_H

#include "model/model.h"

typedef struct hri_probe {
    hri_accelerator *accelerator;
    hri_queue *queue;
    hri_event *start, *end;
} hri_probe;

hr_status hri_probe_open(hri_accelerator *accelerator, hri_probe *b);

/* Waits for the queue, and frees the accelerator's cached memory: engines need
 * other sizes. Accepts one that is open in part. */
void hri_probe_close(hri_probe *b);

/* The shortest time of a few tries of one gemm or one copy (the other is NULL)
 * in seconds, more than 0. The first try may build kernels. */
hr_status hri_probe_time(const hri_probe *b, const hri_gemm *gemm,
                         const hri_copy *copy, double *seconds);

#endif
