/* SPDX-License-Identifier: MIT */
/* Carrying out a plan. */
#ifndef HRI_GEMM_RUN_H
#define HRI_GEMM_RUN_H

#include "gemm/check.h"
#include "gemm/plan.h"
#include "runtime/runtime.h"

/* What one part of the plan did. */
typedef struct hri_run_share {
    double seconds_busy, flops;
    uint64_t tiles, tiles_stolen;
    uint64_t up, down, peer, stolen; /* bytes; stolen: those of them for tiles
                                        stolen from other executors */
} hri_run_share;

/* Whether copies between a matrix of the caller and the device are staged. */
bool hri_is_staged(hri_device *device, const hr_matrix *matrix);

/* Run the plan of a product on accelerators[part->accelerator]. Returns when C
 * is complete, or, after an error, when nothing is under way any more. shares
 * has one entry for each part. The caller holds the context's lock. progress is
 * called on the calling thread, without a lock of the run. Errors:
 * HR_ERROR_CANCELLED, and those of backends. */
hr_status hri_run(const hri_product *product, const hri_plan *plan,
                  hri_accelerator *const *accelerators,
                  hr_progress_function progress, void *progress_data,
                  hri_run_share *shares);

#endif
