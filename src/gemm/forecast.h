/* SPDX-License-Identifier: MIT */
/* How long a plan will take: its schedule walked through with the rates of the
 * facts. What planning cannot see in sums shows here: arithmetic that waits for
 * the first panels, links that are busy one way while they could be both ways,
 * tiles that are still going home at the end. Copies between peers take no time
 * here, and nobody takes over tiles of others. */
#ifndef HRI_GEMM_FORECAST_H
#define HRI_GEMM_FORECAST_H

#include "gemm/plan.h"

/* Plans for more accelerators are not worth walking through. */
enum { HRI_FORECAST_PARTS = 16 };

/* Seconds that making a plan with this blocking for so many accelerators and
 * walking through it takes. */
double hri_forecast_cost(const hri_blocking *blocking, uint32_t parts);

/* Seconds from the call to its end, into plan->seconds; INFINITY for a plan
 * that would never end. HR_ERROR_OUT_OF_MEMORY. */
hr_status hri_forecast(hri_plan *plan,
                       const hri_plan_accelerator *accelerators);

#endif
