/* SPDX-License-Identifier: MIT */
/* What products keep in a context for further ones. */
#ifndef HRI_GEMM_PLANS_H
#define HRI_GEMM_PLANS_H

#include "gemm/plan.h"
#include "model/model.h"

typedef struct hri_plans hri_plans;

/* Products of one kind that need no plan (direct.c). */
typedef struct hri_direct {
    uint64_t version; /* of the model, when this was found */
    hri_product_kind kind;
    hri_accelerator *accelerator; /* in place; NULL: none */
    double most_flops;
} hri_direct;

enum { HRI_DIRECT_KINDS = 8 }; /* that are kept, by type */

typedef struct hri_gemm_state {
    hri_plans *plans; /* of the last products; NULL: none yet */
    hri_direct direct[HRI_DIRECT_KINDS];
} hri_gemm_state;

/* That of a context. NULL: no memory. With the context's lock. */
hri_gemm_state *hri_gemm_state_of(hr_context *context);

/* The plan for a shape and accelerators: the one that was made from just these
 * before, or a new one. *plans is NULL before the first. The caller is a holder
 * of the plan. Errors are those of hri_plan_create. One thread at a time. */
hr_status hri_plans_get(hri_plans **plans, const hri_plan_shape *shape,
                        const hri_plan_accelerator *inputs, uint32_t count,
                        hri_plan **plan);

/* Accepts NULL. */
void hri_plans_destroy(hri_plans *plans);

#endif
