/* SPDX-License-Identifier: MIT */
/* What a blocking moves and how long it takes, estimated from sums: all
 * accelerators together as one. */
#ifndef HRI_GEMM_ESTIMATE_H
#define HRI_GEMM_ESTIMATE_H

#include "gemm/plan.h"

/* A product, and all accelerators of a plan. */
typedef struct hri_totals {
    const hri_plan_shape *shape;
    uint32_t count;
    double rate;                       /* flop/s */
    hri_way up, down, both;            /* of all links; start: of any */
    double task, start;                /* the most of any */
    double efficiency[HRI_TILE_RATES]; /* of tiles; 0: all work on the host */
    bool one_device; /* all of them: none idles while others work */
} hri_totals;

hri_totals hri_totals_of(const hri_plan_shape *shape,
                         const hri_plan_accelerator *accelerators,
                         uint32_t count);

/* Bytes of panels over the host link when every panel crosses once for each
 * block that it is not still there for. */
double hri_estimate_panels(const hri_plan_shape *shape,
                           const hri_blocking *blocking);

/* Seconds of a blocking whose bytes and balance are known. */
double hri_estimate_seconds(const hri_totals *totals,
                            const hri_blocking *blocking);

/* Whether all of C is one block. */
static inline bool hri_is_single(const hri_blocking *blocking)
{
    return blocking->block_rows == 1 && blocking->block_cols == 1;
}

#endif
