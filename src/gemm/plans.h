/* SPDX-License-Identifier: MIT */
/* Plans that are kept for further products. */
#ifndef HRI_GEMM_PLANS_H
#define HRI_GEMM_PLANS_H

#include "gemm/plan.h"

typedef struct hri_plans hri_plans;

/* The plan for a shape and accelerators: the one that was made from just these
 * before, or a new one. *plans is NULL before the first. The caller is a holder
 * of the plan. Errors are those of hri_plan_create. One thread at a time. */
hr_status hri_plans_get(hri_plans **plans, const hri_plan_shape *shape,
                        const hri_plan_accelerator *inputs, uint32_t count,
                        hri_plan **plan);

/* Accepts NULL. */
void hri_plans_destroy(hri_plans *plans);

#endif
